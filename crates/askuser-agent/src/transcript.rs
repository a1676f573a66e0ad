//! The transcript of a session. It is an append-only file with one JSON object per line. Each line is written before
//! its event takes effect.
//!
//! A process may be killed at any byte. Every complete line is read back. Then [`History`] finds the next step, as in
//! the running loop. So a resume and the running loop share one code path.

mod entry;
mod history;
mod questions;
mod replay;

use entry::Line;
pub(crate) use entry::{Entry, Halt, Verbatim};
pub(crate) use history::{History, Next, interrupted};
pub(crate) use questions::RecordedQuestion;

use crate::model::RecordedModel;
use crate::permission::PermissionMode;
use crate::regular_file::{self, Links};
use crate::tools::SeenFiles;
use askuser::{Purpose, Request};
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The transcript of a session. Clones write to the same file.
///
/// ```
/// use askuser_agent::{Agent, Script, Transcript};
/// use futures_util::StreamExt;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let transcript = Transcript::create(folder.path(), folder.path())?;
/// let id = transcript.id();
/// let model = Script::parse(r#"{"turns": [{"text": "Hello."}]}"#)?;
/// let mut agent = Agent::new(model.clone()).with_transcript(transcript);
/// agent.run("Hi").collect::<Vec<_>>().await;
/// drop(agent);
/// // Another process goes on where this one was.
/// let again = Agent::new(model).with_transcript(Transcript::open(folder.path(), &id)?);
/// assert_eq!(again.messages().len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Transcript(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    id: String,
    cwd: PathBuf,
    file: Option<(PathBuf, File)>,
    /// The lines that were read when the transcript was opened.
    read_back: Vec<Line>,
    /// The entries that open calls may need later.
    open: Vec<Line>,
    mode: Option<PermissionMode>,
    model: Option<RecordedModel>,
}

/// A stored session, as [`Transcript::list`] shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The id of the session.
    pub id: String,
    /// The working folder of the session.
    pub cwd: PathBuf,
    /// The first message of the person.
    pub opening: String,
    /// The time when the file was last changed.
    pub changed: SystemTime,
}

/// The reason why a session cannot be stored or resumed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum TranscriptError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("there is no session {id} in {}", folder.display())]
    Missing { id: String, folder: PathBuf },
    #[error("session {id} is open in another process")]
    InUse { id: String },
    #[error("{}, line {line}: {fact}", path.display())]
    Damaged { path: PathBuf, line: usize, fact: String },
}

impl Transcript {
    /// Creates a transcript that is only in memory.
    pub fn in_memory() -> Transcript {
        Transcript::from(Inner { id: new_id(), ..Inner::default() })
    }

    /// Creates the transcript of a new session in a folder. Creates the folder if necessary.
    pub fn create(folder: &Path, cwd: &Path) -> Result<Transcript, TranscriptError> {
        regular_file::make_private_folder(folder)
            .map_err(|source| TranscriptError::File { path: folder.to_owned(), source })?;
        let id = new_id();
        let path = folder.join(format!("{id}.jsonl"));
        let file = match regular_file::private().create_new(true).open(&path) {
            Ok(file) => file,
            Err(source) => return Err(TranscriptError::File { path, source }),
        };
        remove_leftovers(folder);
        // The lock always succeeds, because no other process knows the new file.
        take(&file);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let entry = Entry::Session { id: id.clone(), cwd: cwd.to_owned(), version };
        let file = Some((path, file));
        let transcript = Transcript::from(Inner { id, cwd: cwd.to_owned(), file, ..Inner::default() });
        transcript.append(&[], &entry)?;
        transcript.sync()?;
        // The file's name must survive a crash, too. Some systems cannot sync a folder, so errors are ignored.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
        Ok(transcript)
    }

    /// Opens the transcript of a session in order to continue it.
    pub fn open(folder: &Path, id: &str) -> Result<Transcript, TranscriptError> {
        let (path, mut file, bytes) = read_file(folder, id)?;
        let failed = |source| TranscriptError::File { path: path.clone(), source };
        let damaged = |line, fact| TranscriptError::Damaged { path: path.clone(), line, fact };
        let whole = entry::end_of_lines(&bytes);
        let mut lines = entry::read(&bytes[..whole]).map_err(|bad| damaged(bad.line, bad.fact))?;
        let last = serde_json::from_slice::<Line>(&bytes[whole..]).ok();
        let lacks_only_its_end = last.is_some();
        lines.extend(last);
        let cwd = match lines.first() {
            Some(Line { entry: Entry::Session { id: own, cwd, .. }, .. }) if own == id => cwd.clone(),
            // The keys of its questions contain the other id, so their answers would not be found.
            Some(Line { entry: Entry::Session { .. }, .. }) => {
                return Err(damaged(1, "begins a session of another name".into()));
            }
            _ => return Err(damaged(1, "does not begin a session".into())),
        };
        // The file is repaired only now, when it is known to be a transcript. A partial last line has not taken effect,
        // because the process died while writing it.
        if lacks_only_its_end {
            file.write_all(b"\n").map_err(failed)?;
        } else if whole < bytes.len() {
            file.set_len(whole as u64).and_then(|()| file.seek(io::SeekFrom::End(0))).map_err(failed)?;
        }
        let mut inner = Inner { id: id.to_owned(), cwd, file: Some((path, file)), ..Inner::default() };
        lines.iter().for_each(|line| inner.remember(line));
        Ok(Transcript::from(Inner { read_back: lines, ..inner }))
    }

    /// Returns the sessions in a folder, newest first.
    pub fn list(folder: &Path) -> Vec<Session> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut sessions: Vec<Session> = entries.filter_map(|entry| session(&entry.path())).collect();
        sessions.sort_by(|a, b| (b.changed, &b.id).cmp(&(a.changed, &a.id)));
        sessions
    }

    /// Returns the id of the session.
    pub fn id(&self) -> String {
        self.inner().id.clone()
    }

    /// Returns the working folder of the session.
    pub fn cwd(&self) -> PathBuf {
        self.inner().cwd.clone()
    }

    /// Returns the path of the file; `None` if the transcript is only in memory.
    pub fn path(&self) -> Option<PathBuf> {
        self.inner().file.as_ref().map(|(path, _)| path.clone())
    }

    /// Appends an entry. The entry survives a crash of the process immediately, and a crash of the machine after
    /// [`Transcript::sync`].
    pub(crate) fn append(&self, tasks: &[String], entry: &Entry) -> Result<(), TranscriptError> {
        let mut inner = self.inner();
        let line = Line { at: now(), tasks: tasks.to_vec(), entry: entry.clone() };
        if let Some((path, file)) = &mut inner.file {
            let failed = |source| TranscriptError::File { path: path.clone(), source };
            let mut bytes = serde_json::to_vec(&line).map_err(|error| failed(error.into()))?;
            bytes.push(b'\n');
            let before = file.stream_position().map_err(failed)?;
            file.write_all(&bytes).map_err(|source| {
                // A partial line would corrupt the next line.
                let _ = file.set_len(before).and_then(|()| file.seek(io::SeekFrom::End(0)));
                failed(source)
            })?;
        }
        inner.remember(&line);
        #[cfg(test)]
        tests::UNSYNCED.set(tests::UNSYNCED.get() + 1);
        Ok(())
    }

    /// Waits until all entries are on disk.
    pub(crate) fn sync(&self) -> Result<(), TranscriptError> {
        #[cfg(test)]
        tests::UNSYNCED.set(0);
        match &self.inner().file {
            Some((path, file)) => {
                file.sync_data().map_err(|source| TranscriptError::File { path: path.clone(), source })
            }
            None => Ok(()),
        }
    }

    /// Returns the conversation of the main agent as it was read back, or the current conversation of a subagent.
    pub(crate) fn history(&self, tasks: &[String]) -> History {
        let mut history = History::default();
        let inner = self.inner();
        let lines = if tasks.is_empty() { &inner.read_back } else { &inner.open };
        for line in lines.iter().filter(|line| line.tasks.starts_with(tasks)) {
            match line.tasks.get(tasks.len()) {
                None => history.apply(&line.entry),
                Some(call) if line.entry.begins_call() => history.has_begun(call),
                Some(_) => {}
            }
        }
        history
    }

    /// Returns the files that the main agent's model had seen when the transcript was opened, or the current files of a
    /// subagent.
    pub(crate) fn seen_files(&self, tasks: &[String]) -> SeenFiles {
        let inner = self.inner();
        let lines = if tasks.is_empty() { &inner.read_back } else { &inner.open };
        let begin = lines.iter().rposition(|line| line.entry == Entry::Cleared).unwrap_or_default();
        SeenFiles::recorded(lines[begin..].iter().filter(|line| line.tasks == tasks).filter_map(
            |line| match &line.entry {
                Entry::Result { result, .. } => Some(result),
                _ => None,
            },
        ))
    }

    /// Returns the last question of an open call with its outcome; `None` if the call has asked no such question.
    pub(crate) fn question(&self, tasks: &[String], call: &str, purpose: Purpose) -> Option<RecordedQuestion> {
        RecordedQuestion::find(&self.inner().open, tasks, call, purpose)
    }

    /// Returns the unanswered questions, in the order in which they were asked.
    pub fn pending(&self) -> Vec<Request> {
        let inner = self.inner();
        let open = &inner.open;
        let mut pending: Vec<Request> = Vec::new();
        for (i, line) in open.iter().enumerate() {
            let Entry::Asked { id, request, .. } = &line.entry else { continue };
            let is_its_result = |later: &Line| {
                later.tasks == line.tasks && matches!(&later.entry, Entry::Result { id: ended, .. } if ended == id)
            };
            let key = request.key();
            let recorded = RecordedQuestion::find(open, &key.tasks, &key.call, key.purpose);
            let waits = recorded.filter(|recorded| recorded.resolution.is_none());
            let is_new = pending.iter().all(|other| other.key() != key) && !open[i..].iter().any(is_its_result);
            pending.extend(waits.map(|recorded| recorded.request).filter(|_| is_new));
        }
        pending
    }

    /// Whether an open call has started to act.
    pub(crate) fn has_started(&self, tasks: &[String], wanted: &str) -> bool {
        let started = |line: &Line| matches!(&line.entry, Entry::Started { id } if id == wanted);
        self.inner().open.iter().any(|line| started(line) && line.tasks == tasks)
    }

    /// Whether an open call or its subagent has asked the person or has started to act.
    pub(crate) fn has_asked_or_started(&self, tasks: &[String], call: &str) -> bool {
        self.has(tasks, call, |entry| matches!(entry, Entry::Asked { .. } | Entry::Started { .. }))
    }

    /// Whether an open call or its subagent has begun. A request for permission does not count.
    pub(crate) fn has_begun(&self, tasks: &[String], call: &str) -> bool {
        self.has(tasks, call, Entry::begins_call)
    }

    fn has(&self, tasks: &[String], call: &str, wanted: fn(&Entry) -> bool) -> bool {
        self.inner().open.iter().any(|line| match &line.entry {
            entry if line.tasks == tasks => wanted(entry) && entry.call() == Some(call),
            entry => {
                let below = line.tasks.strip_prefix(tasks).and_then(|below| below.first());
                wanted(entry) && below.is_some_and(|task| task == call)
            }
        })
    }

    /// Returns the outcomes of the questions that the subagent of an open call asked, as the subagent's model would
    /// read them.
    pub(crate) fn outcomes_below(&self, call: &[String]) -> Vec<String> {
        let open = &self.inner().open;
        let outcomes = open.iter().filter(|line| line.tasks.starts_with(call)).filter_map(|line| match &line.entry {
            Entry::Outcome { id, purpose, .. } => {
                RecordedQuestion::find(open, &line.tasks, id, *purpose)?.words(*purpose)
            }
            _ => None,
        });
        outcomes.collect()
    }

    /// Returns the calls that halted later calls: the path of each call, the reason, and its result. The result is
    /// `None` if only the answer was recorded.
    pub(crate) fn halts(&self) -> Vec<(Vec<String>, Halt, Option<String>)> {
        let inner = self.inner();
        let open = &inner.open;
        let halt = |line: &Line| match &line.entry {
            Entry::Result { id, name, result, halt } => {
                let path = if line.tasks.is_empty() { vec![id.clone()] } else { line.tasks.clone() };
                Some((path, (*halt)?, Some(format!("{name}: {}", result.output))))
            }
            // An interruption may have come before the result was recorded.
            Entry::Outcome { id, purpose, .. } if !line.tasks.is_empty() => {
                let recorded = RecordedQuestion::find(open, &line.tasks, id, *purpose)?;
                Some((line.tasks.clone(), recorded.halt(*purpose)?, None))
            }
            _ => None,
        };
        // A question that could not be asked concerns only its own message.
        open.iter().filter_map(halt).filter(|(_, halt, _)| *halt != Halt::NotAsked).collect()
    }

    pub(crate) fn mode(&self) -> Option<PermissionMode> {
        self.inner().mode
    }

    /// Returns the model of the last response; `None` if none was recorded, as for a script.
    pub fn model(&self) -> Option<RecordedModel> {
        self.inner().model.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Keeps the state that an open call needs after an interruption, even without a restart. That is its start, its
    /// questions and answers, its halts, and the entries of its subagent. The result of the call removes this state.
    fn remember(&mut self, line: &Line) {
        let is_main = line.tasks.is_empty();
        match &line.entry {
            Entry::Result { id, .. } => {
                let subagent: Vec<String> = line.tasks.iter().chain([id]).cloned().collect();
                self.open.retain(|other| {
                    // The entries of a subagent stay until its own call has ended.
                    let own = is_main && other.tasks.is_empty() && other.entry.call() == Some(id);
                    !own && !other.tasks.starts_with(&subagent)
                });
            }
            // `User`, `Interrupted` and `Cleared` end every open call.
            Entry::User { .. } | Entry::Interrupted | Entry::Cleared if is_main => self.open.clear(),
            // The model has read the results of the previous message, so they are no longer needed.
            Entry::Assistant { .. } if is_main => {
                self.open.retain(|other| !matches!(other.entry, Entry::Result { .. }));
            }
            Entry::Mode { mode } => self.mode = Some(*mode),
            Entry::Model(model) => self.model = Some(model.clone()),
            _ => {}
        }
        let is_halt = matches!(line.entry, Entry::Result { halt: Some(_), .. });
        if !is_main || is_halt || line.entry.call().is_some() {
            self.open.push(line.clone());
        }
    }
}

impl From<Inner> for Transcript {
    fn from(inner: Inner) -> Transcript {
        Transcript(Arc::new(Mutex::new(inner)))
    }
}

/// Returns the path of a session's file; `None` if the id is not a plain file name.
fn session_path(folder: &Path, id: &str) -> Option<PathBuf> {
    (!id.is_empty() && !id.contains(['/', '\\', '.'])).then(|| folder.join(format!("{id}.jsonl")))
}

/// Opens, locks and reads the file of a session.
fn read_file(folder: &Path, id: &str) -> Result<(PathBuf, File, Vec<u8>), TranscriptError> {
    let missing = || TranscriptError::Missing { id: id.to_owned(), folder: folder.to_owned() };
    let path = session_path(folder, id).ok_or_else(missing)?;
    let mut file = match regular_file::open_with(&mut regular_file::private(), &path, Links::Follow) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing()),
        Err(source) => return Err(TranscriptError::File { path, source }),
    };
    if !take(&file) {
        return Err(TranscriptError::InUse { id: id.to_owned() });
    }
    let mut bytes = Vec::new();
    match file.read_to_end(&mut bytes) {
        Ok(_) => Ok((path, file, bytes)),
        Err(source) => Err(TranscriptError::File { path, source }),
    }
}

/// Deletes the files of sessions that no longer exist: replaced contents, long outputs, and typed text.
fn remove_leftovers(folder: &Path) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let _ = match path.extension().and_then(|end| end.to_str()) {
            _ if path.with_extension("jsonl").exists() => Ok(()),
            Some("undo" | "outputs") => fs::remove_dir_all(path),
            Some("draft") => fs::remove_file(path),
            _ => Ok(()),
        };
    }
}

/// Locks a file for this process. Returns `false` if another process has locked it. On a file system without locks, the
/// session works without a lock.
fn take(file: &File) -> bool {
    // A process that was killed while starting a command holds the lock a moment longer, so this retries.
    let is_free = |attempt: u64| {
        std::thread::sleep(Duration::from_millis(attempt * 10));
        !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    };
    (0..10).any(is_free)
}

fn session(path: &Path) -> Option<Session> {
    if path.extension()? != "jsonl" {
        return None;
    }
    let file = regular_file::open(path, Links::Follow).ok()?;
    let changed = file.metadata().and_then(|metadata| metadata.modified()).ok()?;
    let mut lines = BufReader::new(file).lines().map_while(Result::ok);
    let first = lines.next()?;
    let first = serde_json::from_str::<Line>(&first).ok()?;
    let Entry::Session { id, cwd, .. } = first.entry else { return None };
    if path.file_stem()? != id.as_str() {
        return None;
    }
    let opening = lines.find_map(|line| match serde_json::from_str::<Line>(&line).ok()?.entry {
        Entry::User { text } => Some(text),
        _ => None,
    });
    Some(Session { id, cwd, opening: opening.unwrap_or_default(), changed })
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Returns a new id. Ids sort by time, and a random part distinguishes concurrent ids. Ids must be unique, because they
/// are part of question keys. Two questions with the same key would share an answer.
fn new_id() -> String {
    let chance = RandomState::new().build_hasher().finish();
    format!("{:011x}-{:08x}", now(), chance as u32)
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
