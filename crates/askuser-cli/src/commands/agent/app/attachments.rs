//! Adds the content of the files that a message names to the message for the model.

use super::mentions;
use super::open_questions::UiSender;
use super::state::Event;
use askuser_agent::{ATTACHED, AgentHandle, attached_files};
use askuser_terminal::Role;

const MAX_FILES: usize = 10;

/// Returns a message with the files it names. The UI shows which files were attached, and why others were not.
pub(crate) async fn attach(agent: &AgentHandle, text: String, ui: &UiSender) -> String {
    let mut message = text.clone();
    let mut files = Vec::<String>::new();
    let mut refused = Vec::new();
    for path in mentions::paths(&text) {
        let short = mentions::without_punctuation(&path);
        let (path, read) = match agent.read_file(&path).await {
            Some(read) => (path.as_str(), Some(read)),
            None if short != path && !short.is_empty() => (short, agent.read_file(short).await),
            None => continue,
        };
        let Some(read) = read else { continue };
        if files.iter().any(|known| known == path) {
            continue;
        }
        if files.len() == MAX_FILES {
            refused.push(format!("{path}: at most {MAX_FILES} files are attached to a message."));
        } else if read.success {
            let output = read.output.trim_end_matches('\n');
            message.push_str(&format!("{ATTACHED}{path}]\n{output}\n[End of {path}]"));
            files.push(path.to_owned());
        } else {
            refused.push(read.output);
        }
    }
    let attached = attached_note(&message).map(|words| (Role::Muted, words));
    let refused = refused.into_iter().map(|why| (Role::Warning, format!("Not attached: {why}")));
    attached.into_iter().chain(refused).for_each(|(role, words)| ui.send(Event::Note(role, words)));
    message
}

/// Returns the note about the files in a message; `None` if the message has no files.
pub(super) fn attached_note(message: &str) -> Option<String> {
    let files: Vec<&str> = attached_files(message).collect();
    (!files.is_empty()).then(|| format!("Attached: {}", files.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_message_are_named() {
        let message =
            format!("look{ATTACHED}a.rs]\n1\tone\n[End of a.rs]{ATTACHED}my notes.md]\n1\ttwo\n[End of my notes.md]");
        assert_eq!(attached_note(&message).as_deref(), Some("Attached: a.rs, my notes.md"));
        assert_eq!(attached_note("look at a.rs"), None);
    }
}
