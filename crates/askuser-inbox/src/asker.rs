//! The inbox as an [`Asker`]: the question is kept before a person sees it, and ended by the first answer, here or anywhere.

use crate::new_attempt;
use crate::race::{answerer, race, record};
use askuser::store::{
    Attachment, Call, Claim, Ending, Handle, Principal, Put, Series, Store, StoreError, StoredQuestion,
};
use askuser::{AskError, Asker, Asking, Delivery, Inbox, Purpose, Request, RequestKey, Resolution, Status, Via};
use std::sync::Arc;
use std::time::Duration;

/// Asks through a store, and at a surface of this process if there is one: the first answer wins, the other closes and says so.
///
/// To stop waiting is to detach: the question stays, and a caller that asks again with its key gets the answer.
#[derive(Clone)]
pub struct InboxAsker {
    store: Arc<dyn Store>,
    person: String,
    has_device: bool,
    surface: Option<Arc<dyn Asker>>,
    on_new: Option<Arc<Notifier>>,
    on_waiting: Option<Arc<Notifier>>,
}

/// Told of a question that is kept. Must not wait.
type Notifier = dyn Fn(&StoredQuestion) + Send + Sync;

impl InboxAsker {
    /// Asks through this store. The person is who answers at a surface of this process: a user's name.
    pub fn new(store: Arc<dyn Store>, person: impl Into<String>) -> InboxAsker {
        let person = person.into();
        InboxAsker { store, person, has_device: false, surface: None, on_new: None, on_waiting: None }
    }

    /// The store knows the person at this terminal by a device of theirs: what they answer there is their own.
    #[must_use]
    pub fn with_device(self, has_device: bool) -> InboxAsker {
        InboxAsker { has_device, ..self }
    }

    /// Asks here too: at this terminal, in this client's dialog.
    #[must_use]
    pub fn with_surface(self, surface: Arc<dyn Asker>) -> InboxAsker {
        InboxAsker { surface: Some(surface), ..self }
    }

    /// Calls the person to each question that is new here. Must not wait.
    #[must_use]
    pub fn on_new(self, notify: impl Fn(&StoredQuestion) + Send + Sync + 'static) -> InboxAsker {
        InboxAsker { on_new: Some(Arc::new(notify)), ..self }
    }

    /// Says that a question is kept and waited for, new or not. Must not wait.
    #[must_use]
    pub fn on_waiting(self, notify: impl Fn(&StoredQuestion) + Send + Sync + 'static) -> InboxAsker {
        InboxAsker { on_waiting: Some(Arc::new(notify)), ..self }
    }

    /// The store as the agent that asks this uses it.
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

    /// Waits for the end of a question that is stored, and asks it at a surface here meanwhile.
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

    /// Asks a stored question at a surface here, and records the answer.
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
        // Who sits here answers nothing that is for others.
        let surface = surface.filter(|_| request.is_for(&self.person));
        let agent = self.agent(&question.request);
        let id = &question.id;
        let delivery = race(&agent, id, request, surface).await?;
        // No person was reached there, or its clock has run out: the inbox has the question, and its time, all the same.
        let status = delivery.resolution().outcome().status();
        if matches!(status, Status::Unavailable { .. } | Status::TimedOut) {
            drop(delivery.stored());
            return Err(AskError::Ended(agent.wait(id).await?.into()));
        }
        // An agent with a credential reports what is answered here, but for a device at its terminal.
        let via = delivery.resolution().via();
        let is_on_device = self.has_device && matches!(via, Some(Via::Terminal | Via::Line));
        let answerer = match question.request.origin().credential {
            Some(_) if !is_on_device => agent,
            _ => self.handle(answerer(&self.person, via)),
        };
        let by = (!request.audience().is_empty()).then_some(&*self.person);
        record(&answerer, id, delivery, by).await
    }

    /// Hands over how a question ended; once it is stored there, it counts as delivered. A permission is used up first: lost on
    /// the way it is asked for again, and it never serves twice.
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
            // The surface of this process produced it: here it is evidence. A process that reads it back has only the report.
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
            // Attached until the store knows that it was delivered: else the next call would take the answer too.
            let _attachment = attachment;
            match stored {
                Ok(()) => {
                    // Lost, it is delivered once more.
                    drop(agent.delivered(&id));
                    drop(here.map(Delivery::stored));
                }
                Err(why) => drop(here.map(|here| here.not_stored(why))),
            }
        }))
    }
}

/// Claims a permission, so that no other call can use it.
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

    /// Calls about one question keep their order, so an ending that is found after the withdrawal was there before it. Its
    /// waiters learn of the withdrawal from the store.
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
