//! Reports to a store what happens at the prompt of a stored question: the stopped clock and unsent text.
//!
//! A change is saved within a second, so a killed process loses at most that second. A prompt that closes without an
//! answer saves at once. Without changes there is no work and no wake-up.

use crate::patience::within;
use askuser::prompt::Rival;
use askuser::store::{Call, Draft, DraftSave, DraftVersion, Handle, SavedDraft, StoreError};
use askuser::{Outcome, Prompt, Request, RequestKey, Status, sanitize};
use std::error::Error;
use std::fmt;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The maximum time until a change is saved.
const SOON: Duration = Duration::from_secs(1);
/// The interval at which a pending save is checked.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A store of the unsent text of one person. It is a question store as this person uses it, or a store for drafts
/// alone.
pub trait DraftStore: Send + Sync + fmt::Debug {
    /// Returns the person's unsent text, newest first. Fails with [`StoreError::NotFound`] if the question is not
    /// stored.
    fn drafts(&self, key: &RequestKey) -> Call<Vec<SavedDraft>>;

    /// Saves the person's text. An empty draft means that the text was sent or deleted. Returns the drafts that the
    /// save did not replace.
    fn save_draft(&self, key: &RequestKey, save: &DraftSave) -> Call<Vec<SavedDraft>>;

    /// Records that the person stopped the clock, for a store that also counts the time.
    fn hold(&self, _: &RequestKey) {}
}

impl DraftStore for Handle {
    fn drafts(&self, key: &RequestKey) -> Call<Vec<SavedDraft>> {
        Handle::drafts(self, key)
    }

    fn save_draft(&self, key: &RequestKey, save: &DraftSave) -> Call<Vec<SavedDraft>> {
        Handle::save_draft(self, key, save)
    }

    fn hold(&self, key: &RequestKey) {
        drop(Handle::hold(self, key));
    }
}

/// A question at a prompt, with its store if the question is stored.
pub(crate) struct KeptQuestion<'a> {
    request: &'a Request,
    store: Option<&'a dyn DraftStore>,
    is_held: bool,
    /// The prompt's content when it was opened, and its content now.
    opened: Draft,
    typed: Draft,
    is_saved: bool,
    /// The version of the last save here, and the versions of the drafts from elsewhere that this prompt replaces.
    version: DraftVersion,
    replaces: Vec<DraftVersion>,
    /// The drafts from elsewhere that this prompt does not replace, and the version of the one that the prompt offers.
    others: Vec<SavedDraft>,
    offered: Option<DraftVersion>,
    due: Option<Instant>,
    saving: Option<Call<Vec<SavedDraft>>>,
    /// The draft that could not be saved when the person last wanted to leave; `None` without such an attempt.
    refused: Option<Draft>,
}

impl<'a> KeptQuestion<'a> {
    /// Opens a question and fills in the person's earlier text. Returns the question with its prompt. A question that
    /// the store does not know is not saved.
    pub(crate) fn open(
        request: &'a Request,
        store: Option<&'a dyn DraftStore>,
        prompt: Prompt,
    ) -> (KeptQuestion<'a>, Prompt) {
        let read = store.map(|store| within(store.drafts(request.key())));
        let (store, drafts, unread) = match read {
            Some(Ok(drafts)) => (store, drafts, None),
            None | Some(Err(StoreError::NotFound(_) | StoreError::Forbidden(_))) => (None, Vec::new(), None),
            // A save replaces no draft that was not read.
            Some(Err(error)) => (store, Vec::new(), Some(not_saved(&error))),
        };
        let mut others = drafts.into_iter();
        let newest = others.next();
        let mut prompt = match &newest {
            Some(saved) => prompt.resuming(&saved.draft),
            None => prompt,
        };
        if let Some(why) = unread {
            prompt.warn(why);
        }
        let typed = prompt.unsent();
        let mut kept = KeptQuestion {
            request,
            store,
            is_held: false,
            opened: typed.clone(),
            typed,
            is_saved: true,
            version: DraftVersion::of_new_writer(),
            replaces: newest.into_iter().map(|saved| saved.version).collect(),
            others: others.collect(),
            offered: None,
            due: None,
            saving: None,
            refused: None,
        };
        kept.offer(&mut prompt);
        (kept, prompt)
    }

    /// Records the changes at the prompt, and saves them when that is due. Returns the reason if a save has failed.
    pub(crate) fn look(&mut self, prompt: &mut Prompt, now: Instant) -> Option<String> {
        let store = self.store?;
        if prompt.is_held() && !std::mem::replace(&mut self.is_held, true) && self.request.deadline().is_some() {
            store.hold(self.request.key());
        }
        if self.note(prompt) {
            self.due.get_or_insert(now + SOON);
        }
        self.offer(prompt);
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.saving = Some(self.save(store));
        }
        let Poll::Ready(saved) = self.saving.as_mut()?.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            return None;
        };
        self.saving = None;
        self.is_saved = saved.is_ok() && self.due.is_none();
        match saved {
            Ok(others) => {
                self.others = others;
                self.offer(prompt);
                None
            }
            Err(error) => Some(not_saved(&error)),
        }
    }

    /// Offers the newest draft from elsewhere that this prompt does not replace.
    fn offer(&mut self, prompt: &mut Prompt) {
        let next = self.others.iter().find(|saved| !self.replaces.contains(&saved.version));
        if next.map(|saved| &saved.version) != self.offered.as_ref() {
            self.offered = next.map(|saved| saved.version.clone());
            prompt.offer(next.map(rival));
        }
    }

    /// Returns the time of the next check without an event; `None` if no check is due.
    pub(crate) fn next_look(&self, now: Instant) -> Option<Instant> {
        self.due.into_iter().chain(self.saving.as_ref().map(|_| now + LOOK_AGAIN)).min()
    }

    /// Saves the changes, and waits until they are saved.
    ///
    /// # Errors
    /// Returns the reason why the changes could not be saved.
    pub(crate) fn save_now(&mut self, prompt: &Prompt) -> Result<(), String> {
        self.note(prompt);
        let Some(store) = self.store.filter(|_| !self.is_saved) else { return Ok(()) };
        (self.due, self.saving) = (None, None);
        let saved = within(self.save(store)).map_err(|error| not_saved(&error));
        self.is_saved = saved.is_ok();
        self.others = saved?;
        Ok(())
    }

    /// Saves the text of a person who wants to leave. If saving fails the person stays, unless they have just tried to
    /// leave with the same text.
    ///
    /// # Errors
    /// Returns the message to show to the person.
    pub(crate) fn leave(&mut self, prompt: &Prompt) -> Result<(), String> {
        match self.save_now(prompt) {
            Err(why)
                if !self.typed.is_empty() && self.refused.replace(self.typed.clone()).as_ref() != Some(&self.typed) =>
            {
                Err(format!("{why}; leave again to give it up"))
            }
            _ => Ok(()),
        }
    }

    /// Saves the text typed here after the question has ended in another way. Returns the typed text, to be copied;
    /// `None` if the person has typed no text here.
    pub(crate) fn end(&mut self, prompt: &Prompt) -> Option<&Draft> {
        self.note(prompt);
        let is_typed_here = self.typed != self.opened && !self.typed.is_empty();
        // The prompt that answered the question may have removed the draft meanwhile.
        self.is_saved &= !is_typed_here;
        let _ = self.save_now(prompt);
        is_typed_here.then_some(&self.typed)
    }

    /// Removes the stored draft after its text was sent. After a timeout the draft stays.
    pub(crate) fn sent(&mut self, outcome: &Outcome) {
        let is_over = *outcome.status() != Status::TimedOut;
        let is_in_store = self.version.edit > 0 || !self.replaces.is_empty();
        if let Some(store) = self.store.filter(|_| is_in_store && is_over) {
            self.typed = Draft::default();
            let _ = within(self.save(store));
        }
    }

    /// Records the prompt's text, and the person's choice between two drafts. Returns whether either has changed.
    fn note(&mut self, prompt: &Prompt) -> bool {
        let typed = prompt.unsent();
        let chosen = self.offered.take_if(|_| prompt.rival().is_none());
        let is_changed = typed != self.typed || chosen.is_some();
        self.replaces.extend(chosen);
        self.typed = typed;
        self.is_saved &= !is_changed;
        is_changed
    }

    fn save(&mut self, store: &dyn DraftStore) -> Call<Vec<SavedDraft>> {
        self.version.edit += 1;
        let save =
            DraftSave { draft: self.typed.clone(), version: self.version.clone(), replaces: self.replaces.clone() };
        store.save_draft(self.request.key(), &save)
    }
}

/// Describes a draft from elsewhere as the prompt shows it: `Typed on phone 4 min ago: Database: SQLite`.
fn rival(saved: &SavedDraft) -> Rival {
    const SHOWN: usize = 200;
    let saved_at = UNIX_EPOCH + Duration::from_millis(saved.saved_ms);
    let minutes = SystemTime::now().duration_since(saved_at).unwrap_or_default().as_secs() / 60;
    let ago = match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1440 => format!("{} h ago", minutes / 60),
        _ => format!("{} d ago", minutes / 1440),
    };
    let words = saved.draft.words().join(", ").replace('\n', " ");
    let cut = if words.chars().nth(SHOWN).is_some() { "…" } else { "" };
    let words: String = words.chars().take(SHOWN).collect();
    let place = if saved.place.is_empty() { "another surface".into() } else { sanitize::line(&saved.place) };
    Rival { draft: saved.draft.clone(), summary: format!("Typed on {place} {ago}: {words}{cut}") }
}

/// Formats a failed save. A prompt has little room, so the message gives only the cause.
fn not_saved(error: &StoreError) -> String {
    format!("What you typed is not saved: {}", error.source().map_or_else(|| error.to_string(), ToString::to_string))
}

#[cfg(test)]
#[path = "kept_question_tests.rs"]
mod tests;
