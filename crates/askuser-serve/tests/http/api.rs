//! Tests of the API as any program uses it. Every reply is checked against the OpenAPI document.

use crate::support::{Client, Response, Site, input, sqlite};
use askuser::store::{Credentials, Filter, Principal, Store};
use askuser_conformance::wait;
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn a_question_is_put_found_and_answered_once() {
    let site = Site::new();
    let body = json!({"input": input("Which database?"), "context": {"kind": "command", "text": "ls"},
        "for": ["ada"], "deadline": 600});
    let put = |body: &Value| {
        site.client().token(&site.ask).header("Idempotency-Key", "1").send("POST", "/questions", body.clone())
    };
    let first = put(&body);
    assert_eq!((first.status, &first.body["is_new"], &first.body["state"]), (201, &json!(true), &json!("pending")));
    assert_eq!((&first.body["for"], &first.body["origin"]["credential"]), (&json!(["ada"]), &json!("ci")));
    let again = put(&body);
    assert_eq!((again.status, &again.body["id"]), (200, &first.body["id"]), "the same key is the same question");
    let other = put(&json!({"input": input("Something else?")}));
    assert_eq!((other.status, other.code()), (409, "other_question"));
    let id = first.body["id"].as_str().unwrap();
    let listed = site.send(&site.answer, "GET", "/questions", Value::Null);
    assert_eq!(listed.body["questions"][0]["id"], json!(id));
    let answer = |attempt: &str, body: Value| {
        let client = site.client().token(&site.answer).header("Idempotency-Key", attempt);
        client.send("POST", &format!("/questions/{id}/answer"), body)
    };
    let misfit = answer("0", json!({"answers": [{"selectedOptions": ["Oracle"]}]}));
    assert_eq!((misfit.status, misfit.code()), (422, "invalid"));
    assert!(misfit.body["error"]["violations"][0]["path"].is_string());
    let won = answer("a", sqlite());
    assert_eq!((won.status, &won.body["resolution"]["by"]), (200, &json!("ada")));
    assert_eq!((&won.body["resolution"]["via"], &won.body["resolution"]["device"]), (&json!("web"), &json!("phone")));
    assert_eq!(answer("a", sqlite()).status, 200, "the same attempt again");
    let late = answer("b", sqlite());
    assert_eq!((late.status, late.code()), (409, "ended"));
    let first = &late.body["error"]["question"]["resolution"];
    assert_eq!((&first["by"], &first["via"]), (&json!("ada"), &json!("web")), "who, and through what");
    assert!(first["at_ms"].is_number() && first["answers"][0]["selectedOptions"] == json!(["SQLite"]));
    let log = site.send(&site.answer, "GET", "/log", Value::Null);
    assert_eq!(log.body["questions"][0]["state"], json!("answered"));
}

#[test]
fn a_question_is_declined_talked_about_or_withdrawn_and_what_is_withdrawn_is_gone() {
    let site = Site::new();
    let end = |key: &str, how: &str, body: Value| {
        let id = site.put(key);
        let ended = site.send(&site.answer, "POST", &format!("/questions/{id}/{how}"), body);
        assert_eq!(ended.status, 200, "{ended:?}");
        (id, ended.body)
    };
    let (_, declined) = end("1", "decline", json!({"reason": "too early"}));
    assert_eq!((&declined["state"], &declined["resolution"]["reason"]), (&json!("declined"), &json!("too early")));
    let (_, discuss) = end("2", "discuss", json!({"message": "why?"}));
    assert_eq!((&discuss["state"], &discuss["resolution"]["message"]), (&json!("discuss"), &json!("why?")));
    let (id, withdrawn) = end("3", "withdraw", json!({}));
    assert_eq!((&withdrawn["state"], &withdrawn["withdrawn_by"]), (&json!("withdrawn"), &json!("ada")));
    let late = site.send(&site.answer, "POST", &format!("/questions/{id}/answer"), sqlite());
    assert_eq!((late.status, late.code()), (410, "withdrawn"));
}

#[test]
fn every_violation_of_an_input_is_told_at_once() {
    let site = Site::new();
    for (body, path) in [
        (json!({}), "input"),
        (json!({"input": {"questions": []}}), "input.questions"),
        (json!({"input": input("Which?"), "dealine": 5}), "dealine"),
        (json!({"input": input("Which?"), "context": {"kind": "prose", "text": "", "lang": "de"}}), "context.lang"),
        (json!([]), "body"),
        (json!({"input": input("Which?"), "context": {"kind": "poem", "text": ""}}), "context.kind"),
        (json!({"input": input("Which?"), "for": "ada"}), "for"),
        (json!({"input": input("Which?"), "deadline": -1}), "deadline"),
        (json!({"request": {"version": 99}}), "request"),
    ] {
        let put = site.send(&site.ask, "POST", "/questions", body);
        assert_eq!((put.status, put.code()), (422, "invalid"), "{path}");
        assert_eq!(put.body["error"]["violations"][0]["path"], json!(path));
    }
    let mut two = input("");
    two["questions"][0]["header"] = json!("far too long a header");
    let put = site.send(&site.ask, "POST", "/questions", json!({ "input": two }));
    assert_eq!(put.body["error"]["violations"].as_array().map(Vec::len), Some(2), "{put:?}");
    let put = site.send(&site.ask, "POST", "/questions", json!({"input": two, "dealine": 5}));
    let message = put.body["error"]["message"].as_str().unwrap();
    let expected = "not valid: dealine: unknown field `dealine`, must be one of `input`, ";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(wait(site.store.count(&Principal::person("ada", askuser::Via::Web), &Filter::default())).unwrap(), 0);
}

#[test]
fn an_error_says_what_was_not_found_or_does_not_fit() {
    let site = Site::new();
    let message = |reply: Response| reply.body["error"]["message"].as_str().unwrap().to_owned();
    let get = |path: &str| message(site.send(&site.answer, "GET", path, Value::Null));
    assert_eq!(get("/questions/0123456789ab"), "there is no question 0123456789ab");
    assert_eq!(get("/questions/zzz"), "there is no question zzz");
    assert_eq!(get("/answers"), "there is no route /answers");
    assert_eq!(message(site.send(&site.admin, "DELETE", "/tokens/x", Value::Null)), "there is no token x");
    let path = format!("/questions/{}", site.put("1"));
    let misfit = message(site.send(&site.answer, "POST", &format!("{path}/answer"), json!({"answers": []})));
    assert!(misfit.starts_with("the answer does not fit: "), "{misfit}");
    let draft = |body| message(site.send(&site.answer, "PUT", &format!("{path}/draft"), body));
    assert_eq!(draft(json!({})), "not valid: answers: missing, must be an array; an empty one forgets the draft");
    let wrong = draft(json!({"answers": [{"question": "Which?"}]}));
    assert!(
        wrong.starts_with("not valid: answers[0]: ") && wrong.ends_with("must name its question and header"),
        "{wrong}"
    );
}

/// `POST /discuss {"msg": …}` once dropped the person's message.
#[test]
fn a_body_with_an_unknown_field_is_refused() {
    let site = Site::new();
    let path = format!("/questions/{}", site.put("1"));
    let note = json!([{"text": "a", "txt": "b"}]);
    for (token, method, route, body, wrong) in [
        (&site.answer, "POST", "/discuss", json!({"msg": "why?"}), "msg"),
        (&site.answer, "POST", "/decline", json!({"message": "no"}), "message"),
        (&site.answer, "POST", "/withdraw", json!({"reason": "old"}), "reason"),
        (&site.answer, "POST", "/hold", json!({"for": 5}), "for"),
        (&site.answer, "POST", "/answer", json!({"answers": [], "comment": "x"}), "comment"),
        (
            &site.answer,
            "POST",
            "/answer",
            json!({"answers": [{"selectedOptions": [], "notee": "x"}]}),
            "answers[0].notee",
        ),
        (&site.answer, "POST", "/answer", json!({"answers": [{"notes": note}]}), "answers[0].notes[0].txt"),
        (&site.answer, "PUT", "/draft", json!({"answers": [], "discus": "x"}), "discus"),
        (&site.ask, "POST", "/attach", json!({"lasts": 5}), "lasts"),
    ] {
        let reply = site.send(token, method, &format!("{path}{route}"), body);
        let violation = &reply.body["error"]["violations"][0]["path"];
        assert_eq!((reply.status, violation), (422, &json!(wrong)), "{route}: {reply:?}");
    }
    assert_eq!(site.send(&site.answer, "GET", &path, Value::Null).body["state"], json!("pending"));
    let input = json!({"input": {"questions": input("Which?")["questions"], "later": 1}});
    assert_eq!(site.send(&site.ask, "POST", "/questions", input).status, 201, "but in the questions' own input");
    let query = site.send(&site.answer, "GET", "/questions?stat=all", Value::Null);
    assert_eq!((query.status, query.code()), (400, "bad_request"));
}

/// OpenClaw GHSA-rqpp-rjj8-7wv8, CVE-2026-53821: a client declared its own scopes.
#[test]
fn a_scope_comes_from_the_stored_token_and_who_asks_cannot_answer() {
    let site = Site::new();
    let id = site.put("1");
    let about = |route: &str| format!("/questions/{id}/{route}");
    let routes: [(&str, String, &[&str]); 20] = [
        ("GET", "/questions".into(), &["ask", "answer"]),
        ("GET", "/log".into(), &["answer"]),
        ("GET", "/count".into(), &["ask", "answer"]),
        ("GET", "/ids?begin=a".into(), &["ask", "answer"]),
        ("GET", "/events?after=0".into(), &["ask", "answer"]),
        ("GET", "/lists".into(), &["ask", "answer"]),
        ("POST", "/lists".into(), &["answer"]),
        ("POST", "/leases".into(), &["ask", "answer"]),
        ("GET", "/notifier".into(), &["ask", "answer"]),
        ("GET", format!("/questions/{id}"), &["ask", "answer"]),
        ("GET", about("draft"), &["answer"]),
        ("PUT", about("draft"), &["answer"]),
        ("POST", about("hold"), &["answer"]),
        ("POST", about("attach"), &["ask"]),
        ("POST", about("sent"), &["ask"]),
        ("POST", about("delivered"), &["ask"]),
        ("GET", "/tokens".into(), &["admin"]),
        ("POST", "/tokens".into(), &["admin"]),
        ("GET", "/me".into(), &["ask", "answer", "admin"]),
        ("POST", about("withdraw"), &["ask", "answer"]),
    ];
    let tokens = [("ask", &site.ask), ("admin", &site.admin), ("answer", &site.answer)];
    for (method, path, scopes) in routes {
        for (scope, token) in tokens {
            let body = match (method, path.rsplit('/').next()) {
                ("GET", _) => Value::Null,
                (_, Some("draft")) => json!({"answers": []}),
                (_, Some("leases")) => json!({"renew": []}),
                (_, Some("tokens")) => json!({"name": "other", "scope": "ask"}),
                _ => json!({}),
            };
            // The statements of a request about its own rights have no effect.
            let client = site.client().token(token).header("X-Scope", "admin").header("X-Askuser-Scopes", "answer");
            let reply = client.send(method, &path, body);
            let is_refused = reply.status == 403 && reply.code() == "forbidden";
            assert_eq!(!is_refused, scopes.contains(&scope), "{scope}: {method} {path}: {reply:?}");
        }
    }
    // An asker's own report settles the question, but is no person's answer.
    let id = site.put("2");
    let settled = site.send(&site.ask, "POST", &format!("/questions/{id}/answer"), sqlite());
    assert_eq!((settled.status, &settled.body["state"]), (200, &json!("settled")));
    assert_eq!((&settled.body["settled"]["by"], &settled.body["resolution"]), (&json!("ci"), &Value::Null));
    for (path, token) in [("/log", &site.answer), ("/questions?state=ended", &site.answer)] {
        let page = site.send(token, "GET", path, Value::Null).body;
        let shown = page["questions"].as_array().unwrap().iter().find(|question| question["id"] == json!(id)).unwrap();
        assert_eq!((&shown["state"], &shown["resolution"]), (&json!("settled"), &Value::Null), "{path}");
    }
}

/// Tests that an asker sees, ends and waits for its own questions, and finds none of another token.
#[test]
fn an_ask_token_has_its_own_questions_and_no_other() {
    let site = Site::new();
    let other = site.send(&site.admin, "POST", "/tokens", json!({"name": "cd", "scope": "ask"}));
    let other = other.body["token"].as_str().unwrap();
    let id = site.put("1");
    for (method, path) in [
        ("GET", format!("/questions/{id}")),
        ("POST", format!("/questions/{id}/answer")),
        ("POST", format!("/questions/{id}/withdraw")),
        ("POST", format!("/questions/{id}/attach")),
        ("POST", format!("/questions/{id}/claim")),
    ] {
        let body = match path.rsplit('/').next() {
            _ if method == "GET" => Value::Null,
            Some("answer") => sqlite(),
            _ => json!({}),
        };
        let reply = site.send(other, method, &path, body);
        assert_eq!((reply.status, reply.code()), (403, "forbidden"), "{path}");
    }
    let mine = |token: &str, path: &str| site.send(token, "GET", path, Value::Null).body;
    assert_eq!(mine(other, "/questions")["questions"], json!([]));
    assert_eq!(mine(other, "/events?after=0")["events"], json!([]));
    assert_eq!(mine(&site.ask, "/questions")["questions"][0]["id"], json!(id));
    assert_eq!(mine(&site.ask, "/events?after=0")["events"][0]["id"], json!(id));
    // A request that claims to be another asker's still belongs to its own token.
    let request = wait(site.store.get(&Principal::person("", askuser::Via::Policy), &which(&id))).unwrap().request;
    let forged = site.send(other, "POST", "/questions", json!({"request": *request}));
    assert_eq!(
        (forged.status, &forged.body["origin"]["credential"]),
        (201, &json!("cd")),
        "its own, under its own key"
    );
    // A renewed token keeps the questions of its name.
    let renewed = site.send(&site.admin, "POST", "/tokens", json!({"name": "ci", "scope": "ask"}));
    let renewed = renewed.body["token"].as_str().unwrap();
    assert_eq!(mine(renewed, "/questions")["questions"][0]["id"], json!(id));
    assert_eq!(site.send(&site.admin, "POST", "/tokens", json!({"name": "ci", "scope": "answer"})).status, 403);
}

#[test]
fn a_lease_is_renewed_and_ended_by_its_own_token_alone() {
    let site = Site::new();
    let other = site.send(&site.admin, "POST", "/tokens", json!({"name": "cd", "scope": "ask"}));
    let other = other.body["token"].as_str().unwrap();
    let put = site.send(&site.ask, "POST", "/questions", json!({"input": input("Which database?")})).body;
    let lease = put["lease"].as_str().unwrap();
    let gone = |token: &str| site.send(token, "POST", "/leases", json!({"renew": [lease]})).body["gone"].clone();
    let end = |token: &str| site.send(token, "DELETE", &format!("/leases/{lease}"), Value::Null).status;
    assert_eq!((gone(other), gone(&site.answer)), (json!([lease]), json!([lease])));
    assert_eq!((end(other), gone(&site.ask)), (200, json!([])), "it is not the other's to end");
    assert_eq!((end(&site.ask), gone(&site.ask)), (200, json!([lease])));
}

fn which(id: &str) -> askuser::store::QuestionRef {
    askuser::store::QuestionRef::Id(askuser::store::QuestionId::parse(id).unwrap())
}

/// yuga-hashimoto/and-code#92: a wrong route answered 200 with a page, and a client believed it.
#[test]
fn unknown_paths_of_the_api_are_404_and_json() {
    let site = Site::new();
    for path in ["", "/", "/question", "/questions/", "/questions/x/y/z", "/%2e%2e/", "/questions/zzz", "/Questions"] {
        let reply = site.client().token(&site.answer).raw("GET", &format!("/api/v1{path}"), Value::Null);
        assert_eq!((reply.status, reply.code()), (404, "not_found"), "{path}");
        assert_eq!(reply.headers["content-type"], "application/json", "{path}");
    }
    for (method, path) in [("DELETE", "/questions"), ("PUT", "/log"), ("POST", "/me"), ("PATCH", "/questions")] {
        let reply = site.send(&site.answer, method, path, json!({}));
        assert_eq!((reply.status, reply.code()), (405, "method_not_allowed"), "{method} {path}");
    }
}

/// activepieces #14024, n8n #2540: any program that opened a link decided the question.
#[test]
fn no_get_decides_or_changes_anything() {
    let site = Site::new();
    let id = site.put("1");
    for how in ["answer", "decline", "discuss", "withdraw", "hold", "claim", "delivered", "attach"] {
        for path in [format!("/questions/{id}/{how}"), format!("/questions/{id}/{how}?status=answered")] {
            assert_eq!(site.send(&site.answer, "GET", &path, Value::Null).status, 405, "{path}");
        }
    }
    assert_eq!(site.client().raw("GET", "/api/v1/pair", Value::Null).status, 415);
    let pending = wait(site.store.count(&Principal::person("ada", askuser::Via::Web), &Filter::pending())).unwrap();
    assert_eq!(pending, 1);
}

/// Vercel VULN-6698: an approval was replayed, because the client stated what was asked.
#[test]
fn an_answer_is_checked_against_the_stored_question() {
    let site = Site::new();
    let id = site.put("1");
    for body in [
        json!({"answers": [{"question": "May I?", "selectedOptions": ["Yes"]}]}),
        json!({"questions": [{"question": "May I?"}], "answers": [{"selectedOptions": ["Allow once"]}]}),
        json!({"answers": []}),
        json!({"status": "approved"}),
        json!([1]),
    ] {
        let reply = site.send(&site.answer, "POST", &format!("/questions/{id}/answer"), body.clone());
        assert_eq!((reply.status, reply.code()), (422, "invalid"), "{body}");
    }
    let unchosen = json!({"answers": [{"selectedOptions": ["SQLite"], "typed": "half a sen"}]});
    let reply = site.send(&site.answer, "POST", &format!("/questions/{id}/answer"), unchosen);
    assert_eq!(reply.body["error"]["violations"][0]["path"], json!("answers[0].typed"), "{reply:?}");
    let client = site.client().token(&site.answer).header("Idempotency-Key", &"x".repeat(257));
    let reply = client.send("POST", &format!("/questions/{id}/answer"), sqlite());
    assert_eq!((reply.status, reply.code()), (400, "bad_request"), "a key of 257 bytes");
}

/// CVE-2026-22812 (opencode), CVE-2025-49596 (MCP Inspector), HAPI, Jupyter, opencode: no token, a token that was not
/// compared, or a token in the query.
#[test]
fn every_request_needs_a_token_that_counts_on_loopback_too() {
    let site = Site::new();
    let id = site.ask.split('_').nth(1).unwrap();
    let wrong_end = format!("{}0", &site.ask[..site.ask.len() - 1]);
    let wrong_end = if wrong_end == site.ask { format!("{}1", &site.ask[..site.ask.len() - 1]) } else { wrong_end };
    let short = &site.ask[..site.ask.len() - 1];
    let digest = wait(site.store.credential(id)).unwrap().unwrap().made.digest;
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let of_digest = format!("au_{id}_{digest}");
    let upper = site.ask.to_uppercase();
    for token in ["x", "", "au_", &format!("au_{id}_"), &wrong_end, short, &of_digest, &upper] {
        let reply = site.send(token, "GET", "/me", Value::Null);
        assert_eq!((reply.status, reply.code()), (401, "unauthorized"), "{token}");
        assert_eq!(reply.headers["www-authenticate"], "Bearer");
    }
    assert_eq!(site.client().send("GET", "/me", Value::Null).status, 401, "none");
    let query = format!("/me?token={0}&auth_token={0}&access_token={0}", site.ask);
    assert_eq!(site.client().send("GET", &query, Value::Null).status, 401, "none in a query");
    assert_eq!(site.send(&site.ask, "GET", "/me", Value::Null).status, 200);
    let failed = wait(site.store.failed_credentials()).unwrap().unwrap();
    assert_eq!((failed.count, &*failed.address), (10, "127.0.0.1"), "and they are counted");
}

/// vibetunnel#472, omp-session-gateway#99: headers of a proxy were trusted.
#[test]
fn headers_of_a_proxy_authorise_nothing_and_give_no_other_name() {
    let site = Site::new();
    for (name, value) in [
        ("Tailscale-User-Login", "ada@example.org"),
        ("X-Forwarded-User", "ada"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("Remote-User", "root"),
        ("Cookie", "token=1"),
    ] {
        let reply = site.client().header(name, value).send("GET", "/me", Value::Null);
        assert_eq!(reply.status, 401, "{name}");
    }
    let client = site.client().token(&site.answer).header("Host", "evil.example");
    let reply = client.header("X-Forwarded-Host", &site.server.address.to_string()).send("GET", "/me", Value::Null);
    assert_eq!((reply.status, reply.code()), (403, "host"));
}

#[test]
fn what_the_gate_refuses_does_not_reach_the_store() {
    let site = Site::new();
    let id = site.put("1");
    let path = format!("/questions/{id}/answer");
    let client = || site.client().token(&site.answer);
    let refused: [(&str, Client, u16); 7] = [
        ("another name", client().header("Host", "localhost:1"), 403),
        ("another origin", client().header("Origin", "http://127.0.0.1:1"), 403),
        ("another site", client().header("Sec-Fetch-Site", "cross-site"), 403),
        ("same site, other port", client().header("Sec-Fetch-Site", "same-site"), 403),
        ("a form", client().header("Content-Type", "text/plain"), 415),
        ("no mark", client().without("X-Askuser"), 400),
        ("no token", client().without("Authorization"), 401),
    ];
    for (what, client, status) in refused {
        assert_eq!(client.send("POST", &path, sqlite()).status, status, "{what}");
    }
    let nowhere = client().header("X-Askuser-Via", "telepathy").send("POST", &path, sqlite());
    assert_eq!((nowhere.status, nowhere.code()), (400, "bad_request"), "an unknown surface");
    let still = site.send(&site.answer, "GET", &format!("/questions/{id}"), Value::Null);
    assert_eq!(still.body["state"], json!("pending"));
    let own = client().header("Origin", &site.server.url()).header("Sec-Fetch-Site", "same-origin");
    assert_eq!(own.send("POST", &path, sqlite()).status, 200);
}

/// CVE-2025-52882 (Claude Code IDE), CVE-2026-25253 (OpenClaw): WebSockets were open to any origin.
/// GHSA-935v-rmg9-44mw: clickjacking.
#[test]
fn there_is_no_cors_no_websocket_and_no_frame() {
    let site = Site::new();
    let upgrade =
        site.client().token(&site.answer).header("Upgrade", "websocket").header("Sec-WebSocket-Version", "13");
    let reply = upgrade.raw("GET", "/api/v1/events", Value::Null);
    assert_ne!(reply.status, 101);
    let preflight = site
        .client()
        .without("X-Askuser")
        .header("Origin", "http://evil.example")
        .header("Access-Control-Request-Method", "POST")
        .raw("OPTIONS", "/api/v1/questions", Value::Null);
    let page = site.client().raw("GET", "/", Value::Null);
    let missing = site.client().raw("GET", "/assets/none.js", Value::Null);
    let api = site.send(&site.answer, "GET", "/questions", Value::Null);
    assert_eq!((preflight.status, page.status, missing.status, api.status), (403, 200, 404, 200));
    for reply in [&preflight, &page, &missing, &api] {
        assert!(!reply.headers.keys().any(|name| name.starts_with("access-control")), "{reply:?}");
        assert!(!reply.headers.contains_key("set-cookie"), "{reply:?}");
        assert_eq!(reply.headers["referrer-policy"], "no-referrer");
        assert_eq!(reply.headers["x-content-type-options"], "nosniff");
        assert_eq!(reply.headers["cross-origin-resource-policy"], "same-origin");
        assert_eq!(reply.headers["cache-control"], "no-store");
    }
    let csp = &page.headers["content-security-policy"];
    assert!(csp.starts_with("default-src 'none'") && csp.contains("frame-ancestors 'none'"), "{csp}");
    assert!(!csp.contains("unsafe"), "{csp}");
}

#[test]
fn a_list_that_has_not_changed_is_not_sent_again() {
    let site = Site::new();
    let id = site.put("1");
    let list = |etag: &str| {
        site.client().token(&site.answer).header("If-None-Match", etag).send("GET", "/questions", Value::Null)
    };
    let first = list("\"none\"");
    let etag = &first.headers["etag"];
    let same = list(etag);
    assert_eq!((same.status, &same.headers["etag"]), (304, etag));
    site.send(&site.answer, "POST", &format!("/questions/{id}/answer"), sqlite());
    assert_eq!(list(etag).status, 200);
    for wrong in ["/questions?state=x", "/questions?limit=x", "/questions?cursor=-1", "/questions?order=x"] {
        assert_eq!(site.send(&site.answer, "GET", wrong, Value::Null).status, 400, "{wrong}");
    }
}

#[test]
fn a_request_that_waits_gets_the_end_when_it_comes_and_counts_as_waiting() {
    let site = Site::new();
    let id = site.put("1");
    let path = format!("/questions/{id}");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| site.send(&site.ask, "GET", &format!("{path}?wait=60"), Value::Null));
        askuser_conformance::until("it counts as waiting", || {
            site.send(&site.answer, "GET", &path, Value::Null).body["asker"]["waits"] == json!(true)
        });
        site.send(&site.answer, "POST", &format!("{path}/answer"), sqlite());
        assert_eq!(waiting.join().unwrap().body["state"], json!("answered"));
    });
    assert_eq!(site.send(&site.ask, "GET", &format!("{path}?wait=60"), Value::Null).body["state"], json!("answered"));
}

#[test]
fn drafts_follow_their_person_to_the_next_device() {
    let site = Site::new();
    let path = format!("/questions/{}/draft", site.put("1"));
    let draft = json!({"answers": [{"question": "Which database?", "header": "Database", "selectedOptions": [],
        "typed": "half a sen"}], "discuss": "first"});
    assert_eq!(site.send(&site.answer, "PUT", &path, draft.clone()).status, 200);
    let tablet =
        site.send(&site.admin, "POST", "/tokens", json!({"name": "tablet", "scope": "answer", "person": "ada"}));
    let found = site.send(tablet.body["token"].as_str().unwrap(), "GET", &path, Value::Null);
    let found = &found.body["drafts"][0];
    assert_eq!(found["place"], "phone");
    let version = &found["version"];
    assert_eq!(version, &json!({"writer": "phone", "edit": 0}));
    assert_eq!((&found["answers"], &found["discuss"]), (&draft["answers"], &draft["discuss"]));
    // The tablet has not seen the phone's later draft.
    let later = json!({"answers": [], "discuss": "later", "version": {"writer": "phone", "edit": 1}});
    assert_eq!(site.send(&site.answer, "PUT", &path, later).status, 200);
    let typed =
        json!({"answers": [], "discuss": "tablet", "version": {"writer": "t", "edit": 1}, "replaces": [version]});
    let beside = site.send(tablet.body["token"].as_str().unwrap(), "PUT", &path, typed).body;
    assert_eq!((&beside["drafts"][0]["discuss"], &beside["drafts"][0]["place"]), (&json!("later"), &json!("phone")));
    let both = site.send(&site.answer, "GET", &path, Value::Null).body;
    assert_eq!((&both["drafts"][0]["discuss"], &both["drafts"][1]), (&json!("tablet"), &beside["drafts"][0]));
    assert_eq!(site.send(&site.answer, "PUT", &path, json!({"answers": 1})).status, 422);
    let long = json!({"answers": [], "version": {"writer": "x".repeat(65), "edit": 1}});
    let refused = site.send(&site.answer, "PUT", &path, long).body["error"]["violations"][0].clone();
    assert_eq!(refused, json!({"path": "version.writer", "fact": "65 characters", "limit": "at most 64"}));
}

#[test]
fn what_is_too_large_or_no_json_is_refused() {
    let site = Site::new();
    let large = site.send(&site.ask, "POST", "/questions", json!({"input": "x".repeat(5 * 1024 * 1024)}));
    assert_eq!((large.status, large.code()), (413, "too_large"));
    let client = site.client().token(&site.ask).header("Content-Type", "application/json");
    let mut stream = client.open("POST", "/api/v1/questions", "{\"input\": ");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 400"), "{text}");
}

#[test]
fn the_document_is_served_and_lists_every_route() {
    let site = Site::new();
    let reply = site.send(&site.ask, "GET", "/openapi.json", Value::Null);
    assert_eq!((reply.status, &reply.body["openapi"]), (200, &json!("3.1.0")));
}

#[test]
fn an_administrator_and_no_other_removes_what_ended_before_a_time_that_is_past() {
    let site = Site::new();
    let id = site.put("1");
    let waits = site.put("2");
    let answered = site.send(&site.answer, "POST", &format!("/questions/{id}/answer"), sqlite());
    let later = answered.body["ended_ms"].as_u64().unwrap() + 1;
    std::thread::sleep(Duration::from_millis(5));
    for token in [&site.ask, &site.answer] {
        assert_eq!(site.send(token, "DELETE", &format!("/log?before={later}"), Value::Null).status, 403);
    }
    for (query, status) in [("", 400), ("?before=soon", 400), ("?before=99999999999999", 422)] {
        assert_eq!(site.send(&site.admin, "DELETE", &format!("/log{query}"), Value::Null).status, status, "{query}");
    }
    assert_eq!(site.send(&site.answer, "GET", &format!("/questions/{id}"), Value::Null).status, 200, "still there");
    let purged = site.send(&site.admin, "DELETE", &format!("/log?before={later}"), Value::Null);
    assert_eq!((purged.status, purged.body), (200, json!({"purged": 1, "remains": null})));
    assert_eq!(site.send(&site.answer, "GET", &format!("/questions/{id}"), Value::Null).status, 404);
    assert_eq!(site.send(&site.answer, "GET", &format!("/questions/{waits}"), Value::Null).status, 200);
}
