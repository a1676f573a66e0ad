//! What the server needs of an inbox.

use askuser::store::{Store, StoreError, StoredQuestion};
use askuser::{Asker, Request};
use std::sync::Arc;

/// Where questions wait for their person. The program that runs the server has it, and says how people are called to it.
pub trait Inbox: Send + Sync + 'static {
    /// Where questions are kept.
    fn store(&self) -> Arc<dyn Store>;

    /// Keeps a question without waiting for it, and calls the person if it is new.
    ///
    /// # Errors
    /// As for [`Store::put`].
    fn put(&self, request: &Request) -> Result<StoredQuestion, StoreError>;

    /// Asks through the inbox, and at a surface beside it: the first answer wins. To stop waiting is to detach.
    fn asker(&self, beside: Option<Arc<dyn Asker>>) -> Arc<dyn Asker>;
}
