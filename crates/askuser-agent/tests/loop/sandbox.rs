//! Commands inside the sandbox, and the permissions to leave it. The tests use the installed bubblewrap. Without a
//! working one they skip themselves, but fail if `CI` is set.

use crate::permission::{Kept, commands, why};
use crate::support::*;
use askuser_agent::{
    Agent, AgentEvent, AllowedRule, PermissionMode, PermissionRule, Permissions, Sandbox, SandboxSettings, Scope, tools,
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// A working folder, and files beside it that commands must not reach.
struct Place {
    outer: tempfile::TempDir,
}

impl Place {
    /// Returns `None` if this machine has no sandbox.
    fn new() -> Option<Place> {
        // The folder is not in `/tmp`, because commands have a private `/tmp`.
        let outer = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        ["work", "state", "other"].iter().for_each(|name| std::fs::create_dir(outer.path().join(name)).unwrap());
        std::fs::write(outer.path().join("state/kept"), "the secret").unwrap();
        let place = Place { outer };
        match place.sandbox() {
            Ok(_) => Some(place),
            Err(_) if std::env::var_os("CI").is_none_or(|value| value.is_empty()) => None,
            Err(why) => panic!("there is no sandbox here: {why}"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.outer.path().join(name)
    }

    fn sandbox(&self) -> Result<Sandbox, String> {
        let kept = vec![self.path("state")];
        let settings = SandboxSettings { kept, caches: Some(self.path("caches")), ..SandboxSettings::default() };
        Sandbox::new(settings, &self.path("work"), &[])
    }

    fn agent(&self, model: impl askuser_agent::Model + 'static, mode: PermissionMode, person: &Arc<Person>) -> Agent {
        Agent::new(model)
            .with_tools(tools::all())
            .with_asker(person.clone())
            .with_permissions(Permissions::new(mode))
            .with_sandbox(self.sandbox())
            .with_folder(self.path("work"))
    }
}

/// Calls Bash in this mode with this person. Returns the result that the model reads.
async fn result(place: &Place, mode: PermissionMode, person: &Arc<Person>, input: Value) -> String {
    let (model, requests) = watched(calling([json!([{"name": "Bash", "input": input}])]));
    finish(&mut place.agent(model, mode, person), "go").await;
    requests.last_result().0
}

fn bash(command: &str) -> Value {
    json!({"command": command})
}

#[tokio::test]
async fn inside_the_sandbox_a_command_changes_the_folder_and_nothing_else() {
    let Some(place) = Place::new() else { return };
    let person = Person::new([]);
    let command = "touch here; touch ../beside 2>&1; cat ../state/kept 2>&1; ls -A ~ | grep -cv -e '^[.]' ; echo done";
    let read = result(&place, PermissionMode::Sandbox, &person, bash(command)).await;
    assert!(read.contains("Read-only file system") && read.contains("done"), "{read}");
    assert!(!read.contains("the secret"), "{read}");
    assert!(place.path("work/here").exists() && !place.path("beside").exists());
}

#[tokio::test]
async fn a_command_in_the_sandbox_reaches_no_listener_and_with_the_network_it_asks_and_does() {
    let Some(place) = Place::new() else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let command = format!("exec 3<>/dev/tcp/127.0.0.1/{} && echo reached", listener.local_addr().unwrap().port());
    let person = Person::new([pick("Allow once")]);
    let read = result(&place, PermissionMode::Sandbox, &person, bash(&command)).await;
    assert!(!read.contains("reached") && person.asked().is_empty(), "{read}");
    let input = json!({"command": command, "network": true, "reason": "It fetches."});
    assert_eq!(result(&place, PermissionMode::Sandbox, &person, input).await, "reached");
    let asked = &person.asked()[0];
    let expected = "Run this command with the network?\n\nThe agent's reason: It fetches.";
    assert_eq!(asked.set().questions()[0].text(), expected);
    assert_eq!(asked.context(), Some(&askuser::Context::Command(command)));
    assert_eq!(why(asked), "This time only. Asks because it leaves the sandbox for the network.");
}

#[tokio::test]
async fn outside_the_sandbox_a_command_has_the_users_access() {
    let Some(place) = Place::new() else { return };
    let command = "touch ../beside; cat ../state/kept 2>&1";
    let leaving = || json!({"command": command, "outside": true, "reason": "It has to."});
    for mode in [PermissionMode::Ask, PermissionMode::AcceptEdits, PermissionMode::Sandbox] {
        let person = Person::new([pick("Don't run it")]);
        result(&place, mode, &person, leaving()).await;
        assert_eq!(person.texts(), ["Run this command outside the sandbox, with your access?"], "{mode:?}");
        assert!(!place.path("beside").exists());
    }
    for (mode, replies, input) in
        [(PermissionMode::Sandbox, vec![pick("Allow once")], leaving()), (PermissionMode::Allow, vec![], bash(command))]
    {
        let read = result(&place, mode, &Person::new(replies), input).await;
        assert_eq!(read, "the secret");
        std::fs::remove_file(place.path("beside")).unwrap();
    }
    assert_eq!(std::fs::read_to_string(place.path("state/kept")).unwrap(), "the secret");
}

#[tokio::test]
async fn to_leave_for_good_is_for_that_exact_command_and_listed_as_such() {
    let Some(place) = Place::new() else { return };
    let kept = Arc::new(Kept::default());
    let call = |input: Value| json!([{"name": "Bash", "input": input}]);
    let leaving = |command: &str, how: &str| call(json!({"command": command, how: true, "reason": "x"}));
    let person = Person::new([pick("Always allow in this folder"), pick("Don't run it"), pick("Don't run it")]);
    let turns =
        [leaving("true", "outside"), leaving("true", "outside"), leaving("true", "network"), call(bash("true"))];
    let mut agent = place
        .agent(calling(turns), PermissionMode::Ask, &person)
        .with_permissions(Permissions::default().with_allowed(kept.clone()));
    finish(&mut agent, "go").await;
    let asked = [
        "Run this command outside the sandbox, with your access?",
        "Run this command with the network?",
        "Run this command?",
    ];
    assert_eq!(person.texts(), asked);
    let listed: Vec<String> = agent.permission_rules().list().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(listed, ["Bash: true (exactly this, outside the sandbox)"]);
}

#[tokio::test]
async fn in_plan_mode_a_command_looks_without_asking_and_changes_nothing() {
    let Some(place) = Place::new() else { return };
    std::fs::write(place.path("work/a"), "content").unwrap();
    let person = Person::new([]);
    let read = result(&place, PermissionMode::Plan, &person, bash("cat a; touch b 2>&1; rm a 2>&1")).await;
    assert!(read.contains("content") && read.contains("Read-only file system"), "{read}");
    assert!(place.path("work/a").exists() && !place.path("work/b").exists());
    for how in ["network", "outside"] {
        let read =
            result(&place, PermissionMode::Plan, &person, json!({"command": "ls", how: true, "reason": "x"})).await;
        assert!(read.contains(&format!("{how}: true, must wait until the plan is approved")), "{read}");
    }
    assert!(person.asked().is_empty());
    assert!(
        !tools::all().offered(PermissionMode::Plan, true).iter().any(|tool| tool.name == "Bash"),
        "without a sandbox"
    );
}

#[tokio::test]
async fn what_was_agreed_to_inside_does_not_run_outside_though_the_mode_has_changed_meanwhile() {
    let Some(place) = Place::new() else { return };
    let person = Person::new([pick("Allow once")]);
    let (model, requests) = watched(calling([json!([{"name": "Bash", "input": bash("touch ../beside 2>&1")}])]));
    let (handle, mut events) = place.agent(model, PermissionMode::Ask, &person).start();
    handle.say("go").unwrap();
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::AskUser { .. } => handle.set_mode(PermissionMode::Allow).unwrap(),
            AgentEvent::Done { .. } => break,
            _ => {}
        }
    }
    assert_eq!(handle.mode(), PermissionMode::Allow);
    assert!(requests.last_result().0.contains("Read-only file system"), "{}", requests.last_result().0);
    assert!(!place.path("beside").exists());
}

#[tokio::test]
async fn a_prefix_that_was_allowed_lets_plain_commands_through_and_no_others() {
    let Some(place) = Place::new() else { return };
    let kept = Arc::new(Kept::default());
    let person = Person::new([pick("Always allow ls *"), pick("Don't run it"), pick("Don't run it")]);
    let turns = ["ls -a", "ls -l .", "ls; true"].map(|command| json!([{"name": "Bash", "input": bash(command)}]));
    let outside = json!([{"name": "Bash", "input": {"command": "ls", "outside": true, "reason": "x"}}]);
    let [a, b, c] = turns;
    let mut agent = place
        .agent(calling([a, b, c, outside]), PermissionMode::Ask, &person)
        .with_permissions(Permissions::default().with_allowed(kept.clone()));
    finish(&mut agent, "go").await;
    let asked: Vec<String> = person.asked().iter().map(why).collect();
    let expected = [
        "This time only. Asks because the mode is ask.",
        "This time only. Asks because the mode is ask. Your rule ls * does not hold: the command is more than plain words.",
        "This time only. Asks because the mode is ask, and it leaves the sandbox. Your rule ls * does not hold: it is for \
         commands inside the sandbox.",
    ];
    assert_eq!(asked, expected);
    assert_eq!(*kept.0.lock().unwrap(), BTreeSet::from([PermissionRule::CommandPrefix("ls".into())]));
}

#[tokio::test]
async fn without_a_sandbox_a_rule_by_prefix_asks_and_an_exact_one_holds() {
    let person = Person::new([pick("Don't run it")]);
    let mut agent = Agent::new(commands(["true", "ls -a"]))
        .with_tools(tools::all())
        .with_asker(person.clone())
        .with_sandbox(Err("bwrap is not installed".into()));
    let rules = agent.permission_rules();
    rules.add("ls *").unwrap();
    rules.add("true").unwrap();
    finish(&mut agent, "go").await;
    let asked: Vec<String> = person.asked().iter().map(why).collect();
    let expected = "This time only. Asks because the mode is ask, and there is no sandbox here: bwrap is not installed. Your rule \
                    ls * does not hold: it is for commands inside the sandbox.";
    assert_eq!(asked, [expected]);
}

#[tokio::test]
async fn a_rule_that_was_taken_back_is_asked_for_again() {
    let Some(place) = Place::new() else { return };
    let person = Person::new([pick("Always allow ls *"), pick("Don't run it")]);
    let mut agent = place.agent(commands(["ls -a"]), PermissionMode::Ask, &person);
    let rules = agent.permission_rules();
    finish(&mut agent, "go").await;
    let listed = rules.list().unwrap();
    assert_eq!(listed, [AllowedRule::new(PermissionRule::CommandPrefix("ls".into()), Scope::Session)]);
    rules.remove(&listed[0]).unwrap();
    assert_eq!(rules.list().unwrap(), []);
    agent.clear().unwrap();
    finish(&mut agent, "again").await;
    assert_eq!(person.asked().len(), 2);
}

#[tokio::test]
async fn a_rule_that_a_person_adds_is_not_asked_for() {
    let Some(place) = Place::new() else { return };
    let mut agent = place.agent(commands(["ls -a", "true"]), PermissionMode::Ask, &Person::new([]));
    let rules = agent.permission_rules();
    rules.add("ls *").unwrap();
    rules.add(" true ").unwrap();
    finish(&mut agent, "go").await;
    let listed: Vec<String> = rules.list().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(
        listed,
        ["Bash: true (exactly this), for this session", "Bash: ls * (inside the sandbox), for this session"]
    );
    let refused = rules.add("ls; true *").unwrap_err().to_string();
    assert!(refused.starts_with("a rule that ends in * has plain words before it"), "{refused}");
}

#[tokio::test]
async fn what_a_command_made_that_instructs_git_or_an_agent_is_named_to_the_person_and_the_model() {
    let Some(place) = Place::new() else { return };
    let command = "echo x > AGENTS.md; mkdir -p sub/.git/hooks; echo x > sub/.git/hooks/pre-commit; echo x > plain";
    let (model, requests) = watched(calling([json!([{"name": "Bash", "input": bash(command)}])]));
    let events = collect(place.agent(model, PermissionMode::Sandbox, &Person::new([])).run("go")).await;
    let named =
        "The command made or changed what git or agents take instructions from: AGENTS.md, sub/.git/hooks/pre-commit";
    assert_eq!(requests.last_result().0, format!("(no output)\n\n{named}. The user has been told."));
    let told = |event: &AgentEvent| matches!(event, AgentEvent::Notice { message } if message == named);
    assert!(events.iter().any(told), "{events:?}");
}

#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it_in_whatever_session_it_is() {
    let Some(place) = Place::new() else { return };
    let held = "exec 9>lock; flock 9;";
    for left in ["sleep 1000 &", "setsid sleep 1000 & disown;", "(trap '' TERM HUP; while :; do sleep 1; done) &"] {
        let command = format!("{held} {left} exit 3");
        let read = result(&place, PermissionMode::Sandbox, &Person::new([]), bash(&command)).await;
        assert_eq!(read, "Exit code 3\nIts background processes were stopped.", "{left}");
        // A process that survived would still hold the lock.
        std::fs::File::open(place.path("work/lock")).unwrap().lock().unwrap();
    }
    let read = result(&place, PermissionMode::Sandbox, &Person::new([]), bash("exit 3")).await;
    assert_eq!(read, "Exit code 3");
}

#[tokio::test]
async fn a_command_that_is_stopped_can_put_its_things_in_order_first() {
    let Some(place) = Place::new() else { return };
    let command = "trap 'echo ended > ended; exit 0' TERM; touch began; while :; do sleep 0.01; done";
    let input = json!({"command": command, "timeout_ms": 2_000});
    let read = result(&place, PermissionMode::Sandbox, &Person::new([]), input).await;
    assert!(read.starts_with("Timed out after 2000 ms and was stopped."), "{read}");
    assert!(place.path("work/ended").exists());
    let stubborn =
        json!({"command": "exec 9>lock; flock 9; trap '' TERM; while :; do sleep 1; done", "timeout_ms": 500});
    let read = result(&place, PermissionMode::Sandbox, &Person::new([]), stubborn).await;
    assert!(read.starts_with("Timed out after 500 ms and was stopped."), "{read}");
    std::fs::File::open(place.path("work/lock")).unwrap().lock().unwrap();
}

#[tokio::test]
async fn a_command_cannot_change_git_nor_commit_inside() {
    let Some(place) = Place::new() else { return };
    std::fs::create_dir_all(place.path("work/.git/hooks")).unwrap();
    let command = "touch .git/index .git/hooks/x 2>&1; mkdir .git/rebase-merge 2>&1; mv .git .other 2>&1";
    let read = result(&place, PermissionMode::Sandbox, &Person::new([]), bash(command)).await;
    assert_eq!(read.matches("Read-only file system").count(), 3, "{read}");
    assert!(read.contains("Device or resource busy"), "{read}");
}

#[tokio::test]
async fn commands_that_run_at_once_get_no_descriptor_of_each_other() {
    let Some(place) = Place::new() else { return };
    // The command tries to reach files through inherited descriptors of folders outside.
    let command = "for i in 1 2 3 4; do cat /proc/self/fd/*/../state/kept; ls -d /proc/self/fd/*/; done 2>/dev/null";
    let call = |i: usize| json!([{"name": "Bash", "input": bash(&format!("{command}; true {i}"))}]);
    let run = || async {
        let (model, requests) = watched(calling::<4>(std::array::from_fn(call)));
        finish(&mut place.agent(model, PermissionMode::Sandbox, &Person::new([])), "go").await;
        requests.last_result().0
    };
    let reads = futures_util::future::join_all((0..4).map(|_| run())).await;
    assert!(reads.iter().all(|read| read == "(no output)"), "{reads:?}");
}

#[tokio::test]
async fn what_was_changed_just_before_a_command_is_not_named_after_it() {
    let Some(place) = Place::new() else { return };
    let write = json!([{"name": "Write", "input": {"path": "AGENTS.md", "content": "x"}}]);
    let turns = [write, json!([{"name": "Bash", "input": bash("true")}])];
    let (model, requests) = watched(calling(turns));
    finish(&mut place.agent(model, PermissionMode::Sandbox, &Person::new([pick("Allow once")])), "go").await;
    assert_eq!(requests.last_result().0, "(no output)");
}
