//! What the model is told before anything else: its task, where it is, and what the project says about itself.
//!
//! A project is not trusted: what it says of itself is a bounded, regular file in its own folder. Links are not followed,
//! since they would send any file of the user's to the provider, and nothing is opened that could block.

use askuser_cli::failure;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

const SYSTEM: &str = include_str!("../../../prompts/agent/system.txt");

/// Files in which projects tell agents about themselves; the first one found counts.
const NOTES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// More than this is not read: every request pays for it.
const MOST_BYTES: u64 = 20_000;

/// What a project says of itself.
enum Notes {
    /// Nothing.
    None,
    Text(String),
    /// It is not a regular file.
    NotAFile,
}

pub(crate) fn prompt(cwd: &Path) -> String {
    let mut prompt = SYSTEM.trim_ascii_end().to_owned();
    prompt.push_str(&format!("\n\nFolder: {}\nSystem: {}\n", cwd.display(), std::env::consts::OS));
    for name in NOTES {
        match notes(&cwd.join(name)) {
            Notes::Text(notes) => {
                prompt.push_str(&format!("\nThe project's {name}:\n\n{notes}\n"));
                break;
            }
            Notes::NotAFile => {
                let words = format!("{name} is a link, a pipe or a device, must be a regular file: it is not read");
                failure::notice("askuser", &words);
            }
            Notes::None => {}
        }
    }
    prompt
}

fn notes(path: &Path) -> Notes {
    match path.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => return Notes::NotAFile,
        Ok(_) => {}
        Err(_) => return Notes::None,
    }
    let Ok(file) = open(path) else { return Notes::None };
    // It may have been replaced since.
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Notes::NotAFile;
    }
    let mut bytes = Vec::new();
    if file.take(MOST_BYTES).read_to_end(&mut bytes).is_err() {
        return Notes::None;
    }
    match String::from_utf8_lossy(&bytes).trim() {
        "" => Notes::None,
        text => Notes::Text(text.to_owned()),
    }
}

/// Opens a file without following a link, and without waiting for a pipe.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    }
    options.open(path)
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

    #[cfg(unix)]
    #[test]
    fn a_link_does_not_send_a_file_from_elsewhere_to_the_provider() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(elsewhere.path().join("id_rsa"), "the secret").unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("id_rsa"), folder.path().join("AGENTS.md")).unwrap();
        assert!(!prompt(folder.path()).contains("the secret"));
        assert!(
            open(&folder.path().join("AGENTS.md")).is_err(),
            "a link that is swapped in late is not followed either"
        );
        std::fs::write(folder.path().join("CLAUDE.md"), "Use tabs.").unwrap();
        assert!(prompt(folder.path()).contains("The project's CLAUDE.md:\n\nUse tabs."));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_does_not_hang_the_start() {
        use rustix::fs::{CWD, FileType, Mode};
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("AGENTS.md");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(!prompt(folder.path()).contains("AGENTS.md"));
        assert!(open(&pipe).is_ok(), "a pipe that is swapped in late does not hang either");
    }
}
