use super::*;
use crate::fixtures::database;
use askuser::prompt::{Event, Trigger};
use askuser::store::{Principal, Store};
use askuser::{Key, KeyCode, Origin, RequestKey, Via};
use askuser_conformance::MemoryStore;
use std::sync::Arc;

fn request() -> Request {
    Request::new(RequestKey::new("session", "call"), database()).with_origin(Origin::default().with_agent("tester"))
}

/// The question is in the store.
fn put(store: &MemoryStore) {
    let put = store.put(&Principal::agent(request().origin()), &request(), None);
    drop(pollster::block_on(put).expect("it is kept"));
}

fn handle(store: &MemoryStore) -> Handle {
    Handle::new(Arc::new(store.clone()), Principal::person("ada", Via::Terminal))
}

/// A store with the question in it, and this process's way to it.
fn kept() -> (MemoryStore, MemoryStore, Handle) {
    let store = MemoryStore::new();
    put(&store);
    let here = store.other();
    let handle = handle(&here);
    (store, here, handle)
}

fn prompt() -> Prompt {
    Prompt::of(&request(), Duration::ZERO).on(Trigger::Opened)
}

fn type_into(prompt: &mut Prompt, text: &str) {
    for c in text.chars() {
        prompt.update(Event::Key(Key::plain(KeyCode::Char(c))), Duration::from_secs(1));
    }
}

/// What another surface of the same person finds.
fn found(store: &MemoryStore) -> String {
    pollster::block_on(handle(store).draft(request().key())).expect("a draft").words().join("\n")
}

#[test]
fn a_change_is_saved_within_a_second_also_while_typing_goes_on_and_else_nothing_is_due() {
    let (store, _, handle) = kept();
    let request = request();
    let (mut kept, mut prompt) = KeptQuestion::open(&request, Some(&handle), prompt());
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    assert_eq!((kept.look(&prompt, at(0)), kept.next_look(at(0))), (None, None));
    type_into(&mut prompt, "4my");
    assert_eq!((kept.look(&prompt, at(100)), kept.next_look(at(100))), (None, Some(at(1_100))));
    type_into(&mut prompt, " own");
    assert_eq!((kept.look(&prompt, at(1_099)), kept.next_look(at(1_099))), (None, Some(at(1_100))));
    assert_eq!(found(&store), "");
    assert_eq!((kept.look(&prompt, at(1_100)), kept.next_look(at(1_100))), (None, None));
    assert_eq!(found(&store), "Database: my own");
}

#[test]
fn a_save_that_takes_long_is_looked_at_again_and_none_is_repeated() {
    let store = MemoryStore::late();
    put(&store);
    let (request, handle) = (request(), handle(&store));
    let (mut kept, mut prompt) = KeptQuestion::open(&request, Some(&handle), prompt());
    type_into(&mut prompt, "4own");
    let mut now = Instant::now();
    let mut looks = 0;
    while let (None, Some(next)) = (kept.look(&prompt, now), kept.next_look(now)) {
        (now, looks) = (next, looks + 1);
        std::thread::yield_now();
    }
    assert!(looks > 0 && kept.is_saved);
    assert_eq!(found(&store), "Database: own");
}

#[test]
fn what_cannot_be_saved_is_said_and_only_who_wants_to_leave_twice_leaves() {
    let (_, here, handle) = kept();
    let request = request();
    let (mut kept, mut prompt) = KeptQuestion::open(&request, Some(&handle), prompt());
    let (mut emptied, mut empty) = KeptQuestion::open(&request, Some(&handle), self::prompt());
    type_into(&mut empty, "4x");
    assert_eq!(emptied.save_now(&empty), Ok(()));
    empty.update(Event::Key(Key::plain(KeyCode::Backspace)), Duration::from_secs(1));
    here.die();
    let start = Instant::now();
    type_into(&mut prompt, "4own");
    assert_eq!(kept.look(&prompt, start), None);
    let why = "What you typed is not saved: this process has died";
    assert_eq!(kept.look(&prompt, start + SOON).as_deref(), Some(why));
    assert_eq!(kept.next_look(start + SOON), None, "it is tried again with the next change");
    let stays = Err(format!("{why}; leave again to give it up"));
    assert_eq!(kept.leave(&prompt), stays);
    type_into(&mut prompt, " words");
    assert_eq!(kept.leave(&prompt), stays, "these are others");
    assert_eq!(kept.leave(&prompt), Ok(()));
    // With nothing to lose there is nothing to stay for.
    assert_eq!(emptied.leave(&empty), Ok(()));
}

#[test]
fn a_draft_that_cannot_be_read_is_not_written_over_and_the_person_is_told() {
    let (_, here, handle) = kept();
    here.die();
    let request = request();
    let (mut kept, mut prompt) = KeptQuestion::open(&request, Some(&handle), prompt());
    let told = prompt.notice().map(|notice| notice.text.clone());
    assert_eq!(told.as_deref(), Some("What you typed is not saved: this process has died"));
    type_into(&mut prompt, "4own");
    assert_eq!((kept.look(&prompt, Instant::now()), kept.next_look(Instant::now())), (None, None));
}

#[test]
fn a_question_of_which_the_store_knows_nothing_is_not_kept() {
    let (_, _, handle) = kept();
    let other = Request::new(RequestKey::new("session", "choice"), database());
    let (mut kept, mut prompt) = KeptQuestion::open(&other, Some(&handle), prompt());
    type_into(&mut prompt, "4own");
    assert_eq!((kept.look(&prompt, Instant::now()), kept.next_look(Instant::now())), (None, None));
    assert_eq!((prompt.notice(), kept.leave(&prompt)), (None, Ok(())));
}

#[test]
fn what_was_typed_here_is_kept_though_the_prompt_that_answered_has_forgotten_it() {
    let (store, _, handle) = kept();
    let request = request();
    let (mut here, mut prompt) = KeptQuestion::open(&request, Some(&handle), prompt());
    type_into(&mut prompt, "4own");
    assert_eq!(here.save_now(&prompt), Ok(()));
    let (mut there, at_another) = KeptQuestion::open(&request, Some(&handle), self::prompt());
    assert_eq!(at_another.unsent(), prompt.unsent());
    there.sent(&Outcome::timed_out());
    assert_eq!(found(&store), "Database: own", "nothing was sent");
    there.sent(&Outcome::cancelled());
    assert_eq!(found(&store), "");
    assert_eq!(here.end(&prompt).map(Draft::words), Some(vec!["Database: own".to_owned()]));
    assert_eq!(found(&store), "Database: own");
    assert_eq!(there.end(&at_another), None, "it was not typed there");
}
