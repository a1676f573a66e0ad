//! Tests the setup of a server's MCP clients, and the tools that they are offered.

use crate::support::Home;
use serde_json::{Value, json};

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
    "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},
    "io.modelcontextprotocol/clientInfo":{"name":"a client","version":"1"}}}}"#;
const HEADERS: &str = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n";

#[test]
fn a_token_can_come_as_the_configuration_of_a_client() {
    let home = Home::new();
    for client in ["claude", "codex", "gemini", "opencode", "vscode", "continue"] {
        let made =
            home.run(&["token", "new", client, "--ask", "--mcp-config", client, "--server", "https://ask.example.org"]);
        let config = text(&made.stdout);
        assert!(made.status.success() && config.contains("\"https://ask.example.org/mcp\""), "{client}: {made:?}");
        let token = config.split("Bearer ").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert_eq!(token.len(), 80, "{client}: {config}");
    }
    let claude = home.run(&["token", "new", "claude", "--ask", "--mcp-config", "claude"]);
    let entry = serde_json::from_slice::<Value>(&claude.stdout).unwrap()["mcpServers"]["askuser"].clone();
    assert_eq!((&entry["type"], &entry["url"]), (&json!("http"), &json!("http://127.0.0.1:7420/mcp")));
    assert!(text(&claude.stderr).contains("claude has a new token"), "{claude:?}");
    let answering = home.run(&["token", "new", "x", "--answer", "--mcp-config", "claude"]);
    assert_eq!(answering.status.code(), Some(2), "a client asks: {answering:?}");
}

#[test]
fn init_writes_an_address_and_a_token_that_counts() {
    let home = Home::new();
    let server = home.serve("127.0.0.1:0");
    let address = format!("--http={}", server.url());
    let shown = home.run(&["init", "claude", &address, "--print"]);
    assert!(text(&shown.stdout).contains("Bearer TOKEN"), "{shown:?}");
    assert_eq!(text(&home.run(&["token", "list"]).stdout), "", "nothing was made");
    let made = home.run(&["init", "claude", &address, "--yes"]);
    assert!(made.status.success(), "{made:?}");
    let file = home.folder.path().join(".claude.json");
    let entry =
        || serde_json::from_slice::<Value>(&std::fs::read(&file).unwrap()).unwrap()["mcpServers"]["askuser"].clone();
    let first = entry();
    assert_eq!(first["url"], json!(format!("{}/mcp", server.url())));
    let token = first["headers"]["Authorization"].as_str().unwrap().strip_prefix("Bearer ").unwrap();
    let tools = server.send_with(HEADERS, "POST", "/mcp", Some(token), LIST);
    assert!(tools.contains("AskUserQuestion") && !tools.contains("\"approve\""), "{tools}");
    let again = home.run(&["init", "claude", &address, "--yes"]);
    assert!(text(&again.stderr).contains("is set up already"), "{again:?}");
    assert_eq!(entry(), first, "it keeps its token");
    let doctor = home.run(&["doctor"]);
    assert!(text(&doctor.stdout).contains("✔ questions"), "{doctor:?}");
    assert!(home.run(&["init", "claude", "--yes"]).status.success());
    assert_eq!((&entry()["args"], &entry()["url"], &entry()["headers"]), (&json!(["mcp"]), &Value::Null, &Value::Null));
    assert!(home.run(&["init", "claude", &address, "--yes"]).status.success());
    assert_eq!((&entry()["command"], &entry()["args"]), (&Value::Null, &Value::Null));
}

#[test]
fn doctor_names_files_with_the_removed_address() {
    let home = Home::new();
    let config = json!({"mcpServers": {"askuser": {"type": "http", "url": "http://127.0.0.1:8787/mcp?project=shop"}}});
    std::fs::write(home.folder.path().join(".claude.json"), config.to_string()).unwrap();
    let told = home.run(&["doctor"]);
    for words in ["~/.claude.json names http://127.0.0.1:8787/mcp?project=shop", "`askuser serve`"] {
        assert!(text(&told.stdout).contains(words), "{words}: {told:?}");
    }
}

#[test]
fn a_server_offers_approve_if_told_to_and_localhost_is_its_name() {
    let home = Home::new();
    let ask = home.token("ci", "--ask");
    let server = home.serve_with(&["--listen", "127.0.0.1:0", "--approve"]);
    let tools = server.send_with(HEADERS, "POST", "/mcp", Some(&ask), LIST);
    assert!(tools.contains("\"approve\""), "{tools}");
    let localhost = format!("{HEADERS}Host: localhost:{}\r\n", server.address.port());
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\n{localhost}Authorization: Bearer {ask}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{LIST}",
        LIST.len()
    );
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    let mut reply = String::new();
    std::io::Read::read_to_string(&mut stream, &mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
}
