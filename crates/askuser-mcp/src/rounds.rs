//! Dialogs of protocol 2026-07-28. A call returns with forms, and the next call brings the answers.
//!
//! The question waits in the inbox meanwhile. The state that the client carries is signed, and valid only for this
//! client.

use crate::call::{Call, Unanswered, now_ms};
use crate::dialog::{Dialog, FormResult, TRIES, keep_draft, read_form, resolution};
use crate::form::{Choices, form};
use crate::results;
use crate::series::session;
use askuser::store::{Put, QuestionId};
use askuser::{Answer, Delivery, QuestionSet};
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    RequestStateCodec, SealOptions,
};
use serde::{Deserialize, Serialize};
use std::sync::PoisonError;
use std::time::Duration;

/// The answers and the state that a call brings back.
pub(crate) struct Round {
    responses: InputResponses,
    state: State,
}

/// The state that the client carries from one call to the next.
#[derive(Serialize, Deserialize)]
struct State {
    id: String,
    shown_ms: u64,
    /// The number of invalid forms.
    #[serde(default)]
    rejected: usize,
    /// The valid answers of earlier forms.
    #[serde(default)]
    answers: Vec<Answer>,
}

/// The next step after a round.
pub(crate) enum Next {
    /// The client shows these forms.
    Show(InputRequiredResult),
    /// The question has ended, with this delivery.
    Answered(Delivery),
}

impl Call<'_> {
    /// Returns the question to which a call comes back, and the answers. Returns `None` if the state is for another
    /// question or another client.
    pub(crate) async fn resumed(
        &self,
        set: &QuestionSet,
        responses: Option<InputResponses>,
        state: Option<&str>,
    ) -> Option<(Put, Round)> {
        let session = session(&self.origin);
        let state: State = self.server.codec.as_ref()?.open_json_with(state?, session.as_bytes()).ok()?;
        let question = self.store().get(&QuestionId::parse(&state.id)?).await.ok()?;
        if question.request.set().input() != set.input() {
            return None;
        }
        let put = self.attached(question).await.ok()?;
        drop(self.server.shown.lock().unwrap_or_else(PoisonError::into_inner).remove(&put.question.id));
        Some((put, Round { responses: responses.unwrap_or_default(), state }))
    }

    /// Reads the answers of a round, or shows the forms of a question in the first one.
    pub(crate) async fn round(
        &self,
        put: Put,
        choices: Choices,
        codec: &RequestStateCodec,
        round: Option<Round>,
    ) -> Result<Next, Unanswered> {
        let request = &*put.question.request.clone();
        let Some(Round { responses, state }) = round else { return self.first_round(put, choices, codec).await };
        let shown_for = Duration::from_millis(now_ms().saturating_sub(state.shown_ms));
        let is_instant = self.server.conversation.is_refused_by_itself(shown_for);
        let mut answers: Vec<Answer> = request.known().iter().cloned().chain(state.answers).collect();
        let mut last = FormResult::Complete;
        let mut again = Vec::new();
        for (i, question) in request.set().questions().iter().enumerate() {
            if answers.iter().any(|known| known.question == question.text_verbatim()) {
                continue;
            }
            let result = responses
                .get(&name(i))
                .and_then(|response| serde_json::from_value::<ElicitResult>(response.clone()).ok());
            let Some(result) = result else {
                last = FormResult::NotAsked;
                break;
            };
            match read_form(request, question, &result, is_instant) {
                Ok(FormResult::Answer(answer)) => answers.push(answer),
                Ok(form) => {
                    last = form;
                    break;
                }
                Err(rejected) => {
                    again.extend(form(request, question, choices, Some(&rejected)).map(|form| (name(i), form)))
                }
            }
        }
        if matches!(last, FormResult::Complete) && !again.is_empty() {
            let rejected = state.rejected + 1;
            if rejected < TRIES {
                return self.required(codec, put, again, rejected, answers);
            }
            last = FormResult::NotAsked;
        }
        if matches!(last, FormResult::NotAsked) {
            if is_instant {
                self.server.conversation.refused_by_itself();
            }
            keep_draft(&self.person(), &put.question.id, request, &answers).await;
        }
        let dialog = Dialog::new(self, choices, put.question.id.clone());
        let dialog = dialog.having_given(resolution(request, last, answers));
        self.wait(put, Some(&dialog)).await.map(Next::Answered)
    }

    async fn first_round(&self, put: Put, choices: Choices, codec: &RequestStateCodec) -> Result<Next, Unanswered> {
        // The question was asked before and has ended.
        if put.question.ending.is_some() {
            return self.wait(put, None).await.map(Next::Answered);
        }
        let request = put.question.request.clone();
        let questions = request.set().questions().iter().enumerate();
        let forms = questions.filter_map(|(i, q)| Some((name(i), form(&request, q, choices, None)?))).collect();
        self.required(codec, put, forms, 0, Vec::new())
    }

    /// Lets the client show these forms. The question stays attached until the next call.
    fn required(
        &self,
        codec: &RequestStateCodec,
        put: Put,
        forms: Vec<(String, ElicitRequestParams)>,
        rejected: usize,
        answers: Vec<Answer>,
    ) -> Result<Next, Unanswered> {
        let requests: InputRequests =
            forms.into_iter().map(|(name, form)| (name, InputRequest::Elicitation(ElicitRequest::new(form)))).collect();
        let Put { question, attachment, .. } = put;
        let options = SealOptions::new().associated_data(question.request.key().session.as_bytes());
        let state = State { id: question.id.to_string(), shown_ms: now_ms(), rejected, answers };
        match codec.seal_json_with(&state, &options) {
            Ok(state) => {
                self.server.shown.lock().unwrap_or_else(PoisonError::into_inner).insert(question.id, attachment);
                Ok(Next::Show(InputRequiredResult::new(Some(requests), Some(state))))
            }
            Err(error) => Err(Unanswered::refused(results::not_asked(&error.to_string()))),
        }
    }
}

fn name(i: usize) -> String {
    format!("question{}", i + 1)
}
