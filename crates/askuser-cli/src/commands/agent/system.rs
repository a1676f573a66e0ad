//! The system prompt: the task, the environment, and the project's own notes.
//!
//! A project is not trusted. Its notes must be regular files of bounded size in its own folders. These are the folders
//! from the repository's root down to the working folder. Links are not followed, because they could send any file of
//! the user to the provider. Opening never blocks.

use super::git_state;
use crate::store::display;
use crate::{config, failure, ownership};
use std::io::{self, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

const SYSTEM: &str = include_str!("../../../prompts/agent/system.txt");

/// The files in which projects describe themselves to agents. The first file found in a folder counts.
const NOTES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The number of bytes that are read of one file, and of all files together. Every request includes these texts and
/// costs tokens.
const MAX_BYTES: u64 = 20_000;
const MAX_TOTAL_BYTES: u64 = 40_000;

enum Notes {
    None,
    Text(String),
    /// The beginning of notes that are longer than the limit.
    Cut(String),
    /// The reason why the notes are not read, such as not being a regular file of the user.
    Refused(String),
}

pub(crate) fn prompt(cwd: &Path) -> String {
    let mut prompt = SYSTEM.trim_ascii_end().to_owned();
    let date = display::date_time(UNIX_EPOCH.elapsed().map_or(0, |now| now.as_millis() as u64));
    let day = date.split(' ').next().unwrap_or_default();
    prompt.push_str(&format!("\n\nFolder: {}\nSystem: {}\nDate: {day}\n", cwd.display(), std::env::consts::OS));
    prompt.extend(git_state::words(cwd));
    let own = config::user_folder(|name| std::env::var(name).ok()).map(|folder| folder.join(NOTES[0]));
    if let Some(Notes::Text(text) | Notes::Cut(text)) = own.map(|path| notes(&path, MAX_BYTES)) {
        prompt.push_str(&format!("\nWhat the user says for all projects:\n\n{text}\n"));
    }
    let notes = all_notes(cwd);
    if notes.len() > 1 {
        prompt.push_str(
            "\nWhat the project says of itself, the nearest folder last. Where they differ, the nearest counts.\n",
        );
    }
    for (name, text) in notes {
        prompt.push_str(&format!("\nThe project's {name}:\n\n{text}\n"));
    }
    prompt
}

/// Returns the notes of all folders, nearest last, each with its path. If they do not all fit, the nearest have
/// priority.
fn all_notes(cwd: &Path) -> Vec<(String, String)> {
    // The links are resolved, so that each folder is a real one and the repository is the right one.
    let Ok(cwd) = cwd.canonicalize() else { return Vec::new() };
    let root = match ownership::repository(&cwd) {
        Ok(root) => root.unwrap_or(&cwd),
        Err(foreign) => {
            foreign.left_out(&NOTES).into_iter().for_each(|words| failure::notice(&words));
            &cwd
        }
    };
    let mut all = Vec::new();
    let mut room = MAX_TOTAL_BYTES;
    for folder in cwd.ancestors().take_while(|folder| folder.starts_with(root)) {
        let below = folder.strip_prefix(root).unwrap_or(folder);
        if let Some((name, text)) = folder_notes(folder, below, room) {
            room = room.saturating_sub(text.len() as u64);
            all.push((name, text));
        }
    }
    all.reverse();
    all
}

/// Returns the notes of a folder with their file name, within the remaining room; `None` if there are none.
fn folder_notes(folder: &Path, below: &Path, room: u64) -> Option<(String, String)> {
    for file in NOTES {
        let name = below.join(file).display().to_string();
        let notice = |fact: &str| failure::notice(&format!("{name} {fact}"));
        match notes(&folder.join(file), room.min(MAX_BYTES)) {
            Notes::Text(text) => return Some((name, text)),
            Notes::Cut(text) => {
                notice(&how_much(room.min(MAX_BYTES)));
                return (!text.is_empty()).then_some((name, text));
            }
            Notes::Refused(_) if is_another_name(&folder.join(file)) => {}
            Notes::Refused(fact) => notice(&format!("{fact}: it is not read")),
            Notes::None => {}
        }
    }
    None
}

/// Returns whether this is a link to another note file in the same folder, which is read itself.
fn is_another_name(path: &Path) -> bool {
    let target = std::fs::read_link(path).unwrap_or_default();
    NOTES.iter().any(|name| target.strip_prefix(".").unwrap_or(&target) == Path::new(name))
}

/// Returns the notice about a shortened file.
fn how_much(bytes: u64) -> String {
    match bytes {
        0 => format!("is not read: those of the folders below it have {MAX_TOTAL_BYTES} bytes already"),
        bytes => format!("is long: only its first {bytes} bytes are read"),
    }
}

fn notes(path: &Path, max_bytes: u64) -> Notes {
    let file = match ownership::open_found(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::Other | io::ErrorKind::InvalidInput) => {
            return Notes::Refused(error.to_string());
        }
        Err(_) => return Notes::None,
    };
    let mut bytes = Vec::new();
    if file.take(max_bytes + 1).read_to_end(&mut bytes).is_err() {
        return Notes::None;
    }
    let is_cut = bytes.len() as u64 > max_bytes;
    bytes.truncate(max_bytes as usize);
    match (String::from_utf8_lossy(&bytes).trim(), is_cut) {
        (text, true) => Notes::Cut(text.to_owned()),
        ("", false) => Notes::None,
        (text, false) => Notes::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_notes_are_part_of_it_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let without = prompt(folder.path());
        let notes = format!("Use tabs. {}", "x".repeat(50_000));
        std::fs::write(folder.path().join("AGENTS.md"), &notes).unwrap();
        assert_eq!(prompt(folder.path()), format!("{without}\nThe project's AGENTS.md:\n\n{}\n", &notes[..20_000]));
    }

    #[test]
    fn it_says_the_day() {
        let prompt = prompt(tempfile::tempdir().unwrap().path());
        let date = prompt.lines().find_map(|line| line.strip_prefix("Date: ")).unwrap();
        assert!(date.len() == 10 && date.starts_with("20"), "{date}");
    }

    fn write(path: impl AsRef<Path>, text: &str) {
        std::fs::create_dir_all(path.as_ref().parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Returns the file names and texts of a folder's notes.
    fn told(folder: &Path) -> Vec<(String, String)> {
        all_notes(folder)
    }

    fn pairs<const N: usize>(notes: [(&str, &str); N]) -> Vec<(String, String)> {
        notes.map(|(name, text)| (name.to_owned(), text.to_owned())).into()
    }

    #[test]
    fn every_folder_from_the_repositorys_root_on_is_heard_the_nearest_last() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("repository");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        write(outer.path().join("AGENTS.md"), "not of the repository");
        write(root.join("AGENTS.md"), "root");
        write(root.join("CLAUDE.md"), "not read beside the other");
        write(root.join("a/CLAUDE.md"), "middle");
        write(root.join("a/b/c/AGENTS.md"), "nearest");
        write(root.join("a/b/c/d/AGENTS.md"), "below");
        write(root.join("x/AGENTS.md"), "beside");
        let expected = pairs([("AGENTS.md", "root"), ("a/CLAUDE.md", "middle"), ("a/b/c/AGENTS.md", "nearest")]);
        assert_eq!(told(&root.join("a/b/c")), expected);
        let prompt = prompt(&root.join("a/b/c"));
        assert!(
            prompt.contains("Where they differ, the nearest counts.\n\nThe project's AGENTS.md:\n\nroot\n"),
            "{prompt}"
        );
        assert!(prompt.ends_with("\nThe project's a/b/c/AGENTS.md:\n\nnearest\n"), "{prompt}");
    }

    // Only an administrator can create links on Windows.
    #[cfg(unix)]
    #[test]
    fn a_second_name_of_the_same_notes_is_no_reason_to_complain() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path().join("CLAUDE.md"), "Use tabs.");
        for (target, is_harmless) in [("CLAUDE.md", true), ("./CLAUDE.md", true), ("../CLAUDE.md", false), ("x", false)]
        {
            let link = folder.path().join("AGENTS.md");
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert_eq!(is_another_name(&link), is_harmless, "{target}");
            assert_eq!(told(folder.path()), pairs([("CLAUDE.md", "Use tabs.")]));
            std::fs::remove_file(link).unwrap();
        }
        assert!(!is_another_name(&folder.path().join("CLAUDE.md")));
    }

    #[test]
    fn outside_of_a_repository_only_the_working_folder_is_heard() {
        let outer = tempfile::tempdir().unwrap();
        write(outer.path().join("AGENTS.md"), "above");
        write(outer.path().join("a/AGENTS.md"), "here");
        assert_eq!(told(&outer.path().join("a")), pairs([("AGENTS.md", "here")]));
    }

    #[test]
    fn together_they_are_bounded_and_the_nearest_come_first() {
        let root = tempfile::tempdir().unwrap();
        write(root.path().join(".git"), "gitdir: elsewhere");
        let long = "x".repeat(50_000);
        for folder in ["", "a", "a/b", "a/b/c"] {
            write(root.path().join(folder).join("AGENTS.md"), &long);
        }
        write(root.path().join("a/b/c/AGENTS.md"), "short");
        let heard: Vec<(String, usize)> =
            told(&root.path().join("a/b/c")).into_iter().map(|(name, text)| (name, text.len())).collect();
        let expected = [("a/AGENTS.md", 19_995), ("a/b/AGENTS.md", 20_000), ("a/b/c/AGENTS.md", 5)]
            .map(|(n, l)| (n.to_owned(), l));
        assert_eq!(heard, expected);
    }

    #[test]
    fn nobody_is_told_that_the_first_0_bytes_are_read() {
        assert_eq!(how_much(0), "is not read: those of the folders below it have 40000 bytes already");
        assert_eq!(how_much(7), "is long: only its first 7 bytes are read");
    }

    #[test]
    fn a_folder_is_not_called_a_link_or_a_device() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(notes(folder.path(), 10), Notes::Refused(fact) if fact.ends_with("must be a regular file")));
    }

    // Only an administrator can create links on Windows.
    #[cfg(unix)]
    #[test]
    fn no_folder_in_between_is_a_link() {
        let repository = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::create_dir(repository.path().join(".git")).unwrap();
        write(repository.path().join("AGENTS.md"), "of the repository");
        write(elsewhere.path().join("b/AGENTS.md"), "elsewhere");
        std::os::unix::fs::symlink(elsewhere.path(), repository.path().join("a")).unwrap();
        assert_eq!(
            told(&repository.path().join("a/b")),
            pairs([("AGENTS.md", "elsewhere")]),
            "it is not in the repository"
        );
    }

    // Only an administrator can create links on Windows.
    #[cfg(unix)]
    #[test]
    fn a_link_does_not_send_a_file_from_elsewhere_to_the_provider() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("id_rsa"), "the secret").unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("id_rsa"), folder.path().join("AGENTS.md")).unwrap();
        assert!(!prompt(folder.path()).contains("the secret"));
        std::fs::write(folder.path().join("CLAUDE.md"), "Use tabs.").unwrap();
        assert!(prompt(folder.path()).contains("The project's CLAUDE.md:\n\nUse tabs."));
    }

    // Windows has no such file owners.
    #[cfg(unix)]
    #[test]
    fn what_another_user_owns_does_not_steer() {
        use std::os::unix::fs::chown;
        let outer = tempfile::tempdir().unwrap();
        std::fs::create_dir(outer.path().join(".git")).unwrap();
        write(outer.path().join("AGENTS.md"), "above");
        write(outer.path().join("proj/AGENTS.md"), "here");
        let work = outer.path().join("proj");
        assert_eq!(told(&work), pairs([("AGENTS.md", "above"), ("proj/AGENTS.md", "here")]));
        // Only root can change the owner of a file.
        if chown(outer.path().join("AGENTS.md"), Some(65534), None).is_err() {
            return;
        }
        assert_eq!(told(&work), pairs([("proj/AGENTS.md", "here")]));
        chown(outer.path().join(".git"), Some(65534), None).unwrap();
        assert_eq!(told(&work), pairs([("AGENTS.md", "here")]));
    }

    // Only rustix for Linux can create pipes.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_does_not_hang_the_start() {
        use rustix::fs::{CWD, FileType, Mode};
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("AGENTS.md");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(!prompt(folder.path()).contains("AGENTS.md"));
    }
}
