//! Stores questions in PostgreSQL, for any number of machines.
//!
//! ```text
//! agents and people ──HTTP──▶ askuser serve ──┐
//! agents and people ──HTTP──▶ askuser serve ──┴──▶ PostgreSQL
//! ```
//!
//! The crate keeps the contract of every store. Writes are as durable as the commits of the database. A question has at
//! most one answer, and later answers get the winner. The same attempt gets the same result. Events become visible in
//! the order of their numbers. With asynchronous replication a failover may lose acknowledged writes.
//!
//! - **Ending** is one conditional update that contains the attempt's key. If a reply is lost, the store repeats it
//!   with the same key for [`Options::patience`].
//! - **Events get their number after commit.** If events got their number before the commit, a reader that has seen 2
//!   could miss 1.
//! - **Time** comes from the clock of the database server, not from the clients' machines.
//! - **Statements** are never prepared and sessions hold no state, so that a connection pooler may be used.
//!   Notifications are unreliable, so the store also polls.
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
