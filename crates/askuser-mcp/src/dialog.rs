//! The client's own dialog as a surface beside the inbox.
//!
//! A client that declares dialogs may have no person in front of it. A headless client refuses immediately and by
//! itself. An immediate refusal, an empty form and an error all mean that no person was asked.

use crate::call::Call;
use crate::form::{Choices, DECLINE, Rejected, answer, elsewhere, form};
use crate::server::Conversation;
use askuser::store::{Draft, DraftSave, DraftVersion, Handle, QuestionId};
use askuser::{Answer, Asker, Asking, Delivery, Outcome, Question, Request, Resolution, Status, Via};
use futures_util::future::OptionFuture;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    PingRequest, RequestId, ServerRequest,
};
use rmcp::service::PeerRequestOptions;
use rmcp::{Peer, RoleServer};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The maximum number of times that a form without a valid answer is shown.
pub(crate) const TRIES: usize = 3;

/// The dialog of a connected client about one request, with a form for each question.
pub(crate) struct Dialog {
    peer: Peer<RoleServer>,
    choices: Choices,
    /// The time that earlier forms were open, and the time when the present form was opened, if one is open.
    open: Mutex<(Duration, Option<Instant>)>,
    closed: Notify,
    /// The store as the person at the dialog uses it, for the question and for partial answers.
    person: Handle,
    id: QuestionId,
    conversation: Arc<Conversation>,
    /// The resolution of forms that are closed already; `None` if the forms are still to be shown.
    given: Option<Resolution>,
}

impl Dialog {
    pub(crate) fn new(call: &Call<'_>, choices: Choices, id: QuestionId) -> Dialog {
        let peer = call.context.peer.clone();
        let conversation = call.server.conversation.clone();
        let person = call.person();
        Dialog { peer, choices, open: Mutex::default(), closed: Notify::new(), person, id, conversation, given: None }
    }

    /// Sets the resolution of forms that the client has shown between two calls.
    pub(crate) fn having_given(self, given: Resolution) -> Dialog {
        Dialog { given: Some(given), ..self }
    }

    /// Returns whether a form is open, and the time that the client does not count. The timeout of a client with single
    /// choices stops while a form is open.
    pub(crate) fn open_time(&self) -> (bool, Duration) {
        let (before, since) = *self.open();
        let is_counted = !matches!(self.choices, Choices::OptionsOnly | Choices::Elsewhere);
        let open = before + since.map_or(Duration::ZERO, |since| since.elapsed());
        (since.is_some(), if is_counted { Duration::ZERO } else { open })
    }

    fn open(&self) -> MutexGuard<'_, (Duration, Option<Instant>)> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a form is closed.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Shows a form that refers the person to the inbox. The choice of the inbox is no answer.
    async fn elsewhere(&self, request: &Request) -> FormResult {
        let Some(where_to) = elsewhere(request, &self.id) else { return FormResult::NotAsked };
        match self.one(&where_to, &where_to.set().questions()[0], false).await {
            FormResult::Answer(answer) if answer.selected_options == [DECLINE] => FormResult::Declined,
            FormResult::Answer(_) => FormResult::NotAsked,
            refused => refused,
        }
    }

    async fn all(&self, request: &Request) -> Resolution {
        if self.choices == Choices::Elsewhere {
            return resolution(request, self.elsewhere(request).await, request.known().to_vec());
        }
        let mut answers: Vec<Answer> = request.known().to_vec();
        let mut is_person_there = false;
        for question in request.set().questions() {
            if answers.iter().any(|known| known.question == question.text_verbatim()) {
                continue;
            }
            match self.one(request, question, is_person_there).await {
                FormResult::Answer(answer) => answers.push(answer),
                result => return resolution(request, result, answers),
            }
            is_person_there = true;
            // The next form may fail, or the client may leave.
            if answers.len() < request.set().questions().len() {
                keep_draft(&self.person, &self.id, request, &answers).await;
            }
        }
        resolution(request, FormResult::Complete, answers)
    }

    async fn one(&self, request: &Request, question: &Question, is_person_there: bool) -> FormResult {
        let mut rejected = None;
        for _ in 0..TRIES {
            let form = form(request, question, self.choices, rejected.as_ref());
            let shown = OptionFuture::from(form.map(|form| self.show(form))).await.flatten();
            let Some((result, shown_at)) = shown else { return FormResult::NotAsked };
            let is_instant = !is_person_there && self.conversation.is_refused_by_itself(shown_at.elapsed());
            match read_form(request, question, &result, is_instant) {
                Ok(FormResult::NotAsked) => {
                    if is_instant {
                        self.conversation.refused_by_itself();
                    }
                    tracing::info!(action = ?result.action, "the client's dialog has asked no person");
                    return FormResult::NotAsked;
                }
                Ok(form) => return form,
                Err(form) => rejected = Some(form),
            }
        }
        FormResult::NotAsked
    }

    /// Shows a form. Returns its result and the first moment at which a person can have seen it; `None` after a
    /// failure. Dropping the future closes the form.
    async fn show(&self, form: ElicitRequestParams) -> Option<(ElicitResult, Instant)> {
        let form = ElicitRequest::new(form);
        let send = |request| self.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        // The client replies to this ping without a person, before it shows the form. On a busy machine, its reply
        // takes longer than a person's.
        let ping = send(ServerRequest::PingRequest(PingRequest::default())).await.ok()?;
        let asked = send(ServerRequest::ElicitRequest(form)).await.ok()?;
        let mut open_form = OpenForm { peer: self.peer.clone(), request: Some(asked.id.clone()) };
        let opened = Instant::now();
        self.open().1 = Some(opened);
        let mut shown_at = opened;
        let mut is_awake = false;
        let mut awaking = pin!(ping.await_response());
        let mut asking = pin!(asked.await_response());
        let result = loop {
            tokio::select! {
                biased;
                _ = &mut awaking, if !is_awake => (shown_at, is_awake) = (Instant::now(), true),
                result = &mut asking => break result,
            }
        };
        let before = self.open().0;
        *self.open() = (before + opened.elapsed(), None);
        self.closed.notify_one();
        open_form.request = None;
        match result {
            Ok(ClientResult::ElicitResult(result)) => Some((result, shown_at)),
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(%error, "the client's dialog has failed");
                None
            }
        }
    }
}

impl Asker for Dialog {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let resolution = match &self.given {
                Some(given) => given.clone(),
                None => self.all(request).await,
            };
            Ok(delivery(resolution, &self.person, &self.id))
        })
    }
}

pub(crate) enum FormResult {
    Answer(Answer),
    Declined,
    Cancelled,
    NotAsked,
    /// Every question has an answer.
    Complete,
}

/// Reads the result of a client's form.
///
/// # Errors
/// If the form has no valid answer and must be shown again.
pub(crate) fn read_form(
    request: &Request,
    question: &Question,
    result: &ElicitResult,
    is_instant: bool,
) -> Result<FormResult, Rejected> {
    match result.action {
        ElicitationAction::Accept => match answer(request.set(), question, result.content.as_ref()) {
            Some(answer) => answer.map(FormResult::Answer),
            None => Ok(FormResult::NotAsked),
        },
        _ if is_instant => Ok(FormResult::NotAsked),
        ElicitationAction::Decline => Ok(FormResult::Declined),
        ElicitationAction::Cancel => Ok(FormResult::Cancelled),
        _ => Ok(FormResult::NotAsked),
    }
}

/// Saves the answers so far to a pending question, for a person who opens it in the inbox.
pub(crate) async fn keep_draft(person: &Handle, id: &QuestionId, request: &Request, answers: &[Answer]) {
    if answers != request.known() {
        // If the save fails, the question is still asked, but without the answers so far.
        let _ = person.save_draft(id, &of_dialog(Draft::from(answers.to_vec()))).await;
    }
}

/// Creates the delivery of a resolution. Once the resolution is stored, the draft of the dialog is deleted.
fn delivery(resolution: Resolution, person: &Handle, id: &QuestionId) -> Delivery {
    if matches!(resolution.outcome().status(), Status::Unavailable { .. }) {
        return resolution.into();
    }
    let person = person.clone();
    let id = id.clone();
    Delivery::new(resolution, move |stored| {
        if stored.is_ok() {
            drop(person.save_draft(&id, &of_dialog(Draft::default())));
        }
    })
}

/// Returns the save of a dialog's draft. All dialogs of one person share the draft, so a later form begins with the
/// earlier answers.
fn of_dialog(draft: Draft) -> DraftSave {
    DraftSave { draft, version: DraftVersion { writer: "dialog".to_owned(), edit: 0 }, replaces: Vec::new() }
}

/// Returns the resolution of all forms together.
pub(crate) fn resolution(request: &Request, last: FormResult, answers: Vec<Answer>) -> Resolution {
    let set = request.set();
    let outcome = match last {
        FormResult::Declined => Outcome::declined(None).with_answers(set, answers),
        FormResult::Cancelled => Outcome::cancelled().with_answers(set, answers),
        FormResult::NotAsked => return Resolution::unavailable("no person was asked in the client's dialog"),
        FormResult::Answer(_) | FormResult::Complete => Outcome::answered(set, answers),
    };
    match outcome {
        Ok(outcome) => outcome.through(Via::Elicitation),
        Err(violations) => Resolution::unavailable(violations.to_string()),
    }
}

/// A form that a person may see. If it is dropped before the form comes back, the form is closed.
struct OpenForm {
    peer: Peer<RoleServer>,
    request: Option<RequestId>,
}

impl Drop for OpenForm {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        let peer = self.peer.clone();
        // Without a runtime there is no connection to the client.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let why = Some("answered elsewhere, or no longer waited for".into());
            runtime.spawn(async move {
                let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(request), why)).await;
            });
        }
    }
}
