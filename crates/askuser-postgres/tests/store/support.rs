use crate::worker;
use askuser::input::QuestionInput;
use askuser::store::{Attempt, Credentials, Handle, Principal, QuestionId, Series, Store};
use askuser::{Origin, Outcome, QuestionSet, Request, RequestKey, Rules, Via};
use askuser_conformance::{PostgresServer, credentials, kills, until, wait};
use askuser_postgres::{Options, PostgresStore};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

pub(crate) fn set() -> QuestionSet {
    let question = QuestionInput::new("Which one?", "Pick").option("A", "The first").option("B", "The second");
    QuestionSet::new([question], &Rules::strict()).unwrap()
}

pub(crate) fn request(call: &str) -> Request {
    Request::new(RequestKey::new("session", call), set()).with_origin(origin())
}

fn origin() -> Origin {
    Origin::default().with_agent("tester").with_folder("/project")
}

/// Returns an answer that chooses this option.
pub(crate) fn choice(option: usize) -> Outcome {
    let answer = set().questions()[0].answer(&[option], None, None).unwrap();
    Outcome::answered(&set(), vec![answer]).unwrap()
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
pub(crate) fn ask(store: &Arc<dyn Store>, call: &str) -> QuestionId {
    let put = wait(agent(store).put(&request(call), None)).unwrap();
    wait(put.attachment.detach()).unwrap();
    put.question.id
}

/// A connection for the test's own statements.
pub(crate) struct Sql {
    runtime: Runtime,
    client: Client,
}

impl Sql {
    pub(crate) fn connect(address: &str) -> Sql {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (client, connection) = runtime.block_on(tokio_postgres::connect(address, NoTls)).unwrap();
        runtime.spawn(connection);
        Sql { runtime, client }
    }

    pub(crate) fn run(&self, sql: &str) {
        self.runtime.block_on(self.client.batch_execute(sql)).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// Runs a statement and returns its single number.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.runtime.block_on(self.client.query_one(sql, &[])).unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0)
    }
}

/// A server with a database for one test, and a clock that moves only when it is set.
pub(crate) struct Place {
    // The connection comes first, so that it is closed while the server still runs.
    sql: std::sync::Mutex<Sql>,
    address: String,
    server: Option<PostgresServer>,
}

/// Returns from the test if PostgreSQL is not installed.
macro_rules! or_skip {
    () => {
        match $crate::support::Place::new() {
            Some(place) => place,
            None => return,
        }
    };
}
pub(crate) use or_skip;

/// The duration of a lease. It is short, so that deaths are noticed soon. Leases use the real time, not the test's
/// clock.
pub(crate) const LEASE: Duration = Duration::from_secs(4);

pub(crate) fn options() -> Options {
    let mut options = Options::default();
    options.lease = LEASE;
    options
}

impl Place {
    pub(crate) fn new() -> Option<Place> {
        Place::with(&["fsync=off"])
    }

    pub(crate) fn with(settings: &[&str]) -> Option<Place> {
        let server = PostgresServer::start(settings)?;
        drop(PostgresStore::open(&server.address(), options()).unwrap());
        let sql = Sql::connect(&server.address());
        sql.run(
            "CREATE TABLE test_clock (ms bigint); INSERT INTO test_clock VALUES (1000000);
             CREATE OR REPLACE FUNCTION askuser.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
                 AS 'SELECT ms FROM public.test_clock'",
        );
        Some(Place { sql: sql.into(), address: server.address(), server: Some(server) })
    }

    pub(crate) fn store(&self) -> PostgresStore {
        PostgresStore::open(&self.address, options()).unwrap_or_else(|error| panic!("{}", error.chain()))
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the folder of the server's socket.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.server.as_ref().unwrap().folder()
    }

    /// Takes the server out of the place, so that a test can stop it while threads borrow the place.
    pub(crate) fn take_server(&mut self) -> PostgresServer {
        self.server.take().unwrap()
    }

    pub(crate) fn put_server_back(&mut self, server: PostgresServer) {
        self.sql = Sql::connect(&self.address).into();
        self.server = Some(server);
    }

    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.sql.lock().unwrap().number(sql)
    }

    /// Returns the number of assigned event numbers without an event. The event was lost or purged.
    pub(crate) fn holes(&self) -> i64 {
        self.number("SELECT (SELECT last FROM askuser.numbering) - count(seq) FROM askuser.event")
    }

    pub(crate) fn run(&self, sql: &str) {
        self.sql.lock().unwrap().run(sql);
    }
}

impl askuser_conformance::Place for Place {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.store())
    }

    fn set_time(&self, ms: u64) {
        self.run(&format!("UPDATE test_clock SET ms = {ms}"));
    }

    fn with_credential(&self, by: &Principal) -> Principal {
        credentials::with_credential(&self.store(), by)
    }

    fn revoke(&self, by: &Principal) {
        credentials::revoke(&self.store(), by);
    }

    fn die_waiting(&self, request: &Request, series: Option<&Series>) -> QuestionId {
        kills::die_waiting(|job| worker::command(job, &self.address), request, series)
    }

    /// The number is lower than the default, because each step takes at least one round trip.
    fn steps(&self) -> usize {
        10_000
    }

    /// Returns the problems: questions that do not have one event for each change. Waits until all events are numbered,
    /// which happens shortly after a write.
    fn damage(&self) -> Vec<String> {
        let unnumbered = || self.number("SELECT count(*) FROM askuser.event WHERE seq IS NULL");
        until("every event has its number", || unnumbered() == 0);
        let sql = "SELECT count(*) FROM askuser.question q
             WHERE (SELECT count(*) FROM askuser.event e WHERE e.question = q.n) <> CASE q.state WHEN 'pending' THEN 1 ELSE 2 END";
        match self.number(sql) {
            0 => Vec::new(),
            count => vec![format!("{count} questions that have not exactly one event for each change")],
        }
    }
}

impl credentials::CredentialsPlace for Place {
    fn credentials(&self) -> Arc<dyn Credentials> {
        Arc::new(self.store())
    }
}
