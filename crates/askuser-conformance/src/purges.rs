//! Rules for purges: questions that ended long ago are removed, and readers of events learn of that.

use crate::Place;
use crate::support::{Process, TestEnv, new_attempt, ok, person, request, until, wait};
use askuser::Request;
use askuser::store::{Draft, Events, Filter, QuestionId, StoreError, StoredQuestion};

fn listed(process: &Process) -> Vec<QuestionId> {
    let page = ok(wait(process.person("ada").list(&Filter::default())));
    page.questions.into_iter().map(|question: StoredQuestion| question.id).collect()
}

fn events(process: &Process, after: u64) -> Events {
    ok(wait(process.person("ada").events(after, 100)))
}

/// Asks and answers a question. Returns its id.
fn answered(process: &Process, request: &Request) -> QuestionId {
    let id = process.ask(request);
    process.answer(&id, 0, "ada");
    id
}

/// A purge removes questions by their time of ending, with their drafts and events. The audience and the time of asking
/// do not matter. Pending questions stay.
pub fn a_purge_removes_what_ended_before_with_its_drafts_and_events_and_nothing_else(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let other = stage.open();
    let ada = process.person("ada");
    let gone = [answered(&process, &request("1")), answered(&process, &request("2").with_audience(["ada"]))];
    let [late, withdrawn, waits] = ["3", "4", "5"].map(|call| process.ask(&request(call)));
    ok(wait(process.agent().withdraw(&withdrawn, &new_attempt())));
    let draft = Draft { discuss: Some("half".into()), ..Draft::default() };
    for id in [&gone[0], &waits] {
        ok(wait(ada.save_draft(id, &draft.clone().into())));
    }
    stage.advance(1_000);
    process.answer(&late, 0, "ada");
    let before = stage.now();
    stage.advance(1_000);
    assert_eq!(
        ok(wait(process.person("bob").purge(before - 1_000))).count,
        0,
        "it ended before, and not at, that time"
    );
    assert_eq!(ok(wait(process.person("bob").purge(before))).count, 3, "two answers and a withdrawal");
    assert_eq!(ok(wait(process.person("bob").purge(before))).count, 0, "they are gone already");
    assert_eq!(listed(&other), [late.clone(), waits.clone()], "it ended before, or it stays");
    for id in gone.iter().chain([&withdrawn]) {
        assert!(matches!(wait(ada.get(id)), Err(StoreError::NotFound(_))), "it is gone: {id}");
        assert!(matches!(wait(ada.draft(id)), Err(StoreError::NotFound(_))), "its draft too: {id}");
    }
    until("only events of what is left are visible", || {
        let mut after = 0;
        let mut seen = Vec::new();
        while let Some(last) = events(&process, after).events.last() {
            seen.extend(events(&process, after).events.into_iter().map(|event| event.id));
            after = last.seq;
        }
        seen.len() == 3 && seen.iter().all(|id| *id == late || *id == waits)
    });
    assert_eq!(ok(wait(ada.draft(&waits))), draft, "what waits keeps its draft");
    assert_eq!(other.answer(&waits, 1, "ada").by(), Some("ada"), "and can be answered");
    assert!(process.put(&request("1")).is_new, "a key of what is gone names nothing");
    assert_eq!(stage.place.damage(), Vec::<String>::new());
}

/// After a purge, a reader that has seen all events continues. Any other reader learns of a gap.
pub fn a_reader_of_events_is_told_what_was_purged_before_it_came(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let first = process.ask(&request("1"));
    until("it is visible", || events(&process, 0).events.len() == 1);
    let gone = answered(&process, &request("2"));
    until("all are visible", || events(&process, 0).events.len() == 3);
    let all = events(&process, 0);
    let begin = all.events[0].seq;
    let last = all.last;
    stage.advance(1_000);
    assert_eq!(ok(wait(process.by(person("ada")).purge(stage.now()))).count, 1);
    assert!(matches!(wait(process.person("ada").get(&gone)), Err(StoreError::NotFound(_))));
    assert_eq!(events(&process, 0).last, last, "the latest number is what it was");
    for after in [begin, last - 1] {
        assert!(events(&process, after).gap, "some are missing after {after}");
    }
    assert!(!events(&process, last).gap, "nothing is missing after {last}");
    process.answer(&first, 0, "ada");
    until("the next is visible", || !events(&process, last).events.is_empty());
    let next = events(&process, last);
    assert!(!next.gap && next.events[0].id == first && next.events[0].seq > last, "{next:?}");
    assert!(events(&process, begin).gap, "some are missing after {begin}, though there are later ones");
}

/// After a purge, new questions and events get larger cursors and numbers than all removed ones. So readers can
/// continue from those that they have kept.
pub fn what_comes_after_a_purge_takes_no_place_or_number_of_what_is_gone(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let waiting = process.put(&request("1"));
    let cursor = waiting.question.cursor;
    let id = waiting.question.id.clone();
    process.answer(&id, 0, "ada");
    until("both are visible", || events(&process, 0).last >= 2);
    let last = events(&process, 0).last;
    stage.advance(1_000);
    assert_eq!(ok(wait(process.person("ada").purge(stage.now()))).count, 1);
    let next = process.put(&request("2"));
    assert!(next.question.cursor > cursor, "{:?} after {cursor:?}", next.question.cursor);
    let behind = ok(wait(process.person("ada").list(&Filter::default().after(cursor)))).questions;
    assert_eq!(behind.first().map(|question| &question.id), Some(&next.question.id));
    // The waiter of the purged question must not become a waiter of the next one.
    ok(wait(waiting.attachment.detach()));
    assert_eq!(process.get(&next.question.id).asker, askuser::store::AskerPresence::Waits);
    until("its event is visible", || !events(&process, last).events.is_empty());
    assert!(events(&process, last).events[0].seq > last);
}
