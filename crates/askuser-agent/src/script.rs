//! A model that follows a script: for demonstrations and tests, without a key and without a network.
//!
//! It keeps no count. Where it stands is found from the conversation, as with any model, so that it goes on rightly after
//! a crash.

use crate::event::{FailureKind, Usage};
use crate::message::{Message, ToolCall};
use crate::model::{Model, ModelError, ModelEvent, ModelRequest, ResponseStream};
use futures_util::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a model says and calls, turn by turn.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What the person might say first; a front end may say it for them.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The agent's turns: one for each request, in order.
    turns: Vec<Turn>,
    /// The turns of subagents, by their description.
    #[serde(default)]
    tasks: BTreeMap<String, Vec<Turn>>,
    /// How long each word takes, in milliseconds.
    #[serde(default)]
    pace_ms: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    /// Taken only if the last message has these words; passed over otherwise.
    #[serde(default, rename = "if")]
    only_if: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<Call>,
    /// How long it thinks first, in milliseconds.
    #[serde(default)]
    wait_ms: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    input: Value,
}

/// Why a script cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("not a script: {0}")]
pub struct ScriptError(#[from] serde_json::Error);

impl Script {
    /// Reads a script.
    pub fn parse(json: &str) -> Result<Script, ScriptError> {
        Ok(serde_json::from_str(json)?)
    }

    fn next(&self, request: &ModelRequest<'_>) -> Option<&Turn> {
        let turns = match request.task {
            None => &self.turns,
            Some(task) => self.tasks.get(task)?,
        };
        let mut at = 0;
        let mut choose = |before: &[Message]| {
            let fits = |turn: &&Turn| turn.only_if.as_deref().is_none_or(|words| says(before.last(), words));
            let turn = turns.get(at..)?.iter().find(fits)?;
            at += 1 + turns[at..].iter().position(|other| std::ptr::eq(other, turn))?;
            Some(turn)
        };
        for (i, message) in request.messages.iter().enumerate() {
            if matches!(message, Message::Assistant { .. }) {
                choose(&request.messages[..i]);
            }
        }
        choose(request.messages)
    }
}

fn says(message: Option<&Message>, words: &str) -> bool {
    match message {
        Some(Message::User { text }) => text.contains(words),
        Some(Message::Results { results }) => results.iter().any(|result| result.output.contains(words)),
        Some(message @ Message::Assistant { .. }) => message.text().contains(words),
        None => false,
    }
}

impl Model for Script {
    fn name(&self) -> String {
        "script".into()
    }

    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a> {
        let Some(turn) = self.next(&request) else {
            let whose = request.task.map(|task| format!(" of task {task:?}")).unwrap_or_default();
            let error = ModelError::new(FailureKind::Script, format!("the script{whose} ends here"));
            return Box::pin(stream::iter([Err(error)]));
        };
        let turn_number = request.messages.iter().filter(|m| matches!(m, Message::Assistant { .. })).count() + 1;
        let words = turn.text.split_inclusive(' ').map(|word| (self.pace_ms, ModelEvent::Text(word.to_owned())));
        let calls = turn.calls.iter().enumerate().map(move |(i, call)| {
            let id = format!("call_{turn_number}_{}", i + 1);
            (0, ModelEvent::Call(ToolCall { id, name: call.name.clone(), input: call.input.clone(), extra: None }))
        });
        let read: usize = request.messages.iter().map(words_in).sum();
        let written = turn.text.split_whitespace().count();
        let usage = Usage { input_tokens: read as u64, output_tokens: written as u64 };
        let events: Vec<_> = words.chain(calls).chain([(0, ModelEvent::Usage(usage))]).collect();
        let wait = Duration::from_millis(turn.wait_ms);
        let first = stream::once(async move {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
        });
        let events = first.flat_map(move |()| stream::iter(events.clone())).then(|(pause, event)| async move {
            if pause > 0 {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            Ok(event)
        });
        Box::pin(events)
    }
}

/// A script has no tokens; words stand in for them.
fn words_in(message: &Message) -> usize {
    let count = |text: &str| text.split_whitespace().count();
    match message {
        Message::User { text } => count(text),
        Message::Assistant { .. } => count(&message.text()),
        Message::Results { results } => results.iter().map(|result| count(&result.output)).sum(),
    }
}
