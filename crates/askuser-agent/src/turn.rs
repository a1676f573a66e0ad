//! The loop: look at the conversation, do what comes next, write down what happened, until it is the person's turn.

use crate::agent::Agent;
use crate::asking::Exclusive;
use crate::event::{AgentEvent, Failure, FailureKind, Usage};
use crate::event_channel::EventSender;
use crate::message::{Block, Message, ToolCall};
use crate::model::{ModelError, ModelEvent, ModelRequest};
use crate::permission::{self, PermissionMode, Verdict};
use crate::shared::{Retries, Shared};
use crate::tool::{Access, Stop, Tool, ToolContext, ToolResult};
use crate::transcript::{Entry, History, Next};
use askuser::{Closed, Purpose, Request};
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use serde_json::json;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_util::sync::CancellationToken;

/// How many tools that only look run beside each other.
const MAX_PARALLEL: usize = 8;

/// More than any answer needs.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// Nobody waits longer than this for a provider without being told.
const MAX_PAUSE: Duration = Duration::from_secs(120);

pub(crate) async fn drive<'a>(
    agent: &'a mut Agent,
    begin: impl FnOnce(&mut Agent) -> Result<(), Stop> + Send + 'a,
    events: EventSender,
    abort: CancellationToken,
) {
    let ended = match begin(agent) {
        Ok(()) => turn(agent, &events, &abort).await,
        Err(stop) => Err(stop),
    };
    let last = match ended {
        Ok(text) => AgentEvent::Done { text },
        Err(Stop::Failed(error)) => AgentEvent::Error { error },
        Err(Stop::Interrupted) => {
            match withdraw_questions(agent).keep_answers().and_then(|()| agent.record(&Entry::Interrupted)) {
                Ok(()) | Err(Stop::Interrupted) => AgentEvent::Error {
                    error: Failure { kind: FailureKind::Interrupted, message: "interrupted".into() },
                },
                Err(Stop::Failed(error)) => AgentEvent::Error { error },
            }
        }
    };
    events.send(last);
}

/// The turn was stopped for good: nobody needs the answers to what it still asks.
fn withdraw_questions(agent: &mut Agent) -> &mut Agent {
    let shared = &agent.shared;
    if let Some(asker) = &shared.asker {
        let own = |request: &Request| request.key().tasks().starts_with(&shared.tasks);
        for request in shared.transcript.pending().iter().filter(|request| own(request)) {
            asker.close(request.key(), &Closed::Withdrawn);
        }
    }
    agent
}

async fn turn(agent: &mut Agent, events: &EventSender, abort: &CancellationToken) -> Result<String, Stop> {
    let mut requests = 0;
    loop {
        match agent.history.next() {
            Next::User => return Ok(agent.history.messages.last().map(Message::text).unwrap_or_default()),
            Next::Calls(calls) => run_calls(agent, &calls, events, abort).await?,
            Next::Model => {
                if agent.shared.max_requests.is_some_and(|most| requests >= most) {
                    let message = format!("stopped after {requests} requests to the model in this turn");
                    return Err(Stop::Failed(Failure { kind: FailureKind::TooManyRequests, message }));
                }
                requests += 1;
                respond(agent, events, abort).await?;
            }
        }
    }
}

// ---- the model's turn ----

/// An answer as far as it has come.
#[derive(Default)]
struct Response {
    content: Vec<Block>,
    text: String,
    usage: Usage,
    /// How much of it there is, in bytes.
    size: usize,
    completion: Completion,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Completion {
    #[default]
    Whole,
    /// Where the model was not allowed to write on.
    Truncated,
}

impl Response {
    /// More has come. A provider that never stops must not fill the memory.
    fn grow(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.size += bytes;
        if self.size > MAX_RESPONSE_BYTES {
            let message = format!("the answer has more than {MAX_RESPONSE_BYTES} bytes, at most {MAX_RESPONSE_BYTES}");
            return Err(ModelError::new(FailureKind::Protocol, message));
        }
        Ok(())
    }

    /// To say nothing at all is an answer to results of tools, but not to a person.
    fn is_no_answer(&self, history: &History) -> bool {
        let said = self.content.iter().any(|block| matches!(block, Block::Text { .. } | Block::Call(_)));
        !said && matches!(history.messages.last(), Some(Message::User { .. }))
    }

    /// The text so far is whole.
    fn close_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            self.content.push(Block::Text { text });
        }
    }

    /// Nothing can void the texts any more.
    fn tell_texts(&self, events: &EventSender) {
        for block in &self.content {
            if let Block::Text { text } = block {
                events.send(AgentEvent::Text { text: text.clone() });
            }
        }
    }
}

async fn respond(agent: &mut Agent, events: &EventSender, abort: &CancellationToken) -> Result<(), Stop> {
    let shared = agent.shared.clone();
    let mut attempt = 0;
    loop {
        let mut response = Response::default();
        let answered = tokio::select! {
            biased;
            () = abort.cancelled() => None,
            answered = read(&shared, &agent.history, &mut response, events) => Some(answered),
        };
        match answered {
            Some(Ok(())) => {
                response.close_text();
                response.tell_texts(events);
                events.send(AgentEvent::Usage { usage: response.usage });
                if response.is_no_answer(&agent.history) {
                    let message = "the model answered with nothing at all".to_owned();
                    return Err(Stop::Failed(Failure { kind: FailureKind::Protocol, message }));
                }
                if response.completion == Completion::Truncated {
                    let message = "the answer was cut off at the limit of its length; max_tokens raises it".to_owned();
                    events.send(AgentEvent::Notice { message });
                }
                return agent.record(&Entry::Assistant { content: response.content, usage: response.usage });
            }
            None => {
                // Words that the person has read stay in the conversation; calls that will not run do not.
                response.close_text();
                response.tell_texts(events);
                response.content.retain(|block| matches!(block, Block::Text { .. }));
                if !response.content.is_empty() {
                    agent.record(&Entry::Assistant { content: response.content, usage: response.usage })?;
                }
                return Err(Stop::Interrupted);
            }
            Some(Err(error)) => {
                let Some(pause) = pause(&error, attempt, shared.retries) else {
                    return Err(Stop::Failed(given_up(error)));
                };
                attempt += 1;
                let after_ms = pause.as_millis() as u64;
                events.send(AgentEvent::Retry { error: error.into(), after_ms });
                tokio::select! {
                    () = abort.cancelled() => return Err(Stop::Interrupted),
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }
}

async fn read(
    shared: &Shared,
    history: &History,
    response: &mut Response,
    events: &EventSender,
) -> Result<(), ModelError> {
    let tools = shared.tools.offered(shared.permissions().mode, shared.asker.is_some());
    let task = shared.origin.task.as_deref().filter(|_| shared.is_subagent());
    let system = shared.system_now();
    let model = shared.model();
    let request = ModelRequest { system: &system, messages: &history.messages, tools: &tools, task };
    let mut answer = model.respond(request);
    while let Some(event) = answer.next().await {
        match event? {
            ModelEvent::Text(text) => {
                response.grow(text.len())?;
                response.text.push_str(&text);
                events.send(AgentEvent::TextDelta { text });
            }
            ModelEvent::Call(call) => {
                response.grow(call.input.to_string().len())?;
                response.close_text();
                let id = history.free_id(&call.id, &response.content);
                response.content.push(Block::Call(ToolCall { id, ..call }));
            }
            ModelEvent::Opaque(block) => {
                response.close_text();
                response.content.push(block);
            }
            ModelEvent::Usage(usage) => response.usage = usage,
            ModelEvent::Truncated => response.completion = Completion::Truncated,
        }
    }
    Ok(())
}

/// How long to wait before the request is made again; `None` if it is not.
fn pause(error: &ModelError, attempt: u32, retries: Retries) -> Option<Duration> {
    if !error.is_transient() || attempt >= retries.max {
        return None;
    }
    match error.retry_after {
        Some(pause) => (pause <= MAX_PAUSE).then_some(pause),
        None => {
            let pause = retries.pause.saturating_mul(1 << attempt.min(6)).min(MAX_PAUSE);
            // Spread over half the pause, so that many agents do not come back together.
            let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
            Some(pause.mul_f64(0.75 + 0.5 * f64::from(nanos % 1000) / 1000.0))
        }
    }
}

/// Why it is not made again, if the provider would have it later.
fn given_up(error: ModelError) -> Failure {
    let later = error.retry_after.filter(|pause| *pause > MAX_PAUSE).map(|pause| pause.as_secs());
    let failure = Failure::from(error);
    match later {
        Some(seconds) => Failure { message: format!("{}; try again in {seconds} s", failure.message), ..failure },
        None => failure,
    }
}

// ---- the tools' turn ----

async fn run_calls(
    agent: &mut Agent,
    calls: &[ToolCall],
    events: &EventSender,
    abort: &CancellationToken,
) -> Result<(), Stop> {
    let shared = agent.shared.clone();
    let context = shared.context(events, abort);
    let looks_only = |call: &&ToolCall| shared.tools.get(&call.name).is_some_and(|t| t.access() == Access::Read);
    let mut rest = calls;
    while !rest.is_empty() {
        // Tools that only look run beside each other; whatever asks or acts runs alone and in its turn.
        let beside = rest.iter().take_while(looks_only).count().max(1);
        let (now, later) = rest.split_at(beside);
        rest = later;
        if abort.is_cancelled() {
            return Err(Stop::Interrupted);
        }
        let runs: Vec<_> = now.iter().map(|call| run_call(call, &context)).collect();
        let runs = stream::iter(runs).buffer_unordered(MAX_PARALLEL);
        tokio::pin!(runs);
        loop {
            let ended = tokio::select! {
                // What has just been done or answered is kept, even if the turn is stopped in the same moment.
                biased;
                ended = runs.next() => ended,
                () = abort.cancelled() => return Err(Stop::Interrupted),
            };
            let Some((call, result)) = ended else { break };
            let (id, name, result) = (call.id.clone(), call.name.clone(), result?);
            agent.record(&Entry::Result { id: id.clone(), name: name.clone(), result: result.clone() })?;
            context.emit(AgentEvent::ToolResult { id, name, result });
        }
    }
    Ok(())
}

async fn run_call<'a>(call: &'a ToolCall, context: &ToolContext) -> (&'a ToolCall, Result<ToolResult, Stop>) {
    let (id, name, input) = (call.id.clone(), call.name.clone(), call.input.clone());
    context.emit(AgentEvent::ToolStart { id, name, input });
    (call, try_call(call, context).await)
}

async fn try_call(call: &ToolCall, context: &ToolContext) -> Result<ToolResult, Stop> {
    context.wait_until_taken().await?;
    let shared = &context.shared;
    let mode = shared.permissions().mode;
    let Some(tool) = shared.tools.get(&call.name).cloned() else {
        let offered = shared.tools.offered(mode, context.asker.is_some());
        let names: Vec<String> = offered.into_iter().map(|tool| tool.name).collect();
        return Ok(ToolResult::error(format!(
            "There is no tool {:?}. The tools are: {}.",
            call.name,
            names.join(", ")
        )));
    };
    if shared.transcript.has_started(&shared.tasks, &call.id) {
        let mut output = String::from(
            "The session was cut off while this ran. It may have taken effect, in part or as a whole: look before you \
             do it again.",
        );
        if let Some(note) = permission::recorded_note(call, context) {
            output.push_str(&noted(&note));
        }
        return Ok(ToolResult::error(output));
    }
    // What was answered before the session was cut off counts, even if that answer has changed the mode since.
    let is_answered = tool.access() == Access::Ask && shared.recorded_question(&call.id).is_some();
    if !is_answered && !tool.is_offered(mode, context.asker.is_some()) {
        context.keep_waiting(Purpose::Question, &call.id)?;
        context.keep_waiting(Purpose::Plan, &call.id)?;
        return Ok(not_now(&*tool, context));
    }
    // Looking runs side by side; asking and acting do not, whichever agent of the session does them.
    let _exclusive = match tool.access() {
        Access::Read => return run_tool(&*tool, call, context).await,
        Access::Ask | Access::Act => shared.exclusive.lock().await,
    };
    let context = &ToolContext { exclusive: Exclusive::Held, ..context.clone() };
    if tool.access() == Access::Ask {
        return run_tool(&*tool, call, context).await;
    }
    let note = match permission::obtain(&*tool, call, context).await? {
        Verdict::Allowed { note } => note,
        Verdict::Refused(result) => return Ok(result),
    };
    shared.append(&Entry::Started { id: call.id.clone() })?;
    shared.transcript.sync()?;
    let mut result = run_tool(&*tool, call, context).await?;
    if let Some(note) = note {
        result.output.push_str(&noted(&note));
    }
    Ok(result)
}

fn noted(note: &str) -> String {
    format!("\n\nThe user allowed this, and noted: {note}")
}

/// A tool that panics has failed; the turn goes on, and whoever runs it.
async fn run_tool(tool: &dyn Tool, call: &ToolCall, context: &ToolContext) -> Result<ToolResult, Stop> {
    let ran = AssertUnwindSafe(async { tool.run(call, context).await }).catch_unwind().await;
    ran.unwrap_or_else(|_| Ok(ToolResult::error("The tool failed badly. It may have taken effect in part.")))
}

fn not_now(tool: &dyn Tool, context: &ToolContext) -> ToolResult {
    let name = tool.definition().name;
    match tool.access() {
        Access::Act => ToolResult::error(format!(
            "{name} is not available in plan mode, which only looks and asks. Present the plan with ExitPlanMode first."
        )),
        Access::Ask if context.asker.is_none() => ToolResult::error(format!(
            "{name} is not available: nobody can be asked in this run. Do not assume an answer."
        ))
        .with_details(
            json!({"status": "unavailable", "answers": [], "via": null, "reason": "nobody can be asked in this run"}),
        ),
        Access::Read | Access::Ask => ToolResult::error(format!("{name} is not available now.")),
    }
}

impl Shared {
    fn context(self: &Arc<Shared>, events: &EventSender, abort: &CancellationToken) -> ToolContext {
        ToolContext {
            cwd: self.cwd.clone(),
            allowed: self.allowed.clone(),
            protected: self.protected.clone(),
            abort: abort.clone(),
            asker: self.asker.clone(),
            shared: self.clone(),
            events: events.clone(),
            exclusive: Exclusive::Free,
        }
    }

    /// What the model is told, with what is true only now.
    fn system_now(&self) -> String {
        match self.permissions().mode {
            PermissionMode::Plan => {
                let plan_mode = if self.is_subagent() { PLAN_MODE_OF_TASK } else { PLAN_MODE };
                format!("{}\n\n{}", self.system, plan_mode.trim_ascii_end())
            }
            PermissionMode::Ask | PermissionMode::AcceptEdits | PermissionMode::Allow => self.system.clone(),
        }
    }
}

const PLAN_MODE: &str = include_str!("../prompts/agent/plan-mode.txt");
const PLAN_MODE_OF_TASK: &str = include_str!("../prompts/agent/plan-mode-of-task.txt");
