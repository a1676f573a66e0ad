//! Plan mode: no tool acts until the person approves a plan.

use crate::support::*;
use askuser::Outcome;
use askuser_agent::{Agent, PermissionMode, Permissions};
use serde_json::{Value, json};

fn plan() -> Value {
    json!([{"name": "ExitPlanMode", "input": {"plan": "1. Build\n2. Ship"}}])
}

fn planning(agent: Agent) -> Agent {
    agent.with_permissions(Permissions::new(PermissionMode::Plan))
}

#[tokio::test]
async fn what_acts_is_not_offered_in_plan_mode_and_the_model_is_told_why() {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([{"name": "Act", "input": {}}])]));
    let person = Person::new([]);
    let agent = Agent::new(model).with_system("Be brief.").with_tools(registry(&log)).with_asker(person);
    finish(&mut planning(agent), "go").await;
    let seen = &requests.all()[0];
    assert_eq!(seen.tools, ["AskUserQuestion", "ExitPlanMode", "Task", "Look"]);
    assert!(seen.system.starts_with("Be brief.\n\n") && seen.system.contains("\n\nPlan mode is on"), "{}", seen.system);
    assert_eq!(log.lines(), Vec::<String>::new());
    let words =
        "Act is not available in plan mode, which only looks and asks. Present the plan with ExitPlanMode first.";
    assert_eq!(requests.last_result(), (words.into(), true));
}

#[tokio::test]
async fn a_subagent_cannot_act_in_plan_mode_either() {
    let log = Log::default();
    let model = script(json!({
        "turns": [{"calls": [{"name": "Task", "input": {"description": "one", "prompt": "go"}}]}, {"text": "done"}],
        "tasks": {"one": [{"calls": [{"name": "Act", "input": {}}]}, {"text": "could not"}]},
    }));
    let agent = Agent::new(model).with_tools(registry(&log)).with_asker(Person::new([]));
    finish(&mut planning(agent), "go").await;
    assert_eq!(log.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn a_question_is_asked_in_plan_mode() {
    let person = Person::new([pick("SQLite")]);
    let log = Log::default();
    let agent = Agent::new(calling([json!([ask("Which?")])])).with_tools(registry(&log)).with_asker(person.clone());
    finish(&mut planning(agent), "go").await;
    assert_eq!(person.asked().len(), 1);
}

/// Presents a plan and replies to it. Returns the mode afterwards, the mode events, and the result that the model
/// reads.
async fn after(reply: Reply) -> (PermissionMode, Vec<String>, String) {
    let log = Log::default();
    let (model, requests) = watched(calling([plan()]));
    let person = Person::new([reply]);
    let mut agent = planning(Agent::new(model).with_tools(registry(&log)).with_asker(person.clone()));
    let events = collect(agent.run("go")).await;
    assert_eq!(
        person.asked()[0].context(),
        Some(&askuser::Context::Prose("1. Build\n2. Ship".into())),
        "the plan is shown"
    );
    let modes = short(&events).into_iter().filter(|event| event.starts_with("mode")).collect();
    let offered = requests.all().pop().unwrap().tools.contains(&"Act".to_owned());
    assert_eq!(offered, agent.mode() != PermissionMode::Plan);
    (agent.mode(), modes, requests.last_result().0)
}

#[tokio::test]
async fn an_approved_plan_ends_plan_mode() {
    let read = "The user approved the plan. Plan mode is over: carry it out.";
    assert_eq!(after(pick("Go ahead")).await, (PermissionMode::Ask, vec!["mode Ask".into()], read.into()));
}

#[tokio::test]
async fn an_approved_plan_may_let_edits_through() {
    let read = "The user approved the plan. Plan mode is over: carry it out.";
    let reply = pick("Go ahead, accept edits");
    assert_eq!(after(reply).await, (PermissionMode::AcceptEdits, vec!["mode AcceptEdits".into()], read.into()));
}

#[tokio::test]
async fn a_note_beside_an_approval_may_be_a_condition_so_plan_mode_stays_on_until_the_model_has_read_it() {
    let read = "The user would approve the plan, and noted: but slowly\nThe note may be a condition, so the plan is not approved \
                yet. Still in plan mode: take it in and present the plan again.";
    for label in ["Go ahead", "Go ahead, accept edits"] {
        assert_eq!(after(pick_and_note(label, "but slowly")).await, (PermissionMode::Plan, vec![], read.into()));
    }
}

#[tokio::test]
async fn everything_else_leaves_plan_mode_on() {
    let dismissed = "The user dismissed the plan without approving it. Still in plan mode: wait for them.";
    let refused = |words| {
        format!(
            "The user did not approve the plan. They wrote: {words} Still in plan mode: revise it before you present it again."
        )
    };
    for (reply, read) in [
        (pick_and_note("Keep planning", "tests first"), &*refused("tests first")),
        (other("Go ahead"), &refused("Go ahead")),
        (ends(Outcome::cancelled()), dismissed),
        (ends(Outcome::declined(Some("too big".into()))), &refused("too big")),
        (ends(Outcome::discuss(None)), "The user wants to talk about the plan first. Still in plan mode."),
        (ends(Outcome::timed_out()), "The time ran out before the user approved the plan. Still in plan mode."),
        (
            ends(Outcome::unavailable("no terminal")),
            "The user was not asked to approve the plan (no terminal). Still in plan mode: end your turn with the plan.",
        ),
    ] {
        assert_eq!(after(reply).await, (PermissionMode::Plan, vec![], read.to_owned()));
    }
}

#[tokio::test]
async fn a_plan_without_words_is_shown_to_nobody() {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([{"name": "ExitPlanMode", "input": {}}])]));
    let agent = Agent::new(model).with_tools(registry(&log)).with_asker(Person::new([]));
    finish(&mut planning(agent), "go").await;
    let words = "Invalid ExitPlanMode input; nothing was done. plan: missing, is required";
    assert_eq!(requests.last_result(), (words.into(), true));
}

#[tokio::test]
async fn there_is_no_plan_to_present_outside_of_plan_mode() {
    let log = Log::default();
    let (model, requests) = watched(calling([plan()]));
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(Person::new([]));
    finish(&mut agent, "go").await;
    assert!(!requests.all()[0].tools.contains(&"ExitPlanMode".to_owned()));
    assert_eq!(requests.last_result(), ("ExitPlanMode is not available now.".into(), true));
}
