//! A store as it is copied into another: row by row, as JSON, with the numbers and names it has.

use super::Call;
use serde_json::Value;

/// What is copied of a store, in this order: what refers to something comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Whom questions can be for.
    People,
    /// Tokens and devices, by their digests; those that were revoked too.
    Credentials,
    /// With their endings and drafts; when they give up is kept by [`Table::Deadlines`] alone.
    Questions,
    /// What has happened, by its numbers.
    Events,
    /// The last number that was given.
    Numbers,
    /// When questions give up: last, so that nothing happens to them before they are whole.
    Deadlines,
}

named!(Table {
    People = "people", Credentials = "credentials", Questions = "questions", Events = "events", Numbers = "numbers",
    Deadlines = "deadlines",
});

/// A store that can be copied. Its rows are objects that look the same in every store; they are in the order of their field `n`.
pub trait Archive: Send + Sync {
    /// Some rows, behind the one with this `n`.
    fn rows(&self, of: Table, after: u64, limit: u32) -> Call<Vec<Value>>;

    /// Keeps rows in one transaction, synced. What is there already becomes what the row says.
    fn keep(&self, of: Table, rows: &[Value]) -> Call<()>;
}
