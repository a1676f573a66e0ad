//! Commands end with the agent, and so do the processes that they leave running. Only Linux ends processes that have
//! left the session of a command.

use crate::place::{Driver, Place, ask};
use serde_json::json;

/// The beginning of a command that holds a lock as long as any of its processes lives.
const HOLD: &str = "exec 9>lock; flock 9;";

/// A command that starts a lasting process in a separate session.
const DAEMON: &str = "setsid sleep 600 >/dev/null 2>&1 </dev/null &";

/// Waits until this file exists.
fn wait_for(place: &Place, name: &str) {
    while !place.folder().join(name).exists() {
        std::thread::yield_now();
    }
}

/// Waits until all processes of a command that held the lock are gone.
fn wait_until_gone(place: &Place) {
    std::fs::File::open(place.folder().join("lock")).unwrap().lock().unwrap();
}

/// Kills the agent while a command runs.
fn kill_during(place: &Place, command: &str, change: impl Fn(&mut std::process::Command)) {
    let command = format!("{HOLD} {command}");
    let script = json!({"turns": [{"calls": [{"name": "Bash", "input": {"command": command}}]}, {"text": "done"}]});
    let mut agent = place.agent(&script, &["-p", "go", "--permissions", "allow"]);
    change(&mut agent);
    let mut agent = agent.spawn().unwrap();
    wait_for(place, "began");
    agent.kill().unwrap();
    agent.wait().unwrap();
    wait_until_gone(place);
}

#[test]
fn commands_end_with_an_agent_that_is_killed_and_so_does_what_left_their_session() {
    let stays = format!("{DAEMON} trap '' TERM; touch began; while :; do sleep 600; done");
    kill_during(&Place::new(), &stays, |_| {});
    // The command stops its parent, which may be its supervisor. A stopped supervisor would not notice the agent's end.
    kill_during(&Place::new(), "kill -STOP $PPID; touch began; exec sleep 600", |_| {});
}

/// The home folder gets no sandbox.
#[test]
fn without_a_sandbox_the_group_of_a_command_ends_with_an_agent_that_is_killed() {
    let place = Place::new();
    let stays = "trap '' TERM; touch began; while :; do sleep 600; done";
    kill_during(&place, stays, |agent| _ = agent.env("HOME", place.folder()));
}

#[test]
fn killed_in_a_command_nothing_more_of_its_message_is_done_before_the_message_of_the_user_who_returns() {
    for by_a_front_end in [false, true] {
        let place = Place::new();
        let command = format!("{HOLD} touch began; while :; do sleep 600; done");
        let calls = json!([
            {"name": "Bash", "input": {"command": command}},
            {"name": "Write", "input": {"path": "written.txt", "content": "x"}},
            ask("Which?", "Database", &["SQLite", "PostgreSQL"]),
        ]);
        let script = json!({"turns": [{"calls": calls}, {"text": "stopped"}]});
        let mut agent = place.agent(&script, &["-p", "go", "--permissions", "allow"]).spawn().unwrap();
        wait_for(&place, "began");
        agent.kill().unwrap();
        agent.wait().unwrap();
        wait_until_gone(&place);
        if by_a_front_end {
            let args = ["--continue", "--output", "stream-json", "--permissions", "allow"];
            let mut agent = Driver::start(&mut place.agent(&script, &args));
            // The agent waits for the model, however long its first word takes.
            std::thread::sleep(std::time::Duration::from_millis(700));
            agent.send(&json!({"type": "user", "text": "stop"}));
            while agent.until("done")["text"] != "stopped" {}
            agent.hang_up();
            assert_eq!(agent.finish(), 0);
        } else {
            let args = ["--continue", "-p", "stop", "--permissions", "allow"];
            let said = "askuser: permissions are allow: commands run with your access, and reach askuser's own files\n";
            assert_eq!(crate::place::output(&mut place.agent(&script, &args)), (0, "stopped\n".into(), said.into()));
        }
        assert!(!place.folder().join("written.txt").exists());
        let entries = Place::entries(&place.sessions()[0]);
        let kinds: Vec<&str> = entries.iter().filter_map(|entry| entry["type"].as_str()).collect();
        assert_eq!(kinds[kinds.len() - 5..], ["result", "result", "result", "user", "assistant"], "{kinds:?}");
        let read = entries[entries.len() - 4]["result"]["output"].as_str().unwrap();
        assert!(read.starts_with("Not run: the user came back with a message"), "{read}");
    }
}

#[test]
fn what_a_command_leaves_is_stopped_and_said_to_be_though_it_has_a_session_of_its_own() {
    for (left, expected) in [
        ("sleep 600 & true", "Its background processes were stopped."),
        (&*format!("{DAEMON} exit 3"), "Exit code 3\nIts background processes were stopped."),
        // A command that kills the process waiting for it ends with that process.
        (&*format!("{DAEMON} kill -9 $PPID; sleep 600"), "Exit code 137"),
    ] {
        let place = Place::new();
        let command = format!("{HOLD} {left}");
        let script = json!({"turns": [{"calls": [{"name": "Bash", "input": {"command": command}}]}, {"text": "done"}]});
        assert_eq!(crate::place::output(&mut place.agent(&script, &["-p", "go", "--permissions", "allow"])).0, 0);
        wait_until_gone(&place);
        let entries = Place::entries(&place.sessions()[0]);
        let result = entries.iter().find(|entry| entry["type"] == "result").unwrap();
        assert_eq!(result["result"]["output"], expected);
    }
}
