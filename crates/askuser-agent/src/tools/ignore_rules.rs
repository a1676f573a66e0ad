//! The rules for ignored files: `.ignore`, `.gitignore`, `.git/info/exclude`, and the user's own rules.
//!
//! A folder is not trusted, so this module reads the files itself. The `ignore` crate opens any file of such a name and
//! reads it to its end. A link to `/dev/zero` would fill the memory, and a pipe would block. Here only regular files
//! count, and only up to a total size.

use crate::regular_file::{self, Links};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::{Path, PathBuf};

/// The maximum total size of the rules that apply in one folder. Real projects have less. Four times as much takes
/// seconds and half a gigabyte of memory to compile.
const MAX_BYTES: u64 = 256 << 10;
/// The maximum size of the files that name the folder of a repository.
const MAX_POINTER_BYTES: u64 = 4_096;

/// The rules that apply at the current folder of a walk.
pub(crate) struct IgnoreRules {
    users: Gitignore,
    /// The rules of the folders from the repository's root, or from the start of the walk, down to the current folder.
    folders: Vec<FolderRules>,
}

struct FolderRules {
    folder: PathBuf,
    bytes: u64,
    /// The rules of `.ignore`, `.gitignore` and `.git/info/exclude`. The first match counts.
    kinds: [Gitignore; 3],
}

impl IgnoreRules {
    /// Returns the rules of the parent folders that apply in a folder. Outside a repository the parent folders have
    /// none.
    pub(crate) fn above(folder: &Path) -> IgnoreRules {
        let (users, _) = GitignoreBuilder::new(folder).build_global();
        let mut rules = IgnoreRules { users, folders: Vec::new() };
        if let Some(root) = folder.ancestors().find(|folder| folder.join(".git").exists()) {
            let between: Vec<&Path> = folder.ancestors().skip(1).take_while(|above| above.starts_with(root)).collect();
            between.into_iter().rev().for_each(|above| rules.enter(above));
        }
        rules
    }

    /// Adds the rules of a folder that the walk enters.
    pub(crate) fn enter(&mut self, folder: &Path) {
        self.leave(folder);
        let used: u64 = self.folders.iter().map(|folder| folder.bytes).sum();
        self.folders.push(FolderRules::read(folder, MAX_BYTES.saturating_sub(used)));
    }

    /// Whether a path of the walk is ignored.
    pub(crate) fn ignores(&mut self, path: &Path, is_folder: bool) -> bool {
        self.leave(path);
        for kind in 0..3 {
            for folder in self.folders.iter().rev() {
                match folder.kinds[kind].matched(path, is_folder) {
                    Match::None => {}
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                }
            }
        }
        self.users.matched(path, is_folder).is_ignore()
    }

    /// Removes the rules of folders that do not contain a path.
    fn leave(&mut self, path: &Path) {
        while self.folders.last().is_some_and(|last| !path.starts_with(&last.folder)) {
            self.folders.pop();
        }
    }
}

impl FolderRules {
    fn read(folder: &Path, room: u64) -> FolderRules {
        let mut bytes = 0;
        let mut rules = |file: Option<PathBuf>| {
            let text = file.and_then(|file| regular_file::read(&file, Links::Refuse, room - bytes).ok());
            let Some(text) = text else { return Gitignore::empty() };
            bytes += text.len() as u64;
            parse(folder, &text)
        };
        let kinds =
            [Some(folder.join(".ignore")), Some(folder.join(".gitignore")), exclude_file(folder)].map(&mut rules);
        FolderRules { folder: folder.to_owned(), bytes, kinds }
    }
}

/// Parses rules. Invalid lines are skipped, as git does.
fn parse(folder: &Path, text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    for line in text.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok()) {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Returns the file with the rules that a repository does not share; `None` if it cannot be found. In a linked
/// worktree, `.git` is a file that names the repository.
fn exclude_file(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git.join("info/exclude"));
    }
    let pointer = |file: &Path| {
        let text = regular_file::read(file, Links::Refuse, MAX_POINTER_BYTES).ok()?;
        String::from_utf8(text).ok()
    };
    let worktree = folder.join(pointer(&git)?.strip_prefix("gitdir:")?.trim());
    let repository = worktree.join(pointer(&worktree.join("commondir"))?.trim());
    Some(repository.join("info/exclude"))
}
