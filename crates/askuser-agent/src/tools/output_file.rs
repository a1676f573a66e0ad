//! Stores the full text of a long output in a file beside the session. The file has a maximum size and is as private as
//! the session. Read and Grep may access it, but commands in the sandbox may not.

use crate::regular_file;
use crate::tool::ToolContext;
use crate::transcript::Transcript;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// The maximum size of one stored output, in bytes.
const MAX_BYTES: usize = 20 << 20;

/// Returns the folder of a session's outputs; `None` if the session has no file.
pub(crate) fn folder(transcript: &Transcript) -> Option<PathBuf> {
    Some(transcript.path()?.with_extension("outputs"))
}

#[derive(Default)]
pub(crate) struct OutputFile {
    folder: Option<PathBuf>,
    /// The text that was not written yet.
    text: String,
    /// The maximum number of characters of an output that needs no file.
    short: usize,
    chars: usize,
    bytes: usize,
    file: Option<(PathBuf, File)>,
}

impl OutputFile {
    pub(crate) fn new(context: &ToolContext, short: usize) -> OutputFile {
        OutputFile { folder: folder(&context.shared.transcript), short, ..OutputFile::default() }
    }

    pub(crate) fn push(&mut self, text: &str) {
        if self.folder.is_none() || self.bytes >= MAX_BYTES {
            return;
        }
        self.chars += text.chars().count();
        self.text.push_str(text);
        // If the file cannot be written, the command continues without a file.
        if self.chars > self.short && self.write().is_err() {
            (self.folder, self.file) = (None, None);
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let mut text = std::mem::take(&mut self.text);
        text.truncate(text.floor_char_boundary(MAX_BYTES - self.bytes));
        self.bytes += text.len().max(1);
        if self.file.is_none()
            && let Some(folder) = &self.folder
        {
            regular_file::make_private_folder(folder)?;
            let number = std::fs::read_dir(folder)?.count() + 1;
            let path = folder.join(format!("{number}.txt"));
            let file = regular_file::private().create_new(true).open(&path)?;
            self.file = Some((path, file));
        }
        self.file.as_mut().map_or(Ok(()), |(_, file)| file.write_all(text.as_bytes()))
    }

    /// Returns the path of the file; `None` if the output is too short to have one.
    pub(crate) fn finish(self) -> Option<PathBuf> {
        self.file.map(|(path, _)| path)
    }
}
