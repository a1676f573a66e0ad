//! An asker that stores questions. The caller gets a ticket immediately and may fetch the answer later.

use crate::asker::{Asker, Asking};
use crate::request::Request;
use crate::store::{Handle, Principal, Put, Series, StoreError};
use std::future::Future;
use std::pin::Pin;

/// The future of [`Inbox::keep`].
pub type Keeping<'a> = Pin<Box<dyn Future<Output = Result<Put, StoreError>> + Send + 'a>>;

/// An asker with a store. The id of a stored question is its ticket, and [`Handle::withdraw`] withdraws the question.
pub trait Inbox: Asker {
    /// Stores a question, and notifies the person if the question is new. The question may have ended already.
    fn keep<'a>(&'a self, request: &Request, series: Option<&Series>) -> Keeping<'a>;

    /// Waits for the end of a stored question. Meanwhile, the given surface of this process asks the question as
    /// `request` describes it. Dropping the future stops waiting, but does not withdraw the question.
    fn wait<'a>(&'a self, put: Put, request: &'a Request, surface: Option<&'a dyn Asker>) -> Asking<'a>;

    /// Returns a handle of the store for this principal.
    fn handle(&self, principal: Principal) -> Handle;

    /// The user name of the person who answers at the surfaces of this process.
    fn person(&self) -> &str;
}
