//! The inbox as an [`Asker`].
//!
//! A question is stored before a person sees it. The first answer ends it, at a surface of this process or anywhere
//! else.

use crate::first_answer::{answerer, race, record};
use crate::new_attempt;
use askuser::store::{
    Attachment, Call, Claim, Ending, Handle, Principal, Put, Series, Store, StoreError, StoredQuestion,
};
use askuser::{AskError, Asker, Asking, Delivery, Inbox, Purpose, Request, RequestKey, Resolution, Status, Via};
use std::sync::Arc;
use std::time::Duration;

/// Asks through a store, and at a surface of this process if it has one. The first answer wins. The other surfaces
/// close and show that answer.
///
/// A caller that stops waiting is detached from the question, which stays. A later call with the same key gets the
/// answer.
#[derive(Clone)]
pub struct InboxAsker {
    store: Arc<dyn Store>,
    person: String,
    has_device: bool,
    surface: Option<Arc<dyn Asker>>,
    on_new: Option<Arc<Notifier>>,
    on_waiting: Option<Arc<Notifier>>,
}

/// A callback about a stored question. It must not block.
type Notifier = dyn Fn(&StoredQuestion) + Send + Sync;

impl InboxAsker {
    /// Creates an asker for a store. `person` is the user name of the person who answers at a surface of this process.
    pub fn new(store: Arc<dyn Store>, person: impl Into<String>) -> InboxAsker {
        let person = person.into();
        InboxAsker { store, person, has_device: false, surface: None, on_new: None, on_waiting: None }
    }

    /// Sets whether the store knows the person at this terminal by a device. If so, the person's answers there count as
    /// their own, not as reports of the agent.
    #[must_use]
    pub fn with_device(self, has_device: bool) -> InboxAsker {
        InboxAsker { has_device, ..self }
    }

    /// Adds a surface of this process, such as this terminal or the dialog of this client.
    #[must_use]
    pub fn with_surface(self, surface: Arc<dyn Asker>) -> InboxAsker {
        InboxAsker { surface: Some(surface), ..self }
    }

    /// Sets a callback that notifies the person of each question that this asker puts and that is new in the store. The
    /// callback must not block.
    #[must_use]
    pub fn on_new(self, notify: impl Fn(&StoredQuestion) + Send + Sync + 'static) -> InboxAsker {
        InboxAsker { on_new: Some(Arc::new(notify)), ..self }
    }

    /// Sets a callback for each question that this asker starts to wait for, new or not. The callback must not block.
    #[must_use]
    pub fn on_waiting(self, notify: impl Fn(&StoredQuestion) + Send + Sync + 'static) -> InboxAsker {
        InboxAsker { on_waiting: Some(Arc::new(notify)), ..self }
    }

    /// Returns a handle to the store for the agent that makes the request.
    fn agent(&self, request: &Request) -> Handle {
        self.handle(Principal::agent(request.origin()))
    }

    async fn kept(&self, put: Call<Put>) -> Result<Put, StoreError> {
        let put = put.await?;
        let has_time = put.question.request.deadline() != Some(Duration::ZERO);
        if let (true, Some(notify)) = (put.is_new && has_time, &self.on_new) {
            notify(&put.question);
        }
        Ok(put)
    }

    /// Waits until a stored question has ended, and asks it at a surface of this process meanwhile. Returns the ending
    /// as a delivery.
    async fn wait_for(&self, put: Put, request: &Request, surface: Option<&dyn Asker>) -> Result<Delivery, AskError> {
        let Put { question, attachment, .. } = put;
        let (ending, here) = match question.ending.clone() {
            Some(ending) => (ending, None),
            None => match self.ask_here(&question, request, surface).await {
                Err(AskError::Ended(ending)) => (*ending, None),
                answered => answered.map(|(ending, here)| (ending, Some(here)))?,
            },
        };
        self.deliver(&question, ending, here, attachment).await
    }

    /// Asks a stored question at a surface of this process, and records the answer.
    ///
    /// # Errors
    /// [`AskError::Ended`] if the question ended elsewhere.
    async fn ask_here(
        &self,
        question: &StoredQuestion,
        request: &Request,
        surface: Option<&dyn Asker>,
    ) -> Result<(Ending, Delivery), AskError> {
        if let Some(notify) = &self.on_waiting {
            notify(question);
        }
        // The person at this surface must not answer a question that is for other people.
        let surface = surface.filter(|_| request.is_for(&self.person));
        let agent = self.agent(&question.request);
        let id = &question.id;
        let delivery = race(&agent, id, request, surface).await?;
        // The surface reached no person, or its clock ran out. The question stays in the inbox, which has its own
        // clock.
        let status = delivery.resolution().outcome().status();
        if matches!(status, Status::Unavailable { .. } | Status::TimedOut) {
            drop(delivery.stored());
            return Err(AskError::Ended(agent.wait(id).await?.into()));
        }
        // An agent with a credential reports the answers given here. An answer at a terminal with a device is the
        // person's own.
        let via = delivery.resolution().via();
        let is_on_device = self.has_device && matches!(via, Some(Via::Terminal | Via::Line));
        let answerer = match question.request.origin().credential {
            Some(_) if !is_on_device => agent,
            _ => self.handle(answerer(&self.person, via)),
        };
        let by = (!request.audience().is_empty()).then_some(&*self.person);
        record(&answerer, id, delivery, by).await
    }

    /// Returns the ending of a question as a delivery. Storing the delivery marks the question as delivered.
    ///
    /// A permission is marked as used first. So if the delivery is lost, the permission is asked for again, and it
    /// never serves twice.
    async fn deliver(
        &self,
        question: &StoredQuestion,
        ending: Ending,
        here: Option<Delivery>,
        attachment: Attachment,
    ) -> Result<Delivery, AskError> {
        let agent = self.agent(&question.request);
        let id = question.id.clone();
        let resolution = match (ending, &here) {
            (Ending::Withdrawn { .. }, _) => return Err(AskError::Withdrawn),
            // The surface of this process produced the answer, so it counts as evidence here. A process that reads the
            // answer back later has only the report.
            (ending @ Ending::Settled { .. }, Some(here)) => {
                ending.at_ms().into_iter().fold(here.resolution().clone(), Resolution::with_time)
            }
            (Ending::Resolved(resolution) | Ending::Settled { reported: resolution, .. }, _) => resolution,
        };
        let is_permission = question.request.key().purpose == Purpose::Permission;
        let resolution = if is_permission && resolution.reported_by().is_none() {
            claimed(&agent, question, resolution).await?
        } else {
            resolution
        };
        Ok(Delivery::new(resolution, move |stored| {
            // The waiter stays attached until the store knows of the delivery. Otherwise the next call could take the
            // same answer.
            let _attachment = attachment;
            match stored {
                Ok(()) => {
                    // If the call is lost, the answer is delivered once more.
                    drop(agent.delivered(&id));
                    drop(here.map(Delivery::stored));
                }
                Err(why) => drop(here.map(|here| here.not_stored(why))),
            }
        }))
    }
}

/// Marks a permission as used, so that no other call can use it. Returns the resolution, or an unavailable one if the
/// permission cannot be used.
async fn claimed(agent: &Handle, question: &StoredQuestion, resolution: Resolution) -> Result<Resolution, AskError> {
    let attempt = new_attempt().map_err(|error| AskError::surface("the permission cannot be used", error))?;
    let unused = match agent.claim(&question.id, &attempt).await? {
        Claim::Won => return Ok(resolution),
        Claim::Used { .. } => "this permission has been used",
        Claim::Lapsed => "this permission was given more than ten minutes ago, and lapsed",
    };
    Ok(Resolution::unavailable(unused))
}

impl Inbox for InboxAsker {
    fn handle(&self, principal: Principal) -> Handle {
        Handle::new(self.store.clone(), principal)
    }

    fn person(&self) -> &str {
        &self.person
    }

    fn keep<'a>(&'a self, request: &Request, series: Option<&Series>) -> askuser::Keeping<'a> {
        let put = self.agent(request).put(request, series);
        Box::pin(self.kept(put))
    }

    fn wait<'a>(&'a self, put: Put, request: &'a Request, surface: Option<&'a dyn Asker>) -> Asking<'a> {
        Box::pin(self.wait_for(put, request, surface))
    }
}

impl Asker for InboxAsker {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        let put = self.agent(request).put(request, None);
        Box::pin(async move {
            let put = self.kept(put).await?;
            self.wait_for(put, request, self.surface.as_deref()).await
        })
    }

    fn close(&self, key: &RequestKey, ending: &Ending) {
        if let Some(surface) = &self.surface {
            surface.close(key, ending);
        }
    }

    /// Withdraws a question. Calls about one question keep their order, so an ending that is found after the withdrawal
    /// came first. The store notifies the waiters of the question.
    fn withdraw<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        if let Ok(attempt) = new_attempt() {
            drop(self.handle(answerer(&self.person, Some(Via::Inbox))).withdraw(request.key(), &attempt));
        }
        let agent = self.agent(request);
        let found = agent.get(request.key());
        Box::pin(async move {
            let question = found.await?;
            let Some(ending) = question.ending.clone() else { return Err(AskError::Withdrawn) };
            let attachment = agent.attach(&question.id).await?;
            self.deliver(&question, ending, None, attachment).await
        })
    }
}
