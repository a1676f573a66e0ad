//! The store in PostgreSQL, for many machines.
//!
//! ```text
//! agents and people ──HTTP──▶ askuser serve ──┐
//! agents and people ──HTTP──▶ askuser serve ──┴──▶ PostgreSQL
//! ```
//!
//! It keeps the contract of every store as durably as the database commits. A question has at most one answer, and
//! later answers get the winner. The same attempt gets the same result. Events become visible in the order of their
//! numbers. With asynchronous replication a failover may lose acknowledged writes.
//!
//! - **Ending** is one conditional update that contains the attempt's key. If a reply is lost, the store repeats it
//!   with the same key for [`Options::patience`].
//! - **Events get their number after commit.** With a number from before the commit, a reader that has seen 2 would
//!   miss 1.
//! - **Time** is the server's, not that of the clients' machines.
//! - **Statements** are never prepared and sessions hold no state, so that a pooler may stand between. A notification
//!   is only a hint.
//!
//! The password grants every right. Agents and people connect through a server that authenticates them.

mod address;
mod commands;
mod credentials;
mod database;
mod error;
mod event_feed;
mod leases;
mod per_question_queue;
mod pool;
mod reading;
mod report;
mod row;
mod schema;
mod store;
mod thread;
mod tls;

pub use address::without_password;
pub use report::Report;
pub use store::{Options, PostgresStore};
