//! Renews the leases of this process at a server. A lease shows that the process waits for an answer or shows a list.

use super::connection::{ApiRequest, Connection};
use crate::api::{Done, Empty, Gone, Lease, Renew};
use askuser::store::QuestionId;
use hyper::Method;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// The purpose of a lease.
#[derive(Clone)]
pub(super) enum Leased {
    Question(QuestionId),
    List,
}

impl Leased {
    /// Returns the request for a lease.
    pub(super) fn request(&self) -> ApiRequest {
        match self {
            Leased::Question(id) => ApiRequest::new(Method::POST, format!("/questions/{id}/attach")).body(&Empty {}),
            Leased::List => ApiRequest::new(Method::POST, "/lists").body(&Empty {}),
        }
    }
}

#[derive(Default)]
pub(super) struct Leases {
    held: Mutex<Held>,
    /// The signal to renew immediately, because another server may have taken over without these leases.
    soon: Arc<Notify>,
}

#[derive(Default)]
struct Held {
    leases: HashMap<u64, (Leased, String)>,
    last: u64,
    is_renewed: bool,
}

impl Leases {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a lease from the server, and starts the renewal. Returns the number of the lease.
    pub(super) fn add(&self, connection: &Arc<Connection>, leased: Leased, lease: Lease) -> u64 {
        let mut held = self.held();
        held.last += 1;
        let number = held.last;
        held.leases.insert(number, (leased, lease.lease));
        if !std::mem::replace(&mut held.is_renewed, true) {
            let every = Duration::from_millis(lease.lasts_ms.max(30) / 3);
            tokio::spawn(renew(Arc::downgrade(connection), every, self.soon.clone()));
        }
        number
    }

    /// Renews all leases now, instead of after the interval.
    pub(super) fn renew_soon(&self) {
        self.soon.notify_one();
    }

    /// The asker has the answer, so its lease is dropped without a message.
    pub(super) fn forget(&self, id: &QuestionId) {
        self.held().leases.retain(|_, (leased, _)| !matches!(leased, Leased::Question(of) if of == id));
    }

    /// Removes the lease of a process that has left. Returns the request that tells the server; `None` if the lease is
    /// gone already.
    pub(super) fn remove(&self, number: u64) -> Option<ApiRequest> {
        let (_, lease) = self.held().leases.remove(&number)?;
        Some(end(&lease))
    }
}

/// Returns the request that ends a lease.
fn end(lease: &str) -> ApiRequest {
    ApiRequest::new(Method::DELETE, format!("/leases/{lease}"))
}

/// Renews the leases as long as there are any. A server that was restarted has none of them, so they are requested
/// again.
async fn renew(connection: Weak<Connection>, every: Duration, soon: Arc<Notify>) {
    loop {
        let _ = tokio::time::timeout(every, soon.notified()).await;
        let Some(connection) = connection.upgrade() else { return };
        let names: Vec<String> = {
            let mut held = connection.leases.held();
            if held.leases.is_empty() {
                held.is_renewed = false;
                return;
            }
            held.leases.values().map(|(_, name)| name.clone()).collect()
        };
        let renewal = ApiRequest::new(Method::POST, "/leases").body(&Renew { renew: names });
        // An unreachable server is tried again after the interval.
        let Some(Gone { gone }) = connection.try_once(&renewal).await else { continue };
        let lost: Vec<(u64, Leased)> = {
            let held = connection.leases.held();
            let lost = held.leases.iter().filter(|(_, (_, name))| gone.contains(name));
            lost.map(|(number, (leased, _))| (*number, leased.clone())).collect()
        };
        for (number, leased) in lost {
            let Some(Lease { lease, .. }) = connection.try_once(&leased.request()).await else { continue };
            let unused = match connection.leases.held().leases.get_mut(&number) {
                Some((_, name)) => {
                    *name = lease;
                    None
                }
                None => Some(end(&lease)),
            };
            if let Some(end) = unused {
                let _: Option<Done> = connection.try_once(&end).await;
            }
        }
    }
}
