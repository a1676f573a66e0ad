//! Reads questions and events.

use super::commands::draft_texts;
use super::database::{Database, find, is_any_alive};
use super::filter::{bind, conditions, order, signed};
use super::row::{SELECT, StoredRow};
use askuser::store::{
    Events, Filter, ListSection, NotifierFailure, Operation, Page, Principal, QuestionId, QuestionRef, State,
    StoreError, StoreEvent, StoredQuestion, UnsentWords,
};
use askuser_sys::random;
use rusqlite::{OptionalExtension, params};

/// The maximum number of questions listed for an ambiguous abbreviation.
const CANDIDATES: u32 = 6;
/// The query for the number of the last event, which may be purged.
const LAST_EVENT: &str = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0)";

impl Database {
    pub(super) fn get(&mut self, by: &Principal, which: &QuestionRef) -> Result<StoredQuestion, StoreError> {
        let now = self.now();
        let row = self.read(|tx, requests| find(tx, requests, by, which, now))?;
        by.check(Operation::See(&row.record.question.request))?;
        Ok(self.seen(row))
    }

    pub(super) fn resolve(&mut self, by: &Principal, abbreviation: &str) -> Result<Vec<QuestionId>, StoreError> {
        // Ids are hexadecimal. Other text matches no question and must not act as a pattern.
        if abbreviation.is_empty() || !abbreviation.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Vec::new());
        }
        let conditions = conditions(by, ListSection::All, &Filter::default());
        self.read(|tx, _| {
            let sql = format!(
                "SELECT id FROM question WHERE {conditions} AND id >= ?2 AND id < ?2 || 'g' ORDER BY id LIMIT {CANDIDATES}"
            );
            let mut statement = tx.prepare_cached(&sql)?;
            bind(&mut statement, by, ListSection::All, &Filter::default())?;
            statement.raw_bind_parameter(2, abbreviation.to_ascii_lowercase())?;
            let mut rows = statement.raw_query();
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.extend(QuestionId::parse(&row.get::<_, String>(0)?));
            }
            Ok(found)
        })
    }

    pub(super) fn list(&mut self, by: &Principal, filter: &Filter) -> Result<Page, StoreError> {
        let now = self.now();
        let (rows, unreadable, next) = self.read(|tx, requests| {
            let order = order(filter);
            let mut read = 0;
            let mut last = None;
            let mut found = Vec::new();
            let mut unreadable = Vec::new();
            for (part, filter) in filter.parts(by) {
                let sql = format!("{SELECT} WHERE {} ORDER BY {order} LIMIT ?6", conditions(by, part, &filter));
                let mut statement = tx.prepare_cached(&sql)?;
                bind(&mut statement, by, part, &filter)?;
                // One row more than requested shows whether there is another page.
                statement.raw_bind_parameter(6, filter.limit.map_or(-1, |limit| i64::from(limit - read) + 1))?;
                let mut rows = statement.raw_query();
                while let Some(row) = rows.next()? {
                    if filter.limit == Some(read) {
                        return Ok((found, unreadable, last));
                    }
                    read += 1;
                    let place = filter.place(part, row.get::<_, i64>(0)?.unsigned_abs(), row.get(6)?);
                    last = Some(place);
                    // A question that cannot be read, for example one of a later version, must not hide the others.
                    if let Ok(mut row) = StoredRow::read(row, requests, now) {
                        if by.is_asked(&row.record.question.request) {
                            row.record.question.unsent = UnsentWords::read(&draft_texts(tx, "unsent", row.n, by)?);
                        }
                        row.record.question.cursor = place;
                        found.push(row);
                    } else {
                        unreadable.extend(QuestionId::parse(&row.get::<_, String>(1)?));
                    }
                }
            }
            Ok((found, unreadable, None))
        })?;
        Ok(Page { questions: rows.into_iter().map(|row| self.seen(row)).collect(), unreadable, next })
    }

    pub(super) fn count(&mut self, by: &Principal, filter: &Filter) -> Result<u64, StoreError> {
        self.read(|tx, _| {
            let mut count = 0;
            for (part, filter) in filter.parts(by) {
                let sql = format!("SELECT count(*) FROM question WHERE {}", conditions(by, part, &filter));
                let mut statement = tx.prepare_cached(&sql)?;
                bind(&mut statement, by, part, &filter)?;
                count += statement.raw_query().next()?.map_or(Ok(0), |row| row.get::<_, u64>(0))?;
            }
            Ok(count)
        })
    }

    pub(super) fn events_for(&mut self, by: &Principal, after: u64, limit: u32) -> Result<Events, StoreError> {
        by.check(Operation::Follow)?;
        self.events(after, limit)
    }

    /// Reads events. Only one transaction writes at a time, so numbers become visible in their order.
    pub(super) fn events(&mut self, after: u64, limit: u32) -> Result<Events, StoreError> {
        self.read(|tx, _| {
            let last: u64 = tx.prepare_cached(LAST_EVENT)?.query_row([], |row| row.get(0))?;
            let mut statement = tx.prepare_cached(
                "SELECT event.seq, question.id, event.state, event.at_ms FROM event
                 JOIN question ON question.n = event.question WHERE event.seq > ?1 ORDER BY event.seq",
            )?;
            let mut rows = statement.query([signed(after)])?;
            let mut events = Vec::new();
            let mut at = after;
            let mut gap = limit > 0 && after != last;
            while events.len() < limit as usize
                && let Some(row) = rows.next()?
            {
                // Numbers have no gaps, so a missing number was purged. The events after it belong to the next call.
                let is_next = row.get::<_, u64>(0)? == at.saturating_add(1);
                if at == after {
                    gap = !is_next;
                } else if !is_next {
                    break;
                }
                at = row.get(0)?;
                // An event that cannot be read must not hide later events.
                let id = QuestionId::parse(row.get_ref(1)?.as_str().unwrap_or_default());
                let state = State::named(row.get_ref(2)?.as_str().unwrap_or_default());
                if let (Some(id), Some(state), Ok(at_ms)) = (id, state, row.get(3)) {
                    events.push(StoreEvent { seq: at, id, state, at_ms });
                }
            }
            Ok(Events { events, gap, last })
        })
    }

    pub(super) fn last_event(&mut self) -> Result<u64, StoreError> {
        self.read(|tx, _| Ok(tx.prepare_cached(LAST_EVENT)?.query_row([], |row| row.get(0))?))
    }

    pub(super) fn show_list(&mut self, by: &Principal) -> Result<String, StoreError> {
        by.check(Operation::Follow)?;
        let process = self.lock()?;
        let name = random::id().map_err(|error| StoreError::unavailable("cannot name a list", error))?;
        self.write_unsynced(|tx, _| {
            tx.execute("INSERT INTO shown_list (id, process) VALUES (?1, ?2)", params![name, process])?;
            Ok(())
        })?;
        self.lists.insert(name.clone());
        Ok(name)
    }

    /// Records that this process no longer shows a list.
    pub(super) fn hide_list(&mut self, name: &str) -> Result<(), StoreError> {
        self.write_unsynced(|tx, _| {
            tx.execute("DELETE FROM shown_list WHERE id = ?1", [name])?;
            Ok(())
        })?;
        self.lists.remove(name);
        self.unlock();
        Ok(())
    }

    pub(super) fn is_list_shown(&mut self, _: &Principal) -> Result<bool, StoreError> {
        let processes = self.shown_lists()?;
        Ok(is_any_alive(&self.locks, &processes))
    }

    /// Returns the names of the processes that show a list, as the store's file has them. They may have died.
    pub(super) fn shown_lists(&mut self) -> Result<Vec<String>, StoreError> {
        self.read(|tx, _| {
            let mut statement = tx.prepare_cached("SELECT DISTINCT process FROM shown_list")?;
            Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?)
        })
    }

    pub(super) fn note_failure(&mut self, failure: Option<&NotifierFailure>) -> Result<(), StoreError> {
        let now = self.now();
        self.write_unsynced(|tx, _| {
            tx.execute("DELETE FROM notifier_failure", [])?;
            if let Some(failure) = failure {
                let insert = "INSERT INTO notifier_failure (one, at_ms, what, why) VALUES (1, ?1, ?2, ?3)";
                tx.execute(insert, params![now, failure.what, failure.why])?;
            }
            Ok(())
        })
    }

    pub(super) fn last_failure(&mut self, _: &Principal) -> Result<Option<NotifierFailure>, StoreError> {
        self.read(|tx, _| {
            let failure = tx.query_row("SELECT at_ms, what, why FROM notifier_failure", [], |row| {
                Ok(NotifierFailure { at_ms: row.get(0)?, what: row.get(1)?, why: row.get(2)? })
            });
            Ok(failure.optional()?)
        })
    }
}
