//! Waiters of a store whose file is changed or damaged from outside.

use crate::support::{Place, agent, ask, get, request};
use askuser::store::{AskerPresence, Handle, QuestionId, State, Store, StoreError};
use askuser_conformance::wait;
use askuser_inbox::SqliteStore;
use rusqlite::Connection;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

/// A store with one question that has a waiter, and another connection to the file.
struct Waited {
    place: Place,
    store: Arc<dyn Store>,
    agent: Handle,
    id: QuestionId,
    other: Connection,
}

impl Waited {
    fn new() -> Waited {
        let place = Place::new();
        let store = place.store();
        let id = ask(&store, &request("1")).unwrap();
        let other = place.connection();
        Waited { agent: agent(&store), place, store, id, other }
    }

    /// Returns a future that waits for the question. It has already read the store and sleeps.
    fn waits(&self) -> Pin<Box<dyn Future<Output = Result<State, StoreError>> + '_>> {
        let mut waiting = Box::pin(async { self.agent.wait(&self.id).await.map(|ending| ending.state()) });
        for _ in 0..3 {
            assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            wait(self.agent.flush()).unwrap();
        }
        waiting
    }

    /// Ends the question without recording an event.
    fn end_without_an_event(&self) {
        let withdraw = "UPDATE question SET state = 'withdrawn', ended_ms = 5, ending = '{\"withdrawn\":{\"by\":\"bob\",\"at_ms\":5}}' WHERE id = ?1";
        assert_eq!(self.other.execute(withdraw, [self.id.as_str()]).unwrap(), 1);
    }
}

#[test]
fn a_waiter_hears_of_an_end_whose_event_is_missing() {
    let waited = Waited::new();
    let other = ask(&waited.store, &request("2")).unwrap();
    let waiting = waited.waits();
    waited.end_without_an_event();
    // The events up to one about another question are missing.
    waited.other.execute("DELETE FROM event", []).unwrap();
    let insert =
        "INSERT INTO event (seq, question, state, at_ms) SELECT 1000, n, 'pending', 5 FROM question WHERE id = ?1";
    waited.other.execute(insert, [other.as_str()]).unwrap();
    assert_eq!(wait(waiting).unwrap(), State::Withdrawn);
}

#[test]
fn to_wait_costs_nothing_while_nothing_happens() {
    let place = Place::new();
    let looks = Arc::new(AtomicU64::new(0));
    let clock = {
        let looks = looks.clone();
        move || {
            looks.fetch_add(1, Ordering::Relaxed);
            1_000_000
        }
    };
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open_for_test(&place.path(), Arc::new(clock), true).unwrap());
    let id = ask(&store, &request("1").with_deadline(Duration::from_secs(9))).unwrap();
    let agent = agent(&store);
    let mut waiting = Box::pin(agent.wait(&id));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    // Every look at the store reads the clock, so the clock counts the looks.
    std::thread::sleep(Duration::from_millis(300));
    let looks = looks.load(Ordering::Relaxed);
    assert!(looks < 100, "it looked {looks} times");
}

#[test]
fn what_a_process_that_died_leaves_behind_is_noted_and_removed_by_the_next_that_opens_the_store() {
    let place = Place::new();
    let id = askuser_conformance::Place::die_waiting(&place, &request("1"), None);
    let locks = || std::fs::read_dir(place.folder.path().join("inbox.sqlite-waiting")).unwrap().count();
    assert_eq!(locks(), 1);
    place.now.store(2_000_000, Ordering::Relaxed);
    let store = place.store();
    assert_eq!(locks(), 0);
    place.now.store(3_000_000, Ordering::Relaxed);
    assert_eq!(get(&store, &id).asker, AskerPresence::Died(2_000_000));
}

#[test]
fn every_commit_rings_for_other_processes() {
    let waited = Waited::new();
    let bell = waited.place.folder.path().join("inbox.sqlite-bell");
    for call in ["2", "3"] {
        std::fs::write(&bell, "").unwrap();
        ask(&waited.store, &request(call)).unwrap();
        assert_eq!(std::fs::read_to_string(&bell).unwrap(), "!");
    }
}

#[test]
fn a_reader_is_told_that_events_were_removed() {
    let waited = Waited::new();
    ask(&waited.store, &request("2")).unwrap();
    let reader = waited.agent.by(askuser::store::Principal::person("ada", askuser::Via::Inbox));
    assert!(!wait(reader.events(0, 100)).unwrap().gap);
    waited.other.execute("DELETE FROM event WHERE seq = 1", []).unwrap();
    assert!(wait(reader.events(0, 100)).unwrap().gap);
    assert!(!wait(reader.events(1, 100)).unwrap().gap);
}

#[test]
fn events_of_others_or_that_cannot_be_read_do_not_hide_those_that_follow_however_many() {
    let waited = Waited::new();
    ask(&waited.store, &request("2")).unwrap();
    let waiting = waited.waits();
    // The events are more than one read returns.
    let foreign = "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 1500)
                   INSERT INTO event (question, state, at_ms) SELECT 1, iif(n % 2, 'dreaming', 'pending'), iif(n % 2, 5, -5) FROM i";
    waited.other.execute(foreign, []).unwrap();
    let of_another = "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 20000)
                      INSERT INTO event (question, state, at_ms) SELECT 2, 'pending', 5 FROM i";
    waited.other.execute(of_another, []).unwrap();
    let end = "INSERT INTO event (question, state, at_ms) VALUES (1, 'withdrawn', 5)";
    waited.end_without_an_event();
    waited.other.execute(end, []).unwrap();
    assert_eq!(wait(waiting).unwrap(), State::Withdrawn);
}

#[test]
fn a_store_that_could_not_be_read_for_a_while_is_looked_at_again() {
    let waited = Waited::new();
    let waiting = waited.waits();
    waited.other.execute_batch("ALTER TABLE event RENAME TO away").unwrap();
    let reader = waited.agent.by(askuser::store::Principal::person("ada", askuser::Via::Inbox));
    let error = wait(reader.events(0, 1)).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "a later try may succeed: {error:?}");
    waited.end_without_an_event();
    waited.other.execute_batch("ALTER TABLE away RENAME TO event").unwrap();
    assert_eq!(wait(waiting).unwrap(), State::Withdrawn);
}

// Windows cannot remove an open file.
#[cfg(unix)]
#[test]
fn a_waiter_hears_that_its_store_was_removed_or_replaced() {
    for replace in [false, true] {
        let waited = Waited::new();
        let waiting = waited.waits();
        let away = waited.place.folder.path().join("away");
        std::fs::rename(waited.place.path(), &away).unwrap();
        if replace {
            std::fs::copy(&away, waited.place.path()).unwrap();
        }
        let error = wait(waiting).unwrap_err();
        assert!(error.chain().ends_with("it was removed or replaced meanwhile; start again"), "{}", error.chain());
    }
}

#[test]
fn a_waiter_hears_that_its_store_is_damaged() {
    let waited = Waited::new();
    let waiting = waited.waits();
    let page = "SELECT rootpage FROM sqlite_schema WHERE name = 'event'";
    let page: u64 = waited.other.query_row(page, [], |row| row.get(0)).unwrap();
    let size: u64 = waited.other.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
    waited.other.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    use std::io::{Seek, SeekFrom, Write};
    let mut file = std::fs::OpenOptions::new().write(true).open(waited.place.path()).unwrap();
    file.seek(SeekFrom::Start((page - 1) * size)).unwrap();
    file.write_all(&vec![0x5a; size as usize]).unwrap();
    // The change makes the store look at the file, because earlier pages may be cached.
    waited.other.execute("UPDATE question SET left_ms = 7", []).unwrap();
    let error = wait(waiting).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
}

#[test]
fn a_question_that_cannot_be_read_times_out_with_the_others_and_costs_nothing_after() {
    let place = Place::new();
    let store = place.store();
    let hasty = |call: &str| {
        let request = request(call).with_deadline(Duration::from_millis(300));
        ask(&store, &request).unwrap()
    };
    let unreadable = hasty("1");
    let other = hasty("2");
    let connection = place.connection();
    connection
        .execute("UPDATE question SET request = '{}', expires_ms = -1 WHERE id = ?1", [unreadable.as_str()])
        .unwrap();
    // The store is opened again, as by another process, because the first one remembers its own request.
    let store = place.store();
    let agent = agent(&store);
    let mut waiting = Box::pin(agent.wait(&other));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    place.now.fetch_add(300, Ordering::Relaxed);
    assert_eq!(wait(waiting).unwrap().state(), State::TimedOut);
    let state = "SELECT state FROM question WHERE id = ?1";
    let state: String = connection.query_row(state, [unreadable.as_str()], |row| row.get(0)).unwrap();
    assert_eq!(state, "timed_out");
    assert_eq!(get(&store, &other).state(), State::TimedOut);
}
