//! Where questions wait for their person: the one interface to a file, a server or a database that keeps them.
//!
//! A question is put before a person sees it, and ends once. A final state absorbs: a later attempt is told how it ended, by
//! whom, through what and when. A caller cannot set any of that: a store is used through a [`Handle`] that is
//! bound to a [`Principal`], and the store stamps who, through what and when.
//!
//! **A call is on its way when the method returns**; its future only waits for the reply. Dropping the future takes nothing
//! back. So a call may be made where nothing can be waited for: in `drop`, in a callback. No call blocks. Calls that one
//! process makes about one question take effect in the order in which it made them; those of several processes in any.

mod command;
mod credential;
mod ending;
mod error;
mod handle;
mod list;
mod principal;
mod question;
mod question_json;
mod register;
mod saved_draft;
mod series;
mod step;
mod watch;

pub use crate::draft::{Draft, Unsent};
#[doc(hidden)]
pub use command::replied;
pub use command::{Command, NewEvent, Reply, Step, Waiters, Write};
pub use credential::{
    Credential, CredentialScope, Credentials, Digest, FailedCredentials, NewCredential, Pairing, PairingKind, Person,
    Removed,
};
pub use ending::{End, Ending, State};
pub use error::StoreError;
pub use handle::{Attachment, Departure, Handle};
pub use list::{Cursor, Filter, ListSection, Page, words};
pub use principal::{Operation, Principal, Scope};
pub use question::{AskerPresence, Attempt, Claim, QuestionId, QuestionRef, Requests, StoredQuestion};
pub use question_json::{AskerJson, QuestionJson, SettledJson};
pub use register::{Entry, Register, RegisterCommand, RegisterReply, RegisterWrite, admit};
pub use saved_draft::{DraftSave, DraftStep, DraftVersion, MAX_DRAFTS, MAX_UNSENT_CHARS, SavedDraft, UnsentWords};
pub use series::{PERMISSION_LASTS, Series};
pub use step::{Candidate, Found, Record, step};
pub use watch::{Change, Events, Feed, StoreEvent, Watch, WatchSender, Watched, Watchers};

use crate::request::Request;
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::Pin;

/// A call that is on its way.
pub type Call<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// The longest draft that is kept, in bytes of JSON: every field of four questions may be full.
pub const MAX_DRAFT: usize = 3 * 1024 * 1024;

/// Keeps questions until they are answered. What every store must do is what `askuser-conformance` tests.
///
/// Every method but [`Store::flush`] fails with [`StoreError::Forbidden`] where the principal may not do it, with
/// [`StoreError::Unauthorized`] if its credential was revoked, with [`StoreError::NotFound`] where there is no such question,
/// and as the store itself does.
pub trait Store: Send + Sync {
    /// Stores a request unless its key is known, or its series has a question that is open to it. Returns what is stored. It is
    /// on the disk when this completes, and this caller is attached to it.
    ///
    /// [`StoreError::OtherQuestion`] where the key names a different question.
    fn put(&self, by: &Principal, request: &Request, series: Option<&Series>) -> Call<Put>;

    /// A question.
    fn get(&self, by: &Principal, which: &QuestionRef) -> Call<StoredQuestion>;

    /// Some of the ids that begin so; all, if there are fewer than a handful. For people who abbreviate.
    fn resolve(&self, by: &Principal, abbreviation: &str) -> Call<Vec<QuestionId>>;

    /// Ends a pending question, synced. Of all attempts one wins; the same attempt repeated gets the same ending.
    ///
    /// [`StoreError::Ended`] where another one was first; [`StoreError::Misfit`] where it is no outcome of the question.
    fn end(&self, by: &Principal, which: &QuestionRef, end: &End, attempt: &Attempt) -> Call<Ending>;

    /// Uses up a permission that was given, synced, and counts it as delivered. Of all attempts one wins, and only until
    /// [`PERMISSION_LASTS`] has passed; a claim that cannot be written is none.
    fn claim(&self, by: &Principal, id: &QuestionId, attempt: &Attempt) -> Call<Claim>;

    /// Waits for the answer, until the attachment is dropped. How a store notices that a waiter has died is its own business.
    fn attach(&self, by: &Principal, id: &QuestionId) -> Call<Attachment>;

    /// Notes that the asker is being told of the answer, if there is one. Returns when that was done before, or when the answer was
    /// delivered.
    fn sent(&self, by: &Principal, id: &QuestionId) -> Call<Option<u64>>;

    /// The asker has the answer, and has stored it.
    fn delivered(&self, by: &Principal, id: &QuestionId) -> Call<()>;

    /// A person holds the clock: the question has no deadline any more.
    fn hold(&self, by: &Principal, which: &QuestionRef) -> Call<()>;

    /// Stores text that this person has typed and not sent. Returns the drafts that the save did not replace, because its writer
    /// has not seen them. A draft outlives its question. It is bounded by [`MAX_DRAFT`].
    fn save_draft(&self, by: &Principal, which: &QuestionRef, save: &DraftSave) -> Call<Vec<SavedDraft>>;

    /// Returns this person's unsent text from every surface, newest first.
    fn drafts(&self, by: &Principal, which: &QuestionRef) -> Call<Vec<SavedDraft>>;

    /// Questions that the principal sees.
    fn list(&self, by: &Principal, filter: &Filter) -> Call<Page>;

    /// How many questions a list has, from its cursor on, whatever its limit.
    fn count(&self, by: &Principal, filter: &Filter) -> Call<u64>;

    /// What happened after this sequence number, the earliest first, at most `limit` of it.
    fn events(&self, by: &Principal, after: u64, limit: u32) -> Call<Events>;

    /// What happens from now on, in this process or in another. A passed deadline is something that happens.
    fn watch(&self, by: &Principal, what: &Watched) -> Call<Watch>;

    /// A list of questions is before a person's eyes, until the attachment is dropped.
    fn show_list(&self, by: &Principal) -> Call<Attachment>;

    /// Whether a list of questions is before a person's eyes.
    fn is_list_shown(&self, by: &Principal) -> Call<bool>;

    /// Remembers that calling a person to a question failed; `None` forgets it.
    fn note_failure(&self, by: &Principal, failure: Option<&NotifierFailure>) -> Call<()>;

    /// How calling a person to a question failed last.
    fn last_failure(&self, by: &Principal) -> Call<Option<NotifierFailure>>;

    /// Removes the questions of all people that ended before this time, with their drafts and events, and syncs the store. Their
    /// numbers and places are not used again. See [`Events::gap`].
    fn purge(&self, by: &Principal, before_ms: u64) -> Call<Purged>;

    /// Completes when every call that was made before is done.
    fn flush(&self) -> Call<()>;
}

/// What is known of a request that was put.
#[derive(Debug)]
pub struct Put {
    /// Whether it was not there before.
    pub is_new: bool,
    /// What is stored: pending, or ended already. Of a series it may be another request with the same questions.
    pub question: StoredQuestion,
    /// Says that the caller waits for it.
    pub attachment: Attachment,
}

/// The result of a purge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Purged {
    /// The number of questions that were removed.
    #[serde(rename = "purged")]
    pub count: u64,
    /// The reason why text of removed questions may still be in the store's files.
    pub remains: Option<String>,
}

/// A person could not be called to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotifierFailure {
    /// When, in milliseconds since 1970; the store says.
    pub at_ms: u64,
    /// What failed.
    pub what: String,
    /// How, in its own words.
    pub why: String,
}
