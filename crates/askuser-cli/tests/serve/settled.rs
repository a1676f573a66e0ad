//! Tests permissions behind a server. Any process with an agent's token can settle its questions, but no other process
//! treats that as a yes.

use crate::support::{Home, Served, store_at};
use askuser::store::{Attempt, Filter, Handle, Principal, QuestionId};
use askuser::{Outcome, Via};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

/// An inbox behind a server, with an asking token and a person.
struct TestEnv {
    home: Home,
    server: Served,
    ask: String,
    person: Handle,
}

impl TestEnv {
    fn new() -> TestEnv {
        let home = Home::new();
        let ask = home.token("ci", "--ask");
        let answer = home.token("ada", "--answer");
        let server = home.serve("127.0.0.1:0");
        let person = Handle::new(Arc::new(store_at(&server.url(), &answer)), Principal::person("ada", Via::Inbox));
        TestEnv { home, server, ask, person }
    }

    /// Returns a command with the asking token.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.home.command(words);
        command.env("ASKUSER_STORE", self.server.url()).env("ASKUSER_TOKEN", &self.ask);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self, words: &[&str], input: &str) -> Child {
        let mut child = self.command(words).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child
    }

    /// Waits for the pending question, and returns its id.
    fn waiting(&self) -> QuestionId {
        let mut id = None;
        askuser_conformance::until("it is asked", || {
            let page = pollster::block_on(self.person.list(&Filter::pending())).unwrap();
            id = page.questions.first().map(|question| question.id.clone());
            id.is_some()
        });
        id.unwrap()
    }

    /// Settles the pending question with the asker's own token, from another process.
    fn settle(&self, answer: &str) {
        let id = self.waiting();
        let settled = self.command(&["answer", id.as_str(), "--select", answer]).output().unwrap();
        assert!(settled.status.success(), "{settled:?}");
    }

    /// Answers the pending question as the person, with its first option.
    fn allow(&self) {
        let question = pollster::block_on(self.person.get(&self.waiting())).unwrap();
        let set = question.request.set();
        let answer = set.questions()[0].answer(&[0], None, None).unwrap();
        let outcome = Outcome::answered(set, vec![answer]).unwrap();
        pollster::block_on(self.person.answer(&question.id, outcome, &Attempt::new(question.id.as_str()))).unwrap();
    }

    fn agent(&self) -> Child {
        let script = self.home.folder.path().join("script.json");
        let call = json!({"name": "Bash", "input": {"command": "echo x >> ran"}});
        std::fs::write(&script, json!({"turns": [{"calls": [call]}, {"text": "Done."}]}).to_string()).unwrap();
        self.start(&["agent", "--script", script.to_str().unwrap(), "-p", "go", "--via", "inbox"], "")
    }

    /// Returns the number of times that the agent's command ran.
    fn runs(&self) -> usize {
        std::fs::read_to_string(self.home.folder.path().join("ran")).unwrap_or_default().lines().count()
    }
}

fn ended(child: Child) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_hook_takes_no_settled_outcome_for_a_yes() {
    let env = TestEnv::new();
    let event = |call: &str| {
        json!({
            "session_id": "s", "cwd": "/tmp", "tool_use_id": call, "hook_event_name": "PermissionRequest",
            "tool_name": "Bash", "tool_input": {"command": "git push --force"},
        })
        .to_string()
    };
    let hook = env.start(&["hook"], &event("t"));
    env.settle("Bash=Allow once");
    assert_eq!(ended(hook), (Some(0), String::new(), String::new()), "Claude Code asks by itself");
    let hook = env.start(&["hook"], &event("u"));
    env.allow();
    assert!(ended(hook).1.contains(r#""behavior":"allow""#), "and a person may allow it");
}

#[test]
fn confirm_takes_no_settled_outcome_for_a_yes_and_names_the_asker() {
    let env = TestEnv::new();
    let confirm = ["confirm", "Deploy?", "--via", "inbox"];
    let asking = env.start(&confirm, "");
    env.settle("Confirm=Yes");
    let (code, _, said) = ended(asking);
    assert!(code == Some(1) && said.contains("the asker (ci) reported this outcome itself"), "{code:?} {said}");
    let asking = env.start(&confirm, "");
    env.allow();
    assert_eq!(ended(asking).0, Some(0));
}

#[test]
fn our_agent_asks_again_what_its_own_token_settled() {
    let env = TestEnv::new();
    let agent = env.agent();
    env.settle("Bash=Allow once");
    // The same question waits again, and the person decides.
    env.allow();
    let (code, said, why) = ended(agent);
    assert!(code == Some(0) && said == "Done.\n" && env.runs() == 1, "{code:?} {said} {why}");
    assert!(why.contains("the asker (ci) reported this outcome itself"), "{why}");
    let agent = env.agent();
    (0..3).for_each(|_| env.settle("Bash=Allow once"));
    let (code, _, why) = ended(agent);
    assert!(code != Some(0) && env.runs() == 1, "{code:?} {why}");
}

#[test]
fn approve_takes_no_settled_outcome_for_a_yes() {
    let env = TestEnv::new();
    let mut server = env.command(&["mcp", "--approve"]).spawn().unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    let mut say = |message: Value| writeln!(stdin, "{message}").unwrap();
    let client =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    say(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}));
    say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let input = json!({"tool_name": "Bash", "input": {"command": "make install"}, "tool_use_id": "t"});
    let call = |id: u64| {
        let params = json!({"name": "approve", "arguments": input});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let mut reply = |id: u64| loop {
        let mut line = String::new();
        assert!(stdout.read_line(&mut line).unwrap() > 0, "it answers");
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["id"] == id {
            break message["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        }
    };
    reply(0);
    say(call(1));
    env.settle("Bash=Allow once");
    let denied = reply(1);
    assert!(denied.contains(r#""behavior":"deny""#) && denied.contains("the asker (ci) reported"), "{denied}");
    // A reported outcome permits no later call. The person is asked again.
    say(call(2));
    env.allow();
    let allowed = reply(2);
    assert!(allowed.contains(r#""behavior":"allow""#), "{allowed}");
    server.kill().unwrap();
    server.wait().unwrap();
}

/// Returns a permission of a hook whose process has died.
fn left_behind(env: &TestEnv) -> QuestionId {
    let event = json!({
        "session_id": "s", "cwd": "/tmp", "tool_use_id": "t", "hook_event_name": "PermissionRequest", "tool_name": "Bash",
        "tool_input": {"command": "make"},
    });
    let mut hook = env.start(&["hook"], &event.to_string());
    let id = env.waiting();
    hook.kill().unwrap();
    hook.wait().unwrap();
    id
}

#[test]
fn wait_prints_a_permission_once_and_then_when_it_was_used() {
    let env = TestEnv::new();
    let id = left_behind(&env);
    env.allow();
    let wait = || ended(env.start(&["wait", id.as_str()], ""));
    let (code, said, _) = wait();
    assert!(code == Some(0) && said.contains("Allow once"), "{said}");
    let (code, said, why) = wait();
    assert!(code == Some(4) && said.is_empty() && why.contains(&format!("{id} was used at ")), "{code:?} {said} {why}");
}

#[test]
fn a_permission_with_a_note_is_shown_as_not_run() {
    let env = TestEnv::new();
    let id = left_behind(&env);
    let answer = ["answer", id.as_str(), "--select", "Bash=Allow once", "--note", "Bash=in a branch"];
    let answered = env.home.run(&answer);
    assert!(String::from_utf8_lossy(&answered.stdout).ends_with(": not run: in a branch\n"), "{answered:?}");
    let log = String::from_utf8(env.home.run(&["log"]).stdout).unwrap();
    assert!(log.contains("→ not run: in a branch (ada from inbox"), "{log}");
    let token = env.home.token("tablet", "--answer");
    let page = env.server.send("GET", "/api/v1/questions?state=ended&view=page", Some(&token), "");
    assert!(page.contains(r#""not_run":"in a branch""#), "{page}");
}

#[test]
fn a_resumed_agent_runs_once_what_was_allowed_meanwhile() {
    let env = TestEnv::new();
    let mut agent = env.agent();
    env.waiting();
    agent.kill().unwrap();
    agent.wait().unwrap();
    env.allow();
    let script = env.home.folder.path().join("script.json");
    let resume = ["agent", "--script", script.to_str().unwrap(), "-p", "continue", "--continue", "--via", "inbox"];
    let (code, said, why) = ended(env.start(&resume, ""));
    assert!(code == Some(0) && env.runs() == 1, "{code:?} {said} {why}");
    ended(env.start(&resume, ""));
    assert_eq!(env.runs(), 1, "it serves once");
}
