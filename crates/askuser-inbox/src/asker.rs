//! The inbox as an [`Asker`]: the question is kept before anybody sees it, and answered by whoever is first, here or anywhere.

use crate::off_thread::off_thread;
use crate::race::{self, First, Refused, broken, panicked};
use crate::waiting::Inbox;
use askuser::store::{Ending, Put, Store, StoreError, StoredQuestion};
use askuser::{AskError, Asker, Asking, Closed, Decision, Delivery, Request, RequestKey, Status};
use std::sync::{Arc, Mutex, PoisonError};

/// Asks through an inbox, and at a surface beside it if there is one: the first answer wins, the other closes and says so.
///
/// To stop waiting is to detach: the question stays, and whoever asks again with its key gets the answer.
#[derive(Clone)]
pub struct InboxAsker {
    inbox: Inbox,
    beside: Option<Arc<dyn Asker>>,
    by: Option<String>,
    reach: Option<Arc<Reach>>,
    tell: Option<Arc<Reach>>,
}

/// Calls the person to a question that waits.
type Reach = dyn Fn(&StoredQuestion) + Send + Sync;

impl InboxAsker {
    /// Asks through this inbox.
    pub fn new(inbox: Inbox) -> InboxAsker {
        InboxAsker { inbox, beside: None, by: None, reach: None, tell: None }
    }

    /// Asks here too: at this terminal, in this client's dialog.
    #[must_use]
    pub fn beside(self, surface: Arc<dyn Asker>) -> InboxAsker {
        InboxAsker { beside: Some(surface), ..self }
    }

    /// Says who answers at the surface beside, as far as this process knows: a user's name.
    #[must_use]
    pub fn answered_by(self, by: impl Into<String>) -> InboxAsker {
        InboxAsker { by: Some(by.into()), ..self }
    }

    /// Calls the person to each question that is new here. Must not wait.
    #[must_use]
    pub fn reaching(self, reach: impl Fn(&StoredQuestion) + Send + Sync + 'static) -> InboxAsker {
        InboxAsker { reach: Some(Arc::new(reach)), ..self }
    }

    /// Says that a question is kept and waited for, new or not. Must not wait.
    #[must_use]
    pub fn telling(self, tell: impl Fn(&StoredQuestion) + Send + Sync + 'static) -> InboxAsker {
        InboxAsker { tell: Some(Arc::new(tell)), ..self }
    }

    /// The inbox.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// Keeps a question without waiting for it, and calls the person if it is new.
    ///
    /// # Errors
    /// As for [`Store::put`].
    pub fn put(&self, request: &Request) -> Result<StoredQuestion, StoreError> {
        let put = self.inbox.store().put(request)?;
        if let (true, Some(reach)) = (put.is_new, &self.reach) {
            reach(&put.question);
        }
        Ok(put.question)
    }

    /// Waits for the end of a question that is stored, and asks it at the surface beside meanwhile.
    async fn first(&self, request: &Request, id: &str) -> Result<Delivery, AskError> {
        let delivery = match race::first(&self.inbox, id, request, self.beside.as_deref()).await? {
            First::Elsewhere(ending) => return self.deliver(id, ending),
            First::Here(delivery) => delivery,
        };
        // Nobody was reached there, or its clock has run out: the inbox has the question, and its time, all the same.
        let status = delivery.resolution().outcome().status();
        if matches!(status, Status::Unavailable { .. } | Status::TimedOut) {
            drop(delivery.stored());
            if let Some(ending) = race::timed_out(&self.inbox, id).await? {
                return self.deliver(id, ending);
            }
            return match race::first(&self.inbox, id, request, None).await? {
                First::Elsewhere(ending) => self.deliver(id, ending),
                First::Here(delivery) => Ok(delivery),
            };
        }
        match race::record(&self.inbox, id, delivery, self.by.as_deref()).await {
            Ok((Ending::Resolved(resolution), delivery)) => {
                let (store, id) = (self.inbox.store().clone(), id.to_owned());
                Ok(Delivery::new(resolution, move |stored| match stored {
                    Ok(()) => {
                        let _ = store.delivered(&id);
                        drop(delivery.stored());
                    }
                    Err(why) => drop(delivery.not_stored(why)),
                }))
            }
            Ok((ending, delivery)) => {
                drop(delivery.stored());
                self.deliver(id, ending)
            }
            Err(Refused::Ended(ending)) => self.deliver(id, ending),
            Err(Refused::Failed(error)) => Err(error),
        }
    }

    /// Hands over how a question ended; once it is stored there, it counts as delivered.
    fn deliver(&self, id: &str, ending: Ending) -> Result<Delivery, AskError> {
        let (store, id) = (self.inbox.store().clone(), id.to_owned());
        match ending {
            Ending::Withdrawn { .. } => Err(AskError::Withdrawn),
            Ending::Resolved(resolution) => Ok(Delivery::new(resolution, move |stored| {
                if stored.is_ok() {
                    // Lost, it is delivered once more.
                    let _ = store.delivered(&id);
                }
            })),
        }
    }
}

impl Asker for InboxAsker {
    fn decide(&self, request: &Request) -> Decision {
        self.beside.as_ref().map_or_else(|| Decision::Ask(Vec::new()), |surface| surface.decide(request))
    }

    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let attached = Attached::to(&self.inbox, request.key());
            let (store, kept, request_kept) = (self.inbox.store().clone(), attached.kept.clone(), request.clone());
            let put = off_thread(move || Kept::put(&kept, &*store, &request_kept)).await;
            let put = put.unwrap_or_else(|| Err(panicked())).map_err(broken)?;
            let id = put.question.id.clone();
            if let Some(ending) = put.question.ending {
                return self.deliver(&id, ending);
            }
            if let (true, Some(reach)) = (put.is_new, &self.reach) {
                reach(&put.question);
            }
            if let Some(tell) = &self.tell {
                tell(&put.question);
            }
            let result = self.first(request, &id).await;
            // It has ended, and nobody asks who waits for it.
            if result.is_ok() {
                attached.end();
            }
            result
        })
    }

    /// Withdraws the question from the store, or records that it was answered elsewhere; whoever waits learns it from there.
    fn close(&self, key: &RequestKey, why: &Closed) {
        if let Some(surface) = &self.beside {
            surface.close(key, why);
        }
        let Ok(Some(id)) = self.inbox.store().id_of(key) else { return };
        let _ = match why {
            Closed::AnsweredElsewhere(resolution) => {
                self.inbox.store().answer(&id, resolution, &format!("{id}-elsewhere")).map(drop)
            }
            _ => self.inbox.store().withdraw(&id, self.by.as_deref().unwrap_or("whoever asked")).map(drop),
        };
    }
}

/// Says that nobody waits any more, unless the question has ended, or somebody else in this process waits for it too.
struct Attached<'a> {
    inbox: &'a Inbox,
    key: &'a RequestKey,
    kept: Arc<Mutex<Kept>>,
}

/// Whether a question is in the store, and somebody is still there for it.
enum Kept {
    NotYet,
    As(String),
    /// Nobody waits for it any more, or it has ended.
    NobodyWaits,
}

impl Kept {
    /// Keeps a question. Whoever leaves meanwhile waits until that is done, so that it is known as what they left it.
    fn put(kept: &Mutex<Kept>, store: &dyn Store, request: &Request) -> Result<Put, StoreError> {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let put = store.put(request)?;
        match *kept {
            _ if put.question.ending.is_some() => {}
            Kept::NobodyWaits => store.detach(&put.question.id)?,
            Kept::NotYet | Kept::As(_) => *kept = Kept::As(put.question.id.clone()),
        }
        Ok(put)
    }
}

impl<'a> Attached<'a> {
    fn to(inbox: &'a Inbox, key: &'a RequestKey) -> Attached<'a> {
        inbox.begins_asking(key);
        Attached { inbox, key, kept: Arc::new(Mutex::new(Kept::NotYet)) }
    }

    /// The question has ended.
    fn end(&self) -> Kept {
        std::mem::replace(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner), Kept::NobodyWaits)
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        if self.inbox.stops_asking(self.key)
            && let Kept::As(id) = self.end()
        {
            let _ = self.inbox.store().detach(&id);
        }
    }
}
