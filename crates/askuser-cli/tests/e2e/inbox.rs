//! Tests questions that wait in the inbox. One process asks, another answers, and a third receives the answer.

use crate::terminal::{Ended, PATIENCE, Stage, Terminal, example, wait_until};
use askuser::store::{Attempt, Filter, Handle, Principal, QuestionId};
use askuser::{Origin, Outcome, Request, RequestKey, Via};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Starts a process that asks an example through the inbox, without a terminal.
fn asking(stage: &Stage, args: &[&str]) -> Child {
    let mut words = vec!["ask", "--via", "inbox", "--popup", "none"];
    words.extend(args);
    stage.spawn(&words)
}

/// The complete output of a command, with its exit code.
pub(crate) struct Printed {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the binary to its end without a terminal.
pub(crate) fn run(stage: &Stage, args: &[&str]) -> Printed {
    let (code, stdout, stderr) = output(stage.spawn(args));
    Printed { code, stdout, stderr }
}

fn lines(stage: &Stage, args: &[&str]) -> Vec<Value> {
    let ended = run(stage, args);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits until `look` returns a value, and returns that value.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let mut found = None;
    wait_until(what, || {
        found = look();
        found.is_some()
    });
    found.unwrap()
}

/// Waits until this number of questions is pending, and returns them.
pub(crate) fn pending(stage: &Stage, count: usize) -> Vec<Value> {
    until(&format!("{count} pending questions"), || {
        Some(lines(stage, &["inbox", "--json"])).filter(|found| found.len() == count)
    })
}

/// Waits until a process waits for the only pending question, and returns that question. A question is also pending
/// after its process has left.
pub(crate) fn attended(stage: &Stage) -> Value {
    until("question that a process waits for", || {
        Some(pending(stage, 1).remove(0)).filter(|question| question["asker"]["waits"] == true)
    })
}

pub(crate) fn id(question: &Value) -> &str {
    question["id"].as_str().unwrap()
}

pub(crate) fn detached(stage: &Stage, name: &str, args: &[&str]) -> String {
    let file = example(name);
    let ended = run(stage, &[&["ask", &file, "--via", "inbox", "--popup", "none", "--detach"], args].concat());
    assert_eq!(ended.code, Some(75), "{}", ended.stderr);
    ended.stdout.trim().to_owned()
}

fn output(child: Child) -> (Option<i32>, String, String) {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_question_is_answered_by_another_process_and_delivered_to_the_caller() {
    let stage = Stage::new();
    let asker = asking(&stage, &[&example("database"), "--from", "claude-code", "--format", "value"]);
    let waiting = pending(&stage, 1);
    assert_eq!((&waiting[0]["origin"]["agent"], &waiting[0]["asker"]["waits"]), (&json!("claude-code"), &json!(true)));
    let answered = run(&stage, &["answer", &id(&waiting[0])[..5], "--select", "Database=SQLite"]);
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    let (code, stdout, stderr) = output(asker);
    assert_eq!((code, stdout.as_str()), (Some(0), "SQLite\n"));
    assert!(stderr.contains("waits in the inbox as") && stderr.contains("askuser inbox"), "{stderr}");
    let log = lines(&stage, &["log", "--json"]);
    assert!(log[0]["delivered_ms"].is_number() && log[0]["resolution"]["via"] == "inbox", "{log:?}");
    let text = run(&stage, &["log"]).stdout;
    assert!(
        text.contains("\"Which database should we use for this project?\" → answered: Database: SQLite ("),
        "{text}"
    );
}

#[test]
fn a_question_can_be_left_and_come_back_to() {
    let stage = Stage::new();
    let id = detached(&stage, "database", &[]);
    let impatient = run(&stage, &["wait", &id, "--for", "100ms"]);
    assert_eq!((impatient.code, impatient.stdout.as_str()), (Some(75), ""));
    assert!(impatient.stderr.contains("not answered yet"), "{}", impatient.stderr);
    let waiter = stage.spawn(&["wait", &id, "--format", "json"]);
    run(&stage, &["answer", &id, "--other", "Database=DuckDB"]);
    let (code, stdout, _) = output(waiter);
    let result: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &result["answers"][0]["customInput"]), (Some(0), &json!("DuckDB")));
    assert!(lines(&stage, &["log", "--json"])[0]["delivered_ms"].is_number(), "the waiting process has it");
    let again = run(&stage, &["wait", &id, "--format", "json"]);
    assert_eq!(again.stdout, stdout, "the same bytes");
}

#[test]
fn no_command_leaves_a_lock_beside_the_store() {
    let stage = Stage::new();
    let asked = [vec!["ask", "--via", "inbox"], vec!["confirm", "Go?", "--via", "inbox"]];
    for mut words in asked {
        let file = example("database");
        if words[0] == "ask" {
            words.insert(1, &file);
        }
        let asker = stage.spawn(&words);
        let waiting = attended(&stage);
        let ended =
            run(&stage, &["answer", id(&waiting), "--select", if words[0] == "ask" { "SQLite" } else { "Yes" }]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(output(asker).0, Some(0));
    }
    let left = detached(&stage, "database", &[]);
    let waiter = stage.spawn(&["wait", &left]);
    attended(&stage);
    rustix::process::kill_process(rustix::process::Pid::from_child(&waiter), rustix::process::Signal::TERM).unwrap();
    assert_eq!(output(waiter).0, Some(75));
    let locks = stage.path(".local/state/askuser/inbox/inbox.sqlite-waiting");
    let names: Vec<_> = std::fs::read_dir(locks).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_backup_is_one_new_file_and_says_what_it_holds() {
    let stage = Stage::new();
    let id = detached(&stage, "database", &[]);
    let to = stage.path("backup.sqlite");
    let to = to.to_str().unwrap();
    let written = run(&stage, &["inbox", "backup", to]);
    let bytes = std::fs::metadata(to).unwrap().len();
    assert_eq!(written.stdout, format!("wrote {to}: 1 questions, {bytes} bytes\n"), "{}", written.stderr);
    let listed = run(&stage, &["inbox", "--json", "--store", to]);
    assert!(listed.stdout.contains(&id), "{}", listed.stdout);
    let again = run(&stage, &["inbox", "backup", to]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("it exists already, must be a new file"), "{}", again.stderr);
    let missing = run(&stage, &["inbox", "backup", "other", "--store", "nowhere.sqlite"]);
    let said = missing.stderr.contains("there is no inbox at") && missing.stderr.contains("nowhere.sqlite");
    assert!(missing.code == Some(2) && said, "{}", missing.stderr);
}

#[test]
fn a_late_answer_is_told_who_was_first_and_changes_nothing() {
    let stage = Stage::new().env("USER", "ada");
    let id = detached(&stage, "database", &[]);
    run(&stage, &["answer", &id, "--select", "Database=SQLite"]);
    let late = run(&stage, &["answer", &id, "--select", "Database=MongoDB"]);
    assert_eq!(late.code, Some(4));
    assert!(
        late.stderr.contains("was answered by ada from inbox") && late.stderr.contains("SQLite"),
        "{}",
        late.stderr
    );
    assert_eq!(run(&stage, &["withdraw", &id]).code, Some(4));
    assert!(run(&stage, &["wait", &id]).stdout.contains("SQLite"));
}

#[test]
fn what_was_withdrawn_ends_the_waiting_with_a_word() {
    let stage = Stage::new().env("USER", "ada");
    let asker = asking(&stage, &[&example("database")]);
    let id = id(&pending(&stage, 1)[0]).to_owned();
    assert_eq!(run(&stage, &["withdraw", &id]).code, Some(0));
    let (code, stdout, stderr) = output(asker);
    assert_eq!((code, stdout.as_str()), (Some(4), ""));
    assert!(stderr.contains("was withdrawn by ada"), "{stderr}");
}

#[test]
fn the_same_key_gets_the_same_answer_and_another_question_under_it_is_refused() {
    let stage = Stage::new();
    let first = detached(&stage, "database", &["--key", "deploy-7"]);
    assert_eq!(detached(&stage, "database", &["--key", "deploy-7"]), first);
    let other = run(&stage, &["ask", &example("features"), "--via", "inbox", "--key", "deploy-7"]);
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("Which database") && other.stderr.contains("Which features"), "{}", other.stderr);
    run(&stage, &["answer", &first, "--select", "Database=SQLite"]);
    let ended = run(&stage, &["ask", &example("database"), "--via", "inbox", "--key", "deploy-7", "--format", "value"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "SQLite\n"));
}

#[test]
fn an_asker_that_was_killed_is_shown_as_gone_and_its_question_is_there_when_it_comes_back() {
    let stage = Stage::new();
    let args = [&*example("database"), "--key", "k", "--format", "value"];
    let mut asker = asking(&stage, &args);
    pending(&stage, 1);
    asker.kill().unwrap();
    asker.wait().unwrap();
    let gone = &pending(&stage, 1)[0];
    assert_eq!(gone["asker"]["waits"], false);
    assert!(gone["asker"]["gone_ms"].is_number(), "{gone}");
    assert!(run(&stage, &["inbox"]).stdout.contains("(agent gone since "));
    let asker = asking(&stage, &args);
    while pending(&stage, 1)[0]["asker"]["waits"] == false {}
    run(&stage, &["answer", id(gone), "--select", "Database=SQLite"]);
    assert_eq!(output(asker).1, "SQLite\n");
}

#[test]
fn a_caller_told_to_stop_waiting_leaves_the_question_and_says_how_to_come_back() {
    let stage = Stage::new();
    let asker = asking(&stage, &[&example("database")]);
    let id = id(&pending(&stage, 1)[0]).to_owned();
    let pid = rustix::process::Pid::from_raw(asker.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let (code, stdout, stderr) = output(asker);
    assert_eq!((code, stdout.as_str()), (Some(75), ""));
    assert!(stderr.contains(&format!("`askuser wait {id}`")), "{stderr}");
    assert!(pending(&stage, 1)[0]["asker"]["left_ms"].is_number());
}

#[test]
fn without_being_named_the_inbox_is_not_used() {
    let stage = Stage::new().file("askuser.toml", "via = \"inbox\"\nstore = \"theirs.sqlite\"\n");
    let ended = run(&stage, &["ask", &example("database")]);
    assert_eq!(ended.code, Some(3), "a project cannot name it: {}", ended.stderr);
    assert!(!stage.path("theirs.sqlite").exists());
    for flag in [&["--detach"][..], &["--key", "k"], &["--from", "x"]] {
        let ended = run(&stage, &[&["ask", &example("database")], flag].concat());
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains("add --via inbox"), "{}", ended.stderr);
    }
}

#[test]
fn bad_ids_and_bad_answers_are_refused_in_words() {
    let stage = Stage::new();
    let id = detached(&stage, "authentication", &[]);
    let refused = |args: &[&str], words: &str| {
        let ended = run(&stage, args);
        assert_eq!(ended.code, Some(2), "{args:?}");
        assert!(ended.stderr.contains(words), "{args:?}: {}", ended.stderr);
    };
    refused(&["answer", "zzz"], "there is no question zzz");
    refused(&["wait", ""], "there is no question");
    refused(&["answer", &id, "--select", "JWT"], "must be HEADER=…: there are 2 questions");
    refused(&["answer", &id, "--select", "Nope=JWT"], "Nope");
    refused(&["answer", &id, "--select", "Auth Method=Nothing"], "\"Nothing\" is not an option");
    refused(&["wait", &id, "--for", "soon"], "--for: \"soon\", must be a duration");
    refused(&["log", "--since", "soon"], "--since: \"soon\"");
    assert_eq!(pending(&stage, 1).len(), 1, "nothing was recorded");
}

#[test]
fn an_answers_file_beside_an_answer_is_an_error() {
    let stage = Stage::new().file("f.json", r#"{"Database": "SQLite"}"#);
    let id = detached(&stage, "database", &[]);
    for [flag, value] in
        [["--select", "SQLite"], ["--other", "x"], ["--note", "x"], ["--decline", "x"], ["--discuss", "x"]]
    {
        let ended = run(&stage, &["answer", &id, flag, value, "--answers", "f.json"]);
        assert!(ended.code == Some(2) && ended.stderr.contains("cannot be used"), "{flag}: {}", ended.stderr);
    }
    assert_eq!(pending(&stage, 1).len(), 1, "nothing was recorded");
}

#[test]
fn a_command_that_an_agent_started_cannot_answer_or_withdraw() {
    let stage = Stage::new();
    let id = detached(&stage, "database", &[]);
    let agent = stage.env("ASKUSER_STARTED_BY_AGENT", "1");
    for args in [&["answer", &id, "--select", "SQLite"][..], &["withdraw", &id], &["inbox", "--next"]] {
        let ended = run(&agent, args);
        assert_eq!(ended.code, Some(2), "{args:?}");
        assert!(ended.stderr.contains("only a person can"), "{}", ended.stderr);
    }
    assert_eq!(pending(&agent, 1).len(), 1);
}

#[test]
fn scripts_can_count_and_follow() {
    let stage = Stage::new();
    let mut children =
        [&["inbox", "--count", "--follow"], &["inbox", "--json", "--follow"]].map(|args| stage.spawn(args));
    let [counts, changes] = children.each_mut().map(|child| BufReader::new(child.stdout.take().unwrap()).lines());
    let mut counts = counts.map(Result::unwrap);
    let mut states = changes.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["state"].clone());
    assert_eq!(counts.next().unwrap(), "0");
    let id = detached(&stage, "database", &[]);
    assert_eq!((counts.next().unwrap().as_str(), states.next().unwrap()), ("1", json!("pending")));
    run(&stage, &["answer", &id, "--select", "SQLite"]);
    assert_eq!((counts.next().unwrap().as_str(), states.next().unwrap()), ("0", json!("answered")));
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!((counts.next(), states.next()), (None, None), "there was nothing else to say");
    assert_eq!(run(&stage, &["inbox", "--count"]).stdout, "0\n");
}

/// Starts a prompt whose question is also in the inbox.
fn here_too(stage: &Stage) -> Terminal {
    let args = ["ask", "--key-delay", "0", "--success-flash", "0", "--popup", "none", "--via", "terminal,inbox"];
    stage.askuser(&[&args[..], &[&example("database")]].concat(), ">out 2>err")
}

#[test]
fn a_prompt_here_closes_when_it_is_answered_elsewhere_and_says_by_whom() {
    let stage = Stage::new().env("USER", "ada");
    let terminal = here_too(&stage);
    terminal.wait_for("? keys");
    let id = id(&pending(&stage, 1)[0]).to_owned();
    run(&stage, &["answer", &id, "--select", "MongoDB"]);
    terminal.wait_for("Answered by ada from inbox (Database: MongoDB)");
    let ended: Ended = terminal.finish();
    assert_eq!((ended.code, ended.json()["via"].as_str()), (Some(0), Some("inbox")));
}

#[test]
fn an_answer_given_here_ends_the_question_everywhere() {
    let stage = Stage::new().env("USER", "ada");
    let mut terminal = here_too(&stage);
    terminal.wait_for("? keys");
    let id = id(&pending(&stage, 1)[0]).to_owned();
    let waiter = stage.spawn(&["wait", &id, "--format", "value"]);
    terminal.keys("2");
    terminal.wait_for("✔ Database: MongoDB");
    assert_eq!(terminal.finish().picks(), json!([["MongoDB"]]));
    assert_eq!(output(waiter).1, "MongoDB\n");
    let late = run(&stage, &["answer", &id, "--select", "SQLite"]);
    assert!(late.stderr.contains("was answered by ada from terminal"), "{}", late.stderr);
}

#[test]
fn a_key_pressed_here_stops_the_clock_that_the_inbox_keeps() {
    let stage = Stage::new();
    let args = [
        "ask",
        "--key-delay",
        "0",
        "--success-flash",
        "0",
        "--popup",
        "none",
        "--via",
        "terminal,inbox",
        "--timeout",
        "3s",
    ];
    let mut terminal = stage.askuser(&[&args[..], &[&example("database")]].concat(), "");
    terminal.wait_for("? keys");
    assert!(pending(&stage, 1)[0]["expires_ms"].is_number());
    terminal.keys("<down>");
    terminal.wait_for("> ○ MongoDB");
    wait_until("a question without a deadline", || !pending(&stage, 1)[0]["expires_ms"].is_number());
    assert!(!terminal.shows_within(Duration::from_millis(3_500), "Timed out"));
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().picks(), json!([["MongoDB"]]));
}

#[test]
fn the_review_says_that_the_asker_filled_in_an_answer() {
    let stage = Stage::new().file("known.json", r#"{"Auth Method": "JWT"}"#);
    let ask = ["ask", &example("authentication"), "--via", "policy,inbox", "--answers", "known.json", "--detach"];
    let asked = run(&stage, &[&ask[..], &["--popup", "none"]].concat());
    let mut terminal =
        stage.askuser(&["answer", asked.stdout.trim(), "--key-delay", "0", "--success-flash", "0"], "2>err");
    terminal.wait_for("Question 2 of 2");
    terminal.keys("1");
    terminal.wait_for("☑");
    terminal.keys("<enter>");
    terminal.wait_for("(filled in by the asker, not by you)");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn what_was_put_aside_is_offered_again() {
    let stage = Stage::new();
    let id = detached(&stage, "authentication", &[]);
    let answer = ["answer", &id, "--key-delay", "0", "--success-flash", "0"];
    let mut terminal = stage.askuser(&answer, "2>err");
    terminal.wait_for("Asked by: askuser ask in ");
    terminal.wait_for("esc later");
    terminal.keys("2");
    terminal.wait_for("Question 2 of 2");
    terminal.keys("<esc>");
    assert_eq!(terminal.finish().code, Some(75));
    assert!(stage.read("err").contains("saved as draft; the question is still waiting"), "{}", stage.read("err"));
    assert_eq!(pending(&stage, 1).len(), 1, "the caller still waits");
    let mut terminal = stage.askuser(&answer, "2>err");
    terminal.wait_for("Question 2 of 2");
    terminal.keys("1");
    terminal.wait_for("☑");
    terminal.keys("<enter>");
    terminal.wait_for("(you filled this in before)");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().code, Some(0));
    let kept = run(&stage, &["wait", &id, "--format", "json"]).stdout;
    let labels = serde_json::from_str::<Value>(&kept).unwrap()["answers"].as_array().unwrap().len();
    assert_eq!(labels, 2, "{kept}");
}

#[test]
fn in_line_mode_too_a_question_is_put_aside_and_not_said_to_be_cancelled() {
    let stage = Stage::new();
    let id = detached(&stage, "authentication", &[]);
    for (leave, before) in [("<c-d>", "2<enter>"), ("<c-c>", ""), ("q<enter>", "")] {
        let mut terminal = stage.askuser(&["answer", &id, "--plain"], "2>err");
        if !before.is_empty() {
            terminal.wait_for("Question 1 of 2");
            terminal.keys(before);
        }
        terminal.wait_for("Question 2 of 2");
        terminal.keys(leave);
        let ended = terminal.finish();
        assert_eq!((ended.code, ended.screen.contains("ancelled")), (Some(75), false), "{leave}: {}", ended.screen);
        assert!(stage.read("err").contains("saved as draft; the question is still waiting"), "{leave}");
    }
    assert_eq!(pending(&stage, 1).len(), 1, "its asker waits on");
}

#[test]
fn what_was_typed_and_not_sent_is_kept_however_often_it_is_looked_at() {
    let stage = Stage::new();
    let id = detached(&stage, "database", &[]);
    let answer = ["answer", &id, "--key-delay", "0", "--success-flash", "0"];
    for is_typed in [true, false, false] {
        let mut terminal = stage.askuser(&answer, "2>err");
        terminal.wait_for("esc later");
        if is_typed {
            terminal.keys("<down><down><down>");
            terminal.wait_for("> ○ Other");
            terminal.keys("my own");
            terminal.wait_for("Please specify: my own");
            terminal.keys("<esc>");
            terminal.wait_for("esc later");
        }
        terminal.wait_for("my own");
        terminal.keys("<c-c>");
        assert_eq!(terminal.finish().code, Some(75));
    }
    assert_eq!(pending(&stage, 1).len(), 1);
}

#[test]
fn the_users_command_is_told_and_its_failure_is_seen_by_doctor() {
    let stage = Stage::new();
    let told = stage.path("told").display().to_string();
    detached(&stage, "database", &["--on-question", &format!("cat > {told}; echo \"$ASKUSER_FROM\" >> {told}.from")]);
    wait_until("the command that was named", || stage.read("told").contains('\n'));
    let told: Value = serde_json::from_str(&stage.read("told")).unwrap();
    assert_eq!(told["questions"][0]["header"], "Database");
    assert_eq!(told["id"], pending(&stage, 1)[0]["id"], "it can be answered by it");
    // The test waits until the command has failed, because the command continues after its asker.
    let asker = asking(&stage, &[&example("features"), "--on-question", "echo no phone >&2; exit 7"]);
    let doctor = || run(&stage, &["doctor", "--on-question", "true"]).stdout;
    let failed = ": on_question: exit status: 7: no phone";
    wait_until(failed, || doctor().contains(failed));
    let told = doctor();
    assert!(told.contains("✘ new questions your on_question command should call you"), "{told}");
    assert!(told.contains("fix: run the command yourself") && !told.contains("calls you"), "{told}");
    let works = asking(&stage, &[&example("package-manager"), "--on-question", "true"]);
    wait_until("a command that works", || doctor().contains("✔ new questions your on_question command calls you"));
    for asker in [asker, works] {
        let pid = rustix::process::Pid::from_raw(asker.id() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        output(asker);
    }
}

#[test]
fn a_notifier_that_hangs_delays_nobody() {
    let stage = Stage::new();
    let began = Instant::now();
    detached(&stage, "database", &["--on-question", "sleep 60"]);
    assert!(began.elapsed() < Duration::from_secs(20), "it was waited for");
}

#[test]
fn an_agent_pauses_durably_and_after_a_kill_attaches_to_the_same_question() {
    let stage = Stage::new();
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agent/database.json");
    let script = script.display().to_string();
    let agent = |args: &[&str]| {
        stage.spawn(&[&["agent", "--script", &script, "--via", "inbox", "--popup", "none"], args].concat())
    };
    let mut first = agent(&["-p", "Set up the database"]);
    let asked = id(&pending(&stage, 1)[0]).to_owned();
    first.kill().unwrap();
    first.wait().unwrap();
    let second = agent(&["--continue", "--output", "json"]);
    while pending(&stage, 1)[0]["asker"]["waits"] == false {}
    assert_eq!(id(&pending(&stage, 1)[0]), asked, "nothing is asked twice");
    let answered = run(&stage, &["answer", &asked, "--select", "Database=PostgreSQL", "--select", "Features=History"]);
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    // The action after the answer needs a permission, which is also a question.
    let permission = &pending(&stage, 1)[0];
    assert_eq!(permission["questions"][0]["header"], "Write");
    run(&stage, &["answer", id(permission), "--select", "Allow once"]);
    let (code, stdout, stderr) = output(second);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(stage.read("STORAGE.md").contains("PostgreSQL"), "{stdout}{stderr}");
    let log = lines(&stage, &["log", "--json"]);
    assert_eq!(log.iter().filter(|question| question["id"] == asked.as_str()).count(), 1);
    assert!(log[0]["delivered_ms"].is_number());
}

/// This sequence is documented in docs/inbox.md.
#[test]
fn an_agent_that_was_killed_and_is_told_to_continue_goes_on_with_what_was_answered_meanwhile() {
    let stage = Stage::new();
    let agent = |args: &[&str]| {
        let always =
            ["agent", "--script", "demo", "--via", "inbox", "--popup", "none", "--permissions", "accept-edits"];
        stage.spawn(&[&always[..], args].concat())
    };
    let mut first = agent(&["-p", "Set up storage"]);
    let asked = id(&pending(&stage, 1)[0]).to_owned();
    first.kill().unwrap();
    first.wait().unwrap();
    run(&stage, &["answer", &asked, "--select", "Database=SQLite", "--select", "Features=History"]);
    let (code, stdout, stderr) = output(agent(&["-p", "continue", "--continue"]));
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(stage.read("STORAGE.md").contains("SQLite"), "{stdout}{stderr}");
}

/// A person at tmux gets the question as a popup, regardless of the asking process's terminal.
#[test]
fn in_tmux_a_popup_opens_on_the_client_that_was_used_last_in_the_theme_of_its_opener() {
    if Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_err() {
        askuser_conformance::left_out_without("tmux");
        return;
    }
    let stage = Stage::new().size(100, 30);
    let folder = stage.path("").display().to_string();
    // No program in a popup can query the background, but the process that opened the popup may know it.
    let stage = stage.env("TMUX_TMPDIR", &folder).env("COLORFGBG", "");
    let mut person = stage.command(&["tmux", "-f", "/dev/null", "new-session", "sh", "-c", "echo at work; exec cat"]);
    person.wait_for("at work");
    let asks = ["ask", "--via", "inbox", "--from", "claude #(x)", "--format", "value", "--theme", "light"];
    let asker = stage.spawn(&[&asks[..], &[&example("database")]].concat());
    person.wait_for("─ askuser ─");
    person.wait_for("claude #(x) in ");
    person.wait_for("esc later");
    person.wait_raw("38;5;61");
    press_until(&mut person, "2", |screen| screen.contains("> 2 ○ MongoDB"));
    assert_eq!(pending(&stage, 1).len(), 1, "a digit alone answers nothing there");
    // A question that arrived meanwhile follows in the same popup, without the text of the previous one.
    let next = ["ask", "--via", "inbox", "--from", "codex", "--format", "value"];
    let next = stage.spawn(&[&next[..], &[&example("package-manager")]].concat());
    let asked = pending(&stage, 2).into_iter().find(|question| question["origin"]["agent"] == "codex").unwrap();
    press_until(&mut person, "<enter>", |screen| screen.contains("codex in "));
    assert!(!person.screen().contains("claude"), "{}", person.screen());
    assert_eq!(output(asker), (Some(0), "MongoDB\n".into(), output_notice(&stage)));
    run(&stage, &["answer", id(&asked), "--select", "npm"]);
    assert_eq!(output(next).0, Some(0));
    person.wait_gone("─ askuser ─");
    let _ = Command::new("tmux").env("TMUX_TMPDIR", &folder).env_remove("TMUX").arg("kill-server").output();
}

/// Presses a key repeatedly until it has an effect. Keys have no effect before the keyboard was idle.
fn press_until(terminal: &mut Terminal, key: &str, holds: impl Fn(&str) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds(&terminal.screen_within(Duration::from_millis(1_500), &holds)) {
        assert!(Instant::now() < deadline, "{}", terminal.screen());
        terminal.keys(key);
    }
}

/// A popup opens while a person types elsewhere, so a digit only moves the focus.
#[test]
fn a_digit_answers_nothing_in_a_prompt_that_came_unbidden() {
    let stage = Stage::new();
    let id = detached(&stage, "database", &[]);
    let mut popup = stage.shell(&format!("exec askuser answer {id} --unbidden 2>err"));
    popup.wait_for("> 1 ○ PostgreSQL");
    press_until(&mut popup, "2", |screen| screen.contains("> 2 ○ MongoDB"));
    assert_eq!(pending(&stage, 1).len(), 1);
    popup.keys("<enter>");
    popup.wait_for("✔ Database: MongoDB");
    assert_eq!(popup.finish().code, Some(0));
}

fn output_notice(stage: &Stage) -> String {
    let question = &lines(stage, &["log", "--json", "--reverse"])[0];
    let id = id(question);
    format!(
        "askuser: the question waits in the inbox as {id}; answer it with `askuser inbox` or `askuser answer {id}`\n"
    )
}

#[test]
fn a_blank_key_and_a_blank_name_are_refused() {
    let stage = Stage::new();
    for flag in ["--key", "--from"] {
        for value in ["", " "] {
            let refused = run(&stage, &["ask", &example("database"), "--via", "inbox", "--detach", flag, value]);
            assert_eq!(refused.code, Some(2), "{flag} {value:?}");
            assert!(refused.stderr.contains("must not be blank"), "{}", refused.stderr);
        }
    }
    pending(&stage, 0);
}

#[test]
fn an_answers_file_that_answers_a_question_is_named_as_what_answered() {
    let stage = Stage::new().file("a.json", r#"{"Database": "SQLite"}"#);
    let id = detached(&stage, "database", &[]);
    let answers = stage.path("a.json").display().to_string();
    // Settings apply only to asking commands.
    let stage = stage.env("ASKUSER_ANSWERS", &answers);
    assert_eq!(run(&stage, &["answer", &id]).code, Some(3));
    let ended = run(&stage, &["answer", &id, "--answers", &answers]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let log = lines(&stage, &["log", "--json"]).remove(0);
    assert_eq!((&log["resolution"]["via"], &log["resolution"]["by"]), (&json!("answers-file"), &Value::Null));
    let waited = run(&stage, &["wait", &id, "--format", "text"]);
    assert!(waited.stdout.starts_with("The user was not asked."), "{}", waited.stdout);
}

#[test]
fn the_list_takes_no_answers() {
    let ended = run(&Stage::new(), &["inbox", "--answers", "a.json"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("--answers"), "{}", ended.stderr);
}

/// Opens the store of a test environment directly.
fn store(stage: &Stage) -> Handle {
    let path = stage.path(".local/state/askuser/inbox/inbox.sqlite");
    let store = askuser_inbox::SqliteStore::open(&path).unwrap();
    Handle::new(Arc::new(store), Principal::person("ada", Via::Inbox))
}

#[test]
fn the_list_and_the_log_do_not_end_after_a_page() {
    let stage = Stage::new();
    detached(&stage, "database", &[]);
    let ada = store(&stage);
    let set = pollster::block_on(ada.list(&Filter::pending())).unwrap().questions[0].request.set().clone();
    let agent = ada.by(Principal::agent(&Origin::default()));
    let puts: Vec<_> = (1..1001)
        .map(|i| agent.put(&Request::new(RequestKey::new("session", i.to_string()), set.clone()), None))
        .collect();
    puts.into_iter().for_each(|put| drop(pollster::block_on(put).unwrap()));
    for args in [["inbox", "--json"], ["log", "--json"]] {
        assert_eq!(lines(&stage, &args).len(), 1001, "{args:?}");
    }
    assert_eq!(run(&stage, &["inbox"]).stdout.lines().count(), 1001);
    assert_eq!(run(&stage, &["log"]).stdout.lines().count(), 1001);
}

#[test]
fn the_log_can_be_narrowed_to_a_time_and_to_an_asker() {
    let stage = Stage::new();
    detached(&stage, "database", &["--from", "claude-code"]);
    detached(&stage, "features", &["--from", "codex"]);
    let from = lines(&stage, &["log", "--json", "--from", "CODEX"]);
    assert_eq!((from.len(), &from[0]["origin"]["agent"]), (1, &json!("codex")), "{from:?}");
    for (since, found) in [("1h", 2), ("2000-01-01", 2), ("2999-01-01T12:00", 0)] {
        assert_eq!(lines(&stage, &["log", "--json", "--since", since]).len(), found, "{since}");
    }
}

#[test]
fn the_log_shows_a_question_as_it_was_written_in_quotes_of_its_own() {
    let stage = Stage::new();
    let asked = ["ask", "-q", "Is \"👩‍🚀\" a \\ sign?", "-o", "A", "-o", "B", "--via", "inbox", "--detach"];
    assert_eq!(run(&stage, &asked).code, Some(75));
    let log = run(&stage, &["log"]).stdout;
    assert!(log.contains(r#": "Is \"👩‍🚀\" a \\ sign?" → "#), "{log}");
}

#[test]
fn the_log_tells_notes_and_reasons() {
    let stage = Stage::new();
    let noted = detached(&stage, "database", &[]);
    let declined = detached(&stage, "package-manager", &[]);
    let ada = store(&stage);
    let attempt = Attempt::new("a");
    let [noted, declined] = [noted, declined].map(|id| QuestionId::parse(&id).unwrap());
    let set = pollster::block_on(ada.get(&noted)).unwrap().request.set().clone();
    let answer = set.questions()[0].answer(&[1], None, Some("only for the catalogue".into())).unwrap();
    pollster::block_on(ada.answer(&noted, Outcome::answered(&set, vec![answer]).unwrap(), &attempt)).unwrap();
    pollster::block_on(ada.answer(&declined, Outcome::declined(Some("not my decision".into())), &attempt)).unwrap();
    let log = run(&stage, &["log"]).stdout;
    let (second, first) = log.trim_end().split_once('\n').unwrap();
    assert!(first.contains("MongoDB (note: only for the catalogue) (ada from inbox"), "{first}");
    assert!(second.contains("→ declined: not my decision (ada from inbox"), "{second}");
}

#[test]
fn at_a_terminal_the_log_has_an_entry_of_rows_with_a_mark_for_each_question() {
    let stage = Stage::new().env("USER", "ada").size(60, 24);
    let id = detached(&stage, "database", &["--from", "claude-code"]);
    detached(&stage, "features", &["--from", "x\n  ✔ answered: Yes"]);
    run(&stage, &["answer", &id, "--select", "SQLite"]);
    let terminal = stage.shell("askuser log; echo done");
    terminal.wait_for("done");
    let screen = terminal.screen();
    let entry = format!(
        "  Claude Code in ~  {id}\n  \"Which database should we use for this project?\"\n  ✔ answered: Database: SQLite (ada from inbox, after 0 s,\n"
    );
    assert!(screen.contains(&entry), "{screen}");
    assert!(screen.contains("\n  … pending for "), "{screen}");
    let answered = screen.lines().filter(|line| line.starts_with("  ✔")).count();
    assert_eq!(answered, 1, "a name cannot pass for an outcome:\n{screen}");
}

#[test]
fn what_ended_before_a_date_is_removed_and_its_number_said() {
    let stage = Stage::new();
    run(&stage, &["ask", "--via", "inbox", "--popup", "none", "--detach", &example("database")]);
    run(&stage, &["ask", "--via", "inbox", "--popup", "none", "--detach", &example("layout")]);
    let ended = pending(&stage, 2).remove(0)["id"].as_str().unwrap().to_owned();
    run(&stage, &["withdraw", &ended]);
    let purge = |args: &[&str]| run(&stage, &[&["log", "--purge", "--before"], args].concat());
    let bad = [("soon", "must be a duration such as"), ("2999-01-01", "\"2999-01-01\" is in the future, must be past")];
    for (date, words) in bad {
        let refused = purge(&[date]);
        assert!(refused.code == Some(2) && refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert_eq!(purge(&["1d"]).stdout.split(" that").next(), Some("removed 0"), "it ended just now");
    std::thread::sleep(Duration::from_millis(20));
    let purged: Value = serde_json::from_str(&purge(&["0s", "--json"]).stdout).unwrap();
    assert_eq!(purged["purged"], 1);
    assert_eq!(lines(&stage, &["log", "--json"]).len(), 1, "what waits stays");
    assert_eq!(run(&stage, &["log", "--purge"]).code, Some(2), "before when must be said");
    assert_eq!(run(&stage, &["log", "--before", "1d"]).code, Some(2), "it is no filter");
}
