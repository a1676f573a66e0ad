//! Leases for HTTP clients. HTTP cannot tell when a client dies, so each client renews a lease. An expired lease means
//! that the client died.

use askuser::store::{AskerPresence, Attachment, Departure, QuestionId, StoredQuestion};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

pub(super) struct Leases {
    lasts: Duration,
    began: Instant,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    leases: HashMap<String, Lease>,
    is_swept: bool,
}

struct Lease {
    attachment: Attachment,
    /// The id of the credential that holds the lease.
    of: String,
    until: Instant,
}

impl Leases {
    pub(super) fn new(lasts: Duration) -> Arc<Leases> {
        Arc::new(Leases { lasts, began: Instant::now(), held: Mutex::default() })
    }

    pub(super) fn lasts_ms(&self) -> u64 {
        u64::try_from(self.lasts.as_millis()).unwrap_or(u64::MAX)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Grants a lease to the holder of a credential. The lease holds the attachment.
    pub(super) fn grant(self: &Arc<Leases>, name: String, of: &str, attachment: Attachment) {
        let until = Instant::now() + self.lasts;
        let mut held = self.held();
        held.leases.insert(name, Lease { attachment, of: of.to_owned(), until });
        if !std::mem::replace(&mut held.is_swept, true) {
            tokio::spawn(self.clone().sweep());
        }
    }

    /// Renews a lease, for this much longer than usual. Returns whether the credential holds such a lease.
    pub(super) fn renew(&self, name: &str, of: &str, longer: Duration) -> bool {
        let until = Instant::now() + self.lasts + longer;
        let mut held = self.held();
        match held.leases.get_mut(name).filter(|lease| lease.of == of) {
            Some(lease) => {
                lease.until = lease.until.max(until);
                true
            }
            None => false,
        }
    }

    pub(super) fn take(&self, name: &str, of: &str) -> Option<Attachment> {
        let mut held = self.held();
        held.leases.get(name).filter(|lease| lease.of == of)?;
        held.leases.remove(name).map(|lease| lease.attachment)
    }

    /// Returns the name of the lease of an asker that polls.
    pub(super) fn name_of_poll(of: &str, id: &QuestionId) -> String {
        format!("{of} {id}")
    }

    /// Ends all leases because the server ends. Their clients have not left, and will request new leases from the next
    /// server.
    pub(super) fn give_back(&self) {
        for (_, lease) in self.held().leases.drain() {
            drop(lease.attachment.end(Departure::Died));
        }
    }

    /// Returns a question with the presence that its lease shows. After a restart of the server, its asker may have had
    /// no time yet to renew the lease.
    pub(super) fn seen(&self, mut question: StoredQuestion) -> StoredQuestion {
        if let AskerPresence::Died(at) = question.asker
            && self.began.elapsed() < self.lasts
            && question.read_ms.saturating_sub(at) < self.lasts_ms()
            && question.request.origin().credential.is_some()
        {
            question.asker = AskerPresence::Waits;
        }
        question
    }

    /// Ends the leases that were not renewed, as long as there are leases.
    async fn sweep(self: Arc<Leases>) {
        loop {
            let next = {
                let mut held = self.held();
                let now = Instant::now();
                let over: Vec<String> =
                    held.leases.iter().filter(|(_, lease)| lease.until <= now).map(|(name, _)| name.clone()).collect();
                for lease in over.iter().filter_map(|name| held.leases.remove(name)) {
                    drop(lease.attachment.end(Departure::Died));
                }
                let Some(next) = held.leases.values().map(|lease| lease.until).min() else {
                    held.is_swept = false;
                    return;
                };
                next
            };
            tokio::time::sleep_until(next).await;
        }
    }
}
