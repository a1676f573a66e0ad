//! What a person types.

use crate::support::{Home, choice, store_at};
use askuser::Via;
use askuser::store::{Attempt, Filter, Handle, Principal};
use serde_json::Value;
use std::process::{Output, Stdio};
use std::sync::Arc;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[track_caller]
fn fails(output: &Output, code: i32, words: &str) {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(text(&output.stderr).contains(words), "{output:?}");
}

#[test]
fn the_link_lets_one_browser_in_and_the_device_is_listed_and_revoked() {
    let home = Home::new();
    let server = home.serve("127.0.0.1:0");
    let pair = || {
        let body = format!("{{\"code\": \"{}\", \"name\": \"Pixel\"}}", server.code);
        server.send("POST", "/api/v1/pair", None, &body)
    };
    let paired = pair();
    assert!(paired.starts_with("HTTP/1.1 200"), "{paired}");
    let body: Value = serde_json::from_str(paired.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let token = body["token"].as_str().unwrap();
    assert!(pair().starts_with("HTTP/1.1 410"), "once");
    assert!(server.send("GET", "/api/v1/questions", Some(token), "").starts_with("HTTP/1.1 200"));
    let devices = home.run(&["devices"]);
    assert!(text(&devices.stdout).starts_with("Pixel  answer  used "), "{devices:?}");
    assert!(text(&devices.stdout).contains("from 127.0.0.1"), "{devices:?}");
    assert_eq!(text(&home.run(&["token", "list"]).stdout), "", "a device is no token");
    fails(&home.run(&["token", "revoke", "Pixel"]), 2, "there is no token");
    assert_eq!(text(&home.run(&["devices", "revoke", "Pixel"]).stdout), "revoked Pixel\n");
    assert!(server.send("GET", "/api/v1/questions", Some(token), "").starts_with("HTTP/1.1 401"));
    assert_eq!(text(&home.run(&["devices"]).stdout), "");
    let doctor = home.run(&["doctor"]);
    assert!(text(&doctor.stdout).contains("2 credentials did not count"), "{}", text(&doctor.stdout));
}

#[test]
fn a_token_is_printed_alone_and_once_and_has_one_scope() {
    let home = Home::new();
    let made = home.run(&["token", "new", "ci", "--ask"]);
    let token = text(&made.stdout);
    assert!(token.starts_with("au_") && token.trim_end().len() == 80 && token.lines().count() == 1, "{made:?}");
    assert_eq!(text(&made.stderr), "");
    let list = home.run(&["token", "list"]);
    assert!(text(&list.stdout).starts_with("ci  ask  made "), "{list:?}");
    fails(&home.run(&["token", "new", "ci", "--answer"]), 2, "ci is the name of a credential with the scope ask");
    fails(&home.run(&["token", "new", "both", "--ask", "--answer"]), 2, "cannot be used together");
    fails(&home.run(&["token", "new", "none"]), 2, "--ask");
    for words in [&["token", "new", "x", "--answer"][..], &["pair", "ABCD-EFGH"], &["serve"]] {
        let by_agent = home.command(words).env("ASKUSER_STARTED_BY_AGENT", "1").output().unwrap();
        fails(&by_agent, 2, "an agent started this command");
    }
    fails(&home.run(&["pair", "ABCD-EFGH"]), 2, "no browser shows this code");
}

#[test]
fn beyond_this_machine_it_serves_only_with_a_credential_and_says_what_is_not_encrypted() {
    let home = Home::new();
    fails(&home.run(&["serve", "--listen", "0.0.0.0:0"]), 2, "no device is paired yet");
    fails(&home.run(&["serve", "--public-url", "ask.example.org"]), 2, "must be https://HOST");
    fails(&home.run(&["serve", "--tls", "none.pem", "none.key"]), 2, "none.pem");
    home.token("ci", "--ask");
    let mut child = home
        .command(&["serve", "--listen", "0.0.0.0:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    let said = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("not encrypted")));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said.is_some());
}

#[test]
#[cfg(unix)]
fn our_commands_work_at_an_address_as_on_a_file() {
    let home = Home::new();
    let (ask, answer) = (home.token("ci", "--ask"), home.token("laptop", "--answer"));
    let server = home.serve("127.0.0.1:0");
    let at_address = |token: &str, words: &[&str]| {
        let mut command = home.command(words);
        command.env("ASKUSER_STORE", server.url()).env("ASKUSER_TOKEN", token);
        command
    };
    let question =
        ["ask", "-q", "Which one?", "-H", "Pick", "-o", "A: The first", "-o", "B: The second", "--via", "inbox"];
    let asking = at_address(&ask, &question).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let person = Handle::new(Arc::new(store_at(&server.url(), &answer)), Principal::person("ada", Via::Inbox));
    let mut id = None;
    askuser_conformance::until("it is asked", || {
        id = pollster::block_on(person.list(&Filter::pending())).unwrap().questions.first().map(|q| q.id.to_string());
        id.is_some()
    });
    let id = id.unwrap();
    let listed = at_address(&answer, &["inbox", "--json"]).output().unwrap();
    assert!(text(&listed.stdout).contains(&id), "{listed:?}");
    // With the asker's own token it is the asker's word.
    let settled = at_address(&ask, &["answer", &id, "--select", "Pick=A"]).output().unwrap();
    assert!(settled.status.success(), "{settled:?}");
    let asked = asking.wait_with_output().unwrap();
    let late = at_address(&answer, &["answer", &id, "--select", "Pick=B"]).output().unwrap();
    fails(&late, 4, "was settled by the asker (ci)");
    let result: Value = serde_json::from_slice(&asked.stdout).unwrap_or_else(|_| panic!("{asked:?}"));
    assert_eq!(result["answers"][0]["selectedOptions"], serde_json::json!(["A"]));
    let log = at_address(&answer, &["log"]).output().unwrap();
    assert!(
        text(&log.stdout).contains("→ settled (the asker, ci"),
        "an asker's word is no person's: {}",
        text(&log.stdout)
    );
    // And one that a person answers.
    let asking = at_address(&ask, &question).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut waiting = None;
    askuser_conformance::until("it is asked", || {
        waiting = pollster::block_on(person.list(&Filter::pending())).unwrap().questions.pop();
        waiting.is_some()
    });
    pollster::block_on(person.answer(&waiting.unwrap().id, choice(), &Attempt::new("1"))).unwrap();
    let asked = asking.wait_with_output().unwrap();
    let result: Value = serde_json::from_slice(&asked.stdout).unwrap_or_else(|_| panic!("{asked:?}"));
    assert_eq!((&result["by"], asked.status.code()), (&serde_json::json!("ada"), Some(0)));
    assert!(server.terminate().success(), "it ends when it is told to");
}

#[test]
fn an_mcp_client_asks_at_the_same_address_with_a_token_that_asks() {
    let home = Home::new();
    let (ask, answer) = (home.token("ci", "--ask"), home.token("laptop", "--answer"));
    let server = home.serve("127.0.0.1:0");
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},
        "clientInfo":{"name":"a client","version":"1"}}}"#;
    assert!(
        server.send("POST", "/mcp", Some(&answer), initialize).starts_with("HTTP/1.1 403"),
        "who answers cannot ask"
    );
    assert!(server.send("POST", "/mcp", None, initialize).starts_with("HTTP/1.1 401"));
    let hello = server.send("POST", "/mcp", Some(&ask), initialize);
    assert!(hello.starts_with("HTTP/1.1 200") && hello.contains("serverInfo"), "{hello}");
    let session = hello.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
    let in_session =
        |body: &str| server.send_with(&format!("Mcp-Session-Id: {session}\r\n"), "POST", "/mcp", Some(&ask), body);
    in_session(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"AskUserQuestion","arguments":{"questions":[
        {"question":"Which one?","header":"Pick","multiSelect":false,"options":[{"label":"A","description":"The first"},
        {"label":"B","description":"The second"}]}]}}}"#;
    std::thread::scope(|scope| {
        let called = scope.spawn(|| in_session(call));
        let mut waiting = Value::Null;
        askuser_conformance::until("it is asked", || {
            let listed = home.run(&["inbox", "--json"]);
            waiting = serde_json::from_slice(&listed.stdout).unwrap_or_default();
            waiting.is_object()
        });
        assert_eq!((&waiting["origin"]["credential"], &waiting["origin"]["agent"]), (&"ci".into(), &"a client".into()));
        assert!(home.run(&["answer", waiting["id"].as_str().unwrap(), "--select", "Pick=B"]).status.success());
        let reply = called.join().unwrap();
        assert!(reply.contains("Selected: B"), "{reply}");
    });
}

#[test]
fn a_store_at_an_address_needs_a_token_that_is_private_and_an_address_that_is_safe() {
    let home = Home::new();
    let ask = home.token("ci", "--ask");
    let detach = |store: &str| {
        let words = ["ask", "-q", "Which?", "-H", "Pick", "-o", "A: a", "-o", "B: b", "--via", "inbox", "--detach"];
        let mut command = home.command(&words);
        command.env("ASKUSER_STORE", store);
        command
    };
    fails(&detach("http://127.0.0.1:1").output().unwrap(), 2, "needs a token");
    for unsafe_address in ["http://ask.example.org", "http://192.168.1.5:7420", "ftp://127.0.0.1"] {
        fails(&detach(unsafe_address).env("ASKUSER_TOKEN", &ask).output().unwrap(), 2, "must be https");
    }
    let server = home.serve("127.0.0.1:0");
    let file = home.folder.path().join("token");
    std::fs::write(&file, format!("{ask}\n")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        fails(&detach(&server.url()).env("ASKUSER_TOKEN_FILE", &file).output().unwrap(), 2, "must not be readable");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let detached = detach(&server.url()).env("ASKUSER_TOKEN_FILE", &file).output().unwrap();
    assert_eq!(detached.status.code(), Some(75), "{detached:?}");
    // A server that is away is waited for, but not for ever by a caller that does not wait for the answer.
    let url = server.url();
    drop(server);
    fails(&detach(&url).env("ASKUSER_TOKEN", &ask).output().unwrap(), 3, "cannot reach");
}

#[test]
fn a_person_is_told_that_a_server_is_away_and_not_kept_waiting() {
    let home = Home::new();
    let token = home.token("me", "--answer");
    let mut server = home.serve("127.0.0.1:0");
    server.kill();
    for words in [&["inbox", "--count"][..], &["log"], &["answer", "0123456789ab", "--decline"], &["withdraw", "3f2a"]]
    {
        let mut command = home.command(words);
        let output = command.env("ASKUSER_STORE", server.url()).env("ASKUSER_TOKEN", &token).output().unwrap();
        fails(&output, 2, "cannot reach http://127.0.0.1");
    }
}
