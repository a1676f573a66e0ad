//! The log of a session: an append-only file with one JSON object per line, each written before it takes effect.
//!
//! A process may be killed at any byte. Every complete line is read back. [`History`] then finds the next step, as in
//! the running loop, so there is only one way to continue.

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

/// The log of a session. Clones write to the same file.
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
    /// The lines read when it was opened.
    read_back: Vec<Line>,
    /// The entries that open calls may need.
    open: Vec<Line>,
    mode: Option<PermissionMode>,
    model: Option<RecordedModel>,
}

/// A session in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The id.
    pub id: String,
    /// The working folder.
    pub cwd: PathBuf,
    /// The person's first message.
    pub opening: String,
    /// The time of the last entry.
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
    /// A transcript in memory.
    pub fn in_memory() -> Transcript {
        Transcript::from(Inner { id: new_id(), ..Inner::default() })
    }

    /// Creates a session's transcript in a folder, which is created if necessary.
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
        // A file that was just created belongs to no other session.
        take(&file);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let entry = Entry::Session { id: id.clone(), cwd: cwd.to_owned(), version };
        let file = Some((path, file));
        let transcript = Transcript::from(Inner { id, cwd: cwd.to_owned(), file, ..Inner::default() });
        transcript.append(&[], &entry)?;
        transcript.sync()?;
        // The name must survive, too. Some systems cannot sync a folder; the file matters most.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
        Ok(transcript)
    }

    /// Opens a session's transcript to continue it.
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
            // Its questions have keys with the other name, so their answers would not be found.
            Some(Line { entry: Entry::Session { .. }, .. }) => {
                return Err(damaged(1, "begins a session of another name".into()));
            }
            _ => return Err(damaged(1, "does not begin a session".into())),
        };
        // The repair waits until the file is known to be a transcript. A partial last line was being written when the
        // process died and has not taken effect.
        if lacks_only_its_end {
            file.write_all(b"\n").map_err(failed)?;
        } else if whole < bytes.len() {
            file.set_len(whole as u64).and_then(|()| file.seek(io::SeekFrom::End(0))).map_err(failed)?;
        }
        let mut inner = Inner { id: id.to_owned(), cwd, file: Some((path, file)), ..Inner::default() };
        lines.iter().for_each(|line| inner.remember(line));
        Ok(Transcript::from(Inner { read_back: lines, ..inner }))
    }

    /// The sessions in a folder, newest first.
    pub fn list(folder: &Path) -> Vec<Session> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut sessions: Vec<Session> = entries.filter_map(|entry| session(&entry.path())).collect();
        sessions.sort_by(|a, b| (b.changed, &b.id).cmp(&(a.changed, &a.id)));
        sessions
    }

    /// The id of the session.
    pub fn id(&self) -> String {
        self.inner().id.clone()
    }

    /// The working folder of the session.
    pub fn cwd(&self) -> PathBuf {
        self.inner().cwd.clone()
    }

    /// The path of the file, if there is one.
    pub fn path(&self) -> Option<PathBuf> {
        self.inner().file.as_ref().map(|(path, _)| path.clone())
    }

    /// Appends an entry. It survives a crash of the process at once, and of the machine after [`Transcript::sync`].
    pub(crate) fn append(&self, tasks: &[String], entry: &Entry) -> Result<(), TranscriptError> {
        let mut inner = self.inner();
        let line = Line { at: now(), tasks: tasks.to_vec(), entry: entry.clone() };
        if let Some((path, file)) = &mut inner.file {
            let failed = |source| TranscriptError::File { path: path.clone(), source };
            let mut bytes = serde_json::to_vec(&line).map_err(|error| failed(error.into()))?;
            bytes.push(b'\n');
            let before = file.stream_position().map_err(failed)?;
            file.write_all(&bytes).map_err(|source| {
                // A partial line would corrupt the next one.
                let _ = file.set_len(before).and_then(|()| file.seek(io::SeekFrom::End(0)));
                failed(source)
            })?;
        }
        inner.remember(&line);
        #[cfg(test)]
        tests::UNSYNCED.set(tests::UNSYNCED.get() + 1);
        Ok(())
    }

    /// Returns once all entries are on disk.
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

    /// The conversation as read back; the current one for a subagent.
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

    /// The files that the model had read and written at the opening; the current ones for a subagent.
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

    /// The last question of an open call, and its outcome.
    pub(crate) fn question(&self, tasks: &[String], call: &str, purpose: Purpose) -> Option<RecordedQuestion> {
        RecordedQuestion::find(&self.inner().open, tasks, call, purpose)
    }

    /// The unanswered questions in the order in which they were asked.
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

    /// Whether an open call, or its subagent, was shown to the person or has started.
    pub(crate) fn has_asked_or_started(&self, tasks: &[String], call: &str) -> bool {
        self.has(tasks, call, |entry| matches!(entry, Entry::Asked { .. } | Entry::Started { .. }))
    }

    /// Whether an open call, or its subagent, has started. A request for permission is no start.
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

    /// The outcomes of questions that the subagent of an open call asked, as its model would have read them.
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

    /// The calls that halted their siblings: the tasks that contain them, and their results.
    pub(crate) fn halts(&self) -> Vec<(Vec<String>, Halt, Option<String>)> {
        let inner = self.inner();
        let open = &inner.open;
        let halt = |line: &Line| match &line.entry {
            Entry::Result { id, name, result, halt } => {
                let path = if line.tasks.is_empty() { vec![id.clone()] } else { line.tasks.clone() };
                Some((path, (*halt)?, Some(format!("{name}: {}", result.output))))
            }
            // The interruption may have come before the result.
            Entry::Outcome { id, purpose, .. } if !line.tasks.is_empty() => {
                let recorded = RecordedQuestion::find(open, &line.tasks, id, *purpose)?;
                Some((line.tasks.clone(), recorded.halt(*purpose)?, None))
            }
            _ => None,
        };
        // An invalid input concerns its own message alone.
        open.iter().filter_map(halt).filter(|(_, halt, _)| *halt != Halt::NotAsked).collect()
    }

    pub(crate) fn mode(&self) -> Option<PermissionMode> {
        self.inner().mode
    }

    /// The model of the last response; `None` for a script.
    pub fn model(&self) -> Option<RecordedModel> {
        self.inner().model.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Keeps the state that an open call needs after an interruption, even without a restart. That is its start, its
    /// questions and answers, its halts, and its subagent's entries. The result of the call deletes it.
    fn remember(&mut self, line: &Line) {
        let is_main = line.tasks.is_empty();
        match &line.entry {
            Entry::Result { id, .. } => {
                let subagent: Vec<String> = line.tasks.iter().chain([id]).cloned().collect();
                self.open.retain(|other| {
                    // Whether a subagent has started work matters while its call is open.
                    let own = is_main && other.tasks.is_empty() && other.entry.call() == Some(id);
                    !own && !other.tasks.starts_with(&subagent)
                });
            }
            // These end every open call.
            Entry::User { .. } | Entry::Interrupted | Entry::Cleared if is_main => self.open.clear(),
            // The model has read the results of the previous message.
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

/// The file of a session. An id is a name, not a path.
fn session_path(folder: &Path, id: &str) -> Option<PathBuf> {
    (!id.is_empty() && !id.contains(['/', '\\', '.'])).then(|| folder.join(format!("{id}.jsonl")))
}

/// Opens and locks the file of a session, and reads it.
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

/// Deletes the files beside sessions that no longer exist: replaced contents, long outputs, and typed text.
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

/// Locks a file for this process; `false` if another process has it. On a file system without locks the session works
/// without.
fn take(file: &File) -> bool {
    // A killed process that was about to run a command holds the lock a moment longer.
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

/// A new id. Ids sort by time, and a random part distinguishes concurrent ones. The id is part of question keys, and
/// two questions with one key would share an answer.
fn new_id() -> String {
    let chance = RandomState::new().build_hasher().finish();
    format!("{:011x}-{:08x}", now(), chance as u32)
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
