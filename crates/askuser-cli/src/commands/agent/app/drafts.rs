//! Unsent text at questions of the agent, in a file beside the session. The file survives a crash.

use askuser::RequestKey;
use askuser::store::{Call, Draft, DraftSave, DraftVersion, SavedDraft, StoreError};
use askuser_agent::regular_file::{self, Links};
use askuser_terminal::DraftStore;
use serde::{Deserialize, Serialize};
use std::fs;
use std::future::ready;
use std::io::{self, Write};
use std::path::PathBuf;

/// The drafts in the folder of the sessions. A session asks one question at a time, so it has one draft.
#[derive(Debug)]
pub(crate) struct SessionDrafts {
    pub(crate) folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    key: RequestKey,
    draft: Draft,
}

impl SessionDrafts {
    fn path(&self, key: &RequestKey) -> PathBuf {
        self.folder.join(format!("{}.draft", key.session))
    }

    fn read(&self, key: &RequestKey) -> Option<Draft> {
        let bytes = regular_file::read(&self.path(key), Links::Refuse, u64::MAX).ok()?;
        let kept: Kept = serde_json::from_slice(&bytes).ok()?;
        (kept.key == *key).then_some(kept.draft)
    }

    /// Writes the draft atomically: a killed process leaves the old draft or the new one. The file is not synced,
    /// because a draft need not survive a crash of the machine.
    fn write(&self, key: &RequestKey, draft: &Draft) -> io::Result<()> {
        let path = self.path(key);
        if draft.is_empty() {
            // A file that cannot be removed belongs to a question that is over.
            let _ = fs::remove_file(path);
            return Ok(());
        }
        let new = path.with_extension("draft-new");
        let kept = serde_json::to_vec(&Kept { key: key.clone(), draft: draft.clone() })?;
        let mut options = regular_file::private();
        options.write(true).create(true).truncate(true);
        regular_file::open_with(&mut options, &new, Links::Refuse)?.write_all(&kept)?;
        fs::rename(new, path)
    }
}

impl DraftStore for SessionDrafts {
    /// Returns the draft, if there is one. Only the process that has the session open writes the file.
    fn drafts(&self, key: &RequestKey) -> Call<Vec<SavedDraft>> {
        let saved = |draft| SavedDraft { draft, version: DraftVersion::default(), place: String::new(), saved_ms: 0 };
        Box::pin(ready(Ok(self.read(key).into_iter().map(saved).collect())))
    }

    fn save_draft(&self, key: &RequestKey, save: &DraftSave) -> Call<Vec<SavedDraft>> {
        let written = self.write(key, &save.draft).map(|()| Vec::new());
        Box::pin(ready(written.map_err(|error| StoreError::unavailable("keeping a draft", error))))
    }
}
