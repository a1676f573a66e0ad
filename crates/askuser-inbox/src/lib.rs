//! Keeps questions until somebody answers them.
//!
//! ```text
//! whoever asks ──InboxAsker──▶ Store ◀── whoever shows and answers: a list, a prompt, a page
//!                └ waits: a change in the store wakes it, in this process or in another
//! ```
//!
//! A question is on the disk before anybody sees it; an answer is on the disk before anybody is told that it counts. At most
//! one answer is recorded, and it is delivered at least once.
//!
//! ```no_run
//! use askuser::{Asker, Request};
//! use askuser_inbox::{Inbox, InboxAsker, SqliteStore};
//! use std::sync::Arc;
//!
//! # async fn ask(request: Request) -> Result<(), Box<dyn std::error::Error>> {
//! let inbox = Inbox::new(Arc::new(SqliteStore::open("inbox.sqlite".as_ref())?));
//! let delivery = InboxAsker::new(inbox).ask(&request).await?;
//! println!("{:?}", delivery.stored().outcome());
//! # Ok(())
//! # }
//! ```

mod asker;
mod changes;
mod off_thread;
mod presence;
mod race;
mod sqlite;
mod waiting;

pub use asker::InboxAsker;
pub use presence::Presence;
pub use race::{Shown, answer_at};
pub use sqlite::{Clock, SqliteStore};
pub use waiting::{Inbox, Waiting};
