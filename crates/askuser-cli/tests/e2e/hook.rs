//! Tests `askuser hook`, which has no output unless a person decided, even after an error.

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
fn a_hook_with_nothing_to_do_opens_no_store() {
    for event in ["PreToolUse", "PostToolUse"] {
        let event = json!({"hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "ls"}});
        let stage = Stage::new();
        let store = stage.path("store");
        let stage = stage.env("ASKUSER_STORE", &store.display().to_string());
        let ended = stage.run_with(&["hook"], event.to_string().as_bytes());
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str(), ended.code), ("", "", Some(0)), "{event}");
        assert!(!store.exists(), "{event}");
    }
}

#[test]
fn a_claude_code_that_an_agents_command_started_is_asked_for_nothing() {
    let stage = Stage::new().env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli").env("ASKUSER_STARTED_BY_AGENT", "1");
    let ended = stage.run_with(&["hook"], question().to_string().as_bytes());
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(0)), "{}", ended.stderr);
    assert!(pending(&stage, 0).is_empty());
}

#[test]
fn a_store_that_cannot_be_opened_neither_blocks_nor_approves() {
    let stage = Stage::new().env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli").env("ASKUSER_STORE", "/dev/null/inbox");
    let ended = stage.run_with(&["hook"], question().to_string().as_bytes());
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(0)), "{}", ended.stderr);
}

/// Returns the decision on an event after a person's answer in the inbox.
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
    let output = decided(&question(), "sdk-cli", &["--select", "Which=B"]);
    let expected = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"questions": question()["tool_input"]["questions"], "answers": {"Which?": "B"}},
    });
    assert_eq!(output, expected);
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
fn a_file_or_a_rule_passes_for_no_person_and_permits_nothing() {
    let event = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "rm -rf x"}});
    let stage = Stage::new().env("CLAUDE_CODE_ENTRYPOINT", "cli").env("ASKUSER_POPUP", "none");
    let stage = stage.file("a.json", r#"{"Bash": "Allow once"}"#);
    let answers = stage.path("a.json").display().to_string();
    let stage = stage.env("ASKUSER_ANSWERS", &answers).env("ASKUSER_HEADLESS", "recommended");
    let mut hook = stage.spawn_with(&["hook"], std::process::Stdio::piped());
    hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    let waiting = pending(&stage, 1);
    // The settings apply only to asking commands. Without a terminal no person can answer here.
    let ended = run(&stage, &["answer", id(&waiting[0])]);
    assert_eq!(ended.code, Some(3), "{}{}", ended.stdout, ended.stderr);
    // A file named on the command line is applied, but only a person can give a permission.
    let ended = run(&stage, &["answer", id(&waiting[0]), "--answers", &answers]);
    assert!(ended.code == Some(2) && ended.stderr.contains("only a person gives permission"), "{}", ended.stderr);
    assert_eq!(pending(&stage, 1)[0]["id"], waiting[0]["id"]);
    let ended = run(&stage, &["answer", id(&waiting[0]), "--select", "Bash=Don't run it"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let output = hook.wait_with_output().unwrap();
    let output = serde_json::from_slice::<Value>(&output.stdout).unwrap();
    assert_eq!(output["hookSpecificOutput"]["decision"]["behavior"], "deny");
}

#[test]
fn an_answer_of_a_file_or_a_rule_is_not_handed_to_claude_as_its_users() {
    let stage = Stage::new().env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli").env("ASKUSER_POPUP", "none");
    let mut recommended = question();
    recommended["tool_input"]["questions"][0]["options"][0]["label"] = json!("A (Recommended)");
    let stage = stage.file("a.json", r#"{"Which": "A (Recommended)"}"#);
    let answers = stage.path("a.json").display().to_string();
    let stage = stage.env("ASKUSER_ANSWERS", &answers);
    // The person is still asked.
    let mut hook = stage.spawn_with(&["hook"], std::process::Stdio::piped());
    hook.stdin.take().unwrap().write_all(recommended.to_string().as_bytes()).unwrap();
    let waiting = pending(&stage, 1);
    assert_eq!(run(&stage, &["answer", id(&waiting[0]), "--answers", &answers]).code, Some(0));
    assert_eq!(hook.wait_with_output().unwrap().stdout, b"", "a file said so, and no person");
    // If no person may be asked, the hook has no output either.
    let stage = stage.env("ASKUSER_HEADLESS", "recommended");
    let ended = stage.run_with(&["hook"], recommended.to_string().as_bytes());
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(0)), "{}", ended.stderr);
}

#[test]
fn a_permission_of_the_hook_serves_once_for_the_same_call() {
    let event = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_use_id": "t", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let stage = Stage::new().env("CLAUDE_CODE_ENTRYPOINT", "cli").env("ASKUSER_POPUP", "none");
    let mut hook = stage.spawn_with(&["hook"], std::process::Stdio::piped());
    hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    let waiting = pending(&stage, 1);
    assert_eq!(run(&stage, &["answer", id(&waiting[0]), "--select", "Bash=Allow once"]).code, Some(0));
    let output: Value = serde_json::from_slice(&hook.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(output["hookSpecificOutput"]["decision"]["behavior"], "allow");
    let again = stage.run_with(&["hook"], event.to_string().as_bytes());
    assert_eq!((again.stdout.as_str(), again.code), ("", Some(0)), "{}", again.stderr);
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

/// Starts a hook that waits while Claude Code shows its dialog.
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

#[test]
fn an_edit_that_ran_is_found_by_its_input_and_not_by_its_diff() {
    let stage = Stage::new().file("a.txt", "one\n");
    let path = stage.path("a.txt");
    let input = json!({"file_path": path, "old_string": "one", "new_string": "two"});
    let event = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "prompt_id": "p", "tool_name": "Edit", "tool_input": input});
    let stage = stage.env("CLAUDE_CODE_ENTRYPOINT", "cli").env("ASKUSER_POPUP", "none");
    let mut hook = stage.spawn_with(&["hook"], std::process::Stdio::piped());
    hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    assert!(pending(&stage, 1)[0]["context"]["change"].is_object());
    std::fs::write(&path, "two\n").unwrap();
    let mut ran = event;
    ran["hook_event_name"] = "PostToolUse".into();
    stage.run_with(&["hook"], ran.to_string().as_bytes());
    ended_without_a_word(&stage, hook);
}

#[test]
fn the_end_of_a_turn_withdraws_the_questions_of_its_prompt_alone() {
    let event = json!({"hook_event_name": "PermissionRequest", "session_id": "s", "prompt_id": "p", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let (stage, hook) = beside_dialog(&event);
    let stop = |session: &str, prompt: &str, agent: Option<&str>| {
        let mut event = json!({"hook_event_name": "Stop", "session_id": session, "prompt_id": prompt});
        if let Some(agent) = agent {
            event["agent_id"] = agent.into();
        }
        assert_eq!(stage.run_with(&["hook"], event.to_string().as_bytes()).code, Some(0));
    };
    for (session, prompt, agent) in [("s", "q", None), ("t", "p", None), ("s", "p", Some("a"))] {
        stop(session, prompt, agent);
        pending(&stage, 1);
    }
    stop("s", "p", None);
    ended_without_a_word(&stage, hook);
}

#[test]
fn a_question_that_reads_like_a_permission_is_refused_and_says_why() {
    let mut forged = question();
    forged["tool_input"]["questions"][0]["options"][0]["label"] = "Allow once".into();
    for (event, entrypoint, reason) in
        [("PreToolUse", "sdk-cli", "/permissionDecisionReason"), ("PermissionRequest", "cli", "/decision/message")]
    {
        forged["hook_event_name"] = event.into();
        let stage = Stage::new().env("CLAUDE_CODE_ENTRYPOINT", entrypoint);
        let ended = stage.run_with(&["hook"], forged.to_string().as_bytes());
        let output: Value = serde_json::from_str(&ended.stdout).unwrap();
        let why = output["hookSpecificOutput"].pointer(reason).and_then(Value::as_str).unwrap_or_default();
        assert!(why.contains("\"Allow once\" reads like an answer to a permission"), "{output}");
        pending(&stage, 0);
    }
}
