//! The file of a store: opening, reading, writing and locking it. Only the store's thread uses it.

use super::Clock;
use super::error::{Fault, WRITING, failed};
use super::row::{SELECT, StoredRow};
use super::schema;
use super::waiters::Waiter;
use crate::file_watch::Bell;
use crate::process_lock::{self, ProcessLock};
use askuser::RequestKey;
use askuser::store::{AskerPresence, Principal, QuestionRef, Requests, Scope, StoreError, StoredQuestion};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, Transaction, TransactionBehavior};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// SQLite's values of `synchronous`. With FULL, a transaction is on disk when it is done. With NORMAL, it gets there
/// later, in order. With OFF, it may be lost.
const FULL: i32 = 2;
const NORMAL: i32 = 1;
const OFF: i32 = 0;
/// The number of attempts while another process writes, and the approximate pause between them.
pub(super) const TRIES: i32 = 2_000;
pub(super) const PAUSE: Duration = Duration::from_millis(5);
/// The pause before another attempt to end expired questions.
const OVERDUE: Duration = Duration::from_millis(100);
/// The maximum time that a purge waits for readers in other processes. After that it reports that text remains in the
/// file.
const READERS: Duration = Duration::from_secs(2);
/// The maximum number of waiters that are checked when a store is opened.
const MOST_LOOKED_AT: u32 = 100;

pub(super) struct Database {
    path: PathBuf,
    pub(super) connection: Connection,
    clock: Clock,
    bell: Bell,
    /// The folder of the processes' locks. `lock` is the lock of this process, which is created on demand.
    pub(super) locks: PathBuf,
    lock: Option<ProcessLock>,
    pub(super) requests: Requests,
    /// The waiters of this process by the number of their question.
    pub(super) waiting: HashMap<i64, Vec<Waiter>>,
    /// The ids of the lists that this process shows.
    pub(super) lists: HashSet<String>,
    /// The identity of the file when it was opened; `None` if the system has no such identities.
    file: Option<FileId>,
    /// The id of the credential that authenticated the current call; `None` for a call without a credential.
    pub(super) credential: Option<String>,
    /// Whether a read has failed since this field was last reset.
    pub(super) has_read_failed: bool,
    /// Whether a write has happened since this field was last reset.
    pub(super) has_written: bool,
    /// The `synchronous` mode of writes that must survive a crash of the machine.
    synced: i32,
}

/// The kind of a transaction: it reads, or it writes with a `synchronous` mode.
#[derive(Clone, Copy)]
enum Mode {
    Read,
    /// A write with this `synchronous` mode.
    Write(i32),
}

impl Mode {
    /// Returns the operation for error messages.
    fn doing(self) -> &'static str {
        match self {
            Mode::Read => "cannot read",
            Mode::Write(_) => WRITING,
        }
    }
}

/// Work that runs inside a transaction.
pub(super) trait Work<T>: FnOnce(&Transaction<'_>, &mut Requests) -> Result<T, Fault> {}
impl<T, F: FnOnce(&Transaction<'_>, &mut Requests) -> Result<T, Fault>> Work<T> for F {}

/// The identity of a file: its device and inode. It distinguishes a file from another file of the same name.
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
    /// Opens the file of a store. Only tests use another clock than the system's, or writes without sync.
    pub(super) fn open(path: &Path, clock: Clock, is_synced: bool) -> Result<Database, StoreError> {
        process_lock::private_file(path)?;
        let failed = failed(path, "cannot open");
        let mut connection = Connection::open(path).map_err(&failed)?;
        connection.busy_handler(Some(try_again)).map_err(&failed)?;
        // SQLite does not wait if two processes create a file at the same time, so this loop retries.
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
        // On macOS, a plain fsync leaves the data in the cache of the drive.
        #[cfg(target_vendor = "apple")]
        connection.pragma_update(None, "fullfsync", true).map_err(&failed)?;
        // Without this option, SQLite plans a statement again for each new value.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(&failed)?;
        connection.set_prepared_statement_cache_capacity(64);
        schema::prepare(&mut connection, path)?;
        // Links are resolved once, because changes are reported for the file itself.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut database = Database {
            connection,
            clock,
            bell: Bell::beside(&path),
            locks: process_lock::waiting_folder(&path),
            lock: None,
            requests: Requests::default(),
            waiting: HashMap::new(),
            lists: HashSet::new(),
            file: file_id(&path),
            credential: None,
            has_read_failed: false,
            has_written: false,
            synced: if is_synced { FULL } else { OFF },
            path,
        };
        // The error is ignored, because a read-only store can still be read.
        let _ = database.note_deaths();
        process_lock::forget_dead(&database.locks);
        Ok(database)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn integrity(&mut self) -> Result<Vec<String>, StoreError> {
        let found = self.read(|tx, _| {
            let mut statement = tx.prepare("PRAGMA integrity_check")?;
            Ok(statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?)
        })?;
        Ok(found.into_iter().filter(|line| line != "ok").collect())
    }

    pub(super) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Reads in one transaction, so that all rows are of the same moment. Checks the credential of the call first.
    pub(super) fn read<T>(&mut self, read: impl Work<T>) -> Result<T, StoreError> {
        let credential = self.credential.clone();
        let result = self.transact(Mode::Read, |tx, requests| {
            check_credential(tx, credential.as_deref())?;
            read(tx, requests)
        });
        self.has_read_failed |= matches!(result, Err(StoreError::Unavailable { .. }));
        result
    }

    /// Writes in one transaction that is on disk when this returns. [`step`](askuser::store::step) checks the
    /// credential.
    pub(super) fn transact_synced<T>(&mut self, work: impl Work<T>) -> Result<T, StoreError> {
        self.transact(Mode::Write(self.synced), work)
    }

    pub(super) fn transact_unsynced<T>(&mut self, work: impl Work<T>) -> Result<T, StoreError> {
        self.transact(Mode::Write(self.synced.min(NORMAL)), work)
    }

    /// Writes data that may be lost in a crash of the machine. Checks the credential of the call first.
    pub(super) fn write_unsynced<T>(&mut self, write: impl Work<T>) -> Result<T, StoreError> {
        let credential = self.credential.clone();
        self.transact_unsynced(|tx, requests| {
            check_credential(tx, credential.as_deref())?;
            write(tx, requests)
        })
    }

    /// Runs work in one transaction. Ends the questions past their deadline first.
    fn transact<T>(&mut self, mode: Mode, work: impl Work<T>) -> Result<T, StoreError> {
        // A write to a file that was removed or replaced would be lost.
        if self.file != file_id(&self.path) {
            return Err(unusable(&self.path, "it was removed or replaced meanwhile; start again"));
        }
        let now = self.now();
        let mut tx = begin(&mut self.connection, &self.path, mode)?;
        if is_due(&tx, now).map_err(failed(&self.path, mode.doing()))? {
            drop(tx);
            // If the endings cannot be written, a later call writes them.
            let _ = self.expire(now);
            tx = begin(&mut self.connection, &self.path, mode)?;
        }
        let result = commit(tx, work, &mut self.requests);
        if matches!(mode, Mode::Write(_)) {
            self.has_written();
        }
        result.map_err(|fault| fault.of(&self.path, mode.doing()))
    }

    /// Writes in one synced transaction without looking for deadlines first.
    pub(super) fn write_at_once<T>(&mut self, work: impl Work<T>) -> Result<T, StoreError> {
        let mode = Mode::Write(self.synced);
        let tx = begin(&mut self.connection, &self.path, mode)?;
        let result = commit(tx, work, &mut self.requests);
        self.has_written();
        result.map_err(|fault| fault.of(&self.path, mode.doing()))
    }

    /// Rewrites the file and empties its log, because changed and deleted rows have left text in both.
    ///
    /// # Errors
    /// If another process prevents that. Text may then remain.
    pub(super) fn rewrite(&mut self) -> Result<(), StoreError> {
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

    /// Notifies other processes, and the watchers of this process, of a possible change.
    fn has_written(&mut self) {
        self.bell.ring();
        self.has_written = true;
    }

    pub(super) fn lock(&mut self) -> Result<String, StoreError> {
        if self.lock.is_none() {
            self.lock = Some(ProcessLock::take(&self.locks)?);
        }
        Ok(self.lock.as_ref().map(|lock| lock.name().to_owned()).unwrap_or_default())
    }

    /// Releases the lock of this process if the process neither waits nor shows a list.
    pub(super) fn unlock(&mut self) {
        if self.waiting.is_empty() && self.lists.is_empty() {
            self.lock = None;
        }
    }

    /// Returns the question of a row. Its asker waits if one of its waiters is alive.
    pub(super) fn seen(&self, row: StoredRow) -> StoredQuestion {
        let mut question = row.record.question;
        if question.ending.is_none() && !row.waiters.is_empty() {
            question.asker = if is_any_alive(&self.locks, &row.waiters) {
                AskerPresence::Waits
            } else {
                AskerPresence::Died(question.read_ms)
            };
        }
        question
    }

    /// Returns the time until the next deadline; `None` if there is none. If a deadline has passed, its ending could
    /// not be written, and the time is that until the next attempt.
    pub(super) fn next_due(&mut self) -> Option<Duration> {
        let due = self.due().ok().flatten()?;
        let now = self.now();
        Some(due.checked_sub(now).filter(|left| *left > 0).map_or(OVERDUE, Duration::from_millis))
    }

    fn due(&mut self) -> Result<Option<u64>, StoreError> {
        self.read(|tx, _| {
            let sql = "SELECT min(expires_ms) FROM question WHERE state = 'pending' AND expires_ms IS NOT NULL";
            let due: Option<i64> = tx.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
            Ok(due.map(|due| u64::try_from(due).unwrap_or_default()))
        })
    }

    /// Records which waiters and lists belong to dead processes. Checks only some of the waiters if there are many.
    fn note_deaths(&mut self) -> Result<(), StoreError> {
        let now = self.now();
        let locks = self.locks.clone();
        let mut dead = self.read(|tx, _| {
            let sql = "SELECT n, NULL, asker FROM question WHERE state = 'pending' AND asker IS NOT NULL
                       UNION ALL SELECT question, id, process FROM waiter LIMIT ?1";
            let mut statement = tx.prepare_cached(sql)?;
            let waiter = |row: &Row<'_>| Ok((Waiter { n: row.get(0)?, id: row.get(1)? }, row.get(2)?));
            let rows = statement.query_map([MOST_LOOKED_AT], waiter)?;
            Ok(rows.collect::<Result<Vec<(Waiter, String)>, _>>()?)
        })?;
        dead.retain(|(_, process)| !process_lock::is_alive(&locks, process));
        let mut lists = self.shown_lists()?;
        lists.retain(|process| !process_lock::is_alive(&locks, process));
        if dead.is_empty() && lists.is_empty() {
            return Ok(());
        }
        self.write_unsynced(|tx, _| {
            for (waiter, process) in &dead {
                waiter.remove(tx, process, now, true)?;
            }
            for process in &lists {
                tx.execute("DELETE FROM shown_list WHERE process = ?1", [process])?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

pub(super) fn is_any_alive(locks: &Path, processes: &[String]) -> bool {
    processes.iter().any(|process| process_lock::is_alive(locks, process))
}

pub(super) fn find(
    tx: &Transaction<'_>,
    requests: &mut Requests,
    by: &Principal,
    which: &QuestionRef,
    now: u64,
) -> Result<StoredRow, Fault> {
    let (condition, value) = match (which, by.scope()) {
        (QuestionRef::Id(id), _) => ("id = ?1", id.to_string()),
        (QuestionRef::Key(key), Scope::OfCredential(credential)) => ("key = ?1", key_of(key, Some(credential))),
        (QuestionRef::Key(key), Scope::Of(_)) => ("key = ?1", key_of(key, None)),
        // A person has no credential that asks. The key without a credential comes first, then the only key of that
        // name.
        (QuestionRef::Key(key), _) => (ANY_KEY, key_of(key, None)),
    };
    tx.prepare_cached(&format!("{SELECT} WHERE {condition}"))?
        .query_row([value], |row| Ok(StoredRow::read(row, requests, now)))
        .optional()?
        .unwrap_or_else(|| Err(StoreError::NotFound(which.to_string()).into()))
}

/// The condition that selects a key without a credential, or the key with a credential if only one exists.
const ANY_KEY: &str = "key = ?1 OR key IN (
     SELECT min(key) FROM question WHERE key > rtrim(?1, ']') || ',' AND key < rtrim(?1, ']') || '-' HAVING count(*) = 1)
     ORDER BY length(key) LIMIT 1";

/// Returns the unique key of a question. Each credential has separate keys.
pub(super) fn key_of(key: &RequestKey, credential: Option<&str>) -> String {
    let mut text = key.to_string();
    if let Some(credential) = credential {
        text.truncate(text.len() - 1);
        text = format!("{text},{}]", serde_json::json!(credential));
    }
    text
}

/// Waits a little for another process to finish writing. Returns `false` after too many times.
///
/// SQLite's own handler waits longer each time, up to 100 ms. With many writers, some would be late again and again.
pub(super) fn try_again(times: i32) -> bool {
    // The pause differs between processes, so that they do not retry at the same moment.
    let jitter = times.unsigned_abs().wrapping_mul(7).wrapping_add(std::process::id()) % 5;
    std::thread::sleep(if times < 10 {
        Duration::from_millis(1)
    } else {
        PAUSE + Duration::from_millis(u64::from(jitter)) - Duration::from_millis(2)
    });
    times < TRIES
}

/// Begins a transaction. Sets the `synchronous` mode of a write each time, because the previous one may differ.
fn begin<'a>(connection: &'a mut Connection, path: &Path, mode: Mode) -> Result<Transaction<'a>, StoreError> {
    let failed = failed(path, mode.doing());
    let behavior = match mode {
        Mode::Read => TransactionBehavior::Deferred,
        Mode::Write(synchronous) => {
            connection.pragma_update(None, "synchronous", synchronous).map_err(&failed)?;
            // The write lock is taken at the beginning. So rows do not change between reading and writing them.
            TransactionBehavior::Immediate
        }
    };
    let tx = connection.transaction_with_behavior(behavior).map_err(&failed)?;
    if schema::version(&tx).map_err(&failed)? != schema::VERSION {
        let why = "a newer askuser has changed it meanwhile; start again. What waits in it can still be answered";
        return Err(unusable(path, why));
    }
    Ok(tx)
}

fn unusable(path: &Path, why: &str) -> StoreError {
    StoreError::damaged(format!("cannot use {}", path.display()), why.to_owned())
}

/// Runs work in a transaction and commits the transaction.
fn commit<T>(tx: Transaction<'_>, work: impl Work<T>, requests: &mut Requests) -> Result<T, Fault> {
    let value = work(&tx, requests)?;
    tx.commit()?;
    Ok(value)
}

/// Checks the credential of this id.
///
/// # Errors
/// If the credential was revoked.
fn check_credential(tx: &Transaction<'_>, id: Option<&str>) -> Result<(), Fault> {
    if id.map_or(Ok(true), |id| is_live(tx, id))? { Ok(()) } else { Err(StoreError::revoked().into()) }
}

/// Returns whether the credential with this id exists and is not revoked.
pub(super) fn is_live(tx: &Transaction<'_>, id: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM register WHERE kind = 'credential' AND id = ?1 AND NOT is_revoked)";
    tx.prepare_cached(sql)?.query_row([id], |row| row.get(0))
}

/// Returns whether a pending question has passed its deadline.
fn is_due(tx: &Transaction<'_>, now: u64) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM question WHERE state = 'pending' AND expires_ms <= ?1)";
    tx.prepare_cached(sql)?.query_row([now], |row| row.get(0))
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
