//! The inbox as an [`Asker`]: the question is kept before a person sees it, and ended by the first answer, here or anywhere.

use crate::new_attempt;
use crate::race::{Winner, answerer, race, record};
use askuser::store::{
    Attachment, Call, Claim, Ending, Handle, Principal, Put, Series, Store, StoreError, StoredQuestion,
};
use askuser::{
    AskError, Asker, Asking, Closed, Decision, Delivery, Inbox, Purpose, Request, RequestKey, Resolution, Status, Via,
};
use std::sync::Arc;
use std::time::Duration;

/// Asks through a store, and at a surface beside it if there is one: the first answer wins, the other closes and says so.
///
/// To stop waiting is to detach: the question stays, and a caller that asks again with its key gets the answer.
#[derive(Clone)]
pub struct InboxAsker {
    store: Arc<dyn Store>,
    person: String,
    has_device: bool,
    beside: Option<Arc<dyn Asker>>,
    decide: Option<Arc<Decide>>,
    on_new: Option<Arc<Notifier>>,
    on_waiting: Option<Arc<Notifier>>,
}

/// Told of a question that is kept. Must not wait.
type Notifier = dyn Fn(&StoredQuestion) + Send + Sync;

/// Says what is known of a request without asking.
type Decide = dyn Fn(&Request) -> Decision + Send + Sync;

impl InboxAsker {
    /// Asks through this store. The person is who answers at a surface beside it, as far as this process knows: a user's name.
    pub fn new(store: Arc<dyn Store>, person: impl Into<String>) -> InboxAsker {
        let person = person.into();
        InboxAsker { store, person, has_device: false, beside: None, decide: None, on_new: None, on_waiting: None }
    }

    /// The store knows the person at this terminal by a device of theirs: what they answer there is their own.
    #[must_use]
    pub fn with_device(self, has_device: bool) -> InboxAsker {
        InboxAsker { has_device, ..self }
    }

    /// Asks here too: at this terminal, in this client's dialog.
    #[must_use]
    pub fn beside(self, surface: Arc<dyn Asker>) -> InboxAsker {
        InboxAsker { beside: Some(surface), ..self }
    }

    /// Settles what needs no person, instead of what the surface beside it knows.
    #[must_use]
    pub fn deciding(self, decide: impl Fn(&Request) -> Decision + Send + Sync + 'static) -> InboxAsker {
        InboxAsker { decide: Some(Arc::new(decide)), ..self }
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

    /// Waits for the end of a question that is stored, and asks it at the surface beside meanwhile.
    async fn wait_for(&self, put: Put, request: &Request, beside: Option<&dyn Asker>) -> Result<Delivery, AskError> {
        let Put { question, attachment, .. } = put;
        // Who sits here answers nothing that is for others.
        let beside = beside.filter(|_| request.is_for(&self.person));
        let (agent, id) = (self.agent(&question.request), &question.id);
        if let Some(ending) = question.ending.clone() {
            return self.deliver(&question, ending, None, attachment).await;
        }
        if let Some(notify) = &self.on_waiting {
            notify(&question);
        }
        let delivery = match race(&agent, id, request, beside).await? {
            Winner::Store(ending) => return self.deliver(&question, ending, None, attachment).await,
            Winner::Surface(delivery) => delivery,
        };
        // No person was reached there, or its clock has run out: the inbox has the question, and its time, all the same.
        let status = delivery.resolution().outcome().status();
        if matches!(status, Status::Unavailable { .. } | Status::TimedOut) {
            drop(delivery.stored());
            let ending = agent.wait(id).await.map_err(AskError::Store)?;
            return self.deliver(&question, ending, None, attachment).await;
        }
        // An agent with a credential reports what is answered beside it, but for a device at its terminal.
        let via = delivery.resolution().via();
        let is_on_device = self.has_device && matches!(via, Some(Via::Terminal | Via::Line));
        let answerer = match question.request.origin().credential {
            Some(_) if !is_on_device => agent,
            _ => self.handle(answerer(&self.person, via)),
        };
        let by = (!request.audience().is_empty()).then_some(&*self.person);
        match record(&answerer, id, delivery, by).await {
            Ok((ending, delivery)) => self.deliver(&question, ending, Some(delivery), attachment).await,
            Err(StoreError::Ended(ending)) => self.deliver(&question, *ending, None, attachment).await,
            Err(error) => Err(AskError::Store(error)),
        }
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
        let (agent, id) = (self.agent(&question.request), question.id.clone());
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

/// A permission that nothing else can use any more.
async fn claimed(agent: &Handle, question: &StoredQuestion, resolution: Resolution) -> Result<Resolution, AskError> {
    let attempt = new_attempt().map_err(|error| AskError::surface("the permission cannot be used", error))?;
    let unused = match agent.claim(&question.id, &attempt).await.map_err(AskError::Store)? {
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

    fn wait<'a>(&'a self, put: Put, request: &'a Request, beside: Option<&'a dyn Asker>) -> Asking<'a> {
        Box::pin(self.wait_for(put, request, beside))
    }
}

impl Asker for InboxAsker {
    fn decide(&self, request: &Request) -> Decision {
        match (&self.decide, &self.beside) {
            (Some(decide), _) => decide(request),
            (None, Some(surface)) => surface.decide(request),
            (None, None) => Decision::Ask(Vec::new()),
        }
    }

    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        let put = self.agent(request).put(request, None);
        Box::pin(async move {
            let put = self.kept(put).await.map_err(AskError::Store)?;
            self.wait_for(put, request, self.beside.as_deref()).await
        })
    }

    /// Withdraws the question from the store; its waiters learn it from there.
    fn close(&self, key: &RequestKey, why: &Closed) {
        if let Some(surface) = &self.beside {
            surface.close(key, why);
        }
        if let (Closed::Withdrawn, Ok(attempt)) = (why, new_attempt()) {
            drop(self.handle(answerer(&self.person, Some(Via::Inbox))).withdraw(key, &attempt));
        }
    }

    /// Calls about one question keep their order, so an ending that is found after the withdrawal was there before it.
    fn take_back<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        self.close(request.key(), &Closed::Withdrawn);
        let agent = self.agent(request);
        let found = agent.get(request.key());
        Box::pin(async move {
            let question = found.await.map_err(AskError::Store)?;
            let Some(ending) = question.ending.clone() else { return Err(AskError::Withdrawn) };
            let attachment = agent.attach(&question.id).await.map_err(AskError::Store)?;
            self.deliver(&question, ending, None, attachment).await
        })
    }
}
