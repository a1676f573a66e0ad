//! Tests the commands that a person types.

use crate::support::{Home, Served, choice, store_at};
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
    assert!(text(&devices.stdout).starts_with("Pixel  answer as ada  used "), "{devices:?}");
    assert!(text(&devices.stdout).contains("from 127.0.0.1"), "{devices:?}");
    assert_eq!(text(&home.run(&["token", "list"]).stdout), "", "a device is no token");
    fails(&home.run(&["token", "revoke", "Pixel"]), 2, "there is no token");
    assert_eq!(text(&home.run(&["devices", "revoke", "Pixel"]).stdout), "revoked Pixel\n");
    assert!(server.send("GET", "/api/v1/questions", Some(token), "").starts_with("HTTP/1.1 401"));
    let none = home.run(&["devices"]);
    assert_eq!((text(&none.stdout), text(&none.stderr)), ("", "askuser: no device is paired\n"));
    let doctor = home.run(&["doctor"]);
    for words in ["✔ inbox", "✘ credentials   2 did not count", "fix: if that is a device or an agent of yours"] {
        assert!(text(&doctor.stdout).contains(words), "{words}: {}", text(&doctor.stdout));
    }
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
    let ask = home.token("ci", "--ask");
    let answer = home.token("laptop", "--answer");
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
    // An answer with the asker's own token counts as the asker's.
    let settled = at_address(&ask, &["answer", &id, "--select", "Pick=A"]).output().unwrap();
    assert!(settled.status.success(), "{settled:?}");
    let asked = asking.wait_with_output().unwrap();
    let late = at_address(&answer, &["answer", &id, "--select", "Pick=B"]).output().unwrap();
    fails(&late, 4, "was settled by the asker (ci)");
    let result: Value = serde_json::from_slice(&asked.stdout).unwrap_or_else(|_| panic!("{asked:?}"));
    assert_eq!(result["answers"][0]["selectedOptions"], serde_json::json!(["A"]));
    assert_eq!(result["reported_by"], "ci");
    let log = at_address(&answer, &["log"]).output().unwrap();
    assert!(
        text(&log.stdout).contains("→ settled (the asker, ci"),
        "an asker's word is no person's: {}",
        text(&log.stdout)
    );
    // A second question is answered by a person.
    let asking = at_address(&ask, &question).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut waiting = None;
    askuser_conformance::until("it is asked", || {
        waiting = pollster::block_on(person.list(&Filter::pending())).unwrap().questions.pop();
        waiting.is_some()
    });
    pollster::block_on(person.answer(&waiting.unwrap().id, choice(), &Attempt::new("1"))).unwrap();
    let asked = asking.wait_with_output().unwrap();
    let result: Value = serde_json::from_slice(&asked.stdout).unwrap_or_else(|_| panic!("{asked:?}"));
    assert_eq!((&result["by"], asked.status.code()), (&serde_json::json!("laptop"), Some(0)));
    assert!(server.terminate().success(), "it ends when it is told to");
}

#[test]
#[cfg(unix)]
fn a_paired_machines_terminal_answers_with_its_device_which_goes_to_no_other_server() {
    let home = Home::new();
    let ask = home.token("ci", "--ask");
    let device = home.token("laptop", "--answer");
    let server = home.serve("127.0.0.1:0");
    let other = home.serve("127.0.0.1:0");
    token_file(&home, &server.url(), &device);
    // The first answer is at the machine's own terminal with the user's settings. For the second, only the environment
    // names the server.
    let last = answered_at_the_terminal(&home, &[("ASKUSER_TOKEN", &ask)]);
    assert!(last.contains("answered: Pick: A (laptop from terminal"), "{last}");
    let last = answered_at_the_terminal(&home, &[("ASKUSER_TOKEN", &ask), ("ASKUSER_STORE", &other.url())]);
    assert!(last.contains("(the asker, ci"), "{last}");
}

#[test]
#[cfg(unix)]
fn a_token_file_of_the_environment_is_no_device() {
    let home = Home::new();
    let ask = home.token("ci", "--ask");
    let device = home.token("laptop", "--answer");
    let server = home.serve("127.0.0.1:0");
    token_file(&home, &server.url(), &device);
    let file = home.folder.path().join("device").display().to_string();
    let both = [("ASKUSER_TOKEN", &*ask), ("ASKUSER_STORE", &server.url()), ("ASKUSER_TOKEN_FILE", &file)];
    let last = answered_at_the_terminal(&home, &both);
    assert!(last.contains("(the asker, ci"), "{last}");
}

/// Asks at a terminal with these variables, answers there, and returns the last line of the log.
#[cfg(unix)]
fn answered_at_the_terminal(home: &Home, variables: &[(&str, &str)]) -> String {
    use std::io::{Read, Write};
    let folder = home.folder.path();
    let pty = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).unwrap();
    let mut command = portable_pty::CommandBuilder::new(env!("CARGO_BIN_EXE_askuser"));
    command.args(["ask", "-q", "Which one?", "-H", "Pick", "-o", "A: The first", "-o", "B: The second"]);
    command.args(["--via", "terminal,inbox", "--key-delay", "0ms"]);
    command.env_clear();
    for (name, value) in
        [("HOME", folder.to_str().unwrap()), ("USER", "ada"), ("TERM", "xterm")].iter().chain(variables)
    {
        command.env(name, value);
    }
    command.cwd(folder);
    let mut asking = pty.slave.spawn_command(command).unwrap();
    drop(pty.slave);
    let mut screen = pty.master.try_clone_reader().unwrap();
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&seen).contains("The second") {
        let count = screen.read(&mut buffer).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend(&buffer[..count]);
    }
    pty.master.take_writer().unwrap().write_all(b"1").unwrap();
    std::thread::spawn(move || while screen.read(&mut buffer).is_ok_and(|count| count > 0) {});
    assert!(asking.wait().unwrap().success());
    text(&home.run(&["log"]).stdout).lines().next().unwrap().to_owned()
}

/// Writes the user's settings, which name a server and the file with its token.
#[cfg(unix)]
fn token_file(home: &Home, store: &str, token: &str) {
    use std::os::unix::fs::PermissionsExt;
    let file = home.folder.path().join("device");
    let settings = home.folder.path().join(".config/askuser");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(&file, token).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(settings.join("askuser.toml"), format!("store = {store:?}\ntoken_file = {file:?}\n")).unwrap();
}

#[test]
#[cfg(unix)]
fn a_token_file_is_sent_only_to_its_own_server() {
    let home = Home::new();
    let answer = home.token("laptop", "--answer");
    let server = home.serve("127.0.0.1:0");
    token_file(&home, &server.url(), &answer);
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    stranger.set_nonblocking(true).unwrap();
    let url = format!("http://{}", stranger.local_addr().unwrap());
    let inbox = |words: &[&str], variable: Option<&str>, file: Option<&str>| {
        let mut command = home.command(&[&["inbox", "--count"], words].concat());
        command.env_remove("ASKUSER_STORE");
        command.envs(variable.map(|url| ("ASKUSER_STORE", url)));
        command.envs(file.map(|file| ("ASKUSER_TOKEN_FILE", file)));
        command.output().unwrap()
    };
    let file = home.folder.path().join("device").display().to_string();
    for refused in [
        inbox(&[], Some(&url), None),
        inbox(&["--store", &url], None, None),
        inbox(&["--store", &url], None, Some(&file)),
        inbox(&["--store", &url], Some(&server.url()), Some(&file)),
    ] {
        fails(&refused, 2, &format!("{} alone, and is not sent to {url}", server.url()));
    }
    let none = stranger.accept().unwrap_err();
    assert_eq!(none.kind(), std::io::ErrorKind::WouldBlock, "it was not even connected to");
    for sent in [
        inbox(&[], None, None),
        inbox(&["--store", &format!("{}/", server.url())], None, None),
        inbox(&[], Some(&server.url()), Some(&file)),
        inbox(&["--store", &server.url(), "--token-file", &file], Some(&url), None),
    ] {
        assert_eq!(text(&sent.stdout), "0\n", "{sent:?}");
    }
    // A token file without a server in the same settings belongs to no server.
    std::fs::write(home.folder.path().join(".config/askuser/askuser.toml"), format!("token_file = {file:?}\n"))
        .unwrap();
    fails(&inbox(&[], Some(&server.url()), None), 2, "is for no server, and is not sent to");
}

/// An MCP client in a separate session.
struct McpClient<'a> {
    server: &'a Served,
    token: &'a str,
    session: String,
}

const QUESTION: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"AskUserQuestion","arguments":{"questions":[
        {"question":"Which one?","header":"Pick","multiSelect":false,"options":[{"label":"A","description":"The first"},
        {"label":"B","description":"The second"}]}]}}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},
        "clientInfo":{"name":"a client","version":"1"}}}"#;

impl<'a> McpClient<'a> {
    fn new(server: &'a Served, token: &'a str) -> McpClient<'a> {
        let hello = server.send("POST", "/mcp", Some(token), INITIALIZE);
        assert!(hello.starts_with("HTTP/1.1 200") && hello.contains("serverInfo"), "{hello}");
        let session = hello.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
        let client = McpClient { server, token, session: format!("Mcp-Session-Id: {session}\r\n") };
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    fn send(&self, body: &str) -> String {
        self.server.send_with(&self.session, "POST", "/mcp", Some(self.token), body)
    }

    /// Sends a request, and returns the stream of the response.
    fn open(&self, method: &str, body: &str) -> std::net::TcpStream {
        self.server.open(&self.session, method, "/mcp", Some(self.token), body)
    }
}

/// Waits until the only question fulfils a condition, and returns the question.
fn question_that(home: &Home, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut question = Value::Null;
    askuser_conformance::until(what, || {
        question = serde_json::from_slice(&home.run(&["log", "--json"]).stdout).unwrap_or_default();
        question.is_object() && is_so(&question)
    });
    question
}

#[test]
fn an_mcp_client_asks_at_the_same_address_with_a_token_that_asks() {
    let home = Home::new();
    let ask = home.token("ci", "--ask");
    let answer = home.token("laptop", "--answer");
    let server = home.serve("127.0.0.1:0");
    assert!(
        server.send("POST", "/mcp", Some(&answer), INITIALIZE).starts_with("HTTP/1.1 403"),
        "who answers cannot ask"
    );
    assert!(server.send("POST", "/mcp", None, INITIALIZE).starts_with("HTTP/1.1 401"));
    let client = McpClient::new(&server, &ask);
    std::thread::scope(|scope| {
        let called = scope.spawn(|| client.send(QUESTION));
        let waiting = question_that(&home, "it is asked", |_| true);
        assert_eq!((&waiting["origin"]["credential"], &waiting["origin"]["agent"]), (&"ci".into(), &"a client".into()));
        assert!(home.run(&["answer", waiting["id"].as_str().unwrap(), "--select", "Pick=B"]).status.success());
        let reply = called.join().unwrap();
        assert!(reply.contains("Selected: B"), "{reply}");
    });
    question_that(&home, "the client has it", |question| question["delivered_ms"].is_u64());
}

#[test]
fn an_answer_over_mcp_counts_as_delivered_only_to_a_client_that_still_reads() {
    let home = Home::new();
    let ask = home.token("ci", "--ask");
    let server = home.serve("127.0.0.1:0");
    let client = McpClient::new(&server, &ask);
    let call = client.open("POST", QUESTION);
    let id = question_that(&home, "it is asked", |_| true)["id"].as_str().unwrap().to_owned();
    drop(call);
    assert!(home.run(&["answer", &id, "--select", "Pick=B"]).status.success());
    // The unwanted event would have happened in this time.
    std::thread::sleep(std::time::Duration::from_secs(1));
    let answered = question_that(&home, "it is answered", |question| question["state"] == "answered");
    assert_eq!(answered["delivered_ms"], Value::Null, "nobody read it: {answered}");
    let again = client.send(QUESTION);
    assert!(again.contains("Selected: B"), "it is there when the same is asked again: {again}");
    let delivered = question_that(&home, "the client has it", |question| question["delivered_ms"].is_u64());
    assert_eq!(delivered["id"], id, "it is not asked twice");
}

#[test]
fn revoking_a_token_cuts_an_open_mcp_stream_at_once() {
    let home = Home::new();
    let (ask, other) = (home.token("ci", "--ask"), home.token("cd", "--ask"));
    let server = home.serve("127.0.0.1:0");
    let client = McpClient::new(&server, &ask);
    let kept = McpClient::new(&server, &other);
    let mut streams = [client.open("GET", ""), client.open("POST", QUESTION)];
    let mut others = kept.open("GET", "");
    question_that(&home, "it is asked", |_| true);
    assert!(home.run(&["token", "revoke", "ci"]).status.success());
    for stream in &mut streams {
        stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        let mut rest = String::new();
        std::io::Read::read_to_string(stream, &mut rest).expect("it ends");
        assert!(rest.starts_with("HTTP/1.1 200"), "{rest}");
    }
    assert!(client.send(QUESTION).starts_with("HTTP/1.1 401"));
    others.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
    let rest = std::io::Read::read_to_string(&mut others, &mut String::new());
    assert!(rest.is_err(), "that of another token stays open: {rest:?}");
}

#[test]
fn who_waits_at_a_server_that_goes_away_says_so_once_and_gets_the_answer_from_the_next() {
    let home = Home::new();
    let ask = home.token("ci", "--ask");
    let mut server = home.serve("127.0.0.1:0");
    let url = server.url();
    let listen = server.address.to_string();
    let words = ["ask", "-q", "Which one?", "-H", "Pick", "-o", "A: 1", "-o", "B: 2", "--via", "inbox"];
    let mut command = home.command(&words);
    command.env("ASKUSER_STORE", &url).env("ASKUSER_TOKEN", &ask);
    let mut asking = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    question_that(&home, "it is asked", |question| question["asker"]["waits"] == true);
    server.kill();
    let mut said = String::new();
    let mut stderr = std::io::BufReader::new(asking.stderr.take().unwrap());
    while !said.contains("cannot reach") {
        assert_ne!(std::io::BufRead::read_line(&mut stderr, &mut said).unwrap(), 0, "{said}");
    }
    std::thread::sleep(std::time::Duration::from_secs(2));
    let server = home.serve(&listen);
    let answer = home.token("phone", "--answer");
    let listed = server.send("GET", "/api/v1/questions", Some(&answer), "");
    assert!(
        listed.contains("\"asker\":{\"waits\":true}"),
        "an agent that had no time to come back is not gone: {listed}"
    );
    let id = question_that(&home, "it waits at the next server", |question| question["asker"]["waits"] == true)["id"]
        .clone();
    assert!(home.run(&["answer", id.as_str().unwrap(), "--select", "Pick=B"]).status.success());
    let asked = asking.wait_with_output().unwrap();
    assert!(asked.status.success() && text(&asked.stdout).contains("\"B\""), "{asked:?}");
    std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
    assert_eq!(said.matches("cannot reach").count(), 1, "{said}");
    assert!(said.contains("waiting for it"), "{said}");
}

#[test]
fn an_administrator_manages_tokens_and_devices_through_the_server() {
    let home = Home::new();
    let root = home.token("root", "--admin");
    let ask = home.token("ci", "--ask");
    let server = home.serve("127.0.0.1:0");
    let elsewhere = Home::new();
    let run = |token: &str, words: &[&str]| {
        elsewhere.command(words).env("ASKUSER_STORE", server.url()).env("ASKUSER_TOKEN", token).output().unwrap()
    };
    fails(&run(&ask, &["token", "list"]), 2, "a token with the scope ask cannot do this");
    let made = run(&root, &["token", "new", "build", "--ask"]);
    let token = text(&made.stdout).trim_end().to_owned();
    assert!(made.status.success() && token.starts_with("au_") && made.stderr.is_empty(), "{made:?}");
    assert!(server.send("GET", "/api/v1/questions", Some(&token), "").starts_with("HTTP/1.1 200"));
    let list = run(&root, &["token", "list"]);
    let names: Vec<&str> = text(&list.stdout).lines().map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(names, ["root", "ci", "build"]);
    fails(
        &run(&root, &["token", "new", "build", "--answer"]),
        2,
        "build is the name of a credential with the scope ask",
    );
    assert_eq!(text(&run(&root, &["token", "revoke", "build"]).stdout), "revoked build\n");
    assert!(server.send("GET", "/api/v1/questions", Some(&token), "").starts_with("HTTP/1.1 401"));
    let paired =
        server.send("POST", "/api/v1/pair", None, &format!("{{\"code\": \"{}\", \"name\": \"Pixel\"}}", server.code));
    assert!(paired.starts_with("HTTP/1.1 200"), "{paired}");
    assert!(text(&run(&root, &["devices"]).stdout).starts_with("Pixel  answer as ada  "));
    assert_eq!(text(&run(&root, &["devices", "revoke", "Pixel"]).stdout), "revoked Pixel\n");
    fails(&run(&root, &["devices", "revoke", "Pixel"]), 2, "there is no device");
    fails(&run(&root, &["pair", "ABCD-EFGH"]), 2, "no browser shows this code");
    let shown = server.send("POST", "/api/v1/pair/code", None, "{}");
    let shown: Value = serde_json::from_str(shown.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    // Without a terminal no person is asked, and no device is paired.
    let unasked = run(&root, &["pair", shown["code"].as_str().unwrap()]);
    fails(&unasked, 3, "only a person at a terminal lets a device in");
    assert!(!text(&unasked.stderr).contains("--yes"), "{unasked:?}");
}

#[test]
fn a_renewed_token_keeps_its_questions_and_the_one_before_does_not_count() {
    let home = Home::new();
    let first = home.token("ci", "--ask");
    let server = home.serve("127.0.0.1:0");
    let input = r#"{"input": {"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false, "options": [
        {"label": "A", "description": "1"}, {"label": "B", "description": "2"}]}]}}"#;
    assert!(server.send("POST", "/api/v1/questions", Some(&first), input).starts_with("HTTP/1.1 201"));
    let renewed = home.run(&["token", "new", "ci", "--ask"]);
    assert!(
        text(&renewed.stderr).contains("ci has a new token; the one before does not count any more"),
        "{renewed:?}"
    );
    assert!(server.send("GET", "/api/v1/me", Some(&first), "").starts_with("HTTP/1.1 401"));
    let second = text(&renewed.stdout).trim_end();
    let own = server.send("GET", "/api/v1/questions", Some(second), "");
    assert!(own.contains("\"Which?\""), "{own}");
    assert_eq!(text(&home.run(&["token", "list"]).stdout).lines().count(), 1);
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
    fails(&detach("ftp://x").output().unwrap(), 2, "ftp://x: the scheme ftp is not known");
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
    // An unreachable server is waited for. A caller that does not wait for the answer gives up after a time.
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

#[test]
fn the_server_calls_its_own_user_to_a_question_that_comes_over_http() {
    let home = Home::new();
    let ask = home.token("ci", "--ask");
    let server = home.serve_with(&["--listen", "127.0.0.1:0", "--on-question", "cat > called.json"]);
    let input = r#"{"input": {"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false, "options": [
        {"label": "A", "description": "1"}, {"label": "B", "description": "2"}]}]}}"#;
    assert!(server.send("POST", "/api/v1/questions", Some(&ask), input).starts_with("HTTP/1.1 201"));
    let mut called = Value::Null;
    askuser_conformance::until("somebody is called", || {
        let text = std::fs::read(home.folder.path().join("called.json")).unwrap_or_default();
        called = serde_json::from_slice(&text).unwrap_or_default();
        called.is_object()
    });
    assert!(called.to_string().contains("Which?"), "{called}");
}

#[test]
fn a_port_in_use_is_named_with_a_way_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = Home::new().run(&["serve", "--listen", &address]);
    let said = text(&ended.stderr);
    assert!(said.starts_with(&format!("askuser: cannot listen on {address}: ")), "{said}");
    assert!(said.ends_with("hint: `--listen 127.0.0.1:0` takes a free port\n"), "{said}");
}
