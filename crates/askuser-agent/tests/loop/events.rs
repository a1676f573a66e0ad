//! Events as JSON. The six of the proposals have exactly the proposals' fields.

use crate::support::*;
use askuser::policy::{Headless, Policy};
use askuser::{Chain, Outcome};
use askuser_agent::{Agent, AgentEvent, PermissionMode, Permissions, Secrets, tools};
use serde_json::{Value, json};
use std::sync::Arc;

async fn told(agent: &mut Agent) -> Vec<Value> {
    collect(agent.run("go")).await.iter().map(|event| serde_json::to_value(event).unwrap()).collect()
}

#[tokio::test]
async fn a_turn_with_a_question_reads_as_the_proposals_say() {
    let model = script(json!({"turns": [
        {"text": "Let me ask.", "calls": [ask("Which database?")]},
        {"text": "SQLite it is."},
    ]}));
    let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(Person::new([pick("SQLite")]));
    let events = told(&mut agent).await;
    let mut proposed: Vec<Value> = events
        .into_iter()
        .filter(|event| {
            !["text_delta", "text_end", "usage", "context", "question_ended"].contains(&event["type"].as_str().unwrap())
        })
        .collect();
    let request = proposed[2].as_object_mut().unwrap().remove("request").expect("the request");
    let request: askuser::Request = serde_json::from_value(request).expect("a request that is rebuilt");
    assert_eq!((&*request.key().call, request.set().questions()[0].header()), ("call_1_1", "Database"));
    let input = questions("Which database?");
    let read = "User answered the following questions:\n\n\
                1. Database (Which database?)\n   Selected: SQLite\n\n\
                Proceeding with user selections.";
    let answer = json!({"question": "Which database?", "header": "Database", "selectedOptions": ["SQLite"]});
    let expected = json!([
        {"type": "text", "text": "Let me ask."},
        {"type": "tool_start", "id": "call_1_1", "name": "AskUserQuestion", "input": input},
        {"type": "ask_user", "id": "call_1_1", "questions": request.set().questions_json()},
        {"type": "tool_result", "id": "call_1_1", "name": "AskUserQuestion", "result": {
            "success": true, "output": read, "metadata": {
                "title": "AskUserQuestion", "subtitle": "1 question",
                "details": {"status": "answered", "answers": [answer], "via": "terminal"},
            },
        }},
        {"type": "text", "text": "SQLite it is."},
        {"type": "done", "text": "SQLite it is."},
    ]);
    assert_eq!(json!(proposed), expected);
}

#[tokio::test]
async fn what_breaks_a_turn_off_is_an_error() {
    let mut agent = Agent::new(script(json!({"turns": []})));
    let expected = json!({"type": "error", "error": {"kind": "script", "message": "the script ends here"}});
    assert_eq!(told(&mut agent).await, [expected]);
}

#[tokio::test]
async fn the_rest_has_names_of_its_own() {
    let model = script(json!({
        "turns": [{"calls": [{"name": "Task", "input": {"description": "one", "prompt": "go"}}]}, {"text": "ok then"}],
        "tasks": {"one": [{"text": "1"}]},
    }));
    let mut agent = Agent::new(model).with_tools(tools::talking());
    let mut events = told(&mut agent).await;
    let contexts =
        |event: &Value| event["type"] == "context" && event["tokens"].as_u64().is_some_and(|tokens| tokens > 0);
    assert_eq!(events.extract_if(.., |event| contexts(event)).count(), 2, "one for each response of the agent itself");
    let task = |event: Value| json!({"type": "task", "id": "call_1_1", "description": "one", "event": event});
    let expected = json!([
        {"type": "usage", "input_tokens": 1, "output_tokens": 0},
        {"type": "tool_start", "id": "call_1_1", "name": "Task", "input": {"description": "one", "prompt": "go"}},
        task(json!({"type": "text_delta", "text": "1"})),
        task(json!({"type": "text_end"})),
        task(json!({"type": "text", "text": "1"})),
        task(json!({"type": "usage", "input_tokens": 1, "output_tokens": 1})),
        task(json!({"type": "done", "text": "1"})),
        {"type": "tool_result", "id": "call_1_1", "name": "Task", "result": {
            "success": true, "output": "1", "metadata": {"title": "Task", "subtitle": "one"},
        }},
        {"type": "text_delta", "text": "ok "},
        {"type": "text_delta", "text": "then"},
        {"type": "text_end"},
        {"type": "text", "text": "ok then"},
        {"type": "usage", "input_tokens": 2, "output_tokens": 2},
        {"type": "done", "text": "ok then"},
    ]);
    assert_eq!(json!(events), expected);
}

fn act() -> Value {
    json!({"name": "Act", "input": {"at": "it"}})
}

/// Returns the questions that ended, each with its id, purpose and outcome.
async fn ended(agent: &mut Agent) -> Vec<(Value, Value, Value)> {
    let told = told(agent).await.into_iter().filter(|event| event["type"] == "question_ended");
    told.map(|event| (event["id"].clone(), event["key"]["purpose"].clone(), event["outcome"].clone())).collect()
}

#[tokio::test]
async fn a_question_that_ended_says_how_with_the_id_it_was_asked_under() {
    let plan = json!({"name": "ExitPlanMode", "input": {"plan": "Do it."}});
    let model = calling([json!([ask("Which?")]), json!([plan]), json!([act()])]);
    let person = Person::new([other("x"), pick("Go ahead"), ends(Outcome::declined(Some("no".into())))]);
    let mut agent = Agent::new(model)
        .with_tools(registry(&Log::default()))
        .with_asker(person)
        .with_permissions(Permissions::new(PermissionMode::Plan));
    let events = told(&mut agent).await;
    let of = |name: &str| events.iter().filter(|event| event["type"] == name).cloned().collect::<Vec<_>>();
    let asked = of("ask_user");
    let ended = of("question_ended");
    let ids = |events: &[Value]| events.iter().map(|event| event["id"].clone()).collect::<Vec<_>>();
    assert_eq!((ids(&asked), ended.len()), (ids(&ended), 3));
    let details: Vec<Value> =
        of("tool_result").iter().map(|event| event["result"]["metadata"]["details"].clone()).collect();
    let expected = [&details[0], &details[1], &details[2]["permission"]];
    assert!(ended.iter().map(|event| &event["outcome"]).eq(expected), "{ended:?}");
    assert_eq!(ended[2]["outcome"], json!({"status": "declined", "reason": "no", "answers": [], "via": "terminal"}));
}

#[tokio::test]
async fn a_providers_key_in_an_answer_is_in_no_event() {
    let secrets = Secrets::in_variables(["A_KEY"], [], |_| Some("sk-secret-1".into()), &[]);
    let mut agent = Agent::new(calling([json!([ask("Which?")])]))
        .with_tools(tools::talking())
        .with_asker(Person::new([other("the one of sk-secret-1")]))
        .with_secrets(secrets);
    let events = json!(told(&mut agent).await).to_string();
    assert_eq!((events.matches("sk-secret-1").count(), events.matches("the one of [key removed]").count()), (0, 3));
}

#[tokio::test]
async fn a_question_that_could_not_be_asked_ends_as_well() {
    let unavailable = json!({
        "status": "unavailable", "reason": "no person can be asked in this run", "answers": [], "via": null,
    });
    let calls = || calling([json!([act()]), json!([ask("Which?")])]);
    let mut agent = Agent::new(calls()).with_tools(registry(&Log::default()));
    let [permission, question] = &ended(&mut agent).await[..] else { panic!("two questions") };
    assert_eq!((&permission.1, &permission.2), (&json!("permission"), &unavailable));
    assert_eq!(question, &(json!("call_2_1"), Value::Null, unavailable));
    // A question that a policy settles is not asked, so its ending is its only event.
    let fail = Chain::new(Policy { answers: None, headless: Some(Headless::Fail) }).with_person(Person::new([]));
    let mut agent = Agent::new(calls()).with_tools(registry(&Log::default())).with_asker(Arc::new(fail));
    let statuses: Vec<Value> =
        ended(&mut agent).await.into_iter().map(|(.., outcome)| outcome["status"].clone()).collect();
    assert_eq!(statuses, ["unavailable", "unavailable"]);
}

#[tokio::test]
async fn events_can_be_read_back() {
    let model = calling([json!([ask("Which?"), {"name": "Nothing", "input": {}}])]);
    let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(Person::new([other("x")]));
    let events = collect(agent.run("go")).await;
    let json = serde_json::to_string(&events).unwrap();
    assert_eq!(serde_json::from_str::<Vec<AgentEvent>>(&json).unwrap(), events);
}
