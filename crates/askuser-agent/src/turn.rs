//! The loop of a turn. It derives the next step from the conversation, performs it and records it, until the person has
//! to send a message.

use crate::agent::Agent;
use crate::agent_context::{MAX_PAUSE, Retries, Shared};
use crate::calls::{end_interrupted, leave_out, run_calls};
use crate::compaction::{self, Tail};
use crate::context::ContextUse;
use crate::event::{AgentEvent, Failure, FailureKind, Usage};
use crate::event_channel::EventSender;
use crate::message::{Block, Message, ToolCall};
use crate::model::{ModelError, ModelEvent, ModelRequest};
use crate::permission::PermissionMode;
use crate::text_call;
use crate::tool::Stop;
use crate::transcript::{Entry, History, Next};
use crate::truncated_call;
use askuser::{Request, tool};
use askuser_sys::random::jittered;
use futures_util::stream::StreamExt;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The maximum size of a response. No normal response is as long.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

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
    let last = last_event(agent, ended, &events);
    events.send(last);
}

/// Summarises the conversation at the person's request.
pub(crate) async fn compact(agent: &mut Agent, wish: Option<String>, events: EventSender, abort: CancellationToken) {
    let ended = compaction::compact(agent, Tail::Kept, wish.as_deref(), &events, &abort).await;
    // A stop by the person has stopped only the summary.
    events.send(ended.map_or_else(AgentEvent::from, |()| AgentEvent::Done { text: String::new() }));
}

fn last_event(agent: &mut Agent, ended: Result<String, Stop>, events: &EventSender) -> AgentEvent {
    match ended {
        Ok(text) => AgentEvent::Done { text },
        Err(stop @ Stop::Failed(_)) => stop.into(),
        Err(Stop::Interrupted) => {
            agent.history.said = std::mem::take(&mut *agent.shared.said());
            let ended = end_interrupted(withdraw_questions(agent), events).and_then(|()| agent.keep_answers());
            ended.and_then(|()| agent.record(&Entry::Interrupted)).err().unwrap_or(Stop::Interrupted).into()
        }
    }
}

/// Withdraws the open questions of a stopped turn, because their answers are no longer needed.
fn withdraw_questions(agent: &mut Agent) -> &mut Agent {
    let shared = &agent.shared;
    if let Some(asker) = &shared.asker {
        let own = |request: &Request| request.key().tasks.starts_with(&shared.tasks);
        for request in shared.transcript.pending().iter().filter(|request| own(request)) {
            drop(asker.withdraw(request));
        }
    }
    agent
}

async fn turn(agent: &mut Agent, events: &EventSender, abort: &CancellationToken) -> Result<String, Stop> {
    let mut requests = 0;
    let mut told = false;
    let mut cut_off = 0;
    loop {
        match agent.history.next() {
            Next::User if agent.hear(events)? => {}
            Next::User => return Ok(agent.history.messages.last().map(Message::text).unwrap_or_default()),
            Next::Calls(calls) => run_calls(agent, &calls, events, abort).await?,
            Next::Model => {
                agent.hear(events)?;
                if agent.user_returned.is_cancelled() {
                    return Ok(String::new());
                }
                if agent.shared.max_requests.is_some_and(|most| requests >= most) {
                    let message = format!("stopped after {requests} requests to the model in this turn");
                    return Err(Stop::failed(FailureKind::TooManyRequests, message));
                }
                requests += 1;
                compaction::make_room(agent, events, abort).await?;
                match respond(agent, events, abort).await? {
                    Answer::CutOff => cut_off += 1,
                    Answer::Whole => cut_off = 0,
                }
                truncated_call::check_progress(cut_off)?;
                let Some(last @ Message::Assistant { .. }) = agent.history.messages.last() else { continue };
                if last.calls().next().is_none() && text_call::is_call(&last.text(), &agent.shared.tools) {
                    if std::mem::replace(&mut told, true) {
                        return Err(Stop::failed(FailureKind::Protocol, text_call::FAILURE));
                    }
                    agent.record(&Entry::Hint { text: text_call::HINT.to_owned() })?;
                    events.send(AgentEvent::Notice { message: text_call::NOTICE.to_owned() });
                }
            }
        }
    }
}

/// The part of a response that has arrived.
#[derive(Default)]
struct Response {
    content: Vec<Block>,
    text: String,
    usage: Usage,
    /// The size of the response in bytes.
    size: usize,
    /// Whether the token limit truncated the text.
    is_truncated: bool,
    /// The last call if the token limit truncated it; `None` otherwise.
    truncated_call: Option<ToolCall>,
}

impl Response {
    /// Adds to the size of the response. The size is limited, so that an endless response cannot fill the memory.
    ///
    /// # Errors
    /// If the response becomes too long.
    fn grow(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.size += bytes;
        if self.size > MAX_RESPONSE_BYTES {
            let message = format!("the answer is longer than {MAX_RESPONSE_BYTES} bytes");
            return Err(ModelError::new(FailureKind::Protocol, message));
        }
        Ok(())
    }

    /// Ends the current text. A text of only white space is dropped.
    fn close_text(&mut self, events: &EventSender) {
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() {
            self.content.push(Block::Text { text });
            events.send(AgentEvent::TextEnd);
        }
    }

    /// Emits the texts of the response, which are now final.
    fn tell_texts(&self, events: &EventSender) {
        for block in &self.content {
            if let Block::Text { text } = block {
                events.send(AgentEvent::Text { text: text.clone() });
            }
        }
    }
}

enum Answer {
    Whole,
    /// The output limit truncated the last call.
    CutOff,
}

async fn respond(agent: &mut Agent, events: &EventSender, abort: &CancellationToken) -> Result<Answer, Stop> {
    let shared = agent.shared.clone();
    let mut attempt = 0;
    let mut compactions = [Tail::Kept, Tail::Summarised].into_iter();
    let mut asked_again = false;
    loop {
        let mut response = Response::default();
        let answered = tokio::select! {
            biased;
            () = abort.cancelled() => None,
            answered = read(&shared, &agent.history, &mut response, events) => Some(answered),
        };
        match answered {
            Some(Ok(())) => {
                response.close_text(events);
                response.tell_texts(events);
                events.send(AgentEvent::Usage { usage: response.usage });
                // A response without text and calls is not an answer, so the request is repeated once.
                if response.content.iter().all(|block| matches!(block, Block::Opaque { .. })) {
                    if !std::mem::replace(&mut asked_again, true) {
                        continue;
                    }
                    let message = "the model answered with nothing at all, and when asked again too";
                    return Err(Stop::failed(FailureKind::Protocol, message));
                }
                if response.is_truncated {
                    let message = "the answer was cut off at the limit of its length: ask for the rest, or raise \
                                   max_tokens"
                        .to_owned();
                    events.send(AgentEvent::Notice { message });
                }
                agent.record(&Entry::Assistant { content: response.content, usage: response.usage })?;
                // The context of a subagent is separate, so its fill level is not reported.
                if !shared.is_subagent() {
                    let ContextUse { tokens, window } = agent.context();
                    events.send(AgentEvent::Context { tokens, window });
                }
                let Some(call) = response.truncated_call else { return Ok(Answer::Whole) };
                leave_out(agent, &call, truncated_call::result(response.usage.output_tokens), events, abort)?;
                return Ok(Answer::CutOff);
            }
            None => {
                // Text that the person has read stays in the conversation. Calls that will not run are dropped.
                response.close_text(events);
                response.tell_texts(events);
                response.content.retain(|block| matches!(block, Block::Text { .. }));
                if !response.content.is_empty() {
                    agent.record(&Entry::Assistant { content: response.content, usage: response.usage })?;
                }
                return Err(Stop::Interrupted);
            }
            Some(Err(error)) if error.kind == FailureKind::ContextTooLong => {
                let Some(tail) = compactions.next() else { return Err(Stop::Failed(too_long(error))) };
                let tokens = agent.context().tokens;
                shared.windows.learn(&*shared.model(), error.context_window, tokens);
                match compaction::compact(agent, tail, None, events, abort).await {
                    // Even the request for the summary is too long. The first error says more.
                    Err(Stop::Failed(Failure { kind: FailureKind::ContextTooLong, .. })) => {
                        return Err(Stop::Failed(too_long(error)));
                    }
                    done => done?,
                }
            }
            Some(Err(error)) => tokio::select! {
                () = abort.cancelled() => return Err(Stop::Interrupted),
                waited = wait_to_retry(error, &mut attempt, &shared, events) => waited?,
            },
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
    let mut answer = model.respond(ModelRequest { system: &system, messages: &history.messages, tools: &tools, task });
    while let Some(event) = answer.next().await {
        match event? {
            ModelEvent::Text(text) => {
                response.grow(text.len())?;
                response.text.push_str(&text);
                events.send(AgentEvent::TextDelta { text });
            }
            ModelEvent::Thought(text) => {
                response.grow(text.len())?;
                events.send(AgentEvent::ThoughtDelta { text });
            }
            ModelEvent::Call(call) => {
                response.grow(call.input.to_string().len())?;
                response.close_text(events);
                let id = history.free_id(&call.id, &response.content);
                let name = shared.tools.meant(&call.name).to_owned();
                response.content.push(Block::Call(ToolCall { id, name, ..call }));
            }
            ModelEvent::Opaque(block) => {
                response.close_text(events);
                response.content.push(block);
            }
            ModelEvent::Usage(usage) => response.usage = usage,
            ModelEvent::TruncatedCall(call) => {
                response.grow(call.input.to_string().len())?;
                response.close_text(events);
                let call = ToolCall { id: history.free_id(&call.id, &response.content), ..call };
                response.content.push(Block::Call(call.clone()));
                response.truncated_call = Some(call);
            }
            ModelEvent::Truncated => response.is_truncated = true,
        }
    }
    Ok(())
}

/// Returns the failure if a summary does not make the conversation short enough.
fn too_long(error: ModelError) -> Failure {
    let message =
        format!("{}, and a summary of what came before does not help: say it in less, or in parts", error.message);
    Failure { kind: error.kind, message }
}

/// Waits before a retry.
///
/// # Errors
/// If the request must not be retried.
pub(crate) async fn wait_to_retry(
    error: ModelError,
    attempt: &mut u32,
    shared: &Shared,
    events: &EventSender,
) -> Result<(), Stop> {
    let Some(pause) = pause(&error, *attempt, shared.retries) else { return Err(Stop::Failed(given_up(error))) };
    *attempt += 1;
    events.send(AgentEvent::Retry { error: error.into(), after_ms: pause.as_millis() as u64 });
    tokio::time::sleep(pause).await;
    Ok(())
}

/// Returns the pause before a retry; `None` if the request must not be retried.
fn pause(error: &ModelError, attempt: u32, retries: Retries) -> Option<Duration> {
    let max_retries = error.max_retries.map_or(retries.max, |max| max.min(retries.max));
    if !error.is_transient() || attempt >= max_retries {
        return None;
    }
    match error.retry_after {
        Some(pause) => (pause <= MAX_PAUSE).then_some(pause),
        None => Some(jittered(retries.pause_before(attempt))),
    }
}

/// Returns the failure of a request that is not retried. If the provider asks for a long pause, the message names it.
fn given_up(error: ModelError) -> Failure {
    let later = error.retry_after.filter(|pause| *pause > MAX_PAUSE).map(|pause| pause.as_secs());
    let failure = Failure::from(error);
    match later {
        Some(seconds) => Failure { message: format!("{}; try again in {seconds} s", failure.message), ..failure },
        None => failure,
    }
}

impl Shared {
    /// Returns the system prompt with the parts for the current mode and tools.
    pub(crate) fn system_now(&self) -> String {
        let mut parts = vec![self.system.as_str()];
        if self.asker.is_some() && self.tools.get(tool::NAME).is_some() {
            parts.push(ASK);
        }
        let plan_mode = match (self.permissions().mode, self.is_subagent()) {
            (PermissionMode::Plan, true) => PLAN_MODE_OF_TASK,
            (PermissionMode::Plan, false) => PLAN_MODE,
            _ => "",
        };
        parts.push(plan_mode);
        parts.iter().map(|part| part.trim_ascii_end()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

const ASK: &str = include_str!("../prompts/agent/ask.txt");
const PLAN_MODE: &str = include_str!("../prompts/agent/plan-mode.txt");
const PLAN_MODE_OF_TASK: &str = include_str!("../prompts/agent/plan-mode-of-task.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_before_the_next_try_doubles_up_to_a_limit_and_is_spread() {
        let retries = Retries { max: 10, pause: Duration::from_secs(1) };
        let error = ModelError::new(FailureKind::Network, "gone");
        for (attempt, seconds) in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 64.0, 64.0, 64.0].into_iter().enumerate() {
            let pause = pause(&error, attempt as u32, retries).unwrap().as_secs_f64();
            assert!((seconds * 0.75..=seconds * 1.25).contains(&pause), "{pause} after {attempt}");
        }
        let pauses: Vec<f64> = (0..200).map(|_| pause(&error, 0, retries).unwrap().as_secs_f64()).collect();
        assert!(pauses.iter().any(|pause| *pause < 0.9) && pauses.iter().any(|pause| *pause > 1.1), "{pauses:?}");
        assert_eq!(pause(&error, 10, retries), None);
    }
}
