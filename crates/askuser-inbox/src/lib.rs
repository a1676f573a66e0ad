//! Stores questions in a file until they are answered.
//!
//! ```text
//! an agent ──InboxAsker──▶ Store ◀── a person: a list, a prompt, a page
//!            └ waits: a change in the store wakes it, in this process or in another
//! ```
//!
//! A question is on disk before a person sees it, and an answer before its surface shows success. At most one answer is
//! recorded. It is delivered at least once.
//!
//! ```no_run
//! use askuser::{Asker, Request};
//! use askuser_inbox::{InboxAsker, Location};
//!
//! # async fn ask(request: Request) -> Result<(), Box<dyn std::error::Error>> {
//! let asker = InboxAsker::new(Location::File("inbox.sqlite".into()).open()?, "ada");
//! let delivery = asker.ask(&request).await?;
//! println!("{:?}", delivery.stored().outcome());
//! # Ok(())
//! # }
//! ```

mod asker;
mod file_watch;
mod first_answer;
mod location;
mod process_lock;
mod random;
mod sqlite;

pub use asker::InboxAsker;
pub use first_answer::answer_at;
pub use location::Location;
pub use process_lock::waiting_folder;
pub use random::new_attempt;
pub use sqlite::{Clock, SqliteStore};
