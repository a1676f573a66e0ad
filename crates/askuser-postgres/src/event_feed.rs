//! Assigns event numbers after commit and notifies watchers in every process.
//!
//! One task does both at most once every [`GATHERED`], so that it handles a burst of answers together. Notifications
//! from other processes are unreliable: poolers swallow them, and connections fail. So the task also polls, every
//! minute, or every second while notifications do not arrive.

use crate::database::{CallKind, Database};
use crate::error::DatabaseError;
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

/// The name of the channel for `NOTIFY`.
pub(crate) const CHANNEL: &str = "askuser";

/// The shortest interval between two runs of the feed. Events that are written meanwhile are numbered together.
const GATHERED: Duration = Duration::from_millis(10);
/// The polling interval while there are watchers and notifications arrive.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// The polling interval while notifications do not arrive. It is also the pause after a failed read.
const DEAF_INTERVAL: Duration = Duration::from_secs(1);
/// The pause before the feed looks again for expired questions.
const OVERDUE: Duration = Duration::from_millis(100);
/// The time limit for a notification that this process sends to itself.
const ECHO: Duration = Duration::from_secs(3);
/// The interval between two checks of the listening connection.
const PING: Duration = Duration::from_secs(20);
/// The interval between two deletions of the rows of dead processes.
const CLEARING: Duration = Duration::from_secs(300);
/// The maximum number of events that one read returns.
const BATCH: u32 = 1000;

#[derive(Default)]
pub(crate) struct EventFeed {
    feed: Mutex<Feed>,
    wake: Notify,
    /// The flag that this process may have written events that have no number.
    has_written: Cell<bool>,
    /// The flag that the listening task was started.
    is_listening: Cell<bool>,
    /// The flag that notifications arrive.
    is_heard: Cell<bool>,
    /// The payload that this process sent to itself and has not received yet; `None` if no test is running.
    echo: RefCell<Option<String>>,
    echoed: Notify,
}

impl EventFeed {
    /// Reports a write, which wakes the task that numbers events.
    pub(crate) fn has_written(&self) {
        self.has_written.set(true);
        self.wake.notify_one();
    }

    /// Reports a new lease, which wakes the task that renews leases.
    pub(crate) fn lease_taken(&self) {
        self.wake.notify_one();
    }

    /// Whether notifications of other processes arrive.
    pub(crate) fn is_heard(&self) -> bool {
        self.is_heard.get()
    }

    /// Handles an incoming notification, which wakes the task.
    fn hear(&self, payload: &str) {
        if !payload.is_empty() && self.echo.borrow().as_deref() == Some(payload) {
            self.echo.borrow_mut().take();
            self.echoed.notify_one();
        }
        self.wake.notify_one();
    }
}

/// Numbers events and notifies watchers until the store is closed.
pub(crate) async fn run_feed(database: Shared<Database>) {
    let event_feed = &database.event_feed;
    let mut cleared = Instant::now();
    let mut next: Option<Instant> = None;
    loop {
        let until = next.unwrap_or_else(|| Instant::now() + CLEARING);
        let was_woken = timeout_at(until, event_feed.wake.notified()).await.is_ok();
        let began = Instant::now();
        let patience = look(&database, was_woken).await;
        next = patience.map(|patience| Instant::now() + patience);
        if cleared.elapsed() >= CLEARING && next.is_some() {
            cleared = Instant::now();
            let _ = database.once(async |connection| database.clear_dead(connection).await).await;
        }
        // The pause gathers changes, which the next look handles together.
        sleep_until(began + GATHERED).await;
    }
}

/// Does the pending work. Returns the pause before the next look; `None` if there are no watchers, leases or deadlines.
async fn look(database: &Database, was_woken: bool) -> Option<Duration> {
    let event_feed = &database.event_feed;
    let mut feed = event_feed.feed.lock().await;
    if !was_woken {
        feed.forget_closed();
    }
    let lease = database.leases.due();
    let is_due = lease.is_some_and(|at| at <= Instant::now());
    let is_watched = feed.is_watched();
    // This process also numbers the events that a dead process has left without a number.
    let is_to_number = event_feed.has_written.take() || is_due || (is_watched && !was_woken);
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
        Err(DatabaseError::Ours(error @ StoreError::Damaged { .. })) => {
            // A retry cannot repair a damaged store.
            feed.disconnect(&error);
            None
        }
        Err(error) => {
            feed.fall_behind();
            event_feed.has_written.set(is_to_number || event_feed.has_written.get());
            return (error.is_passing() || is_watched).then_some(DEAF_INTERVAL);
        }
    };
    let lease = database.leases.due().map(|at| at.saturating_duration_since(Instant::now()));
    let poll = is_watched.then(|| if event_feed.is_heard.get() { POLL_INTERVAL } else { DEAF_INTERVAL });
    [lease, poll, due].into_iter().flatten().min()
}

/// Sends new events to watchers. Returns the time until the next deadline; `None` without a deadline.
async fn tell(
    database: &Database,
    connection: &Connection,
    feed: &mut Feed,
) -> Result<Option<Duration>, DatabaseError> {
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
        let mut feed = self.event_feed.feed.lock().await;
        let last = async |connection: &Connection| Ok(self.events(connection, 0, 0).await?.last);
        let last = if feed.is_followed() { None } else { Some(self.run(CallKind::Read, last).await?) };
        let watch = feed.watch(what, last);
        // The task may be in a long pause. The first watcher needs it to look for deadlines now.
        self.event_feed.wake.notify_one();
        Ok(watch)
    }

    pub(crate) async fn watch_revocations(self: &Shared<Self>) -> Result<Watch, StoreError> {
        self.listen();
        let mut feed = self.event_feed.feed.lock().await;
        let count = async |connection: &Connection| self.revocations(connection).await;
        let revoked = self.run(CallKind::Read, count).await?;
        self.event_feed.wake.notify_one();
        Ok(feed.watch_revocations(revoked))
    }

    /// Numbers the events of this process immediately, if there are any.
    pub(crate) async fn number_now(&self) {
        if self.event_feed.has_written.get()
            && self.once(async |connection| self.number(connection).await).await.is_ok()
        {
            self.event_feed.has_written.set(false);
        }
    }

    /// Starts the listening task unless it runs already.
    fn listen(self: &Shared<Self>) {
        if !self.event_feed.is_listening.replace(true) {
            tokio::task::spawn_local(listen(self.clone()));
        }
    }

    /// Whether a notification to this process itself arrives over the listening connection. A pooler may swallow
    /// notifications.
    async fn is_echoed(&self) -> bool {
        let Ok(word) = random_id() else { return false };
        *self.event_feed.echo.borrow_mut() = Some(word.clone());
        let say = async |connection: &Connection| {
            connection.execute("SELECT pg_notify($1, $2)", &[(&CHANNEL, Type::TEXT), (&word, Type::TEXT)]).await
        };
        if self.once(say).await.is_err() {
            return false;
        }
        timeout(ECHO, self.event_feed.echoed.notified()).await.is_ok() && self.event_feed.echo.borrow().is_none()
    }

    /// Tests whether notifications arrive. `askuser doctor` reports the result.
    pub(crate) async fn try_notices(self: &Shared<Self>) -> bool {
        if self.event_feed.is_listening.get() {
            return self.event_feed.is_heard();
        }
        self.listen();
        let began = Instant::now();
        while !self.event_feed.is_heard() && began.elapsed() < ECHO + Duration::from_secs(1) {
            sleep(Duration::from_millis(20)).await;
        }
        self.event_feed.is_heard()
    }
}

/// Keeps a listening connection open. A new connection wakes the task, because earlier notifications were lost.
async fn listen(database: Shared<Database>) {
    loop {
        let _ = listen_once(&database).await;
        database.event_feed.is_heard.set(false);
        database.event_feed.wake.notify_one();
        sleep(DEAF_INTERVAL).await;
    }
}

async fn listen_once(database: &Shared<Database>) -> Result<(), DatabaseError> {
    let (client, mut connection) = database.pool.connect().await?;
    let hearing = {
        let database = database.clone();
        async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(notice) = message {
                    database.event_feed.hear(notice.payload());
                }
            }
        }
    };
    tokio::select! {
        () = hearing => Ok(()),
        minded = mind(database, &client) => minded,
    }
}

/// Subscribes to the channel and tests whether notifications arrive. Then checks the connection at an interval until it
/// fails.
async fn mind(database: &Database, client: &Client) -> Result<(), DatabaseError> {
    let within = database.options.reply_within;
    let silent = |_| DatabaseError::Silent(within);
    timeout(within, client.batch_execute(&format!("LISTEN {CHANNEL}"))).await.map_err(silent)??;
    database.event_feed.is_heard.set(database.is_echoed().await);
    database.event_feed.wake.notify_one();
    loop {
        sleep(PING).await;
        timeout(within, client.check_connection()).await.map_err(silent)??;
    }
}
