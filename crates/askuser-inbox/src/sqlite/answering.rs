//! What a person does: ends a question, stops its clock, keeps a draft, removes what ended long ago.

use super::database::{Database, end_row, find, find_known, try_again};
use super::fault::{Fault, WRITING, failed, unwritable};
use super::filter::signed;
use askuser::store::{
    Act, Attempt, DraftSave, DraftVersion, End, Ending, Principal, Purged, SavedDraft, StoreError, Which,
};
use rusqlite::{Transaction, params};
use std::time::Duration;

/// The longest time that a purge waits for readers in other processes before it reports that text remains.
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

    pub(super) fn save_draft(
        &mut self,
        by: &Principal,
        which: &Which,
        save: &DraftSave,
    ) -> Result<Vec<SavedDraft>, StoreError> {
        let now = self.now();
        self.write_unsynced(|tx, requests| {
            let row = find_known(tx, requests, by, which)?;
            by.check(Act::Consider(&row.request))?;
            let step = save.step(drafts_of(tx, row.n, by)?, by, now)?;
            for version in &step.removed {
                let sql =
                    "DELETE FROM saved_draft WHERE question = ?1 AND person IN (?2, '') AND writer = ?3 AND edit = ?4";
                tx.execute(sql, params![row.n, person(by), version.writer, version.edit])?;
            }
            if let Some(SavedDraft { draft, version, place, saved_ms }) = &step.written {
                let text = serde_json::to_string(draft).map_err(unwritable)?;
                let sql =
                    "INSERT OR REPLACE INTO saved_draft (question, person, writer, edit, place, saved_ms, answers)
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
                let values = params![row.n, person(by), version.writer, version.edit, place, signed(*saved_ms), text];
                tx.execute(sql, values)?;
            }
            Ok(step.beside)
        })
    }

    pub(super) fn drafts(&mut self, by: &Principal, which: &Which) -> Result<Vec<SavedDraft>, StoreError> {
        self.read(|tx, requests| {
            let row = find_known(tx, requests, by, which)?;
            by.check(Act::Consider(&row.request))?;
            drafts_of(tx, row.n, by)
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
            for table in ["event", "waiter", "draft", "saved_draft"] {
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

fn person(by: &Principal) -> &str {
    by.name().unwrap_or_default()
}

fn drafts_of(tx: &Transaction<'_>, question: i64, by: &Principal) -> Result<Vec<SavedDraft>, Fault> {
    let mut statement = tx.prepare_cached(
        "SELECT answers, writer, edit, place, saved_ms FROM saved_draft WHERE question = ?1
         AND (person = ?2 OR person = '' AND NOT EXISTS (SELECT 1 FROM person))",
    )?;
    let rows = statement.query_map(params![question, person(by)], |row| {
        let version = DraftVersion { writer: row.get(1)?, edit: row.get(2)? };
        Ok((row.get::<_, String>(0)?, version, row.get(3)?, row.get(4)?))
    })?;
    let mut drafts = Vec::new();
    for row in rows {
        let (text, version, place, saved_ms) = row?;
        // A draft that this program cannot read stays where it is.
        if let Ok(draft) = serde_json::from_str(&text) {
            drafts.push(SavedDraft { draft, version, place, saved_ms });
        }
    }
    Ok(SavedDraft::newest_first(drafts))
}
