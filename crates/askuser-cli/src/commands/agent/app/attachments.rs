//! The content of files that a message names, added to the message for the model.

use super::mentions;
use super::open_questions::UiSender;
use super::state::Event;
use super::tool_calls::counted;
use askuser_agent::{ATTACHED, AgentHandle};
use askuser_terminal::Role;

const MAX_FILES: usize = 10;

/// A message with the files it names, of which the person is told. What names no file is left as it is.
pub(crate) async fn attach(agent: &AgentHandle, text: String, ui: &UiSender) -> String {
    let (mut message, mut files, mut refused) = (text.clone(), Vec::<(String, String)>::new(), Vec::new());
    for path in mentions::paths(&text) {
        let short = mentions::without_punctuation(&path);
        let (path, read) = match agent.read_file(&path).await {
            Some(read) => (path.as_str(), Some(read)),
            None if short != path && !short.is_empty() => (short, agent.read_file(short).await),
            None => continue,
        };
        let Some(read) = read else { continue };
        if files.iter().any(|(known, _)| known == path) {
            continue;
        }
        if files.len() == MAX_FILES {
            refused.push(format!("{path}: at most {MAX_FILES} files are attached to a message."));
        } else if read.success {
            let output = read.output.trim_end_matches('\n');
            message.push_str(&format!("{ATTACHED}{path}]\n{output}\n[End of {path}]"));
            // As Read shows them: a number and a tab before each, and at the end which these are if they are not all.
            let all = || counted(output.lines().filter(|line| line.contains('\t')).count(), "line");
            let part = output.lines().next_back().and_then(|note| note.strip_prefix("(Lines ")?.split_once(". "));
            let lines = part.map_or_else(all, |(part, _)| format!("lines {part}"));
            files.push((path.to_owned(), lines));
        } else {
            refused.push(read.output);
        }
    }
    told(&files, refused).into_iter().for_each(|(role, words)| ui.send(Event::Note(role, words)));
    message
}

/// What was attached to the message, and why something was not.
fn told(files: &[(String, String)], refused: Vec<String>) -> Vec<(Role, String)> {
    let files: Vec<String> = files.iter().map(|(path, lines)| format!("{path} ({lines})")).collect();
    let attached = (!files.is_empty()).then(|| (Role::Muted, format!("Attached: {}", files.join(", "))));
    let refused = refused.into_iter().map(|why| (Role::Warning, format!("Not attached: {why}")));
    attached.into_iter().chain(refused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_attached_is_told_and_what_was_not() {
        let files = [("a.rs", "1 line"), ("b.rs", "20 lines")].map(|(path, lines)| (path.to_owned(), lines.to_owned()));
        let attached = (Role::Muted, "Attached: a.rs (1 line), b.rs (20 lines)".to_owned());
        let refused = (Role::Warning, "Not attached: c is binary.".to_owned());
        assert_eq!(told(&files, vec!["c is binary.".into()]), [attached, refused]);
        assert_eq!(told(&[], Vec::new()), []);
    }
}
