//! Tests every way to end a prompt. The result names the way, and the terminal is restored.

use crate::terminal::{Ended, RESTORED, Stage, Terminal, example};
use rustix::process::Signal;
use serde_json::{Value, json};

fn asked(args: &[&str]) -> Terminal {
    let file = example("database");
    let terminal = Stage::new().ask(&[&[file.as_str()], args].concat());
    terminal.wait_for("? keys");
    terminal
}

/// Checks the result, the exit code 1, the restored terminal, and that the screen contains only this text.
#[track_caller]
fn check(ended: &Ended, result: Value, screen: &str) {
    assert_eq!(ended.json(), result);
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.screen, screen);
    assert_eq!(ended.stderr, "");
    assert_eq!(ended.modes, RESTORED);
}

fn nothing(status: &str) -> Value {
    json!({"status": status, "answers": [], "via": "terminal"})
}

#[test]
fn escape_cancels() {
    let mut terminal = asked(&[]);
    terminal.keys("<esc>");
    check(&terminal.finish(), nothing("cancelled"), "\n✘ Cancelled: Database");
}

#[test]
fn escape_leaves_nothing_where_no_confirmation_is_wanted() {
    let mut terminal = asked(&["--confirm", "none"]);
    terminal.keys("<esc>");
    check(&terminal.finish(), nothing("cancelled"), "");
}

#[test]
fn escape_asks_once_more_before_a_mark_is_lost() {
    let mut terminal = asked(&[]);
    terminal.keys("<space>");
    terminal.wait_raw("●");
    terminal.keys("<esc>");
    terminal.wait_for("Discard your answers?");
    terminal.keys("<esc>");
    let ended = terminal.finish();
    assert_eq!(ended.status(), ("cancelled".into(), 1));
    assert_eq!(ended.picks(), json!([["PostgreSQL (Recommended)"]]));
    assert_eq!((ended.screen.as_str(), ended.modes), ("\n• Database: PostgreSQL\n✘ Cancelled: Database", RESTORED));
}

#[test]
fn another_key_goes_back_from_cancelling_and_is_not_taken_for_an_answer() {
    let mut terminal = asked(&[]);
    terminal.keys("<space>");
    terminal.wait_raw("●");
    terminal.keys("<esc>");
    terminal.wait_for("Discard your answers?");
    terminal.keys("3");
    terminal.wait_gone("Discard your answers?");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().picks(), json!([["PostgreSQL (Recommended)"]]));
}

#[test]
fn a_cancelled_set_keeps_the_answers_given_so_far() {
    let mut terminal = Stage::new().ask(&[&example("authentication")]);
    terminal.wait_for("? keys");
    terminal.keys("2");
    terminal.wait_for("Question 2 of 2");
    terminal.keys("<esc>");
    terminal.wait_for("Discard your answers?");
    terminal.keys("<esc>");
    let ended = terminal.finish();
    assert_eq!(ended.status(), ("cancelled".into(), 1));
    assert_eq!(ended.picks(), json!([["JWT"]]));
}

#[test]
fn declining_needs_no_reason() {
    let mut terminal = asked(&[]);
    terminal.keys("d");
    terminal.wait_for("Decline this question?");
    terminal.keys("<enter>");
    check(&terminal.finish(), nothing("declined"), "\n✘ Declined");
}

#[test]
fn a_reason_for_declining_is_part_of_the_result() {
    let mut terminal = asked(&[]);
    terminal.keys("d");
    terminal.wait_for("Decline this question?");
    terminal.keys("not yours to ask");
    terminal.wait_for("not yours to ask█");
    terminal.keys("<enter>");
    let result = json!({"status": "declined", "answers": [], "via": "terminal", "reason": "not yours to ask"});
    check(&terminal.finish(), result, "\n✘ Declined: not yours to ask");
}

#[test]
fn a_wish_to_talk_first_is_part_of_the_result() {
    let mut terminal = asked(&[]);
    terminal.keys("c");
    terminal.wait_for("What should we clarify first?");
    terminal.keys("licences");
    terminal.wait_for("licences█");
    terminal.keys("<enter>");
    let result = json!({"status": "discuss", "answers": [], "via": "terminal", "message": "licences"});
    check(&terminal.finish(), result, "\n• Discuss first: licences");
}

#[test]
fn escape_while_declining_goes_back_and_declines_nothing() {
    let mut terminal = asked(&[]);
    terminal.keys("d");
    terminal.wait_for("Decline this question?");
    terminal.keys("<esc>");
    terminal.wait_gone("Decline this question?");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().status(), ("answered".into(), 0));
}

#[test]
fn control_c_interrupts_and_gives_no_result() {
    let mut terminal = asked(&[]);
    terminal.keys("<c-c>");
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(130), ""));
    assert_eq!(ended.stderr, "askuser: interrupted\n");
    assert_eq!((ended.screen.as_str(), ended.modes), ("", RESTORED));
}

#[test]
fn control_c_while_typing_restores_the_terminal() {
    let mut terminal = asked(&[]);
    terminal.keys("4bun");
    terminal.wait_for("bun█");
    terminal.keys("<c-c>");
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.screen.as_str(), ended.modes), (Some(130), "", RESTORED));
}

#[test]
fn control_c_counts_before_the_prompt_is_armed() {
    let terminal = Stage::new().askuser(&["ask", "--key-delay", "1h", &example("database")], "");
    terminal.wait_for("? keys");
    let mut terminal = terminal;
    terminal.keys("<c-c>");
    assert_eq!(terminal.finish().code, Some(130));
}

/// Checks that a signal ends the process as it would end any other, and that the terminal is restored.
#[track_caller]
fn check_signal(terminal: Terminal, signal: Signal, name: &str) {
    terminal.signal(signal);
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.signal.as_deref()), (None, Some(name)));
    assert_eq!((ended.stdout.as_str(), ended.screen.as_str(), ended.modes), ("", "", RESTORED));
}

#[test]
fn sigterm_ends_it_and_the_terminal_is_restored() {
    check_signal(asked(&[]), Signal::TERM, "Terminated");
}

#[test]
fn sighup_ends_it_and_the_terminal_is_restored() {
    check_signal(asked(&[]), Signal::HUP, "Hangup");
}

#[test]
fn every_signal_that_ends_a_program_leaves_a_clean_terminal() {
    for (signal, name) in [
        (Signal::USR1, "User defined signal 1"),
        (Signal::USR2, "User defined signal 2"),
        (Signal::ALARM, "Alarm clock"),
        (Signal::VTALARM, "Virtual timer expired"),
        (Signal::PROF, "Profiling timer expired"),
        (Signal::XCPU, "CPU time limit exceeded"),
        (Signal::ABORT, "Aborted"),
        (Signal::QUIT, "Quit"),
    ] {
        check_signal(asked(&[]), signal, name);
    }
}

#[test]
fn what_is_told_to_end_at_enter_ends_with_an_answer_or_by_the_signal_and_never_both() {
    for _ in 0..20 {
        let mut terminal = asked(&[]);
        terminal.keys("1");
        terminal.signal(Signal::HUP);
        let ended = terminal.finish();
        match ended.code {
            Some(code) => assert_eq!((code, ended.picks()), (0, serde_json::json!([["PostgreSQL (Recommended)"]]))),
            None => assert_eq!((ended.signal.as_deref(), ended.stdout.as_str()), (Some("Hangup"), "")),
        }
    }
}

#[test]
fn sigterm_while_typing_restores_the_terminal() {
    let mut terminal = asked(&[]);
    terminal.keys("4bun");
    terminal.wait_for("bun█");
    check_signal(terminal, Signal::TERM, "Terminated");
}

#[test]
fn sigterm_while_reading_help_restores_the_terminal() {
    let mut terminal = asked(&[]);
    terminal.keys("?");
    terminal.wait_for("any key close");
    check_signal(terminal, Signal::TERM, "Terminated");
}

#[test]
fn sigint_from_outside_is_an_interrupt() {
    let terminal = asked(&[]);
    terminal.signal(Signal::INT);
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.screen.as_str(), ended.modes), (Some(130), "", RESTORED));
}

#[test]
fn a_signal_during_the_flash_of_success_does_not_leave_the_terminal_raw() {
    let mut terminal =
        Stage::new().askuser(&["ask", "--key-delay", "0", "--success-flash", "1s", &example("database")], "");
    terminal.wait_for("? keys");
    terminal.keys("1");
    terminal.wait_raw("●");
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.finish().modes, RESTORED);
}

#[test]
fn keys_typed_after_the_answer_are_for_the_next_reader() {
    let stage = Stage::new();
    let script = format!(
        "askuser ask --key-delay 0 --success-flash 500ms {} >out; read word; echo \"read: $word\"",
        example("database")
    );
    let mut terminal = stage.shell(&script);
    terminal.wait_for("? keys");
    terminal.keys("1");
    terminal.wait_raw("●");
    // In raw mode Enter sends a carriage return. Only a line feed also ends a line for a program that reads lines.
    terminal.keys("next<c-j>");
    terminal.wait_for("read: next");
    assert_eq!(stage.read("out").matches("\"answered\"").count(), 1);
}

/// Starts a prompt that has queried the background of its terminal, and a program that reads after it.
fn asking_its_terminal(stage: &Stage) -> Terminal {
    let script = format!(
        "askuser ask --key-delay 0 --success-flash 500ms {} >out; read word; echo \"read: $word\"",
        example("database")
    );
    let terminal = stage.shell(&script);
    terminal.wait_raw("\x1b]11;?\x1b\\\x1b[c");
    terminal
}

#[test]
fn a_reply_that_comes_late_is_taken_and_keys_typed_behind_it_are_for_the_next_reader() {
    let stage = Stage::new().env("COLORFGBG", "");
    let mut terminal = asking_its_terminal(&stage);
    terminal.keys("1");
    terminal.wait_raw("●");
    terminal.write(b"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;22cnext\n");
    terminal.wait_for("read: next");
}

#[test]
fn a_terminal_that_tells_its_attributes_alone_is_waited_for_no_longer_and_no_key_is_lost() {
    let stage = Stage::new().env("COLORFGBG", "");
    let mut terminal = asking_its_terminal(&stage);
    terminal.write(b"\x1b[?6c");
    terminal.keys("<down>");
    terminal.wait_for("> ○ MongoDB");
    terminal.keys("1");
    terminal.wait_raw("●");
    terminal.keys("next<c-j>");
    terminal.wait_for("read: next");
}

#[test]
fn the_modes_a_shell_sees_are_the_same_before_and_after() {
    for (keys, code) in [("1", "0"), ("<esc>", "1"), ("<c-c>", "130")] {
        let stage = Stage::new();
        let script = format!(
            "stty -a >before; askuser ask --key-delay 0 --success-flash 0 {} >out 2>err; echo $? >code; stty -a >after",
            example("database")
        );
        let mut terminal = stage.shell(&script);
        terminal.wait_for("? keys");
        terminal.keys(keys);
        terminal.finish();
        assert!(stage.read("before").contains("icanon"));
        assert_eq!(stage.read("before"), stage.read("after"), "{keys}");
        assert_eq!(stage.read("code").trim(), code, "{keys}");
    }
}

#[test]
fn modes_that_were_unusual_before_are_unusual_after() {
    let stage = Stage::new();
    let script = format!(
        "stty -echo -ixon intr ^X; stty -a >before; askuser ask --key-delay 0 --success-flash 0 {} >out; stty -a >after",
        example("database")
    );
    let mut terminal = stage.shell(&script);
    terminal.wait_for("? keys");
    // In raw mode the prompt reads all keys itself, whatever the shell has configured.
    terminal.keys("<down>");
    terminal.wait_for("> ○ MongoDB");
    terminal.keys("<enter>");
    terminal.finish();
    assert!(stage.read("before").contains("-echo "));
    assert_eq!(stage.read("before"), stage.read("after"));
}

#[test]
fn two_prompts_in_a_row_each_leave_one_confirmation() {
    let stage = Stage::new();
    let ask = "askuser ask --key-delay 0 --success-flash 0";
    let first = example("database");
    let second = example("package-manager");
    let mut terminal = stage.shell(&format!("{ask} {first} >one && {ask} {second} >two"));
    terminal.wait_for("Which database");
    terminal.keys("1");
    terminal.wait_for("Which package manager");
    terminal.keys("2");
    let ended = terminal.finish();
    assert_eq!(ended.screen, "\n✔ Database: PostgreSQL\n\n✔ Package Mgr: pnpm");
    assert_eq!(ended.modes, RESTORED);
}
