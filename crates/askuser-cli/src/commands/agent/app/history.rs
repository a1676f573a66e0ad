//! The input history file. It holds one JSON string per line, and only its owner can read it.
//!
//! Sessions only append, so several sessions can share the file. A session that finds the file too long rewrites it.
//! Lines that cannot be parsed are skipped. The app works without the file.

use askuser_agent::atomic_file::{self, FilePermissions};
use askuser_agent::regular_file::{self, Links};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const KEPT: usize = 1_000;
const KEPT_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct HistoryFile {
    path: PathBuf,
    /// The last entry of this process, which is not added twice in a row. `None` before the first entry.
    last: Option<String>,
}

impl HistoryFile {
    /// Opens the history file in a state folder. Returns the file with its entries, oldest first.
    pub(crate) fn open(folder: &Path) -> (HistoryFile, Vec<String>) {
        let history_file = HistoryFile { path: folder.join("history.jsonl"), last: None };
        let bytes = regular_file::read(&history_file.path, Links::Follow, u64::MAX).unwrap_or_default();
        let read = |line: &[u8]| serde_json::from_slice::<String>(line).ok();
        let mut texts: Vec<String> = bytes.split(|byte| *byte == b'\n').filter_map(read).collect();
        texts.dedup();
        let mut room = KEPT_BYTES;
        let fits = |text: &&String| {
            let fits = text.len() <= room;
            room = room.saturating_sub(text.len() + 3);
            fits
        };
        let kept = texts.iter().rev().take(KEPT).take_while(fits).count();
        let texts = texts.split_off(texts.len() - kept);
        // The file is rewritten only at twice the limit. A rewrite may lose an entry that another session appends at
        // the same time.
        if bytes.len() > 2 * KEPT_BYTES || bytes.iter().filter(|byte| **byte == b'\n').count() > 2 * KEPT {
            let _ = history_file.rewrite(&texts);
        }
        (history_file, texts)
    }

    pub(crate) fn append(&mut self, text: &str) -> io::Result<()> {
        if self.last.replace(text.to_owned()).as_deref() == Some(text) {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = regular_file::private();
        options.append(true).create(true);
        regular_file::open_with(&mut options, &self.path, Links::Follow)?.write_all(&line(text)?)
    }

    fn rewrite(&self, texts: &[String]) -> io::Result<()> {
        let lines = texts.iter().map(|text| line(text)).collect::<io::Result<Vec<_>>>()?;
        atomic_file::replace(&self.path, &lines.concat(), FilePermissions::OwnerOnly)
    }
}

fn line(text: &str) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(text)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_as_they_were_in_a_file_nobody_else_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let (mut history_file, texts) = HistoryFile::open(folder.path());
        assert_eq!(texts, [""; 0]);
        history_file.append("one\n\"two\"").unwrap();
        history_file.append("drei é").unwrap();
        assert_eq!(HistoryFile::open(folder.path()).1, ["one\n\"two\"", "drei é"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&history_file.path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("history.jsonl"), "\"a\"\nhalf a li\n\"b\"\n").unwrap();
        assert_eq!(HistoryFile::open(folder.path()).1, ["a", "b"]);
    }

    #[test]
    fn only_the_last_are_kept_and_the_file_is_shortened() {
        let folder = tempfile::tempdir().unwrap();
        let many: String = (0..3 * KEPT).map(|i| format!("\"{i}\"\n")).collect();
        fs::write(folder.path().join("history.jsonl"), many).unwrap();
        let (history_file, texts) = HistoryFile::open(folder.path());
        assert_eq!((texts.len(), texts[0].as_str()), (KEPT, "2000"));
        assert_eq!(fs::read_to_string(&history_file.path).unwrap().lines().count(), KEPT);
    }
}
