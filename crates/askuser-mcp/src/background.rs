//! Questions in the background, without which the model can continue its work. It asks, lists and withdraws them, and
//! their answers are added to a later result.

use crate::call::{Call, Unanswered, not_asked};
use crate::exchange::Exchange;
use crate::results;
use askuser::store::{Put, QuestionId, StoredQuestion};
use askuser::{Delivery, Request, Resolution};
use rmcp::model::CallToolResult;
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The maximum number of questions that a conversation remembers. A ticket finds any question.
const MOST: usize = 100;

/// The questions of one conversation, in the order of asking.
#[derive(Default)]
pub(crate) struct Asked(Mutex<Vec<AskedHere>>);

struct AskedHere {
    id: QuestionId,
    /// The number of replies that were begun with the answer.
    attempts: u32,
    /// Whether a reply with the answer is under way.
    is_leaving: bool,
}

impl Asked {
    fn entries(&self) -> MutexGuard<'_, Vec<AskedHere>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, id: &QuestionId) {
        let mut asked = self.entries();
        if asked.iter().all(|asked| asked.id != *id) {
            let surplus = (asked.len() + 1).saturating_sub(MOST);
            asked.drain(..surplus);
            asked.push(AskedHere { id: id.clone(), attempts: 0, is_leaving: false });
        }
    }

    fn ids(&self) -> Vec<QuestionId> {
        self.entries().iter().map(|asked| asked.id.clone()).collect()
    }

    fn is_leaving(&self, id: &QuestionId) -> bool {
        self.entries().iter().any(|asked| asked.id == *id && asked.is_leaving)
    }

    /// Records the beginning of a reply with an answer. Returns whether an earlier reply had begun.
    fn begin(&self, id: &QuestionId) -> bool {
        self.note(id);
        let mut asked = self.entries();
        let Some(asked) = asked.iter_mut().find(|asked| asked.id == *id) else { return false };
        asked.is_leaving = true;
        asked.attempts += 1;
        asked.attempts > 1
    }

    fn end(&self, id: &QuestionId) {
        self.entries().iter_mut().filter(|asked| asked.id == *id).for_each(|asked| asked.is_leaving = false);
    }
}

impl Call<'_> {
    /// Removes the field `background` from an input, because it is no part of the question. Returns its value.
    pub(crate) fn take_background(&self, arguments: &mut Value) -> Result<bool, Unanswered> {
        let field = arguments.as_object_mut().and_then(|fields| fields.shift_remove("background"));
        match field.filter(|_| self.server.options.background) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(is_background)) => Ok(is_background),
            Some(other) => {
                Err(Unanswered::refused(results::refused(format!("background: {other}, must be true or false"))))
            }
        }
    }

    /// Returns the questions of this conversation, without unreadable ones.
    async fn own_questions(&self) -> Vec<StoredQuestion> {
        let mut questions = Vec::new();
        for id in self.server.conversation.asked.ids() {
            questions.extend(self.store().get(&id).await);
        }
        questions
    }

    /// Returns the undelivered question of this conversation that asks the same, if either of the two is in the
    /// background.
    pub(crate) async fn asked_already(&self, request: &Request) -> Option<StoredQuestion> {
        let is_same = |question: &StoredQuestion| {
            let is_either = question.request.is_in_background() || request.is_in_background();
            is_either && question.delivered_ms.is_none() && question.request.asks_the_same(request)
        };
        self.own_questions().await.into_iter().find(is_same)
    }

    /// Leaves a question with the person. The result promises that the answer will be delivered only if that has worked
    /// before.
    pub(crate) async fn leave(&self, put: Put) -> CallToolResult {
        let is_pushed = self.own_questions().await.iter().any(|question| question.sent_ms.is_some());
        // If this fails, the store detects the departure itself.
        let _ = put.attachment.detach().await;
        results::in_background(&put.question.id, is_pushed)
    }

    /// Returns the list of this conversation's questions, for a model that has no ticket.
    pub(crate) async fn list(&self) -> CallToolResult {
        results::listed(&self.own_questions().await)
    }

    /// Withdraws a question. Returns `None` if the question had ended already.
    pub(crate) async fn take_back(&self, id: &QuestionId) -> Result<Option<CallToolResult>, Unanswered> {
        use askuser::store::{Attempt, StoreError};
        match self.store().withdraw(id, &Attempt::new(crate::server::random_id())).await {
            Ok(_) => Ok(Some(results::taken_back(id))),
            Err(StoreError::Ended(_)) => Ok(None),
            Err(error) => Err(not_asked(error)),
        }
    }

    /// Sends the answer to a background question with a reply that names its ticket.
    pub(crate) fn send(&self, question: &StoredQuestion, result: &mut CallToolResult, delivery: Delivery) {
        let id = question.id.clone();
        let conversation = self.server.conversation.clone();
        let is_again = conversation.asked.begin(&id) || question.delivered_ms.is_some();
        results::name(result, &id, is_again);
        Exchange::of(self.context).leaving(Delivery::new(delivery.resolution().clone(), move |stored| {
            match stored {
                Ok(()) => drop(delivery.stored()),
                Err(why) => drop(delivery.not_stored(why)),
            }
            conversation.asked.end(&id);
        }));
    }

    /// Adds the answers to background questions that have arrived since the last result.
    pub(crate) async fn add_arrived(&self, result: &mut CallToolResult) {
        for question in self.own_questions().await {
            let is_due = question.request.is_in_background() && question.delivered_ms.is_none();
            let Some(ending) = question.ending.as_ref().filter(|_| is_due) else { continue };
            if self.server.conversation.asked.is_leaving(&question.id) {
                continue;
            }
            let resolution = ending.recorded().cloned();
            let mut arrived = match &resolution {
                Some(resolution) => results::resolved(question.request.set(), resolution, None),
                None => results::withdrawn(),
            };
            let store = self.store();
            let id = question.id.clone();
            let resolution = resolution.unwrap_or_else(|| Resolution::unavailable("withdrawn"));
            // If the reply is lost, the answer is delivered again.
            let delivery = Delivery::new(resolution, move |stored| {
                let _ = stored.map(|()| drop(store.delivered(&id)));
            });
            self.send(&question, &mut arrived, delivery);
            results::add_arrived(result, arrived);
        }
    }
}
