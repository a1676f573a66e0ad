use super::*;
use crate::agent::Agent;
use crate::event::AgentEvent;
use crate::script::Script;
use crate::secrets::Secrets;
use crate::tools::test_fixtures::{TestFolder, call};
use crate::tools::{Grep, Read, Write};
use crate::transcript::Transcript;
use futures_util::FutureExt;
use rustix::process::{Pid, test_kill_process};
use serde_json::Value;
use std::future::Future;
use std::path::Path;

async fn bash(test: &TestFolder, command: &str) -> ToolResult {
    test.run(&Bash::default(), json!({"command": command})).await
}

fn details(result: &ToolResult) -> Value {
    result.metadata.as_ref().and_then(|metadata| metadata.details.clone()).unwrap_or_default()
}

/// Waits until the command has written its process id. Returns the id.
async fn pid_in(path: &Path) -> Pid {
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if let Some(pid) = text.strip_suffix('\n').and_then(|text| text.parse().ok()).and_then(Pid::from_raw) {
            return pid;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process runs. A zombie has ended and only waits for its parent to read its status.
fn is_running(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let is_zombie = stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")));
    !is_zombie && test_kill_process(pid).is_ok()
}

async fn run_within(test: &TestFolder, command: &str, ms: u64) -> ToolResult {
    run("call_1", command, None, Duration::from_millis(ms), &test.context).await
}

#[tokio::test]
async fn output_is_what_both_streams_had_in_order() {
    let result = bash(&TestFolder::new(), "echo one; echo two >&2; echo three").await;
    let expected = ToolResult::ok("one\ntwo\nthree")
        .with_title("Bash", "echo one; echo two >&2; echo three")
        .with_details(json!({"exit_code": 0}));
    assert_eq!(result, expected);
}

#[tokio::test]
async fn it_runs_in_the_working_folder() {
    let test = TestFolder::new();
    assert_eq!(bash(&test, "pwd").await.output, test.context.cwd.display().to_string());
}

#[tokio::test]
async fn a_failure_says_its_exit_code_first() {
    let result = bash(&TestFolder::new(), "echo no; exit 3").await;
    assert_eq!((result.success, result.output.as_str()), (false, "Exit code 3\n\nno"));
    assert_eq!(details(&result), json!({"exit_code": 3}));
}

/// Returns the pieces of output that were sent while the call ran.
fn told(test: &mut TestFolder) -> Vec<String> {
    let events = test.events();
    let texts = events.into_iter().filter_map(|event| match event {
        AgentEvent::ToolOutput { id, text } if id == "call_1" => Some(text),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn what_a_command_writes_is_told_while_it_runs() {
    let mut test = TestFolder::new();
    let call = call(
        &Bash::default(),
        json!({"command": "echo early; until [ -e go ]; do sleep 0.01; done; printf '\\xe2\\x82'; exit 1"}),
    );
    let context = test.context.clone();
    let tool = Bash::default();
    let mut running = tool.run(&call, &context);
    let early = loop {
        tokio::select! {
            _ = &mut running => unreachable!("it waits"),
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
        let told = told(&mut test);
        if !told.is_empty() {
            break told;
        }
    };
    assert_eq!(early, ["early\n"]);
    let test = test.with_file("go", "");
    assert_eq!(running.await.unwrap().output, "Exit code 1\n\nearly\n\u{fffd}");
    drop(test);
}

#[tokio::test]
async fn a_flood_is_told_in_few_bounded_pieces_that_say_what_is_left_out() {
    let mut test = TestFolder::new();
    bash(&test, "seq 1 3000000").await;
    let told = told(&mut test);
    let last = told.last().unwrap();
    assert!(told.iter().all(|piece| piece.len() < 66_000), "{:?}", told.iter().map(String::len).collect::<Vec<_>>());
    assert!(told.iter().any(|piece| piece.starts_with("\n…\n")), "a flood has gaps, and says so");
    assert!(last.ends_with("\n2999999\n3000000\n"), "{last}");
}

#[tokio::test]
async fn a_line_longer_than_a_piece_is_told_by_its_end() {
    let mut test = TestFolder::new();
    bash(&test, "printf 'é%.0s' {1..60000}; printf 'z'").await;
    let told = told(&mut test);
    assert!(told.iter().all(|piece| piece.len() < 66_000));
    assert!(told.last().unwrap().ends_with('z'));
}

#[tokio::test]
async fn a_key_is_not_told_while_a_command_runs() {
    let mut test = TestFolder::new();
    let environment = |_: &str| Some("sk-secret-1".to_owned());
    let secrets = crate::secrets::Secrets::in_variables(["A_KEY"], [], environment, &[]);
    std::sync::Arc::make_mut(&mut test.context.shared).secrets = secrets;
    bash(&test, "printf 'x sk-sec'; sleep 0.3; echo ret-1 y").await;
    assert_eq!(told(&mut test).concat(), "x [key removed] y\n");
}

#[tokio::test]
async fn a_signal_is_named() {
    let result = bash(&TestFolder::new(), "kill -KILL $$").await;
    assert_eq!((result.success, result.output.as_str()), (false, "Killed by signal 9"));
    assert_eq!(details(&result), json!({"exit_code": null, "signal": 9}));
}

#[tokio::test]
async fn empty_output_is_reported() {
    assert_eq!(bash(&TestFolder::new(), "true").await.output, "(no output)");
}

#[tokio::test]
async fn there_is_no_input_no_pager_and_no_prompt() {
    let result = bash(&TestFolder::new(), "cat; echo $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT").await;
    assert_eq!(result.output, "cat cat 0");
}

#[tokio::test]
async fn there_is_no_terminal() {
    let result = bash(&TestFolder::new(), "exec 3</dev/tty && echo open").await;
    assert!(!result.success && !result.output.contains("open\n"), "{}", result.output);
}

#[tokio::test]
async fn the_description_or_the_first_line_is_what_people_see() {
    let test = TestFolder::new();
    let result = test.run(&Bash::default(), json!({"command": "true", "description": "Does nothing"})).await;
    assert_eq!(result.metadata.unwrap().subtitle, Some("Does nothing".into()));
    let result = bash(&test, "true\ntrue").await;
    assert_eq!(result.metadata.unwrap().subtitle, Some("true…".into()));
}

#[tokio::test]
async fn long_output_loses_its_middle_and_says_how_much() {
    let result = bash(&TestFolder::new(), "printf 'a%.0s' {1..20000}; printf 'b%.0s' {1..20000}").await;
    let expected = format!(
        "{}\n\n… 10000 characters left out …\n\n{}{}",
        "a".repeat(7_500),
        "a".repeat(2_500),
        "b".repeat(20_000)
    );
    assert_eq!(result.output, expected);
}

#[tokio::test]
async fn endless_output_is_bounded_and_ends_with_the_timeout() {
    let result = desk_timeout("yes", 300).await;
    assert!(result.output.chars().count() < MAX_OUTPUT + 200);
    assert!(result.output.contains(" characters left out …"));
    assert_eq!(details(&result), json!({"exit_code": null, "timed_out": true}));
}

async fn desk_timeout(command: &str, ms: u64) -> ToolResult {
    TestFolder::new().run(&Bash::default(), json!({"command": command, "timeout_ms": ms})).await
}

#[tokio::test]
async fn a_timeout_keeps_the_output_and_is_reported() {
    let result = desk_timeout("echo before; sleep 1000", 300).await;
    let expected = "Timed out after 300 ms and was stopped. It may have taken effect in part.\n\nbefore";
    assert_eq!((result.success, result.output.as_str()), (false, expected));
}

#[tokio::test]
async fn output_while_being_stopped_is_kept() {
    let result = desk_timeout("trap 'echo cleaned up; exit' TERM; sleep 1000 & wait", 300).await;
    assert!(result.output.ends_with("\n\ncleaned up"), "{}", result.output);
}

#[tokio::test]
async fn a_timeout_kills_grandchildren_that_ignore_sigterm() {
    let test = TestFolder::new();
    let command = "(trap '' TERM; echo $BASHPID > pid; while :; do sleep 1; done) & wait";
    let input = json!({"command": command, "timeout_ms": 500});
    test.run(&Bash::default(), input).await;
    assert!(!is_running(pid_in(&test.path("pid")).await));
}

#[tokio::test]
async fn a_stopped_command_does_not_outlast_the_timeout() {
    let test = TestFolder::new();
    let result = run_within(&test, "echo $$ > pid; kill -STOP $$; echo never", 300).await;
    assert!(result.output.starts_with("Timed out"), "{}", result.output);
    assert!(!is_running(pid_in(&test.path("pid")).await));
}

#[tokio::test]
async fn a_process_in_the_background_does_not_hold_the_call_and_is_stopped() {
    for redirect in ["", "> /dev/null 2>&1"] {
        let test = TestFolder::new();
        let command = format!("sleep 1000 {redirect} & echo $! > pid; echo done");
        let result = run_within(&test, &command, 60_000).await;
        assert_eq!(result.output, "Its background processes were stopped.\n\ndone");
        assert!(result.success);
        assert!(!is_running(pid_in(&test.path("pid")).await));
    }
}

#[tokio::test]
async fn a_process_that_left_the_group_with_the_pipe_does_not_hold_the_call() {
    let test = TestFolder::new();
    let result = bash(&test, "setsid sleep 1000 & echo $! > pid; sleep 0.1; echo done").await;
    assert!(result.output.ends_with("done"), "{}", result.output);
    // If the shell has no process groups, the pid is that of the process itself.
    let _ = rustix::process::kill_process(pid_in(&test.path("pid")).await, rustix::process::Signal::KILL);
}

#[tokio::test]
async fn nothing_is_left_of_a_call_that_is_dropped() {
    for stubborn in ["", "trap '' TERM;"] {
        let test = TestFolder::new();
        let command = format!("{stubborn} sleep 1000 & echo $! > child; echo $$ > pid; wait");
        let call = call(&Bash::default(), json!({"command": command}));
        let tool = Bash::default();
        let mut running = tool.run(&call, &test.context);
        let pids = async { (pid_in(&test.path("pid")).await, pid_in(&test.path("child")).await) };
        let (pid, child) = tokio::select! {
            _ = &mut running => unreachable!("it waits"),
            pids = pids => pids,
        };
        assert!(is_running(pid) && is_running(child));
        drop(running);
        assert!(!is_running(pid) && !is_running(child));
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_call_that_is_dropped_at_once() {
    let test = TestFolder::new();
    let call = call(&Bash::default(), json!({"command": "echo $$ > pid; sleep 1000"}));
    let tool = Bash::default();
    let mut running = tool.run(&call, &test.context);
    assert!((&mut running).now_or_never().is_none());
    drop(running);
    let pid = std::fs::read_to_string(test.path("pid")).unwrap_or_default();
    assert!(pid.trim().parse().ok().and_then(Pid::from_raw).is_none_or(|pid| !is_running(pid)));
}

#[tokio::test]
async fn an_abort_stops_it_and_what_it_has_written_stays() {
    let test = TestFolder::new();
    let call = call(&Bash::default(), json!({"command": "echo written; sleep 1000 & echo $! > pid; wait"}));
    let tool = Bash::default();
    let running = tool.run(&call, &test.context);
    let abort = async {
        let pid = pid_in(&test.path("pid")).await;
        test.context.abort.cancel();
        pid
    };
    let (ended, pid) = tokio::join!(running, abort);
    let ended = ended.unwrap();
    assert_eq!(ended.output, "The user stopped it. It may have taken effect in part.\n\nwritten");
    assert_eq!(ended.metadata.unwrap().details.unwrap()["stopped"], true);
    assert!(!is_running(pid));
}

#[tokio::test]
async fn two_commands_run_beside_each_other() {
    let test = TestFolder::new();
    let first = bash(&test, "until [ -e ping ]; do sleep 0.01; done; echo first");
    let second = bash(&test, "echo second; touch ping");
    let (first, second) = both(first, second).await;
    assert_eq!((first.output.as_str(), second.output.as_str()), ("first", "second"));
}

async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    tokio::join!(a, b)
}

#[test]
fn the_context_of_a_consent_is_the_whole_command() {
    let consent = TestFolder::new().consent(&Bash::default(), json!({"command": "make \\\n  all"}));
    let expected = Consent {
        question: "Run this command?".into(),
        context: askuser::Context::Command("make \\\n  all".into()),
        rule: PermissionRule::Command("make \\\n  all".into()),
        always: "Run exactly this command in this folder without asking".into(),
        plain_words: Default::default(),
        always_ask: false,
        is_inside: false,
        because: Some("there is no sandbox here: none was set up".into()),
        agreed: Some(Agreed::Reach(None)),
    };
    assert_eq!(consent, Ok(expected));
}

#[test]
fn without_a_sandbox_no_rule_by_prefix_lets_anything_through() {
    let consent = TestFolder::new().consent(&Bash::default(), json!({"command": "cargo test -p x"})).unwrap();
    assert_eq!((consent.plain_words, consent.is_inside), (Vec::new(), false));
}

#[tokio::test]
async fn wrong_inputs_are_refused_before_anybody_is_asked() {
    let test = TestFolder::new();
    let hidden =
        "has characters that cannot be shown, must be readable to the user; spell control characters as escapes";
    let cases = [
        (json!({}), "command: missing, is required".to_owned()),
        (json!({"command": " "}), "command: blank, must say something".into()),
        (json!({"command": "x".repeat(8_001)}), "command: 8001 characters, at most 8000; put it in a file".into()),
        (json!({"command": "ls", "network": true}), "reason: blank, must say something".into()),
        (json!({"command": "ls", "outside": true, "reason": " "}), "reason: blank, must say something".into()),
        (
            json!({"command": "ls", "outside": true, "reason": "a\n\nAsks because"}),
            "reason: has characters that cannot be shown, must be one line of text".into(),
        ),
        (
            json!({"command": "ls", "network": true, "reason": "x".repeat(301)}),
            "reason: 301 characters, at most 300".into(),
        ),
        (json!({"command": "ls", "timeout_ms": 600_001}), "timeout_ms: 600001, must be from 1 to 600000".into()),
        (json!({"command": "echo \u{1b}[2Krm -rf ."}), format!("command: {hidden}")),
        (json!({"command": "echo a\rrm -rf ."}), format!("command: {hidden}")),
        (json!({"command": "echo \u{202e}x"}), format!("command: {hidden}")),
    ];
    for (input, why) in cases {
        let expected = ToolResult::error(format!("Invalid Bash input; nothing was done. {why}"));
        assert_eq!(test.consent(&Bash::default(), input.clone()), Err(expected.clone()));
        assert_eq!(test.run(&Bash::default(), input).await, expected);
    }
}

#[tokio::test]
async fn a_folder_that_is_gone_is_an_error() {
    let mut test = TestFolder::new();
    test.context.cwd = test.outside("gone");
    assert!(bash(&test, "ls").await.output.starts_with("Not run: no shell could be started in "));
}

#[tokio::test]
async fn the_model_reads_no_control_characters_of_a_command() {
    let command = r"printf '\033[31mred\033[0m\tx\r\n10 %%\r20 %%\r\n\aend'";
    let result = TestFolder::new().run(&Bash::default(), json!({"command": command})).await;
    assert_eq!(result.output, "red\tx\n20 %\nend");
}

#[tokio::test]
async fn all_of_a_long_output_is_in_a_file_that_read_and_grep_find() {
    let mut test = TestFolder::new();
    let sessions = test.outside("sessions");
    let secrets = Secrets::in_variables(["A_KEY"], [], |_| Some("sk-secret-1".into()), &[]);
    let transcript = Transcript::create(&sessions, &test.context.cwd).unwrap();
    test.context.shared = Agent::new(Script::default()).with_transcript(transcript).with_secrets(secrets).shared;
    let command = "for n in $(seq 1 9000); do echo line $n; done; echo sk-secret-1; seq 1 9000";
    let result = test.run(&Bash::default(), json!({"command": command})).await;
    let file = result.metadata.unwrap().details.unwrap()["output_file"].as_str().unwrap().to_owned();
    assert!(result.output.contains(&format!("characters left out; Read and Grep find all of it in {file} …")));
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!((kept.lines().count(), kept.contains("sk-secret")), (18_001, false));
    let read = test.run(&Read, json!({"path": file, "offset": 5000, "limit": 1})).await;
    assert!(read.output.starts_with("5000\tline 5000\n"), "{}", read.output);
    assert!(test.run(&Grep, json!({"path": file, "pattern": "^line 4321$"})).await.output.contains("line 4321"));
    assert!(!test.run(&Write, json!({"path": file, "content": "x"})).await.success);
    // Other files of the session stay inaccessible.
    let session = test.context.shared.transcript.path().unwrap();
    assert!(!test.run(&Read, json!({"path": session})).await.success);
}
