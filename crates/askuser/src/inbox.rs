//! An asker that keeps questions: the caller has a ticket at once, and may come back for the answer.

use crate::asker::{Asker, Asking};
use crate::request::Request;
use crate::store::{Handle, Principal, Put, Series, StoreError};
use std::future::Future;
use std::pin::Pin;

/// A question being kept.
pub type Keeping<'a> = Pin<Box<dyn Future<Output = Result<Put, StoreError>> + Send + 'a>>;

/// Keeps questions for their person. The ticket is the id of the question; to withdraw it is [`Handle::withdraw`].
pub trait Inbox: Asker {
    /// Keeps a question, and calls the person if it is new. The question may have ended already.
    fn keep<'a>(&'a self, request: &Request, series: Option<&Series>) -> Keeping<'a>;

    /// Waits for the end of a question that was kept, and asks it at a surface of this process meanwhile, as this request says.
    /// Dropping the future detaches.
    fn wait<'a>(&'a self, put: Put, request: &'a Request, surface: Option<&'a dyn Asker>) -> Asking<'a>;

    /// The store, as this principal uses it.
    fn handle(&self, principal: Principal) -> Handle;

    /// The user's name of the person who answers at a surface of this process.
    fn person(&self) -> &str;
}
