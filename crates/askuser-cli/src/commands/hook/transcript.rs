//! Reads the model's own words before a call from the transcript that Claude Code writes.
//!
//! The file is untrusted and may lag behind. A missing reason delays a question by at most half a second.

use super::event::QUESTION_TOOL;
use crate::ownership::open_found;
use serde::Deserialize;
use serde_json::Value;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The maximum number of bytes that are read from the end of a transcript.
const MAX_READ: u64 = 4 << 20;
/// The time within which the transcript must contain the call. At the beginning of a session, Claude Code writes it
/// about 0.1 s late.
const PATIENCE: Duration = Duration::from_millis(500);

/// A line of the transcript.
#[derive(Deserialize)]
struct Line {
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Blocks(Vec<Block>),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {},
    #[serde(other)]
    Other,
}

/// Returns the last words of the model before the call of an event; `None` if there are none.
pub(super) fn last_words(event: &Value) -> Option<String> {
    let path = path(event)?;
    let end = Instant::now() + PATIENCE;
    loop {
        let lines = tail(&path).ok()?;
        if let Some(words) = words_before(&lines, event) {
            return Some(words).filter(|words| !words.is_empty());
        }
        if Instant::now() >= end {
            return None;
        }
        sleep(Duration::from_millis(25));
    }
}

/// Returns the path of the transcript of the session, or of the subagent that makes the call. `None` if the event has
/// no valid path.
fn path(event: &Value) -> Option<PathBuf> {
    let of_session = PathBuf::from(event["transcript_path"].as_str()?);
    let Some(agent) = event["agent_id"].as_str() else { return Some(of_session) };
    let is_name = agent.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    is_name.then(|| of_session.with_extension("").join("subagents").join(format!("agent-{agent}.jsonl")))
}

pub(super) fn tail(path: &Path) -> io::Result<String> {
    let mut file = open_found(path)?;
    let skipped = file.metadata()?.len().saturating_sub(MAX_READ);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(MAX_READ).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the text before the call. The text is empty if the model wrote none in this turn. `None` if the transcript
/// does not contain the call yet.
fn words_before(lines: &str, event: &Value) -> Option<String> {
    let messages = lines.lines().rev().filter_map(|line| serde_json::from_str::<Line>(line).ok()?.message);
    let mut has_call = false;
    for message in messages {
        let blocks = match message.content {
            Content::Blocks(blocks) => blocks,
            Content::Other(_) => Vec::new(),
        };
        // A turn begins with a message of the person.
        let is_persons = message.role == "user" && !blocks.iter().any(|block| matches!(block, Block::ToolResult {}));
        if has_call && is_persons {
            return Some(String::new());
        }
        for block in blocks.into_iter().rev() {
            match block {
                Block::ToolUse { id, name, input } => has_call |= is_call(&id, &name, &input, event),
                Block::Text { text } if has_call && message.role == "assistant" && !text.trim().is_empty() => {
                    return Some(text.trim().to_owned());
                }
                _ => {}
            }
        }
    }
    has_call.then(String::new)
}

/// Returns whether a call of the transcript is the call of an event. They are compared by id, or else by tool and
/// input.
fn is_call(id: &str, name: &str, input: &Value, event: &Value) -> bool {
    let is_same_input = || match name {
        QUESTION_TOOL => input.get("questions") == event["tool_input"].get("questions"),
        _ => *input == event["tool_input"],
    };
    match event["tool_use_id"].as_str() {
        Some(of_event) => of_event == id,
        None => event["tool_name"] == name && is_same_input(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(role: &str, blocks: Value) -> String {
        format!("{}\n", json!({"type": role, "message": {"role": role, "content": blocks}}))
    }

    fn calls(id: &str, command: &str) -> Value {
        json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}])
    }

    fn transcript() -> String {
        [
            "{\"type\":\"mode\"}\nno json\n".to_owned(),
            said("user", json!("earlier")),
            said("assistant", json!([{"type": "text", "text": "Earlier words."}])),
            said("user", json!("go")),
            said("assistant", json!([{"type": "thinking", "thinking": "secret"}])),
            said("assistant", json!([{"type": "text", "text": " I build it first.\n"}])),
            said("assistant", calls("1", "make")),
            said("user", json!([{"type": "tool_result", "tool_use_id": "1", "content": "ok"}])),
            said("assistant", calls("2", "make test")),
        ]
        .concat()
    }

    #[test]
    fn the_words_before_a_call_are_those_of_its_turn() {
        let event = |command: &str| json!({"tool_name": "Bash", "tool_input": {"command": command}});
        assert_eq!(words_before(&transcript(), &event("make")).unwrap(), "I build it first.");
        assert_eq!(words_before(&transcript(), &event("make test")).unwrap(), "I build it first.");
        assert_eq!(words_before(&transcript(), &event("rm")), None, "it is not there yet");
        let by_id = json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "3"});
        assert_eq!(words_before(&transcript(), &by_id), None, "an id decides");
        let before = said("assistant", json!([{"type": "text", "text": "Before."}]));
        let silent = [before, said("user", json!("go")), said("assistant", calls("1", "ls"))].concat();
        assert_eq!(words_before(&silent, &event("ls")).unwrap(), "", "words of an earlier turn say nothing");
    }

    #[test]
    fn a_transcript_that_lags_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        std::fs::write(&path, said("user", json!("go"))).unwrap();
        let event =
            json!({"transcript_path": path, "tool_name": "Bash", "tool_input": {"command": "make"}, "session_id": "s"});
        let writer = path.clone();
        let text = transcript();
        let late = std::thread::spawn(move || {
            sleep(Duration::from_millis(100));
            std::fs::write(writer, text).unwrap();
        });
        assert_eq!(last_words(&event).as_deref(), Some("I build it first."));
        late.join().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn only_a_regular_file_of_this_user_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        let link = folder.path().join("link");
        std::fs::write(&real, transcript()).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let event =
            |path: &Path| json!({"transcript_path": path, "tool_name": "Bash", "tool_input": {"command": "make"}});
        assert!(last_words(&event(&real)).is_some());
        assert_eq!(last_words(&event(&link)), None);
        assert_eq!(last_words(&event(folder.path())), None);
        let mut elsewhere = event(&real);
        elsewhere["agent_id"] = "../../real".into();
        assert_eq!(last_words(&elsewhere), None);
    }
}
