//! The branch of a repository, and whether files that it knows have changed. Its files are read and git is not run: a repository's
//! own settings could make that run anything.

use crate::ownership;
use askuser::sanitize;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// How much is read of the index; a larger one is passed over.
const MAX_INDEX: u64 = 8 << 20;
/// How long files are looked at.
const MAX_TIME: Duration = Duration::from_millis(200);

/// What the model is told about the repository around a folder, in one line.
pub(super) fn words(cwd: &Path) -> Option<String> {
    let root = cwd.ancestors().find(|folder| folder.join(".git/HEAD").exists())?;
    let head = read(&root.join(".git/HEAD"), 300)?;
    let head = String::from_utf8(head).ok()?;
    let branch = head.trim().strip_prefix("ref: refs/heads/").map(|branch| sanitize::line(branch).into_owned())?;
    let changes = match read(&root.join(".git/index"), MAX_INDEX).and_then(|index| has_changes(root, &index)) {
        Some(true) => ", with changes that are not staged",
        Some(false) => ", without changes that are not staged",
        None => "",
    };
    Some(format!("Git branch at the start: {branch}{changes}\n"))
}

fn read(path: &Path, max: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    ownership::open_found(path).ok()?.take(max + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= max).then_some(bytes)
}

/// Returns whether a file of the index is gone or has another size than when it was staged. Returns `None` if only its content could
/// tell, or if time runs out.
fn has_changes(root: &Path, index: &[u8]) -> Option<bool> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let written = root.join(".git/index").metadata().and_then(|index| index.modified()).ok()?;
    // Version 4 shortens names.
    let (begun, version) = (Instant::now(), number(4)?);
    if !index.starts_with(b"DIRC") || !(2..=3).contains(&version) {
        return None;
    }
    let mut at = 12;
    let mut are_same = true;
    for _ in 0..number(8)? {
        let seconds = number(at + 8)?;
        let nanos = number(at + 12)?;
        let mode = number(at + 24)?;
        let size = number(at + 36)?;
        let flags = index.get(at + 60)?;
        let name = at + if flags & 0x40 == 0 { 62 } else { 64 };
        let path = index.get(name..)?.split(|byte| *byte == 0).next()?;
        // Links, submodules, and what the user does not want to be looked at.
        if mode >> 12 == 0o10 && flags & 0x80 == 0 && name == at + 62 {
            let Ok(file) = root.join(std::str::from_utf8(path).ok()?).symlink_metadata() else { return Some(true) };
            // Git notes no size where it does not know the file as it is, such as after a part of it was staged.
            if size != 0 && file.len() as u32 != size {
                return Some(true);
            }
            let modified = file.modified().ok()?;
            let time = modified.duration_since(UNIX_EPOCH).ok()?;
            let is_same = time.as_secs() as u32 == seconds && (nanos == 0 || time.subsec_nanos() == nanos);
            // A file that was written with the index may have been changed after it was staged.
            are_same &= is_same && file.len() as u32 == size && modified < written;
        }
        at = name + path.len() + 1 + (8 - (name + path.len() + 1 - at) % 8) % 8;
        if begun.elapsed() > MAX_TIME {
            return None;
        }
    }
    are_same.then_some(false)
}

// These tests give git `/dev/null` for empty settings, which Windows does not have.
#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(folder: &Path, args: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        assert!(git.args(["-c", "init.defaultBranch=main"]).args(args).output().unwrap().status.success());
    }

    /// Makes the files older than the index that git will write.
    fn set_back(folder: &Path) {
        for name in ["a", "bb", "a long name.txt", "sub/eight888"] {
            let file = std::fs::File::options().write(true).open(folder.join(name)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_millis(1_700_000_000_123)).unwrap();
        }
    }

    #[test]
    fn after_a_part_of_a_file_was_committed_nothing_is_made_up() {
        if Command::new("git").arg("--version").output().is_err() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        git(folder.path(), &["init", "-q"]);
        std::fs::create_dir(at("sub")).unwrap();
        for name in ["a", "bb", "a long name.txt", "sub/eight888"] {
            std::fs::write(at(name), "one\n").unwrap();
        }
        set_back(folder.path());
        git(folder.path(), &["add", "."]);
        let commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"];
        git(folder.path(), &commit);
        // Both parts are staged by their content alone, as `git add -p` does.
        std::fs::write(at("a"), "two\n").unwrap();
        let patch = at("patch");
        std::fs::write(&patch, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n").unwrap();
        git(folder.path(), &["apply", "--cached", "patch"]);
        assert_eq!(words(folder.path()).unwrap(), "Git branch at the start: main\n");
        git(folder.path(), &commit);
        let clean = "Git branch at the start: main, without changes that are not staged\n";
        assert_eq!(words(folder.path()).unwrap(), clean);
        // The same size in the same second is no proof either.
        git(folder.path(), &["add", "a"]);
        std::fs::write(at("a"), "ten\n").unwrap();
        assert_eq!(words(folder.path()).unwrap(), "Git branch at the start: main\n");
    }

    #[test]
    fn it_says_the_branch_and_whether_there_are_changes_and_runs_nothing() {
        if Command::new("git").arg("--version").output().is_err() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        git(folder.path(), &["init", "-q"]);
        for name in ["a", "bb", "a long name.txt", "sub/eight888"] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), name).unwrap();
        }
        set_back(folder.path());
        git(folder.path(), &["add", "."]);
        git(folder.path(), &["config", "core.fsmonitor", "touch ran; false"]);
        std::fs::write(at(".git/hooks/fsmonitor-watchman"), "#!/bin/sh\ntouch ran\n").unwrap();
        let clean = Some("Git branch at the start: main, without changes that are not staged\n".to_owned());
        assert_eq!(words(&at("sub")), clean);
        let changed = Some("Git branch at the start: main, with changes that are not staged\n".to_owned());
        std::fs::write(at("sub/eight888"), "other").unwrap();
        assert_eq!(words(folder.path()), changed);
        std::fs::write(at("sub/eight888"), "sub/eight888").unwrap();
        std::fs::remove_file(at("a")).unwrap();
        assert_eq!(words(folder.path()), changed);
        std::fs::write(at(".git/index"), b"DIRC\0\0\0\x02\xff\xff\xff\xff").unwrap();
        assert_eq!(
            words(folder.path()).unwrap(),
            "Git branch at the start: main\n",
            "an index that cannot be read says nothing"
        );
        std::fs::write(at(".git/HEAD"), "ref: refs/heads/fix-\u{1b}[2Jit\n").unwrap();
        assert_eq!(words(folder.path()).unwrap(), "Git branch at the start: fix-it\n");
        std::fs::write(at(".git/HEAD"), "0123456789abcdef\n").unwrap();
        assert_eq!(words(folder.path()), None);
        assert!(!at("ran").exists());
    }
}
