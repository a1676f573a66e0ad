//! The interface to a store of questions in a file, on a server or in a database.
//!
//! A question is stored before a person sees it, and ends once. A later attempt to end it gets the first ending with
//! its author, surface and time. A caller cannot set these. A store is used through a [`Handle`] bound to a
//! [`Principal`], and the store records the principal.
//!
//! **A call is under way when the method returns.** Its future only awaits the reply, and dropping it cancels no call.
//! So `drop` and callbacks may make calls. No call blocks. The calls of one process about one question take effect in
//! order. The calls of several processes take effect in any order.

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

/// The future of a call that is under way.
pub type Call<T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>;

/// The maximum size of a draft, in bytes of JSON. It allows for four questions in which every field is full.
pub const MAX_DRAFT: usize = 3 * 1024 * 1024;

/// A store of questions. `askuser-conformance` tests the contract.
///
/// Every method but [`Store::flush`] fails with the store's own errors, and with:
/// - [`StoreError::Forbidden`] if the principal has no right to the call
/// - [`StoreError::Unauthorized`] if the principal's credential was revoked
/// - [`StoreError::NotFound`] if the question does not exist
pub trait Store: Send + Sync {
    /// Stores a request, unless its key exists or its series has a question to attach to. Returns the stored question.
    /// On completion, the question is on disk and the caller is attached to it.
    ///
    /// Fails with [`StoreError::OtherQuestion`] if the key belongs to a different question.
    fn put(&self, by: &Principal, request: &Request, series: Option<&Series>) -> Call<Put>;

    /// Returns a question.
    fn get(&self, by: &Principal, which: &QuestionRef) -> Call<StoredQuestion>;

    /// Returns the ids with this prefix, but only some of them if there are many. Callers use it to resolve an
    /// abbreviation.
    fn resolve(&self, by: &Principal, abbreviation: &str) -> Call<Vec<QuestionId>>;

    /// Ends a pending question, synced to disk. Only one attempt succeeds. A repetition of the same attempt returns the
    /// same ending.
    ///
    /// Fails with [`StoreError::Ended`] if another attempt was first, and with [`StoreError::Misfit`] if the outcome
    /// does not fit the question.
    fn end(&self, by: &Principal, which: &QuestionRef, end: &End, attempt: &Attempt) -> Call<Ending>;

    /// Claims an answered permission, synced to disk, and marks it as delivered. Only one attempt succeeds, within
    /// [`PERMISSION_LASTS`]. A claim that cannot be written does not count.
    fn claim(&self, by: &Principal, id: &QuestionId, attempt: &Attempt) -> Call<Claim>;

    /// Attaches the caller, which waits for the answer until the attachment is dropped. Each store detects dead callers
    /// in its own way.
    fn attach(&self, by: &Principal, id: &QuestionId) -> Call<Attachment>;

    /// Records that the asker is being told of the answer, if the question has ended. Returns the time of an earlier
    /// sending or of the delivery, if any.
    fn sent(&self, by: &Principal, id: &QuestionId) -> Call<Option<u64>>;

    /// Records that the asker has received and stored the answer.
    fn delivered(&self, by: &Principal, id: &QuestionId) -> Call<()>;

    /// Removes the deadline of a question, because a person has stopped its countdown.
    fn hold(&self, by: &Principal, which: &QuestionRef) -> Call<()>;

    /// Saves unsent text of this person. Returns the drafts of other writers that stay, because this writer has not
    /// seen them. A draft outlives its question. [`MAX_DRAFT`] limits its size.
    fn save_draft(&self, by: &Principal, which: &QuestionRef, save: &DraftSave) -> Call<Vec<SavedDraft>>;

    /// Returns this person's unsent text from every surface, newest first.
    fn drafts(&self, by: &Principal, which: &QuestionRef) -> Call<Vec<SavedDraft>>;

    /// Returns a page of the questions that the principal may see.
    fn list(&self, by: &Principal, filter: &Filter) -> Call<Page>;

    /// Returns the number of questions in a list after its cursor, ignoring the limit of the list.
    fn count(&self, by: &Principal, filter: &Filter) -> Call<u64>;

    /// Returns at most `limit` events after this number, earliest first.
    fn events(&self, by: &Principal, after: u64, limit: u32) -> Call<Events>;

    /// Returns a watch of later events from every process, including timeouts.
    fn watch(&self, by: &Principal, what: &Watched) -> Call<Watch>;

    /// Reports that a list of questions is visible, until the attachment is dropped.
    fn show_list(&self, by: &Principal) -> Call<Attachment>;

    /// Returns whether a list of questions is visible.
    fn is_list_shown(&self, by: &Principal) -> Call<bool>;

    /// Stores the error of the last notification to a person; `None` clears it.
    fn note_failure(&self, by: &Principal, failure: Option<&NotifierFailure>) -> Call<()>;

    /// Returns the error of the last notification to a person; `None` without an error.
    fn last_failure(&self, by: &Principal) -> Call<Option<NotifierFailure>>;

    /// Removes the questions of all people that ended before this time, with their drafts and events, and syncs the
    /// store. The numbers and cursors of the questions are not reused. See [`Events::gap`].
    fn purge(&self, by: &Principal, before_ms: u64) -> Call<Purged>;

    /// Completes when every earlier call is done.
    fn flush(&self) -> Call<()>;
}

/// The result of [`Store::put`].
#[derive(Debug)]
pub struct Put {
    /// Whether the question is new.
    pub is_new: bool,
    /// The stored question, pending or ended. In a series it may have come from another request with the same
    /// questions.
    pub question: StoredQuestion,
    /// The attachment of the caller, which waits for the answer.
    pub attachment: Attachment,
}

/// The result of a purge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Purged {
    /// The number of removed questions.
    #[serde(rename = "purged")]
    pub count: u64,
    /// The reason why text of removed questions may remain in the store's files; `None` if no text remains.
    pub remains: Option<String>,
}

/// A failed notification of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotifierFailure {
    /// The time of the failure by the store's clock, in milliseconds since 1970.
    pub at_ms: u64,
    /// The failed operation.
    pub what: String,
    /// The error of the operation.
    pub why: String,
}
