//! The store that needs nothing but a file: SQLite, built in.
//!
//! Whatever must not be lost (a question, its end) is synced before a call returns. What may be lost with the machine, because
//! it only makes life easier (who waits, what was delivered, drafts), is written without a sync of its own: an answer may then
//! be delivered twice, never not at all.

mod fault;
mod schema;

use self::fault::{Fault, failed, unreadable, unwritable};
use crate::changes::Changes;
use crate::presence::{Presence, waiting};
use askuser::store::{
    AskerPresence, Ending, Events, Filter, Listener, Put, Recorded, State, Store, StoreError, StoreEvent,
    StoredQuestion, Watch,
};
use askuser::{Outcome, Request, RequestKey, Resolution, Status, Via, reply};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often a call tries again while another process writes, and how long it waits in between.
const TRIES: i32 = 2_000;
const PAUSE: Duration = Duration::from_millis(5);
/// The longest draft that is kept, in bytes of JSON: four answers of the longest text that may be typed.
const MAX_DRAFT: usize = 64 * 1024;
/// How many questions an ambiguous abbreviation lists.
const CANDIDATES: usize = 5;

/// Tells the time, in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Questions in a file. Any number of processes of one machine may use it at once.
pub struct SqliteStore {
    path: PathBuf,
    connection: Mutex<Connection>,
    clock: Clock,
    changes: Arc<Changes>,
    presence: OnceLock<Presence>,
    /// Which file it was when it was opened.
    file: Option<FileId>,
}

/// What tells a file from another one of its name.
type FileId = (u64, u64);

#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_id(_: &Path) -> Option<FileId> {
    None
}

impl SqliteStore {
    /// Opens a store, or makes it, readable by this user alone.
    ///
    /// # Errors
    /// Where the file cannot be used: not ours, damaged, newer than this program, or somebody else can write it.
    pub fn open(path: &Path) -> Result<SqliteStore, StoreError> {
        crate::presence::private_file(path)?;
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
        connection.pragma_update(None, "synchronous", "full").map_err(&failed)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(&failed)?;
        schema::migrate(&mut connection, path)?;
        // Links are followed once: what changes is the file itself.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let changes = Arc::new(Changes::of(path.clone()));
        let clock: Clock = Arc::new(now_ms);
        let file = file_id(&path);
        Ok(SqliteStore { path, connection: Mutex::new(connection), clock, changes, presence: OnceLock::new(), file })
    }

    /// Telling the time by another clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> SqliteStore {
        SqliteStore { clock, ..self }
    }

    /// Writing without syncing: faster, and anything may be lost with the machine. For tests.
    ///
    /// # Errors
    /// Where the file cannot be used.
    pub fn without_sync(self) -> Result<SqliteStore, StoreError> {
        self.connection().pragma_update(None, "synchronous", "off").map_err(failed(&self.path, "cannot use"))?;
        Ok(self)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What SQLite's own check finds wrong; nothing, if all is well.
    ///
    /// # Errors
    /// Where the check itself fails.
    pub fn integrity(&self) -> Result<Vec<String>, StoreError> {
        let connection = self.connection();
        let check = || {
            let mut statement = connection.prepare("PRAGMA integrity_check")?;
            statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()
        };
        let found = check().map_err(failed(&self.path, "cannot check"))?;
        Ok(found.into_iter().filter(|line| line != "ok").collect())
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic rolls its transaction back: the connection is as good as before.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Reads.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.is_still_there()?;
        read(&self.connection()).map_err(|fault| fault.of(&self.path, "cannot read"))
    }

    /// Writes, synced: it is on the disk when this returns.
    fn write<T>(&self, write: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.is_still_there()?;
        let mut connection = self.connection();
        let result = transact(&mut connection, write).map_err(|fault| fault.of(&self.path, "cannot write"));
        drop(connection);
        self.changes.announce();
        result
    }

    /// Writes what may be lost with the machine.
    fn write_unsynced<T>(&self, write: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.is_still_there()?;
        let mut connection = self.connection();
        let synced: i32 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap_or(2);
        let set = |connection: &Connection, value: i32| connection.pragma_update(None, "synchronous", value);
        let result =
            set(&connection, synced.min(1)).map_err(Fault::from).and_then(|()| transact(&mut connection, write));
        let restored = set(&connection, synced).map_err(Fault::from);
        drop(connection);
        self.changes.announce();
        result.and_then(|value| restored.map(|()| value)).map_err(|fault| fault.of(&self.path, "cannot write"))
    }

    /// A file that was removed or replaced can still be written, and what is written is lost with it.
    fn is_still_there(&self) -> Result<(), StoreError> {
        if self.file == file_id(&self.path) {
            return Ok(());
        }
        let what = format!("cannot use {}", self.path.display());
        Err(StoreError::broken(what, "it was removed or replaced meanwhile; start again"))
    }

    fn presence(&self) -> Result<&Presence, StoreError> {
        if let Some(presence) = self.presence.get() {
            return Ok(presence);
        }
        let presence = Presence::of_this_process(&waiting(&self.path))?;
        Ok(self.presence.get_or_init(|| presence))
    }

    /// A row as others see it. Whoever has died since the row was written is noticed here, and that is kept.
    fn seen(&self, row: StoredRow) -> Result<StoredQuestion, StoreError> {
        let mut question = row.question;
        let Some(asker) = row.asker.filter(|_| question.ending.is_none()) else { return Ok(question) };
        if Presence::is_alive(&waiting(&self.path), &asker) {
            return Ok(question);
        }
        let now = self.now();
        question.asker = AskerPresence::Died(now);
        // A store that cannot be written can still be read.
        let _ = self.write_unsynced(|tx| {
            tx.execute(
                "UPDATE question SET asker = NULL, left_ms = ?1, asker_died = 1 WHERE n = ?2 AND asker = ?3",
                params![now, row.n, asker],
            )?;
            Ok(())
        });
        Ok(question)
    }
}

impl Store for SqliteStore {
    fn put(&self, request: &Request) -> Result<Put, StoreError> {
        let asker = self.presence()?.name().to_owned();
        let now = self.now();
        let expires = request.deadline().map(|deadline| now.saturating_add(deadline.as_millis() as u64));
        let (key, body) = (request.key().to_string(), serde_json::to_string(request).map_err(unwritable)?);
        let (is_new, row) = self.write(|tx| {
            let inserted = tx
                .prepare_cached(
                    "INSERT INTO question (id, key, request, agent, state, asked_ms, expires_ms, asker)
                     VALUES (lower(hex(randomblob(6))), ?1, ?2, ?3, 'pending', ?4, ?5, ?6)
                     ON CONFLICT (key) DO NOTHING",
                )?
                .execute(params![key, body, request.origin().agent, now, expires, asker])?;
            if inserted == 1 {
                let n = tx.last_insert_rowid();
                event(tx, n, State::Pending, now)?;
            } else {
                tx.prepare_cached(
                    "UPDATE question SET asker = ?1, left_ms = NULL, asker_died = 0 WHERE key = ?2 AND state = 'pending'",
                )?
                .execute(params![asker, key])?;
            }
            let row = tx
                .prepare_cached(&format!("{SELECT} WHERE key = ?1"))?
                .query_row([&key], |row| Ok(StoredRow::read(row)))??;
            // What a person reads and decides about. Who asks, and for how long, may have changed since.
            let (stored, asked) = (&row.question.request, request);
            if stored.set().input() != asked.set().input() || stored.context() != asked.context() {
                let other = |request: &Request| {
                    let context = request.context().map(|context| format!(", about {}", serde_json::json!(context)));
                    format!("{}{}", request.set().input(), context.unwrap_or_default())
                };
                let (stored, asked) = (other(stored), other(asked));
                return Err(StoreError::OtherQuestion { key: key.clone(), stored, asked }.into());
            }
            Ok((inserted == 1, row))
        })?;
        Ok(Put { is_new, question: row.question })
    }

    fn get(&self, id: &str) -> Result<StoredQuestion, StoreError> {
        let row = self.read(|connection| find(connection, id))?;
        self.seen(row)
    }

    fn id_of(&self, key: &RequestKey) -> Result<Option<String>, StoreError> {
        self.read(|connection| {
            let mut id = connection.prepare_cached("SELECT id FROM question WHERE key = ?1")?;
            Ok(id.query_row([key.to_string()], |row| row.get(0)).optional()?)
        })
    }

    fn answer(&self, id: &str, resolution: &Resolution, answer_key: &str) -> Result<Recorded, StoreError> {
        if let Status::Unavailable { reason } = resolution.outcome().status() {
            return Err(StoreError::broken("cannot answer: nobody was asked", reason.clone()));
        }
        let now = self.now();
        self.write(|tx| {
            let row = find(tx, id)?;
            resolution.outcome().check(row.question.request.set()).map_err(StoreError::Misfit)?;
            let at = now.max(row.question.asked_ms);
            end(tx, row, Ending::Resolved(resolution.clone().with_time(at)), at, Some(answer_key))
        })
    }

    fn withdraw(&self, id: &str, by: &str) -> Result<Recorded, StoreError> {
        let now = self.now();
        self.write(|tx| {
            let row = find(tx, id)?;
            let at = now.max(row.question.asked_ms);
            end(tx, row, Ending::Withdrawn { by: by.to_owned(), at_ms: at }, at, None)
        })
    }

    fn expire(&self) -> Result<Option<u64>, StoreError> {
        const DUE: &str = "SELECT min(expires_ms) FROM question WHERE state = 'pending' AND expires_ms IS NOT NULL";
        let now = self.now();
        let next = |connection: &Connection| Ok(connection.query_row(DUE, [], |row| row.get::<_, Option<u64>>(0))?);
        let due = self.read(next)?;
        if due.is_none_or(|due| due > now) {
            return Ok(due);
        }
        self.write(|tx| {
            let late: Vec<StoredRow> = {
                let sql = format!("{SELECT} WHERE state = 'pending' AND expires_ms <= ?1 ORDER BY n");
                let mut statement = tx.prepare_cached(&sql)?;
                let rows = statement.query_map([now], |row| Ok(StoredRow::read(row)))?;
                rows.collect::<Result<Vec<_>, _>>()?.into_iter().collect::<Result<_, _>>()?
            };
            for row in late {
                let timed_out = Outcome::timed_out().through(Via::Inbox).with_time(now);
                end(tx, row, Ending::Resolved(timed_out), now, None)?;
            }
            next(tx)
        })
    }

    fn hold(&self, id: &str) -> Result<(), StoreError> {
        self.write(|tx| {
            let row = find(tx, id)?;
            tx.execute("UPDATE question SET expires_ms = NULL WHERE n = ?1 AND state = 'pending'", [row.n])?;
            Ok(())
        })
    }

    fn attach(&self, id: &str) -> Result<(), StoreError> {
        let asker = self.presence()?.name().to_owned();
        self.write_unsynced(|tx| {
            let row = find(tx, id)?;
            tx.execute(
                "UPDATE question SET asker = ?1, left_ms = NULL, asker_died = 0 WHERE n = ?2",
                params![asker, row.n],
            )?;
            Ok(())
        })
    }

    fn detach(&self, id: &str) -> Result<(), StoreError> {
        let (asker, now) = (self.presence()?.name().to_owned(), self.now());
        self.write_unsynced(|tx| {
            let row = find(tx, id)?;
            // Another process may have attached meanwhile.
            tx.execute(
                "UPDATE question SET asker = NULL, left_ms = ?1 WHERE n = ?2 AND asker = ?3",
                params![now, row.n, asker],
            )?;
            Ok(())
        })
    }

    fn delivered(&self, id: &str) -> Result<(), StoreError> {
        let now = self.now();
        self.write_unsynced(|tx| {
            let row = find(tx, id)?;
            tx.execute(
                "UPDATE question SET delivered_ms = ?1, asker = NULL
                 WHERE n = ?2 AND state <> 'pending' AND delivered_ms IS NULL",
                params![now, row.n],
            )?;
            Ok(())
        })
    }

    fn save_draft(&self, id: &str, draft: Option<&Value>) -> Result<(), StoreError> {
        let text = draft.map(Value::to_string);
        if let Some(length) = text.as_ref().map(String::len).filter(|length| *length > MAX_DRAFT) {
            let why = format!("it has {length} bytes, at most {MAX_DRAFT} are kept");
            return Err(StoreError::broken("cannot keep the draft", why));
        }
        self.write_unsynced(|tx| {
            let row = find(tx, id)?;
            tx.execute("DELETE FROM draft WHERE question = ?1", [row.n])?;
            if let (Some(text), None) = (text, &row.question.ending) {
                tx.execute("INSERT INTO draft (question, answers) VALUES (?1, ?2)", params![row.n, text])?;
            }
            Ok(())
        })
    }

    fn draft(&self, id: &str) -> Result<Option<Value>, StoreError> {
        self.read(|connection| {
            let row = find(connection, id)?;
            let text = connection
                .query_row("SELECT answers FROM draft WHERE question = ?1", [row.n], |row| row.get::<_, String>(0))
                .optional()?;
            Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
        })
    }

    fn list(&self, filter: &Filter) -> Result<Vec<StoredQuestion>, StoreError> {
        let rows = self.read(|connection| {
            let order = if filter.latest_first { "DESC" } else { "ASC" };
            let sql = format!("{SELECT} WHERE {} ORDER BY n {order} LIMIT ?4 OFFSET ?5", conditions(filter));
            let mut statement = connection.prepare_cached(&sql)?;
            bind(&mut statement, filter)?;
            statement.raw_bind_parameter(4, filter.limit.map_or(-1, i64::from))?;
            statement.raw_bind_parameter(5, filter.offset)?;
            let mut rows = statement.raw_query();
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                // A question of a later version that cannot be rebuilt here must not hide the others.
                found.extend(StoredRow::read(row).ok());
            }
            Ok(found)
        })?;
        rows.into_iter().map(|row| self.seen(row)).collect()
    }

    fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        self.read(|connection| {
            let sql = format!("SELECT count(*) FROM question WHERE {}", conditions(filter));
            let mut statement = connection.prepare_cached(&sql)?;
            bind(&mut statement, filter)?;
            let mut rows = statement.raw_query();
            Ok(rows.next()?.map_or(Ok(0), |row| row.get(0))?)
        })
    }

    fn events(&self, after: u64, limit: u32) -> Result<Events, StoreError> {
        self.read(|connection| {
            let bounds = "SELECT coalesce(min(seq), 1), coalesce(max(seq), 0) FROM event";
            let (first, last): (u64, u64) =
                connection.prepare_cached(bounds)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let mut statement = connection.prepare_cached(
                "SELECT event.seq, question.id, event.state, event.at_ms FROM event
                 JOIN question ON question.n = event.question WHERE event.seq > ?1 ORDER BY event.seq LIMIT ?2",
            )?;
            let events = statement.query_map(params![after, limit], |row| {
                let state = State::named(&row.get::<_, String>(2)?).unwrap_or(State::Pending);
                Ok(StoreEvent { seq: row.get(0)?, id: row.get(1)?, state, at_ms: row.get(3)? })
            })?;
            Ok(Events { events: events.collect::<Result<_, _>>()?, gap: after + 1 < first || after > last })
        })
    }

    fn last_event(&self) -> Result<u64, StoreError> {
        self.read(|connection| {
            let mut last = connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM event")?;
            Ok(last.query_row([], |row| row.get(0))?)
        })
    }

    fn watch(&self, listener: Listener) -> Result<Watch, StoreError> {
        self.changes.listen(listener)
    }
}

/// What a filter demands; its values are [`bind`]'s.
fn conditions(filter: &Filter) -> String {
    let mut conditions = Vec::new();
    match filter.pending {
        Some(true) => conditions.push("state = 'pending'"),
        Some(false) => conditions.push("state <> 'pending'"),
        None => {}
    }
    if filter.since_ms.is_some() {
        conditions.push("asked_ms >= ?1");
    }
    if filter.from.is_some() {
        conditions.push("instr(lower(agent), lower(?2)) > 0");
    }
    if filter.containing.is_some() {
        conditions.push("instr(lower(request), lower(?3)) > 0");
    }
    if conditions.is_empty() { "1".into() } else { conditions.join(" AND ") }
}

/// Parameters have numbers of their own, since not every one is used.
fn bind(statement: &mut rusqlite::Statement<'_>, filter: &Filter) -> rusqlite::Result<()> {
    if let Some(since) = filter.since_ms {
        statement.raw_bind_parameter(1, since)?;
    }
    if let Some(from) = &filter.from {
        statement.raw_bind_parameter(2, from)?;
    }
    if let Some(text) = &filter.containing {
        statement.raw_bind_parameter(3, text)?;
    }
    Ok(())
}

const SELECT: &str = "SELECT n, id, request, state, asked_ms, expires_ms, resolution, ended_by, ended_ms, answer_key, \
                      delivered_ms, asker, left_ms, asker_died FROM question";

struct StoredRow {
    n: i64,
    answer_key: Option<String>,
    /// The process that waits, as far as the row knows.
    asker: Option<String>,
    question: StoredQuestion,
}

impl StoredRow {
    fn read(row: &Row<'_>) -> Result<StoredRow, Fault> {
        let request: String = row.get("request")?;
        let request: Request = serde_json::from_str(&request).map_err(unreadable)?;
        let (by, at): (Option<String>, Option<u64>) = (row.get("ended_by")?, row.get("ended_ms")?);
        let ending = match (row.get::<_, Option<String>>("resolution")?, row.get::<_, String>("state")?.as_str()) {
            (_, "pending") => None,
            (Some(resolution), _) => {
                let resolution: Value = serde_json::from_str(&resolution).map_err(unreadable)?;
                Some(Ending::Resolved(reply::resolution(request.set(), &resolution).map_err(unreadable)?))
            }
            (None, _) => Some(Ending::Withdrawn { by: by.unwrap_or_default(), at_ms: at.unwrap_or_default() }),
        };
        let asked_ms = row.get("asked_ms")?;
        let (asker, left): (Option<String>, Option<u64>) = (row.get("asker")?, row.get("left_ms")?);
        let presence = match (&asker, row.get("asker_died")?) {
            (Some(_), _) => AskerPresence::Waits,
            (None, true) => AskerPresence::Died(left.unwrap_or(asked_ms)),
            (None, false) => AskerPresence::Left(left.unwrap_or(asked_ms)),
        };
        Ok(StoredRow {
            n: row.get("n")?,
            answer_key: row.get("answer_key")?,
            asker,
            question: StoredQuestion {
                id: row.get("id")?,
                request,
                asked_ms,
                expires_ms: row.get("expires_ms")?,
                ending,
                delivered_ms: row.get("delivered_ms")?,
                asker: presence,
            },
        })
    }
}

/// The question that an id, or the beginning of one, names.
fn find(connection: &Connection, id: &str) -> Result<StoredRow, Fault> {
    let missing = || StoreError::NoSuchQuestion(id.to_owned());
    // Ids are hexadecimal: anything else names nothing, and is no pattern either.
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(missing().into());
    }
    let id = id.to_ascii_lowercase();
    let sql = format!("{SELECT} WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT {}", CANDIDATES + 1);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([&id])?;
    let mut found: Vec<Result<StoredRow, Fault>> = Vec::new();
    let mut names = Vec::new();
    while let Some(row) = rows.next()? {
        names.push(row.get::<_, String>("id")?);
        found.push(StoredRow::read(row));
    }
    match names.iter().position(|name| *name == id) {
        Some(exact) => found.swap_remove(exact),
        None if found.len() == 1 => found.swap_remove(0),
        None if found.is_empty() => Err(missing().into()),
        None => Err(StoreError::Ambiguous { id, candidates: names }.into()),
    }
}

/// Ends a question if it is pending: the one update that decides who was first, with its event.
fn end(
    tx: &Transaction<'_>,
    row: StoredRow,
    ending: Ending,
    at: u64,
    answer_key: Option<&str>,
) -> Result<Recorded, Fault> {
    let resolution = ending.resolution().map(serde_json::to_string).transpose().map_err(unwritable)?;
    let changed = tx
        .prepare_cached(
            "UPDATE question SET state = ?1, resolution = ?2, ended_by = ?3, ended_ms = ?4, answer_key = ?5, expires_ms = NULL
             WHERE n = ?6 AND state = 'pending'",
        )?
        .execute(params![ending.state().name(), resolution, ending.by(), at, answer_key, row.n])?;
    if changed == 1 {
        event(tx, row.n, ending.state(), at)?;
        tx.prepare_cached("DELETE FROM draft WHERE question = ?1")?.execute([row.n])?;
        return Ok(Recorded::Won(ending));
    }
    match row.question.ending {
        Some(ending) if answer_key.is_some() && row.answer_key.as_deref() == answer_key => Ok(Recorded::Won(ending)),
        Some(ending) => Ok(Recorded::Lost(ending)),
        None => Err(StoreError::NoSuchQuestion(row.question.id).into()),
    }
}

fn event(tx: &Transaction<'_>, question: i64, state: State, at: u64) -> Result<(), Fault> {
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
    write: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    // Immediate: whoever reads in order to write must not find that it has changed in between.
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = write(&tx)?;
    tx.commit()?;
    Ok(value)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}
