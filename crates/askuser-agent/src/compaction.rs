//! Replaces the older part of a long conversation by a summary from the model, before the conversation fills the
//! model's context.
//!
//! The person's messages and answers stay word for word. So do the last messages, with which the work continues. The
//! whole conversation stays in the transcript. Only the text that the model reads becomes shorter.

use crate::agent::Agent;
use crate::agent_context::Shared;
use crate::context::ContextUse;
use crate::event::{AgentEvent, Failure, FailureKind};
use crate::event_channel::EventSender;
use crate::message::{Block, Message, ToolCall, aside};
use crate::model::{ModelError, ModelEvent, ModelRequest};
use crate::text_call;
use crate::tool::{Access, Stop};
use crate::transcript::{Entry, History, Verbatim};
use crate::turn::wait_to_retry;
use futures_util::StreamExt;
use std::fmt::Write;
use tokio_util::sync::CancellationToken;

pub(crate) const INSTRUCTIONS: &str = include_str!("../prompts/agent/compact.txt");

/// The heading of a model's response in the text to summarise.
pub(crate) const AGENT: &str = "\nAgent:\n";

/// The maximum sizes in bytes of a tool's input or result in a summary request. The request uses the first one with
/// which it fits.
const EXCERPTS: [usize; 4] = [4_000, 1_000, 250, 60];

/// The maximum size in bytes of a summary request if the context window is unknown.
const UNKNOWN_WINDOW: usize = 400_000;

/// The maximum number of times that a summary request is halved because it is too long.
const HALVINGS: usize = 4;

/// The treatment of the last messages of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// The last messages stay unchanged, and the work continues with them.
    Kept,
    /// The last messages are summarised, too, because they are too long themselves.
    Summarised,
}

/// Summarises the conversation if the context window is nearly full. The turn continues even if that fails.
pub(crate) async fn make_room(agent: &mut Agent, events: &EventSender, abort: &CancellationToken) -> Result<(), Stop> {
    let now = agent.context();
    let failed_lately = agent.failed_summary.is_some_and(|then| now.tokens < then + now.window.unwrap_or(0) / 20);
    if !now.is_nearly_full() || failed_lately || agent.dropped(Tail::Kept).is_none() {
        return Ok(());
    }
    match compact(agent, Tail::Kept, None, events, abort).await {
        Err(Stop::Failed(Failure { kind, message })) if kind != FailureKind::Transcript => {
            agent.failed_summary = Some(now.tokens);
            let message = format!("the conversation could not be summarised ({message}); it continues as it is");
            events.send(AgentEvent::Notice { message });
            Ok(())
        }
        done => done,
    }
}

/// Replaces the older part of the conversation by a summary. `wish` tells the model what to keep.
pub(crate) async fn compact(
    agent: &mut Agent,
    tail: Tail,
    wish: Option<&str>,
    events: &EventSender,
    abort: &CancellationToken,
) -> Result<(), Stop> {
    let Some(dropped) = agent.dropped(tail) else {
        let message = "there is nothing yet that a summary would make shorter".to_owned();
        return Err(Stop::failed(FailureKind::ContextTooLong, message));
    };
    events.send(AgentEvent::Compacting);
    let before = agent.context();
    let summary = tokio::select! {
        biased;
        () = abort.cancelled() => return Err(Stop::Interrupted),
        summary = summarise(&agent.shared, &agent.history, dropped, wish, before.window, events) => summary?,
    };
    // The provider's count is more exact, so the estimated size is scaled to that count.
    let whole = agent.history.estimate(agent.shared.overhead());
    let in_its_measure = |tokens: u64| (tokens as f64 * before.tokens as f64 / whole.max(1) as f64) as u64;
    let compacted = |after_tokens| Entry::Compacted {
        summary: summary.clone(),
        verbatim: verbatim(&agent.shared, &agent.history, dropped),
        kept: agent.history.messages.len() - dropped,
        // The budget is a quarter of the window, at three bytes per token.
        budget: before.window.map_or(60_000, |window| (window * 3 / 4) as usize),
        before_tokens: before.tokens,
        after_tokens,
    };
    let mut after = agent.history.clone();
    after.apply(&compacted(0));
    let after_tokens = in_its_measure(after.estimate(agent.shared.overhead()));
    let (_, left_out) = within(&after.verbatim, after.budget);
    let entry = compacted(after_tokens);
    agent.record(&entry)?;
    agent.shared.transcript.sync()?;
    events.send(AgentEvent::Compacted { before_tokens: before.tokens, after_tokens, left_out });
    events.send(AgentEvent::Context { tokens: after_tokens, window: before.window });
    Ok(())
}

impl Agent {
    /// Returns the fill level of the model's context.
    pub fn context(&self) -> ContextUse {
        let shared = &self.shared;
        let window = shared.windows.of(&*shared.model());
        ContextUse { tokens: self.history.tokens(|| shared.overhead()), window }
    }

    /// Returns the number of messages that a summary would replace; `None` if that saves too little.
    fn dropped(&self, tail: Tail) -> Option<usize> {
        let messages = &self.history.messages;
        let kept = match (tail, messages.last()?) {
            (Tail::Summarised, Message::Results { .. }) => 0,
            // The results stay together with their calls.
            (_, Message::Results { .. }) => 2,
            (_, Message::User { .. } | Message::Assistant { .. }) => 1,
        };
        let dropped = messages.len().saturating_sub(kept);
        // A summary of a summary alone saves too little.
        (dropped > usize::from(self.history.summary.is_some())).then_some(dropped)
    }
}

/// Returns the texts of the dropped messages that stay word for word.
fn verbatim(shared: &Shared, history: &History, dropped: usize) -> Vec<Verbatim> {
    let messages = &history.messages[..dropped];
    let asks = |call: &ToolCall| shared.tools.get(&call.name).is_some_and(|tool| tool.access() == Access::Ask);
    let mut kept = Vec::new();
    for (i, message) in messages.iter().enumerate().skip(usize::from(history.summary.is_some())) {
        match message {
            Message::User { text } if text == text_call::HINT => {}
            Message::User { text } => {
                // The command stays. Its output may be long, so it is summarised.
                let text = aside(text).map_or_else(|| text.clone(), |did| format!("[{did}]"));
                kept.push(Verbatim::Message { text });
            }
            Message::Assistant { .. } => {
                let results = match history.messages.get(i + 1) {
                    Some(Message::Results { results }) => results.as_slice(),
                    _ => &[],
                };
                for call in message.calls().filter(|call| asks(call) || history.refused.contains(&call.id)) {
                    if let Some(result) = results.iter().find(|result| result.id == call.id) {
                        let name = call.name.clone();
                        let input = call.input.clone();
                        let outcome = result.output.clone();
                        kept.push(Verbatim::Asked { name, input, outcome });
                    }
                }
            }
            Message::Results { .. } => {}
        }
    }
    kept
}

async fn summarise(
    shared: &Shared,
    history: &History,
    dropped: usize,
    wish: Option<&str>,
    window: Option<u64>,
    events: &EventSender,
) -> Result<String, Stop> {
    // The room is two bytes per token. That leaves room for the instructions, the summary and scripts with long
    // characters.
    let mut room = window.map_or(UNKNOWN_WINDOW, |window| window.saturating_mul(2) as usize);
    let mut attempt = 0;
    let mut halvings = 0;
    loop {
        let text = match wish {
            Some(wish) => format!("{}\n\nThe user asks you to mind this: {wish}", retell(history, dropped, room)),
            None => retell(history, dropped, room),
        };
        let error = match request(shared, text, events).await {
            Ok(summary) => return Ok(summary),
            Err(error) => error,
        };
        if error.kind == FailureKind::ContextTooLong && halvings < HALVINGS {
            halvings += 1;
            room /= 2;
            continue;
        }
        wait_to_retry(error, &mut attempt, shared, events).await?;
    }
}

async fn request(shared: &Shared, text: String, events: &EventSender) -> Result<String, ModelError> {
    let model = shared.model();
    let messages = [Message::User { text }];
    let request = ModelRequest { system: INSTRUCTIONS, messages: &messages, tools: &[], task: None };
    let mut summary = String::new();
    let mut used = None;
    let mut answer = model.respond(request);
    let mut failed = None;
    while let Some(event) = answer.next().await {
        match event {
            Err(error) => failed = Some(error),
            Ok(ModelEvent::Text(text)) => summary.push_str(&text),
            // The last usage event has the final count.
            Ok(ModelEvent::Usage(usage)) => used = Some(usage),
            // Thoughts are not part of the summary. The request has no tools, so calls are ignored. A truncated summary
            // is better than none.
            Ok(_) => {}
        }
    }
    used.into_iter().for_each(|usage| events.send(AgentEvent::Usage { usage }));
    if let Some(error) = failed {
        return Err(error);
    }
    match summary.trim() {
        "" => Err(ModelError::new(FailureKind::Protocol, "the model wrote no summary")),
        summary => Ok(summary.to_owned()),
    }
}

/// Writes the dropped messages as a text of at most `room` bytes.
fn retell(history: &History, dropped: usize, room: usize) -> String {
    let told = |excerpt| {
        let mut text = String::from("The conversation:\n");
        if let Some(summary) = &history.summary {
            let _ = write!(text, "\nWhat came before, as it was summarised then:\n{summary}\n");
        }
        let begin = usize::from(history.summary.is_some());
        history.messages[begin..dropped].iter().for_each(|message| tell(&mut text, message, excerpt));
        text
    };
    let fits = EXCERPTS.into_iter().map(told).find(|text| text.len() <= room);
    let [.., least] = EXCERPTS;
    fits.unwrap_or_else(|| cut(&told(least), room))
}

fn tell(text: &mut String, message: &Message, excerpt: usize) {
    match message {
        Message::User { text: message } => {
            let _ = writeln!(text, "\nUser:\n{}", cut(message, excerpt.max(1_000)));
        }
        Message::Assistant { content } => {
            text.push_str(AGENT);
            for block in content {
                match block {
                    Block::Text { text: block } => {
                        let _ = writeln!(text, "{}", cut(block, excerpt.max(1_000)));
                    }
                    Block::Call(call) => {
                        let _ = writeln!(text, "Call of {}: {}", call.name, cut(&call.input.to_string(), excerpt));
                    }
                    Block::Opaque { .. } => {}
                }
            }
        }
        Message::Results { results } => {
            for result in results {
                let outcome = if result.is_error { "failed" } else { "result" };
                let _ = writeln!(text, "\n{} {outcome}:\n{}", result.name, cut(&result.output, excerpt));
            }
        }
    }
}

/// Returns the beginning and the end of a text that is longer than `most` bytes.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 3);
    let tail = text.ceil_char_boundary(text.len() - most / 3 * 2);
    format!("{} […] {}", &text[..head], &text[tail..])
}

/// Returns the message that replaces the dropped messages.
pub(crate) fn message(summary: &str, verbatim: &[Verbatim], budget: usize) -> Message {
    let mut text =
        format!("[To save room, what came before is summarised here; you wrote the summary yourself.]\n\n{summary}");
    let (kept, left_out) = within(verbatim, budget);
    if !kept.is_empty() {
        text.push_str("\n\n[What the user said, what they were asked and how they answered, word for word:]");
    }
    if left_out > 0 {
        let _ = write!(text, "\n\n[{left_out} of them shortened or left out]");
    }
    for told in &kept {
        let _ = write!(text, "\n\n{told}");
    }
    Message::User { text }
}

/// Returns the verbatim texts that fit, and the number of texts that were left out or shortened.
///
/// Answers take precedence over messages, and later texts over earlier ones. A text longer than a quarter of the budget
/// is shortened.
fn within(verbatim: &[Verbatim], budget: usize) -> (Vec<String>, usize) {
    let told: Vec<String> = verbatim.iter().map(|kept| cut(&kept.told(), budget / 4)).collect();
    let mut kept = vec![false; told.len()];
    let mut left = budget;
    for answers in [true, false] {
        for (i, text) in told.iter().enumerate().rev() {
            if matches!(verbatim[i], Verbatim::Asked { .. }) == answers && text.len() <= left {
                left -= text.len();
                kept[i] = true;
            }
        }
    }
    let shortened = verbatim.iter().zip(&told).filter(|(whole, told)| whole.told() != **told);
    let left_out = kept.iter().filter(|kept| !**kept).count() + shortened.count();
    (told.into_iter().zip(kept).filter_map(|(told, kept)| kept.then_some(told)).collect(), left_out)
}

impl Verbatim {
    fn told(&self) -> String {
        match self {
            Verbatim::Message { text } => format!("User: {text}"),
            Verbatim::Asked { name, input, outcome } => format!("{name} {input}\n{outcome}"),
        }
    }
}
