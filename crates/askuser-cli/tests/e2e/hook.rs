//! `askuser hook`: silent unless a person decided, whatever goes wrong.

use crate::inbox::{id, pending, run};
use crate::terminal::Stage;
use serde_json::{Value, json};
use std::io::Write;

fn question() -> Value {
    let options = json!([{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]);
    json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "tool_use_id": "t", "cwd": "/p", "tool_name": "AskUserQuestion",
        "tool_input": {"questions": [{"question": "Which?", "header": "Which", "options": options, "multiSelect": false}]},
    })
}

#[test]
fn where_there_is_nothing_to_say_and_where_it_fails_it_is_silent_and_no_failure() {
    let other = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let long = json!({"hook_event_name": "PermissionRequest", "tool_name": "Write", "tool_input": "x".repeat(3 << 20)});
    let events = [other.to_string(), question().to_string(), long.to_string(), "no JSON".into(), String::new()];
    for event in events {
        let ended = Stage::new().env("CLAUDE_CODE_ENTRYPOINT", "cli").run_with(&["hook"], event.as_bytes());
        let shown: String = event.chars().take(60).collect();
        assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(0)), "{shown}: {}", ended.stderr);
    }
    let ended = Stage::new().run(&["hook", "--unknown"]);
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(0)), "a bad flag must not block");
}

#[test]
fn a_store_that_cannot_be_opened_neither_blocks_nor_approves() {
    let stage = Stage::new().env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli").env("ASKUSER_STORE", "/dev/null/inbox");
    let ended = stage.run_with(&["hook"], question().to_string().as_bytes());
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(0)), "{}", ended.stderr);
}

/// The decision on an event that somebody answers in the inbox.
fn decided(event: &Value, entrypoint: &str, answer: &[&str]) -> Value {
    let stage = Stage::new().env("CLAUDE_CODE_ENTRYPOINT", entrypoint).env("ASKUSER_POPUP", "none");
    let mut hook = stage.spawn_with(&["hook"], std::process::Stdio::piped());
    hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    let waiting = pending(&stage, 1);
    assert_eq!(waiting[0]["origin"]["agent"], "claude-code");
    let answered = run(&stage, &[&["answer", id(&waiting[0])], answer].concat());
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    let output = hook.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["hookSpecificOutput"].clone()
}

#[test]
fn a_question_without_a_picker_is_answered_from_the_inbox() {
    let said = decided(&question(), "sdk-cli", &["--select", "Which=B"]);
    let expected = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"questions": question()["tool_input"]["questions"], "answers": {"Which?": "B"}},
    });
    assert_eq!(said, expected);
}

#[test]
fn a_permission_is_given_from_the_inbox_by_a_person_only() {
    let event = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let allowed = decided(&event, "cli", &["--select", "Bash=Allow once"]);
    assert_eq!(allowed["decision"], json!({"behavior": "allow"}));
    let denied = decided(&event, "cli", &["--select", "Bash=Don't run it"]);
    assert_eq!(denied["decision"]["behavior"], "deny");
}

#[test]
fn a_file_of_answers_or_a_rule_does_not_pass_for_a_person_and_permit() {
    let event = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "rm -rf x"}});
    let (stage, mut hook) = beside_dialog(&event);
    let answers = stage.path("answers.json");
    std::fs::write(&answers, r#"{"Bash": "Allow once"}"#).unwrap();
    let question = pending(&stage, 1).remove(0);
    let flag = ["answer", id(&question), "--answers", answers.to_str().unwrap()];
    let with_flag = stage.run(&flag);
    let stage = stage.env("ASKUSER_ANSWERS", answers.to_str().unwrap()).env("ASKUSER_HEADLESS", "recommended");
    let with_settings = stage.run(&["answer", id(&question)]);
    for ended in [with_flag, with_settings] {
        assert_ne!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    }
    assert!(hook.try_wait().unwrap().is_none(), "nobody has decided");
    assert_eq!(pending(&stage, 1)[0]["id"], question["id"]);
    hook.kill().unwrap();
    hook.wait().unwrap();
}

#[test]
fn a_hook_that_claude_code_ends_says_nothing_and_its_question_stays() {
    let stage = Stage::new().env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli").env("ASKUSER_POPUP", "none");
    let mut hook = stage.spawn_with(&["hook"], std::process::Stdio::piped());
    hook.stdin.take().unwrap().write_all(question().to_string().as_bytes()).unwrap();
    pending(&stage, 1);
    let pid = rustix::process::Pid::from_raw(i32::try_from(hook.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let output = hook.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b""[..]));
    assert_eq!(pending(&stage, 1)[0]["asker"]["waits"], false);
}

/// A hook that waits beside a dialog of Claude Code's.
fn beside_dialog(event: &Value) -> (Stage, std::process::Child) {
    let stage = Stage::new().env("CLAUDE_CODE_ENTRYPOINT", "cli").env("ASKUSER_POPUP", "none");
    let mut hook = stage.spawn_with(&["hook"], std::process::Stdio::piped());
    hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    pending(&stage, 1);
    (stage, hook)
}

fn ended_without_a_word(stage: &Stage, hook: std::process::Child) {
    let output = hook.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b""[..]));
    pending(stage, 0);
    let log: Value = serde_json::from_str(run(stage, &["log", "--json"]).stdout.trim()).unwrap();
    assert_eq!(log["state"], "withdrawn", "{log}");
}

#[test]
fn what_was_decided_in_claude_codes_own_dialog_leaves_the_inbox_once_the_tool_has_run() {
    let command = json!({"command": "ls", "description": "d"});
    let bash =
        json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash", "tool_input": command});
    let picker = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "AskUserQuestion", "tool_input": question()["tool_input"]});
    for event in [bash, picker] {
        let (stage, hook) = beside_dialog(&event);
        let mut ran = event.clone();
        ran["hook_event_name"] = "PostToolUse".into();
        ran["tool_use_id"] = "t".into();
        let mut others = [ran.clone(), ran.clone()];
        others[0]["session_id"] = "another".into();
        others[1]["tool_input"] = json!({"command": "ls -a"});
        for other in others {
            assert_eq!(stage.run_with(&["hook"], other.to_string().as_bytes()).code, Some(0));
            pending(&stage, 1);
        }
        if event["tool_name"] == "AskUserQuestion" {
            ran["tool_input"]["answers"] = json!({"Which?": "A"});
        }
        let told = stage.run_with(&["hook"], ran.to_string().as_bytes());
        assert_eq!((told.stdout.as_str(), told.code), ("", Some(0)), "{}", told.stderr);
        ended_without_a_word(&stage, hook);
    }
}

#[test]
fn what_was_refused_in_claude_codes_own_dialog_leaves_the_inbox_with_its_hook() {
    let event = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let (stage, hook) = beside_dialog(&event);
    let pid = rustix::process::Pid::from_child(&hook);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    ended_without_a_word(&stage, hook);
}
