//! A conversation that nearly fills the model's context continues from a summary, which the model writes itself.
//!
//! The person's messages and answers are not left to a summary: they stay word for word. So do the last messages, with
//! which the work continues. The whole conversation stays in the transcript; only what the model reads becomes shorter.

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

/// How a response of the model begins where the conversation is retold.
pub(crate) const AGENT: &str = "\nAgent:\n";

/// How much of a tool's input or result the model reads again when it summarises: the first of these that fits.
const EXCERPTS: [usize; 4] = [4_000, 1_000, 250, 60];

/// How much it reads where its window is unknown, in bytes.
const UNKNOWN_WINDOW: usize = 400_000;

/// How often a text to summarise that is too long is halved.
const HALVINGS: usize = 4;

/// Which of the last messages stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Those with which the work goes on.
    Kept,
    /// None: they are too long themselves.
    Summarised,
}

/// Makes room before a request, if the window is nearly full. That it cannot be done is no reason not to go on.
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

/// Replaces the older part of the conversation by a summary. `wish` is what the person wants to be kept in mind.
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
    // The provider counts better than we do: what is left is told in its measure.
    let whole = agent.history.estimate(agent.shared.overhead());
    let in_its_measure = |tokens: u64| (tokens as f64 * before.tokens as f64 / whole.max(1) as f64) as u64;
    let compacted = |after_tokens| Entry::Compacted {
        summary: summary.clone(),
        verbatim: verbatim(&agent.shared, &agent.history, dropped),
        kept: agent.history.messages.len() - dropped,
        // A quarter of the window, at three bytes to a token.
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
    /// How full the model's context is.
    pub fn context(&self) -> ContextUse {
        let shared = &self.shared;
        let window = shared.windows.of(&*shared.model());
        ContextUse { tokens: self.history.tokens(|| shared.overhead()), window }
    }

    /// How many messages a summary would replace; `None` if it would gain nothing.
    fn dropped(&self, tail: Tail) -> Option<usize> {
        let messages = &self.history.messages;
        let kept = match (tail, messages.last()?) {
            (Tail::Summarised, Message::Results { .. }) => 0,
            // Results go with the calls they belong to.
            (_, Message::Results { .. }) => 2,
            (_, Message::User { .. } | Message::Assistant { .. }) => 1,
        };
        let dropped = messages.len().saturating_sub(kept);
        // To summarise a summary gains nothing.
        (dropped > usize::from(self.history.summary.is_some())).then_some(dropped)
    }
}

/// What of the messages to be dropped stays word for word.
fn verbatim(shared: &Shared, history: &History, dropped: usize) -> Vec<Verbatim> {
    let messages = &history.messages[..dropped];
    let asks = |call: &ToolCall| shared.tools.get(&call.name).is_some_and(|tool| tool.access() == Access::Ask);
    let mut kept = Vec::new();
    for (i, message) in messages.iter().enumerate().skip(usize::from(history.summary.is_some())) {
        match message {
            Message::User { text } if text == text_call::HINT => {}
            Message::User { text } => {
                // Their command stays, its output is summarised: the output of a command may be long.
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
                        let (name, input, outcome) = (call.name.clone(), call.input.clone(), result.output.clone());
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
    // Two bytes to a token leave room for the instructions, the summary and a script with long characters.
    let mut room = window.map_or(UNKNOWN_WINDOW, |window| window.saturating_mul(2) as usize);
    let (mut attempt, mut halvings) = (0, 0);
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
    let (model, messages) = (shared.model(), [Message::User { text }]);
    let request = ModelRequest { system: INSTRUCTIONS, messages: &messages, tools: &[], task: None };
    let (mut summary, mut used, mut answer) = (String::new(), None, model.respond(request));
    let mut failed = None;
    while let Some(event) = answer.next().await {
        match event {
            Err(error) => failed = Some(error),
            Ok(ModelEvent::Text(text)) => summary.push_str(&text),
            // The last one counts.
            Ok(ModelEvent::Usage(usage)) => used = Some(usage),
            // It has no tools, and what it thinks is not the summary. A summary that was cut off is better than none.
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

/// The messages to be dropped, as a text with at most so many bytes.
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

/// The beginning and the end of a text that is too long.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 3);
    let tail = text.ceil_char_boundary(text.len() - most / 3 * 2);
    format!("{} […] {}", &text[..head], &text[tail..])
}

/// What the model reads in place of the messages that were dropped.
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

/// What fits of what is kept word for word, and how many of it do not, or not as a whole. Answers come before words, and the last
/// before the first. A text that would take most of the room for itself is shortened.
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
