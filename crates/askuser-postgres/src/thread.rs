//! The thread that owns the connections. It runs the callers' work concurrently and notifies watchers.

use crate::address::Address;
use crate::database::{CallKind, Database};
use crate::event_feed::run_feed;
use crate::leases::Leases;
use crate::per_question_queue::{Lane, Lanes, Work};
use crate::pool::{Pool, Shared};
use crate::schema;
use crate::store::{Options, random_id};
use askuser::store::StoreError;
use futures_channel::oneshot;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::LocalSet;
use tokio::time::timeout;

/// The time limit for deleting the lease at the end. A process that ends does not wait longer for an unreachable
/// database.
const LEAVE: Duration = Duration::from_secs(2);

/// A message to the thread of a store.
pub(crate) enum Message {
    /// A call to run in the lane of its subject.
    Call(Lane, Work),
    /// A request to report when all earlier calls are done.
    Flush(oneshot::Sender<Result<(), StoreError>>),
    /// The last handle of the store was dropped.
    Close,
}

/// Starts the thread and waits until the database is open.
pub(crate) fn start(address: Address, options: Options) -> Result<mpsc::UnboundedSender<Message>, StoreError> {
    let failed = {
        let what = format!("cannot open {}", address.shown);
        move |error: std::io::Error| StoreError::unavailable(what.clone(), error)
    };
    let leases = Leases::new(random_id()?, options.lease);
    let (sender, messages) = mpsc::unbounded_channel();
    let (opened, is_opened) = std::sync::mpsc::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(&failed)?;
    let work = move || {
        let database = Shared::new(Database::new(Pool::new(address, &options), options, leases));
        let local = LocalSet::new();
        runtime.block_on(local.run_until(async move {
            let open = async |connection: &crate::pool::Connection| {
                schema::prepare(connection, database.pool.shown()).await?;
                database.clear_dead(connection).await
            };
            let result = database.run(CallKind::Write, open).await;
            let is_open = result.is_ok();
            let _ = opened.send(result);
            if is_open {
                run(database, messages).await;
            }
        }));
    };
    std::thread::Builder::new().name("askuser-postgres".into()).spawn(work).map_err(&failed)?;
    is_opened.recv().map_err(|_| failed(std::io::Error::other("the thread of the store has failed")))??;
    Ok(sender)
}

async fn run(database: Shared<Database>, mut messages: mpsc::UnboundedReceiver<Message>) {
    let following = tokio::task::spawn_local(run_feed(database.clone()));
    let lanes = Lanes::new(database.clone());
    while let Some(message) = messages.recv().await {
        match message {
            Message::Call(lane, work) => lanes.submit(lane, work),
            Message::Flush(reply) => {
                let flushed = lanes.flush();
                let database = database.clone();
                tokio::task::spawn_local(async move {
                    let flushing = async {
                        flushed.await;
                        database.number_now().await;
                        Ok(())
                    };
                    let _ = reply.send(database.until_stopped(flushing).await);
                });
            }
            Message::Close => break,
        }
    }
    lanes.flush().await;
    following.abort();
    let leave = async {
        database.number_now().await;
        let _ = database.once(async |connection| database.leave(connection).await).await;
        database.pool.close().await;
    };
    let _ = timeout(LEAVE, leave).await;
}
