//! Waiting for an answer.

use crate::support::{Place, block_on, choice, request};
use askuser::store::{State, Store};
use askuser_inbox::{Inbox, SqliteStore};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn ten_thousand_wait_in_one_process_and_each_hears_of_its_own_question() {
    let place = Place::new();
    let store: Arc<dyn Store> = Arc::new(place.store().without_sync().unwrap());
    let inbox = Inbox::new(store.clone());
    let ids: Vec<String> = (0..10_000).map(|i| store.put(&request(&i.to_string())).unwrap().question.id).collect();
    let waiting: Vec<_> = ids.iter().map(|id| inbox.wait(id)).collect();
    let other = place.store().without_sync().unwrap();
    for (i, id) in ids.iter().enumerate() {
        other.answer(id, &choice(i % 2, &format!("person {i}")), "k").unwrap();
    }
    for (i, waiting) in waiting.into_iter().enumerate() {
        let ending = block_on(waiting).unwrap();
        assert_eq!((ending.state(), ending.by()), (State::Answered, Some(&*format!("person {i}"))));
    }
}

#[test]
fn what_ended_before_anybody_waited_is_heard_at_once() {
    let place = Place::new();
    let store: Arc<dyn Store> = Arc::new(place.store());
    let id = store.put(&request("1")).unwrap().question.id;
    store.withdraw(&id, "ada").unwrap();
    assert_eq!(block_on(Inbox::new(store).wait(&id)).unwrap().state(), State::Withdrawn);
}

#[test]
fn a_deadline_passes_while_somebody_waits_and_nobody_looks() {
    let place = Place::new();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&place.path()).unwrap());
    let id = store.put(&request("1").with_deadline(Duration::from_millis(300))).unwrap().question.id;
    assert_eq!(block_on(Inbox::new(store).wait(&id)).unwrap().state(), State::TimedOut);
}

#[test]
fn waiting_for_what_does_not_exist_is_an_error() {
    let place = Place::new();
    let error = block_on(Inbox::new(Arc::new(place.store())).wait("abcdef")).unwrap_err();
    assert_eq!(error.chain(), "cannot wait for the answer: there is no question abcdef");
}

#[test]
fn two_wait_for_one_question_and_both_hear() {
    let place = Place::new();
    let store: Arc<dyn Store> = Arc::new(place.store());
    let inbox = Inbox::new(store.clone());
    let id = store.put(&request("1")).unwrap().question.id;
    let (one, two, given_up) = (inbox.wait(&id), inbox.wait(&id), inbox.wait(&id));
    drop(given_up);
    place.store().answer(&id, &choice(1, "ada"), "k").unwrap();
    assert_eq!(block_on(one).unwrap(), block_on(two).unwrap());
}
