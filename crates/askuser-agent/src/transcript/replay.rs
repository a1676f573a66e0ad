//! Converts a session to events, for front ends that resume it and for searches.

use super::{Entry, Line, Transcript, TranscriptError, entry, session_path};
use crate::event::{AgentEvent, Failure, QuestionOutcome};
use crate::message::Block;
use crate::regular_file::{self, Links};
use crate::tool::ToolResult;
use crate::user_command::USER_COMMAND;
use askuser::{Purpose, reply};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::path::Path;

impl Transcript {
    /// Returns the events of the current conversation, as of the opening of the transcript.
    ///
    /// The events are the person's messages, complete texts, calls and results, including those of subagents. A
    /// question is part of its call's result.
    pub fn replay(&self) -> Vec<AgentEvent> {
        let inner = self.inner();
        let begin = inner.read_back.iter().rposition(|line| line.entry == Entry::Cleared).unwrap_or_default();
        replayed(&inner.read_back[begin..])
    }

    /// Returns the events of a whole session. Reads the file without a lock and does not change it. Invalid lines are
    /// left out.
    pub fn events(folder: &Path, id: &str) -> Result<Vec<AgentEvent>, TranscriptError> {
        lines(folder, id).map(|lines| replayed(&lines))
    }

    /// Returns the first line with a text in the messages, responses and answers of a session; `None` if there is none.
    /// Case is ignored.
    pub fn mention(folder: &Path, id: &str, text: &str) -> Option<String> {
        let wanted = text.to_lowercase();
        let texts = lines(folder, id).ok()?.into_iter().flat_map(|Line { entry, .. }| texts(entry));
        texts
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .find(|line| line.to_lowercase().contains(&wanted))
    }
}

/// Returns the events of these lines. A call without a result is left out, because it has not run or will run again.
fn replayed(lines: &[Line]) -> Vec<AgentEvent> {
    let result_of = |line: &Line| match &line.entry {
        Entry::Result { id, .. } => Some((line.tasks.clone(), id.clone())),
        _ => None,
    };
    let ended: HashSet<(Vec<String>, String)> = lines.iter().filter_map(result_of).collect();
    let mut replayed = Vec::new();
    let mut descriptions = HashMap::<Vec<String>, String>::new();
    for (i, line) in lines.iter().enumerate() {
        if let Entry::Assistant { content, .. } = &line.entry {
            for call in content.iter().filter_map(Block::as_call) {
                if let Some(description) = call.input["description"].as_str() {
                    descriptions
                        .insert([&line.tasks[..], std::slice::from_ref(&call.id)].concat(), description.to_owned());
                }
            }
        }
        let has_ended = |event: &AgentEvent| match event {
            AgentEvent::ToolStart { id, name, .. } => {
                name == USER_COMMAND || ended.contains(&(line.tasks.clone(), id.clone()))
            }
            _ => true,
        };
        let own = events(line, &lines[..i]).into_iter().filter(has_ended);
        replayed.extend(own.filter_map(|event| wrapped(event, &line.tasks, &descriptions)));
    }
    replayed
}

/// Wraps an event of a subagent in an event of the call that started the subagent. `None` if that call is unknown.
fn wrapped(event: AgentEvent, tasks: &[String], descriptions: &HashMap<Vec<String>, String>) -> Option<AgentEvent> {
    (0..tasks.len()).rev().try_fold(event, |event, depth| {
        let description = descriptions.get(&tasks[..=depth])?.clone();
        Some(AgentEvent::Task { id: tasks[depth].clone(), description, event: Box::new(event) })
    })
}

/// Reads the lines of a session. Invalid lines are skipped.
fn lines(folder: &Path, id: &str) -> Result<Vec<Line>, TranscriptError> {
    let missing = || TranscriptError::Missing { id: id.to_owned(), folder: folder.to_owned() };
    let path = session_path(folder, id).ok_or_else(missing)?;
    let bytes = regular_file::read(&path, Links::Follow, u64::MAX).map_err(|_| missing())?;
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| entry::read(line).ok()?.pop()).collect())
}

fn events(line: &Line, earlier: &[Line]) -> Vec<AgentEvent> {
    let is_main = line.tasks.is_empty();
    match &line.entry {
        Entry::Assistant { content, usage } => {
            let shown = content.iter().filter_map(|block| match block {
                Block::Text { text } => Some(AgentEvent::Text { text: text.clone() }),
                Block::Call(call) => {
                    let id = call.id.clone();
                    let name = call.name.clone();
                    let input = call.input.clone();
                    Some(AgentEvent::ToolStart { id, name, input })
                }
                Block::Opaque { .. } => None,
            });
            shown.chain([AgentEvent::Usage { usage: *usage }]).collect()
        }
        Entry::Result { id, name, result, .. } => {
            vec![AgentEvent::ToolResult { id: id.clone(), name: name.clone(), result: result.clone() }]
        }
        Entry::Outcome { id, purpose: Purpose::Permission, outcome } => {
            permission_ended(&line.tasks, id, outcome, earlier).into_iter().collect()
        }
        Entry::User { text } if is_main => vec![AgentEvent::User { text: text.clone() }],
        Entry::Undone { shown, .. } => vec![AgentEvent::Notice { message: shown.clone() }],
        Entry::UserCommand { command, result } => {
            let id = || USER_COMMAND.to_owned();
            let start = AgentEvent::ToolStart { id: id(), name: id(), input: json!({"command": command}) };
            vec![start, AgentEvent::ToolResult { id: id(), name: id(), result: result.clone() }]
        }
        Entry::Interrupted if is_main => vec![AgentEvent::Error { error: Failure::interrupted() }],
        Entry::Mode { mode } => vec![AgentEvent::Mode { mode: *mode }],
        Entry::Compacted { before_tokens, after_tokens, .. } => {
            vec![AgentEvent::Compacted { before_tokens: *before_tokens, after_tokens: *after_tokens, left_out: 0 }]
        }
        _ => Vec::new(),
    }
}

/// Returns the event of an answered permission; `None` if its question is not recorded.
fn permission_ended(tasks: &[String], call: &str, outcome: &Value, earlier: &[Line]) -> Option<AgentEvent> {
    let asked = |line: &Line| match &line.entry {
        Entry::Asked { id, purpose: Purpose::Permission, request } if id == call && line.tasks == tasks => {
            Some(request.clone())
        }
        _ => None,
    };
    let request = earlier.iter().rev().find_map(asked)?;
    let resolution = reply::resolution(request.set(), outcome).ok()?;
    let key = request.key().clone();
    let outcome = Box::new(QuestionOutcome::new(&resolution, request.set().mended()));
    Some(AgentEvent::QuestionEnded { id: key.id_in_session(), key, outcome })
}

fn texts(entry: Entry) -> Vec<String> {
    match entry {
        Entry::User { text } | Entry::Undone { text, .. } => vec![text],
        Entry::UserCommand { command, result } => vec![command, result.output],
        Entry::Assistant { content, .. } => {
            let texts = content.into_iter().filter_map(|block| match block {
                Block::Text { text } => Some(text),
                Block::Call(_) | Block::Opaque { .. } => None,
            });
            texts.collect()
        }
        Entry::Result { result, .. } if is_answer(&result) => {
            vec![result.output]
        }
        Entry::Compacted { summary, .. } => vec![summary],
        _ => Vec::new(),
    }
}

fn is_answer(result: &ToolResult) -> bool {
    let details = result.metadata.as_ref().and_then(|metadata| metadata.details.as_ref());
    details.is_some_and(|details| details.get("answers").is_some())
}
