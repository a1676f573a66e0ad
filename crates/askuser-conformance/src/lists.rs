//! Rules for lists: paging, filters and search. A list has only the questions that its reader may see.

use crate::Place;
use crate::support::{TestEnv, agent, by_agent, ok, person, request, set, wait};
use askuser::input::QuestionInput;
use askuser::store::{
    Cursor, Draft, DraftSave, DraftVersion, Filter, MAX_UNSENT_CHARS, Page, Principal, QuestionId, StoredQuestion,
};
use askuser::{Context, Origin, QuestionSet, Request, RequestKey, Rules, Via};
use std::collections::BTreeSet;

/// Pages in both directions contain every remaining question exactly once, although questions change meanwhile.
pub fn pages_leave_nothing_out_and_repeat_nothing_while_questions_come_and_go(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let reader = stage.open().person("ada");
    let ids: Vec<QuestionId> = (0..40).map(|i| process.ask(&request(&i.to_string()))).collect();
    let page = |filter: &Filter| ok(wait(reader.list(filter)));
    let asked = |page: &Page| page.questions.iter().map(|question| question.id.clone()).collect::<Vec<_>>();
    // The list does not change meanwhile.
    let all = page(&Filter::pending());
    assert_eq!((asked(&all), all.next), (ids.clone(), None), "in the order of asking");
    let latest = asked(&page(&Filter::pending().reversed().at_most(3)));
    assert_eq!(latest, [39, 38, 37].map(|i| ids[i].clone()));
    let behind = Filter::pending().after(all.questions[29].cursor);
    assert_eq!(asked(&page(&behind)), ids[30..], "from the place on");
    assert_eq!(ok(wait(reader.count(&behind.clone().at_most(1)))), 10, "from the place on, whatever the limit");
    assert_eq!(ok(wait(reader.count(&behind.reversed()))), 29, "the other way");
    assert_eq!(page(&Filter::pending().after(Cursor { rank: 0, n: u64::MAX })).questions.len(), 0, "behind the end");
    // The list changes between the pages.
    for latest_first in [false, true] {
        let mut filter = Filter { latest_first, limit: Some(4), ..Filter::pending() };
        let mut seen = Vec::new();
        let mut gone = BTreeSet::new();
        let mut round = 0;
        let before: BTreeSet<QuestionId> = asked(&page(&Filter::pending())).into_iter().collect();
        loop {
            let next = page(&filter);
            assert!(next.questions.len() <= 4);
            seen.extend(asked(&next));
            // The ended questions are one of the last page, and one that comes later or was seen before.
            let victims = [seen.last().cloned(), before.iter().nth(round * 7 % before.len()).cloned()];
            for id in victims.into_iter().flatten().filter(|_| round % 2 == 0) {
                if gone.insert(id.clone()) {
                    process.answer(&id, 0, "ada");
                }
            }
            process.ask(&request(&format!("{latest_first} {round}")));
            round += 1;
            assert!(round < 100, "a list ends");
            let Some(cursor) = next.next.filter(|_| round < 12) else { break };
            filter = filter.after(cursor);
        }
        let distinct: BTreeSet<&QuestionId> = seen.iter().collect();
        assert_eq!(distinct.len(), seen.len(), "nothing comes twice");
        let missing = before.iter().filter(|id| !gone.contains(*id) && !distinct.contains(id)).count();
        assert!(missing == 0 || round == 12 && seen.len() >= 40, "{missing} of those that stayed were left out");
    }
}

fn spoken(call: &str, text: &str) -> Request {
    let question = QuestionInput::new(text, "Straße")
        .option_with_preview("Öl (Recommended)", "Says \"yes\" to all", "fn preview()")
        .option("B", "The second");
    let rules = Rules::strict();
    let set = QuestionSet::new([question], &rules).expect("a valid question");
    Request::new(RequestKey::new("session", call), set).with_origin(request("").origin().clone())
}

/// A search covers the text that a person reads, not the stored JSON. Case is ignored, and all characters may be
/// searched.
pub fn words_are_those_that_a_person_reads_in_any_case(place: &dyn Place) {
    let process = TestEnv::new(place).open();
    process.ask(&spoken("1", "Drop the \"main\" table? 100% of it, under_score, back\\slash, ДА"));
    process.ask(&request("2").with_context(Context::Command("rm -rf 'My Build'\necho \"DONE\"".into())));
    process.ask(&Request::new(RequestKey::new("limits", "3"), set("Ξένος?")).with_origin(request("").origin().clone()));
    let reader = process.person("ada");
    let found = |text: &str| {
        let filter = Filter { containing: Some(text.into()), ..Filter::pending() };
        let listed = ok(wait(reader.list(&filter))).questions;
        let counted = ok(wait(reader.count(&filter)));
        assert_eq!(listed.len() as u64, counted);
        listed.iter().map(|question| question.request.key().call.clone()).collect::<Vec<_>>().join(" ")
    };
    for (text, calls) in [
        ("drop THE", "1"),
        ("\"", "1 2"),
        ("100%", "1"),
        ("underXscore", ""),
        ("back\\slash", "1"),
        ("да", "1"),
        ("STRAßE", "1"),
        ("says \"YES\"", "1"),
        ("the second", "1 2 3"),
        ("TABLE drop", "1"),
        ("second done", "2"),
        ("second nowhere", ""),
        ("rm -RF 'my build'", "2"),
        ("PREVIEW()", "1"),
        ("ΞΈΝΟΣ?", "3"),
        ("", "1 2 3"),
        // Only the stored JSON has these texts.
        ("limits", ""),
        ("multiSelect", ""),
        ("{", ""),
    ] {
        let expected = calls.to_owned();
        assert!(found(text) == expected, "{text:?} is searched in what a person reads: {:?}", found(text));
    }
}

/// Questions that an agent waits for come before background questions, on all pages and in both directions. A history
/// has only one order.
pub fn what_an_agent_waits_for_is_listed_first(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let ask = |i: usize| {
        stage.advance(1_000);
        let request = request(&i.to_string());
        process.ask(&if i.is_multiple_of(2) { request.in_background() } else { request })
    };
    let ids: Vec<QuestionId> = (0..6).map(ask).collect();
    let bobs = process.ask(&request("6").with_audience(["bob"]));
    let expected: Vec<QuestionId> = [1, 3, 5, 0, 2, 4].map(|i| ids[i].clone()).into();
    let ada = process.person("ada");
    let read = |filter: Filter| {
        let mut filter = filter.at_most(2);
        let mut found = Vec::new();
        loop {
            let page = ok(wait(ada.list(&filter)));
            found.extend(page.questions.into_iter().map(|question| question.id));
            let Some(next) = page.next else { return found };
            filter = filter.after(next);
        }
    };
    assert_eq!(read(Filter::mine()), expected);
    assert_eq!(ok(wait(ada.count(&Filter::mine()))), 6);
    let all: Vec<QuestionId> = expected.into_iter().chain([bobs]).collect();
    assert_eq!(read(Filter::pending()), all);
    assert_eq!(read(Filter::pending().reversed()), all.iter().rev().cloned().collect::<Vec<_>>());
    assert!(process.get(&ids[0]).request.is_in_background(), "it is stored");
    for id in &ids {
        stage.advance(1_000);
        process.answer(id, 0, "ada");
    }
    assert_eq!(read(Filter::ended()), ids, "by the time of their ending");
}

/// People see all questions, and those that are for them first. Agents see only their own questions.
pub fn a_list_holds_what_its_reader_sees(place: &dyn Place) {
    let process = TestEnv::new(place).open();
    let all = process.ask(&request("1"));
    let ada = process.ask(&request("2").with_audience(["ada", "o'neil"]));
    let bob = process.ask(&by_agent(request("3"), "another").with_audience(["bob"]));
    let nameless = process.ask(&request("4").with_origin(Origin::default()));
    let listed = |by| {
        let handle = process.by(by);
        let page = ok(wait(handle.list(&Filter::pending())));
        assert_eq!(ok(wait(handle.count(&Filter::pending()))), page.questions.len() as u64);
        page.questions.into_iter().map(|question| question.id).collect::<Vec<_>>()
    };
    let [all, ada, bob, nameless] = &[all, ada, bob, nameless];
    let is_listed = |by: Principal, expected: &[&QuestionId]| {
        assert_eq!(listed(by.clone()).iter().collect::<Vec<_>>(), expected, "what {by:?} sees");
    };
    is_listed(person("ada"), &[all, ada, nameless, bob]);
    is_listed(person("o'neil"), &[all, ada, nameless, bob]);
    is_listed(person("bob"), &[all, bob, nameless, ada]);
    // A part of a name is a different name.
    is_listed(person("AD"), &[all, nameless, ada, bob]);
    is_listed(agent("tester"), &[all, ada]);
    is_listed(agent("another"), &[bob]);
    is_listed(Principal::agent(&Origin::default()), &[nameless]);
    is_listed(Principal::person("", Via::Policy), &[all, ada, bob, nameless]);
}

/// Ended questions are listed by the time of ending: on every page, in both directions, and after a purged question.
pub fn what_has_ended_is_listed_by_the_time_of_its_ending(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let ids: Vec<QuestionId> = (0..6).map(|i| process.ask(&request(&i.to_string()))).collect();
    // Two questions end in the same millisecond, and the clock goes back once.
    for (i, ended_ms) in [(3, 10), (1, 40), (4, 30), (0, 30), (2, 20)] {
        stage.set_time(2_000_000 + ended_ms);
        process.answer(&ids[i], 0, "ada");
    }
    let ada = process.person("ada");
    let pages = |filter: Filter, limit: u32| {
        let mut seen = Vec::new();
        let mut next = Some(filter.at_most(limit));
        while let Some(filter) = next {
            let page = ok(wait(ada.list(&filter)));
            seen.extend(page.questions);
            next = page.next.map(|after| filter.after(after));
        }
        seen
    };
    let order = |questions: &[StoredQuestion]| -> Vec<usize> {
        let at = |question: &StoredQuestion| ids.iter().position(|id| *id == question.id);
        questions.iter().filter_map(at).collect()
    };
    for limit in [1, 2, 3, 10] {
        assert_eq!(order(&pages(Filter::ended(), limit)), [3, 2, 0, 4, 1], "by the time of ending");
        assert_eq!(order(&pages(Filter::ended().reversed(), limit)), [1, 4, 0, 2, 3], "the other way");
    }
    let all = pages(Filter::ended(), 10);
    let behind = Filter::ended().after(all[1].cursor);
    assert_eq!(ok(wait(ada.count(&behind))), 3, "what is behind a place");
    ok(wait(ada.purge(2_000_021)));
    assert_eq!(order(&pages(behind.clone(), 2)), [0, 4, 1], "its place is still there");
    assert_eq!(order(&pages(behind.reversed(), 2)), [0; 0], "nothing before it is left");
}

/// A list contains the reader's unsent text, with a maximum length.
pub fn a_list_has_the_unsent_words_of_its_reader(place: &dyn Place) {
    let process = TestEnv::new(place).open();
    let id = process.ask(&request("1"));
    let unsent = |name: &str| {
        let questions = ok(wait(process.person(name).list(&Filter::pending()))).questions;
        questions.into_iter().find(|question| question.id == id).map(|question| question.unsent).unwrap_or_default()
    };
    assert_eq!(unsent("ada"), []);
    let draft = |text: &str| Draft { discuss: Some(text.to_owned()), ..Draft::default() };
    let save = |text: &str, writer: &str| DraftSave {
        version: DraftVersion { writer: writer.into(), edit: 1 },
        ..draft(text).into()
    };
    ok(wait(process.person("ada").save_draft(&id, &save("half a \"sen\"", "desk"))));
    ok(wait(process.person("bob").save_draft(&id, &save("another", "desk"))));
    let [one] = &unsent("ada")[..] else { panic!("one draft: {:?}", unsent("ada")) };
    assert_eq!((&*one.words, one.place.is_empty()), (&["To talk about: half a \"sen\"".to_owned()][..], false));
    ok(wait(process.person("ada").save_draft(&id, &save(&"ä".repeat(1_000), "phone"))));
    let drafts = unsent("ada");
    let chars: usize = drafts.iter().flat_map(|draft| &draft.words).map(|words| words.chars().count()).sum();
    assert_eq!((drafts.len(), chars), (1, MAX_UNSENT_CHARS), "the newest, as far as there is room");
    process.answer(&id, 0, "carol");
    let history = ok(wait(process.person("bob").list(&Filter::ended()))).questions;
    assert_eq!(history[0].unsent[0].words, ["To talk about: another"], "an ending does not remove them");
}
