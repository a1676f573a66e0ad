//! `askuser agent`: a conversation in a terminal, with a scripted model.

use crate::terminal::{Ended, RESTORED, Stage, Terminal, wait_until};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::thread;
use std::time::Duration;

pub(crate) const BOX: &str = "Say what to do, or /help";

pub(crate) fn question(header: &str) -> Value {
    json!({"name": "AskUserQuestion", "input": {"questions": [{
        "question": "Which database?",
        "header": header,
        "options": [{"label": "PostgreSQL", "description": "a server"}, {"label": "SQLite", "description": "a file"}],
        "multiSelect": false,
    }]}})
}

pub(crate) fn stage(turns: Value) -> Stage {
    // These tests use a screen that keeps its lines on a resize, as xterm does.
    Stage::new().env("XTERM_VERSION", "1").file("script.json", json!({"turns": turns}).to_string())
}

const QUICK: &[&str] = &["agent", "--script", "script.json", "--key-delay", "0", "--success-flash", "0"];

pub(crate) fn start(stage: &Stage, args: &[&str]) -> Terminal {
    stage.askuser(&[QUICK, args].concat(), "")
}

#[track_caller]
fn check_restored(ended: &Ended) {
    assert_eq!(ended.modes, RESTORED);
    let raw = String::from_utf8_lossy(&ended.raw);
    let last = |mode: &str| raw.rfind(mode);
    assert!(last("\x1b[?1004l") >= last("\x1b[?1004h"), "focus is still told");
    assert!(last("\x1b[?2026l") >= last("\x1b[?2026h"), "the screen is still held");
    assert!(last("\x1b[?1049l") >= last("\x1b[?1049h"), "the alternate screen is still shown");
}

/// Returns the ids of the stored sessions.
fn sessions(stage: &Stage) -> Vec<String> {
    let folder = fs::read_dir(stage.path(".local/state/askuser/sessions")).expect("sessions");
    // The files that edits have replaced are in the same folder.
    let mut names: Vec<String> = folder
        .map(|entry| entry.expect("a session").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_conversation_with_a_question_stays_in_the_scrollback() {
    let stage = stage(json!([
        {"text": "I **ask** first.", "calls": [question("Database")]},
        {"if": "Selected: SQLite", "text": "SQLite it is:\n\n- one file"},
    ]));
    let mut terminal = start(&stage, &["hello"]);
    terminal.wait_for("╭─ Database ─╮");
    terminal.keys("<down><enter>");
    terminal.wait_for("• one file");
    terminal.wait_for(BOX);
    terminal.keys("<c-d>");
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""));
    check_restored(&ended);
    let id = &sessions(&stage)[0];
    let expected = format!(
        "> hello\n\n  I ask first.\n\n✔ Database: SQLite\n\n  SQLite it is:\n\n  • one file\n\n\
         • To resume this session:\n  askuser agent --resume {id} --script script.json"
    );
    assert!(ended.screen.ends_with(&expected), "{}", ended.screen);
}

#[test]
fn what_is_typed_while_the_agent_works_answers_no_question_and_is_kept() {
    let stage = stage(json!([
        {"text": "Wait.", "wait_ms": 1500, "calls": [question("Database")]},
        {"if": "Selected: SQLite", "text": "Good."},
    ]));
    let mut terminal = start(&stage, &["hello"]);
    terminal.wait_for("Working");
    terminal.keys("1 2 ");
    terminal.wait_for("> 1 2");
    // The person types until the question waits, and then once more.
    while !terminal.shows_within(Duration::from_millis(200), "A question waits: Database") {
        terminal.keys("1");
    }
    terminal.keys("x");
    // Without a draft, the keyboard would have to be idle for much less time.
    assert!(!terminal.shows_within(Duration::from_millis(1_500), "╭─ Database ─╮"), "{}", terminal.screen());
    terminal.keys("2 ");
    terminal.keys("<tab>");
    terminal.wait_for("╭─ Database ─╮");
    assert!(!terminal.screen().contains('●'), "{}", terminal.screen());
    terminal.keys("<down><enter>");
    terminal.wait_for("Good.");
    terminal.wait_until("the draft", |screen| {
        screen.lines().any(|line| line.starts_with("│ > 1 2 1") && line.contains("1x2"))
    });
}

#[test]
fn escape_stops_the_turn_and_what_was_not_read_comes_back() {
    let stage = stage(json!([{"text": "never", "wait_ms": 600_000}]));
    let mut terminal = start(&stage, &["hello"]);
    terminal.wait_for("Working");
    terminal.keys("now<enter>");
    terminal.wait_for("sent: now");
    terminal.keys("/undo<enter>");
    terminal.wait_for("waits: /undo");
    terminal.keys("<esc>");
    terminal.wait_for("• Stopped.");
    terminal.wait_for("│ > now");
    terminal.wait_for("/undo");
    terminal.wait_gone("Working");
}

#[test]
fn what_is_sent_while_the_agent_works_is_heard_before_its_next_request() {
    let stage = stage(json!([
        {"calls": [{"name": "Bash", "input": {"command": "sleep 2; echo first"}}, {"name": "Bash", "input": {"command": "touch second"}}]},
        {"if": "only one", "text": "Heard."}, {"text": "Not heard."},
    ]));
    let mut terminal = start(&stage, &["hello", "--permissions", "allow"]);
    terminal.wait_for("Bash sleep 2");
    terminal.keys("only one<enter>");
    terminal.wait_for("sent: only one");
    terminal.wait_for("Heard.");
    terminal.wait_gone("sent:");
    let screen = terminal.screen();
    let places = ["sleep 2", "touch second", "> only one", "Heard."].map(|words| screen.find(words).expect(words));
    assert!(places.is_sorted() && !screen.contains("Not heard"), "{screen}");
    assert!(!stage.path("second").exists());
}

#[test]
fn escape_at_a_question_is_the_questions_and_control_c_stops_the_turn() {
    let stage = stage(json!([
        {"calls": [question("One")]},
        {"if": "dismissed", "text": "x", "calls": [question("Two")]},
        {"calls": [question("Two")]},
    ]));
    let mut terminal = start(&stage, &["hello"]);
    terminal.wait_for("╭─ One ─╮");
    terminal.keys("<esc>");
    terminal.wait_for("╭─ Two ─╮");
    terminal.keys("<c-c>");
    terminal.wait_for("• Stopped.");
    terminal.wait_for(BOX);
}

#[test]
fn control_c_twice_quits_and_gives_the_terminal_back() {
    let mut terminal = start(&stage(json!([])), &[]);
    terminal.wait_for(BOX);
    terminal.keys("draft");
    terminal.wait_for("> draft");
    terminal.keys("<c-c>");
    terminal.wait_for("Press Ctrl-C again to quit.");
    terminal.keys("<c-c>");
    let ended = terminal.finish();
    assert_eq!(ended.code, Some(0));
    check_restored(&ended);
}

#[test]
fn a_signal_ends_it_in_good_order_and_the_draft_is_kept() {
    let stage = stage(json!([{"text": "x", "wait_ms": 600_000}]));
    let mut terminal = start(&stage, &["hello"]);
    terminal.wait_for("Working");
    terminal.keys("half a thought");
    terminal.wait_for("> half a thought");
    terminal.signal(Signal::TERM);
    let ended = terminal.finish();
    assert_eq!(ended.signal.as_deref(), Some("Terminated"));
    check_restored(&ended);
    assert!(stage.read(".local/state/askuser/history.jsonl").contains("half a thought"));
    let mut again = start(&stage, &[]);
    again.wait_for(BOX);
    again.keys("<up>");
    again.wait_for("> half a thought");
}

#[test]
fn killed_at_a_question_it_asks_again_and_goes_on() {
    let stage =
        stage(json!([{"text": "I ask.", "calls": [question("Database")]}, {"if": "PostgreSQL", "text": "Thanks."}]));
    let terminal = start(&stage, &["hello"]);
    terminal.wait_for("╭─ Database ─╮");
    terminal.signal(Signal::KILL);
    drop(terminal);
    let mut again = start(&stage, &["--continue"]);
    again.wait_for("╭─ Database ─╮");
    let screen = again.screen();
    assert!(screen.contains("> hello") && screen.contains("I ask."), "{screen}");
    again.keys("<enter>");
    again.wait_for("Thanks.");
    assert_eq!(sessions(&stage).len(), 1);
}

#[test]
fn killed_at_a_half_answered_set_it_shows_what_was_filled_in() {
    let mut set = question("Database");
    let mut second = question("Cache")["input"]["questions"][0].take();
    second["question"] = "Which cache?".into();
    set["input"]["questions"].as_array_mut().expect("questions").push(second);
    let stage = stage(json!([{"calls": [set]}, {"if": "Other: in a shoe box", "text": "Thanks."}]));
    let mut terminal = start(&stage, &["hello"]);
    terminal.wait_for("Which database?");
    terminal.keys("<down><enter>");
    terminal.wait_for("Which cache?");
    terminal.keys("<down><down>in a shoe");
    terminal.wait_for("in a shoe");
    wait_until("the draft is kept", || {
        let kept = stage.path(&format!(".local/state/askuser/sessions/{}.draft", sessions(&stage)[0]));
        fs::read_to_string(kept).is_ok_and(|kept| kept.contains("in a shoe"))
    });
    terminal.signal(Signal::KILL);
    drop(terminal);
    let mut again = start(&stage, &["--continue"]);
    again.wait_for("Which cache?");
    again.wait_for("in a shoe");
    again.keys("<down><down><enter> box<enter>");
    again.wait_for("SQLite");
    again.keys("<enter>");
    again.wait_for("Thanks.");
    let kept = stage.path(&format!(".local/state/askuser/sessions/{}.draft", sessions(&stage)[0]));
    wait_until("what was sent is no draft", || !kept.exists());
}

#[test]
fn a_file_that_is_named_while_the_agent_works_is_attached_too() {
    let stage = stage(json!([
        {"calls": [{"name": "Bash", "input": {"command": "sleep 2"}}]}, {"if": "fn hidden_inside", "text": "I have read it."},
    ]))
    .file("main.rs", "fn hidden_inside() {}\n");
    let mut terminal = start(&stage, &["hello", "--permissions", "allow"]);
    terminal.wait_for("Bash sleep 2");
    terminal.keys("look at @main.rs, please<enter>");
    terminal.wait_for("sent: look at @main.rs, please");
    terminal.wait_for("• Attached: main.rs");
    terminal.wait_for("I have read it.");
    terminal.wait_gone("sent:");
    assert!(!terminal.screen().contains("hidden_inside"), "{}", terminal.screen());
}

#[test]
fn told_to_end_at_a_question_it_leaves_the_question_open() {
    let stage = stage(json!([{"calls": [question("Database")]}, {"if": "PostgreSQL", "text": "Thanks."}]));
    let terminal = start(&stage, &["hello"]);
    terminal.wait_for("╭─ Database ─╮");
    terminal.signal(Signal::TERM);
    check_restored(&terminal.finish());
    let again = start(&stage, &["--continue"]);
    again.wait_for("╭─ Database ─╮");
}

#[test]
fn an_earlier_session_is_chosen_like_any_answer() {
    let stage = stage(json!([{"text": "Hello to you."}]));
    let mut first = start(&stage, &["remember me"]);
    first.wait_for("Hello to you.");
    first.wait_gone("Working");
    first.keys("<c-d>");
    first.finish();
    let mut second = start(&stage, &[]);
    second.wait_for(BOX);
    second.keys("/resume<enter>");
    second.wait_for("Which session do you want to resume?");
    second.wait_for("remember me");
    second.keys("<enter>");
    second.wait_for("✔ Resume: remember me");
    second.wait_for("Hello to you.");
    assert!(second.screen().contains(&format!("session {}", sessions(&stage)[0])), "{}", second.screen());
}

#[test]
fn a_plan_is_shown_as_markdown_and_approved_in_the_same_prompt() {
    let plan = json!({"name": "ExitPlanMode", "input": {"plan": "## Steps\n1. **Look**\n2. Leap"}});
    let stage =
        stage(json!([{"text": "Here it is.", "calls": [plan]}, {"if": "approved the plan", "text": "Off I go."}]));
    let mut terminal = start(&stage, &[]);
    terminal.wait_for(BOX);
    terminal.keys("/plan<enter>");
    terminal.wait_for("╭─ plan mode ─");
    terminal.keys("make a plan<enter>");
    terminal.wait_for("Go ahead with this plan?");
    assert!(terminal.screen().contains("│  ┃ Steps\n│  ┃ 1. Look\n│  ┃ 2. Leap\n"), "{}", terminal.screen());
    terminal.keys("<enter>");
    terminal.wait_for("Off I go.");
    terminal.wait_gone("╭─ plan mode ─");
    assert_eq!(terminal.history().matches("┃ 2. Leap").count(), 1);
}

#[test]
fn a_plan_of_six_lines_shows_its_title_at_80_by_24() {
    let plan = "# Rewrite the parser\n\n1. Read it\n2. Write tests\n3. Change it\n4. Run them";
    let plan = json!({"name": "ExitPlanMode", "input": {"plan": plan}});
    let stage = stage(json!([{"text": "Here it is.", "calls": [plan]}, {"text": "Good."}]));
    let mut terminal = start(&stage, &[]);
    terminal.wait_for(BOX);
    terminal.keys("/plan<enter>");
    terminal.wait_for("╭─ plan mode ─");
    terminal.keys("make a plan<enter>");
    terminal.wait_for("Go ahead with this plan?");
    terminal.wait_for("Other");
    let screen = terminal.screen();
    assert!(screen.contains("│ ┃ Rewrite the parser\n") && screen.contains("│ ┃ 4. Run them\n"), "{screen}");
}

#[test]
fn a_permission_shows_its_whole_command_at_40_by_12() {
    let bash = json!({"name": "Bash", "input": {"command": "cd build\nrm -r    cache\nmake all"}});
    let stage = stage(json!([{"calls": [bash]}, {"text": "Done."}])).size(40, 12);
    let terminal = start(&stage, &["go"]);
    terminal.wait_for("╭ Bash");
    terminal.wait_for("╰ ");
    let screen = terminal.screen();
    for line in ["cd build", "rm -r    cache", "make all"] {
        assert!(screen.lines().any(|row| row.starts_with("│ ┃ ") && row.contains(line)), "{screen}");
    }
    assert!(screen.contains("> 1 ○ "), "{screen}");
}

#[test]
fn a_subagents_question_comes_after_what_was_said_before_it() {
    let task = json!({"name": "Task", "input": {"description": "audit deps", "prompt": "go"}});
    let script = json!({
        "turns": [{"text": "I hand it over.", "calls": [task.clone()]}, {"text": "All done."}],
        "tasks": {"audit deps": [{"calls": [question("Database")]}, {"text": "found"}]},
    });
    let stage = stage(json!([])).file("script.json", script.to_string());
    let mut terminal = start(&stage, &["hello"]);
    terminal.wait_for("Asked by: task 'audit deps'");
    assert!(terminal.screen().contains("I hand it over."), "{}", terminal.screen());
    terminal.keys("<enter>");
    terminal.wait_for("● Task audit deps  ✔");
    terminal.wait_for("All done.");
}

#[test]
fn a_refusal_runs_nothing_and_leaves_one_line() {
    let write = json!({"name": "Write", "input": {"path": "new.txt", "content": "one\ntwo\n"}});
    let stage = stage(json!([{"text": "I write.", "calls": [write]}, {"if": "did not allow", "text": "Then not."}]));
    let mut terminal = start(&stage, &["go"]);
    terminal.wait_for("╭─ Write ─╮");
    assert!(terminal.screen().contains("│  2 ┃ +two\n"), "{}", terminal.screen());
    terminal.keys("3");
    terminal.wait_for("Then not.");
    let history = terminal.history();
    assert!(history.contains("● Write new.txt  ✘ not allowed") && !history.contains("+two"), "{history}");
    assert!(!stage.path("new.txt").exists());
}

#[test]
fn a_question_calls_only_a_person_who_looks_elsewhere() {
    let turns = || json!([{"wait_ms": 700, "calls": [question("Database")]}, {"text": "ok"}]);
    let calls = |ended: &Ended| {
        let raw = String::from_utf8_lossy(&ended.raw).into_owned();
        (raw.contains("\x07\x1b]9;askuser: Database\x07"), raw.contains("\x1b]2;● askuser: Database\x07"))
    };
    let run = |focus: &[u8], args: &[&str]| {
        let mut terminal = start(&stage(turns()), &[&["hello"], args].concat());
        terminal.wait_for("Working");
        terminal.write(focus);
        terminal.wait_for("╭─ Database ─╮");
        terminal.keys("<enter>");
        terminal.wait_for("ok");
        terminal.wait_gone("Working");
        terminal.keys("<c-d>");
        let ended = terminal.finish();
        let raw = String::from_utf8_lossy(&ended.raw).into_owned();
        assert_eq!(raw.matches("\x1b]2;askuser\x07").count(), usize::from(args.is_empty()));
        calls(&ended)
    };
    assert_eq!(run(b"\x1b[O", &[]), (true, true));
    assert_eq!(run(b"\x1b[I", &[]), (false, true));
    let mut quiet = start(&stage(turns()).file("config/askuser/askuser.toml", "notify = false"), &["hello"]);
    quiet.wait_for("╭─ Database ─╮");
    quiet.keys("<enter>");
    quiet.wait_for("ok");
    quiet.wait_gone("Working");
    quiet.keys("<c-d>");
    assert_eq!(calls(&quiet.finish()), (false, false));
}

#[test]
fn control_z_and_back_keep_the_draft_and_leave_no_modes_behind() {
    let stage = stage(json!([])).env("PS1", "ready$ ").env("BASH_SILENCE_DEPRECATION_WARNING", "1");
    let mut terminal = stage.command(&["bash", "--norc", "--noprofile", "--noediting", "-i"]);
    terminal.wait_behind("ready$ ");
    terminal.keys("askuser agent --script script.json 2>err<enter>");
    terminal.wait_for(BOX);
    terminal.keys("draft");
    terminal.wait_for("> draft");
    terminal.keys("<c-z>");
    terminal.wait_for("Stopped");
    terminal.wait_behind("ready$ ");
    let screen = terminal.screen();
    assert!(!screen.contains('│'), "{screen}");
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert!(raw.rfind("\x1b[?1004l") > raw.rfind("\x1b[?1004h"), "focus is still told");
    terminal.keys("fg<enter>");
    terminal.wait_for("> draft");
    terminal.keys("!");
    terminal.wait_for("> draft!");
    assert_eq!(terminal.screen().matches("> draft!").count(), 1);
}

#[test]
fn the_box_follows_the_size_and_the_scrollback_stays() {
    let stage = stage(json!([{"text": "Some words that stay where they are."}]));
    let mut terminal = start(&stage, &["hello"]);
    terminal.wait_for("where they are.");
    terminal.wait_gone("Working");
    for columns in [60, 100, 40] {
        terminal.resize(columns, 24);
        let bottom = format!("╰{}╯", "─".repeat(usize::from(columns) - 3));
        terminal.wait_until("a box of that width", |screen| screen.contains(&bottom));
        terminal.wait_until("one box", |screen| screen.matches('╰').count() == 1);
    }
    assert_eq!(terminal.screen().matches("hello").count(), 1, "{}", terminal.screen());
}

#[test]
fn in_line_mode_the_same_conversation_moves_no_cursor_and_has_no_colours() {
    let stage = stage(json!([
        {"text": "I **ask** first.", "calls": [question("Database")]},
        {"if": "Selected: SQLite", "text": "Good."},
    ]));
    let mut terminal = start(&stage, &["--plain"]);
    terminal.wait_behind("> ");
    terminal.keys("/hepl<enter>");
    terminal.wait_for("There is no command /hepl.");
    terminal.wait_behind("> ");
    terminal.keys("hello<enter>");
    terminal.wait_for("Choose 1 to 3 (? for help):");
    terminal.keys("2<enter>");
    terminal.wait_for("Good.");
    terminal.wait_behind("> ");
    terminal.keys("<c-d>");
    let ended = terminal.finish();
    assert_eq!(ended.code, Some(0));
    check_restored(&ended);
    let raw = String::from_utf8_lossy(&ended.raw).into_owned();
    assert!(!raw.contains('\x1b'), "{raw:?}");
}

#[test]
fn in_line_mode_the_rest_of_a_line_does_not_answer_a_question_that_came_in_between() {
    let stage = stage(json!([
        {"wait_ms": 800, "calls": [question("Database")]},
        {"if": "Selected: PostgreSQL", "text": "First."},
        {"if": "use version 2", "text": "Good."},
    ]));
    let mut terminal = start(&stage, &["--plain", "hello"]);
    terminal.wait_for("hello");
    terminal.keys("use version ");
    terminal.wait_for("A question waits: Database.");
    terminal.wait_behind("> use version ");
    terminal.keys("2<enter>");
    terminal.wait_for("Choose 1 to 3 (? for help):");
    terminal.keys("1<enter>");
    terminal.wait_for("✔ Database: PostgreSQL");
    terminal.wait_for("Good.");
}

#[test]
fn in_line_mode_a_half_typed_line_is_kept_over_a_question() {
    let stage = stage(json!([
        {"wait_ms": 800, "calls": [question("Database")]},
        {"if": "Selected: PostgreSQL", "text": "First."},
        {"if": "use version 2", "text": "Good."},
    ]));
    let mut terminal = start(&stage, &["--plain", "hello"]);
    terminal.wait_for("hello");
    terminal.keys("use version ");
    terminal.wait_behind("> use version ");
    terminal.keys("<enter>");
    terminal.wait_for("Choose 1 to 3 (? for help):");
    terminal.keys("1<enter>");
    terminal.wait_for("First.");
    terminal.wait_behind("> use version ");
    terminal.keys("2<enter>");
    terminal.wait_for("Good.");
}

#[test]
fn in_line_mode_a_terminal_that_goes_away_is_no_farewell() {
    for (turns, shown) in [
        (json!([{"text": "x", "wait_ms": 600_000}]), "hello"),
        (json!([{"calls": [question("Database")]}]), "Choose 1 to 3"),
    ] {
        let stage = stage(turns);
        // The process ignores the signal that would end it, as under nohup, so it must detect the closed terminal
        // itself.
        let askuser = env!("CARGO_BIN_EXE_askuser");
        let script = format!("trap '' HUP; {askuser} agent --script script.json --plain hello 2>err; echo $? >code");
        // The test uses a separate terminal, because the usual one ends with Ctrl-D.
        let pair = native_pty_system().openpty(PtySize::default()).expect("a PTY");
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", &script]);
        command.cwd(stage.path(""));
        command.env("HOME", stage.path(""));
        command.env_remove("XDG_STATE_HOME");
        let mut child = pair.slave.spawn_command(command).expect("a process");
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let mut seen = Vec::new();
        let mut byte = [0];
        while !String::from_utf8_lossy(&seen).contains(shown) {
            reader.read_exact(&mut byte).expect("output");
            seen.extend(byte);
        }
        drop((reader, pair));
        wait_until("its end without a terminal", || !stage.read("code").is_empty());
        assert_eq!(stage.read("code").trim(), "129", "{shown}");
        let record = stage.read(&format!(".local/state/askuser/sessions/{}.jsonl", sessions(&stage)[0]));
        assert!(!record.contains("cancelled"), "{record}");
        child.wait().expect("an end");
    }
}

#[test]
fn in_line_mode_a_signal_at_a_question_ends_its_line() {
    let stage = stage(json!([{"calls": [question("Database")]}]));
    let terminal = start(&stage, &["--plain", "hello"]);
    terminal.wait_behind("Choose 1 to 3 (? for help): ");
    terminal.signal(Signal::TERM);
    let ended = terminal.finish();
    assert_eq!(ended.signal.as_deref(), Some("Terminated"));
    assert!(ended.raw.ends_with(b"\n"), "{:?}", String::from_utf8_lossy(&ended.raw));
}

#[test]
fn a_session_after_one_that_was_killed_at_a_question_has_a_cursor_and_a_clean_screen() {
    let stage = stage(json!([{"calls": [question("Database")]}, {"text": "Thanks."}]))
        .file("pause.json", json!({"turns": []}).to_string())
        .env("PS1", "ready$ ");
    let mut terminal = stage.command(&["bash", "--norc", "--noprofile", "--noediting", "-i"]);
    terminal.wait_behind("ready$ ");
    terminal.keys("sh -c 'echo $$ >pid; exec askuser agent --script script.json hello'<enter>");
    terminal.wait_for("╭─ Database ─╮");
    let pid = stage.read("pid").trim().parse().expect("a process");
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).expect("a process"), Signal::KILL)
        .expect("killed");
    terminal.wait_for("Killed");
    terminal.keys("<c-u>stty sane; askuser agent --script pause.json<enter>");
    terminal.wait_for(BOX);
    assert!(!terminal.look(|screen| screen.hide_cursor()), "the cursor is hidden");
    assert!(!terminal.screen().contains("SQLite"), "{}", terminal.screen());
}

#[test]
fn control_c_at_a_question_and_again_quits() {
    let stage = stage(json!([{"calls": [question("Database")]}]));
    let mut terminal = start(&stage, &["hello"]);
    terminal.wait_for("╭─ Database ─╮");
    terminal.keys("<c-c>");
    terminal.wait_for("Press Ctrl-C again to quit.");
    terminal.keys("<c-c>");
    let ended = terminal.finish();
    assert_eq!(ended.code, Some(0));
    check_restored(&ended);
}

#[test]
fn a_held_key_answers_one_question_and_not_the_next() {
    let turns = json!([{"calls": [question("One"), question("Two")]}, {"text": "Both."}]);
    let mut terminal = stage(turns).askuser(&["agent", "--script", "script.json", "hello"], "");
    terminal.wait_for("╭─ One ─╮");
    // A held key counts once the prompt was visible. It repeats after half a second, thirty times a second. The test
    // checks the time between its presses.
    thread::sleep(Duration::from_millis(300));
    terminal.keys("1");
    thread::sleep(Duration::from_millis(500));
    for _ in 0..20 {
        terminal.keys("1");
        thread::sleep(Duration::from_millis(30));
    }
    terminal.wait_for("╭─ Two ─╮");
    thread::sleep(Duration::from_millis(800));
    terminal.keys("2");
    terminal.wait_for("✔ Two: SQLite");
    terminal.wait_for("Both.");
}

#[test]
fn the_title_is_the_shells_while_the_process_is_stopped_also_at_a_question() {
    let stage = stage(json!([{"calls": [question("Database")]}])).env("PS1", "ready$ ");
    let mut terminal = stage.command(&["bash", "--norc", "--noprofile", "--noediting", "-i"]);
    terminal.wait_behind("ready$ ");
    terminal.keys("askuser agent --script script.json --key-delay 0 hello 2>err<enter>");
    terminal.wait_for("╭─ Database ─╮");
    terminal.keys("<c-z>");
    terminal.wait_for("Stopped");
    terminal.wait_behind("ready$ ");
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert!(raw.rfind("\x1b]2;\x07\x1b[23;2t") > raw.rfind("\x1b]2;● askuser: Database\x07"), "{raw:?}");
    terminal.keys("fg<enter>");
    terminal.wait_for("╭─ Database ─╮");
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert!(raw.rfind("\x1b[22;2t\x1b]2;● askuser: Database\x07") > raw.rfind("\x1b[23;2t"), "{raw:?}");
}

#[test]
fn a_session_that_is_open_elsewhere_is_not_offered() {
    let stage = stage(json!([{"text": "Hello to you."}]));
    let elsewhere = start(&stage, &["remember me"]);
    elsewhere.wait_for("Hello to you.");
    let mut here = start(&stage, &[]);
    here.wait_for(BOX);
    here.keys("/resume<enter>");
    here.wait_for("There is no other session of this folder that is not open elsewhere.");
    let rows = here.rows();
    let note = rows.iter().position(|row| row.contains("There is no other session")).expect("the note");
    assert_eq!(rows[note - 1].trim(), "");
}

#[test]
fn what_is_begun_as_a_question_opens_goes_to_the_draft() {
    let turns = json!([{"text": "Wait.", "calls": [question("Database")]}, {"text": "Good."}]);
    // The delay leaves time for typing on a busy machine.
    let mut terminal = stage(turns).askuser(&["agent", "--key-delay", "1s", "--script", "script.json", "hello"], "");
    terminal.wait_for("╭─ Database ─╮");
    terminal.keys("so 1d it");
    // A person who has seen the question does not type at first.
    assert!(!terminal.shows_within(Duration::from_millis(1_300), "Good."), "{}", terminal.screen());
    terminal.keys("<down><enter>");
    terminal.wait_for("Good.");
    terminal.wait_for("> so 1d it");
}

#[test]
fn a_long_message_is_written_in_the_editor() {
    let stage = stage(json!([{"if": "from the editor", "text": "Read."}]))
        .file("editor", "#!/bin/sh\nprintf ' and\\nfrom the editor\\n' >>\"$1\"\n")
        .env("EDITOR", "sh editor");
    let mut terminal = start(&stage, &[]);
    terminal.wait_for(BOX);
    terminal.keys("begun");
    terminal.wait_for("> begun");
    terminal.keys("<c-g>");
    terminal.wait_for("  from the editor");
    terminal.keys("<enter>");
    terminal.wait_for("Read.");
}

#[test]
fn a_paste_of_several_lines_is_one_message() {
    let stage = stage(json!([{"if": "one\ntwo", "text": "Both."}]));
    let mut terminal = start(&stage, &[]);
    terminal.wait_for(BOX);
    terminal.paste("one\rtwo");
    terminal.wait_for("│   two");
    terminal.keys("<enter>");
    terminal.wait_for("Both.");
}

#[test]
fn nothing_a_model_writes_reaches_the_terminal_as_a_command() {
    let evil = "a\u{1b}]2;evil\u{7}b\u{1b}[2J\u{9b}5mc";
    let stage = stage(json!([{"text": evil, "calls": [{"name": evil, "input": {"command": evil}}]}, {"text": "End."}]));
    let mut terminal = start(&stage, &["hello"]);
    terminal.wait_for("End.");
    terminal.wait_gone("Working");
    terminal.keys("<c-d>");
    let raw = String::from_utf8_lossy(&terminal.finish().raw).into_owned();
    assert!(!raw.contains("\x1b]2;evil") && !raw.contains("\x1b[2J") && !raw.contains('\u{9b}'), "{raw:?}");
}

#[test]
fn a_light_terminal_that_says_nothing_of_itself_is_asked_after_the_first_frame_and_the_box_is_repainted() {
    let stage = stage(json!([{"text": "Hello."}, {"calls": [question("Database")]}]));
    let stage = stage.env("COLORTERM", "truecolor").env("COLORFGBG", "");
    let mut terminal = start(&stage, &["hello"]);
    terminal.wait_raw("\x1b]11;?\x1b\\\x1b[c");
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert!(raw.find("╭─") < raw.find("\x1b]11;?"), "asked before the first frame");
    assert!(!raw.contains("38;2;"), "{raw:?}");
    terminal.write(b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c");
    // This is the colour of the text field's mark in the light palette.
    terminal.wait_raw("38;2;79;70;229");
    terminal.wait_for(BOX);
    terminal.keys("again<enter>");
    terminal.wait_for("╭─ Database");
    terminal.keys("1");
    terminal.wait_for("✔ Database: PostgreSQL");
    terminal.keys("<c-d>");
    let ended = terminal.finish();
    check_restored(&ended);
    assert_eq!(String::from_utf8_lossy(&ended.raw).matches("\x1b]11;?").count(), 1, "asked once");
}

#[test]
fn neither_the_models_words_nor_a_tools_output_can_look_like_an_answer_or_a_call_of_ours() {
    let forged = ["✔ Bash: Allow once", "● Bash rm -rf ~  ✔ 0.4s", "> go ahead", "• Tools run without asking."];
    // The forged text appears as prose, as code, in a command output, and after a width at which the terminal would
    // break it.
    let wide = |columns: usize| format!("{}{}", "x".repeat(columns), forged[0]);
    let code: Vec<String> = [70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80].map(wide).to_vec();
    let text = format!("Look.\n\n{}\n\n```\n{}\n{}\n```", forged.join("\n\n"), forged.join("\n"), code.join("\n"));
    let call = json!({"name": "Read", "input": {"file_path": "notes.txt"}});
    for variable in ["COLORTERM", "NO_COLOR"] {
        let stage = stage(json!([{"text": text, "calls": [call]}, {"text": "Done."}]))
            .env(variable, "1")
            .file("notes.txt", format!("{}\n{}", forged.join("\n"), wide(76)));
        let mut terminal = start(&stage, &[]);
        terminal.wait_for(BOX);
        terminal.keys("hello<enter>");
        terminal.wait_for("Done.");
        terminal.wait_for(BOX);
        // The pager shows the whole text that the tool has read.
        terminal.keys("<c-o>");
        terminal.wait_for("(END)");
        let history = format!("{}\n{}", terminal.screen(), {
            terminal.keys("q");
            terminal.wait_for(BOX);
            terminal.history()
        });
        assert!(forged.iter().all(|line| history.contains(line)), "{history}");
        for line in history.lines() {
            assert!(!forged.iter().any(|forged| line.starts_with(forged)), "{line:?} in\n{history}");
        }
    }
}

#[test]
fn answers_that_match_a_question_without_fitting_it_are_told_in_the_conversation_and_the_person_is_asked() {
    let stage = stage(json!([{"calls": [question("Database")]}, {"text": "Good."}]))
        .file("answers.json", json!({"/Which .*/": "Redis"}).to_string());
    let mut terminal = start(&stage, &["--answers", "answers.json", "hello"]);
    terminal.wait_for("╭─ Database ─╮");
    terminal.keys("1");
    terminal.wait_for("Good.");
    let told: String = terminal.history().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("⚠ answers.json does not fit a question it matches, so the person is asked"), "{told}");
}

#[test]
fn outputs_are_read_in_the_persons_pager_the_newest_first() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let read = |name: &str| json!({"calls": [{"name": "Read", "input": {"path": name}}]});
        let script = json!([read("short.txt"), read("long.txt"), {"text": "Done."}]);
        let text: String = (1..=1_500).map(|n| format!("number {n}\n")).collect();
        let stage = stage(script).size(columns, rows).file("long.txt", text).file("short.txt", "an earlier one\n");
        let pager = stage.path("pager");
        std::fs::write(&pager, "#!/bin/sh\ncp \"$1\" shown; printf 'reading '; read line\n").unwrap();
        std::fs::set_permissions(&pager, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let stage = stage.env("PAGER", pager.to_str().unwrap());
        let mut terminal = start(&stage, &["go"]);
        terminal.wait_for("Done.");
        terminal.wait_gone("Working");
        terminal.keys("draft<c-o>");
        terminal.wait_for("reading");
        let shown = std::fs::read_to_string(stage.path("shown")).unwrap();
        let places = ["● Read long.txt", "number 1\n", "number 1500", "● Read short.txt", "an earlier one"];
        assert!(places.map(|words| shown.find(words).expect(words)).is_sorted(), "{shown}");
        terminal.keys("<enter>");
        terminal.wait_for("│ > draft");
        assert!(terminal.screen().contains("Done."), "{}", terminal.screen());
        terminal.keys("<c-c><c-d>");
        check_restored(&terminal.finish());
    }
}

#[test]
fn thoughts_are_one_line_while_they_last() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let thought = format!("{}at the end a decision.", "I think about it at length. ".repeat(20));
        let script = json!({"pace_ms": 5, "turns": [{"thought": thought, "text": "Done it is."}]});
        let stage = stage(json!([])).size(columns, rows).file("script.json", script.to_string());
        let mut terminal = start(&stage, &["go"]);
        terminal.wait_for("Thinking");
        terminal.wait_for("Done it is.");
        terminal.wait_for(BOX);
        let screen = terminal.screen();
        assert!(!screen.contains("Thought for ") && !screen.contains("at length"), "{screen}");
        terminal.keys("<c-o>");
        terminal.wait_for("at the end a decision.");
        terminal.keys("q");
        terminal.wait_for(BOX);
    }
}

#[test]
fn shift_tab_changes_what_needs_permission_in_the_middle_of_a_turn() {
    let write = |path: &str| json!({"name": "Write", "input": {"path": path, "content": "x\n"}});
    let stage = stage(json!([
        {"wait_ms": 1_500, "calls": [write("one.txt")]},
        {"wait_ms": 1_500, "calls": [write("two.txt")]},
        {"text": "Done."},
    ]));
    let mut terminal = start(&stage, &["go"]);
    terminal.wait_for("asks first (Shift-Tab)");
    terminal.write(b"\x1b[Z");
    terminal.wait_for("╭─ accepts edits ─");
    terminal.wait_for("● Write one.txt  ✔");
    terminal.write(b"\x1b[Z");
    terminal.wait_for("╭─ plan mode ─");
    terminal.write(b"\x1b[Z");
    terminal.wait_for("asks first (Shift-Tab)");
    terminal.wait_for("╭─ Write ─╮");
    assert!(!stage.path("two.txt").exists());
    terminal.keys("1");
    terminal.wait_for("Done.");
    assert!(stage.path("two.txt").exists());
}

#[test]
fn a_command_that_was_allowed_is_one_line_and_what_it_writes_is_seen() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let bash = json!({"name": "Bash", "input": {"command": "seq 1 9; until test -e go; do sleep 0.05; done"}});
        let stage = stage(json!([{"text": "I run.", "calls": [bash]}, {"text": "Done."}])).size(columns, rows);
        let mut terminal = start(&stage, &["hello"]);
        terminal.wait_for("╭─ Bash ─╮");
        terminal.keys("1");
        terminal.wait_for("\n    9\n");
        let screen = terminal.screen();
        assert!(screen.contains("\n    5\n    6\n    7\n    8\n    9\n") && !screen.contains("    4\n"), "{screen}");
        // The pager shows the output written so far.
        terminal.keys("<c-o>");
        terminal.wait_for("\n  1\n");
        terminal.keys("q");
        std::fs::write(stage.path("go"), "").expect("a file");
        terminal.wait_for("Done.");
        terminal.wait_for(BOX);
        let history = terminal.history();
        let lines: Vec<&str> = history.lines().filter(|line| line.contains("Bash")).collect();
        assert!(
            matches!(lines[..], [line] if line.starts_with("● Bash seq 1 9;") && line.contains("✔ Allow once")),
            "{history}"
        );
        assert!(!history.contains("    9"), "{history}");
    }
}

#[test]
fn a_session_that_is_taken_up_shows_answers_as_answers() {
    let bash = json!({"name": "Bash", "input": {"command": "echo out; exit 3"}});
    let stage = stage(json!([
        {"text": "I ask.", "calls": [question("Database")]},
        {"text": "I run.", "calls": [bash]},
        {"text": "It failed."},
    ]));
    let mut first = start(&stage, &["hello"]);
    first.wait_for("╭─ Database ─╮");
    first.keys("2");
    first.wait_for("╭─ Bash ─╮");
    first.keys("1");
    first.wait_for("It failed.");
    first.wait_for(BOX);
    first.keys("<c-d>");
    first.finish();
    let again = start(&stage, &["--continue"]);
    again.wait_for("It failed.");
    again.wait_for(BOX);
    let screen = again.screen();
    let expected = [
        "> hello",
        "  I ask.",
        "✔ Database: SQLite",
        "  I run.",
        "● Bash echo out; exit 3  ✘ exit code 3",
        "  It failed.",
    ];
    let places = expected.map(|line| screen.find(line).unwrap_or_else(|| panic!("{line} in\n{screen}")));
    assert!(places.is_sorted(), "{screen}");
    assert!(!screen.contains("User answered"), "{screen}");
}

#[test]
fn a_resumed_session_has_the_rows_of_the_live_one() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let write = |path: &str, content: &str| json!({"name": "Write", "input": {"path": path, "content": content}});
        let bash = |command: &str| json!({"name": "Bash", "input": {"command": command}});
        let task = json!({"name": "Task", "input": {"description": "audit deps", "prompt": "go"}});
        let script = json!({
            "turns": [
                {"thought": "Hm.", "text": "I ask **first**.\n\n- and then\n", "calls": [question("Database")]},
                {"text": "I write.", "calls": [write("a.txt", "one\ntwo\n")]},
                {"calls": [{"name": "Edit", "input": {"path": "a.txt", "old_string": "two", "new_string": "three"}}]},
                {"text": "Once more.", "calls": [write("b.txt", "b"), write("c.txt", "c")]},
                {"text": "I run.", "calls": [bash("echo out\nexit 3")]},
                {"text": "A subagent.", "calls": [task]},
                {"text": "Done.", "calls": []},
                {"text": "I see."},
                {"calls": [bash("sleep 60")]},
            ],
            "tasks": {"audit deps": [
                {"calls": [{"name": "Glob", "input": {"pattern": "*.txt"}}]},
                {"calls": [question("Crate")]},
                {"calls": [bash("echo below")]},
                {"text": "audited"},
            ]},
        });
        let stage = stage(json!([])).size(columns, rows).file("script.json", script.to_string());
        let mut live = start(&stage, &["hello"]);
        for (header, key) in [
            ("Which database?", "2"),
            ("a.txt (+2)?", "1"),
            ("a.txt (+1", "1"),
            ("b.txt (+1)?", "3"),
            ("Run this command?", "1"),
            ("Asked by: task 'audit deps'", "<esc>"),
            ("┃ echo below", "1"),
        ] {
            live.wait_for(header);
            live.keys(key);
            live.wait_gone(header);
        }
        live.wait_for("Done.");
        live.wait_gone("Working");
        live.keys("!seq 1 3<enter>");
        live.wait_for("    3");
        live.wait_gone("Working");
        live.keys("/undo<enter>");
        live.wait_for("as it was before its last edit");
        live.keys("and now?<enter>");
        live.wait_for("I see.");
        live.wait_gone("Working");
        live.keys("run<enter>");
        live.wait_for("Run this command?");
        live.keys("1");
        live.wait_for("Bash sleep 60");
        // A key right after a question is ignored.
        std::thread::sleep(Duration::from_millis(900));
        live.keys("<esc>");
        live.wait_for("• Stopped.");
        live.wait_for(BOX);
        let shown = |terminal: &Terminal| -> Vec<String> {
            let history = terminal.history();
            let rows = history.lines().map(|line| line.trim_end().to_owned());
            rows.take_while(|line| !line.starts_with("╭──")).collect()
        };
        let rows = shown(&live);
        live.keys("<c-d>");
        live.finish();
        let resumed = start(&stage, &["--continue"]);
        resumed.wait_for("• Stopped.");
        resumed.wait_for(BOX);
        assert_eq!(shown(&resumed).join("\n"), rows.join("\n"), "{columns}x{rows_len}", rows_len = rows.len());
        let text = rows.join("\n");
        for part in [
            "● Write a.txt  ✔ Allow once\n",
            "    2 +two\n",
            "● Write b.txt  ✘ not allowed\n",
            "● Write c.txt  ✘ not run\n",
            "● Bash echo out ...  ✘ exit code 3 · Allow once\n    echo out\n    exit 3\n    out\n",
            "● Task audit deps: Glob *.txt  ✔",
            "✘ Cancelled: Crate\n",
            "● ! seq 1 3  ✔ 3 lines\n    1\n",
        ] {
            assert!(text.contains(part), "{part:?} in\n{text}");
        }
    }
}

#[test]
fn a_file_that_is_named_is_completed_and_attached() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let stage = stage(json!([{"if": "fn hidden_inside", "text": "I have read it."}]))
            .size(columns, rows)
            .file("src/main.rs", "fn hidden_inside() {}\n")
            .file("src/other.rs", "")
            .file(".gitignore", "target\n")
            .file("target/main.rs", "");
        let mut terminal = start(&stage, &[]);
        terminal.wait_for(BOX);
        terminal.keys("look at @mai");
        terminal.wait_for("> @src/main.rs  Tab");
        assert!(!terminal.screen().contains("target/"), "{}", terminal.screen());
        terminal.keys("<tab>");
        terminal.wait_for("> look at @src/main.rs");
        terminal.keys("and @nothing<enter>");
        terminal.wait_for("• Attached: src/main.rs");
        terminal.wait_for("I have read it.");
        assert!(!terminal.screen().contains("hidden_inside"), "{}", terminal.screen());
        terminal.wait_for(BOX);
        terminal.keys("<c-d>");
        terminal.finish();
        let again = start(&stage, &["--continue"]);
        again.wait_for("I have read it.");
        assert!(!again.screen().contains("hidden_inside"), "{}", again.screen());
    }
}

#[test]
fn a_long_paste_is_folded_deleted_as_one_and_sent_in_full() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let stage = stage(json!([{"if": "line 60", "text": "All of it."}])).size(columns, rows);
        let mut terminal = start(&stage, &[]);
        terminal.wait_for(BOX);
        let text: String = (1..=60).map(|n| format!("line {n}\r")).collect();
        terminal.paste(&text);
        terminal.wait_for("> [pasted 60 lines]");
        terminal.write(b"\x7f");
        terminal.wait_for(BOX);
        terminal.paste(&text);
        terminal.keys(" is it<enter>");
        terminal.wait_for("All of it.");
        terminal.wait_for("49 more lines of your message");
    }
}

#[test]
fn tables_and_code_of_the_model_are_laid_out() {
    for (columns, rows) in [(80, 24), (120, 40)] {
        let text =
            "| Name | Stars |\n|---|--:|\n| one | 1 |\n| **two** | 22 |\n\n```rust\nfn main() {} // end\n```\nDone.";
        let stage = stage(json!([{"text": text}])).size(columns, rows);
        let terminal = start(&stage, &["go"]);
        terminal.wait_for("Done.");
        let screen = terminal.screen();
        assert!(screen.contains("  Name │ Stars\n  ─────┼──────\n  one  │     1\n  two  │    22\n"), "{screen}");
        assert!(screen.contains("    fn main() {} // end\n"), "{screen}");
        // A keyword and the name after it have different colours.
        let row = screen.lines().position(|line| line.contains("fn main")).expect("the code") as u16;
        let colour = |column| terminal.look(|screen| screen.cell(row, column).expect("a cell").fgcolor());
        assert_ne!(colour(4), colour(7));
    }
}
