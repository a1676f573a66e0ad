//! Numbers what was written, and tells watchers what has happened, in this process or in another.
//!
//! One task does both, at most every [`GATHERED`]: a burst of answers is numbered at once and notified once. A notice of another
//! process is only a hint, since poolers swallow it and a connection can be lost: without any, the task looks every
//! minute, and every second where notices do not arrive.

use crate::database::Database;
use crate::fault::Fault;
use crate::pool::{Connection, Shared};
use crate::store::random_id;
use askuser::store::{Operation, Principal, StoreError, Watch, Watched, Watchers};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::time::Duration;
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client};

/// Where processes hear that something was numbered.
pub(crate) const CHANNEL: &str = "askuser";

/// How long changes are gathered before they are numbered and told.
const GATHERED: Duration = Duration::from_millis(10);
/// How long to leave the database alone at most while there are watchers.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// The same where notices do not arrive, and how soon to look again where the database could not be read.
const DEAF_INTERVAL: Duration = Duration::from_secs(1);
/// How soon to try again to end what has passed its deadline.
const OVERDUE: Duration = Duration::from_millis(100);
/// How soon a notice has to arrive that this process has sent to itself.
const ECHO: Duration = Duration::from_secs(3);
/// How often the connection that listens is asked whether it is there.
const PING: Duration = Duration::from_secs(20);
/// How often to clear away what dead processes have left.
const CLEARING: Duration = Duration::from_secs(300);
/// How many events are read at once.
const BATCH: u32 = 1000;

#[derive(Default)]
pub(crate) struct Follower {
    told: Mutex<Told>,
    wake: Notify,
    /// Something was written here that may have no number yet.
    has_written: Cell<bool>,
    /// Whether the task that listens was started.
    is_listening: Cell<bool>,
    /// Whether notices arrive.
    is_heard: Cell<bool>,
    /// What this process has sent to itself, and has not heard yet.
    echo: RefCell<Option<String>>,
    echoed: Notify,
}

/// Who watches, and what they know.
#[derive(Default)]
struct Told {
    watchers: Watchers,
    /// Those that are told when a credential is revoked, and how many were when they were told last.
    of_revocations: Watchers,
    revoked: u64,
    /// The last event that the watchers were told of.
    last: u64,
    /// The database could not be read for a while.
    is_behind: bool,
}

impl Told {
    fn is_watched(&self) -> bool {
        !self.watchers.is_empty() || !self.of_revocations.is_empty()
    }
}

impl Follower {
    /// Something was written: it gets its number soon, and others hear of it.
    pub(crate) fn has_written(&self) {
        self.has_written.set(true);
        self.wake.notify_one();
    }

    /// A lease is held from now on: somebody has to renew it.
    pub(crate) fn lease_taken(&self) {
        self.wake.notify_one();
    }

    /// Whether notices of other processes arrive.
    pub(crate) fn is_heard(&self) -> bool {
        self.is_heard.get()
    }

    /// A notice has come.
    fn hear(&self, payload: &str) {
        if !payload.is_empty() && self.echo.borrow().as_deref() == Some(payload) {
            self.echo.borrow_mut().take();
            self.echoed.notify_one();
        }
        self.wake.notify_one();
    }
}

/// Numbers and tells, as long as the store is open.
pub(crate) async fn follow(database: Shared<Database>) {
    let (follower, mut cleared) = (&database.follower, Instant::now());
    let mut next: Option<Instant> = None;
    loop {
        let until = next.unwrap_or_else(|| Instant::now() + CLEARING);
        let was_woken = timeout_at(until, follower.wake.notified()).await.is_ok();
        let began = Instant::now();
        let patience = look(&database, was_woken).await;
        next = patience.map(|patience| Instant::now() + patience);
        if cleared.elapsed() >= CLEARING && next.is_some() {
            cleared = Instant::now();
            let _ = database.once(async |connection| database.clear_dead(connection).await).await;
        }
        // What comes in the meantime is done together.
        sleep_until(began + GATHERED).await;
    }
}

/// Does what there is to do; how long to wait before the next look, where nothing happens. Never, where nobody waits for it.
async fn look(database: &Database, was_woken: bool) -> Option<Duration> {
    let follower = &database.follower;
    let mut told = follower.told.lock().await;
    if !was_woken {
        told.watchers.forget_closed();
        told.of_revocations.forget_closed();
    }
    let lease = database.leases.due();
    let is_due = lease.is_some_and(|at| at <= Instant::now());
    let is_watched = told.is_watched();
    // Those whose process has ended before it could number them are numbered by another one.
    let is_to_number = follower.has_written.take() || is_due || (is_watched && !was_woken);
    let looked = database
        .once(async |connection| {
            if is_due {
                database.renew(connection).await?;
            }
            if is_to_number {
                database.number(connection).await?;
            }
            match is_watched {
                true => tell(database, connection, &mut told).await,
                false => Ok(None),
            }
        })
        .await;
    let due = match looked {
        Ok(due) => due,
        Err(Fault::Ours(error @ StoreError::Damaged { .. })) => {
            // To try again is of no use.
            told.watchers.disconnect(&error);
            None
        }
        Err(fault) => {
            told.is_behind = true;
            follower.has_written.set(is_to_number || follower.has_written.get());
            return (fault.is_passing() || is_watched).then_some(DEAF_INTERVAL);
        }
    };
    let lease = database.leases.due().map(|at| at.saturating_duration_since(Instant::now()));
    let poll = is_watched.then(|| if follower.is_heard.get() { POLL_INTERVAL } else { DEAF_INTERVAL });
    [lease, poll, due].into_iter().flatten().min()
}

/// Tells watchers what has happened since; how long until the next deadline.
async fn tell(database: &Database, connection: &Connection, told: &mut Told) -> Result<Option<Duration>, Fault> {
    if !told.of_revocations.is_empty() {
        let revoked = database.revocations(connection).await?;
        if revoked != std::mem::replace(&mut told.revoked, revoked) || told.is_behind {
            told.of_revocations.tell_lagged();
        }
    }
    if told.watchers.is_empty() {
        told.is_behind = false;
        return Ok(None);
    }
    loop {
        let stretch = database.events(connection, told.last, BATCH).await?;
        if stretch.gap || told.is_behind {
            told.last = stretch.last;
            told.is_behind = false;
            told.watchers.tell_lagged();
            break;
        }
        let is_empty = stretch.events.is_empty();
        for event in stretch.events {
            told.last = event.seq;
            told.watchers.tell(&event);
        }
        if is_empty || told.last >= stretch.last {
            // Events that cannot be read here are none of ours.
            told.last = told.last.max(stretch.last);
            break;
        }
    }
    let due = database.next_due(connection).await?;
    Ok(due.map(|left| if left == 0 { OVERDUE } else { Duration::from_millis(left) }))
}

impl Database {
    pub(crate) async fn watch(self: &Shared<Self>, by: &Principal, what: &Watched) -> Result<Watch, StoreError> {
        match what {
            Watched::All => by.check(Operation::Follow)?,
            Watched::Question(id) => drop(self.get(by, &id.into()).await?),
        }
        self.listen();
        let mut told = self.follower.told.lock().await;
        if told.watchers.is_empty() {
            let last = async |connection: &Connection| Ok(self.events(connection, 0, 0).await?.last);
            told.last = self.run(crate::database::Doing::Reading, last).await?;
        }
        let watch = told.watchers.add(what);
        // Its next look may be far off: the first watcher has deadlines to be told of.
        self.follower.wake.notify_one();
        Ok(watch)
    }

    pub(crate) async fn watch_revocations(self: &Shared<Self>) -> Result<Watch, StoreError> {
        self.listen();
        let mut told = self.follower.told.lock().await;
        let count = async |connection: &Connection| self.revocations(connection).await;
        told.revoked = self.run(crate::database::Doing::Reading, count).await?;
        self.follower.wake.notify_one();
        Ok(told.of_revocations.add(&Watched::All))
    }

    /// Numbers what this process has written, at once.
    pub(crate) async fn number_now(&self) {
        if self.follower.has_written.get() && self.once(async |connection| self.number(connection).await).await.is_ok()
        {
            self.follower.has_written.set(false);
        }
    }

    /// Listens from now on.
    fn listen(self: &Shared<Self>) {
        if !self.follower.is_listening.replace(true) {
            tokio::task::spawn_local(listen(self.clone()));
        }
    }

    /// Whether a notice that this process sends to itself arrives, through a connection that listens. Poolers swallow it.
    async fn is_echoed(&self) -> bool {
        let Ok(word) = random_id() else { return false };
        *self.follower.echo.borrow_mut() = Some(word.clone());
        let say = async |connection: &Connection| {
            connection.execute("SELECT pg_notify($1, $2)", &[(&CHANNEL, Type::TEXT), (&word, Type::TEXT)]).await
        };
        if self.once(say).await.is_err() {
            return false;
        }
        timeout(ECHO, self.follower.echoed.notified()).await.is_ok() && self.follower.echo.borrow().is_none()
    }

    /// Whether notices arrive, tried now. For `doctor`.
    pub(crate) async fn try_notices(self: &Shared<Self>) -> bool {
        if self.follower.is_listening.get() {
            return self.follower.is_heard();
        }
        self.listen();
        let began = Instant::now();
        while !self.follower.is_heard() && began.elapsed() < ECHO + Duration::from_secs(1) {
            sleep(Duration::from_millis(20)).await;
        }
        self.follower.is_heard()
    }
}

/// Keeps a connection that listens. Whenever it is a new one, everything is looked at again: nobody told it what was said
/// before.
async fn listen(database: Shared<Database>) {
    loop {
        let _ = listen_once(&database).await;
        database.follower.is_heard.set(false);
        database.follower.wake.notify_one();
        sleep(DEAF_INTERVAL).await;
    }
}

async fn listen_once(database: &Shared<Database>) -> Result<(), Fault> {
    let (client, mut connection) = database.pool.connect().await?;
    let hearing = {
        let database = database.clone();
        async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(notice) = message {
                    database.follower.hear(notice.payload());
                }
            }
        }
    };
    tokio::select! {
        () = hearing => Ok(()),
        minded = mind(database, &client) => minded,
    }
}

/// Has the server send notices, tries whether they arrive, and asks now and then whether it is still there.
async fn mind(database: &Database, client: &Client) -> Result<(), Fault> {
    let within = database.options.reply_within;
    let silent = |_| Fault::Silent(within);
    timeout(within, client.batch_execute(&format!("LISTEN {CHANNEL}"))).await.map_err(silent)??;
    database.follower.is_heard.set(database.is_echoed().await);
    database.follower.wake.notify_one();
    loop {
        sleep(PING).await;
        timeout(within, client.check_connection()).await.map_err(silent)??;
    }
}
