//! The branch of a repository. The code reads the branch file instead of running git. A repository's own settings could
//! make git run any program.

use crate::ownership;
use askuser::sanitize;
use std::io::Read;
use std::path::Path;

/// The size limit for the file, which is longer than any branch name.
const MAX_HEAD: u64 = 300;

/// Returns the line about the repository around a folder for the system prompt; `None` without a repository or a
/// branch.
pub(super) fn words(cwd: &Path) -> Option<String> {
    let head = cwd.ancestors().map(|folder| folder.join(".git/HEAD")).find(|head| head.exists())?;
    let mut bytes = Vec::new();
    ownership::open_found(&head).ok()?.take(MAX_HEAD).read_to_end(&mut bytes).ok()?;
    let branch = std::str::from_utf8(&bytes).ok()?.trim().strip_prefix("ref: refs/heads/").map(sanitize::line)?;
    Some(format!("Git branch at the start: {branch}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_read_from_the_repository_around_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".git")).unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        for (head, expected) in [
            ("ref: refs/heads/main\n", Some("Git branch at the start: main\n")),
            ("ref: refs/heads/fix-\u{1b}[2Jit\n", Some("Git branch at the start: fix-it\n")),
            ("0123456789abcdef\n", None),
        ] {
            std::fs::write(folder.path().join(".git/HEAD"), head).unwrap();
            assert_eq!(words(&folder.path().join("a/b")).as_deref(), expected);
        }
    }
}
