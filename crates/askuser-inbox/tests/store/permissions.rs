//! One permission allows one action, with concurrent clients and people and with full disks.

use crate::support::{Place, origin, person, set};
use askuser::store::{Ending, Filter, Series, State, Store, StoreError};
use askuser::{Inbox, Outcome, Purpose, Request, RequestKey, Resolution, Status};
use askuser_conformance::{Place as _, SeededRng, wait};
use askuser_inbox::{InboxAsker, new_attempt};
use rusqlite::ErrorCode;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const CLIENTS: u64 = 4;
const CALLS: u64 = 250;
/// The maximum time in milliseconds that a client waits, mostly not long enough. Wine needs longer.
const PATIENCE_MS: usize = if cfg!(windows) { 400 } else { 20 };

/// Returns a permission for the same command as all other calls.
fn permission(client: u64, call: u64) -> Request {
    let key = RequestKey::new(format!("client {client}"), call.to_string()).for_purpose(Purpose::Permission);
    Request::new(key, set("Which one?")).with_origin(origin())
}

fn is_allow(resolution: &Resolution) -> bool {
    let outcome = resolution.outcome();
    *outcome.status() == Status::Answered && outcome.answers()[0].selected_options == ["A"]
}

/// Runs a client that asks repeatedly. It gives up after a moment, dies, or fails to hand over its result.
///
/// Returns the recorded author of the permission for each action.
fn client(store: Arc<dyn Store>, client: u64) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let asker = InboxAsker::new(store, "ada");
    let mut rng = SeededRng::new(client);
    let mut acts = Vec::new();
    for call in 0..CALLS {
        // Two clients belong to one conversation.
        let series = Series { name: "rm -rf build".into(), conversation: format!("conversation {}", client / 2) };
        let request = permission(client, call);
        let patience = Duration::from_millis(rng.below(PATIENCE_MS) as u64);
        let ask = async {
            let put = asker.keep(&request, Some(&series)).await.ok()?;
            asker.wait(put, &request, None).await.ok()
        };
        let answered = runtime.block_on(async { tokio::time::timeout(patience, ask).await });
        let Ok(Some(delivery)) = answered else { continue };
        if is_allow(delivery.resolution()) {
            acts.push(delivery.resolution().by().unwrap_or_default().to_owned());
        }
        match rng.below(3) {
            0 => drop(delivery.stored()),
            1 => drop(delivery.not_stored("the connection is closed")),
            _ => drop(delivery),
        }
    }
    acts
}

/// Answers all pending questions. Each answer has another author, so that an action shows which permission it used.
fn answer_until(store: &Arc<dyn Store>, is_over: &AtomicBool) {
    let mut rng = SeededRng::new(99);
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        let Ok(page) = wait(person(store, "reader").list(&Filter::pending())) else { continue };
        for question in page.questions {
            number += 1;
            let set = question.request.set();
            let option = usize::from(rng.below(4) == 0);
            let answer = set.questions()[0].answer(&[option], None, None).unwrap();
            let outcome = Outcome::answered(set, vec![answer]).unwrap();
            let ada = person(store, &format!("ada {number}"));
            match wait(ada.answer(&question.id, outcome, &new_attempt().unwrap())) {
                Ok(_) | Err(StoreError::Unavailable { .. } | StoreError::Ended(_)) => {}
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}

#[test]
fn acts_are_never_more_than_permissions_however_clients_retry_and_die_and_disks_fill() {
    let place = Place::new();
    let store = place.open();
    let disk = place.connection();
    disk.execute_batch(
        "CREATE TABLE disk (is_full INTEGER); INSERT INTO disk VALUES (0);
         CREATE TRIGGER full BEFORE UPDATE OF ending, claim ON question WHEN (SELECT is_full FROM disk)
         BEGIN SELECT RAISE(ABORT, 'the disk is full'); END",
    )
    .unwrap();
    let is_over = AtomicBool::new(false);
    let acts: Vec<String> = std::thread::scope(|scope| {
        // Two clients share one process.
        let stores = [place.open(), place.open()];
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let store = stores[number as usize % 2].clone();
                scope.spawn(move || client(store, number))
            })
            .collect();
        let store = &store;
        let is_over = &is_over;
        scope.spawn(|| answer_until(store, is_over));
        scope.spawn(move || {
            let mut rng = SeededRng::new(7);
            let mut changes = 0;
            while !is_over.load(Ordering::Relaxed) {
                match disk.execute("UPDATE disk SET is_full = ?1", [rng.below(2) == 0]) {
                    // Under Wine, other writers can keep the file locked for the whole wait.
                    Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {}
                    changed => changes += changed.unwrap(),
                }
                std::thread::sleep(Duration::from_millis(rng.below(10) as u64));
            }
            assert!(changes > 1, "the disk was never full");
        });
        let acts: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        acts.into_iter().flat_map(Result::unwrap).collect()
    });
    let ended = wait(person(&store, "reader").list(&Filter::ended())).unwrap().questions;
    let given: Vec<_> =
        ended.iter().filter_map(|question| question.ending.as_ref().and_then(Ending::resolution)).collect();
    let given: Vec<&str> =
        given.into_iter().filter(|resolution| is_allow(resolution)).filter_map(Resolution::by).collect();
    let mut used = BTreeMap::new();
    acts.iter().for_each(|by| *used.entry(by.as_str()).or_insert(0) += 1);
    assert!(!acts.is_empty() && ended.iter().any(|question| question.state() == State::Answered), "nothing was tried");
    for (by, times) in used {
        assert_eq!(times, 1, "one permission, one act: {by}");
        assert!(given.contains(&by), "{by} gave no permission");
    }
}
