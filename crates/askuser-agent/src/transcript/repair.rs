//! Makes a transcript with a bad line in its middle usable again: everything from that line on is cut off, and a copy of the
//! whole is kept. Only on request: what is cut off may be an answer or something that was done.

use super::{Transcript, TranscriptError, entry, read_file};
use crate::regular_file;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

impl Transcript {
    /// Cuts a session's record off before its first damaged line, and returns where a copy of the whole is; nothing is done
    /// to one that is not damaged.
    ///
    /// # Errors
    /// Where the session does not exist, is open elsewhere, is damaged in its very first line, or cannot be copied or cut.
    pub fn repair(folder: &Path, id: &str) -> Result<Option<PathBuf>, TranscriptError> {
        let (path, mut file, bytes) = read_file(folder, id)?;
        let failed = |source| TranscriptError::File { path: path.clone(), source };
        let whole = entry::end_of_lines(&bytes);
        let bad = match entry::read(&bytes[..whole]) {
            Ok(_) => return Ok(None),
            Err(bad) if bad.start == 0 => {
                return Err(TranscriptError::Damaged { path, line: bad.line, fact: bad.fact });
            }
            Err(bad) => bad,
        };
        let copy = keep_copy(folder, id, &bytes)?;
        file.set_len(bad.start as u64)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .and_then(|_| file.sync_all())
            .map_err(failed)?;
        Ok(Some(copy))
    }
}

/// Writes a copy beside the file, and over no other.
fn keep_copy(folder: &Path, id: &str, bytes: &[u8]) -> Result<PathBuf, TranscriptError> {
    let mut number = 1;
    loop {
        let path = folder.join(format!("{id}.damaged-{number}"));
        let written = regular_file::private().create_new(true).open(&path).and_then(|mut copy| {
            copy.write_all(bytes)?;
            copy.sync_all()
        });
        match written {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(source) => return Err(TranscriptError::File { path, source }),
        }
    }
}
