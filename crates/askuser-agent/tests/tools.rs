//! The tools as an agent uses them.

use askuser_agent::{Agent, AgentEvent, PermissionMode, Permissions, Script, ToolResult, tools};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::path::Path;

/// Runs these calls one after the other with a scripted model and without a person. Returns their results.
async fn results(folder: &Path, mode: PermissionMode, calls: &[(&str, Value)]) -> Vec<ToolResult> {
    let calls: Vec<Value> = calls.iter().map(|(name, input)| json!({"name": name, "input": input})).collect();
    let script = json!({"turns": [{"calls": calls}, {"text": "Done."}]});
    let mut agent = Agent::new(Script::parse(&script.to_string()).unwrap())
        .with_tools(tools::all())
        .with_folder(folder)
        .with_permissions(Permissions::new(mode));
    let mut results = Vec::new();
    let mut run = agent.run("Go");
    while let Some(event) = run.next().await {
        if let AgentEvent::ToolResult { result, .. } = event {
            results.push(result);
        }
    }
    results
}

#[test]
fn there_are_nine() {
    let offered = |mode| tools::all().offered(mode, true).into_iter().map(|tool| tool.name).collect::<Vec<_>>();
    let working = ["AskUserQuestion", "Task", "Read", "Glob", "Grep", "Edit", "Write", "Bash"];
    assert_eq!(offered(PermissionMode::Ask), working);
    assert_eq!(offered(PermissionMode::Plan), ["AskUserQuestion", "ExitPlanMode", "Task", "Read", "Glob", "Grep"]);
}

#[test]
fn what_models_read_about_files_and_commands_is_short() {
    for tool in tools::all().without("AskUserQuestion").offered(PermissionMode::Ask, true) {
        let length = tool.description.len() + tool.schema.to_string().len();
        assert!(length < 1_000, "{}: {length} bytes", tool.name);
    }
}

#[tokio::test]
async fn accepted_edits_are_made_and_commands_still_need_a_person() {
    let folder = tempfile::tempdir().unwrap();
    let calls = [
        ("Write", json!({"path": "src/a.txt", "content": "one\ntwo\n"})),
        ("Edit", json!({"path": "src/a.txt", "old_string": "two", "new_string": "2"})),
        ("Read", json!({"path": "src/a.txt"})),
        ("Write", json!({"path": ".git/config", "content": "x"})),
    ];
    let mut results = results(folder.path(), PermissionMode::AcceptEdits, &calls).await;
    // The call is in a separate message, because it would be skipped after a call that was not allowed.
    let bash = [("Bash", json!({"command": "touch ran"}))];
    results.extend(self::results(folder.path(), PermissionMode::AcceptEdits, &bash).await);
    let outputs: Vec<String> =
        results.iter().map(|result| result.output.replace(std::path::MAIN_SEPARATOR, "/")).collect();
    let refused =
        "Not run: this needs the user's permission, and the user was not asked (no person can be asked in this run).";
    assert_eq!(
        outputs,
        ["Created src/a.txt (2 lines).", "Edited src/a.txt (1 replacement).", "1\tone\n2\t2\n", refused, refused]
    );
    assert!(!folder.path().join("ran").exists() && !folder.path().join(".git").exists());
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_before_permission() {
    let folder = tempfile::tempdir().unwrap();
    let calls = [("Edit", json!({"path": "no", "old_string": "a", "new_string": "b"}))];
    let results = results(folder.path(), PermissionMode::Ask, &calls).await;
    assert_eq!(results, [ToolResult::error("no does not exist; nothing was done. Write makes new files.")]);
}

#[tokio::test]
async fn a_plan_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let results =
        results(folder.path(), PermissionMode::Plan, &[("Write", json!({"path": "a", "content": "b"}))]).await;
    assert!(results[0].output.starts_with("Write is not available in plan mode"), "{}", results[0].output);
    assert!(!folder.path().join("a").exists());
}

#[tokio::test]
#[cfg_attr(windows, ignore = "the command is for a shell that Windows does not have")]
async fn with_everything_allowed_commands_run_in_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let calls = [("Bash", json!({"command": "touch ran; ls"}))];
    let results = results(folder.path(), PermissionMode::Allow, &calls).await;
    assert_eq!(results[0].output, "ran");
}

#[tokio::test]
#[cfg_attr(windows, ignore = "the command is for a shell that Windows does not have")]
async fn a_turn_that_is_stopped_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    let script = json!({"turns": [{"calls": [{"name": "Bash", "input": {"command": "echo $$ > pid; sleep 1000"}}]}]});
    let mut agent = Agent::new(Script::parse(&script.to_string()).unwrap())
        .with_tools(tools::all())
        .with_folder(folder.path())
        .with_permissions(Permissions::new(PermissionMode::Allow));
    let mut run = agent.run("Go");
    let stopper = run.stopper();
    let file = folder.path().join("pid");
    let stop = async {
        loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if let Some(pid) = text.strip_suffix('\n') {
                stopper.cancel();
                return pid.to_owned();
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let end = async { while run.next().await.is_some() {} };
    let ((), pid) = tokio::join!(end, stop);
    assert!(!Path::new(&format!("/proc/{pid}")).exists() || !cfg!(target_os = "linux"));
}

#[cfg(windows)]
#[tokio::test]
async fn quotes_reach_the_shell_as_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let calls = [("Bash", json!({"command": r#"mkdir "one two" "three""#}))];
    let results = results(folder.path(), PermissionMode::Allow, &calls).await;
    assert!(results[0].success, "{}", results[0].output);
    assert!(folder.path().join("one two").is_dir() && folder.path().join("three").is_dir());
}

#[cfg(windows)]
#[test]
#[ignore = "a process that another test starts"]
fn holds_a_lock_for_ever() {
    let file = std::fs::File::create("held").unwrap();
    file.lock().unwrap();
    loop {
        std::thread::park();
    }
}

#[cfg(windows)]
#[tokio::test]
async fn what_a_command_has_started_ends_with_it() {
    use std::time::Duration;
    let folder = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let command = format!("\"{}\" holds_a_lock_for_ever --exact --ignored", program.display());
    let call = json!({"name": "Bash", "input": {"command": command}});
    let mut agent = Agent::new(Script::parse(&json!({"turns": [{"calls": [call]}]}).to_string()).unwrap())
        .with_tools(tools::all())
        .with_folder(folder.path())
        .with_permissions(Permissions::new(PermissionMode::Allow));
    let mut run = agent.run("Go");
    let stopper = run.stopper();
    let is_held = |held: bool| {
        let path = folder.path().join("held");
        let look = move || std::fs::File::open(&path).is_ok_and(|file| file.try_lock().is_err());
        let until = async move {
            while look() != held {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        async { tokio::time::timeout(Duration::from_secs(60), until).await.expect("it begins, and ends") }
    };
    let stop = async {
        is_held(true).await;
        stopper.cancel();
    };
    let end = async { while run.next().await.is_some() {} };
    tokio::join!(end, stop);
    is_held(false).await;
}
