//! The events of a server: one stream for all watches of this process.

use super::connection::{Connection, LATER, SOON, chain, is_tls, read_problem, unknown_problem};
use askuser::store::{StoreError, StoreEvent, Watch, Watched, Watchers};
use askuser_sys::random::jittered;
use askuser_sys::sse;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// The silence after which a stream counts as dead: three heartbeats.
const SILENCE: Duration = Duration::from_secs(45);

#[derive(Default)]
pub(super) struct Followed {
    watchers: Mutex<Watchers>,
    /// A flag that becomes `true` once the stream is open; `None` without a stream.
    open: Mutex<Option<watch::Receiver<bool>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a watch of later events, and opens the stream if there is none.
pub(super) async fn watch(connection: &Arc<Connection>, what: &Watched) -> Result<Watch, StoreError> {
    let heard = lock(&connection.followed.watchers).add(what);
    let mut open = {
        let mut open = lock(&connection.followed.open);
        open.get_or_insert_with(|| {
            let (tell, open) = watch::channel(false);
            tokio::spawn(follow(Arc::downgrade(connection), tell));
            open
        })
        .clone()
    };
    // If the stream is refused, the watch gets the error.
    let opened = open.wait_for(|is_open| *is_open);
    let limit = connection.patience.limit.unwrap_or(Duration::MAX);
    let _ = timeout(limit, opened).await.map_err(|_| connection.unreachable("no reply".into()))?;
    Ok(heard)
}

/// Keeps the stream open and sends its events to the watches.
async fn follow(connection: Weak<Connection>, tell: watch::Sender<bool>) {
    let mut last = None;
    let mut pause = SOON;
    loop {
        let Some(connection) = connection.upgrade() else { return };
        match timeout(SILENCE, connection.stream(last)).await {
            Err(_) => connection.tell_away("no reply"),
            Ok(Ok(response)) if response.status().is_success() => {
                pause = SOON;
                connection.is_back();
                connection.leases.renew_soon();
                read(Arc::downgrade(&connection), response, &mut last, &tell).await;
            }
            Ok(Ok(response)) if response.status().is_client_error() => {
                let status = response.status().as_u16();
                let problem = response.bytes().await.ok().and_then(|body| read_problem(&body));
                return give_up(&connection, &connection.error(problem.unwrap_or_else(|| unknown_problem(status))));
            }
            Ok(Ok(response)) => connection.tell_away(&format!("it said {}", response.status().as_u16())),
            Ok(Err(error)) if is_tls(&error) => return give_up(&connection, &connection.unreachable(chain(&error))),
            Ok(Err(error)) => connection.tell_away(&chain(&error)),
        }
        drop(connection);
        tokio::time::sleep(jittered(pause)).await;
        pause = (pause * 2).min(LATER);
    }
}

/// Ends the watches with the reason why there is no stream.
fn give_up(connection: &Connection, why: &StoreError) {
    *lock(&connection.followed.open) = None;
    lock(&connection.followed.watchers).disconnect(why);
}

/// The event number at which a stream begins.
#[derive(serde::Deserialize)]
struct Place {
    seq: u64,
}

/// Reads one stream to its end.
async fn read(
    connection: Weak<Connection>,
    mut response: reqwest::Response,
    last: &mut Option<u64>,
    tell: &watch::Sender<bool>,
) {
    let mut parser = sse::Parser::default();
    let mut events = Vec::new();
    while let Ok(Ok(Some(chunk))) = timeout(SILENCE, response.chunk()).await {
        if parser.push(&chunk, &mut events).is_err() {
            return;
        }
        for sse::Event { name, data } in events.drain(..) {
            let Some(connection) = connection.upgrade() else { return };
            let seq = || serde_json::from_str::<Place>(&data).ok().map(|place| place.seq);
            match &*name {
                "resumed" => {
                    *last = last.or_else(seq);
                    tell.send_replace(true);
                }
                "gap" => {
                    *last = seq().or(*last);
                    tell.send_replace(true);
                    lock(&connection.followed.watchers).tell_lagged();
                }
                "question" => {
                    if let Ok(event) = serde_json::from_str::<StoreEvent>(&data) {
                        *last = Some(event.seq);
                        lock(&connection.followed.watchers).tell(&event);
                    }
                }
                _ => {}
            }
        }
    }
}
