//! Rules for events: they become visible in the order of their numbers, and no watcher misses one.

use crate::support::{Process, TestEnv, choice, new_attempt, ok, request, until, wait};
use crate::{Place, SeededRng};
use askuser::store::{Change, Filter, Handle, QuestionId, State, StoreEvent, Watch, Watched};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

const WRITERS: usize = 4;
const QUESTIONS: usize = 60;

/// Asks and ends questions in a new process. Tests run several of these concurrently.
fn write(stage: &TestEnv<'_>, writer: usize) {
    let process = stage.open();
    let agent = process.agent();
    let person = process.person("ada");
    let mut rng = SeededRng::new(writer as u64);
    let puts: Vec<_> = (0..QUESTIONS).map(|i| agent.put(&request(&format!("{writer} {i}")), None)).collect();
    for put in puts {
        let id = ok(wait(put)).question.id;
        match rng.below(3) {
            0 => drop(person.withdraw(&id, &new_attempt())),
            1 => drop(person.answer(&id, choice(0), &new_attempt())),
            _ => drop(ok(wait(person.answer(&id, choice(1), &new_attempt())))),
        }
    }
    ok(wait(agent.flush()));
}

/// A reader never finds a smaller number later and misses no event, although writers run concurrently.
pub fn concurrent_writers_never_make_a_smaller_number_visible_later(place: &dyn Place) {
    let stage = &TestEnv::new(place);
    let all = WRITERS * QUESTIONS * 2;
    let begun = &Barrier::new(WRITERS + 2);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                begun.wait();
                write(stage, writer);
            });
        }
        // One reader reads all events at once, and one reads few at a time.
        for limit in [u32::MAX, 7] {
            scope.spawn(move || {
                let reader = stage.open().person("reader");
                let (mut seen, mut last) = (Vec::<StoreEvent>::new(), 0);
                begun.wait();
                until("every event is seen", || {
                    let stretch = ok(wait(reader.events(last, limit)));
                    assert!(!stretch.gap, "nothing was removed");
                    for event in stretch.events {
                        assert!(event.seq > last, "numbers grow: {} after {last}", event.seq);
                        last = event.seq;
                        seen.push(event);
                    }
                    seen.len() >= all
                });
                check(&seen, all);
                let log = ok(wait(reader.events(0, u32::MAX))).events;
                assert_eq!(seen, log, "a reader that goes along sees what one sees that comes later");
            });
        }
    });
}

/// Asserts that every question has two events, of which the first is that of asking.
fn check(events: &[StoreEvent], all: usize) {
    assert_eq!(events.len(), all, "one event for each change, and no other");
    let mut states = BTreeMap::<&QuestionId, Vec<State>>::new();
    for event in events {
        states.entry(&event.id).or_default().push(event.state);
    }
    for (id, states) in states {
        assert!(states.len() == 2 && states[0] == State::Pending && states[1] != State::Pending, "{id}: {states:?}");
    }
}

/// A reader can resume after the last number that it has seen. It learns of missing events.
pub fn a_reader_resumes_where_it_was_and_can_tell_a_gap(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let ids: Vec<QuestionId> = (0..3).map(|i| process.ask(&request(&i.to_string()))).collect();
    stage.advance(7);
    process.answer(&ids[1], 0, "ada");
    let reader = stage.open().person("ada");
    let events = |after, limit| ok(wait(reader.events(after, limit)));
    until("the events are visible", || events(0, 100).events.len() == 4);
    let all = events(0, 100);
    assert!(!all.gap && all.events.is_sorted_by(|one, next| one.seq < next.seq));
    let (last, ended) = (all.events[3].seq, all.events.iter().find(|event| event.state == State::Answered));
    assert_eq!(ended.map(|event| (&event.id, event.at_ms)), Some((&ids[1], 1_000_007)));
    let asked: BTreeSet<_> = all.events.iter().filter(|event| event.state == State::Pending).map(|e| &e.id).collect();
    assert_eq!(asked, ids.iter().collect());
    let rest = events(all.events[1].seq, 100);
    assert!(!rest.gap && rest.events == all.events[2..]);
    assert_eq!(events(0, 2).events, all.events[..2]);
    assert_eq!(events(0, 0).events, []);
    assert!(!events(last, 100).gap && events(last, 100).events.is_empty());
    assert_eq!([events(0, 0).last, events(last, 1).last, events(u64::MAX, 0).last], [last; 3], "the latest there is");
    for foreign in [last + 5, u64::MAX] {
        assert!(events(foreign, 100).gap, "a number of another store is told to be one: {foreign}");
    }
}

fn next(watch: &mut Watch) -> Option<Change> {
    match watch.poll_next(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(change) => Some(change),
        Poll::Pending => None,
    }
}

/// A watcher gets all later events in order, or learns that it lagged.
pub fn a_watcher_hears_of_every_change_or_that_it_lagged(place: &dyn Place) {
    let stage = &TestEnv::new(place);
    let reader = stage.open().person("reader");
    let mut watch = ok(wait(reader.watch(&Watched::All)));
    let is_written = &AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                write(stage, writer);
                is_written.fetch_add(1, Ordering::Release);
            });
        }
        let mut heard = Vec::new();
        let mut last = 0;
        let mut has_lagged = false;
        until("every event is heard", || {
            while let Some(change) = next(&mut watch) {
                match change {
                    Change::Event(event) => {
                        assert!(event.seq > last, "events are heard in their order: {} after {last}", event.seq);
                        last = event.seq;
                        heard.push(event);
                    }
                    Change::Lagged => has_lagged = true,
                    Change::Disconnected(why) => panic!("the store is there: {}", why.chain()),
                }
            }
            has_lagged || heard.len() >= WRITERS * QUESTIONS * 2
        });
        if !has_lagged {
            check(&heard, WRITERS * QUESTIONS * 2);
        }
    });
}

/// Waits for the next event and returns it.
fn hear(watch: &mut Watch) -> StoreEvent {
    match wait(watch.next()) {
        Change::Event(event) => event,
        other => panic!("something has happened: {other:?}"),
    }
}

/// Watchers get the events of other processes. A watcher of one question gets only its events.
pub fn a_watcher_hears_of_another_process_and_of_its_own_question_only(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let here = stage.open();
    let there = stage.open();
    let own = here.ask(&request("1"));
    let other = here.ask(&request("2"));
    let agent: Handle = here.agent();
    let mut watch = ok(wait(agent.watch(&Watched::Question(own.clone()))));
    let mut all = ok(wait(here.person("ada").watch(&Watched::All)));
    drop(ok(wait(here.person("ada").watch(&Watched::All))));
    there.answer(&other, 0, "ada");
    there.answer(&own, 1, "ada");
    let event = loop {
        // The event of asking may still arrive.
        let event = hear(&mut watch);
        assert_eq!(event.id, own, "it watches one question");
        if event.state != State::Pending {
            break event;
        }
    };
    assert_eq!(event.state, State::Answered);
    let mut heard = BTreeSet::new();
    while heard.len() < 2 {
        let event = hear(&mut all);
        if event.state == State::Answered {
            heard.insert(event.id);
        }
    }
    assert_eq!(heard, BTreeSet::from([own, other]));
}

/// After a watcher got an event, every process reads the question in that state or a later one.
pub fn what_a_watcher_hears_of_can_be_read(place: &dyn Place) {
    let stage = &TestEnv::new(place);
    let readers: [Process; 2] = [stage.open(), stage.open()];
    let mut watch = ok(wait(readers[0].person("ada").watch(&Watched::All)));
    std::thread::scope(|scope| {
        scope.spawn(move || write(stage, 0));
        let mut ended = 0;
        while ended < QUESTIONS {
            let event = match wait(watch.next()) {
                Change::Event(event) => event,
                Change::Lagged => break,
                Change::Disconnected(why) => panic!("the store is there: {}", why.chain()),
            };
            for reader in &readers {
                let state = reader.get(&event.id).state();
                assert!(state == event.state || event.state == State::Pending, "{state:?} after {event:?}");
            }
            ended += usize::from(event.state != State::Pending);
        }
    });
    assert_eq!(ok(wait(readers[1].person("ada").count(&Filter::ended()))), QUESTIONS as u64);
}
