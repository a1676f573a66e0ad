//! Events get their number after the commit, in any order of commits and after the death of a process.

use crate::support::{Sql, agent, ask, or_skip, person};
use askuser::store::{Change, State, Store, Watched};
use askuser_conformance::{Place as _, until, wait};
use std::sync::Arc;

#[test]
fn a_transaction_that_commits_late_is_seen_by_a_reader_that_has_gone_ahead() {
    let place = or_skip!();
    let store: Arc<dyn Store> = Arc::new(place.store());
    let first = ask(&store, "1");
    let reader = person(&store, "reader");
    let seen = wait(reader.events(0, 10)).unwrap();
    assert_eq!(seen.events.len(), 1);
    let mut watch = wait(reader.watch(&Watched::All)).unwrap();
    // Another transaction ends the first question and does not commit yet.
    let slow = Sql::connect(place.address());
    slow.run(&format!(
        "BEGIN; INSERT INTO askuser.event (question, state, at_ms)
         SELECT n, 'withdrawn', 7 FROM askuser.question WHERE id = '{first}'"
    ));
    let second = ask(&store, "2");
    let ahead = wait(reader.events(seen.last, 10)).unwrap();
    assert_eq!(ahead.events.iter().map(|event| &event.id).collect::<Vec<_>>(), [&second]);
    slow.run("COMMIT");
    let late = wait(reader.events(ahead.last, 10)).unwrap();
    assert_eq!(late.events.iter().map(|event| &event.id).collect::<Vec<_>>(), [&first], "it is not behind the reader");
    assert_eq!([seen.last, ahead.last, late.last], [1, 2, 3], "and there is no hole");
    let mut heard = Vec::new();
    while heard.len() < 2 {
        match wait(watch.next()) {
            Change::Event(event) => heard.push((event.id, event.state)),
            other => panic!("something has happened: {other:?}"),
        }
    }
    assert_eq!(heard, [(second, State::Pending), (first, State::Withdrawn)]);
}

#[test]
fn what_a_process_left_without_a_number_is_numbered_by_the_next_and_a_watcher_hears_of_it() {
    let place = or_skip!();
    let store: Arc<dyn Store> = Arc::new(place.store());
    let id = ask(&store, "1");
    // The waiter's lease is renewed about every second. Each renewal also numbers the remaining events.
    let attached = wait(agent(&store).attach(&id)).unwrap();
    let mut watch = wait(person(&store, "ada").watch(&Watched::All)).unwrap();
    place.run(&format!(
        "INSERT INTO askuser.event (question, state, at_ms) SELECT n, 'answered', 7 FROM askuser.question WHERE id = '{id}'"
    ));
    assert!(matches!(wait(watch.next()), Change::Event(event) if event.state == State::Answered));
    drop(attached);
    assert_eq!(place.number("SELECT last FROM askuser.numbering"), 2);
}

#[test]
fn a_cut_connection_is_made_again_and_what_was_said_meanwhile_is_heard() {
    let place = or_skip!();
    let (here, there): (Arc<dyn Store>, Arc<dyn Store>) = (Arc::new(place.store()), Arc::new(place.store()));
    let mut watch = wait(person(&here, "ada").watch(&Watched::All)).unwrap();
    let mut asked = 0;
    for round in 0..5 {
        place.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE application_name = 'askuser' AND pid <> pg_backend_pid()",
        );
        let id = ask(&there, &round.to_string());
        asked += 1;
        // The watcher gets the event, or that it lagged.
        loop {
            match wait(watch.next()) {
                Change::Event(event) if event.id == id => break,
                Change::Event(_) => {}
                Change::Lagged => break,
                Change::Disconnected(why) => panic!("the store is there: {}", why.chain()),
            }
        }
    }
    let reader = person(&there, "ada");
    until("all is numbered", || wait(reader.events(0, 100)).unwrap().events.len() == asked);
    assert!(place.damage().is_empty() && place.holes() == 0, "{:?}, {} holes", place.damage(), place.holes());
}

#[test]
fn notices_arrive_where_nothing_swallows_them() {
    let place = or_skip!();
    let report = wait(place.store().report()).unwrap();
    assert!(report.notices_arrive && report.unnumbered == 0 && !report.is_synced, "{report:?}");
    assert_eq!((&*report.synchronous_commit, &*report.synchronous_standby_names), ("on", ""));
    assert!(report.version.split('.').next().is_some_and(|major| major.parse::<u32>().is_ok()), "{report:?}");
}
