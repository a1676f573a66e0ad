//! Files that a person names in a message: completion of their names, and their content.
//!
//! The person chooses the files, but the model's limits apply: the allowed folders, no links, and Read's maximum
//! length.

use crate::conversation::AgentHandle;
use crate::event_channel::EventSender;
use crate::message::ToolCall;
use crate::tool::{Tool, ToolResult};
use crate::tools::{Read, walk};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// The text that begins an attached file in a message. The file's path and a closing bracket follow.
pub const ATTACHED: &str = "\n\n[Attached file ";

/// Returns the text of a message as typed, without the attached files.
pub fn as_written(message: &str) -> &str {
    message.split_once(ATTACHED).map_or(message, |(written, _)| written)
}

/// Returns the paths of the files attached to a message.
pub fn attached_files(message: &str) -> impl Iterator<Item = &str> {
    message.split(ATTACHED).skip(1).filter_map(|file| Some(file.split_once("]\n")?.0))
}

/// Returns at most `max` relative paths of files below a folder, in order.
///
/// Hidden files and files that version control ignores are left out. Links are not followed.
pub fn files_below(folder: &Path, max: usize, cancel: &CancellationToken) -> Vec<String> {
    let mut files = Vec::new();
    walk::files(folder, None, cancel, |below, entry| {
        if entry.file_type().is_file()
            && let Some(path) = below.to_str()
        {
            files.push(path.to_owned());
        }
        if files.len() < max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    files
}

impl AgentHandle {
    /// Reads a file as the Read tool returns it: numbered lines up to its limit, with keys redacted. Returns `None` if
    /// no such file exists.
    pub async fn read_file(&self, path: &str) -> Option<ToolResult> {
        let shared = self.shared();
        let whole = shared.cwd.join(path);
        if !whole.is_file() {
            return None;
        }
        if let Some(link) = first_link(&shared.cwd, Path::new(path)) {
            let words = format!("{path}: {} is a link, and links are not followed.", link.display());
            return Some(ToolResult::error(words));
        }
        let id = "attachment".to_owned();
        let name = "Read".to_owned();
        let call = ToolCall { id, name, input: json!({"path": path}), extra: None };
        let (events, _receiver) = EventSender::channel();
        let context = shared.context(&events, &CancellationToken::new());
        let read = Read.run(&call, &context).await.unwrap_or_else(|_| ToolResult::error(format!("{path}: not read")));
        Some(shared.secrets.redact(read))
    }
}

/// Returns the first component of a path that is a symbolic link. The components of `folder` do not count.
fn first_link(folder: &Path, path: &Path) -> Option<PathBuf> {
    let mut at = if path.is_absolute() { PathBuf::new() } else { folder.to_owned() };
    for part in path.components() {
        at.push(part);
        // A link above the working folder is allowed.
        let is_above = folder.starts_with(&at);
        if matches!(part, Component::Normal(_)) && !is_above && at.is_symlink() {
            return Some(at.strip_prefix(folder).unwrap_or(&at).to_owned());
        }
    }
    None
}

// On Windows, only an administrator can create links.
#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::agent::Agent;
    use crate::script::Script;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn agent(folder: &Path) -> AgentHandle {
        Agent::new(Script::default()).with_folder(folder).start().0
    }

    #[test]
    fn files_are_those_that_are_neither_hidden_nor_ignored() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["src/main.rs", "target/x", ".env", ".git/HEAD", "a.txt", "b.txt"] {
            fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
            fs::write(folder.path().join(path), "x").unwrap();
        }
        fs::write(folder.path().join(".gitignore"), "target\n").unwrap();
        symlink("a.txt", folder.path().join("link")).unwrap();
        let cancel = CancellationToken::new();
        assert_eq!(files_below(folder.path(), 100, &cancel), ["a.txt", "b.txt", "src/main.rs"]);
        assert_eq!(files_below(folder.path(), 2, &cancel).len(), 2);
    }

    #[tokio::test]
    async fn a_file_is_read_inside_the_folder_and_not_through_links() {
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "s").unwrap();
        fs::write(folder.path().join("a.txt"), "one\ntwo\n").unwrap();
        fs::create_dir(folder.path().join("real")).unwrap();
        fs::write(folder.path().join("real/b"), "b").unwrap();
        symlink(outside.path().join("secret"), folder.path().join("out")).unwrap();
        symlink("a.txt", folder.path().join("in")).unwrap();
        symlink("real", folder.path().join("folder")).unwrap();
        let agent = agent(folder.path());
        let read = agent.read_file("a.txt").await.unwrap();
        assert_eq!((read.success, read.output.as_str()), (true, "1\tone\n2\ttwo\n"));
        for link in ["out", "in", "folder/b"] {
            let read = agent.read_file(link).await.unwrap();
            assert!(!read.success && read.output.contains("links are not followed"), "{link}: {}", read.output);
        }
        let elsewhere = outside.path().join("secret").display().to_string();
        assert!(!agent.read_file(&elsewhere).await.unwrap().success);
        assert!(agent.read_file("missing").await.is_none() && agent.read_file("real").await.is_none());
    }
}
