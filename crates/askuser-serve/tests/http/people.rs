//! Tests of a question's audience over HTTP: its readers, its answers, and the removal of a person.

use crate::support::{Site, input, sqlite, token_for};
use askuser::store::{CredentialScope, Credentials};
use askuser_conformance::wait;
use serde_json::{Value, json};

fn put(site: &Site, key: &str, names: Value) -> crate::support::Response {
    let client = site.client().token(&site.ask).header("Idempotency-Key", key);
    client.send("POST", "/questions", json!({"input": input("Which?"), "for": names}))
}

#[test]
fn whoever_is_not_asked_reads_the_question_after_their_own_and_is_told_for_whom_it_is() {
    let site = Site::new();
    let bob = token_for(&site.store, "laptop", CredentialScope::Answer, "bob");
    let first = put(&site, "1", json!(["ada"])).body["id"].as_str().unwrap().to_owned();
    let second = site.put("2");
    let listed = |token: &str, query: &str| {
        let body = site.send(token, "GET", &format!("/questions{query}"), Value::Null).body;
        let line = |question: &Value| (question["id"].as_str().unwrap().to_owned(), question["mine"] == json!(true));
        body["questions"].as_array().unwrap().iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(listed(&site.answer, ""), [(first.clone(), true), (second.clone(), true)]);
    assert_eq!(listed(&bob, ""), [(second.clone(), true), (first.clone(), false)], "mine first");
    assert_eq!(listed(&bob, "?mine=1"), [(second.clone(), true)]);
    assert_eq!(site.send(&bob, "GET", "/count?mine=1", Value::Null).body["count"], json!(1));
    let page = site.send(&bob, "GET", &format!("/questions/{first}?view=page"), Value::Null).body;
    assert_eq!((&page["mine"], &page["page"]["for"]), (&json!(false), &json!("ada")));
    let refused = |method: &str, route: &str, body: Value| {
        let reply = site.send(&bob, method, &format!("/questions/{first}/{route}"), body);
        let says = reply.body["error"]["message"].as_str().unwrap_or_default().contains("for ada");
        assert!(reply.status == 403 && says, "{route}: {:?}", reply.body);
    };
    for how in ["answer", "decline", "discuss"] {
        refused("POST", how, if how == "answer" { sqlite() } else { json!({}) });
    }
    refused("POST", "withdraw", json!({}));
    refused("POST", "hold", json!({}));
    refused("PUT", "draft", json!({"answers": [], "discuss": "hm"}));
    refused("GET", "draft", Value::Null);
    // An answers file that bob names cannot answer, either.
    let file = site.client().token(&bob).header("X-Askuser-Via", "answers-file");
    assert_eq!(file.send("POST", &format!("/questions/{first}/answer"), sqlite()).status, 403);
    // The asker may at most report an answer of a person in the audience.
    let word = site.send(&site.ask, "POST", &format!("/questions/{first}/answer"), sqlite());
    assert_eq!((word.status, word.code()), (403, "forbidden"));
    let answered = site.send(&site.answer, "POST", &format!("/questions/{first}/answer"), sqlite()).body;
    assert_eq!((&answered["resolution"]["by"], &answered["resolution"]["device"]), (&json!("ada"), &json!("phone")));
}

#[test]
fn a_name_that_nobody_has_is_refused_and_named() {
    let site = Site::new();
    token_for(&site.store, "ops", CredentialScope::Answer, "");
    for (name, why) in [
        ("adda", "nobody has the name \"adda\""),
        ("ci", "\"ci\" is a token that cannot answer, its scope is ask"),
        ("phone", "\"phone\" is a device of ada"),
        ("", "nobody has the name \"\""),
    ] {
        let reply = put(&site, "1", json!(["ada", name]));
        let violation = &reply.body["error"]["violations"][0];
        assert_eq!((reply.status, &violation["path"], &violation["fact"]), (422, &json!("for"), &json!(why)));
    }
    assert_eq!(put(&site, "2", json!(["ada", "ops"])).body["for"], json!(["ada", "ops"]));
    let other = put(&site, "2", json!(["ops"]));
    assert_eq!((other.status, other.code()), (409, "other_question"), "asked of others it is another question");
}

#[test]
fn people_are_added_listed_and_removed_and_whoever_is_removed_answers_nothing() {
    let site = Site::new();
    let people = |method: &str, path: &str, body: Value| site.send(&site.admin, method, path, body);
    assert_eq!(people("POST", "/people", json!({"name": "bob/ o'neil"})).status, 201);
    assert_eq!(people("POST", "/people", json!({"name": "bob/ o'neil"})).status, 200, "he is there");
    for name in ["", " ", "a,b", &"x".repeat(65)] {
        assert_eq!(people("POST", "/people", json!({"name": name})).status, 422, "{name:?}");
    }
    assert_eq!(people("POST", "/people", json!({"name": "root"})).status, 403, "a token acts under that name");
    for token in [&site.ask, &site.answer] {
        assert_eq!(site.send(token, "GET", "/people", Value::Null).status, 403);
    }
    let all = people("GET", "/people", Value::Null).body;
    let names: Vec<&str> = all["people"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["ada", "bob/ o'neil"], "the owner is one of them");
    let made = people("POST", "/tokens", json!({"name": "laptop", "scope": "answer", "person": "bob/ o'neil"}));
    assert_eq!((made.status, &made.body["person"]), (201, &json!("bob/ o'neil")));
    let token = made.body["token"].as_str().unwrap();
    let asks = people("POST", "/tokens", json!({"name": "x", "scope": "ask", "person": "ada"}));
    assert_eq!(asks.status, 422, "a token that asks gives nobody's answers");
    assert_eq!(people("POST", "/tokens", json!({"name": "x", "scope": "answer", "person": "eve"})).status, 403);
    let own = people("POST", "/tokens", json!({"name": "ops", "scope": "answer"})).body;
    assert_eq!(own["person"], Value::Null);
    let me = site.send(own["token"].as_str().unwrap(), "GET", "/me", Value::Null).body;
    assert_eq!(me["person"], json!("ops"), "it acts under its own name");
    let id = put(&site, "1", json!(["bob/ o'neil"])).body["id"].as_str().unwrap().to_owned();
    let removed = people("DELETE", "/people/bob%2F%20o'neil", Value::Null);
    assert_eq!((removed.status, &removed.body), (200, &json!({"revoked": 1, "waiting": 1})));
    assert_eq!(people("DELETE", "/people/bob%2F%20o'neil", Value::Null).status, 404);
    assert_eq!(site.send(token, "POST", &format!("/questions/{id}/answer"), sqlite()).status, 401, "at once");
    assert_eq!(site.send(&site.answer, "POST", &format!("/questions/{id}/answer"), sqlite()).status, 403, "nor others");
    assert_eq!(
        site.send(&site.ask, "POST", &format!("/questions/{id}/withdraw"), json!({})).status,
        200,
        "its asker can"
    );
    assert_eq!(wait(site.store.people()).unwrap().len(), 1);
}
