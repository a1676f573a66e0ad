//! Runs the calls of one message, each with its permission, until all have a result.
//!
//! Tools that only read run concurrently. A tool that asks or acts runs alone and in its turn. After an unanswered
//! question or a refused permission, also in a subagent, the later calls of the message are skipped. The results record
//! the skip, so that a resume after a crash repeats it.

use crate::agent::Agent;
use crate::agent_context::Shared;
use crate::asking::NO_ASKER;
use crate::event::{AgentEvent, QuestionOutcome};
use crate::event_channel::EventSender;
use crate::message::ToolCall;
use crate::permission;
use crate::tool::{Access, Stop, Tool, ToolContext, ToolResult};
use crate::transcript::{self, Entry, Halt, Next};
use askuser::{Purpose, Resolution, Status};
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};
use serde_json::json;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The maximum number of read-only tools that run concurrently.
const MAX_PARALLEL: usize = 8;

const USER_CAME_FIRST: &str =
    "Not run: the user came back with a message before this had begun. Read it, then decide anew.";

/// The time limit for a tool that acts to end after the turn was stopped.
const GRACE: Duration = Duration::from_millis(2_500);

/// The result of a call, and the reason why later calls of its message must not run; `None` if they may.
pub(crate) struct Ended {
    pub(crate) result: ToolResult,
    pub(crate) halt: Option<Halt>,
}

impl From<ToolResult> for Ended {
    fn from(result: ToolResult) -> Ended {
        Ended { result, halt: None }
    }
}

pub(crate) async fn run_calls(
    agent: &mut Agent,
    calls: &[ToolCall],
    events: &EventSender,
    abort: &CancellationToken,
) -> Result<(), Stop> {
    let shared = agent.shared.clone();
    let said_before = agent.history.messages.last().map(|message| message.text().trim().into());
    let user_returned = agent.user_returned.clone();
    let own = shared.context(events, abort);
    let context = ToolContext { user_returned, said_before, ..own };
    let looks_only = |call: &&ToolCall| shared.tools.get(&call.name).is_some_and(|t| t.access() == Access::Read);
    let mut rest = calls;
    while !rest.is_empty() {
        // A batch is a run of read-only calls, or a single call that asks or acts.
        let beside = rest.iter().take_while(looks_only).count().max(1);
        let (now, later) = rest.split_at(beside);
        rest = later;
        if abort.is_cancelled() {
            return Err(Stop::Interrupted);
        }
        let halted = now.first().and_then(|first| agent.history.halted(&first.id)).map(Halt::words);
        // A question that a person has already seen is still asked.
        let begun = now.iter().any(|call| shared.transcript.has_asked_or_started(&shared.tasks, &call.id));
        if let Some(words) = halted.or_else(|| (!shared.said().is_empty() && !begun).then_some(USER_CAME_FIRST)) {
            for call in now {
                announce(call, &context);
                finish(agent, call, not_run(words).into(), &context)?;
            }
            continue;
        }
        let runs: Vec<_> = now.iter().map(|call| run_call(call, &context)).collect();
        let runs = stream::iter(runs).buffer_unordered(MAX_PARALLEL);
        tokio::pin!(runs);
        loop {
            let ended = tokio::select! {
                // A result or an answer is kept even if the turn is stopped at the same moment.
                biased;
                ended = runs.next() => ended,
                () = abort.cancelled() => {
                    // A stopped tool that acts gets time to report its progress.
                    let ending = now.iter().any(|call| has_to_end(call, &shared));
                    let Ok(ended) = timeout(if ending { GRACE } else { Duration::ZERO }, runs.next()).await else {
                        agent.interrupted = now.to_vec();
                        return Err(Stop::Interrupted);
                    };
                    ended
                }
            };
            let Some((call, ended)) = ended else { break };
            match ended {
                Err(Stop::Interrupted) => {
                    agent.interrupted = now.to_vec();
                    // The person stopped the turn at a question, so the other calls stop, too.
                    if !abort.is_cancelled() {
                        return Err(Stop::Interrupted);
                    }
                }
                ended => finish(agent, call, ended?, &context)?,
            }
        }
        if abort.is_cancelled() {
            return Err(Stop::Interrupted);
        }
    }
    Ok(())
}

/// Whether a stopped call gets time to report its progress. That holds if the call or its subagent may have acted.
fn has_to_end(call: &ToolCall, shared: &Shared) -> bool {
    match shared.tools.get(&call.name).map(|tool| tool.access()) {
        Some(Access::Act) => shared.transcript.has_started(&shared.tasks, &call.id),
        Some(Access::Read) => shared.transcript.has_begun(&shared.tasks, &call.id),
        Some(Access::Ask) | None => false,
    }
}

/// Records a result for each stopped call that has none, so that no call stays open.
pub(crate) fn end_interrupted(agent: &mut Agent, events: &EventSender) -> Result<(), Stop> {
    let context = agent.shared.clone().context(events, &CancellationToken::new());
    let stopped = std::mem::take(&mut agent.interrupted);
    let Next::Calls(open) = agent.history.next() else { return Ok(()) };
    let is_open = |call: &&ToolCall| open.iter().any(|other| other.id == call.id);
    // A call whose question has an answer gets that answer as its result later.
    let has_no_answer = |call: &&ToolCall| agent.shared.recorded_answer(&call.id).is_none();
    for call in stopped.iter().filter(is_open).filter(has_no_answer).cloned().collect::<Vec<_>>() {
        let call = &call;
        let has_begun = agent.shared.transcript.has_begun(&agent.shared.tasks, &call.id);
        let mut result = transcript::interrupted(has_begun);
        result.output.push_str(&agent.shared.answers_below(&call.id));
        finish(agent, call, result.into(), &context)?;
    }
    Ok(())
}

/// Gives a call this result without running it.
pub(crate) fn leave_out(
    agent: &mut Agent,
    call: &ToolCall,
    result: ToolResult,
    events: &EventSender,
    abort: &CancellationToken,
) -> Result<(), Stop> {
    let context = agent.shared.clone().context(events, abort);
    announce(call, &context);
    finish(agent, call, result.into(), &context)
}

fn announce(call: &ToolCall, context: &ToolContext) {
    let id = call.id.clone();
    let name = call.name.clone();
    let input = call.input.clone();
    context.emit(AgentEvent::ToolStart { id, name, input });
}

fn finish(agent: &mut Agent, call: &ToolCall, ended: Ended, context: &ToolContext) -> Result<(), Stop> {
    let Ended { result, halt } = ended;
    let mut result = context.shared.secrets.redact(result);
    agent.history.mark_repetition(call, &mut result);
    let id = call.id.clone();
    let name = call.name.clone();
    agent.record(&Entry::Result { id: id.clone(), name: name.clone(), result: result.clone(), halt })?;
    context.emit(AgentEvent::ToolResult { id, name, result });
    Ok(())
}

async fn run_call<'a>(call: &'a ToolCall, context: &ToolContext) -> (&'a ToolCall, Result<Ended, Stop>) {
    announce(call, context);
    (call, try_call(call, context).await)
}

async fn try_call(call: &ToolCall, context: &ToolContext) -> Result<Ended, Stop> {
    context.wait_until_taken().await?;
    let shared = &context.shared;
    let mode = shared.permissions().mode;
    let Some(tool) = shared.tools.get(&call.name).cloned() else {
        let offered = shared.tools.offered(mode, context.asker.is_some());
        let names: Vec<String> = offered.into_iter().map(|tool| tool.name).collect();
        let words = format!("There is no tool {:?}. The tools are: {}.", call.name, names.join(", "));
        return Ok(ToolResult::without_end("no such tool", words).into());
    };
    if shared.transcript.has_started(&shared.tasks, &call.id) {
        let output = "The session was cut off while this ran. It may have taken effect, in part or as a whole: look before \
                      you do it again.";
        return Ok(ToolResult::without_end("cut off", output).into());
    }
    // An answer that arrived while no process was waiting counts, although the person has sent a message since.
    let is_interrupted = tool.access() == Access::Act && context.user_returned.is_cancelled();
    let is_answered_already = is_interrupted && context.take_back(&call.id).await?;
    if let Some(result) = left_out(&*tool, call, context, is_answered_already) {
        return Ok(result.into());
    }
    // An answer from before the interruption counts, even if the mode has changed since.
    let is_answered = tool.access() == Access::Ask && shared.recorded_answer(&call.id).is_some();
    if !is_answered && !tool.is_offered(mode, context.asker.is_some()) {
        context.keep_waiting(Purpose::Question, &call.id)?;
        context.keep_waiting(Purpose::Plan, &call.id)?;
        if tool.access() != Access::Ask || context.asker.is_some() {
            return Ok(not_now(&*tool).into());
        }
        return Ok(Ended { result: without_asker(call, context), halt: Some(Halt::NotAnswered) });
    }
    // Read-only calls run without a lock. Calls that ask or act hold the session's lock.
    let _exclusive = match tool.access() {
        Access::Read => return Ok(ended(run_tool(&*tool, call, context).await?, &*tool, call, context)),
        Access::Ask | Access::Act => shared.exclusive.lock().await,
    };
    // The call is checked again, because the previous holder of the lock may have been refused.
    if let Some(result) = left_out(&*tool, call, context, is_answered_already) {
        return Ok(result.into());
    }
    let context = &ToolContext { is_exclusive: true, ..context.clone() };
    match tool.access() {
        Access::Read | Access::Ask => Ok(ended(run_tool(&*tool, call, context).await?, &*tool, call, context)),
        Access::Act => act(&*tool, call, context).await,
    }
}

async fn act(tool: &dyn Tool, call: &ToolCall, context: &ToolContext) -> Result<Ended, Stop> {
    let agreed = match permission::obtain(tool, call, context).await? {
        Ok(agreed) => agreed,
        Err(ended) => return Ok(ended),
    };
    let context = &ToolContext { agreed, ..context.clone() };
    context.shared.append(&Entry::Started { id: call.id.clone() })?;
    context.shared.transcript.sync()?;
    Ok(ended(run_tool(tool, call, context).await?, tool, call, context))
}

/// Returns the result of a call that must not start; `None` if it may. A call must not start if the person has sent a
/// message, or has refused or left open another call.
///
/// A question that the person has seen is still asked. A subagent that has started also finishes.
fn left_out(tool: &dyn Tool, call: &ToolCall, context: &ToolContext, is_answered: bool) -> Option<ToolResult> {
    let shared = &context.shared;
    let has_begun = || shared.transcript.has_asked_or_started(&shared.tasks, &call.id);
    let has_returned = context.user_returned.is_cancelled() && !is_answered;
    let words = if has_returned { USER_CAME_FIRST } else { shared.halted_beside(&call.id)? };
    match tool.access() {
        Access::Read | Access::Ask if has_begun() => None,
        Access::Read | Access::Ask => Some(not_run(words)),
        Access::Act => {
            context.withdraw(&call.id);
            Some(not_run(words))
        }
    }
}

/// Returns the result of a finished call, with the reason to skip later calls.
///
/// Later calls are skipped if a question of this call, or of its subagent, has no answer.
fn ended(result: ToolResult, tool: &dyn Tool, call: &ToolCall, context: &ToolContext) -> Ended {
    let halt = match context.shared.recorded_answer(&call.id) {
        Some(resolution) => (*resolution.outcome().status() != Status::Answered).then_some(Halt::NotAnswered),
        None => (tool.access() == Access::Ask).then_some(Halt::NotAsked),
    };
    Ended { result, halt: halt.or_else(|| context.shared.halts_below(&call.id).next().map(|(halt, _)| halt)) }
}

/// Runs a tool. A panic of the tool becomes an error result, so that the turn continues.
async fn run_tool(tool: &dyn Tool, call: &ToolCall, context: &ToolContext) -> Result<ToolResult, Stop> {
    let began = Instant::now();
    let ran = AssertUnwindSafe(async { tool.run(call, context).await }).catch_unwind().await;
    let ran = ran.unwrap_or_else(|_| Ok(ToolResult::error("The tool panicked. It may have taken effect in part.")));
    // The result states no duration if a person had to answer.
    let shared = &context.shared;
    let asked = tool.access() != Access::Act && shared.transcript.has_asked_or_started(&shared.tasks, &call.id);
    ran.map(|result| if asked { result } else { result.timed(began.elapsed()) })
}

fn not_run(words: impl Into<String>) -> ToolResult {
    ToolResult::without_end("not run", words)
}

fn not_now(tool: &dyn Tool) -> ToolResult {
    let name = tool.definition().name;
    match tool.access() {
        Access::Act => not_run(format!(
            "{name} is not available in plan mode, which only looks and asks. Present the plan with ExitPlanMode first."
        )),
        Access::Read | Access::Ask => not_run(format!("{name} is not available now.")),
    }
}

/// Returns the result of a call that asks in a run without an asker.
fn without_asker(call: &ToolCall, context: &ToolContext) -> ToolResult {
    let outcome = QuestionOutcome::new(&Resolution::unavailable(NO_ASKER), &[]);
    let details = json!(outcome);
    context.emit_outcome(Purpose::Question, &call.id, outcome);
    let name = &call.name;
    ToolResult::error(format!("{name} is not available: {NO_ASKER}. Do not assume an answer.")).with_details(details)
}

impl Shared {
    pub(crate) fn context(self: &Arc<Shared>, events: &EventSender, abort: &CancellationToken) -> ToolContext {
        ToolContext {
            cwd: self.cwd.clone(),
            allowed: self.allowed.clone(),
            protected: self.protected.clone(),
            abort: abort.clone(),
            asker: self.asker.clone(),
            agreed: None,
            said_before: None,
            shared: self.clone(),
            events: events.clone(),
            is_exclusive: false,
            user_returned: CancellationToken::new(),
        }
    }
}
