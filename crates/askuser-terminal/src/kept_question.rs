//! What a store is told while a prompt shows one of its questions: that the clock was stopped, and what is typed.
//!
//! A change is saved within a second, so a process that is killed loses no more than that, and at once where the prompt closes
//! without an answer. While nothing changes there is nothing to do, and no reason to wake up.

use crate::patience::within;
use askuser::store::{Call, Draft, Handle, StoreError};
use askuser::{Outcome, Prompt, Request, RequestKey, Status};
use std::error::Error;
use std::fmt;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// How long a change may wait to be saved.
const SOON: Duration = Duration::from_secs(1);
/// How long after a look at a draft that is being saved the next one is due.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Keeps what a person does at a prompt: a store as this person uses it, or a place for what is typed alone.
pub trait KeepsDrafts: Send + Sync + fmt::Debug {
    /// What they had typed and not sent. [`StoreError::NotFound`] where nothing of this question is kept.
    fn draft(&self, key: &RequestKey) -> Call<Draft>;

    /// They have typed this; an empty one was sent or deleted.
    fn save_draft(&self, key: &RequestKey, draft: &Draft) -> Call<()>;

    /// They stopped the clock, which a store counts too.
    fn hold(&self, _: &RequestKey) {}
}

impl KeepsDrafts for Handle {
    fn draft(&self, key: &RequestKey) -> Call<Draft> {
        Handle::draft(self, key)
    }

    fn save_draft(&self, key: &RequestKey, draft: &Draft) -> Call<()> {
        Handle::save_draft(self, key, draft)
    }

    fn hold(&self, key: &RequestKey) {
        drop(Handle::hold(self, key));
    }
}

/// A question at a prompt, and the store that keeps it, if one does.
pub(crate) struct KeptQuestion<'a> {
    request: &'a Request,
    store: Option<&'a dyn KeepsDrafts>,
    is_held: bool,
    /// What the prompt held when it was opened, and what it holds now.
    opened: Draft,
    typed: Draft,
    is_saved: bool,
    /// Whether the store has a draft that this prompt has shown or saved.
    is_in_store: bool,
    due: Option<Instant>,
    saving: Option<Call<()>>,
    /// What could not be saved when the person wanted to leave.
    refused: Option<Draft>,
}

impl<'a> KeptQuestion<'a> {
    /// Fills in what the person had typed before. Questions of which the store knows nothing are not kept.
    pub(crate) fn open(
        request: &'a Request,
        store: Option<&'a dyn KeepsDrafts>,
        prompt: Prompt,
    ) -> (KeptQuestion<'a>, Prompt) {
        let read = store.map(|store| within(store.draft(request.key())));
        let (store, draft, unread) = match read {
            Some(Ok(draft)) => (store, draft, None),
            None | Some(Err(StoreError::NotFound(_) | StoreError::Forbidden(_))) => (None, Draft::default(), None),
            // To save what is typed now would lose what cannot be read.
            Some(Err(error)) => (None, Draft::default(), Some(not_saved(&error))),
        };
        let mut prompt = prompt.resuming(&draft);
        if let Some(why) = unread {
            prompt.warn(why);
        }
        let (typed, is_in_store) = (prompt.unsent(), !draft.is_empty());
        let kept = KeptQuestion {
            request,
            store,
            is_held: false,
            opened: typed.clone(),
            typed,
            is_saved: true,
            is_in_store,
            due: None,
            saving: None,
            refused: None,
        };
        (kept, prompt)
    }

    /// Notes what has changed at the prompt, and saves it when that is due. Says why it could not be saved.
    pub(crate) fn look(&mut self, prompt: &Prompt, now: Instant) -> Option<String> {
        let store = self.store?;
        if prompt.is_held() && !std::mem::replace(&mut self.is_held, true) && self.request.deadline().is_some() {
            store.hold(self.request.key());
        }
        if self.note(prompt) {
            self.due.get_or_insert(now + SOON);
        }
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.saving = Some(self.save(store));
        }
        let Poll::Ready(saved) = self.saving.as_mut()?.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            return None;
        };
        self.saving = None;
        self.is_saved = saved.is_ok() && self.due.is_none();
        saved.err().map(|error| not_saved(&error))
    }

    /// When to look again though nothing happens at the prompt.
    pub(crate) fn next_look(&self, now: Instant) -> Option<Instant> {
        self.due.into_iter().chain(self.saving.as_ref().map(|_| now + LOOK_AGAIN)).min()
    }

    /// Saves what has changed, and waits until that is done.
    ///
    /// # Errors
    /// Why it could not be saved.
    pub(crate) fn save_now(&mut self, prompt: &Prompt) -> Result<(), String> {
        self.note(prompt);
        let Some(store) = self.store.filter(|_| !self.is_saved) else { return Ok(()) };
        (self.due, self.saving) = (None, None);
        let saved = within(self.save(store)).map_err(|error| not_saved(&error));
        self.is_saved = saved.is_ok();
        saved
    }

    /// The person wants to leave. Where what they typed cannot be saved they stay; only if they want to once more they leave.
    ///
    /// # Errors
    /// What to tell them.
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

    /// The question has ended otherwise than by what was typed here, which is kept all the same: what there is to copy.
    pub(crate) fn end(&mut self, prompt: &Prompt) -> Option<&Draft> {
        self.note(prompt);
        let is_typed_here = self.typed != self.opened && !self.typed.is_empty();
        // The prompt that has answered it may have forgotten it meanwhile.
        self.is_saved &= !is_typed_here;
        let _ = self.save_now(prompt);
        is_typed_here.then_some(&self.typed)
    }

    /// The text was sent and is no draft any more. If the time is up, nothing is.
    pub(crate) fn sent(&mut self, outcome: &Outcome) {
        let is_over = *outcome.status() != Status::TimedOut;
        if let Some(store) = self.store.filter(|_| self.is_in_store && is_over) {
            let _ = within(store.save_draft(self.request.key(), &Draft::default()));
        }
    }

    /// Takes over what the prompt holds; whether it has changed.
    fn note(&mut self, prompt: &Prompt) -> bool {
        let typed = prompt.unsent();
        let is_changed = typed != self.typed;
        self.typed = typed;
        self.is_saved &= !is_changed;
        is_changed
    }

    fn save(&mut self, store: &dyn KeepsDrafts) -> Call<()> {
        self.is_in_store = true;
        store.save_draft(self.request.key(), &self.typed)
    }
}

/// In a prompt there is little room: only what went wrong.
fn not_saved(error: &StoreError) -> String {
    format!("What you typed is not saved: {}", error.source().map_or_else(|| error.to_string(), ToString::to_string))
}

#[cfg(test)]
#[path = "kept_question_tests.rs"]
mod tests;
