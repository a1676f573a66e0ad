//! `askuser agent -p`: one turn without a terminal. Its text, its result or its events go to standard output.

use crate::commands::agent::app::tool_calls::{about, shown_name};
use crate::commands::agent::protocol::{FrontEnd, FrontEndRequest, Lines};
use crate::commands::agent::session::Again;
use crate::config::Settings;
use crate::failure::{self, Failure, OrFail, exit};
use crate::json::escape_invisible;
use crate::result;
use crate::signals::{self, Signal, Signals};
use crate::source;
use crate::store;
use crate::surfaces::Surfaces;
use askuser::{Answer, Asker, Purpose, RequestKey, Status, sanitize};
use askuser_agent::{
    Agent, AgentEvent, AgentEvents, AgentHandle, Failure as Broken, FailureKind, PermissionMode, QuestionOutcome, Usage,
};
use clap::ArgMatches;
use futures_util::StreamExt;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufReader, IsTerminal};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

/// The time in which an aborted turn may write its last lines.
const LAST_WORDS: Duration = signals::GRACE;

/// The maximum number of unanswered calls and questions in the final notices.
const MOST_LINES: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Text,
    Json,
    Stream,
}

pub(crate) struct Wanted {
    prompt: Option<String>,
    output: Output,
}

/// Returns the prompt and the output format of a headless run; `None` for a run in a terminal.
pub(crate) fn wanted(args: &ArgMatches, opening: Option<&str>) -> Result<Option<Wanted>, Failure> {
    let output = args.get_one::<String>("output").map(String::as_str);
    let prompt = args.get_one::<String>("prompt").map(String::as_str);
    if output.is_none() && prompt.is_none() {
        return Ok(None);
    }
    let output = match output {
        Some("stream-json") => Output::Stream,
        Some("json") => Output::Json,
        _ => Output::Text,
    };
    let prompt = match prompt {
        Some("-") if output == Output::Stream => {
            return Err(Failure::new("-p - and --output stream-json both need standard input")
                .hint("send it as {\"type\": \"user\", \"text\": …} on standard input, without -p"));
        }
        Some("-") => Some(source::read("standard input", io::stdin().lock())?),
        Some(text) => Some(text.to_owned()),
        None => opening.map(str::to_owned),
    };
    if prompt.as_ref().is_some_and(|text| text.trim().is_empty()) {
        return Err(Failure::new("-p: blank, must be a prompt"));
    }
    let resumes = args.get_flag("continue") || args.contains_id("resume");
    if prompt.is_none() && output != Output::Stream && !resumes {
        return Err(Failure::new("there is no prompt").hint("give -p TEXT"));
    }
    // A user who resumes a session has already sent the message.
    let prompt = if resumes && !args.contains_id("prompt") { None } else { prompt };
    Ok(Some(Wanted { prompt, output }))
}

pub(crate) fn run(
    agent: Agent,
    wanted: Wanted,
    settings: &Settings,
    surfaces: Surfaces,
    again: &Again,
) -> Result<u8, Failure> {
    let runtime = store::runtime()?;
    let lines = Lines::write(result::stdout().or_fail("cannot start")?);
    let (front_end, requests) = (wanted.output == Output::Stream && stdin_may_speak())
        .then(|| FrontEnd::listen(BufReader::new(io::stdin()), lines.clone()))
        .unzip();
    let person = front_end.map(|front_end| Arc::new(front_end) as Arc<dyn Asker>);
    let store = store::inbox_store(settings, &surfaces)?;
    let chain = surfaces.chain(settings, store.clone(), person, failure::notice)?;
    let agent = chain.into_iter().fold(agent, |agent, chain| agent.with_asker(Arc::new(chain)));
    let ended = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let ended = converse(agent, wanted, requests, &lines, &mut signals, again).await;
        // A process that received a signal ends, even if the rest of its output is not read.
        let patience = if ended.is_ok() { Duration::MAX } else { LAST_WORDS };
        tokio::select! {
            _ = tokio::time::timeout(patience, lines.written()) => {}
            _ = signals.next() => {}
        }
        ended
    });
    // The shutdown does not wait for an unfinished search.
    runtime.shutdown_background();
    if ended.as_ref().map_or_else(|failure| failure.code, |code| *code) == exit::INTERRUPTED {
        signals::end(Signal::Interrupt);
    }
    signals::listen()?;
    let flushed = store::flush(store);
    ended.and_then(|code| flushed.map(|()| code))
}

/// Returns whether a front end could answer on standard input. A terminal is for people, who do not write JSON.
fn stdin_may_speak() -> bool {
    !io::stdin().is_terminal() && !is_null(&io::stdin())
}

#[cfg(unix)]
fn is_null(file: &impl std::os::fd::AsFd) -> bool {
    let device = |stat: rustix::fs::Stat| (stat.st_rdev != 0).then_some(stat.st_rdev);
    rustix::fs::fstat(file)
        .is_ok_and(|stat| device(stat).is_some() && device(stat) == rustix::fs::stat("/dev/null").ok().and_then(device))
}

#[cfg(not(unix))]
fn is_null<T>(_: &T) -> bool {
    false
}

#[derive(Default)]
struct Tally {
    text: String,
    error: Option<Broken>,
    usage: Usage,
    questions: Vec<EndedQuestion>,
    /// The calls that still run. The key consists of the ids of the calls that led to a call, then its own id.
    running: HashMap<Vec<String>, RunningCall>,
    /// The missing permissions and answers, and the remedies.
    lacking: Vec<String>,
    mode: PermissionMode,
}

#[derive(Serialize)]
struct EndedQuestion {
    id: String,
    outcome: QuestionOutcome,
}

struct RunningCall {
    tool: String,
    about: String,
    questions: Vec<String>,
}

async fn converse(
    agent: Agent,
    wanted: Wanted,
    requests: Option<UnboundedReceiver<FrontEndRequest>>,
    lines: &Lines,
    signals: &mut Signals,
    again: &Again,
) -> Result<u8, Failure> {
    let session = agent.transcript().id();
    let model = agent.model();
    let output = wanted.output;
    let cwd = agent.transcript().cwd();
    let replay = agent.transcript().replay();
    let is_cut_off = agent.is_cut_off();
    let tally = Tally { mode: agent.mode(), ..Tally::default() };
    let (handle, events) = agent.start();
    let turns_left = usize::from(is_cut_off);
    let mut talk = Talk { output, handle, events, turns_left, unheard: 0, requests, lines, signals, tally };
    if output == Output::Stream {
        talk.emit(&json!({"type": "session", "id": session, "model": model, "cwd": cwd})).await?;
        for event in replay {
            talk.emit(&json!({"type": "replay", "event": event})).await?;
        }
    } else if !is_cut_off && wanted.prompt.is_none() {
        return Err(Failure::new(format!("session {session} has nothing left to do")).hint("give a prompt with -p"));
    }
    let one_turn = wanted.prompt.is_some();
    let first = match wanted.prompt {
        None if is_cut_off => talk.listen_first().await?,
        _ => None,
    };
    let first = wanted.prompt.map(|prompt| Some(FrontEndRequest::Say(prompt))).or(first);
    if let Some(request) = first {
        // The interrupted turn yields to the user's first message.
        if matches!(request, Some(FrontEndRequest::Say(_))) {
            talk.handle.yield_to_user();
        }
        talk.take_request(request);
    }
    let mut resumes = is_cut_off;
    while talk.goes_on(one_turn) {
        let has_ended = talk.next().await?;
        // Another message would give up a question that still waits for its answer.
        let waits = matches!(talk.tally.error, Some(Broken { kind: FailureKind::NobodyThere, .. }));
        if has_ended && std::mem::take(&mut resumes) && waits {
            break;
        }
    }
    talk.tally.finish(output, &session, &model, again)
}

struct Talk<'a> {
    output: Output,
    handle: AgentHandle,
    events: AgentEvents,
    /// The number of turns that are running or were cut off.
    turns_left: usize,
    /// The number of messages that the model has not read.
    unheard: usize,
    requests: Option<UnboundedReceiver<FrontEndRequest>>,
    lines: &'a Lines,
    signals: &'a mut Signals,
    tally: Tally,
}

impl Talk<'_> {
    /// Prints a line. A signal ends the process even if the reader blocks.
    async fn emit(&mut self, line: &Value) -> Result<(), Failure> {
        tokio::select! {
            signal = self.signals.next() => Err(self.ended_by(signal)),
            written = self.lines.emit(line) => written.or_fail("cannot write to standard output"),
        }
    }

    /// Ends the run after a signal, and returns its failure. A front end that still reads receives the reason.
    fn ended_by(&self, signal: Signal) -> Failure {
        signals::end(signal);
        let failure = signal.failure();
        if self.output == Output::Stream {
            let is_interrupt = signal == Signal::Interrupt;
            let kind = if is_interrupt { FailureKind::Interrupted } else { FailureKind::Signal };
            let error = Broken::new(kind, failure.message.clone());
            self.lines.emit_if_read(&json!(AgentEvent::Error { error }));
        }
        failure
    }

    /// Waits for the first request of a front end that resumes a session: to continue, or another message. Returns
    /// `None` without a front end, and `Some(None)` if its input has ended.
    async fn listen_first(&mut self) -> Result<Option<Option<FrontEndRequest>>, Failure> {
        if self.requests.is_none() {
            return Ok(None);
        }
        self.emit(&json!({"type": "cut_off"})).await?;
        tokio::select! {
            biased;
            signal = self.signals.next() => Err(self.ended_by(signal)),
            request = next_request(&mut self.requests) => Ok(Some(request)),
        }
    }

    /// Returns whether the run continues. With `-p` it ends after one turn and the messages received during that turn.
    fn goes_on(&self, one_turn: bool) -> bool {
        self.turns_left > 0 || self.unheard > 0 || (self.requests.is_some() && !one_turn)
    }

    /// Handles the next event or request. Returns whether it has ended a turn.
    async fn next(&mut self) -> Result<bool, Failure> {
        let event = tokio::select! {
            biased;
            signal = self.signals.next() => {
                if signal == Signal::Interrupt && self.turns_left > 0 && !self.handle.is_stopping() {
                    self.handle.stop();
                    return Ok(false);
                }
                // No result is recorded, so the session can be resumed at this point.
                return Err(self.ended_by(signal));
            }
            request = next_request(&mut self.requests) => {
                self.take_request(request);
                return Ok(false);
            }
            event = self.events.next() => event,
        };
        let Some(event) = event else { return Ok(false) };
        match &event {
            event if self.output == Output::Stream => self.emit(&json!(event)).await?,
            // The notice tells the caller the reason for the delay.
            AgentEvent::Retry { error, after_ms } => {
                let seconds = after_ms.div_ceil(1000);
                failure::notice(&format!("{}; trying again in {seconds} s", error.message));
            }
            AgentEvent::Notice { message } => failure::notice(message),
            _ => {}
        }
        let has_ended = matches!(event, AgentEvent::Done { .. } | AgentEvent::Error { .. });
        self.turns_left = self.turns_left.saturating_sub(usize::from(has_ended));
        if matches!(event, AgentEvent::Error { .. }) {
            // The messages wait for the next turn.
            self.unheard = 0;
        }
        if matches!(event, AgentEvent::User { .. }) {
            self.unheard = self.unheard.saturating_sub(1);
            self.turns_left = self.turns_left.max(1);
        }
        self.tally.take(event, &mut Vec::new());
        Ok(has_ended)
    }

    fn take_request(&mut self, request: Option<FrontEndRequest>) {
        match request {
            Some(FrontEndRequest::Interrupt) => self.handle.stop(),
            Some(FrontEndRequest::Continue) => {}
            Some(FrontEndRequest::Say(text)) => match self.handle.say(text) {
                Ok(()) => self.unheard += 1,
                Err(error) => failure::notice(&error.to_string()),
            },
            None => self.requests = None,
        }
    }
}

impl Tally {
    fn take(&mut self, event: AgentEvent, tasks: &mut Vec<String>) {
        match event {
            AgentEvent::Done { text } if tasks.is_empty() => {
                self.text = text;
                self.error = None;
            }
            AgentEvent::Error { error } if tasks.is_empty() => self.error = Some(error),
            AgentEvent::Usage { usage } => self.usage += usage,
            AgentEvent::ToolStart { id, name, input } => {
                let questions = input["questions"].as_array().into_iter().flatten();
                let questions =
                    questions.filter_map(|question| Some(question["question"].as_str()?.to_owned())).collect();
                self.running.insert(path(tasks, &id), RunningCall { tool: name, about: about(&input), questions });
            }
            AgentEvent::ToolResult { id, .. } => drop(self.running.remove(&path(tasks, &id))),
            AgentEvent::QuestionEnded { id, key, outcome } => {
                if let Status::Unavailable { .. } = outcome.status {
                    self.lacking.extend(self.what_lacks(&key, &outcome.answers));
                }
                self.questions.push(EndedQuestion { id, outcome: *outcome });
            }
            AgentEvent::Task { id, event, .. } => {
                tasks.push(id);
                self.take(*event, tasks);
                tasks.pop();
            }
            _ => {}
        }
    }

    /// Returns the call that needs a person, and the remedy; `None` if the call does not run.
    fn what_lacks(&self, key: &RequestKey, answers: &[Answer]) -> Option<String> {
        let RunningCall { tool, about, questions } = self.running.get(&path(&key.tasks, &key.call))?;
        Some(match key.purpose {
            Purpose::Permission => format!(
                "not run, because no person was there to permit it: {} {about}; {}",
                shown_name(tool),
                self.what_permits(tool)
            ),
            _ => {
                let is_open = |question: &&String| !answers.iter().any(|answer| answer.question == **question);
                let open: Vec<_> = questions.iter().filter(is_open).map(|question| sanitize::line(question)).collect();
                let open = if questions.is_empty() { about.clone() } else { open.join(" ") };
                format!("no person was there to answer: {open}; --answers FILE or a front end can answer it")
            }
        })
    }

    fn what_permits(&self, tool: &str) -> &'static str {
        match (tool, self.mode) {
            ("Write" | "Edit", PermissionMode::Ask) => "--permissions accept-edits lets it run",
            ("Bash", PermissionMode::Ask | PermissionMode::AcceptEdits) => {
                "--permissions sandbox or a rule (/permissions in the conversation) lets it run"
            }
            (_, PermissionMode::Ask | PermissionMode::AcceptEdits) if !matches!(tool, "Write" | "Edit") => {
                "--permissions allow or a rule (/permissions in the conversation) lets it run"
            }
            // This permission is requested in every mode.
            _ => "a person at a terminal, a front end or --answers FILE can permit it",
        }
    }

    fn finish(self, output: Output, session: &str, model: &str, again: &Again) -> Result<u8, Failure> {
        let code = self.code();
        for line in self.lacking.iter().take(MOST_LINES) {
            failure::notice(line);
        }
        if let Some(more @ 1..) = self.lacking.len().checked_sub(MOST_LINES) {
            failure::notice(&format!("and {more} more like that"));
        }
        if output == Output::Json {
            let mut result = json!({
                "session": session, "model": model, "text": self.text, "usage": self.usage, "questions": self.questions,
            });
            if let Some(error) = &self.error {
                result["error"] = json!(error);
            }
            print(&escape_invisible(&result))?;
        }
        if let Some(error) = self.error {
            return Err(Failure::new(error.message)
                .code(code)
                .hint(format!("the session is kept: {}", again.command(session))));
        }
        if output == Output::Text && !self.text.is_empty() {
            // A model's text must not control a terminal.
            let on_screen = io::stdout().is_terminal().then(|| sanitize::block(&self.text));
            print(on_screen.as_deref().unwrap_or(&self.text))?;
        }
        Ok(code)
    }

    fn code(&self) -> u8 {
        let statuses = || self.questions.iter().map(|question| &question.outcome.status);
        match &self.error {
            Some(Broken { kind: FailureKind::Interrupted, .. }) => exit::INTERRUPTED,
            Some(Broken { kind: FailureKind::NobodyThere, .. }) => exit::UNAVAILABLE,
            Some(_) => exit::BAD_INPUT,
            None if statuses().any(|status| matches!(status, Status::Unavailable { .. })) => exit::UNAVAILABLE,
            None if statuses().any(|status| *status != Status::Answered) => exit::NOT_ANSWERED,
            None => exit::ANSWERED,
        }
    }
}

/// Returns a key for a call. Call ids are unique only within an agent, so the key includes the calls that lead to a
/// subagent.
fn path(tasks: &[String], call: &str) -> Vec<String> {
    tasks.iter().map(String::as_str).chain([call]).map(str::to_owned).collect()
}

async fn next_request(requests: &mut Option<UnboundedReceiver<FrontEndRequest>>) -> Option<FrontEndRequest> {
    match requests {
        Some(requests) => requests.recv().await,
        None => std::future::pending().await,
    }
}

/// Prints a text. If printing fails, the error includes the text, because the user has paid for it.
fn print(text: &str) -> Result<(), Failure> {
    result::write_all(&format!("{text}\n"))
        .map_err(|error| Failure::new(format!("cannot write the result: {error}\n{text}")))
}
