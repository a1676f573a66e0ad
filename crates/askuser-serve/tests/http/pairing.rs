//! Tests of the pairing of devices.

use crate::support::Site;
use askuser::store::Credentials;
use askuser_conformance::wait;
use askuser_serve::pairing;
use serde_json::{Value, json};

#[test]
fn a_link_lets_one_browser_in_once_and_gives_it_a_device_of_its_own() {
    let site = Site::new();
    let code = wait(pairing::link_code(&site.store, "ada")).unwrap();
    let pair = |code: &str| site.client().send("POST", "/pair", json!({"code": code, "name": "Pixel"}));
    let (id, _) = code.split_once('.').unwrap();
    let wrong = pair(&format!("{id}.00000000000000000000000000000000"));
    assert_eq!((wrong.status, wrong.code()), (410, "gone"));
    let whose = |code: &str| site.client().send("POST", "/pair/person", json!({"code": code}));
    assert_eq!(whose(&code).body, json!({"person": "ada"}), "a paired browser looks first");
    let paired = pair(&code);
    assert_eq!((paired.status, &paired.body["name"], &paired.body["person"]), (200, &json!("Pixel"), &json!("ada")));
    assert_eq!((pair(&code).status, pair("x").status, pair("").status), (410, 410, 410), "once");
    assert_eq!(whose(&code).status, 410);
    let token = paired.body["token"].as_str().unwrap();
    let me = site.send(token, "GET", "/me", Value::Null);
    assert_eq!((&me.body["scope"], &me.body["name"]), (&json!("answer"), &json!("Pixel")));
    assert_eq!(site.send(token, "GET", "/tokens", Value::Null).status, 403, "it lets no other in");
    let second = wait(pairing::link_code(&site.store, "ada")).unwrap();
    assert_eq!(pair(&second).body["name"], json!("Pixel 2"), "two phones are two devices");
    let third = wait(pairing::link_code(&site.store, "ada")).unwrap();
    let (id, _) = third.split_once('.').unwrap();
    for _ in 0..5 {
        pair(&format!("{id}.0"));
    }
    assert_eq!(pair(&third).status, 410, "tried too often");
}

#[test]
fn a_code_lets_a_browser_in_only_after_somebody_has_seen_where_it_is() {
    let site = Site::new();
    let browser = || site.client().header("User-Agent", "Firefox on a phone");
    let shown = browser().send("POST", "/pair/code", json!({})).body;
    let code = shown["code"].as_str().unwrap();
    let secret = shown["secret"].as_str().unwrap();
    assert!(code.len() == 9 && code.as_bytes()[4] == b'-', "{code}");
    let claim = |secret: &str| browser().send("POST", "/pair/claim", json!({"code": code, "secret": secret}));
    let early = claim(secret);
    assert_eq!((early.status, &early.body["approved"]), (202, &json!(false)));
    assert_eq!(site.send(&site.answer, "POST", &format!("/pairings/{code}/approve"), json!({})).status, 403);
    let seen = site.send(&site.admin, "GET", &format!("/pairings/{}", code.to_lowercase()), Value::Null);
    assert_eq!((&seen.body["browser"], &seen.body["address"]), (&json!("Firefox on a phone"), &json!("127.0.0.1")));
    assert_eq!(
        site.send(&site.admin, "POST", "/pairings/AAAA-AAAA/approve", json!({})).status,
        404,
        "never the latest"
    );
    let approve = |body: Value| site.send(&site.admin, "POST", &format!("/pairings/{code}/approve"), body);
    let unknown = approve(json!({"person": "bob"}));
    assert_eq!((unknown.status, unknown.code()), (403, "forbidden"), "there is no bob");
    assert_eq!(approve(json!({"person": " "})).status, 422);
    assert_eq!(site.send(&site.admin, "POST", "/people", json!({"name": "bob"})).status, 201);
    assert_eq!((approve(json!({"person": "bob"})).status, approve(json!({})).status), (200, 404), "it is bob's now");
    assert_eq!(claim("wrong").status, 410, "who only saw the code has nothing");
    let paired = claim(secret);
    assert_eq!((paired.status, claim(secret).status), (200, 410), "once");
    assert_eq!(paired.body["person"], json!("bob"), "whoever let it in said whose it is");
    let devices = site.send(&site.admin, "GET", "/tokens", Value::Null).body;
    let device = devices["tokens"].as_array().unwrap().iter().find(|known| known["device"] == json!(true)).unwrap();
    let id = device["id"].as_str().unwrap();
    assert_eq!(site.send(&site.admin, "DELETE", &format!("/tokens/{id}"), Value::Null).status, 200);
    assert_eq!(site.send(paired.body["token"].as_str().unwrap(), "GET", "/me", Value::Null).status, 401);
    assert_eq!(wait(site.store.credential(id)).unwrap(), None);
}
