//! A store bound to a principal.

use super::{
    Attempt, Call, Change, Claim, Draft, DraftSave, End, Ending, Events, Filter, NotifierFailure, Page, Principal,
    Purged, Put, QuestionId, QuestionRef, SavedDraft, Series, Store, StoreError, StoredQuestion, Watch, Watched,
};
use crate::outcome::Outcome;
use crate::request::Request;
use std::fmt;
use std::sync::Arc;

/// A store as one principal uses it. [`Store`] describes each call.
#[derive(Clone)]
pub struct Handle {
    store: Arc<dyn Store>,
    principal: Principal,
}

macro_rules! forward {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) -> $output:ty;)*) => {$(
        #[doc = concat!("[`Store::", stringify!($name), "`]")]
        pub fn $name(&self, $($argument: $kind),*) -> Call<$output> {
            self.store.$name(&self.principal, $($argument),*)
        }
    )*};
}

/// Forwards calls about one question, which is named by its id or its key.
macro_rules! forward_to_one {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $output:ty;)*) => {$(
        #[doc = concat!("[`Store::", stringify!($name), "`]")]
        pub fn $name(&self, which: impl Into<QuestionRef>, $($argument: $kind),*) -> Call<$output> {
            self.store.$name(&self.principal, &which.into(), $($argument),*)
        }
    )*};
}

impl Handle {
    /// Creates a handle of this store for this principal.
    pub fn new(store: Arc<dyn Store>, principal: Principal) -> Handle {
        Handle { store, principal }
    }

    /// Returns a handle of the same store for another principal.
    pub fn by(&self, principal: Principal) -> Handle {
        Handle { store: self.store.clone(), principal }
    }

    /// The principal for which the store is used.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    forward! {
        put(request: &Request, series: Option<&Series>) -> Put;
        resolve(abbreviation: &str) -> Vec<QuestionId>;
        claim(id: &QuestionId, attempt: &Attempt) -> Claim;
        attach(id: &QuestionId) -> Attachment;
        sent(id: &QuestionId) -> Option<u64>;
        delivered(id: &QuestionId) -> ();
        list(filter: &Filter) -> Page;
        count(filter: &Filter) -> u64;
        events(after: u64, limit: u32) -> Events;
        watch(what: &Watched) -> Watch;
        show_list() -> Attachment;
        is_list_shown() -> bool;
        note_failure(failure: Option<&NotifierFailure>) -> ();
        last_failure() -> Option<NotifierFailure>;
        purge(before_ms: u64) -> Purged;
    }

    forward_to_one! {
        get() -> StoredQuestion;
        end(end: &End, attempt: &Attempt) -> Ending;
        hold() -> ();
        save_draft(save: &DraftSave) -> Vec<SavedDraft>;
        drafts() -> Vec<SavedDraft>;
    }

    /// Returns this person's newest unsent text, or an empty draft if there is none.
    pub fn draft(&self, which: impl Into<QuestionRef>) -> Call<Draft> {
        let drafts = self.drafts(which);
        Box::pin(async move { Ok(drafts.await?.into_iter().next().map(|saved| saved.draft).unwrap_or_default()) })
    }

    /// Ends a question with an outcome of this principal.
    pub fn answer(&self, which: impl Into<QuestionRef>, outcome: Outcome, attempt: &Attempt) -> Call<Ending> {
        self.end(which, &outcome.into(), attempt)
    }

    /// Withdraws a question.
    pub fn withdraw(&self, which: impl Into<QuestionRef>, attempt: &Attempt) -> Call<Ending> {
        self.end(which, &End::Withdraw, attempt)
    }

    /// Completes when the question has ended. Dropping the future only stops the waiting.
    ///
    /// # Errors
    /// If the store is closed, or the question does not exist. A store that is temporarily unavailable causes no error.
    pub async fn wait(&self, id: &QuestionId) -> Result<Ending, StoreError> {
        let mut watch = self.watch(&Watched::Question(id.clone())).await?;
        loop {
            match self.get(id).await {
                Ok(StoredQuestion { ending: Some(ending), .. }) => return Ok(ending),
                // The watch reports a lag once the store can be read again.
                Ok(_) | Err(StoreError::Unavailable { .. }) => {}
                Err(error) => return Err(error),
            }
            if let Change::Disconnected(why) = watch.next().await {
                return Err(why);
            }
        }
    }

    /// Completes when every earlier call is done, including the calls of other handles.
    pub fn flush(&self) -> Call<()> {
        self.store.flush()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("principal", &self.principal).finish_non_exhaustive()
    }
}

/// The presence of a process that waits for an answer or shows a list. Dropping the attachment reports that the process
/// has left.
#[must_use = "dropping it says that the process has left"]
pub struct Attachment(Option<Box<dyn FnOnce(Departure) -> Call<()> + Send + Sync>>);

/// The reason why a process is no longer present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The process reported that it left.
    Left,
    /// The process stopped responding.
    Died,
}

impl Attachment {
    /// Creates an attachment that makes this call when it ends.
    pub fn new(end: impl FnOnce(Departure) -> Call<()> + Send + Sync + 'static) -> Attachment {
        Attachment(Some(Box::new(end)))
    }

    /// Ends the attachment. Completes when the store has recorded the departure.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn detach(self) -> Result<(), StoreError> {
        self.end(Departure::Left).await
    }

    /// Ends the attachment for this reason.
    pub fn end(mut self, how: Departure) -> Call<()> {
        match self.0.take() {
            Some(end) => end(how),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            drop(end(Departure::Left));
        }
    }
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attachment")
    }
}
