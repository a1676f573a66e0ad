//! Tests Ctrl-Z and the return, in a shell with job control.

use crate::terminal::{Stage, Terminal, example};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const PROMPT: &str = "ready$ ";

/// Starts a shell that waits for a command.
fn shell(stage: &Stage) -> Terminal {
    let terminal = stage.command(&["bash", "--norc", "--noprofile", "--noediting", "-i"]);
    terminal.wait_behind(PROMPT);
    terminal
}

fn stage() -> Stage {
    // These tests use a screen that keeps its lines on a resize, as xterm does.
    Stage::new().env("PS1", PROMPT).env("XTERM_VERSION", "1").env("BASH_SILENCE_DEPRECATION_WARNING", "1")
}

fn command() -> String {
    // The script records its process id before it becomes the prompt.
    format!("sh -c 'echo $$ >pid; exec askuser ask --key-delay 0 --success-flash 0 {} >out 2>err'", example("database"))
}

fn ask(terminal: &mut Terminal) {
    terminal.keys(&format!("{}<enter>", command()));
    terminal.wait_for("? keys");
}

/// Checks that the shell has the terminal, and that neither the prompt's frame nor its modes are left.
#[track_caller]
fn check_clean(terminal: &Terminal) {
    terminal.wait_gone("╰");
    terminal.wait_behind(PROMPT);
    assert!(!terminal.screen().contains("│"), "{}", terminal.screen());
    terminal.look(|screen| {
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(!screen.bracketed_paste(), "pastes are marked");
    });
    let wraps = b"\x1b[?7h";
    let last = terminal.raw();
    let on = last.windows(wraps.len()).rposition(|bytes| bytes == wraps);
    let off = last.windows(wraps.len()).rposition(|bytes| bytes == b"\x1b[?7l");
    assert!(on >= off, "lines do not wrap");
}

/// Answers, checks the result, and leaves the shell.
#[track_caller]
fn check_answers(stage: &Stage, mut terminal: Terminal) {
    terminal.keys("<down><enter>");
    terminal.wait_for("✔ Database: MongoDB");
    // Before the shell has the terminal again, Enter would be only a carriage return.
    terminal.wait_behind(PROMPT);
    terminal.keys("exit<enter>");
    terminal.finish();
    let result: Value = serde_json::from_str(&stage.read("out")).expect("a result");
    assert_eq!(result["answers"][0]["selectedOptions"][0], "MongoDB");
}

fn pid(stage: &Stage) -> Pid {
    Pid::from_raw(stage.read("pid").trim().parse().expect("a number")).expect("a process")
}

#[test]
fn control_z_gives_the_terminal_back_to_the_shell() {
    let stage = stage();
    let mut terminal = shell(&stage);
    terminal.keys("stty -a >before<enter>");
    ask(&mut terminal);
    terminal.keys("<c-z>");
    terminal.wait_for("Stopped");
    check_clean(&terminal);
    terminal.keys("stty -a >meanwhile; echo done<enter>");
    terminal.wait_for("done\n");
    assert_eq!(stage.read("before"), stage.read("meanwhile"));
}

#[test]
fn fg_brings_the_prompt_back_as_it_was() {
    let stage = stage();
    let mut terminal = shell(&stage);
    ask(&mut terminal);
    terminal.keys("<down><down>");
    terminal.wait_for("> ○ SQLite");
    terminal.keys("<c-z>");
    terminal.wait_for("Stopped");
    check_clean(&terminal);
    terminal.keys("fg<enter>");
    terminal.wait_for("> ○ SQLite");
    terminal.wait_for("? keys");
    assert_eq!(terminal.screen().matches("╭─ Database ─╮").count(), 1);
    terminal.keys("<up>");
    terminal.wait_for("> ○ MongoDB");
    terminal.keys("<up>");
    terminal.wait_for("> ○ PostgreSQL");
    check_answers(&stage, terminal);
}

#[test]
fn a_draft_survives_being_suspended() {
    let stage = stage();
    let mut terminal = shell(&stage);
    ask(&mut terminal);
    terminal.keys("4half a th");
    terminal.wait_for("half a th█");
    terminal.keys("<c-z>");
    terminal.wait_for("Stopped");
    check_clean(&terminal);
    terminal.keys("fg<enter>");
    terminal.wait_for("half a th█");
    terminal.keys("ought");
    terminal.wait_for("half a thought█");
    terminal.keys("<enter>");
    terminal.wait_for("✔ Database: half a thought");
}

#[test]
fn it_can_be_suspended_again_and_again() {
    let stage = stage();
    let mut terminal = shell(&stage);
    ask(&mut terminal);
    for _ in 0..3 {
        terminal.keys("<c-z>");
        terminal.wait_for("Stopped");
        check_clean(&terminal);
        terminal.keys("clear; fg<enter>");
        terminal.wait_for("? keys");
        terminal.wait_gone("Stopped");
    }
    check_answers(&stage, terminal);
}

#[test]
fn a_resize_while_suspended_is_seen_on_return() {
    let stage = stage();
    let mut terminal = shell(&stage);
    ask(&mut terminal);
    terminal.keys("<c-z>");
    terminal.wait_for("Stopped");
    check_clean(&terminal);
    terminal.resize(50, 30);
    terminal.keys("clear; fg<enter>");
    let bottom = format!("\n╰{}╯\n", "─".repeat(47));
    terminal.wait_until("a frame for 50 columns", |screen| screen.contains(&bottom));
    assert_eq!(terminal.screen().matches("╭─ Database ─╮").count(), 1, "{}", terminal.screen());
    check_answers(&stage, terminal);
}

#[test]
fn sigtstp_from_outside_suspends_like_control_z() {
    let stage = stage();
    let mut terminal = shell(&stage);
    ask(&mut terminal);
    kill_process(pid(&stage), Signal::TSTP).unwrap();
    terminal.wait_for("Stopped");
    check_clean(&terminal);
    terminal.keys("fg<enter>");
    terminal.wait_for("? keys");
    check_answers(&stage, terminal);
}

#[test]
fn a_prompt_that_was_stopped_without_notice_goes_on() {
    let stage = stage();
    let mut terminal = shell(&stage);
    ask(&mut terminal);
    kill_process(pid(&stage), Signal::STOP).unwrap();
    terminal.wait_for("Stopped");
    terminal.wait_behind(PROMPT);
    terminal.keys("clear; fg<enter>");
    terminal.wait_gone("Stopped");
    terminal.wait_for("? keys");
    check_answers(&stage, terminal);
}

#[test]
fn a_prompt_that_is_continued_takes_the_terminal_over_again_without_a_shell_to_help() {
    let stage = stage();
    let mut terminal = stage.ask(&[&example("database")]);
    terminal.wait_for("? keys");
    terminal.signal(Signal::STOP);
    terminal.wait_stopped();
    // Another program has meanwhile used the terminal, and has changed its screen and its modes.
    terminal.wipe();
    let device = std::fs::File::open(terminal.device()).unwrap();
    let sane = std::process::Command::new("stty").arg("sane").stdin(device).status().unwrap();
    assert!(sane.success());
    terminal.signal(Signal::CONT);
    terminal.wait_for("? keys");
    // With the terminal's own line editing, keys would be echoed, and would wait for the end of a line.
    terminal.keys("<down>");
    terminal.wait_for("> ○ MongoDB");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().picks(), serde_json::json!([["MongoDB"]]));
}

#[test]
fn a_prompt_that_was_stopped_without_notice_does_not_paint_over_what_is_left_of_it() {
    let stage = stage();
    let mut terminal = shell(&stage);
    terminal.keys("clear<enter>");
    terminal.wait_until("an empty screen", |screen| screen == PROMPT.trim());
    ask(&mut terminal);
    // The last frame on the screen, up to its last line.
    let frame = |screen: &str| screen.rsplit_once('╭').map(|(_, frame)| frame.to_owned()).unwrap_or_default();
    terminal.wait_for("? keys");
    let before = frame(&terminal.screen());
    kill_process(pid(&stage), Signal::STOP).unwrap();
    terminal.wait_for("Stopped");
    terminal.wait_behind(PROMPT);
    terminal.keys("fg<enter>");
    terminal
        .wait_until("the same frame under the command", |screen| screen.contains("$ fg") && frame(screen) == before);
}

#[test]
fn in_the_background_it_waits_to_be_brought_to_the_front() {
    let stage = stage();
    let mut terminal = shell(&stage);
    ask(&mut terminal);
    terminal.keys("<c-z>");
    terminal.wait_for("Stopped");
    check_clean(&terminal);
    terminal.keys("clear; bg; sleep 0.2; jobs<enter>");
    terminal.wait_for("Stopped");
    check_clean(&terminal);
    terminal.keys("fg<enter>");
    terminal.wait_for("? keys");
    check_answers(&stage, terminal);
}

#[test]
fn started_in_the_background_it_waits_to_be_brought_to_the_front() {
    let stage = stage();
    let mut terminal = shell(&stage);
    terminal.keys(&format!("{} &<enter>", command()));
    terminal.keys("while ! jobs | grep Stopped; do sleep 0.05; done<enter>");
    terminal.wait_for("Stopped");
    check_clean(&terminal);
    terminal.keys("fg<enter>");
    terminal.wait_for("? keys");
    check_answers(&stage, terminal);
}

#[test]
fn killed_while_suspended_it_leaves_the_shell_alone() {
    let stage = stage();
    let mut terminal = shell(&stage);
    terminal.keys("stty -a >before<enter>");
    ask(&mut terminal);
    terminal.keys("<c-z>");
    terminal.wait_for("Stopped");
    check_clean(&terminal);
    terminal.keys("clear; kill %1; wait; stty -a >after; echo done<enter>");
    terminal.wait_for("done");
    check_clean(&terminal);
    assert_eq!(stage.read("before"), stage.read("after"));
}

#[test]
fn control_z_means_nothing_where_no_shell_could_bring_it_back() {
    let mut terminal = stage().ask(&[&example("database")]);
    terminal.wait_for("? keys");
    terminal.keys("<c-z>");
    terminal.keys("<down>");
    terminal.wait_for("> ○ MongoDB");
    assert_eq!(terminal.screen().matches("╭─ Database ─╮").count(), 1, "{}", terminal.screen());
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().screen, "\n✔ Database: MongoDB");
}

#[test]
fn line_mode_can_be_suspended_too() {
    let stage = stage();
    let mut terminal = shell(&stage);
    terminal.keys(&format!("askuser ask --plain {} >out 2>err<enter>", example("database")));
    terminal.wait_for("Choose 1 to 4");
    terminal.keys("<c-z>");
    terminal.wait_for("Stopped");
    terminal.wait_behind(PROMPT);
    terminal.keys("clear; fg<enter>");
    terminal.wait_gone("Stopped");
    terminal.wait_for("Choose 1 to 4");
    terminal.keys("2<enter>");
    terminal.wait_for("✔ Database: MongoDB");
}
