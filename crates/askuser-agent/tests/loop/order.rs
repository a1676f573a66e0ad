//! The order of calls. Calls that ask or act run alone and in their turn. Calls that only read run concurrently.

use crate::support::*;
use askuser_agent::{Agent, PermissionMode, Permissions};
use serde_json::{Value, json};

fn look(at: &str) -> Value {
    json!({"name": "Look", "input": {"at": at}})
}

fn act(at: &str) -> Value {
    json!({"name": "Act", "input": {"at": at}})
}

#[tokio::test]
async fn nothing_else_of_the_turn_runs_between_a_question_and_its_outcome() {
    let log = Log::default();
    let model = calling([json!([look("a"), ask("Which?"), look("b"), act("c")])]);
    let person = Person::logging(&log, [pick("SQLite")]);
    let permissions = Permissions::new(PermissionMode::Allow);
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(person).with_permissions(permissions);
    let events = collect(agent.run("go")).await;
    assert_eq!(
        log.lines(),
        [
            "begin Look a",
            "end Look a",
            "asked Which?",
            "replied Which?",
            "begin Look b",
            "end Look b",
            "begin Act c",
            "end Act c"
        ]
    );
    assert_eq!(
        short(&events),
        [
            "start call_1_1 Look",
            "result call_1_1",
            "start call_1_2 AskUserQuestion",
            "ask call_1_2",
            "ended call_1_2 answered",
            "result call_1_2",
            "start call_1_3 Look",
            "result call_1_3",
            "start call_1_4 Act",
            "result call_1_4",
            "text done",
            "done done",
        ]
    );
}

#[tokio::test]
async fn two_questions_of_one_turn_are_asked_one_after_the_other() {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([ask("First?"), ask("Second?")])]));
    let person = Person::logging(&log, [pick("SQLite"), pick("PostgreSQL")]);
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(person);
    finish(&mut agent, "go").await;
    assert_eq!(log.lines(), ["asked First?", "replied First?", "asked Second?", "replied Second?"]);
    let results = requests.last_results();
    assert!(results[0].1.contains("(First?)\n   Selected: SQLite"), "{results:?}");
    assert!(results[1].1.contains("(Second?)\n   Selected: PostgreSQL"), "{results:?}");
}

#[tokio::test]
async fn tools_that_only_look_run_beside_each_other() {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([look("a"), look("b")])]));
    let mut agent = Agent::new(model).with_tools(registry(&log));
    finish(&mut agent, "go").await;
    let mut lines = log.lines();
    lines[..2].sort();
    lines[2..].sort();
    assert_eq!(lines, ["begin Look a", "begin Look b", "end Look a", "end Look b"]);
    let ids: Vec<String> = requests.last_results().into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, ["call_1_1", "call_1_2"]);
}

#[tokio::test]
async fn at_most_eight_run_beside_each_other_and_the_results_stay_in_order() {
    let log = Log::default();
    let names: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    let looks: Vec<Value> = names.iter().map(|name| look(name)).collect();
    let (model, requests) = watched(calling([Value::Array(looks)]));
    let mut agent = Agent::new(model).with_tools(registry(&log));
    finish(&mut agent, "go").await;
    let mut running = 0;
    let mut most = 0;
    for line in log.lines() {
        if line.starts_with("begin") {
            running += 1
        } else {
            running -= 1
        }
        most = most.max(running);
    }
    assert_eq!(most, 8);
    let outputs: Vec<String> = requests.last_results().into_iter().map(|(_, output, _)| output).collect();
    assert_eq!(outputs, names.iter().map(|name| format!("Look {name}: ok")).collect::<Vec<_>>());
}

#[tokio::test]
async fn tools_that_act_run_one_after_the_other() {
    let log = Log::default();
    let mut agent = Agent::new(calling([json!([act("a"), act("b")])]))
        .with_tools(registry(&log))
        .with_permissions(Permissions::new(PermissionMode::Allow));
    finish(&mut agent, "go").await;
    assert_eq!(log.lines(), ["begin Act a", "end Act a", "begin Act b", "end Act b"]);
}
