//! Numbers what was written, and tells watchers what has happened, in this process or in another.
//!
//! One task does both, at most every [`GATHERED`]: a burst of answers is numbered at once and notified once. A notice of another
//! process is only a hint, since poolers swallow it and a connection can be lost: without any, the task looks every
//! minute, and every second where notices do not arrive.

use crate::database::{Database, Doing};
use crate::fault::Fault;
use crate::pool::{Connection, Shared};
use crate::store::random_id;
use askuser::store::{Feed, Operation, Principal, StoreError, Watch, Watched};
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
    feed: Mutex<Feed>,
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
    let mut feed = follower.feed.lock().await;
    if !was_woken {
        feed.forget_closed();
    }
    let lease = database.leases.due();
    let is_due = lease.is_some_and(|at| at <= Instant::now());
    let is_watched = feed.is_watched();
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
            if is_watched { tell(database, connection, &mut feed).await } else { Ok(None) }
        })
        .await;
    let due = match looked {
        Ok(due) => due,
        Err(Fault::Ours(error @ StoreError::Damaged { .. })) => {
            // To try again is of no use.
            feed.disconnect(&error);
            None
        }
        Err(fault) => {
            feed.fall_behind();
            follower.has_written.set(is_to_number || follower.has_written.get());
            return (fault.is_passing() || is_watched).then_some(DEAF_INTERVAL);
        }
    };
    let lease = database.leases.due().map(|at| at.saturating_duration_since(Instant::now()));
    let poll = is_watched.then(|| if follower.is_heard.get() { POLL_INTERVAL } else { DEAF_INTERVAL });
    [lease, poll, due].into_iter().flatten().min()
}

/// Tells watchers what has happened since; how long until the next deadline.
async fn tell(database: &Database, connection: &Connection, feed: &mut Feed) -> Result<Option<Duration>, Fault> {
    if feed.follows_revocations() {
        feed.tell_revocations(database.revocations(connection).await?);
    }
    while feed.is_followed() && feed.tell(database.events(connection, feed.last(), BATCH).await?) {}
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
        let mut feed = self.follower.feed.lock().await;
        let last = async |connection: &Connection| Ok(self.events(connection, 0, 0).await?.last);
        let last = if feed.is_followed() { None } else { Some(self.run(Doing::Reading, last).await?) };
        let watch = feed.watch(what, last);
        // Its next look may be far off: the first watcher has deadlines to be told of.
        self.follower.wake.notify_one();
        Ok(watch)
    }

    pub(crate) async fn watch_revocations(self: &Shared<Self>) -> Result<Watch, StoreError> {
        self.listen();
        let mut feed = self.follower.feed.lock().await;
        let count = async |connection: &Connection| self.revocations(connection).await;
        let revoked = self.run(Doing::Reading, count).await?;
        self.follower.wake.notify_one();
        Ok(feed.watch_revocations(revoked))
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
