//! A server that stops during calls. All acknowledged writes survive, and none takes effect twice.

use crate::support::{Place, agent, attempt, choice, or_skip, person, request};
use askuser::store::{Ending, QuestionId, Store, StoreError};
use askuser_conformance::{Place as _, wait};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The results that callers got: the stored questions, the winners of each question, and the winner that each loser was
/// given.
#[derive(Default)]
struct Told {
    kept: Vec<QuestionId>,
    won: BTreeMap<QuestionId, Vec<String>>,
    named: BTreeMap<QuestionId, Vec<String>>,
}

/// Asks questions until `ended` is set. Two people answer each question concurrently.
fn work(place: &Place, name: usize, told: &Mutex<Told>, ended: &AtomicBool) {
    let (here, there): (Arc<dyn Store>, Arc<dyn Store>) = (Arc::new(place.store()), Arc::new(place.store()));
    for i in 0.. {
        if ended.load(Ordering::Relaxed) {
            return;
        }
        let put = wait(agent(&here).put(&request(&format!("{name} {i}")), None));
        let put = put.unwrap_or_else(|error| panic!("a short stop is waited for: {}", error.chain()));
        assert!(put.is_new, "a repeated call knows its own question");
        let id = put.question.id.clone();
        told.lock().unwrap().kept.push(id.clone());
        let calls = [(&here, "ada"), (&there, "bob")].map(|(store, who)| {
            let key = attempt(&format!("{who} {id}"));
            (who, person(store, who).answer(&id, choice(0), &key))
        });
        for (who, call) in calls {
            let result = wait(call);
            let mut told = told.lock().unwrap();
            match result {
                Ok(_) => told.won.entry(id.clone()).or_default().push(who.to_owned()),
                Err(StoreError::Ended(ending)) => {
                    told.named.entry(id.clone()).or_default().push(ending.by().unwrap_or_default().to_owned());
                }
                Err(error) => panic!("a short stop is waited for: {}", error.chain()),
            }
        }
    }
}

fn check(place: &Place, told: &Told) {
    let store: Arc<dyn Store> = Arc::new(place.store());
    for id in &told.kept {
        let stored = wait(person(&store, "reader").get(id)).unwrap_or_else(|error| panic!("{id}: {}", error.chain()));
        let Some(won) = told.won.get(id) else { continue };
        assert_eq!(won.len(), 1, "{id} was answered twice");
        assert_eq!(stored.ending.as_ref().and_then(Ending::by), Some(&*won[0]), "what was acknowledged is there");
        assert!(told.named.get(id).into_iter().flatten().all(|named| *named == won[0]), "every loser names the winner");
    }
    let _ = wait(person(&store, "reader").events(0, 1));
    assert!(place.damage().is_empty() && place.holes() == 0, "{:?}, {} holes", place.damage(), place.holes());
}

#[test]
fn what_was_acknowledged_outlives_immediate_stops_and_a_lost_reply_is_asked_for_again() {
    let mut place = or_skip!();
    let told = Mutex::new(Told::default());
    let ended = AtomicBool::new(false);
    for _ in 0..3 {
        // This thread stops the server while other threads borrow the place. So the server is taken out of the place.
        let mut server = place.take_server();
        std::thread::scope(|scope| {
            ended.store(false, Ordering::Relaxed);
            let runs: Vec<_> = (0..3)
                .map(|i| {
                    let place = &place;
                    let told = &told;
                    let ended = &ended;
                    let name = told.lock().unwrap().kept.len() * 10 + i;
                    scope.spawn(move || work(place, name, told, ended))
                })
                .collect();
            std::thread::sleep(Duration::from_millis(500));
            server.stop_immediately();
            std::thread::sleep(Duration::from_millis(200));
            server.start_again();
            std::thread::sleep(Duration::from_millis(500));
            ended.store(true, Ordering::Relaxed);
            runs.into_iter().for_each(|run| run.join().unwrap());
        });
        place.put_server_back(server);
    }
    let told = told.into_inner().unwrap();
    assert!(told.won.len() > 20, "something was done: {}", told.won.len());
    check(&place, &told);
}

#[test]
fn backends_that_are_terminated_at_any_moment_lose_and_double_nothing() {
    let place = or_skip!();
    let told = Mutex::new(Told::default());
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for name in 0..3 {
            let place = &place;
            let told = &told;
            let ended = &ended;
            scope.spawn(move || work(place, name, told, ended));
        }
        let mut cut = 0;
        for _ in 0..60 {
            std::thread::sleep(Duration::from_millis(30));
            cut += place.number(
                "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE application_name = 'askuser' AND pid <> pg_backend_pid()) AS cut",
            );
        }
        ended.store(true, Ordering::Relaxed);
        assert!(cut > 60, "{cut}");
    });
    let told = told.into_inner().unwrap();
    assert!(told.won.len() > 20, "something was done: {}", told.won.len());
    check(&place, &told);
}

#[test]
fn a_server_that_stays_away_is_said_to_be_away_and_nothing_is_claimed() {
    let mut place = or_skip!();
    let store: Arc<dyn Store> = {
        let mut options = crate::support::options();
        options.patience = Duration::from_millis(300);
        Arc::new(askuser_postgres::PostgresStore::open(place.address(), options).unwrap())
    };
    let id = crate::support::ask(&store, "1");
    let mut server = place.take_server();
    server.stop_immediately();
    let error = wait(person(&store, "ada").get(&id)).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    let error = wait(person(&store, "ada").answer(&id, choice(0), &attempt("k"))).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. } | StoreError::Unknown { .. }), "{error:?}");
    server.start_again();
    place.put_server_back(server);
    let ending = wait(person(&store, "ada").answer(&id, choice(0), &attempt("k"))).unwrap();
    assert_eq!(ending.by(), Some("ada"), "it is there again");
}
