//! Stores of questions: one interface to a file, a server or a database.
//!
//! A question is stored before a person sees it, and ends once. A later attempt gets that ending with its author,
//! surface and time. A caller cannot set these. A store is used through a [`Handle`] bound to a [`Principal`], and the
//! store records them.
//!
//! **A call is under way when the method returns.** Its future only awaits the reply, and dropping it cancels no call.
//! So `drop` and callbacks may make calls. No call blocks. One process's calls about one question take effect in order;
//! those of several processes in any order.

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

/// A call under way.
pub type Call<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// The maximum size of a draft, in bytes of JSON: every field of four questions may be full.
pub const MAX_DRAFT: usize = 3 * 1024 * 1024;

/// Stores questions until they are answered. `askuser-conformance` tests the contract.
///
/// Every method but [`Store::flush`] fails with the store's own errors, and with:
/// - [`StoreError::Forbidden`] if the principal has no right to the call
/// - [`StoreError::Unauthorized`] if its credential was revoked
/// - [`StoreError::NotFound`] if the question does not exist
pub trait Store: Send + Sync {
    /// Stores a request, unless its key exists or its series has a question to attach to. Returns the stored question.
    /// It is on disk when this completes, and the caller is attached to it.
    ///
    /// [`StoreError::OtherQuestion`] if the key belongs to a different question.
    fn put(&self, by: &Principal, request: &Request, series: Option<&Series>) -> Call<Put>;

    /// A question.
    fn get(&self, by: &Principal, which: &QuestionRef) -> Call<StoredQuestion>;

    /// Some of the ids with this prefix; all of them if there are only a few. For abbreviations.
    fn resolve(&self, by: &Principal, abbreviation: &str) -> Call<Vec<QuestionId>>;

    /// Ends a pending question, synced. One attempt wins; the same attempt repeated gets the same ending.
    ///
    /// [`StoreError::Ended`] if another attempt was first; [`StoreError::Misfit`] if the outcome does not fit the
    /// question.
    fn end(&self, by: &Principal, which: &QuestionRef, end: &End, attempt: &Attempt) -> Call<Ending>;

    /// Claims a given permission, synced, and counts it as delivered. One attempt wins, within [`PERMISSION_LASTS`]. A
    /// claim that cannot be written does not count.
    fn claim(&self, by: &Principal, id: &QuestionId, attempt: &Attempt) -> Call<Claim>;

    /// Waits for the answer until the attachment is dropped. Each store detects dead waiters in its own way.
    fn attach(&self, by: &Principal, id: &QuestionId) -> Call<Attachment>;

    /// Notes that the asker is being told of the answer, if there is one. Returns when that was done before, or when the answer was
    /// delivered.
    fn sent(&self, by: &Principal, id: &QuestionId) -> Call<Option<u64>>;

    /// The asker has the answer, and has stored it.
    fn delivered(&self, by: &Principal, id: &QuestionId) -> Call<()>;

    /// Removes the deadline, because a person has stopped the clock.
    fn hold(&self, by: &Principal, which: &QuestionRef) -> Call<()>;

    /// Saves unsent text of this person. Returns the drafts that the save did not replace, because its writer has not
    /// seen them. A draft outlives its question. [`MAX_DRAFT`] bounds it.
    fn save_draft(&self, by: &Principal, which: &QuestionRef, save: &DraftSave) -> Call<Vec<SavedDraft>>;

    /// Returns this person's unsent text from every surface, newest first.
    fn drafts(&self, by: &Principal, which: &QuestionRef) -> Call<Vec<SavedDraft>>;

    /// The questions that the principal may see.
    fn list(&self, by: &Principal, filter: &Filter) -> Call<Page>;

    /// The number of questions in a list from its cursor on, ignoring its limit.
    fn count(&self, by: &Principal, filter: &Filter) -> Call<u64>;

    /// At most `limit` events after this number, earliest first.
    fn events(&self, by: &Principal, after: u64, limit: u32) -> Call<Events>;

    /// Watches later events of every process, including expiries.
    fn watch(&self, by: &Principal, what: &Watched) -> Call<Watch>;

    /// Reports a visible list of questions until the attachment is dropped.
    fn show_list(&self, by: &Principal) -> Call<Attachment>;

    /// Returns whether a list of questions is visible.
    fn is_list_shown(&self, by: &Principal) -> Call<bool>;

    /// Stores the error of a notification to a person; `None` clears it.
    fn note_failure(&self, by: &Principal, failure: Option<&NotifierFailure>) -> Call<()>;

    /// The error of the last notification to a person.
    fn last_failure(&self, by: &Principal) -> Call<Option<NotifierFailure>>;

    /// Removes the questions of all people that ended before this time, with their drafts and events, and syncs the
    /// store. Their numbers and cursors are not reused. See [`Events::gap`].
    fn purge(&self, by: &Principal, before_ms: u64) -> Call<Purged>;

    /// Completes when every earlier call is done.
    fn flush(&self) -> Call<()>;
}

/// The result of putting a request.
#[derive(Debug)]
pub struct Put {
    /// Whether the question is new.
    pub is_new: bool,
    /// The stored question: pending, or ended. In a series it may be another request with the same questions.
    pub question: StoredQuestion,
    /// The presence of the waiting caller.
    pub attachment: Attachment,
}

/// The result of a purge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Purged {
    /// The number of questions that were removed.
    #[serde(rename = "purged")]
    pub count: u64,
    /// The reason why text of removed questions may remain in the store's files.
    pub remains: Option<String>,
}

/// A failed notification of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotifierFailure {
    /// The store's time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The failed operation.
    pub what: String,
    /// The error.
    pub why: String,
}
