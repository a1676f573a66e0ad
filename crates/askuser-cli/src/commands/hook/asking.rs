//! Where there is something to ask: the question goes to the inbox, and the answer to Claude Code.

use super::decision;
use super::elicitation::Form;
use super::event::HookEvent;
use crate::config::Settings;
use crate::failure::{Failure, OrFail};
use crate::json::escape_invisible;
use crate::result;
use crate::signals::until_signal;
use crate::store::{actor, asker, attempt, block_on, done, for_each_page, open, origin, runtime};
use askuser::permission::{Permission, what_would_run};
use askuser::store::{Filter, Handle, Principal, StoreError, StoredQuestion, Which};
use askuser::{Asker, Inbox, Purpose, QuestionSet, Request, RequestKey, Resolution, Rules, Via};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

const AGENT: &str = "claude-code";

pub(super) fn run(kind: HookEvent, event: &Value, settings: &Settings) -> Result<(), Failure> {
    // Its dialogs are those of a client that an agent's command has started: no person sits there, and none is asked for it.
    if !actor(Via::Hook).is_a_person() {
        return Ok(());
    }
    if kind == HookEvent::ToolRan {
        return withdraw_decided(event, settings);
    }
    let Some((request, form)) = request(kind, event) else { return Ok(()) };
    ask(kind, request.with_deadline(settings.timeout), form.as_ref(), settings)
}

/// The event as a question; `None` if it cannot be put as one, so that Claude Code has to.
pub(super) fn request(kind: HookEvent, event: &Value) -> Option<(Request, Option<Form>)> {
    let text = |name: &str| event.get(name).and_then(Value::as_str);
    let input = &event["tool_input"];
    let (set, context, form) = match kind {
        HookEvent::QuestionsBeforeTool | HookEvent::QuestionsInDialog => {
            // Claude Code shows no questions that it did not find valid itself.
            (QuestionSet::parse(input.clone(), &Rules::repair()).ok()?, None, None)
        }
        HookEvent::Permission => {
            let tool = text("tool_name")?;
            (Permission::to_use(tool).question_set().ok()?, Some(what_would_run(tool, input)), None)
        }
        HookEvent::Elicitation => {
            let form = Form::of(event)?;
            (form.set.clone(), form.context.clone(), Some(form))
        }
        HookEvent::ToolRan => return None,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let this_once = format!("{}-{now:x}", std::process::id());
    let call = text("tool_use_id").map_or(this_once, str::to_owned);
    let key = RequestKey::new(format!("claude-code {}", text("session_id").unwrap_or_default()), call);
    let key = if kind == HookEvent::Permission { key.for_purpose(Purpose::Permission) } else { key };
    let origin = text("cwd").into_iter().fold(origin(AGENT), |origin, folder| origin.with_folder(folder));
    Some((Request::new(key, set).with_origin(origin).with_context(context), form))
}

/// A user who decided in Claude Code's own dialog is no longer asked the same in the inbox. Nothing else tells that the
/// dialog is closed: Claude Code leaves a hook running whose decision it does not need.
fn withdraw_decided(event: &Value, settings: &Settings) -> Result<(), Failure> {
    let kind = HookEvent::before_it_ran(event);
    let mut asked = event.clone();
    if kind == HookEvent::QuestionsInDialog {
        // The answers have been added to it since.
        asked["tool_input"] = json!({"questions": event["tool_input"]["questions"]});
    }
    let Some((ran, _)) = request(kind, &asked) else { return Ok(()) };
    let claude = Handle::new(open(settings)?, Principal::agent(ran.origin()));
    let is_same = |question: &&StoredQuestion| {
        question.request.key().session == ran.key().session && question.request.asks_the_same(&ran)
    };
    for_each_page(&claude, Filter::pending(), |questions| match questions.iter().find(is_same) {
        Some(question) => withdraw(&claude, &question.id),
        None => Ok(()),
    })
}

/// Takes back what was decided in a dialog of Claude Code's. It may have been answered in the inbox meanwhile.
fn withdraw(claude: &Handle, which: impl Into<Which>) -> Result<(), Failure> {
    match block_on(claude.withdraw(which, &attempt()?)) {
        Ok(_) | Err(StoreError::Ended(_) | StoreError::NotFound(_)) => Ok(()),
        Err(error) => Err(Failure::new(error.chain())),
    }
}

fn ask(kind: HookEvent, request: Request, form: Option<&Form>, settings: &Settings) -> Result<(), Failure> {
    // A file or a rule cannot speak here, where everything counts as the user's; a rule that says to ask no person is kept.
    let is_question = matches!(kind, HookEvent::QuestionsBeforeTool | HookEvent::QuestionsInDialog);
    if is_question && settings.headless.is_some() {
        return Ok(());
    }
    let asker = asker(settings, open(settings)?, None)?;
    let claude = asker.handle(Principal::agent(request.origin()));
    let delivered = runtime()?.block_on(until_signal(asker.ask(&request)))?;
    let delivered = delivered.transpose().map_err(|error| Failure::new(error.chain()))?;
    if delivered.is_none() && kind.is_beside_dialog() {
        // It was decided there, or Claude Code has ended: no answer could reach it.
        withdraw(&claude, request.key())?;
    }
    // Otherwise it stays, marked as having no process that waits for it.
    let Some(delivery) = delivered else { return Ok(()) };
    match print(kind, &request, form, delivery.resolution()) {
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

fn print(kind: HookEvent, request: &Request, form: Option<&Form>, resolution: &Resolution) -> Result<(), Failure> {
    let Some(output) = decision::of(kind, request.set(), form, resolution) else { return Ok(()) };
    let line = escape_invisible(&json!({"hookSpecificOutput": output}));
    result::write_all(&format!("{line}\n")).or_fail("cannot write")
}
