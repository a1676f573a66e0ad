//! Tests a server that is killed, and two servers on one file.

use crate::support::{Home, choice, request, store_at};
use askuser::store::{Attempt, Filter, Handle, Principal, State, Store, StoreError};
use askuser::{Origin, Via};
use askuser_conformance::SeededRng;
use askuser_inbox::SqliteStore;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Returns the number of kills, which `ASKUSER_SERVE_KILLS` overrides.
fn kills() -> usize {
    std::env::var("ASKUSER_SERVE_KILLS").map_or(8, |kills| kills.parse().expect("a number"))
}

fn agent(store: impl Store + 'static) -> Handle {
    Handle::new(Arc::new(store), Principal::agent(&Origin::default().with_agent("tester")))
}

fn person(store: impl Store + 'static) -> Handle {
    Handle::new(Arc::new(store), Principal::person("ada", Via::Web))
}

/// Agents ask and people answer while the server is killed again and again. Every acknowledged question and answer
/// exists exactly once, and every waiter recovers by itself.
#[test]
fn a_server_killed_under_load_loses_no_acknowledged_answer_and_gives_none_twice() {
    let home = Home::new();
    let ask = home.token("ci", "--ask");
    let answer = home.token("phone", "--answer");
    let mut server = home.serve("127.0.0.1:0");
    let url = server.url();
    let listen = server.address.to_string();
    let is_over = AtomicBool::new(false);
    // The answers that each waiter got, and the attempts that were told that they won.
    let (delivered, won) = (Mutex::new(BTreeMap::new()), Mutex::new(BTreeMap::<String, usize>::new()));
    let asked = std::thread::scope(|scope| {
        let askers: Vec<_> = (0..3)
            .map(|asker| {
                let url = &url;
                let ask = &ask;
                let delivered = &delivered;
                let is_over = &is_over;
                scope.spawn(move || {
                    let agent = agent(store_at(url, ask));
                    let mut asked = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let put = pollster::block_on(agent.put(&request(&format!("{asker} {asked}")), None)).unwrap();
                        asked += 1;
                        let ending = pollster::block_on(agent.wait(&put.question.id)).unwrap();
                        let earlier = delivered.lock().unwrap().insert(put.question.id.clone(), ending);
                        assert!(earlier.is_none(), "{} was asked twice", put.question.id);
                        pollster::block_on(agent.delivered(&put.question.id)).unwrap();
                    }
                    asked
                })
            })
            .collect();
        for name in ["a", "b"] {
            let url = &url;
            let answer = &answer;
            let won = &won;
            let is_over = &is_over;
            scope.spawn(move || {
                let person = person(store_at(url, answer));
                let mut count = 0;
                // The last waiters still need their answers.
                let mut idle = 0;
                while !is_over.load(Ordering::Relaxed) || idle < 50 {
                    let page = pollster::block_on(person.list(&Filter::pending().at_most(10))).unwrap();
                    idle = if page.questions.is_empty() { idle + 1 } else { 0 };
                    for question in page.questions {
                        count += 1;
                        let attempt = Attempt::new(format!("{name} {count}"));
                        match pollster::block_on(person.answer(&question.id, choice(), &attempt)) {
                            Ok(_) => *won.lock().unwrap().entry(question.id.to_string()).or_default() += 1,
                            Err(StoreError::Ended(_)) => {}
                            Err(error) => panic!("{}", error.chain()),
                        }
                    }
                }
            });
        }
        let mut dice = SeededRng::new(u64::from(std::process::id()));
        for kill in 0..kills() {
            let enough = (kill + 1) * 10;
            askuser_conformance::until("answers come", || won.lock().unwrap().len() >= enough);
            // The kill comes at any moment of the running work.
            std::thread::sleep(Duration::from_micros(dice.number() % 30_000));
            server.kill();
            server = home.serve(&listen);
        }
        is_over.store(true, Ordering::Relaxed);
        askers.into_iter().map(|asker| asker.join().unwrap()).sum::<usize>()
    });
    let store = person(SqliteStore::open(&home.inbox()).unwrap());
    let delivered = delivered.into_inner().unwrap();
    let won = won.into_inner().unwrap();
    assert_eq!(delivered.len(), asked, "every waiter came back");
    for (id, ending) in &delivered {
        let kept = pollster::block_on(store.get(id)).unwrap();
        assert_eq!(kept.ending.as_ref(), Some(ending), "{id}: what was delivered is what is kept");
    }
    for (id, times) in &won {
        assert_eq!(*times, 1, "{id} was won {times} times");
        let id = askuser::store::QuestionId::parse(id).unwrap();
        assert_eq!(pollster::block_on(store.get(&id)).unwrap().state(), State::Answered, "{id} is lost");
    }
    assert!(won.len() >= kills() * 10);
}

#[test]
fn two_servers_on_one_file_and_commands_beside_them_see_the_same() {
    let home = Home::new();
    let ask = home.token("ci", "--ask");
    let answer = home.token("phone", "--answer");
    let servers = [home.serve("127.0.0.1:0"), home.serve("127.0.0.1:0")];
    let agent = agent(store_at(&servers[0].url(), &ask));
    let person = person(store_at(&servers[1].url(), &answer));
    for i in 0..5 {
        let put = pollster::block_on(agent.put(&request(&i.to_string()), None)).unwrap();
        let id = put.question.id.clone();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pollster::block_on(agent.wait(&id)).unwrap());
            if i % 2 == 0 {
                pollster::block_on(person.answer(&id, choice(), &Attempt::new(i.to_string()))).unwrap();
            } else {
                let local = home.run(&["answer", id.as_str(), "--select", "Pick=A"]);
                assert!(local.status.success(), "{local:?}");
            }
            let ending = waiting.join().unwrap();
            assert!(matches!(ending.by(), Some("ada" | "phone")), "{ending:?}");
        });
    }
    let log = String::from_utf8(home.run(&["log"]).stdout).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains("→ answered")).count(), 5, "{log}");
    // A token that is revoked here is invalid on both servers.
    assert!(home.run(&["token", "revoke", "ci"]).status.success());
    for server in &servers {
        assert!(server.send("GET", "/api/v1/me", Some(&ask), "").starts_with("HTTP/1.1 401"));
    }
}
