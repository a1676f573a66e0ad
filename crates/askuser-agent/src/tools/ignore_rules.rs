//! What version control ignores: the rules in `.ignore`, `.gitignore` and `.git/info/exclude`, and the user's own.
//!
//! A folder is not trusted, so its files are read here and not by the `ignore` crate, which opens whatever has such a name
//! and reads it to its end: a link to `/dev/zero` fills the memory, a pipe hangs. Only regular files count, and only if
//! those of a folder and of all above it are as short together as people write them.

use crate::regular_file::{self, Links};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::{Path, PathBuf};

/// How long the files that hold in one folder may be together. No project has so many rules, and four times as many take
/// seconds and half a gigabyte to compile.
const MAX_BYTES: u64 = 256 << 10;
/// How long the files may be that say where a repository is.
const MAX_POINTER_BYTES: u64 = 4_096;

/// The rules that hold where a walk is.
pub(crate) struct IgnoreRules {
    users: Gitignore,
    /// From the repository's root, or from where the walk began, down to where it is.
    folders: Vec<FolderRules>,
}

struct FolderRules {
    folder: PathBuf,
    bytes: u64,
    /// Of `.ignore`, `.gitignore` and `.git/info/exclude`: the first that says something counts.
    kinds: [Gitignore; 3],
}

impl IgnoreRules {
    /// The rules that hold in a folder because of the folders above it. Outside of a repository these are unrelated, and
    /// might ignore everything.
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

    /// Whether something is ignored that the walk comes upon.
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

    /// Drops the rules of folders that a path is not below.
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

/// Lines that are no rules are skipped, as by version control.
fn parse(folder: &Path, text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    for line in text.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok()) {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Where the rules are that a repository does not share. In a second worktree `.git` is a file that says where the
/// repository is.
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
