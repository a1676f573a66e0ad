//! Delivers answers to background questions to Claude Code and Codex. A hook reports that there is an answer. The model
//! fetches it with its ticket, so that the answer is the result of a tool.

use super::asking::{AGENT, print};
use super::transcript::tail;
use crate::config::Settings;
use crate::failure::{Failure, OrFail, exit};
use crate::json::escape_invisible;
use crate::result;
use crate::signals::until_signal;
use crate::state_folder::state_folder;
use crate::store::{block_on, done, failed, open, origin, runtime};
use askuser::store::{Handle, Principal, QuestionId, State, StoreError, StoredQuestion};
use askuser_agent::regular_file;
use askuser_sys::programs;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::TryLockError;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The exit code with which an asynchronous hook wakes Claude Code.
const WAKES: u8 = 2;

/// The agent that runs the hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agent {
    Claude,
    Codex,
}

/// The fields of an event that background questions use.
#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    session_id: String,
    hook_event_name: String,
    transcript_path: Option<String>,
    tool_response: Option<Value>,
}

/// A result of an askuser tool about one question.
#[derive(Deserialize)]
struct ToolResult {
    ticket: QuestionId,
    status: String,
}

impl ToolResult {
    fn is_without_answer(&self) -> bool {
        matches!(self.status.as_str(), "background" | "pending")
    }
}

/// Appends the results in a JSON value to `found`, including the results inside its texts.
fn results(value: &Value, found: &mut Vec<ToolResult>) {
    match value {
        Value::Object(fields) => {
            found.extend(ToolResult::deserialize(value));
            fields.values().for_each(|field| results(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| results(item, found)),
        Value::String(text) => {
            // Codex writes a heading above the JSON.
            let json = text.find('{').and_then(|start| serde_json::from_str::<Value>(&text[start..]).ok());
            json.iter().for_each(|json| results(json, found));
        }
        _ => {}
    }
}

/// Returns the tickets of a transcript. The `bool` tells whether the transcript also contains the answer.
fn tickets(transcript: &str) -> Vec<(QuestionId, bool)> {
    let mut found = Vec::new();
    for line in transcript.lines().filter(|line| line.contains("ticket")) {
        serde_json::from_str(line).iter().for_each(|line| results(line, &mut found));
    }
    let mut tickets: Vec<(QuestionId, bool)> = Vec::new();
    for result in found {
        match tickets.iter_mut().find(|(id, _)| *id == result.ticket) {
            Some((_, is_fetched)) => *is_fetched |= !result.is_without_answer(),
            None => tickets.push((result.ticket.clone(), !result.is_without_answer())),
        }
    }
    tickets
}

/// Returns whether a person has replied to a background question. A dismissed question wakes no agent.
fn is_news(question: &StoredQuestion) -> bool {
    question.request.is_in_background()
        && matches!(question.state(), State::Answered | State::Declined | State::Discuss)
}

fn notice(id: &QuestionId, is_again: bool) -> String {
    let question = if is_again { "Again: question" } else { "Question" };
    format!("{question} {id} was answered. Call AskUserQuestionResult with this ticket now.")
}

/// Opens the store with this agent as the principal.
fn questions_of(agent: Agent, settings: &Settings) -> Result<Handle, Failure> {
    let name = if agent == Agent::Claude { AGENT } else { "codex-mcp-client" };
    Ok(Handle::new(open(settings)?, Principal::agent(&origin(name))))
}

/// Prints a notice for each new answer. At the end of a turn an answer is reported once. When a session continues, an
/// answer that was not fetched is reported again.
pub(super) fn remind(agent: Agent, event: &Value, settings: &Settings) -> Result<(), Failure> {
    let event = Event::deserialize(event).or_fail("not an event")?;
    // A subagent does not fetch the answers to its main agent's questions.
    let Some(path) = event.transcript_path.as_ref().filter(|_| event.hook_event_name != "SubagentStop") else {
        return Ok(());
    };
    let tickets = tickets(&tail(Path::new(path)).or_fail("cannot read the transcript")?);
    if tickets.is_empty() {
        return Ok(());
    }
    let goes_on = event.hook_event_name == "SessionStart";
    let store = questions_of(agent, settings)?;
    let mut notices = Vec::new();
    for (id, is_fetched) in tickets {
        let question = match block_on(store.get(&id)) {
            Ok(question) => question,
            // The question belongs to another agent, or was purged.
            Err(StoreError::NotFound(_) | StoreError::Forbidden(_)) => continue,
            Err(error) => return Err(failed(error)),
        };
        if is_fetched {
            if question.delivered_ms.is_none() && question.ending.is_some() {
                done(store.delivered(&id))?;
            }
        } else if is_news(&question) {
            let earlier = done(store.sent(&id))?;
            if goes_on || earlier.is_none() {
                notices.push(notice(&id, earlier.is_some()));
            }
        } else if agent == Agent::Codex && question.ending.is_none() && question.request.is_in_background() {
            wait_beside(&event.session_id, &id)?;
        }
    }
    match (notices.is_empty(), goes_on) {
        (true, _) => Ok(()),
        (false, true) => print(&json!({"hookEventName": "SessionStart", "additionalContext": notices.join("\n")})),
        (false, false) => {
            let output = json!({"decision": "block", "reason": notices.join("\n")});
            result::write_all(&format!("{}\n", escape_invisible(&output))).or_fail("cannot write")
        }
    }
}

/// Waits for the answer to a call's question, and wakes the session of Claude Code. Returns the exit code.
pub(super) fn wake(event: &Value, settings: &Settings) -> Result<u8, Failure> {
    let event = Event::deserialize(event).or_fail("not an event")?;
    let mut asked = Vec::new();
    event.tool_response.iter().for_each(|response| results(response, &mut asked));
    let Some(asked) = asked.into_iter().find(|result| result.status == "background") else { return Ok(exit::ANSWERED) };
    let store = questions_of(Agent::Claude, settings)?;
    match wait_for_news(&store, &asked.ticket)? {
        Some(words) => {
            writeln!(std::io::stderr(), "{words}").or_fail("cannot write")?;
            Ok(WAKES)
        }
        None => Ok(exit::ANSWERED),
    }
}

/// Waits for an answer and returns the notice about it. Returns `None` if the answer is no news, or was already
/// reported.
fn wait_for_news(store: &Handle, id: &QuestionId) -> Result<Option<String>, Failure> {
    let ended = runtime()?.block_on(until_signal(store.wait(id)))?;
    if ended.transpose().map_err(failed)?.is_none() {
        return Ok(None);
    }
    let is_news = is_news(&done(store.get(id))?);
    let is_first = is_news && done(store.sent(id))?.is_none();
    Ok(is_first.then(|| notice(id, false)))
}

/// The input of a process that waits for Codex.
#[derive(serde::Serialize, Deserialize)]
struct Errand {
    session: String,
    ticket: QuestionId,
}

/// Starts a process that waits for an answer and outlives the hook, because no hook of Codex wakes a session.
fn wait_beside(session: &str, ticket: &QuestionId) -> Result<(), Failure> {
    let program = std::env::current_exe().or_fail("cannot find this program")?;
    let mut command = Command::new(program);
    command.args(["hook", "--codex", "--answers"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let errand = Errand { session: session.to_owned(), ticket: ticket.clone() };
    let mut child = command.spawn().or_fail("cannot start")?;
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(json!(errand).to_string().as_bytes()));
    written.or_fail("cannot start")
}

/// Waits for an answer and queues a notice about it in a session of Codex. Only one process waits for each question.
pub(super) fn queue(errand: &Value, settings: &Settings) -> Result<(), Failure> {
    let Errand { session, ticket } = Errand::deserialize(errand).or_fail("not an errand")?;
    let folder = state_folder()?.join("codex");
    regular_file::make_private_folder(&folder).or_fail("cannot keep a lock")?;
    let path = folder.join(ticket.as_str());
    let lock = regular_file::private().write(true).create(true).open(&path).or_fail("cannot keep a lock")?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(()),
        Err(TryLockError::Error(error)) => return Err(error).or_fail("cannot keep a lock"),
    }
    let words = wait_for_news(&questions_of(Agent::Codex, settings)?, &ticket)?;
    if let Some(words) = words {
        let mut codex = programs::command("codex").or_fail("cannot tell Codex")?;
        codex.args(["queue", "--thread", &session, "--message", &words]);
        codex.stdin(Stdio::null()).stdout(Stdio::null()).status().or_fail("cannot tell Codex")?;
    }
    std::fs::remove_file(&path).or_fail("cannot remove a lock")
}
