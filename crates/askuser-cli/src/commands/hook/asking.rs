//! Asks through the inbox and returns the answer to Claude Code.

use super::decision;
use super::elicitation::Form;
use super::event::{HookEvent, QUESTION_TOOL};
use super::transcript;
use crate::commands::agent::secrets;
use crate::config::Settings;
use crate::failure::{Failure, OrFail};
use crate::json::escape_invisible;
use crate::result;
use crate::signals::until_signal;
use crate::store::{actor, asker, attempt, block_on, done, for_each_page, open, origin, runtime};
use askuser::permission::{Permission, reject_imitation};
use askuser::store::{Filter, Handle, Principal, QuestionRef, StoreError, StoredQuestion};
use askuser::{Asker, Context, Inbox, Purpose, QuestionSet, Request, RequestKey, Rules, ToolUse, Via, report};
use askuser_sys::regular_file;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) const AGENT: &str = "claude-code";

pub(super) fn run(kind: HookEvent, event: &Value, settings: &Settings) -> Result<(), Failure> {
    // An agent's command has started this client, so no person sees its dialogs and no question is asked.
    if !actor(Via::Hook).is_a_person() {
        return Ok(());
    }
    if kind.ends_questions() {
        return withdraw_decided(kind, event, settings);
    }
    let Some((request, form)) = request(kind, event) else { return Ok(()) };
    if kind.is_question()
        && let Err(violations) = reject_imitation(request.set().clone(), [])
    {
        return print(&decision::denied(kind, &report::rejection(&violations)));
    }
    let why = transcript::last_words(event).map(|words| secrets(&[], &[]).redact_text(words));
    let request = request.with_why(why).with_deadline(settings.timeout);
    ask(kind, event, request, form.as_ref(), settings)
}

/// Converts an event to a question. Returns `None` if that is not possible, and Claude Code then asks in its dialog.
pub(super) fn request(kind: HookEvent, event: &Value) -> Option<(Request, Option<Form>)> {
    let text = |name: &str| event.get(name).and_then(Value::as_str);
    let (set, context, form) = match kind {
        HookEvent::QuestionsBeforeTool | HookEvent::QuestionsInDialog => {
            // Claude Code shows only questions that it has found valid itself.
            (QuestionSet::parse(event["tool_input"].clone(), &Rules::repair()).ok()?, None, None)
        }
        HookEvent::Permission => {
            let call = tool_use(event)?;
            (Permission::to_use(&call).question_set().ok()?, Some(Context::ToolUse(call)), None)
        }
        HookEvent::Elicitation => {
            let form = Form::of(event)?;
            (form.set.clone(), form.context.clone(), Some(form))
        }
        HookEvent::ToolRan | HookEvent::TurnEnded | HookEvent::SessionWentOn => return None,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let this_once = format!("{}-{now:x}", std::process::id());
    let key = key(event, text("tool_use_id").map_or(this_once, str::to_owned));
    let key = if kind == HookEvent::Permission { key.for_purpose(Purpose::Permission) } else { key };
    let origin = text("cwd").into_iter().fold(origin(AGENT), |origin, folder| origin.with_folder(folder));
    let origin = text("agent_type").into_iter().fold(origin, |origin, kind| origin.with_task(kind));
    Some((Request::new(key, set).with_origin(origin).with_context(context), form))
}

/// Returns the key of a call: its session and prompt, and the subagent that makes it.
fn key(event: &Value, call: String) -> RequestKey {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    let session = format!("claude-code {} {}", text("session_id"), text("prompt_id"));
    RequestKey::new(session, call).in_tasks(event["agent_id"].as_str())
}

/// Returns the call that an event is about, with the file change that it would make now. `None` if the event has no
/// call.
fn tool_use(event: &Value) -> Option<ToolUse> {
    let tool = event["tool_name"].as_str()?;
    let input = event["tool_input"].as_object()?;
    let folder = Path::new(event["cwd"].as_str().unwrap_or("/"));
    Some(askuser_markdown::tool_use(tool, input, folder, &regular_file::read_if_there))
}

/// Withdraws the questions that were decided in Claude Code's own dialog. Only a later event reports such a decision,
/// because Claude Code does not end a hook that has become useless.
fn withdraw_decided(kind: HookEvent, event: &Value, settings: &Settings) -> Result<(), Failure> {
    let of_event = key(event, String::new());
    let is_decided = |question: &&StoredQuestion| {
        let key = question.request.key();
        let is_same_turn = key.session == of_event.session && key.tasks == of_event.tasks;
        is_same_turn && (kind == HookEvent::TurnEnded || is_about(&question.request, event))
    };
    let claude = Handle::new(open(settings)?, Principal::agent(&origin(AGENT)));
    for_each_page(&claude, Filter::pending(), |questions| {
        // A tool that has run decides one question. The end of a turn decides all of its questions.
        let most = if kind == HookEvent::TurnEnded { usize::MAX } else { 1 };
        questions.iter().filter(is_decided).take(most).try_for_each(|question| withdraw(&claude, &question.id))
    })
}

/// Returns whether a question was asked for the call of an event. Claude Code adds the answers to the input of its
/// questions.
fn is_about(request: &Request, event: &Value) -> bool {
    match request.context() {
        Some(Context::ToolUse(call)) => {
            event["tool_name"] == call.tool() && event["tool_input"].as_object() == Some(call.input())
        }
        _ => {
            let asked = request.set().input().get("questions");
            event["tool_name"] == QUESTION_TOOL && asked == event["tool_input"].get("questions")
        }
    }
}

/// Withdraws a question that was decided in a dialog of Claude Code. The question may have been answered in the inbox
/// meanwhile.
fn withdraw(claude: &Handle, which: impl Into<QuestionRef>) -> Result<(), Failure> {
    match block_on(claude.withdraw(which, &attempt()?)) {
        Ok(_) | Err(StoreError::Ended(_) | StoreError::NotFound(_)) => Ok(()),
        Err(error) => Err(Failure::new(error.chain())),
    }
}

fn ask(
    kind: HookEvent,
    event: &Value,
    request: Request,
    form: Option<&Form>,
    settings: &Settings,
) -> Result<(), Failure> {
    // Answers of files and rules do not apply here, because Claude Code treats every reply as the user's. A rule to ask
    // no person still applies.
    if kind.is_question() && settings.headless.is_some() {
        return Ok(());
    }
    let asker = asker(settings, open(settings)?, None)?;
    let claude = asker.handle(Principal::agent(request.origin()));
    let delivered = runtime()?.block_on(until_signal(asker.ask(&request)))?;
    let delivered = delivered.transpose().map_err(|error| Failure::new(error.chain()))?;
    if delivered.is_none() && matches!(kind, HookEvent::QuestionsInDialog | HookEvent::Permission) {
        // The question was decided in the dialog, or Claude Code has ended. An answer could not reach it.
        withdraw(&claude, request.key())?;
    }
    // Otherwise the question stays, marked as having no process that waits for it.
    let Some(delivery) = delivered else { return Ok(()) };
    let is_unchanged = || request.context().cloned() == tool_use(event).map(Context::ToolUse);
    let output = decision::of(kind, request.set(), form, delivery.resolution(), &is_unchanged);
    match output.as_ref().map_or(Ok(()), print) {
        Ok(()) => {
            drop(delivery.stored());
            done(claude.flush())?;
        }
        Err(failure) => {
            drop(delivery.not_stored(failure.message.clone()));
            return Err(failure);
        }
    }
    Ok(())
}

pub(super) fn print(output: &Value) -> Result<(), Failure> {
    let line = escape_invisible(&json!({"hookSpecificOutput": output}));
    result::write_all(&format!("{line}\n")).or_fail("cannot write")
}
