//! What happened, line by line, in a file that only grows: one JSON object each, written before it is acted on.
//!
//! A process may be killed at any byte. Every whole line is read back; the next step is then found by
//! [`History`], which the running loop uses as well, so that there is no second way to continue.

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

/// A session's record. Clones write to the same one.
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
    /// What was there when it was opened.
    read_back: Vec<Line>,
    /// What of it all an open call may need.
    open: Vec<Line>,
    mode: Option<PermissionMode>,
    model: Option<RecordedModel>,
}

/// A session that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub id: String,
    /// Where it worked.
    pub cwd: PathBuf,
    /// The person's first words.
    pub opening: String,
    /// When something was last written.
    pub changed: SystemTime,
}

/// Why a session cannot be kept or resumed.
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
    /// A record that lasts as long as the process.
    pub fn in_memory() -> Transcript {
        Transcript::from(Inner { id: new_id(), ..Inner::default() })
    }

    /// Begins a session's transcript in a folder, which is made if need be.
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
        // A file that was just made belongs to no other session.
        take(&file);
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let entry = Entry::Session { id: id.clone(), cwd: cwd.to_owned(), version };
        let file = Some((path, file));
        let transcript = Transcript::from(Inner { id, cwd: cwd.to_owned(), file, ..Inner::default() });
        transcript.append(&[], &entry)?;
        transcript.sync()?;
        // The name has to survive too. Not every system lets a folder be synced; it is the file that counts.
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
            // Its questions have keys with the other name: their answers would be looked for in vain.
            Some(Line { entry: Entry::Session { .. }, .. }) => {
                return Err(damaged(1, "begins a session of another name".into()));
            }
            _ => return Err(damaged(1, "does not begin a session".into())),
        };
        // Only now, when it is known to be a transcript, is it repaired. A line that was cut off was being written when the
        // process died: it has not been acted on.
        if lacks_only_its_end {
            file.write_all(b"\n").map_err(failed)?;
        } else if whole < bytes.len() {
            file.set_len(whole as u64).and_then(|()| file.seek(io::SeekFrom::End(0))).map_err(failed)?;
        }
        let mut inner = Inner { id: id.to_owned(), cwd, file: Some((path, file)), ..Inner::default() };
        lines.iter().for_each(|line| inner.remember(line));
        Ok(Transcript::from(Inner { read_back: lines, ..inner }))
    }

    /// The sessions in a folder, the last one first.
    pub fn list(folder: &Path) -> Vec<Session> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut sessions: Vec<Session> = entries.filter_map(|entry| session(&entry.path())).collect();
        sessions.sort_by(|a, b| (b.changed, &b.id).cmp(&(a.changed, &a.id)));
        sessions
    }

    /// The session's name.
    pub fn id(&self) -> String {
        self.inner().id.clone()
    }

    /// Where the session works.
    pub fn cwd(&self) -> PathBuf {
        self.inner().cwd.clone()
    }

    /// Where the record is, if it is in a file.
    pub fn path(&self) -> Option<PathBuf> {
        self.inner().file.as_ref().map(|(path, _)| path.clone())
    }

    /// Writes an entry. The process may die right after; the machine may not, until [`Transcript::sync`].
    pub(crate) fn append(&self, tasks: &[String], entry: &Entry) -> Result<(), TranscriptError> {
        let mut inner = self.inner();
        let line = Line { at: now(), tasks: tasks.to_vec(), entry: entry.clone() };
        if let Some((path, file)) = &mut inner.file {
            let failed = |source| TranscriptError::File { path: path.clone(), source };
            let mut bytes = serde_json::to_vec(&line).map_err(|error| failed(error.into()))?;
            bytes.push(b'\n');
            let before = file.stream_position().map_err(failed)?;
            file.write_all(&bytes).map_err(|source| {
                // Half a line would swallow the next one.
                let _ = file.set_len(before).and_then(|()| file.seek(io::SeekFrom::End(0)));
                failed(source)
            })?;
        }
        inner.remember(&line);
        #[cfg(test)]
        tests::UNSYNCED.set(tests::UNSYNCED.get() + 1);
        Ok(())
    }

    /// Returns once everything is on the disk.
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

    /// The conversation as it was read back; a subagent's as it is now.
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

    /// The files that the model had read and written when the record was opened; a subagent's as they are now.
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

    /// The last question that was asked for a call that is still open, and what came of it.
    pub(crate) fn question(&self, tasks: &[String], call: &str, purpose: Purpose) -> Option<RecordedQuestion> {
        RecordedQuestion::find(&self.inner().open, tasks, call, purpose)
    }

    /// The questions that still wait for their answer, in the order they were asked.
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

    /// Whether a call that is still open has begun to act.
    pub(crate) fn has_started(&self, tasks: &[String], wanted: &str) -> bool {
        let started = |line: &Line| matches!(&line.entry, Entry::Started { id } if id == wanted);
        self.inner().open.iter().any(|line| started(line) && line.tasks == tasks)
    }

    /// Whether a call that is still open was shown to the person or has begun, itself or through a subagent.
    pub(crate) fn has_asked_or_started(&self, tasks: &[String], call: &str) -> bool {
        self.has(tasks, call, |entry| matches!(entry, Entry::Asked { .. } | Entry::Started { .. }))
    }

    /// Whether a call that is still open has begun, itself or through a subagent. Asking for a permission is no beginning.
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

    /// The outcomes of the questions that the subagent of an open call asked, as the model would have read them.
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

    /// The calls that ended so that nothing beside them runs: the tasks that lead there, and what was read of it.
    pub(crate) fn halts(&self) -> Vec<(Vec<String>, Halt, Option<String>)> {
        let inner = self.inner();
        let open = &inner.open;
        let halt = |line: &Line| match &line.entry {
            Entry::Result { id, name, result, halt } => {
                let path = if line.tasks.is_empty() { vec![id.clone()] } else { line.tasks.clone() };
                Some((path, (*halt)?, Some(format!("{name}: {}", result.output))))
            }
            // It may have been cut off before there was a result.
            Entry::Outcome { id, purpose, .. } if !line.tasks.is_empty() => {
                let recorded = RecordedQuestion::find(open, &line.tasks, id, *purpose)?;
                Some((line.tasks.clone(), recorded.halt(*purpose)?, None))
            }
            _ => None,
        };
        // What the model got wrong concerns its own message alone.
        open.iter().filter_map(halt).filter(|(_, halt, _)| *halt != Halt::NotAsked).collect()
    }

    pub(crate) fn mode(&self) -> Option<PermissionMode> {
        self.inner().mode
    }

    /// The model that answered last; `None` where a script was followed.
    pub fn model(&self) -> Option<RecordedModel> {
        self.inner().model.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Keeps what an open call may need when its turn is cut off and taken up again, also without the process ending: that it
    /// began to act, what was asked and answered, how it halted, and all of a subagent. Once it has a result, that is forgotten.
    fn remember(&mut self, line: &Line) {
        let is_main = line.tasks.is_empty();
        match &line.entry {
            Entry::Result { id, .. } => {
                let subagent: Vec<String> = line.tasks.iter().chain([id]).cloned().collect();
                self.open.retain(|other| {
                    // That a subagent has begun something is asked as long as it is open.
                    let own = is_main && other.tasks.is_empty() && other.entry.call() == Some(id);
                    !own && !other.tasks.starts_with(&subagent)
                });
            }
            // These give up every open call.
            Entry::User { .. } | Entry::Interrupted | Entry::Cleared if is_main => self.open.clear(),
            // It answers the results of the message before.
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

/// Where a session is. Its id is a name, not a path.
fn session_path(folder: &Path, id: &str) -> Option<PathBuf> {
    (!id.is_empty() && !id.contains(['/', '\\', '.'])).then(|| folder.join(format!("{id}.jsonl")))
}

/// Opens the file of a session, for this process alone, and reads it.
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

/// What was kept beside a session goes with it: what edits replaced, long outputs, and what was typed at a question.
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

/// Takes a file for this process, until it is closed; `false` if another process has it. A file system without locks is no
/// reason not to work.
fn take(file: &File) -> bool {
    // A process that was killed has it a moment longer, if it was just about to run a command.
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

/// Names sort by time. Two at once, in one process or in several, are told apart by chance: a name is a part of the keys
/// of questions, and two questions with one key would share an answer.
fn new_id() -> String {
    let chance = RandomState::new().build_hasher().finish();
    format!("{:011x}-{:08x}", now(), chance as u32)
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
