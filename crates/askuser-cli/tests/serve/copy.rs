//! `askuser inbox copy`: from a file to PostgreSQL and back, killed on the way.
#![cfg(unix)]

use crate::support::{Home, choice, request};
use askuser::store::{Archive, Attempt, Credentials, Draft, Handle, Principal, Series, Store, Table};
use askuser::{Purpose, Request, RequestKey, Via};
use askuser_conformance::wait;
use askuser_inbox::SqliteStore;
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn copy(home: &Home, from: &str, to: &str, more: &[&str]) -> Output {
    home.run(&[&["inbox", "copy", from, to], more].concat())
}

/// Everything there is, table by table.
fn all(store: &dyn Archive) -> Vec<Vec<Value>> {
    Table::ALL.map(|of| wait(store.rows(of, 0, u32::MAX)).unwrap()).into()
}

fn open(path: &Path) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(path).unwrap())
}

/// A store with some of everything.
fn fill(home: &Home, questions: usize) -> Arc<SqliteStore> {
    for words in [&["people", "add", "ada"][..], &["people", "add", "bob"], &["token", "new", "ci", "--ask"]] {
        assert!(home.run(words).status.success());
    }
    assert!(home.run(&["token", "new", "phone", "--answer", "--person", "bob"]).status.success());
    assert!(home.run(&["token", "new", "ci", "--ask"]).status.success(), "the first one is revoked");
    let now = Arc::new(AtomicU64::new(1));
    let clock = now.clone();
    let clock = Arc::new(move || clock.load(Ordering::Relaxed));
    let store = Arc::new(SqliteStore::open_for_test(&home.inbox(), clock, false).unwrap());
    let by = |principal| Handle::new(store.clone(), principal);
    let ada = by(Principal::person("ada", Via::Web).on_device("phone"));
    let gone = |call: &str| {
        now.store(1, Ordering::Relaxed);
        let id = wait(by(Principal::agent(request("").origin())).put(&request(call), None)).unwrap().question.id;
        wait(ada.answer(&id, choice(), &Attempt::new(call))).unwrap();
        now.store(1_000_000, Ordering::Relaxed);
    };
    gone("the first");
    for i in 0..questions {
        let (asked, agent) = match i % 5 {
            0 => {
                let key = RequestKey::new("session", i.to_string()).for_purpose(Purpose::Permission);
                let asked = Request::new(key, request("").set().clone());
                (asked.with_origin(request("").origin().clone()), by(Principal::agent(request("").origin())))
            }
            1 => {
                let origin = request("").origin().clone().with_agent("Ärger \u{1f600}").with_credential("ci");
                (request(&i.to_string()).with_origin(origin.clone()), by(Principal::agent(&origin)))
            }
            2 => (request(&i.to_string()).with_audience(["bob", "ada"]), by(Principal::agent(request("").origin()))),
            _ => (request(&i.to_string()), by(Principal::agent(request("").origin()))),
        };
        let series = Series { name: format!("series {i}"), conversation: "one".into() };
        let put = wait(agent.put(&asked, (i % 2 == 0).then_some(&series))).unwrap();
        let id = put.question.id.clone();
        if i % 7 == 0 {
            wait(ada.save_draft(&id, &Draft { discuss: Some("hm".into()), ..Draft::default() }.into())).unwrap();
        }
        match i % 3 {
            0 => _ = wait(agent.withdraw(&id, &Attempt::new(format!("w{i}")))).unwrap(),
            _ => _ = wait(ada.answer(&id, choice(), &Attempt::new(format!("a{i}")))).unwrap(),
        }
        if i % 10 == 5 {
            let _ = wait(agent.claim(&id, &Attempt::new("c")))
                .or_else(|_| wait(agent.delivered(&id)).map(|()| askuser::store::Claim::Won));
        }
    }
    gone("the last");
    assert_eq!(wait(ada.purge(2)).unwrap().count, 2, "the first and the last numbers are of what is gone");
    store
}

/// Copies, and is killed again and again on the way; how often.
fn copy_killed(home: &Home, from: &str, to: &str) -> usize {
    let mut kills = 0;
    loop {
        let mut child = home.command(&["inbox", "copy", from, to]).stderr(std::process::Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_millis(30 + 40 * kills as u64);
        while Instant::now() < until {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "after {kills} kills");
                return kills;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
}

#[test]
fn a_file_is_copied_into_another_and_what_holds_anything_else_is_left_alone() {
    let home = Home::new();
    let store = fill(&home, 60);
    let (from, to) = (home.inbox(), home.folder.path().join("other.sqlite"));
    let (from, to) = (from.to_str().unwrap(), to.to_str().unwrap());
    let copied = copy(&home, from, to, &[]);
    assert!(
        text(&copied.stdout).starts_with("60 questions, 120 events, 3 tokens and devices, 2 people; 185 rows"),
        "{copied:?}"
    );
    assert_eq!(all(&*open(Path::new(to))), all(&*store));
    let again = copy(&home, from, to, &[]);
    assert!(text(&again.stdout).ends_with("; 0 rows were not there before\n"), "{again:?}");
    // What goes on at the first is added; what began at the second is not lost.
    let agent = |store: &Arc<SqliteStore>| Handle::new(store.clone(), Principal::agent(request("").origin()));
    let put =
        wait(agent(&store).put(&request("new").with_deadline(Duration::from_secs(10_000_000_000)), None)).unwrap();
    let waits = copy(&home, from, to, &[]);
    assert_eq!(
        (waits.status.code(), text(&waits.stderr).contains("1 questions are waiting")),
        (Some(2), true),
        "{waits:?}"
    );
    assert!(copy(&home, from, to, &["--with-waiting"]).status.success());
    let there = open(Path::new(to));
    assert_eq!(all(&*there), all(&*store), "with its deadline");
    let ada = Handle::new(there.clone(), Principal::person("ada", Via::Inbox));
    wait(ada.answer(&put.question.id, choice(), &Attempt::new("there"))).unwrap();
    let before = all(&*there);
    for flags in [&[][..], &["--with-waiting"]] {
        assert!(!copy(&home, from, to, flags).status.success());
    }
    let refused = copy(&home, from, to, &["--with-waiting"]);
    assert!(
        text(&refused.stderr).contains(&format!("content of its own: the question {}", put.question.id)),
        "{refused:?}"
    );
    assert_eq!(all(&*there), before, "it stays as it is");
    let other = home.folder.path().join("third.sqlite");
    wait(open(&other).add_person("eve")).unwrap();
    let refused = copy(&home, to, other.to_str().unwrap(), &[]);
    assert!(text(&refused.stderr).contains("the person eve"), "{refused:?}");
    let missing = copy(&home, "none.sqlite", to, &[]);
    assert!(text(&missing.stderr).contains("there is no inbox at none.sqlite"), "{missing:?}");
    let server = copy(&home, "https://ask.example.org", to, &[]);
    assert!(text(&server.stderr).contains("is a server"), "{server:?}");
}

#[test]
#[cfg(feature = "postgres")]
fn a_copy_that_is_killed_again_and_again_is_whole_in_the_end_both_ways() {
    let Some(database) = askuser_conformance::PostgresServer::start(&["fsync=off"]) else { return };
    let home = Home::new();
    let store = fill(&home, 2_500);
    let expected = all(&*store);
    drop(store);
    let (from, address) = (home.inbox(), database.address());
    let kills = copy_killed(&home, from.to_str().unwrap(), &address);
    let postgres = askuser_postgres::PostgresStore::open(&address, askuser_postgres::Options::default()).unwrap();
    assert!(kills > 2, "it was killed {kills} times");
    assert_eq!(all(&postgres), expected);
    let back = home.folder.path().join("back.sqlite");
    let kills = copy_killed(&home, &address, back.to_str().unwrap());
    assert!(kills > 2, "it was killed {kills} times");
    let back = open(&back);
    assert_eq!(all(&*back), expected);
    assert_eq!(wait(back.integrity()).unwrap(), Vec::<String>::new());
    // Both go on behind the last number, and find what they had.
    for store in [Arc::new(postgres) as Arc<dyn Store>, back] {
        let agent = Handle::new(store, Principal::agent(request("").origin()));
        let again = wait(agent.put(&request("4"), None)).unwrap();
        assert!(!again.is_new && again.question.ending.is_some(), "the same key is the same question");
        let new = wait(agent.put(&request("new"), None)).unwrap();
        assert!(new.is_new && new.question.cursor.0 > 2_500);
        let ada = agent.by(Principal::person("ada", Via::Inbox));
        askuser_conformance::until("its number is the next", || {
            let events = wait(ada.events(5_004, 10)).unwrap();
            assert!(!events.gap);
            events.events.first().is_some_and(|event| event.seq == 5_005 && event.id == new.question.id)
        });
    }
}
