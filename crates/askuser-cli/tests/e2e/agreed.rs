//! Every surface shows the whole text that a person agrees to. This is one table of surfaces and texts. A new surface
//! gets a row.

use crate::inbox::{id, pending, run};
use crate::mcp::Client;
use crate::terminal::{Stage, Terminal};
use askuser::verbatim;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Child, Stdio};

/// Texts that look harmless if a part of them is left out.
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

/// A function that shows a text on a surface, and returns the text that a person reads.
type Surface = fn(&str) -> String;

/// The surfaces on which a person agrees to a text.
const SURFACES: [(&str, Surface); 9] = [
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
            assert_eq!(verbatim::read(&shown(text)), text, "{surface}");
        }
    }
}

const LONG: usize = 60;

/// Returns a text of many lines.
fn long() -> String {
    (1..=LONG).map(|n| format!("echo {n}\n")).collect()
}

/// Checks a prompt that permits a long text, and returns its terminal after the text was read and allowed. The key that
/// allows has no effect before every row was drawn. This also holds if the keys that scroll to the end arrive together
/// with it.
#[track_caller]
fn check_read_first(mut terminal: Terminal, allow: &str) -> Terminal {
    terminal.wait_for("space read on");
    assert!(!terminal.screen().contains(&format!("echo {LONG}")), "{}", terminal.screen());
    terminal.keys(allow);
    terminal.wait_for("Read it to its end first: Space");
    terminal.keys(&format!("{}{allow}", "<pgdn>".repeat(LONG)));
    terminal.wait_for(&format!("echo {LONG}"));
    terminal.wait_for("Read it to its end first: Space");
    for _ in 0..LONG {
        terminal.step("<space>");
        if terminal.screen().contains("enter select") {
            break;
        }
        assert!(terminal.screen().contains("space read on"), "{}", terminal.screen());
    }
    terminal.keys(allow);
    terminal
}

#[test]
fn a_hooks_permission_is_not_given_before_its_end_was_on_the_screen() {
    let (stage, hook) = hook(&long());
    let terminal = check_read_first(open(&stage.size(80, 24), &[]), "1");
    assert_eq!(terminal.finish().code, Some(0));
    assert!(hook.output().contains("\"behavior\":\"allow\""));
}

#[test]
fn a_permission_for_a_client_is_not_given_before_its_end_was_on_the_screen() {
    let (stage, mut client) = approve(&long(), &json!({}));
    let terminal = check_read_first(open(&stage.size(80, 24), &[]), "<enter>");
    assert_eq!(terminal.finish().code, Some(0));
    let reply = client.next();
    assert!(crate::mcp::words(&reply).contains("\"behavior\":\"allow\""), "{reply}");
}

#[test]
fn a_permission_in_the_list_of_the_inbox_is_not_given_before_its_end_was_on_the_screen() {
    let (stage, hook) = hook(&long());
    let mut terminal = stage.size(80, 24).shell("exec askuser inbox --key-delay 0 --success-flash 0 2>err");
    terminal.wait_for("enter shows all");
    terminal.keys("<enter>");
    let terminal = check_read_first(terminal, "1");
    terminal.wait_for("Nothing is waiting.");
    assert!(hook.output().contains("\"behavior\":\"allow\""));
}

#[test]
fn an_edit_of_the_agents_is_not_permitted_before_its_end_was_on_the_screen() {
    let (stage, terminal) = agent(&long(), &[]);
    let terminal = check_read_first(terminal, "1");
    terminal.wait_for("Written.");
    assert_eq!(stage.read("a.txt"), long());
}

#[test]
fn a_command_of_the_agents_runs_only_after_it_was_read() {
    let command = format!("{}echo ran >ran", long());
    for allow in ["1", "<enter>"] {
        let (stage, mut terminal) = agent_calls(&json!({"name": "Bash", "input": {"command": command}}), &[]);
        terminal.wait_for("Run this command?");
        terminal.keys("<enter><enter><enter>");
        terminal.wait_for("Read it to its end first: Space");
        terminal.keys("<up>");
        let terminal = check_read_first(terminal, allow);
        terminal.wait_for("Written.");
        assert_eq!(stage.read("ran"), "ran\n");
    }
}

#[test]
fn a_short_command_of_the_agents_needs_no_further_key() {
    let call = json!({"name": "Bash", "input": {"command": "echo ran >ran"}});
    let (stage, mut terminal) = agent_calls(&call, &[]);
    terminal.wait_for("enter select");
    assert!(terminal.screen().contains("┃ echo ran >ran"), "{}", terminal.screen());
    terminal.keys("1");
    terminal.wait_for("Written.");
    assert_eq!(stage.read("ran"), "ran\n");
}

#[test]
fn a_permission_is_declined_unread_and_given_where_all_is_printed() {
    let (stage, hook_process) = hook(&long());
    let mut terminal = open(&stage.size(80, 24), &[]);
    terminal.wait_for("space read on · v input · d decline");
    terminal.keys("2");
    terminal.wait_for("Read it to its end first: Space");
    terminal.keys("d<enter>");
    assert_eq!(terminal.finish().code, Some(0));
    assert!(hook_process.output().contains("\"behavior\":\"deny\""));
    let (stage, hook_process) = hook(&long());
    let mut terminal = open(&stage, &["--plain"]);
    terminal.wait_for("Choose 1 to 3");
    terminal.keys("1<enter>");
    assert_eq!(terminal.finish().code, Some(0));
    assert!(hook_process.output().contains("\"behavior\":\"allow\""));
    let (stage, hook_process) = hook(&long());
    let question = pending(&stage, 1).remove(0);
    run(&stage, &["answer", id(&question), "--select", "Bash=Allow once"]);
    assert!(hook_process.output().contains("\"behavior\":\"allow\""));
}

/// Returns the text behind the bars of these rows. Trailing blanks of a broken row are invisible, so no text here has
/// any there.
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
struct Waiting(Option<Child>);

impl Waiting {
    /// Returns the output of the process after it has ended.
    fn output(mut self) -> String {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

/// Starts a hook that asks for the permission to run a command.
fn hook(command: &str) -> (Stage, Waiting) {
    let stage = stage();
    let mut hook = stage.spawn_with(&["hook"], Stdio::piped());
    let input = json!({"command": command});
    let event =
        json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash", "tool_input": input});
    hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    pending(&stage, 1);
    (stage, Waiting(Some(hook)))
}

/// Asks for the permission to run a command through MCP, and returns the client.
fn approve(command: &str, capabilities: &Value) -> (Stage, Client) {
    let stage = stage();
    let mut client = Client::with(&stage, &["--approve"], capabilities);
    client.call(1, "approve", &json!({"tool_name": "Bash", "input": {"command": command}, "tool_use_id": "t"}));
    pending(&stage, 1);
    (stage, client)
}

fn open(stage: &Stage, args: &[&str]) -> Terminal {
    let question = pending(stage, 1).remove(0);
    stage.askuser(&[&["answer", id(&question), "--key-delay", "0", "--success-flash", "0"], args].concat(), "")
}

/// Opens the question at a terminal, and returns the text that a person reads.
fn opened(stage: &Stage, args: &[&str]) -> String {
    let terminal = open(stage, args);
    terminal.wait_for("? keys");
    terminal.wait_for("Other");
    if terminal.screen().contains('┃') {
        behind_bars(&terminal.rows(), "│  ┃", "│  ╏")
    } else {
        behind_bars(&terminal.rows(), "|  |", "|  :")
    }
}

fn in_lines(stage: &Stage) -> String {
    let terminal = open(stage, &["--plain"]);
    terminal.wait_for("Choose 1 to 3");
    let rows = terminal.rows();
    // The same input follows as JSON.
    let end = rows.iter().position(|row| row == "The input as JSON:").expect("the input");
    behind_bars(&rows[..end], "|", ":")
}

fn in_a_dialog(command: &str) -> String {
    let (_stage, mut client) = approve(command, &json!({"elicitation": {}}));
    let mut dialog = client.next();
    // The server also sends pings to check that the client responds.
    while dialog["method"] == "ping" {
        dialog = client.next();
    }
    let message = dialog["params"]["message"].as_str().unwrap_or_else(|| panic!("{dialog}")).to_owned();
    behind_bars(&message.lines().map(str::to_owned).collect::<Vec<_>>(), "┃", "╏")
}

fn listed(stage: &Stage) -> String {
    let terminal = stage.shell("exec askuser inbox --key-delay 0 --success-flash 0 2>err");
    terminal.wait_for("┃   Don't run it");
    let rows = terminal.rows();
    // The question follows, behind the same bar.
    let end = rows.iter().position(|row| row.starts_with("┃ Run this command?")).expect("the question");
    behind_bars(&rows[..end], "┃", "╏")
}

/// Starts an agent that writes a new file.
fn agent(content: &str, args: &[&str]) -> (Stage, Terminal) {
    agent_calls(&json!({"name": "Write", "input": {"path": "a.txt", "content": content}}), args)
}

fn agent_calls(call: &Value, args: &[&str]) -> (Stage, Terminal) {
    let script = json!({"turns": [{"calls": [call]}, {"text": "Written."}]});
    let stage = stage().env("XTERM_VERSION", "1").file("script.json", script.to_string());
    let quick = ["agent", "--script", "script.json", "--key-delay", "0", "--success-flash", "0", "go"];
    let terminal = stage.askuser(&[&quick, args].concat(), "");
    (stage, terminal)
}

fn asked_by_agent(content: &str) -> String {
    let (_stage, terminal) = agent(content, &[]);
    terminal.wait_for("Create a.txt");
    terminal.wait_for("? keys");
    // The line numbers of a diff stand before the bar.
    let from_bar = |row: &String| Some(row[row.find(['┃', '╏']).filter(|_| row.starts_with("│  "))?..].to_owned());
    behind_bars(&terminal.rows().iter().filter_map(from_bar).collect::<Vec<_>>(), "┃", "╏")
}

fn asked_in_lines_by_agent(content: &str) -> String {
    let (_stage, terminal) = agent(content, &["--plain"]);
    terminal.wait_for("Choose 1 to");
    let from_bar = |row: &String| Some(row[row.find(['|', ':']).filter(|at| *at == 2)?..].to_owned());
    behind_bars(&terminal.rows().iter().filter_map(from_bar).collect::<Vec<_>>(), "|", ":")
}

fn told_by_agent(content: &str) -> String {
    let (_stage, terminal) = agent(content, &["--permissions", "accept-edits"]);
    terminal.wait_for("Written.");
    // A row begins with a one-digit number and a blank, or with two blanks. The continuation of a line is indented by
    // one more.
    let row = |row: &String| match row.strip_prefix("    ")?.split_at_checked(2)? {
        ("  ", rest) if rest.starts_with(' ') => Some(format!(":{rest}")),
        (number, rest) if number.ends_with(' ') => Some(format!("| {rest}")),
        _ => None,
    };
    behind_bars(&terminal.rows().iter().filter_map(row).collect::<Vec<_>>(), "|", ":")
}

/// Returns the new lines of a diff as they are shown.
fn changed(diff: &str) -> String {
    let (_, lines) = diff.split_once("+++ b/a.txt\n").unwrap_or_else(|| panic!("no file: {diff}"));
    let lines: Vec<&str> = lines.lines().map_while(|line| line.strip_prefix('+')).collect();
    let ends = if diff.contains("\\ No newline at end of file") { "" } else { "\n" };
    lines.join("\n") + ends
}
