//! What a person does: ends a question, stops its clock, keeps a draft, removes what ended long ago.

use super::database::{Database, end_row, find, find_known, try_again};
use super::fault::{WRITING, failed, unwritable};
use super::filter::signed;
use askuser::store::{Act, Attempt, Draft, End, Ending, MAX_DRAFT, Principal, Purged, StoreError, Which};
use rusqlite::{OptionalExtension, params};
use std::time::Duration;

/// How long a purge waits for other processes that read, before it says that text remains.
const READERS: Duration = Duration::from_secs(2);

impl Database {
    pub(super) fn end(
        &mut self,
        by: &Principal,
        which: &Which,
        end: &End,
        attempt: &Attempt,
    ) -> Result<Ending, StoreError> {
        let now = self.now();
        self.write(|tx, requests| {
            let row = find(tx, requests, by, which, now)?;
            by.check(Act::End(&row.question.request, end))?;
            if let End::Resolve { outcome, .. } = end {
                outcome.check(row.question.request.set()).map_err(StoreError::Misfit)?;
            }
            // A clock that was set back ends nothing before it was asked.
            let ending = end.stamped(by, now.max(row.question.asked_ms));
            match end_row(tx, row.n, &ending, Some(attempt))? {
                true => Ok(ending),
                false => match row.question.ending {
                    Some(ending) if ending.is_of(attempt, row.attempt.as_deref(), by, end) => Ok(ending),
                    Some(ending) => Err(StoreError::ended(ending).into()),
                    None => Err(StoreError::NotFound(which.to_string()).into()),
                },
            }
        })
    }

    pub(super) fn hold(&mut self, by: &Principal, which: &Which) -> Result<(), StoreError> {
        self.write(|tx, requests| {
            let row = find_known(tx, requests, by, which)?;
            by.check(Act::Consider(&row.request))?;
            tx.execute("UPDATE question SET expires_ms = NULL WHERE n = ?1 AND state = 'pending'", [row.n])?;
            Ok(())
        })
    }

    pub(super) fn save_draft(&mut self, by: &Principal, which: &Which, draft: &Draft) -> Result<(), StoreError> {
        let text = serde_json::to_string(draft).map_err(unwritable)?;
        if text.len() > MAX_DRAFT {
            let why = format!("it has {} bytes, at most {MAX_DRAFT} are kept", text.len());
            return Err(StoreError::Forbidden(format!("cannot keep the draft: {why}")));
        }
        self.write_unsynced(|tx, requests| {
            let row = find_known(tx, requests, by, which)?;
            by.check(Act::Consider(&row.request))?;
            let person = by.name().unwrap_or_default();
            tx.execute("DELETE FROM person_draft WHERE question = ?1 AND person = ?2", params![row.n, person])?;
            tx.execute("DELETE FROM draft WHERE question = ?1", [row.n])?;
            if !draft.is_empty() {
                let insert = "INSERT INTO person_draft (question, person, answers) VALUES (?1, ?2, ?3)";
                tx.execute(insert, params![row.n, person, text])?;
            }
            Ok(())
        })
    }

    pub(super) fn draft(&mut self, by: &Principal, which: &Which) -> Result<Draft, StoreError> {
        self.read(|tx, requests| {
            let row = find_known(tx, requests, by, which)?;
            by.check(Act::Consider(&row.request))?;
            // Drafts of version 1 are of no particular person.
            let text = tx
                .prepare_cached(
                    "SELECT answers FROM person_draft WHERE question = ?1 AND person = ?2
                     UNION ALL SELECT answers FROM draft WHERE question = ?1",
                )?
                .query_row(params![row.n, by.name().unwrap_or_default()], |row| row.get::<_, String>(0))
                .optional()?;
            // One that cannot be read is none.
            Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
        })
    }

    pub(super) fn purge(&mut self, by: &Principal, before_ms: &u64) -> Result<Purged, StoreError> {
        by.check(Act::Purge)?;
        let path = self.path().to_owned();
        let pragmas = |connection: &rusqlite::Connection, are_usual: bool| {
            let set = |name, is_on| connection.pragma_update(None, name, is_on).map_err(failed(&path, WRITING));
            set("foreign_keys", are_usual).and_then(|()| set("secure_delete", !are_usual))
        };
        // SQLite would search every event for each row that goes. And nothing of it may be left to read in the file.
        pragmas(&self.connection, false)?;
        let purged = self.write(|tx, _| {
            let over = "state <> 'pending' AND coalesce(ended_ms, asked_ms) < ?1";
            for table in ["event", "waiter", "draft", "person_draft"] {
                let sql = format!("DELETE FROM {table} WHERE question IN (SELECT n FROM question WHERE {over})");
                tx.execute(&sql, [signed(*before_ms)])?;
            }
            Ok(tx.execute(&format!("DELETE FROM question WHERE {over}"), [signed(*before_ms)])? as u64)
        });
        let count = pragmas(&self.connection, true).and(purged)?;
        Ok(Purged { count, remains: self.rewrite().err().map(|error| error.chain()) })
    }

    /// Rewrites the file and empties its log: rows that were changed or removed earlier have left text in both.
    fn rewrite(&mut self) -> Result<(), StoreError> {
        let path = self.path().to_owned();
        let what = format!("text of removed questions may still be in {} or its -wal", path.display());
        let failed =
            |error: rusqlite::Error| StoreError::unavailable(what.clone(), failed(&path, WRITING)(error).chain());
        self.connection.busy_timeout(READERS).map_err(&failed)?;
        let is_busy = self.connection.execute_batch("VACUUM").and_then(|()| {
            self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0))
        });
        self.connection.busy_handler(Some(try_again)).map_err(&failed)?;
        if is_busy.map_err(&failed)? {
            let why = "another process has been reading it for a while; run the command again later";
            return Err(StoreError::unavailable(what, why));
        }
        Ok(())
    }
}
