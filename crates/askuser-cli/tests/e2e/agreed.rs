//! What a person agrees to is shown whole, wherever they do: one table of surfaces and texts. A new surface gets a row.

use crate::inbox::{id, pending};
use crate::mcp::Client;
use crate::terminal::{Stage, Terminal};
use askuser::exact;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Child, Stdio};

/// Texts that look harmless if anything of them is left out.
const TEXTS: [&str; 8] = [
    "echo hello \x1b];touch PWNED;\x07",
    " one\u{9d}\n-two\n+2\n \u{9c}three",
    "echo safe \x1bPq\x1b\\\u{90}; rm -r x\u{9c}",
    "ls\rrm -r x\r\n",
    "make \\ \n\tinstall\t",
    "rm -r bu\u{200b}ild \u{202e}cod\u{2066} a\u{a0}b \u{e0041}\u{fe0f}",
    "echo '<U+001B>' → '→   ' ␣",
    "┃ - Allow: harmless\n│  > ○ Deny\n✔ Bash: Deny\n語 e\u{301} \u{301}",
];

/// Where a text is agreed to, and what a person reads there.
const SURFACES: [(&str, fn(&str) -> String); 9] = [
    ("a hook's question, opened", |text| opened(&hook(text).0, &[])),
    ("a hook's question in line mode", |text| in_lines(&hook(text).0)),
    ("approve, opened", |text| opened(&approve(text, &json!({})).0, &[])),
    ("approve, for a terminal with a few characters", |text| {
        let (stage, _client) = approve(text, &json!({}));
        opened(&stage.env("LC_ALL", "en_US.ISO-8859-1"), &[])
    }),
    ("approve in the client's dialog", in_a_dialog),
    ("the list of the inbox", |text| listed(&hook(text).0)),
    ("a diff of the agent's", |text| changed(&asked_by_agent(text))),
    ("a diff of the agent's in line mode", |text| changed(&asked_in_lines_by_agent(text))),
    ("a diff in the agent's conversation", |text| changed(&told_by_agent(text))),
];

#[test]
fn whatever_a_person_agrees_to_is_shown_whole_on_every_surface() {
    for (surface, shown) in SURFACES {
        for text in TEXTS {
            assert_eq!(exact::read(&shown(text)), text, "{surface}");
        }
    }
}

/// The text behind the bars of these rows. Blanks that a broken row ends with are not seen, so no text here has any there.
fn behind_bars(rows: &[String], bar: &str, broken: &str) -> String {
    let mut shown: Option<String> = None;
    for row in rows {
        if let Some(line) = row.strip_prefix(bar) {
            let line = line.strip_prefix(' ').unwrap_or(line);
            shown = Some(shown.map_or_else(|| line.to_owned(), |shown| format!("{shown}\n{line}")));
        } else if let (Some(rest), Some(shown)) = (row.strip_prefix(broken), &mut shown) {
            shown.push_str(rest.strip_prefix(' ').unwrap_or(rest));
        }
    }
    shown.unwrap_or_else(|| panic!("no bar: {rows:#?}"))
}

fn stage() -> Stage {
    Stage::new().size(80, 40).env("CLAUDE_CODE_ENTRYPOINT", "cli").env("ASKUSER_POPUP", "none")
}

/// A process that ends with its test.
struct Waiting(Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Claude Code asks for permission to run a command.
fn hook(command: &str) -> (Stage, Waiting) {
    let stage = stage();
    let mut hook = stage.spawn_with(&["hook"], Stdio::piped());
    let input = json!({"command": command});
    let event =
        json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash", "tool_input": input});
    hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    pending(&stage, 1);
    (stage, Waiting(hook))
}

/// The same through MCP.
fn approve(command: &str, capabilities: &Value) -> (Stage, Client) {
    let stage = stage();
    let mut client = Client::with(&stage, &["--approve"], capabilities);
    client.call(1, "approve", &json!({"tool_name": "Bash", "input": {"command": command}, "tool_use_id": "t"}));
    pending(&stage, 1);
    (stage, client)
}

fn open(stage: &Stage, args: &[&str]) -> Terminal {
    let question = pending(stage, 1).remove(0);
    stage.askuser(&[&["answer", id(&question), "--arm", "0", "--flash", "0"], args].concat(), "")
}

/// The question is opened at a terminal.
fn opened(stage: &Stage, args: &[&str]) -> String {
    let terminal = open(stage, args);
    terminal.wait_for("? keys");
    terminal.wait_for("Other");
    match terminal.screen().contains('┃') {
        true => behind_bars(&terminal.rows(), "│  ┃", "│  ╏"),
        false => behind_bars(&terminal.rows(), "|  |", "|  :"),
    }
}

fn in_lines(stage: &Stage) -> String {
    let terminal = open(stage, &["--plain"]);
    terminal.wait_for("Choose 1 to 3");
    behind_bars(&terminal.rows(), "|", ":")
}

fn in_a_dialog(command: &str) -> String {
    let (_stage, mut client) = approve(command, &json!({"elicitation": {}}));
    let dialog = client.next();
    let message = dialog["params"]["message"].as_str().unwrap_or_else(|| panic!("{dialog}")).to_owned();
    behind_bars(&message.lines().map(str::to_owned).collect::<Vec<_>>(), "┃", "╏")
}

fn listed(stage: &Stage) -> String {
    let terminal = stage.shell("exec askuser inbox --arm 0 --flash 0 2>err");
    terminal.wait_for("┃   Don't run it");
    let rows = terminal.rows();
    // The question stands below, behind the same bar.
    let end = rows.iter().position(|row| row.starts_with("┃ May Claude Code")).expect("the question");
    behind_bars(&rows[..end], "┃", "╏")
}

/// The agent is to write a new file.
fn agent(content: &str, args: &[&str]) -> (Stage, Terminal) {
    let call = json!({"name": "Write", "input": {"path": "a.txt", "content": content}});
    let script = json!({"turns": [{"calls": [call]}, {"text": "Written."}]});
    let stage = stage().env("XTERM_VERSION", "1").file("script.json", script.to_string());
    let quick = ["agent", "--script", "script.json", "--arm", "0", "--flash", "0", "go"];
    let terminal = stage.askuser(&[&quick, args].concat(), "");
    (stage, terminal)
}

fn asked_by_agent(content: &str) -> String {
    let (_stage, terminal) = agent(content, &[]);
    terminal.wait_for("Write new file a.txt");
    terminal.wait_for("? keys");
    behind_bars(&terminal.rows(), "│  ┃", "│  ╏")
}

fn asked_in_lines_by_agent(content: &str) -> String {
    let (_stage, terminal) = agent(content, &["--plain"]);
    terminal.wait_for("Choose 1 to");
    behind_bars(&terminal.rows(), "|", ":")
}

fn told_by_agent(content: &str) -> String {
    let (_stage, terminal) = agent(content, &["--permissions", "accept-edits"]);
    terminal.wait_for("Written.");
    behind_bars(&terminal.rows(), "   ", "     ")
}

/// The new lines of a diff, as they are shown.
fn changed(diff: &str) -> String {
    let (_, lines) = diff.split_once(" @@\n").unwrap_or_else(|| panic!("no hunk: {diff}"));
    let lines: Vec<&str> = lines.lines().map_while(|line| line.strip_prefix('+')).collect();
    let ends = if diff.contains("\\ No newline at end of file") { "" } else { "\n" };
    lines.join("\n") + ends
}
