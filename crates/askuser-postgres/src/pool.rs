//! The connections of a store. They are opened on demand, and closed when they fail or do not reply.

use crate::Options;
use crate::address::Address;
use crate::error::DatabaseError;
use crate::tls::Encrypted;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, Socket};

/// The time limit for opening a connection to one host.
const ADMISSION: Duration = Duration::from_secs(4);

/// The value of a parameter and its type. Statements are never prepared, because a pooler may switch connections after
/// every transaction.
pub(crate) type Value<'a> = (&'a (dyn ToSql + Sync), Type);

/// A connection that a task is using.
pub(crate) struct Connection {
    client: Client,
    driver: JoinHandle<()>,
    reply_within: Duration,
    generation: u64,
    is_in_transaction: Cell<bool>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Runs a statement and returns its rows.
    pub(crate) async fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, DatabaseError> {
        self.reply(self.client.query_typed(sql, values)).await
    }

    /// Runs a statement that returns exactly one row.
    pub(crate) async fn row(&self, sql: &str, values: &[Value<'_>]) -> Result<Row, DatabaseError> {
        self.reply(self.client.query_typed_one(sql, values)).await
    }

    /// Runs a statement and returns the number of changed rows.
    pub(crate) async fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, DatabaseError> {
        self.reply(self.client.execute_typed(sql, values)).await
    }

    /// Runs statements without parameters in one round trip.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), DatabaseError> {
        self.reply(self.client.batch_execute(sql)).await
    }

    /// Runs work in a transaction. A nested call joins the outer transaction.
    pub(crate) async fn transaction<T>(
        &self,
        work: impl AsyncFnOnce() -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        if self.is_in_transaction.replace(true) {
            return work().await;
        }
        let result = self.transact(work).await;
        self.is_in_transaction.set(false);
        result
    }

    async fn transact<T>(&self, work: impl AsyncFnOnce() -> Result<T, DatabaseError>) -> Result<T, DatabaseError> {
        self.batch("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
        match work().await {
            Ok(value) => {
                self.batch("COMMIT").await?;
                Ok(value)
            }
            Err(error) => {
                if !error.breaks() {
                    self.batch("ROLLBACK").await?;
                }
                Err(error)
            }
        }
    }

    async fn reply<T>(&self, sent: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, DatabaseError> {
        match timeout(self.reply_within, sent).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(DatabaseError::Silent(self.reply_within)),
        }
    }
}

/// The connections of a store to its database.
pub(crate) struct Pool {
    address: Address,
    idle: RefCell<Vec<(Client, JoinHandle<()>)>>,
    /// The generation of the connections. It grows when a server does not reply or another server takes over. Older
    /// connections are not used again: a former primary that resumes would return stale rows.
    generation: Cell<u64>,
    permits: std::sync::Arc<Semaphore>,
    reply_within: Duration,
    /// The index of the host to try first. It is the last host that accepted a connection, or the next host if that one
    /// does not reply.
    first_host: Cell<usize>,
    /// The latest timeline seen. A server on an earlier timeline was replaced by another server.
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

    /// Returns the address without the password.
    pub(crate) fn shown(&self) -> &str {
        &self.address.shown
    }

    /// Takes an idle connection, or opens a new one.
    pub(crate) async fn take(&self) -> Result<Connection, DatabaseError> {
        let permit = self.permits.clone().acquire_owned().await.ok();
        let reused = || self.idle.borrow_mut().pop();
        while let Some((client, driver)) = reused() {
            if !client.is_closed() {
                return Ok(self.connection(client, driver, permit));
            }
        }
        let (client, connection) = self.connect().await?;
        let driver = tokio::task::spawn_local(async move {
            // The caller that waits for a reply gets the error, too.
            let _ = connection.await;
        });
        Ok(self.connection(client, driver, permit))
    }

    fn connection(&self, client: Client, driver: JoinHandle<()>, permit: Option<OwnedSemaphorePermit>) -> Connection {
        let generation = self.generation.get();
        let is_in_transaction = Cell::new(false);
        Connection { client, driver, reply_within: self.reply_within, generation, is_in_transaction, _permit: permit }
    }

    /// Makes a connection available again, unless it is of an older generation.
    pub(crate) fn give(&self, connection: Connection) {
        if connection.generation == self.generation.get() {
            self.idle.borrow_mut().push((connection.client, connection.driver));
        }
    }

    /// Moves on to the next host, which may have taken over from a server that does not reply.
    pub(crate) fn pass_over(&self) {
        self.first_host.set((self.first_host.get() + 1) % self.address.hosts.len());
        self.renew();
    }

    /// Closes the idle connections, and ensures that connections in use are not reused.
    fn renew(&self) {
        self.generation.set(self.generation.get() + 1);
        for (_, driver) in self.idle.borrow_mut().drain(..) {
            driver.abort();
        }
    }

    /// Closes a connection without the goodbye of the protocol, which a silent server would not read.
    pub(crate) fn discard(&self, connection: Connection) {
        connection.driver.abort();
    }

    /// Closes all idle connections.
    pub(crate) async fn close(&self) {
        let idle = std::mem::take(&mut *self.idle.borrow_mut());
        for (client, driver) in idle {
            drop(client);
            let _ = timeout(Duration::from_secs(1), driver).await;
        }
    }

    /// Opens a connection to the first host that accepts one. A host on an earlier timeline is skipped.
    pub(crate) async fn connect(&self) -> Result<Connected, DatabaseError> {
        let hosts = &self.address.hosts;
        let mut failure = None;
        for i in 0..hosts.len() {
            let host = (self.first_host.get() + i) % hosts.len();
            match timeout(ADMISSION, self.connect_to(&hosts[host])).await {
                Ok(Ok((connected, timeline))) => {
                    let is_other = self.timeline.get() < timeline || self.first_host.get() != host;
                    if self.timeline.get() > timeline {
                        let why = "another server has taken over from it";
                        failure = Some(DatabaseError::Unreachable(why.into()));
                        continue;
                    }
                    self.first_host.set(host);
                    self.timeline.set(timeline);
                    if is_other {
                        self.renew();
                    }
                    return Ok(connected);
                }
                Ok(Err(error)) => failure = Some(DatabaseError::Unreachable(error.into())),
                Err(_) => {
                    failure =
                        Some(DatabaseError::Unreachable(format!("not let in within {} s", ADMISSION.as_secs()).into()))
                }
            }
        }
        Err(failure.unwrap_or_else(|| DatabaseError::Unreachable("no host".into())))
    }
}

/// A new client and the connection that its driver task runs.
type Connected = (Client, tokio_postgres::Connection<Socket, Encrypted>);

impl Pool {
    /// Opens a connection to one host. Returns the server's timeline if there are several hosts, because each failover
    /// begins a new timeline. With one host the timeline is 0.
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
                // If the connection ends first, its error is the cause.
                Err(error) = &mut connection => return Err(error),
            }
        };
        Ok(((client, connection), timeline))
    }
}

/// The pointer to the state that the store's tasks share. All tasks run on one thread.
pub(crate) type Shared<T> = Rc<T>;
