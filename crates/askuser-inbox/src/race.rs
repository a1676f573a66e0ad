//! A stored question at a surface: whoever answers first, there or anywhere else, ends it.

use crate::off_thread::off_thread;
use crate::waiting::Inbox;
use askuser::store::{Ending, Recorded, StoreError, StoredQuestion};
use askuser::{Answer, AskError, Asker, Closed, Delivery, Request, Resolution, Status, Via};
use std::future::{Future, poll_fn};
use std::task::Poll;

/// What came first.
pub(crate) enum First {
    /// It ended somewhere else; the surface has been told.
    Elsewhere(Ending),
    /// It was answered at the surface. Nothing is recorded yet.
    Here(Delivery),
}

/// Waits for a stored question to end, and asks it at a surface meanwhile.
pub(crate) async fn first(
    inbox: &Inbox,
    id: &str,
    request: &Request,
    surface: Option<&dyn Asker>,
) -> Result<First, AskError> {
    let mut ended = std::pin::pin!(inbox.wait(id));
    let mut asking = surface.map(|surface| surface.ask(request));
    let first = poll_fn(|context| {
        if let Poll::Ready(ended) = ended.as_mut().poll(context) {
            return Poll::Ready(ended.map(First::Elsewhere).map_err(broken));
        }
        match asking.as_mut().map(|asking| asking.as_mut().poll(context)) {
            Some(Poll::Ready(answered)) => Poll::Ready(answered.map(First::Here)),
            _ => Poll::Pending,
        }
    });
    match first.await? {
        First::Elsewhere(ending) => {
            if let Some(surface) = surface {
                surface.close(request.key(), &closed(&ending));
            }
            Ok(First::Elsewhere(ending))
        }
        First::Here(delivery) => delivery.check(request).map(First::Here),
    }
}

/// Records what a surface delivered. Where somebody was earlier, or it cannot be kept, the surface is told here.
///
/// # Errors
/// How it ended instead, or why it could not be recorded.
pub(crate) async fn record(
    inbox: &Inbox,
    id: &str,
    delivery: Delivery,
    by: Option<&str>,
) -> Result<(Ending, Delivery), Refused> {
    let mut resolution = delivery.resolution().clone();
    if let (Some(by), None) = (by, resolution.by()) {
        resolution = resolution.with_by(by);
    }
    let (store, name) = (inbox.store().clone(), id.to_owned());
    // Nobody else makes this attempt: a surface delivers once.
    let attempt = format!("{}-{:p}", std::process::id(), &raw const delivery);
    let recorded = off_thread(move || store.answer(&name, &resolution, &attempt)).await;
    match recorded.unwrap_or_else(|| Err(panicked())) {
        Ok(Recorded::Won(ending)) => Ok((ending, delivery)),
        Ok(Recorded::Lost(ending)) => {
            drop(delivery.not_stored(closed(&ending).words()));
            Err(Refused::Ended(ending))
        }
        Err(error) => {
            drop(delivery.not_stored(error.chain()));
            Err(Refused::Failed(broken(error)))
        }
    }
}

pub(crate) enum Refused {
    Ended(Ending),
    Failed(AskError),
}

/// What came of showing a stored question to a person.
#[derive(Clone, Debug)]
pub enum Shown {
    /// They answered, and it is recorded.
    Answered(Ending),
    /// Somebody else ended it meanwhile, or it had ended before.
    EndedElsewhere(Ending),
    /// They put it aside with these answers: it is still pending, and they are offered the next time.
    PutAside(Vec<Answer>),
}

/// Lets a person answer a stored question at a surface. What they had begun elsewhere is filled in, and what they put aside is
/// kept.
///
/// # Errors
/// As the surface's, and where the store fails.
pub async fn answer_at(
    inbox: &Inbox,
    question: &StoredQuestion,
    surface: &dyn Asker,
    by: &str,
) -> Result<Shown, AskError> {
    match show(inbox, question, surface, by).await {
        Err(AskError::PutAside(answers)) => {
            let draft = (!answers.is_empty()).then(|| serde_json::to_value(&answers).unwrap_or_default());
            // What cannot be kept must not keep anybody here.
            let _ = inbox.store().save_draft(&question.id, draft.as_ref());
            Ok(Shown::PutAside(answers))
        }
        shown => shown,
    }
}

async fn show(inbox: &Inbox, question: &StoredQuestion, surface: &dyn Asker, by: &str) -> Result<Shown, AskError> {
    if let Some(ending) = &question.ending {
        return Ok(Shown::EndedElsewhere(ending.clone()));
    }
    let (store, id) = (inbox.store(), &question.id);
    let draft = store.draft(id).ok().flatten().and_then(|draft| serde_json::from_value::<Vec<Answer>>(draft).ok());
    let request = question.request.clone();
    // A draft that does not fit is no draft.
    let request = match draft.map(|draft| request.clone().with_known(draft)) {
        Some(Ok(with_draft)) => with_draft,
        _ => request,
    };
    let mut delivery = match first(inbox, id, &request, Some(surface)).await? {
        First::Elsewhere(ending) => return Ok(Shown::EndedElsewhere(ending)),
        First::Here(delivery) => delivery,
    };
    if *delivery.resolution().outcome().status() == Status::TimedOut {
        drop(delivery.stored());
        if let Some(ending) = timed_out(inbox, id).await? {
            return Ok(Shown::EndedElsewhere(ending));
        }
        // Somebody has stopped the clock at another surface.
        let request = request.clone().with_deadline(None);
        delivery = match first(inbox, id, &request, Some(surface)).await? {
            First::Elsewhere(ending) => return Ok(Shown::EndedElsewhere(ending)),
            First::Here(delivery) => delivery,
        };
    }
    if let Status::Unavailable { reason } = delivery.resolution().outcome().status() {
        let reason = reason.clone();
        drop(delivery.stored());
        return Err(AskError::surface("nobody can be asked here", reason));
    }
    // Wherever it was shown, it came through the inbox.
    let outcome = delivery.resolution().clone().into_outcome();
    let resolution = Resolution::new(outcome, Via::Inbox);
    let delivery = Delivery::new(resolution, move |stored| match stored {
        Ok(()) => drop(delivery.stored()),
        Err(why) => drop(delivery.not_stored(why)),
    });
    match record(inbox, id, delivery, Some(by)).await {
        Ok((ending, delivery)) => {
            drop(delivery.stored());
            Ok(Shown::Answered(ending))
        }
        Err(Refused::Ended(ending)) => Ok(Shown::EndedElsewhere(ending)),
        Err(Refused::Failed(error)) => Err(error),
    }
}

/// The time of a question is the store's to tell: how it ended, if it did.
pub(crate) async fn timed_out(inbox: &Inbox, id: &str) -> Result<Option<Ending>, AskError> {
    let (store, id) = (inbox.store().clone(), id.to_owned());
    let looked = off_thread(move || {
        store.expire()?;
        store.get(&id)
    });
    Ok(looked.await.unwrap_or_else(|| Err(panicked())).map_err(broken)?.ending)
}

pub(crate) fn closed(ending: &Ending) -> Closed {
    match ending {
        Ending::Resolved(resolution) => Closed::AnsweredElsewhere(resolution.clone()),
        Ending::Withdrawn { .. } => Closed::Withdrawn,
    }
}

pub(crate) fn broken(error: StoreError) -> AskError {
    AskError::surface("the inbox failed", error.chain())
}

pub(crate) fn panicked() -> StoreError {
    StoreError::broken("cannot use the store", "it panicked, or no thread could be started")
}
