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
    /// The credential that has it.
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

    /// Keeps an attachment for the holder of a credential.
    pub(super) fn grant(self: &Arc<Leases>, name: String, of: &str, attachment: Attachment) {
        let until = Instant::now() + self.lasts;
        let mut held = self.held();
        held.leases.insert(name, Lease { attachment, of: of.to_owned(), until });
        if !std::mem::replace(&mut held.is_swept, true) {
            tokio::spawn(self.clone().sweep());
        }
    }

    /// Renews a lease, for this long more than usual; whether there is such a lease.
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

    /// The lease of one that asks again and again.
    pub(super) fn name_of_poll(of: &str, id: &QuestionId) -> String {
        format!("{of} {id}")
    }

    /// The server ends: its clients have not left, and will say to the next one that they are there.
    pub(super) fn give_back(&self) {
        for (_, lease) in self.held().leases.drain() {
            drop(lease.attachment.end(Departure::Died));
        }
    }

    /// A question as seen through leases. Its asker may have had no time yet to renew its lease after a restart of the
    /// server.
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

    /// Ends what was not renewed, as long as there is any.
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
