//! Connections: a few for the work, opened when they are needed, and given up when they fail or fall silent.

use crate::Options;
use crate::address::Address;
use crate::fault::Fault;
use crate::tls::Encrypted;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, Socket};

/// How long one host may take to let us in.
const ADMISSION: Duration = Duration::from_secs(4);

/// A value in a statement, and its type: statements are never prepared, so that a pooler that hands a connection to another
/// client after every transaction is no hindrance.
pub(crate) type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// A connection while somebody works with it.
pub(crate) struct Connection {
    client: Client,
    driver: JoinHandle<()>,
    reply_within: Duration,
    generation: u64,
    is_in_transaction: Cell<bool>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Runs a statement.
    pub(crate) async fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Fault> {
        self.reply(self.client.query_typed(sql, values)).await
    }

    /// Runs a statement that returns a row, and only one.
    pub(crate) async fn row(&self, sql: &str, values: &[Value<'_>]) -> Result<Row, Fault> {
        self.reply(self.client.query_typed_one(sql, values)).await
    }

    /// Runs a statement whose rows are of no interest; how many it has changed.
    pub(crate) async fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, Fault> {
        self.reply(self.client.execute_typed(sql, values)).await
    }

    /// Runs statements that have no values, in one round trip.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Fault> {
        self.reply(self.client.batch_execute(sql)).await
    }

    /// Runs work in a transaction, or as a part of the transaction around it.
    pub(crate) async fn transaction<T>(&self, work: impl AsyncFnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        if self.is_in_transaction.replace(true) {
            return work().await;
        }
        let result = self.transact(work).await;
        self.is_in_transaction.set(false);
        result
    }

    async fn transact<T>(&self, work: impl AsyncFnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        self.batch("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
        match work().await {
            Ok(value) => {
                self.batch("COMMIT").await?;
                Ok(value)
            }
            Err(fault) => {
                if !fault.breaks() {
                    self.batch("ROLLBACK").await?;
                }
                Err(fault)
            }
        }
    }

    async fn reply<T>(&self, sent: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Fault> {
        match timeout(self.reply_within, sent).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(Fault::Silent(self.reply_within)),
        }
    }
}

/// The connections of a store.
pub(crate) struct Pool {
    address: Address,
    idle: RefCell<Vec<(Client, JoinHandle<()>)>>,
    /// Grows when a server has fallen silent, or another one has taken over: connections of before are not used again. An old
    /// primary that wakes would show what has long changed.
    generation: Cell<u64>,
    permits: std::sync::Arc<Semaphore>,
    reply_within: Duration,
    /// The host that is tried first: the one that let us in last, or the one behind it where that has fallen silent.
    first_host: Cell<usize>,
    /// The latest timeline that a server was on. One on an earlier one was replaced, whatever it says of itself.
    timeline: Cell<i64>,
}

impl Pool {
    pub(crate) fn new(address: Address, options: &Options) -> Pool {
        Pool {
            address,
            idle: RefCell::default(),
            generation: Cell::default(),
            permits: std::sync::Arc::new(Semaphore::new(options.connections.max(1))),
            reply_within: options.reply_within,
            first_host: Cell::default(),
            timeline: Cell::default(),
        }
    }

    /// The address without its password.
    pub(crate) fn shown(&self) -> &str {
        &self.address.shown
    }

    /// A connection that nobody works with.
    pub(crate) async fn take(&self) -> Result<Connection, Fault> {
        let permit = self.permits.clone().acquire_owned().await.ok();
        let reused = || self.idle.borrow_mut().pop();
        while let Some((client, driver)) = reused() {
            if !client.is_closed() {
                return Ok(self.connection(client, driver, permit));
            }
        }
        let (client, connection) = self.connect().await?;
        let driver = tokio::task::spawn_local(async move {
            // What goes wrong is told to whoever waits for a reply.
            let _ = connection.await;
        });
        Ok(self.connection(client, driver, permit))
    }

    fn connection(&self, client: Client, driver: JoinHandle<()>, permit: Option<OwnedSemaphorePermit>) -> Connection {
        let generation = self.generation.get();
        let is_in_transaction = Cell::new(false);
        Connection { client, driver, reply_within: self.reply_within, generation, is_in_transaction, _permit: permit }
    }

    /// Takes one back, for the next.
    pub(crate) fn give(&self, connection: Connection) {
        if connection.generation == self.generation.get() {
            self.idle.borrow_mut().push((connection.client, connection.driver));
        }
    }

    /// The server has fallen silent: the next one may have taken over.
    pub(crate) fn pass_over(&self) {
        self.first_host.set((self.first_host.get() + 1) % self.address.hosts.len());
        self.renew();
    }

    /// From now on others are used than before.
    fn renew(&self) {
        self.generation.set(self.generation.get() + 1);
        for (_, driver) in self.idle.borrow_mut().drain(..) {
            driver.abort();
        }
    }

    /// Gives one up. A server that has fallen silent would not notice that we take our leave.
    pub(crate) fn discard(&self, connection: Connection) {
        connection.driver.abort();
    }

    /// Closes those that nobody works with.
    pub(crate) async fn close(&self) {
        let idle = std::mem::take(&mut *self.idle.borrow_mut());
        for (client, driver) in idle {
            drop(client);
            let _ = timeout(Duration::from_secs(1), driver).await;
        }
    }

    /// A new connection to the host that takes writes.
    pub(crate) async fn connect(&self) -> Result<Connected, Fault> {
        let hosts = &self.address.hosts;
        let mut failure = None;
        for i in 0..hosts.len() {
            let host = (self.first_host.get() + i) % hosts.len();
            match timeout(ADMISSION, self.connect_to(&hosts[host])).await {
                Ok(Ok((connected, timeline))) => {
                    let is_other = self.timeline.get() < timeline || self.first_host.get() != host;
                    if self.timeline.get() > timeline {
                        let why = "another server has taken over from it";
                        failure = Some(Fault::Unreachable(why.into()));
                        continue;
                    }
                    self.first_host.set(host);
                    self.timeline.set(timeline);
                    if is_other {
                        self.renew();
                    }
                    return Ok(connected);
                }
                Ok(Err(error)) => failure = Some(Fault::Unreachable(error.into())),
                Err(_) => {
                    failure = Some(Fault::Unreachable(format!("not let in within {} s", ADMISSION.as_secs()).into()))
                }
            }
        }
        Err(failure.unwrap_or_else(|| Fault::Unreachable("no host".into())))
    }
}

/// A client, and what drives it.
type Connected = (Client, tokio_postgres::Connection<Socket, Encrypted>);

impl Pool {
    /// A connection, and the timeline of its server where there are several: each failover begins a new one.
    async fn connect_to(&self, host: &tokio_postgres::Config) -> Result<(Connected, i64), tokio_postgres::Error> {
        let (client, mut connection) = host.connect(self.address.tls.clone()).await?;
        if self.address.hosts.len() == 1 {
            return Ok(((client, connection), 0));
        }
        let timeline = {
            let sql = "SELECT ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint";
            let asked = client.query_typed_one(sql, &[]);
            tokio::select! {
                row = asked => row?.try_get(0)?,
                // Where the connection ends first, that is why.
                Err(error) = &mut connection => return Err(error),
            }
        };
        Ok(((client, connection), timeline))
    }
}

/// What the tasks of the store's thread share.
pub(crate) type Shared<T> = Rc<T>;
