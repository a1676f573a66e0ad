//! The content of files that a message names, added to the message for the model.

use super::mentions;
use super::tool_calls::counted;
use askuser_agent::Agent;

const MAX_FILES: usize = 10;
/// Begins a file in a message; its path and a bracket follow.
const BEGIN: &str = "\n\n[Attached file ";

/// A message with the files it names.
pub(crate) struct Attached {
    pub(crate) message: String,
    /// The files, and what of them is attached: `12 lines`, `lines 1-2000 of 5000`.
    pub(crate) files: Vec<(String, String)>,
    /// Why others are not.
    pub(crate) refused: Vec<String>,
}

/// Reads the files that a message names. What names no file is left as it is.
pub(crate) async fn attach(agent: &Agent, text: String) -> Attached {
    let mut attached = Attached { message: text.clone(), files: Vec::new(), refused: Vec::new() };
    for path in mentions::paths(&text) {
        let short = mentions::without_punctuation(&path);
        let (path, read) = match agent.read_file(&path).await {
            Some(read) => (path.as_str(), Some(read)),
            None if short != path && !short.is_empty() => (short, agent.read_file(short).await),
            None => continue,
        };
        let Some(read) = read else { continue };
        if attached.files.iter().any(|(known, _)| known == path) {
            continue;
        }
        if attached.files.len() == MAX_FILES {
            attached.refused.push(format!("{path}: at most {MAX_FILES} files are attached to a message."));
        } else if read.success {
            let output = read.output.trim_end_matches('\n');
            attached.message.push_str(&format!("{BEGIN}{path}]\n{output}\n[End of {path}]"));
            // As Read shows them: a number and a tab before each, and at the end which these are if they are not all.
            let all = || counted(output.lines().filter(|line| line.contains('\t')).count(), "line");
            let part = output.lines().next_back().and_then(|note| note.strip_prefix("(Lines ")?.split_once(". "));
            let lines = part.map_or_else(all, |(part, _)| format!("lines {part}"));
            attached.files.push((path.to_owned(), lines));
        } else {
            attached.refused.push(read.output);
        }
    }
    attached
}

/// A message as the person wrote it, without the files.
pub(crate) fn as_written(message: &str) -> &str {
    message.split_once(BEGIN).map_or(message, |(written, _)| written)
}
