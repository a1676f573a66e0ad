//! A session as the events it had: for a front end that resumes it, and for searching sessions.

use super::{Entry, Line, Transcript, TranscriptError, entry, interrupted, session_path};
use crate::event::{AgentEvent, Failure};
use crate::message::Block;
use crate::regular_file::{self, Links};
use std::path::Path;

impl Transcript {
    /// What happened in the conversation since it began, or began anew, as it was when the record was opened: whole texts, calls
    /// and their results, what the person said. A question is in the result of its call; what subagents did is left out.
    pub fn replay(&self) -> Vec<AgentEvent> {
        let inner = self.inner();
        let begin = inner.read_back.iter().rposition(|line| line.entry == Entry::Cleared).unwrap_or_default();
        replayed(&inner.read_back[begin..])
    }

    /// The same of all of a session, whoever has it open; nothing is changed. Lines that cannot be read are left out.
    pub fn events(folder: &Path, id: &str) -> Result<Vec<AgentEvent>, TranscriptError> {
        lines(folder, id).map(|lines| replayed(&lines))
    }

    /// Where a session of a folder mentions a text, in what the person or the model said or what was answered; upper and lower
    /// case are the same.
    pub fn mention(folder: &Path, id: &str, text: &str) -> Option<String> {
        let wanted = text.to_lowercase();
        let texts = lines(folder, id).ok()?.into_iter().flat_map(|Line { entry, .. }| texts(entry));
        texts
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .find(|line| line.to_lowercase().contains(&wanted))
    }
}

fn replayed(lines: &[Line]) -> Vec<AgentEvent> {
    let (mut replayed, mut open): (Vec<AgentEvent>, Vec<(String, String)>) = Default::default();
    for entry in lines.iter().filter(|line| line.tasks.is_empty()).map(|line| &line.entry) {
        if matches!(entry, Entry::User { .. } | Entry::Interrupted | Entry::Assistant { .. }) {
            // These give up every open call.
            let given_up =
                open.drain(..).map(|(id, name)| AgentEvent::ToolResult { id, name, result: interrupted(false) });
            replayed.extend(given_up);
        }
        for event in events(entry) {
            match &event {
                AgentEvent::ToolStart { id, name, .. } => open.push((id.clone(), name.clone())),
                AgentEvent::ToolResult { id, .. } => open.retain(|(other, _)| other != id),
                _ => {}
            }
            replayed.push(event);
        }
    }
    replayed
}

/// The lines of a session, one by one: a damaged one hides no other.
fn lines(folder: &Path, id: &str) -> Result<Vec<Line>, TranscriptError> {
    let missing = || TranscriptError::Missing { id: id.to_owned(), folder: folder.to_owned() };
    let path = session_path(folder, id).ok_or_else(missing)?;
    let bytes = regular_file::read(&path, Links::Follow, u64::MAX).map_err(|_| missing())?;
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| entry::read(line).ok()?.pop()).collect())
}

fn events(entry: &Entry) -> Vec<AgentEvent> {
    match entry {
        Entry::User { text } => vec![AgentEvent::User { text: text.clone() }],
        // What they did beside the conversation: an edit taken back, a command of their own.
        Entry::UserAction { text } => vec![AgentEvent::Notice { message: text.clone() }],
        Entry::Assistant { content, usage } => {
            let shown = content.iter().filter_map(|block| match block {
                Block::Text { text } => Some(AgentEvent::Text { text: text.clone() }),
                Block::Call(call) => {
                    let (id, name, input) = (call.id.clone(), call.name.clone(), call.input.clone());
                    Some(AgentEvent::ToolStart { id, name, input })
                }
                Block::Opaque { .. } => None,
            });
            shown.chain([AgentEvent::Usage { usage: *usage }]).collect()
        }
        Entry::Result { id, name, result, .. } => {
            vec![AgentEvent::ToolResult { id: id.clone(), name: name.clone(), result: result.clone() }]
        }
        Entry::Interrupted => vec![AgentEvent::Error { error: Failure::interrupted() }],
        Entry::Mode { mode } => vec![AgentEvent::Mode { mode: *mode }],
        Entry::Compacted { before_tokens, after_tokens, .. } => {
            vec![AgentEvent::Compacted { before_tokens: *before_tokens, after_tokens: *after_tokens, left_out: 0 }]
        }
        Entry::Session { .. }
        | Entry::Model(_)
        | Entry::Asked { .. }
        | Entry::Outcome { .. }
        | Entry::Started { .. }
        | Entry::Said { .. }
        | Entry::TakenBack { .. }
        | Entry::Cleared => Vec::new(),
    }
}

fn texts(entry: Entry) -> Vec<String> {
    match entry {
        Entry::User { text } | Entry::UserAction { text } => vec![text],
        Entry::Assistant { content, .. } => {
            let texts = content.into_iter().filter_map(|block| match block {
                Block::Text { text } => Some(text),
                Block::Call(_) | Block::Opaque { .. } => None,
            });
            texts.collect()
        }
        Entry::Result { result, .. } if result.metadata.as_ref().is_some_and(|m| m.details.is_some()) => {
            vec![result.output]
        }
        Entry::Compacted { summary, .. } => vec![summary],
        _ => Vec::new(),
    }
}
