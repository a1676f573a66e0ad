//! Filters as SQL conditions.

use askuser::store::{Filter, ListSection, Principal, Scope};
use rusqlite::Statement;

/// Returns the conditions for the section `part` of a list that this principal sees. [`bind`] binds their values.
pub(super) fn conditions(by: &Principal, part: ListSection, filter: &Filter) -> String {
    let mut conditions = vec![match (by.scope(), part) {
        (Scope::Everything | Scope::Person(_), ListSection::All) | (Scope::Everything, _) => "1",
        (Scope::Person(_), ListSection::Mine | ListSection::InBackground) => {
            "(audience IS NULL OR ?1 IN (SELECT value FROM json_each(audience)))"
        }
        (Scope::Person(_), ListSection::Others) => {
            "audience IS NOT NULL AND ?1 NOT IN (SELECT value FROM json_each(audience))"
        }
        (Scope::Of(_), _) => "agent IS ?1 AND credential IS NULL",
        (Scope::OfCredential(_), _) => "credential = ?1",
    }];
    match part {
        ListSection::Mine if !filter.is_history() => conditions.push("NOT background"),
        ListSection::InBackground => conditions.push("background"),
        _ => {}
    }
    match filter.pending {
        Some(true) => conditions.push("state = 'pending'"),
        Some(false) => conditions.push("state <> 'pending'"),
        None => {}
    }
    if filter.since_ms.is_some() {
        conditions.push("asked_ms >= ?2");
    }
    if filter.from.is_some() {
        conditions.push("instr(agent_words, ?3) > 0");
    }
    if filter.containing.is_some() {
        conditions.push("NOT EXISTS (SELECT 1 FROM json_each(?4) WHERE instr(words, value) = 0)");
    }
    if filter.after.is_some() {
        conditions.push(match (filter.is_history(), filter.latest_first) {
            (false, false) => "n > ?5",
            (false, true) => "n < ?5",
            (true, false) => "(ended_ms, n) > (?7, ?5)",
            (true, true) => "(ended_ms, n) < (?7, ?5)",
        });
    }
    conditions.join(" AND ")
}

/// Returns the order of a list as SQL.
pub(super) fn order(filter: &Filter) -> &'static str {
    match (filter.is_history(), filter.latest_first) {
        (false, false) => "n",
        (false, true) => "n DESC",
        (true, false) => "ended_ms, n",
        (true, true) => "ended_ms DESC, n DESC",
    }
}

/// Converts a number to SQLite's integer type. Larger numbers become `i64::MAX`.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Binds the values of a filter's parameters. Parameters have fixed numbers, because a statement may leave some unused.
pub(super) fn bind(
    statement: &mut Statement<'_>,
    by: &Principal,
    part: ListSection,
    filter: &Filter,
) -> rusqlite::Result<()> {
    match by.scope() {
        Scope::Person(name) if part != ListSection::All => statement.raw_bind_parameter(1, name)?,
        Scope::Everything | Scope::Person(_) => {}
        Scope::Of(name) => statement.raw_bind_parameter(1, name)?,
        Scope::OfCredential(name) => statement.raw_bind_parameter(1, name)?,
    }
    if let Some(since) = filter.since_ms {
        statement.raw_bind_parameter(2, signed(since))?;
    }
    if let Some(from) = &filter.from {
        statement.raw_bind_parameter(3, from.to_lowercase())?;
    }
    if filter.containing.is_some() {
        statement.raw_bind_parameter(4, serde_json::Value::from_iter(filter.words()).to_string())?;
    }
    if let Some(after) = filter.after {
        statement.raw_bind_parameter(5, signed(after.n))?;
        if filter.is_history() {
            statement.raw_bind_parameter(7, signed(after.rank))?;
        }
    }
    Ok(())
}
