//! A stored question at a surface. The first answer ends the question, at that surface or anywhere else.

use crate::new_attempt;
use askuser::prompt::PromptOptions;
use askuser::store::{
    Draft, DraftSave, DraftVersion, End, Ending, Handle, Principal, QuestionId, SavedDraft, StoreError, StoredQuestion,
};
use askuser::{AskError, Asker, Delivery, Prompt, Reported, Request, Status, Via};
use std::future::{Future, poll_fn};
use std::task::Poll;

/// The maximum number of attempts to record an ending while the result is unknown.
const TRIES: usize = 3;

/// Waits until a stored question has ended, and asks it at a surface meanwhile. Returns the answer from the surface,
/// which is not recorded yet.
///
/// # Errors
/// [`AskError::Ended`] if the question ended elsewhere first. The surface closes with that ending.
pub(crate) async fn race(
    store: &Handle,
    id: &QuestionId,
    request: &Request,
    surface: Option<&dyn Asker>,
) -> Result<Delivery, AskError> {
    let mut ended = std::pin::pin!(store.wait(id));
    let mut asking = surface.map(|surface| surface.ask(request));
    let first = poll_fn(|context| {
        if let Poll::Ready(ended) = ended.as_mut().poll(context) {
            return Poll::Ready(
                ended.map_or_else(|error| Err(error.into()), |ending| Err(AskError::Ended(ending.into()))),
            );
        }
        asking.as_mut().map_or(Poll::Pending, |asking| asking.as_mut().poll(context))
    });
    let first = first.await;
    if let (Err(AskError::Ended(ending)), Some(surface)) = (&first, surface) {
        surface.close(request.key(), ending);
    }
    first
}

/// Records an answer from a surface as this principal's. An agent reports `by` as the author, unless the surface names
/// one.
///
/// The surface gets an error if another answer was first, or if this answer cannot be stored.
///
/// # Errors
/// Returns the other ending, or the reason why the answer could not be recorded.
pub(crate) async fn record(
    store: &Handle,
    id: &QuestionId,
    delivery: Delivery,
    by: Option<&str>,
) -> Result<(Ending, Delivery), AskError> {
    let resolution = delivery.resolution();
    // An agent states the surface and the person that it knows of.
    let reported = match store.principal().via() {
        None => Some(Reported { by: resolution.by().or(by).map(str::to_owned), via: resolution.via() }),
        Some(_) => resolution.reported().cloned(),
    };
    let end = End::Resolve { outcome: resolution.outcome().clone(), reported };
    match end_once(store, id, &end).await {
        Ok(ending) => Ok((ending, delivery)),
        Err(error) => {
            drop(delivery.not_stored(match &error {
                StoreError::Ended(ending) => ending.words(),
                error => error.chain(),
            }));
            Err(error.into())
        }
    }
}

/// Ends a question with one new attempt. Repeats the attempt if its result is unknown.
async fn end_once(store: &Handle, id: &QuestionId, end: &End) -> Result<Ending, StoreError> {
    let attempt = new_attempt().map_err(|error| StoreError::unavailable("cannot answer", error))?;
    for _ in 1..TRIES {
        match store.end(id, end, &attempt).await {
            Err(StoreError::Unknown { .. }) => {}
            result => return result,
        }
    }
    store.end(id, end, &attempt).await
}

/// Shows a stored question at a surface until it is answered there, and returns its ending.
///
/// The handle belongs to the person at the surface. A draft from elsewhere is filled in. If the person postpones the
/// question, the draft is saved.
///
/// # Errors
/// Returns the errors of the surface and of the store. [`AskError::Ended`] if the question ended elsewhere. The surface
/// has then shown that.
pub async fn answer_at(store: &Handle, question: &StoredQuestion, surface: &dyn Asker) -> Result<Ending, AskError> {
    let opened = store.drafts(&question.id).await.unwrap_or_default().into_iter().next();
    match show(store, question, surface, opened.as_ref().map(|saved| &saved.draft)).await {
        Err(AskError::PutAside(draft)) => Err(match keep(store, question, opened, &draft).await {
            Err(error) if !draft.is_empty() => AskError::NotSaved(error),
            _ => AskError::PutAside(draft),
        }),
        shown => shown,
    }
}

/// Saves the draft of a postponed question, if it has changes that the surface has not saved.
async fn keep(
    store: &Handle,
    question: &StoredQuestion,
    opened: Option<SavedDraft>,
    draft: &Draft,
) -> Result<(), StoreError> {
    let prompt = Prompt::new(question.request.set().clone(), PromptOptions::default());
    let (shown, replaces) = match opened {
        Some(saved) => (prompt.resuming(&saved.draft).unsent(), vec![saved.version]),
        None => (Draft::default(), Vec::new()),
    };
    if shown == *draft || store.drafts(&question.id).await?.iter().any(|saved| saved.draft == *draft) {
        return Ok(());
    }
    let save = DraftSave { draft: draft.clone(), version: DraftVersion::of_new_writer(), replaces };
    store.save_draft(&question.id, &save).await.map(drop)
}

async fn show(
    store: &Handle,
    question: &StoredQuestion,
    surface: &dyn Asker,
    draft: Option<&Draft>,
) -> Result<Ending, AskError> {
    if let Some(ending) = question.ending.clone() {
        return Err(AskError::Ended(ending.into()));
    }
    let id = &question.id;
    let request = Request::clone(&question.request).with_deadline(question.time_left());
    // A draft that does not fit the question is ignored. The surface itself reads the parts of a draft other than the
    // chosen options.
    let request = match draft {
        Some(draft) => request.clone().with_known(draft.chosen()).unwrap_or(request),
        None => request,
    };
    let mut delivery = race(store, id, &request, Some(surface)).await?;
    if *delivery.resolution().outcome().status() == Status::TimedOut {
        drop(delivery.stored());
        if let Some(ending) = store.get(id).await?.ending {
            return Err(AskError::Ended(ending.into()));
        }
        // Another surface has stopped the clock, so the question is asked again without a deadline.
        delivery = race(store, id, &request.with_deadline(None), Some(surface)).await?;
    }
    if let Status::Unavailable { reason } = delivery.resolution().outcome().status() {
        let reason = reason.clone();
        drop(delivery.stored());
        return Err(AskError::surface("no person can be asked here", reason));
    }
    let (ending, delivery) = record(store, id, delivery, None).await?;
    drop(delivery.stored());
    Ok(ending)
}

/// Returns the author of an answer at a surface: this person, or a policy if the answer came from no surface.
pub(crate) fn answerer(name: &str, via: Option<Via>) -> Principal {
    Principal::person(name, via.unwrap_or(Via::Policy))
}
