//! Checks that waiting wakes no thread. `/proc` contains the kernel's counts.

use crate::drafts::Drafts;
use crate::inbox::detached;
use crate::terminal::{PATIENCE, Stage, Terminal, example};
use crate::waiting::ask;
use crate::{agent_app, drafts};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Returns how many times these threads of a process were scheduled so far. `is_meant` receives their folders in
/// `/proc`.
fn switches(pid: i32, is_meant: impl Fn(&Path) -> bool) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("threads").flatten().map(|thread| thread.path());
    let count = |line: &str| line.rsplit('\t').next().and_then(|n| n.parse::<u64>().ok());
    let of = |status: String| -> u64 {
        status.lines().filter(|line| line.contains("ctxt_switches")).filter_map(count).sum()
    };
    let meant = threads.filter(|thread| is_meant(thread));
    meant.filter_map(|thread| fs::read_to_string(thread.join("status")).ok()).map(of).sum()
}

/// Waits until the threads rest, then checks that they are not woken for longer than saving a draft would take. Only a
/// wait can show that nothing happens.
#[track_caller]
fn check_rests_by(switches: impl Fn() -> u64) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let before = switches();
        thread::sleep(Duration::from_secs(2));
        if switches() == before {
            return;
        }
        assert!(Instant::now() < deadline, "it wakes up again and again");
    }
}

#[track_caller]
fn check_rests(terminal: &Terminal) {
    check_rests_by(|| switches(terminal.pid(), |_| true));
}

#[test]
fn waiting_costs_nothing() {
    check_rests(&ask(&[]));
}

#[test]
fn waiting_after_a_rejected_key_costs_nothing() {
    let mut terminal = ask(&[]);
    terminal.keys("9");
    terminal.wait_for("Choose 1 to 4");
    check_rests(&terminal);
}

#[test]
fn waiting_while_typing_costs_nothing() {
    let mut terminal = ask(&[]);
    terminal.keys("4bun");
    terminal.wait_for("bun█");
    check_rests(&terminal);
}

#[test]
fn waiting_with_much_time_left_costs_nothing() {
    check_rests(&ask(&["--timeout", "1h"]));
}

#[test]
fn waiting_line_by_line_costs_nothing() {
    let terminal = Stage::new().ask(&["--plain", &example("database")]);
    terminal.wait_for("Choose 1 to 4");
    check_rests(&terminal);
}

#[test]
fn there_is_one_thread() {
    let terminal = ask(&[]);
    let threads = fs::read_dir(format!("/proc/{}/task", terminal.pid())).expect("threads").count();
    assert_eq!(threads, 1);
}

/// Returns whether a thread is the prompt's. The first thread of the process has the same name.
fn is_prompts(terminal: &Terminal, thread: &Path) -> bool {
    let name = fs::read_to_string(thread.join("comm")).unwrap_or_default();
    name == "askuser\n" && !thread.ends_with(terminal.pid().to_string())
}

#[test]
fn a_prompt_that_keeps_drafts_wakes_up_only_to_save_what_was_typed() {
    let stage = drafts::stage();
    let id = detached(&stage, "database", &[]);
    let mut terminal = drafts::answer(&stage, &id, &[]);
    terminal.wait_for("esc later");
    let check = |terminal: &Terminal| {
        check_rests_by(|| switches(terminal.pid(), |thread| is_prompts(terminal, thread)));
    };
    check(&terminal);
    terminal.keys("4my own");
    Drafts::of(&stage).wait_for(&id, "Database: my own");
    check(&terminal);
}

#[test]
fn an_agent_that_waits_for_the_person_costs_nothing() {
    let stage = agent_app::stage(json!([{"calls": [agent_app::question("Database")]}, {"text": "ok"}]));
    let mut terminal = agent_app::start(&stage, &[]);
    terminal.wait_for(agent_app::BOX);
    terminal.keys("half");
    terminal.wait_for("> half");
    check_rests(&terminal);
    terminal.keys("<enter>");
    terminal.wait_for("╭─ Database ─╮");
    check_rests(&terminal);
}
