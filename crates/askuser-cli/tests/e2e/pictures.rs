//! Repeats the recordings in docs/. Their keys must lead to the same screens.

use crate::terminal::{Stage, Terminal, comes, example};
use serde_json::json;
use std::fs;
use std::path::Path;

/// The rows of the lower pane of the first picture in the README, where `askuser inbox` runs.
const INBOX_ROWS: u16 = 13;

/// A stable screen, with the keys that led to the next one.
struct Frame {
    text: String,
    keys: Vec<u8>,
}

/// Returns the stable frames of a recording: those with keys, and the last one.
fn frames(name: &str) -> Vec<Frame> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let svg = fs::read_to_string(path).expect("a recording");
    let between = |text: &str, start: &str, end: &str| -> String {
        let rest = text.split_once(start).unwrap_or_else(|| panic!("no {start} in a frame of {name}")).1;
        rest.split_once(end).expect("its end").0.to_owned()
    };
    let unescaped = |text: String| text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let frame = |frame: &str| {
        let keys = between(frame, "data-keys='", "'");
        let byte = |at: usize| u8::from_str_radix(&keys[at..at + 2], 16).expect("bytes in hexadecimal");
        let keys = (0..keys.len()).step_by(2).map(byte).collect();
        Frame { text: unescaped(between(frame, "<desc>", "</desc>")), keys }
    };
    let mut frames: Vec<Frame> = svg.split("<g visibility=").skip(1).map(frame).collect();
    let last = frames.pop().expect("a frame");
    frames.retain(|frame| !frame.keys.is_empty());
    frames.push(last);
    frames
}

/// Returns the rows without the parts that differ in each run: numbers, and the time since a question was asked.
fn lasting(text: &str) -> Vec<String> {
    let digit = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let row = |row: &str| row.chars().map(digit).collect::<String>().replace("00", "0").trim_end().to_owned();
    let mut rows: Vec<String> = text.lines().map(row).collect();
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

/// Waits for each frame and presses its keys.
fn replay(terminal: &mut Terminal, frames: &[Frame]) {
    for (i, frame) in frames.iter().enumerate() {
        let expected = lasting(&frame.text);
        let shown = || lasting(&terminal.look(vt100::Screen::contents));
        assert!(comes(|| shown() == expected), "frame {i} was recorded as\n{expected:#?}\nand is\n{:#?}", shown());
        terminal.write(&frame.keys);
    }
}

/// Returns a test environment without the pause that a prompt needs before keys count.
fn stage() -> Stage {
    Stage::new().env("COLORTERM", "truecolor").env("ASKUSER_KEY_DELAY", "0")
}

#[test]
fn the_recorded_prompt_is_the_programs() {
    let typed = "askuser ask examples/authentication.json";
    let ask = format!("printf '$ {typed}'; exec askuser ask --key-delay 0 {}", example("authentication"));
    replay(&mut stage().shell(&ask), &frames("prompt.svg"));
}

#[test]
fn the_recorded_agent_is_the_programs() {
    let typed = "askuser agent --script examples/agent/database.json";
    let script = example("agent/database");
    let stage = stage().file("notes/.keep", "");
    let run = format!("cd notes; rm .keep; printf '$ {typed}'; exec askuser agent --script {script}");
    replay(&mut stage.shell(&run), &frames("agent.svg"));
}

/// The rows above the inbox belong to another program.
#[test]
fn the_recorded_inbox_is_the_programs() {
    let waiting = |frame: &Frame| frame.text.contains("1 waiting");
    let mut frames = frames("hero.svg");
    let first = frames.iter().position(waiting).expect("a question in the list");
    frames.drain(..first);
    let above = 30 - usize::from(INBOX_ROWS);
    for frame in &mut frames {
        frame.text = frame.text.lines().skip(above).collect::<Vec<_>>().join("\n");
    }
    // The first key goes to tmux and selects the pane.
    let down_a_pane = b"\x02\x1b[B";
    for frame in &mut frames {
        frame.keys = frame.keys.strip_prefix(down_a_pane).unwrap_or(&frame.keys).to_vec();
    }
    let options = json!([
        {"label": "PostgreSQL", "description": "A server with rich features"},
        {"label": "SQLite", "description": "One file, nothing to run"},
    ]);
    let question = "Which database should the shop use?";
    let asked = json!({"question": question, "header": "Database", "multiSelect": false, "options": options});
    let arguments = json!({"questions": [asked]});
    let client = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "2.1.328"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "AskUserQuestion", "arguments": arguments}}),
    ];
    let messages: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let stage = stage().file("shop/.keep", "").file("messages", messages).env("TERM", "tmux-256color");
    let mut inbox = stage.clone().size(88, INBOX_ROWS).shell("cd shop; exec askuser inbox");
    inbox.wait_for("0 waiting");
    let _server = stage.shell("cd shop; { cat ../messages; cat; } | exec askuser mcp --popup none >../out");
    replay(&mut inbox, &frames);
}
