//! The inbox as an [`Asker`]: the question is kept before anybody sees it, and answered by whoever is first, here or anywhere.

use crate::off_thread::off_thread;
use crate::waiting::Inbox;
use askuser::store::{Ending, Recorded, Store, StoreError, StoredQuestion};
use askuser::{AskError, Asker, Asking, Closed, Decision, Delivery, Request, RequestKey, Resolution, Status};
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;

/// Asks through an inbox, and at a surface beside it if there is one: the first answer wins, the other closes and says so.
///
/// To stop waiting is to detach: the question stays, and whoever asks again with its key gets the answer.
#[derive(Clone)]
pub struct InboxAsker {
    inbox: Inbox,
    beside: Option<Arc<dyn Asker>>,
    by: Option<String>,
    reach: Option<Arc<Reach>>,
}

/// Calls the person to a question that waits.
type Reach = dyn Fn(&StoredQuestion) + Send + Sync;

impl InboxAsker {
    /// Asks through this inbox.
    pub fn new(inbox: Inbox) -> InboxAsker {
        InboxAsker { inbox, beside: None, by: None, reach: None }
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

    /// Waits for the end of a question that is stored, and asks it at the surface beside meanwhile.
    async fn first(&self, request: &Request, id: &str) -> Result<Delivery, AskError> {
        let mut ended = std::pin::pin!(self.inbox.wait(id));
        let mut beside = self.beside.as_ref().map(|surface| surface.ask(request));
        loop {
            let first = poll_fn(|context| {
                if let Poll::Ready(ended) = ended.as_mut().poll(context) {
                    return Poll::Ready(First::Ended(ended));
                }
                match beside.as_mut().map(|asking| asking.as_mut().poll(context)) {
                    Some(Poll::Ready(answered)) => Poll::Ready(First::Beside(answered)),
                    _ => Poll::Pending,
                }
            });
            match first.await {
                First::Ended(ended) => {
                    let ending = ended.map_err(broken)?;
                    if let Some(surface) = &self.beside {
                        surface.close(request.key(), &closed(&ending));
                    }
                    return self.deliver(id, ending);
                }
                First::Beside(answered) => {
                    beside = None;
                    let delivery = answered?.check(request)?;
                    // Nobody was reached there: the inbox has the question all the same.
                    if matches!(delivery.resolution().outcome().status(), Status::Unavailable { .. }) {
                        drop(delivery.stored());
                        continue;
                    }
                    return self.record(id, delivery).await;
                }
            }
        }
    }

    /// Records what was answered at the surface beside; whoever was earlier wins.
    async fn record(&self, id: &str, delivery: Delivery) -> Result<Delivery, AskError> {
        let resolution = match &self.by {
            Some(by) if delivery.resolution().by().is_none() => delivery.resolution().clone().with_by(by),
            _ => delivery.resolution().clone(),
        };
        let (store, id) = (self.inbox.store().clone(), id.to_owned());
        let (name, attempt) = (id.clone(), format!("{id}-beside"));
        let recorded = off_thread(move || store.answer(&name, &resolution, &attempt)).await;
        match recorded.unwrap_or_else(|| Err(panicked())) {
            Ok(Recorded::Won(Ending::Resolved(resolution))) => {
                let store = self.inbox.store().clone();
                Ok(Delivery::new(resolution, move |stored| match stored {
                    Ok(()) => {
                        let _ = store.delivered(&id);
                        drop(delivery.stored());
                    }
                    Err(why) => drop(delivery.not_stored(why)),
                }))
            }
            Ok(Recorded::Won(ending) | Recorded::Lost(ending)) => {
                drop(delivery.not_stored(closed(&ending).words()));
                self.deliver(&id, ending)
            }
            Err(error) => {
                drop(delivery.not_stored(error.chain()));
                Err(broken(error))
            }
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

enum First {
    Ended(Result<Ending, StoreError>),
    Beside(Result<Delivery, AskError>),
}

impl Asker for InboxAsker {
    fn decide(&self, request: &Request) -> Decision {
        self.beside.as_ref().map_or_else(|| Decision::Ask(Vec::new()), |surface| surface.decide(request))
    }

    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let (store, kept) = (self.inbox.store().clone(), request.clone());
            let put = off_thread(move || store.put(&kept)).await;
            let put = put.unwrap_or_else(|| Err(panicked())).map_err(broken)?;
            let id = put.question.id.clone();
            if let Some(ending) = put.question.ending {
                return self.deliver(&id, ending);
            }
            let mut attached = Attached { store: self.inbox.store(), id: Some(&id) };
            if let (true, Some(reach)) = (put.is_new, &self.reach) {
                reach(&put.question);
            }
            let result = self.first(request, &id).await;
            // It has ended, and nobody asks who waits for it.
            if result.is_ok() {
                attached.id = None;
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

/// Says that nobody waits any more, unless the question has ended.
struct Attached<'a> {
    store: &'a Arc<dyn Store>,
    id: Option<&'a str>,
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            let _ = self.store.detach(id);
        }
    }
}

fn closed(ending: &Ending) -> Closed {
    match ending {
        Ending::Resolved(resolution) => Closed::AnsweredElsewhere(Resolution::clone(resolution)),
        Ending::Withdrawn { .. } => Closed::Withdrawn,
    }
}

fn broken(error: StoreError) -> AskError {
    AskError::surface("the inbox failed", error.chain())
}

fn panicked() -> StoreError {
    StoreError::broken("cannot use the store", "it panicked, or no thread could be started")
}
