//! Tests a person's actions besides messages to the agent: their own commands, permission rules, and undone edits.

use crate::terminal::{Stage, Terminal};
use serde_json::{Value, json};
use std::fs;

const BOX: &str = "Say what to do, or /help";

fn stage(turns: Value) -> Stage {
    Stage::new().env("XTERM_VERSION", "1").file("script.json", json!({"turns": turns}).to_string())
}

fn start(stage: &Stage, args: &[&str]) -> Terminal {
    stage.askuser(
        &[&["agent", "--script", "script.json", "--key-delay", "0", "--success-flash", "0"], args].concat(),
        "",
    )
}

fn bash(command: &str) -> Value {
    json!({"calls": [{"name": "Bash", "input": {"command": command}}]})
}

fn edit(old: &str, new: &str) -> Value {
    json!({"calls": [{"name": "Edit", "input": {"path": "notes.txt", "old_string": old, "new_string": new}}]})
}

fn transcript(stage: &Stage) -> String {
    let folder = fs::read_dir(stage.path(".local/state/askuser/sessions")).expect("sessions");
    let session = folder.map(|entry| entry.expect("a session").path()).find(|path| path.is_file()).expect("a session");
    fs::read_to_string(session).expect("a transcript")
}

#[test]
fn a_prefix_is_allowed_listed_and_taken_back() {
    // The home folder gets no sandbox, so there are no rules by prefix.
    let home = Stage::new();
    let at = |name: &str| home.path(name).display().to_string();
    let stage = stage(
        json!([bash("ls -a script.json"), bash("ls script.json"), {"text": "One."}, bash("ls"), {"text": "Two."}]),
    );
    let stage = stage.env("HOME", &at("")).env("XDG_CONFIG_HOME", &at("config"));
    if stage.run(&["doctor"]).stdout.contains("none here: ") {
        askuser_conformance::left_out_without("a sandbox");
        return;
    }
    let mut terminal = start(&stage, &["go"]);
    terminal.wait_for("Always allow ls *");
    terminal.keys("3");
    terminal.wait_for("One.");
    terminal.keys("/permissions<enter>");
    terminal.wait_for("1  Bash: ls * (inside the sandbox)");
    terminal.keys("/permissions add git status<enter>");
    terminal.wait_for("Not asked for any more in this folder: Bash: git status (exactly this)");
    terminal.keys("/permissions remove 2<enter>");
    terminal.wait_for("Asked for again: Bash: ls * (inside the sandbox)");
    terminal.keys("again<enter>");
    terminal.wait_for("Run this command?");
    terminal.keys("4");
    terminal.wait_for("Two.");
    let kept: Value = serde_json::from_str(&home.read(".local/state/askuser/allowed.json")).expect("rules");
    let folders: Vec<&Value> = kept.as_object().expect("folders").values().collect();
    assert_eq!(folders, [&json!({"Bash": ["git status"]})]);
}

#[test]
fn an_edit_from_before_a_resume_is_taken_back() {
    let stage = stage(json!([edit("one", "two"), {"text": "Done."}, {"text": "I see."}])).file("notes.txt", "one\n");
    let mut terminal = start(&stage, &["--permissions", "accept-edits", "go"]);
    terminal.wait_for("Done.");
    terminal.keys("/quit<enter>");
    terminal.finish();
    assert_eq!(stage.read("notes.txt"), "two\n");
    let mut terminal = start(&stage, &["--continue"]);
    terminal.wait_for(BOX);
    terminal.keys("/diff<enter>");
    terminal.wait_for("+two");
    terminal.wait_for("What other programs changed in these files is in it");
    terminal.keys("/undo<enter>");
    terminal.wait_for("notes.txt is as it was before its last edit.");
    assert_eq!(stage.read("notes.txt"), "one\n");
    terminal.keys("/undo<enter>");
    terminal.wait_for("This session has no more edits to undo;");
    terminal.keys("why<enter>");
    terminal.wait_for("I see.");
    terminal.keys("<c-d>");
    terminal.finish();
    let recorded = transcript(&stage);
    assert!(recorded.contains("The user took back your last edit of notes.txt"), "{recorded}");
}

#[test]
fn a_command_of_ones_own_runs_unasked_and_the_model_reads_it() {
    let stage = stage(json!([{"text": "It failed."}]));
    let mut terminal = start(&stage, &[]);
    terminal.wait_for(BOX);
    terminal.keys("!echo wor''king; exit 3<enter>");
    terminal.wait_for("    working");
    terminal.wait_for("exit code 3");
    terminal.keys("what is it?<enter>");
    terminal.wait_for("It failed.");
    let recorded = transcript(&stage);
    let ran = r#""command":"echo wor''king; exit 3","result":{"success":false,"output":"Exit code 3\n\nworking""#;
    assert!(recorded.contains(ran), "{recorded}");
}

#[test]
fn escape_stops_a_command_of_ones_own() {
    let stage = stage(json!([{"text": "Never."}]));
    let mut terminal = start(&stage, &[]);
    terminal.wait_for(BOX);
    terminal.keys("!echo begun > begun; sleep 1000<enter>");
    terminal.wait_for("Esc stops");
    while !stage.path("begun").exists() {
        std::thread::yield_now();
    }
    terminal.keys("<esc>");
    terminal.wait_for("✘ interrupted");
    terminal.wait_for("Stopped.");
    terminal.wait_for(BOX);
}

#[test]
fn commands_rules_and_undo_work_line_by_line() {
    let stage = stage(json!([edit("one", "two"), {"text": "Done."}])).file("notes.txt", "one\n").env("TERM", "dumb");
    let mut terminal = start(&stage, &["--permissions", "accept-edits", "go"]);
    terminal.wait_for("Done.");
    terminal.wait_for("\n> ");
    terminal.keys("!echo wor''king<enter>");
    terminal.wait_for("    working");
    terminal.keys("/permissions add cargo test *<enter>");
    terminal.wait_for("Not asked for any more in this folder: Bash: cargo test *");
    terminal.keys("/undo<enter>");
    terminal.wait_for("notes.txt is as it was before its last edit.");
    terminal.keys("/quit<enter>");
    terminal.finish();
    assert_eq!(stage.read("notes.txt"), "one\n");
}
