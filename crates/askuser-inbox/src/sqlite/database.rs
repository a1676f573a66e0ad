//! The file: opened, read, written and locked. Only the store's thread has it.

use super::Clock;
use super::fault::{Fault, WRITING, failed, unwritable};
use super::row::{Requests, SELECT, StoredRow};
use super::{schema, words};
use crate::changes::Bell;
use crate::process_lock::{self, ProcessLock};
use crate::random_id;
use askuser::store::{AskerPresence, Attempt, Ending, State, StoreError, StoredQuestion, Which};
use askuser::{Outcome, Via};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// SQLite's words for it: every transaction is on the disk when it is done; it gets there in its order, later; it may get lost.
const FULL: i32 = 2;
const NORMAL: i32 = 1;
const OFF: i32 = 0;
/// How often a call tries again while another process writes, and how long it waits in between.
pub(super) const TRIES: i32 = 2_000;
pub(super) const PAUSE: Duration = Duration::from_millis(5);
/// How soon to try again to end what has passed its deadline.
const OVERDUE: Duration = Duration::from_millis(100);
/// How many waiters are looked at when a store is opened, to note those that have died.
const MOST_LOOKED_AT: u32 = 100;

pub(super) struct Database {
    path: PathBuf,
    pub(super) connection: Connection,
    clock: Clock,
    bell: Bell,
    /// Where the locks of processes are, and that of this one, once it is needed.
    pub(super) locks: PathBuf,
    lock: Option<ProcessLock>,
    pub(super) requests: Requests,
    /// The rows by which this process says that it is there.
    pub(super) attached: HashMap<String, Attached>,
    /// Which file it was when it was opened.
    file: Option<FileId>,
    /// Reading has failed since this was asked for last.
    has_read_failed: bool,
    /// Something was written since this was asked for last.
    has_written: bool,
    /// How SQLite writes what must not be lost.
    synced: i32,
}

/// What this process is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attached {
    /// To wait for the answer to this question.
    Waiting(i64),
    /// To show a list.
    List,
}

/// What tells a file from another one of its name.
pub(super) type FileId = (u64, u64);

#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_id(_: &Path) -> Option<FileId> {
    None
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Database, StoreError> {
        process_lock::private_file(path)?;
        let failed = failed(path, "cannot open");
        let mut connection = Connection::open(path).map_err(&failed)?;
        connection.busy_handler(Some(try_again)).map_err(&failed)?;
        // Of a new file: seven questions fill a page of this size, three waste a fifth of the usual one.
        connection.pragma_update(None, "page_size", 8192).map_err(&failed)?;
        // Where two processes make a new file at once, SQLite does not wait here but gives up at once.
        let mut times = 0;
        loop {
            match connection.pragma_update(None, "journal_mode", "wal") {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && try_again(times) => {
                    times += 1
                }
                result => break result.map_err(&failed)?,
            }
        }
        connection.pragma_update(None, "foreign_keys", true).map_err(&failed)?;
        connection.set_prepared_statement_cache_capacity(64);
        words::add_functions(&connection).map_err(&failed)?;
        let is_migrated = schema::migrate(&mut connection, path)?;
        // Links are followed once: what changes is the file itself.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut database = Database {
            connection,
            clock: Arc::new(now_ms),
            bell: Bell::beside(&path),
            locks: process_lock::folder_of(&path),
            lock: None,
            requests: Requests::default(),
            attached: HashMap::new(),
            file: file_id(&path),
            has_read_failed: false,
            has_written: false,
            synced: FULL,
            path,
        };
        if is_migrated {
            // Processes of an earlier version hear that this is not theirs to write any more.
            database.bell.ring();
        }
        // A store that cannot be written can still be read.
        let _ = database.note_deaths();
        Ok(database)
    }

    pub(super) fn for_test(self, clock: Clock, is_synced: bool) -> Database {
        Database { clock, synced: if is_synced { FULL } else { OFF }, ..self }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn integrity(&mut self) -> Result<Vec<String>, StoreError> {
        let found = self.read(|database| {
            let mut statement = database.connection.prepare("PRAGMA integrity_check")?;
            Ok(statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?)
        })?;
        Ok(found.into_iter().filter(|line| line != "ok").collect())
    }

    pub(super) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Reads.
    pub(super) fn read<T>(&mut self, read: impl FnOnce(&mut Database) -> Result<T, Fault>) -> Result<T, StoreError> {
        let result = self.is_still_ours().and_then(|()| {
            let path = self.path.clone();
            read(self).map_err(|fault| fault.of(&path, "cannot read"))
        });
        self.has_read_failed |= matches!(result, Err(StoreError::Unavailable { .. }));
        result
    }

    /// Writes, synced: it is on the disk when this returns.
    pub(super) fn write<T>(
        &mut self,
        write: impl FnOnce(&Transaction<'_>, &mut Requests) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.write_as(self.synced, write)
    }

    /// Writes what may be lost with the machine.
    pub(super) fn write_unsynced<T>(
        &mut self,
        write: impl FnOnce(&Transaction<'_>, &mut Requests) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.write_as(self.synced.min(NORMAL), write)
    }

    /// Every transaction says how it is written: none depends on what the one before left behind.
    fn write_as<T>(
        &mut self,
        synchronous: i32,
        write: impl FnOnce(&Transaction<'_>, &mut Requests) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        self.is_still_ours()?;
        let set = self.connection.pragma_update(None, "synchronous", synchronous).map_err(Fault::from);
        let result = set.and_then(|()| transact(&mut self.connection, &mut self.requests, write));
        self.bell.ring();
        self.has_written = true;
        result.map_err(|fault| fault.of(&self.path, WRITING))
    }

    /// A file that was removed or replaced can still be written, and what is written is lost with it; one that a newer
    /// program has changed is not ours to write.
    fn is_still_ours(&self) -> Result<(), StoreError> {
        let gone = |why: &str| Err(StoreError::damaged(format!("cannot use {}", self.path.display()), why.to_owned()));
        if self.file != file_id(&self.path) {
            return gone("it was removed or replaced meanwhile; start again");
        }
        match schema::version(&self.connection) {
            Ok(version) if version != schema::VERSION as i64 => {
                gone("a newer askuser has changed it meanwhile; start again. What waits in it can still be answered")
            }
            Ok(_) => Ok(()),
            Err(error) => Err(failed(&self.path, "cannot read")(error)),
        }
    }

    /// Whether reading has failed since this was asked for last, and may succeed later.
    pub(super) fn take_read_failure(&mut self) -> bool {
        std::mem::take(&mut self.has_read_failed)
    }

    /// Whether anything was written since this was asked for last.
    pub(super) fn take_written(&mut self) -> bool {
        std::mem::take(&mut self.has_written)
    }

    pub(super) fn lock(&mut self) -> Result<String, StoreError> {
        if self.lock.is_none() {
            self.lock = Some(ProcessLock::take(&self.locks)?);
        }
        Ok(self.lock.as_ref().map(|lock| lock.name().to_owned()).unwrap_or_default())
    }

    /// A row as others see it: whether one of its waiters still lives.
    pub(super) fn seen(&self, row: StoredRow) -> StoredQuestion {
        let mut question = row.question;
        if question.ending.is_none() && !row.waiters.is_empty() {
            question.asker = match is_any_alive(&self.locks, &row.waiters) {
                true => AskerPresence::Waits,
                false => AskerPresence::Died(question.read_ms),
            };
        }
        question
    }

    /// How long until the next deadline; `None` where there is none. One that has passed could not be written: not at once
    /// again.
    pub(super) fn next_due(&mut self) -> Option<Duration> {
        let (due, now) = (self.due().ok().flatten()?, self.now());
        Some(due.checked_sub(now).filter(|left| *left > 0).map_or(OVERDUE, Duration::from_millis))
    }

    fn due(&mut self) -> Result<Option<u64>, StoreError> {
        self.read(|database| {
            let sql = "SELECT min(expires_ms) FROM question WHERE state = 'pending' AND expires_ms IS NOT NULL";
            let due: Option<i64> = database.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
            Ok(due.map(|due| u64::try_from(due).unwrap_or_default()))
        })
    }

    /// Ends what has passed its deadline. Where that cannot be written, a later call does.
    pub(super) fn expire_due(&mut self) {
        let now = self.now();
        if !matches!(self.due(), Ok(Some(due)) if due <= now) {
            return;
        }
        let _ = self.write(|tx, _| {
            let sql = "SELECT n FROM question WHERE state = 'pending' AND expires_ms <= ?1 ORDER BY n";
            let mut statement = tx.prepare_cached(sql)?;
            let late = statement.query_map([now], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()?;
            for n in late {
                let timed_out = Outcome::timed_out().through(Via::Inbox).with_time(now);
                end_row(tx, n, &Ending::Resolved(timed_out), None)?;
            }
            Ok(())
        });
    }

    /// Writes down which waiters have died; some of them, if there are many.
    fn note_deaths(&mut self) -> Result<(), StoreError> {
        let (now, locks) = (self.now(), self.locks.clone());
        let mut dead = self.read(|database| {
            let sql = "SELECT id, question, process FROM waiter LIMIT ?1";
            let mut statement = database.connection.prepare_cached(sql)?;
            let rows = statement.query_map([MOST_LOOKED_AT], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok(rows.collect::<Result<Vec<(String, i64, String)>, _>>()?)
        })?;
        dead.retain(|(.., process)| !process_lock::is_alive(&locks, process));
        let mut lists = self.shown_lists()?;
        lists.retain(|process| !process_lock::is_alive(&locks, process));
        if dead.is_empty() && lists.is_empty() {
            return Ok(());
        }
        self.write_unsynced(|tx, _| {
            for (id, question, _) in &dead {
                tx.prepare_cached("DELETE FROM waiter WHERE id = ?1")?.execute([id])?;
                tx.prepare_cached(
                    "UPDATE question SET left_ms = ?1, asker_died = 1 WHERE n = ?2 AND state = 'pending'
                     AND NOT EXISTS (SELECT 1 FROM waiter WHERE question = ?2)",
                )?
                .execute(params![now, question])?;
            }
            for process in &lists {
                tx.execute("DELETE FROM shown_list WHERE process = ?1", [process])?;
            }
            Ok(())
        })?;
        let processes = dead.iter().map(|(.., process)| process).chain(&lists);
        processes.for_each(|process| process_lock::forget_dead(&locks, process));
        Ok(())
    }

    pub(super) fn random_id(&self) -> Result<String, StoreError> {
        random_id().map_err(|error| StoreError::unavailable(format!("cannot use {}", self.path.display()), error))
    }
}

pub(super) fn is_any_alive(locks: &Path, processes: &[String]) -> bool {
    processes.iter().any(|process| process_lock::is_alive(locks, process))
}

pub(super) fn find(
    connection: &Connection,
    requests: &mut Requests,
    which: &Which,
    now: u64,
) -> Result<StoredRow, Fault> {
    let (column, value) = match which {
        Which::Id(id) => ("id", id.to_string()),
        Which::Key(key) => ("key", key.to_string()),
    };
    connection
        .prepare_cached(&format!("{SELECT} WHERE {column} = ?1"))?
        .query_row([value], |row| Ok(StoredRow::read(row, requests, now)))
        .optional()?
        .unwrap_or_else(|| Err(StoreError::NotFound(which.to_string()).into()))
}

/// Ends a question if it is pending: the one update that decides which attempt was first, with its event.
pub(super) fn end_row(tx: &Transaction<'_>, n: i64, ending: &Ending, attempt: Option<&Attempt>) -> Result<bool, Fault> {
    let resolution = ending.resolution().map(serde_json::to_string).transpose().map_err(unwritable)?;
    let changed = tx
        .prepare_cached(
            "UPDATE question SET state = ?1, resolution = ?2, ended_by = ?3, ended_ms = ?4, answer_key = ?5, expires_ms = NULL
             WHERE n = ?6 AND state = 'pending'",
        )?
        .execute(params![
            ending.state().name(),
            resolution,
            ending.by(),
            ending.at_ms(),
            attempt.map(Attempt::as_str),
            n
        ])?;
    if changed == 1 {
        event(tx, n, ending.state(), ending.at_ms().unwrap_or_default())?;
        tx.prepare_cached("DELETE FROM person_draft WHERE question = ?1")?.execute([n])?;
        tx.prepare_cached("DELETE FROM draft WHERE question = ?1")?.execute([n])?;
    }
    Ok(changed == 1)
}

pub(super) fn event(tx: &Transaction<'_>, question: i64, state: State, at: u64) -> Result<(), Fault> {
    tx.prepare_cached("INSERT INTO event (question, state, at_ms) VALUES (?1, ?2, ?3)")?.execute(params![
        question,
        state.name(),
        at
    ])?;
    Ok(())
}

/// Waits a little for another process to finish writing. SQLite's own handler waits ever longer, up to 100 ms, so that of many
/// writers some come late again and again.
fn try_again(times: i32) -> bool {
    // Not all at the same moment.
    let jitter = times.unsigned_abs().wrapping_mul(7).wrapping_add(std::process::id()) % 5;
    std::thread::sleep(if times < 10 {
        Duration::from_millis(1)
    } else {
        PAUSE + Duration::from_millis(u64::from(jitter)) - Duration::from_millis(2)
    });
    times < TRIES
}

fn transact<T>(
    connection: &mut Connection,
    requests: &mut Requests,
    write: impl FnOnce(&Transaction<'_>, &mut Requests) -> Result<T, Fault>,
) -> Result<T, Fault> {
    // Immediate: what is read in order to write must not change in between.
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = write(&tx, requests)?;
    tx.commit()?;
    Ok(value)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
