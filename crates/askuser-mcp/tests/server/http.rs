//! Tests of clients over HTTP: their messages, and the answers after they leave.

use crate::support::{Desk, PATIENCE, TOKEN, database, options, serve_http, server};
use askuser_mcp::HTTP_PATH;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A server with its address, and the query that clients add to the address.
struct Site {
    address: String,
    query: &'static str,
    _end: DropGuard,
}

/// A reply that is read as it arrives.
struct Reply {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Site {
    async fn new(desk: &Arc<Desk>) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let end = CancellationToken::new();
        let desk = desk.clone();
        let ends = end.clone();
        tokio::spawn(async move { serve_http(&desk, server(&desk, options()), listener, ends).await });
        Site { address, query: "", _end: end.drop_guard() }
    }

    /// Sets the query, which names a project.
    fn of_project(&mut self, query: &'static str) -> &Site {
        self.query = query;
        self
    }

    async fn send(&self, method: &str, headers: &str, body: &str) -> Reply {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let address = &self.address;
        let query = self.query;
        let length = body.len();
        let head = format!(
            "{method} {HTTP_PATH}{query} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
             Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut reply = Reply { stream: BufReader::new(stream), head: String::new() };
        while !reply.head.ends_with("\r\n\r\n") {
            assert_ne!(reply.stream.read_line(&mut reply.head).await.unwrap(), 0, "{}", reply.head);
        }
        reply
    }

    async fn post(&self, headers: &str, body: &Value) -> Reply {
        self.send("POST", headers, &body.to_string()).await
    }

    /// Opens a session and returns its header.
    async fn session(&self, version: &str, capabilities: Value) -> String {
        self.session_of("codex-mcp-client", version, capabilities).await
    }

    async fn session_of(&self, client: &str, version: &str, capabilities: Value) -> String {
        let info = json!({"name": client, "version": "99.0"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
        let reply = self.post("", &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        let id = reply.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
        let session = format!("Mcp-Session-Id: {id}\r\nMcp-Protocol-Version: {version}\r\n");
        self.post(&session, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        session
    }

    async fn ask(&self, session: &str) -> Reply {
        let params = json!({"name": "AskUserQuestion", "arguments": database()});
        self.post(session, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await
    }
}

/// Asks as a client that names the folder of its project.
async fn asks_in(site: &Site, folder: &str) -> Reply {
    let session = site.session("2025-11-25", json!({"roots": {}})).await;
    let mut call = site.ask(&session).await;
    let request = call.message().await;
    assert_eq!((&request["method"], &request["id"]), (&json!("roots/list"), &json!(1)), "{request}");
    let roots = json!({"roots": [{"uri": format!("file://{folder}")}]});
    site.post(&session, &json!({"jsonrpc": "2.0", "id": request["id"], "result": roots})).await;
    call
}

impl Reply {
    /// Reads the next event and returns its fields.
    async fn event(&mut self) -> Vec<String> {
        let mut fields = Vec::new();
        loop {
            let mut line = String::new();
            let reading = tokio::time::timeout(PATIENCE, self.stream.read_line(&mut line));
            assert_ne!(reading.await.expect("an event in time").unwrap(), 0, "{fields:?}");
            match line.trim() {
                // Any line that is not of the form `name: value` is the length of a chunk.
                "" if !fields.is_empty() => return fields,
                field if field.contains(':') => fields.push(field.to_owned()),
                _ => {}
            }
        }
    }

    /// Reads the next message.
    async fn message(&mut self) -> Value {
        loop {
            let event = self.event().await;
            let data = event.iter().find_map(|field| field.strip_prefix("data:")).unwrap().trim();
            if !data.is_empty() {
                return serde_json::from_str(data).unwrap();
            }
        }
    }

    async fn answer(mut self) -> String {
        let message = self.message().await;
        assert_eq!(message["id"], 1, "{message}");
        message["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_stream_that_broke_is_taken_up_again_and_brings_the_answer() {
    let desk = Desk::new();
    let site = Site::new(&desk).await;
    let session = site.session("2025-11-25", json!({})).await;
    let mut call = site.ask(&session).await;
    let event = call.event().await;
    let id = event.iter().find_map(|field| field.strip_prefix("id:")).unwrap().trim().to_owned();
    let question = desk.pending(1).await.remove(0);
    drop(call);
    let call = site.send("GET", &format!("{session}Last-Event-ID: {id}\r\n"), "").await;
    desk.choose(&question, "SQLite").await;
    assert!(call.answer().await.contains("SQLite"));
    desk.delivered(&question.id).await;
}

#[tokio::test]
async fn an_answer_for_a_client_without_a_session_that_left_goes_to_its_next_call() {
    let desk = Desk::new();
    let mut site = Site::new(&desk).await;
    let site = site.of_project("?project=shop");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "mcp", "version": "2"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "AskUserQuestion", "arguments": database(), "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: AskUserQuestion\r\n";
    // The reply begins with the answer, so only the request is sent before.
    let calling = site.post(headers, &call);
    let question = tokio::select! {
        reply = calling => panic!("{}", reply.head),
        questions = desk.pending(1) => questions[0].clone(),
    };
    desk.unattended(&question.id).await;
    desk.choose(&question, "SQLite").await;
    assert!(site.post(headers, &call).await.answer().await.contains("SQLite"));
    desk.delivered(&question.id).await;
}

/// Cline with a lowered limit does not cancel the call. It ignores the reply on a stream that it still holds.
#[tokio::test]
async fn an_answer_that_a_client_over_http_gave_up_without_a_word_is_there_when_it_asks_the_same_again() {
    let desk = Desk::new();
    let site = Site::new(&desk).await;
    let session = site.session_of("Cline", "2025-06-18", json!({})).await;
    let given_up = site.ask(&session).await;
    let question = desk.pending(1).await.remove(0);
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(11)).await;
    tokio::time::resume();
    desk.choose(&question, "SQLite").await;
    desk.delivered(&question.id).await;
    let again = site.ask(&session).await.answer().await;
    assert!(again.contains("SQLite") && again.contains("ago, to an earlier call"), "{again}");
    drop(given_up);
}

#[tokio::test]
async fn a_stream_begins_with_an_empty_event_only_where_the_protocol_has_such() {
    let desk = Desk::new();
    let site = Site::new(&desk).await;
    for (version, has_such) in [("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)] {
        let session = site.session(version, json!({})).await;
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        let first = site.post(&session, &list).await.event().await;
        let is_empty = first.iter().any(|field| field.trim() == "data:");
        assert_eq!(is_empty, has_such, "{version}: {first:?}");
    }
}

#[tokio::test]
async fn agents_of_different_projects_do_not_share_an_answer_that_one_of_them_did_not_stay_for() {
    let desk = Desk::new();
    let site = Site::new(&desk).await;
    let shop = asks_in(&site, "/home/ada/the%20shop").await;
    let in_shop = desk.pending(1).await.remove(0);
    assert_eq!(in_shop.request.origin().folder.as_deref(), Some("/home/ada/the shop"), "not the server's");
    drop(shop);
    desk.unattended(&in_shop.id).await;
    desk.choose(&in_shop, "SQLite").await;
    let bank = asks_in(&site, "/home/ada/bank").await;
    let in_bank = desk.pending(1).await.remove(0);
    desk.choose(&in_bank, "PostgreSQL (Recommended)").await;
    assert!(bank.answer().await.contains("PostgreSQL"));
    assert!(asks_in(&site, "/home/ada/the%20shop").await.answer().await.contains("SQLite"));
}

/// Codex names no roots. Here it works in two projects.
#[tokio::test]
async fn an_answer_that_a_client_did_not_stay_for_goes_to_no_other_that_does_not_say_where_it_works() {
    let desk = Desk::new();
    let site = Site::new(&desk).await;
    let shop = site.ask(&site.session("2025-06-18", json!({})).await).await;
    let in_shop = desk.pending(1).await.remove(0);
    drop(shop);
    desk.unattended(&in_shop.id).await;
    desk.choose(&in_shop, "SQLite").await;
    let bank = site.ask(&site.session("2025-06-18", json!({})).await).await;
    let in_bank = desk.pending(1).await.remove(0);
    assert_ne!(in_bank.id, in_shop.id);
    desk.choose(&in_bank, "PostgreSQL (Recommended)").await;
    assert!(bank.answer().await.contains("PostgreSQL"));
}

#[tokio::test]
async fn an_answer_that_a_client_did_not_stay_for_goes_to_the_next_one_whose_address_names_the_same_project() {
    let desk = Desk::new();
    let mut site = Site::new(&desk).await;
    let shop = site.of_project("?project=the%20shop");
    let call = shop.ask(&shop.session("2025-06-18", json!({})).await).await;
    let in_shop = desk.pending(1).await.remove(0);
    assert_eq!(in_shop.request.origin().folder.as_deref(), Some("the shop"));
    drop(call);
    desk.unattended(&in_shop.id).await;
    desk.choose(&in_shop, "SQLite").await;
    let bank = site.of_project("?project=bank");
    let _call = bank.ask(&bank.session("2025-06-18", json!({})).await).await;
    assert_eq!(desk.pending(1).await[0].request.origin().folder.as_deref(), Some("bank"));
    let shop = site.of_project("?a=b&project=the+shop");
    let again = shop.ask(&shop.session("2025-06-18", json!({})).await).await;
    assert!(again.answer().await.contains("SQLite"));
}

#[tokio::test]
async fn a_client_that_does_not_say_where_it_works_is_not_taken_to_work_where_the_server_does() {
    let desk = Desk::new();
    let site = Site::new(&desk).await;
    let _call = site.ask(&site.session("2025-06-18", json!({})).await).await;
    assert_eq!(desk.pending(1).await[0].request.origin().folder, None);
}

#[tokio::test]
async fn a_session_that_its_client_ends_is_ended() {
    let desk = Desk::new();
    let site = Site::new(&desk).await;
    let session = site.session("2025-11-25", json!({})).await;
    let ended = site.send("DELETE", &session, "").await;
    assert!(ended.head.starts_with("HTTP/1.1 204 "), "{}", ended.head);
    let again = site.post(&session, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    assert!(again.head.starts_with("HTTP/1.1 404 "), "{}", again.head);
}

#[tokio::test]
async fn a_client_with_forms_is_not_offered_a_protocol_that_cannot_take_them_back_over_http_either() {
    let desk = Desk::new();
    let site = Site::new(&desk).await;
    for (capabilities, expected) in [(json!({"elicitation": {}}), "-32601"), (json!({}), "supportedVersions")] {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2.1.325"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        let discover = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}});
        let headers = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n";
        let mut reply = site.post(headers, &discover).await;
        let mut text = String::new();
        while !text.contains(expected) {
            let part = tokio::time::timeout(PATIENCE, reply.stream.fill_buf()).await.expect("a reply in time").unwrap();
            assert!(!part.is_empty(), "{expected}: {} {text}", reply.head);
            text.push_str(std::str::from_utf8(part).unwrap());
            let length = part.len();
            reply.stream.consume(length);
        }
    }
}

/// The result of a call in a session.
async fn called(site: &Site, session: &str, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    site.post(session, &call).await.message().await["result"].take()
}

#[tokio::test]
async fn an_answer_over_http_comes_with_the_next_result_of_its_session() {
    let desk = Desk::new();
    let site = Site::new(&desk).await;
    let mut sessions = Vec::new();
    let mut tickets = Vec::new();
    for _ in 0..2 {
        let session = site.session("2025-11-25", json!({})).await;
        let mut input = database();
        input["background"] = true.into();
        let asked = called(&site, &session, "AskUserQuestion", input).await;
        tickets.push(asked["structuredContent"]["ticket"].clone());
        sessions.push(session);
    }
    assert_ne!(tickets[0], tickets[1], "each session has a question of its own");
    let questions = desk.pending(2).await;
    let first = questions.iter().find(|question| json!(question.id) == tickets[0]).unwrap();
    desk.choose(first, "SQLite").await;
    let other = called(&site, &sessions[1], "AskUserQuestionResult", json!({})).await;
    assert!(!other.to_string().contains("SQLite"), "{other}");
    let own = called(&site, &sessions[0], "AskUserQuestionResult", json!({})).await;
    let arrived = &own["structuredContent"]["arrived"][0];
    assert_eq!((&arrived["ticket"], &arrived["status"]), (&tickets[0], &json!("answered")), "{own}");
    desk.delivered(&first.id).await;
}
