//! One rule at a time.

use crate::support::{Place, choice, request, set};
use askuser::store::{AskerPresence, Ending, Filter, Recorded, State, Store, StoreError};
use askuser::{Context, Outcome, QuestionSet, Request, RequestKey, Rules, Via};
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[test]
fn the_same_key_with_another_question_is_an_error_that_shows_both() {
    let place = Place::new();
    let store = place.store();
    store.put(&request("1")).unwrap();
    let other = Request::new(RequestKey::new("session", "1"), set("Something else?"));
    let error = store.put(&other).unwrap_err().to_string();
    assert!(error.contains("Which one?") && error.contains("Something else?"), "{error}");
    let about = request("1").with_context(Context::command("rm -rf build"));
    assert!(matches!(store.put(&about), Err(StoreError::OtherQuestion { .. })), "what it is about is part of it");
    assert_eq!(store.list(&Filter::pending()).unwrap().len(), 1);
}

#[test]
fn whoever_asks_again_from_elsewhere_or_under_later_rules_asks_the_same_question() {
    let place = Place::new();
    let store = place.store();
    let first = store.put(&request("1").with_deadline(Duration::from_secs(9))).unwrap();
    let again = request("1").with_origin(askuser::Origin::default().with_folder("/moved"));
    let again = store.put(&again).unwrap();
    assert!(first.is_new && !again.is_new && first.question.id == again.question.id);
    assert!(again.question.expires_ms.is_some(), "asking again neither shortens nor lengthens the deadline");
    assert_eq!(again.question.request.origin().folder.as_deref(), Some("/project"));
}

#[test]
fn an_answer_to_another_question_is_refused_and_changes_nothing() {
    let place = Place::new();
    let store = place.store();
    let id = store.put(&request("1")).unwrap().question.id;
    let input = json!({"questions": [{"question": "Drop it?", "header": "Drop", "multiSelect": false, "options": [
        {"label": "Yes", "description": "y"}, {"label": "No", "description": "n"}]}]});
    let wrong = QuestionSet::from_json(&input.to_string(), &Rules::strict()).unwrap();
    let yes = wrong.questions()[0].answer(&[0], None, None).unwrap();
    let answer = Outcome::answered(&wrong, vec![yes]).unwrap().through(Via::Inbox);
    assert!(matches!(store.answer(&id, &answer, "k"), Err(StoreError::Misfit(_))));
    assert_eq!(store.get(&id).unwrap().state(), State::Pending);
    let nobody = askuser::Resolution::unavailable("no terminal");
    assert!(store.answer(&id, &nobody, "k").is_err(), "that nobody could be asked is no answer");
    assert_eq!(store.get(&id).unwrap().state(), State::Pending);
}

#[test]
fn a_reply_that_was_lost_can_be_asked_for_again_and_any_other_answer_hears_who_won() {
    let place = Place::new();
    let store = place.store();
    let id = store.put(&request("1")).unwrap().question.id;
    let Recorded::Won(first) = store.answer(&id, &choice(0, "ada"), "attempt 1").unwrap() else {
        panic!("it is first")
    };
    place.now.fetch_add(5_000, Ordering::Relaxed);
    assert_eq!(
        store.answer(&id, &choice(0, "ada"), "attempt 1").unwrap(),
        Recorded::Won(first.clone()),
        "the same bytes"
    );
    let Recorded::Lost(winner) = store.answer(&id, &choice(1, "bob"), "attempt 2").unwrap() else {
        panic!("it is late")
    };
    assert_eq!(winner, first);
    let Ending::Resolved(resolution) = winner else { panic!("it was answered") };
    assert_eq!(
        (resolution.by(), resolution.via(), resolution.at_ms()),
        (Some("ada"), Some(Via::Inbox), Some(1_000_000))
    );
    assert_eq!(resolution.outcome().answers()[0].selected_options, ["A"]);
    assert!(matches!(store.withdraw(&id, "bob").unwrap(), Recorded::Lost(_)));
}

#[test]
fn a_question_that_was_taken_back_takes_no_answer() {
    let place = Place::new();
    let store = place.store();
    let id = store.put(&request("1")).unwrap().question.id;
    assert!(matches!(store.withdraw(&id, "ada").unwrap(), Recorded::Won(_)));
    let Recorded::Lost(ending) = store.answer(&id, &choice(0, "bob"), "k").unwrap() else { panic!("too late") };
    assert_eq!(ending, Ending::Withdrawn { by: "ada".into(), at_ms: 1_000_000 });
}

#[test]
fn time_runs_out_without_choosing_anything_and_only_where_a_deadline_was_given() {
    let place = Place::new();
    let store = place.store();
    let patient = store.put(&request("1")).unwrap().question.id;
    let hasty = store.put(&request("2").with_deadline(Duration::from_secs(60))).unwrap().question.id;
    assert_eq!(store.expire().unwrap(), Some(1_060_000));
    place.now.store(1_059_999, Ordering::Relaxed);
    store.expire().unwrap();
    assert_eq!(store.get(&hasty).unwrap().state(), State::Pending);
    place.now.store(1_060_000, Ordering::Relaxed);
    assert_eq!(store.expire().unwrap(), None);
    let ended = store.get(&hasty).unwrap();
    assert_eq!(ended.state(), State::TimedOut);
    let Some(Ending::Resolved(resolution)) = ended.ending else { panic!("it has an outcome") };
    assert!(resolution.outcome().answers().is_empty());
    place.now.store(u64::MAX / 4, Ordering::Relaxed);
    store.expire().unwrap();
    assert_eq!(store.get(&patient).unwrap().state(), State::Pending);
}

#[test]
fn a_clock_that_goes_back_ends_nothing_before_it_was_asked() {
    let place = Place::new();
    let store = place.store();
    let id = store.put(&request("1")).unwrap().question.id;
    place.now.store(5, Ordering::Relaxed);
    store.answer(&id, &choice(0, "ada"), "k").unwrap();
    let stored = store.get(&id).unwrap();
    assert_eq!(stored.ending.unwrap().at_ms(), Some(stored.asked_ms));
}

#[test]
fn whoever_holds_the_clock_clears_the_deadline() {
    let place = Place::new();
    let store = place.store();
    let id = store.put(&request("1").with_deadline(Duration::from_secs(1))).unwrap().question.id;
    store.hold(&id).unwrap();
    place.now.fetch_add(1_000_000, Ordering::Relaxed);
    assert_eq!(store.expire().unwrap(), None);
    assert_eq!(store.get(&id).unwrap().state(), State::Pending);
}

#[test]
fn an_id_may_be_abbreviated_as_long_as_it_names_one_question() {
    let place = Place::new();
    let store = place.store().without_sync().unwrap();
    let ids: Vec<String> = (0..64).map(|i| store.put(&request(&i.to_string())).unwrap().question.id).collect();
    assert!(ids.iter().all(|id| id.len() == 12));
    assert_eq!(store.get(&ids[7].to_uppercase()).unwrap().id, ids[7]);
    let shared = ids.iter().find(|id| ids.iter().filter(|other| other[..1] == id[..1]).count() > 1).unwrap();
    let error = store.get(&shared[..1]).unwrap_err();
    let StoreError::Ambiguous { candidates, .. } = &error else { panic!("{error}") };
    assert!(candidates.iter().all(|id| id.starts_with(&shared[..1])));
    for none in ["", "%", "zz", "' OR 1", "0000000000000"] {
        assert!(matches!(store.get(none), Err(StoreError::NoSuchQuestion(_))), "{none:?}");
    }
}

#[test]
fn a_draft_is_kept_within_bounds_and_gone_with_its_question() {
    let place = Place::new();
    let store = place.store();
    let id = store.put(&request("1")).unwrap().question.id;
    let draft = json!([{"header": "Pick", "customInput": "half a sen"}]);
    store.save_draft(&id, Some(&draft)).unwrap();
    let error = store.save_draft(&id, Some(&json!("x".repeat(70_000)))).unwrap_err().chain();
    assert_eq!(error, "cannot keep the draft: it has 70002 bytes, at most 65536 are kept");
    assert_eq!(place.store().draft(&id).unwrap(), Some(draft), "the earlier one is still there");
    store.save_draft(&id, None).unwrap();
    assert_eq!(store.draft(&id).unwrap(), None);
    store.save_draft(&id, Some(&json!("again"))).unwrap();
    store.answer(&id, &choice(0, "ada"), "k").unwrap();
    assert_eq!(store.draft(&id).unwrap(), None);
}

#[test]
fn who_waits_and_who_has_left_is_seen() {
    let place = Place::new();
    let asker = place.store();
    let id = asker.put(&request("1")).unwrap().question.id;
    let other = place.store();
    assert_eq!(other.get(&id).unwrap().asker, AskerPresence::Waits);
    place.now.store(2_000_000, Ordering::Relaxed);
    asker.detach(&id).unwrap();
    assert_eq!(other.get(&id).unwrap().asker, AskerPresence::Left(2_000_000));
    asker.put(&request("1")).unwrap();
    assert_eq!(other.get(&id).unwrap().asker, AskerPresence::Waits, "it came back by its key");
    // Gone without a word.
    drop(asker);
    place.now.store(3_000_000, Ordering::Relaxed);
    assert_eq!(other.get(&id).unwrap().asker, AskerPresence::Died(3_000_000));
    place.now.store(4_000_000, Ordering::Relaxed);
    assert_eq!(other.get(&id).unwrap().asker, AskerPresence::Died(3_000_000), "when it was noticed first");
    assert!(matches!(other.answer(&id, &choice(0, "ada"), "k").unwrap(), Recorded::Won(_)), "it can still be answered");
    assert!(other.get(&id).unwrap().delivered_ms.is_none());
}

#[test]
fn lists_can_be_narrowed_and_paged() {
    let place = Place::new();
    let store = place.store().without_sync().unwrap();
    for i in 0..10 {
        place.now.store(1_000 + i, Ordering::Relaxed);
        let agent = if i % 2 == 0 { "Claude-Code" } else { "codex" };
        let origin = askuser::Origin::default().with_agent(agent);
        store.put(&request(&i.to_string()).with_origin(origin)).unwrap();
    }
    let count = |filter: Filter| store.list(&filter).unwrap().len();
    assert_eq!(count(Filter { from: Some("claude".into()), ..Filter::default() }), 5);
    assert_eq!(count(Filter { since_ms: Some(1_007), ..Filter::default() }), 3);
    assert_eq!(count(Filter { containing: Some("WHICH".into()), ..Filter::pending() }), 10);
    assert_eq!(count(Filter { containing: Some("nothing".into()), ..Filter::pending() }), 0);
    assert_eq!(count(Filter::ended()), 0);
    let page = Filter { offset: 4, limit: Some(3), ..Filter::pending() };
    let asked: Vec<u64> = store.list(&page).unwrap().iter().map(|question| question.asked_ms).collect();
    assert_eq!(asked, [1_004, 1_005, 1_006]);
    let last = Filter { latest_first: true, limit: Some(2), ..Filter::default() };
    let asked: Vec<u64> = store.list(&last).unwrap().iter().map(|question| question.asked_ms).collect();
    assert_eq!(asked, [1_009, 1_008]);
}

#[test]
fn a_watcher_resumes_where_it_was_and_can_tell_a_gap() {
    let place = Place::new();
    let store = place.store().without_sync().unwrap();
    let ids: Vec<String> = (0..3).map(|i| store.put(&request(&i.to_string())).unwrap().question.id).collect();
    store.answer(&ids[1], &choice(0, "ada"), "k").unwrap();
    let all = store.events(0, 100).unwrap();
    let states: Vec<(&str, State)> = all.events.iter().map(|event| (event.id.as_str(), event.state)).collect();
    use State::{Answered, Pending};
    assert_eq!(states, [(&*ids[0], Pending), (&*ids[1], Pending), (&*ids[2], Pending), (&*ids[1], Answered)]);
    let rest = store.events(all.events[1].seq, 100).unwrap();
    assert!(!rest.gap && rest.events == all.events[2..]);
    assert_eq!(store.events(0, 2).unwrap().events, all.events[..2]);
    assert!(store.events(store.last_event().unwrap() + 5, 100).unwrap().gap, "another store's number");
    assert!(!store.events(store.last_event().unwrap(), 100).unwrap().gap);
    // Events that were removed are missed.
    rusqlite::Connection::open(place.path()).unwrap().execute("DELETE FROM event WHERE seq = 1", []).unwrap();
    assert!(store.events(0, 100).unwrap().gap && !store.events(1, 100).unwrap().gap);
}
