//! Keeps questions in PostgreSQL: the same store for many machines.
//!
//! ```text
//! agents and people ──HTTP──▶ askuser serve ──┐
//! agents and people ──HTTP──▶ askuser serve ──┴──▶ PostgreSQL
//! ```
//!
//! It promises what every store does, as durably as the database commits: at most one recorded answer; whoever is late is told
//! the winner; the same attempt gets the same result; events become visible in the order of their numbers. It promises no
//! more than the database: with asynchronous replication a failover may lose what was acknowledged.
//!
//! - **Ending** is one conditional update with the attempt's key in it. A reply that was lost is asked for again with the same key,
//!   by the store itself, for as long as [`Options::patience`] says.
//! - **Events get their number after they are committed.** A number that is taken before makes a reader that has seen 2 miss 1.
//! - **Time** is the server's, whatever the clocks of the machines say.
//! - **Statements** are never prepared and no session keeps anything, so that a pooler may stand between. What is notified is only a
//!   hint.
//!
//! Whoever has the password can answer for anybody: agents and people use it through a server that checks who they are.

mod address;
mod commands;
mod credentials;
mod database;
mod fault;
mod following;
mod lanes;
mod leases;
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
