//! Renews this process's leases at a server: that it waits, or shows a list.

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
    /// Asks for a lease.
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
    /// Another server may have taken over without these leases.
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

    /// Keeps a lease that the server gave, and renews it from now on.
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

    /// Renews what is held now, and not only after a while.
    pub(super) fn renew_soon(&self) {
        self.soon.notify_one();
    }

    /// The asker has the answer, so its lease is dropped without a message.
    pub(super) fn forget(&self, id: &QuestionId) {
        self.held().leases.retain(|_, (leased, _)| !matches!(leased, Leased::Question(of) if of == id));
    }

    /// The process has left: what to tell the server.
    pub(super) fn remove(&self, number: u64) -> Option<ApiRequest> {
        let (_, lease) = self.held().leases.remove(&number)?;
        Some(end(&lease))
    }
}

/// Ends a lease.
fn end(lease: &str) -> ApiRequest {
    ApiRequest::new(Method::DELETE, format!("/leases/{lease}"))
}

/// Renews what is held, as long as there is anything. A server that was started anew knows of nothing, and is told.
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
        // An unreachable server is told later.
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
