use crate::worker;
use askuser::input::QuestionInput;
use askuser::store::{Attempt, Credentials, Handle, Principal, QuestionId, Series, Store, StoreError, StoredQuestion};
use askuser::{Origin, Outcome, QuestionSet, Request, RequestKey, Rules, Via};
use askuser_conformance::{credentials, kills, wait};
use askuser_inbox::{Clock, SqliteStore};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// Returns a set with one question that has two options.
pub(crate) fn set(text: &str) -> QuestionSet {
    let question = QuestionInput::new(text, "Pick").option("A", "The first").option("B", "The second");
    QuestionSet::new([question], &Rules::strict()).unwrap()
}

pub(crate) fn origin() -> Origin {
    Origin::default().with_agent("tester").with_folder("/project")
}

pub(crate) fn request(call: &str) -> Request {
    Request::new(RequestKey::new("session", call), set("Which one?")).with_origin(origin())
}

/// Returns an answer that chooses this option.
pub(crate) fn choice(option: usize) -> Outcome {
    let set = set("Which one?");
    let answer = set.questions()[0].answer(&[option], None, None).unwrap();
    Outcome::answered(&set, vec![answer]).unwrap()
}

pub(crate) fn attempt(name: &str) -> Attempt {
    Attempt::new(name)
}

pub(crate) fn agent(store: &Arc<dyn Store>) -> Handle {
    Handle::new(store.clone(), Principal::agent(&origin()))
}

pub(crate) fn person(store: &Arc<dyn Store>, name: &str) -> Handle {
    Handle::new(store.clone(), Principal::person(name, Via::Inbox))
}

/// Puts a request without waiting. Returns the id of the question.
pub(crate) fn ask(store: &Arc<dyn Store>, request: &Request) -> Result<QuestionId, StoreError> {
    let put = wait(agent(store).put(request, None))?;
    wait(put.attachment.detach())?;
    Ok(put.question.id)
}

pub(crate) fn get(store: &Arc<dyn Store>, id: &QuestionId) -> StoredQuestion {
    wait(person(store, "reader").get(id)).unwrap()
}

/// A temporary folder with a store, and a clock that moves only when it is set.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) now: Arc<AtomicU64>,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap(), now: Arc::new(AtomicU64::new(1_000_000)) }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("inbox.sqlite")
    }

    fn clock(&self) -> Clock {
        let now = self.now.clone();
        Arc::new(move || now.load(Ordering::Relaxed))
    }

    /// Returns a connection of another program to the file. It does not sync, so a change is visible as soon as the
    /// store is notified.
    pub(crate) fn connection(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
        connection.pragma_update(None, "synchronous", "off").unwrap();
        connection
    }

    pub(crate) fn sqlite(&self) -> SqliteStore {
        SqliteStore::open_for_test(&self.path(), self.clock(), true).unwrap()
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.sqlite())
    }
}

impl askuser_conformance::Place for Place {
    /// Opens the store without syncs, because these rules do not depend on them.
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(SqliteStore::open_for_test(&self.path(), self.clock(), false).unwrap())
    }

    fn set_time(&self, ms: u64) {
        self.now.store(ms, Ordering::Relaxed);
    }

    fn with_credential(&self, by: &Principal) -> Principal {
        credentials::with_credential(&self.sqlite(), by)
    }

    fn revoke(&self, by: &Principal) {
        credentials::revoke(&self.sqlite(), by);
    }

    fn die_waiting(&self, request: &Request, series: Option<&Series>) -> QuestionId {
        let now = self.now.load(Ordering::Relaxed);
        let start = |job: &str| {
            let mut command = worker::command(job, &self.path());
            command.env("NOW", now.to_string());
            command
        };
        kills::die_waiting(start, request, series)
    }

    /// Returns a lower number than the default, because each step takes several transactions.
    fn steps(&self) -> usize {
        20_000
    }

    fn damage(&self) -> Vec<String> {
        wait(self.sqlite().integrity()).unwrap()
    }
}

impl credentials::CredentialsPlace for Place {
    fn credentials(&self) -> Arc<dyn Credentials> {
        Arc::new(self.sqlite())
    }
}
