//! A model that replays a script for demonstrations and tests. It needs no API key and no network.
//!
//! The model keeps no state. It derives the next response from the conversation, so a session can be resumed.

use crate::compaction;
use crate::event::{FailureKind, Usage};
use crate::message::{Message, ToolCall};
use crate::model::{Model, ModelError, ModelEvent, ModelRequest, ResponseStream};
use futures_util::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// A scripted model with its responses.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// A first message of the user that a front end may send; `None` if there is none.
    #[serde(default)]
    pub prompt: Option<String>,
    /// The responses of the main agent, one for each model request.
    #[serde(rename = "turns")]
    responses: Vec<ScriptedResponse>,
    /// The responses of subagents, by the description of the subagent's task.
    #[serde(default)]
    tasks: BTreeMap<String, Vec<ScriptedResponse>>,
    /// The pause before each word, in milliseconds.
    #[serde(default)]
    pace_ms: u64,
}

/// The text that begins a summary. The number of responses that the summary replaces follows.
const SUMMARY: &str = "Responses of the script so far: ";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedResponse {
    /// A text that a message since the last response must contain, or the response is not used. The newest messages are
    /// searched first. `None` means no condition.
    #[serde(default, rename = "if")]
    condition: Option<String>,
    /// The reasoning text, which comes before the response.
    #[serde(default)]
    thought: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<ScriptedCall>,
    /// The pause before the whole response, in milliseconds.
    #[serde(default)]
    wait_ms: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    name: String,
    input: Value,
}

/// The reason why a text is not a valid script.
#[derive(Debug, thiserror::Error)]
#[error("not a script: {0}")]
pub struct ScriptError(#[from] serde_json::Error);

impl Script {
    /// Parses a script from JSON.
    pub fn parse(json: &str) -> Result<Script, ScriptError> {
        Ok(serde_json::from_str(json)?)
    }

    /// Returns the response to a request; `None` if the script has no further response. It replays the conversation to
    /// find the used responses.
    fn response_to(&self, request: &ModelRequest<'_>) -> Option<&ScriptedResponse> {
        let responses = match request.task {
            None => &self.responses,
            Some(task) => self.tasks.get(task)?,
        };
        let before = summarised(request.messages);
        let mut unused = responses.iter();
        unused.by_ref().take(before).for_each(drop);
        let mut choose = |before: &[Message]| {
            // The newest messages count first, because a person who resumes may have sent a message after the tool
            // results.
            let mut since = before.iter().rev().take_while(|message| !matches!(message, Message::Assistant { .. }));
            let conditions = || unused.clone().map_while(|response| response.condition.as_deref());
            let met = since.find_map(|message| {
                conditions().position(|wanted| message.texts().iter().any(|text| text.contains(wanted)))
            });
            let at = met.unwrap_or_else(|| conditions().count());
            let mut rest = unused.clone();
            let response = rest.nth(at)?;
            unused = rest;
            Some(response)
        };
        for (i, message) in request.messages.iter().enumerate() {
            if matches!(message, Message::Assistant { .. }) {
                choose(&request.messages[..i]);
            }
        }
        choose(request.messages)
    }
}

/// Returns the number of responses that the summary at the beginning of the conversation replaces; 0 without a summary.
fn summarised(messages: &[Message]) -> usize {
    let Some(Message::User { text }) = messages.first() else { return 0 };
    let number = text.split_once(SUMMARY).map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
    number.flatten().and_then(|number| number.parse().ok()).unwrap_or(0)
}

impl Model for Script {
    fn name(&self) -> String {
        "script".into()
    }

    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a> {
        if request.system == compaction::INSTRUCTIONS {
            let retold = match request.messages {
                [Message::User { text }] => text.matches(compaction::AGENT).count(),
                _ => 0,
            };
            let summary = format!("{SUMMARY}{}.", summarised(request.messages) + retold);
            return Box::pin(stream::iter([Ok(ModelEvent::Text(summary))]));
        }
        let Some(response) = self.response_to(&request) else {
            let of_task = request.task.map(|task| format!(" of task {task:?}")).unwrap_or_default();
            let error = ModelError::new(FailureKind::Script, format!("the script{of_task} ends here"));
            return Box::pin(stream::iter([Err(error)]));
        };
        let answered = request.messages.iter().filter(|m| matches!(m, Message::Assistant { .. })).count();
        let response_number = summarised(request.messages) + answered + 1;
        let thoughts = response.thought.split_inclusive(' ').filter(|word| !word.is_empty());
        let thoughts = thoughts.map(|word| (self.pace_ms, ModelEvent::Thought(word.to_owned())));
        let words = response.text.split_inclusive(' ').map(|word| (self.pace_ms, ModelEvent::Text(word.to_owned())));
        let calls = response.calls.iter().enumerate().map(move |(i, call)| {
            let id = format!("call_{response_number}_{}", i + 1);
            (0, ModelEvent::Call(ToolCall { id, name: call.name.clone(), input: call.input.clone(), extra: None }))
        });
        // The number of words serves as the number of tokens.
        let texts = request.messages.iter().flat_map(Message::texts);
        let input_words: usize = texts.map(|text| text.split_whitespace().count()).sum();
        let output_words = response.text.split_whitespace().count();
        let usage = Usage { input_tokens: input_words as u64, output_tokens: output_words as u64 };
        let mut events: Vec<_> = thoughts.chain(words).chain(calls).chain([(0, ModelEvent::Usage(usage))]).collect();
        events.first_mut().into_iter().for_each(|(pause, _)| *pause += response.wait_ms);
        let events = stream::iter(events).then(|(pause, event)| async move {
            if pause > 0 {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            Ok(event)
        });
        Box::pin(events)
    }
}
