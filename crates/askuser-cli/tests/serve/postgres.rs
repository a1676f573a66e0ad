//! Tests `askuser serve` and its commands on a PostgreSQL database.
#![cfg(all(unix, feature = "postgres"))]

use crate::support::{Home, choice, request, store_at};
use askuser::Via;
use askuser::store::{Attempt, Handle, Principal, State};
use askuser_conformance::{PostgresServer, wait};
use std::process::Output;
use std::sync::Arc;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[track_caller]
fn succeeds(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout).to_owned()
}

#[test]
fn serve_ends_on_a_signal_while_its_database_is_away() {
    let Some(mut database) = PostgresServer::start(&["fsync=off"]) else { return };
    let mut home = Home::new();
    home.store = Some(database.address());
    let ask = home.token("ci", "--ask");
    let server = home.serve("127.0.0.1:0");
    let agent = Handle::new(Arc::new(store_at(&server.url(), &ask)), Principal::agent(request("1").origin()));
    wait(agent.put(&request("1"), None)).unwrap();
    database.stop_immediately();
    // This call waits for the database, and so does the end of the server.
    let reading = agent.get(request("1").key());
    let began = std::time::Instant::now();
    assert!(server.terminate().success());
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
    drop(reading);
}

#[test]
fn two_servers_on_one_database_are_one_inbox_and_who_asks_or_answers_is_sent_to_them() {
    let Some(database) = PostgresServer::start(&["fsync=off"]) else { return };
    let mut home = Home::new();
    home.store = Some(format!("{}&password=secret", database.address()));
    let ask = home.token("ci", "--ask");
    let answer = home.token("laptop", "--answer");
    assert!(succeeds(home.run(&["token", "list"])).starts_with("ci  ask  made "));
    let here = home.serve("127.0.0.1:0");
    let there = home.serve("127.0.0.1:0");
    let pair = format!("{{\"code\": \"{}\", \"name\": \"Pixel\"}}", here.code);
    assert!(there.send("POST", "/api/v1/pair", None, &pair).starts_with("HTTP/1.1 200"), "either lets it in");
    assert!(succeeds(home.run(&["devices"])).starts_with("Pixel  answer"));

    let agent = Handle::new(Arc::new(store_at(&here.url(), &ask)), Principal::agent(request("1").origin()));
    let person = Handle::new(Arc::new(store_at(&there.url(), &answer)), Principal::person("ada", Via::Web));
    let id = wait(agent.put(&request("1"), None)).unwrap().question.id;
    let answered = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| wait(agent.wait(&id)).unwrap());
        wait(person.answer(&id, choice(), &Attempt::new("k"))).unwrap();
        waiting.join().unwrap()
    });
    assert_eq!((answered.state(), answered.by()), (State::Answered, Some("laptop")), "asked here, answered there");

    for words in [&["inbox", "--count"][..], &["log"], &["wait", "3f2a"], &["answer", "3f2a"], &["withdraw", "3f2a"]] {
        let refused = home.run(words);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(text(&refused.stderr).contains("`askuser serve` alone") && !text(&refused.stderr).contains("secret"));
    }
    let questions = home.folder.path().join("questions.json");
    std::fs::write(&questions, request("1").set().input().to_string()).unwrap();
    let refused = home.run(&["ask", "questions.json", "--via", "inbox", "--detach"]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("askuser serve"), "{refused:?}");
    for words in [&["config"][..], &["doctor"]] {
        let shown = home.run(words);
        assert!(!format!("{shown:?}").contains("secret"), "{shown:?}");
    }
    let doctor = home.run(&["doctor"]);
    for fact in [
        "PostgreSQL 1",
        "every event has its number",
        "synchronous_commit is on",
        "no synchronous standby",
        "NOTIFY arrives",
    ] {
        assert!(text(&doctor.stdout).contains(fact), "{fact}: {}", text(&doctor.stdout));
    }
    assert_eq!(succeeds(home.run(&["log", "--purge", "--before", "1h"])).split(' ').nth(1), Some("0"));
    assert_eq!(succeeds(home.run(&["token", "revoke", "ci"])), "revoked ci\n");
    let revoked = here.send("GET", "/api/v1/questions", Some(&ask), "");
    assert!(revoked.starts_with("HTTP/1.1 401"), "{revoked}");
}
