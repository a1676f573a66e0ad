//! Events as Claude Code sends them, and what it reads of the decision.

use super::*;
use askuser::{Outcome, Via};

fn event() -> Value {
    let questions = json!([{
        "question": "Which features?",
        "header": "Features",
        "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
        "multiSelect": true,
    }]);
    json!({
        "session_id": "s", "cwd": "/p", "tool_use_id": "t", "hook_event_name": "PreToolUse",
        "tool_name": "AskUserQuestion", "tool_input": {"questions": questions},
    })
}

/// The decision after these rows were chosen, or these words typed.
fn decided(kind: HookEvent, event: &Value, rows: &[usize], typed: Option<&str>, via: Via) -> Option<Value> {
    let (request, form) = request(kind, event).expect("a question");
    let set = request.set();
    let answers = set.questions().iter().map(|question| question.answer(rows, typed.map(str::to_owned), None).unwrap());
    let resolution = Outcome::answered(set, answers.collect()).unwrap().through(via);
    decision::of(kind, set, form.as_ref(), &resolution)
}

fn ended(kind: HookEvent, event: &Value, outcome: Outcome) -> Option<Value> {
    let (request, form) = request(kind, event).expect("a question");
    decision::of(kind, request.set(), form.as_ref(), &outcome.through(Via::Inbox))
}

#[test]
fn an_answer_goes_into_the_input_of_the_tool() {
    let event = event();
    let said = decided(HookEvent::QuestionsBeforeTool, &event, &[0, 1], None, Via::Inbox).unwrap();
    assert_eq!(said["permissionDecision"], "allow");
    assert_eq!(said["updatedInput"]["answers"], json!({"Which features?": "A, B"}));
    assert_eq!(said["updatedInput"]["questions"], event["tool_input"]["questions"]);
    let said = decided(HookEvent::QuestionsInDialog, &event, &[0], Some("C"), Via::Inbox).unwrap();
    assert_eq!(said["decision"]["behavior"], "allow");
    assert_eq!(said["decision"]["updatedInput"]["answers"], json!({"Which features?": "A, C"}));
}

#[test]
fn a_person_who_declines_is_quoted_and_silence_decides_nothing() {
    let said = ended(HookEvent::QuestionsBeforeTool, &event(), Outcome::cancelled()).unwrap();
    assert_eq!(said["permissionDecision"], "deny");
    assert!(said["permissionDecisionReason"].as_str().unwrap().contains("cancelled"), "{said}");
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}});
    for kind in [HookEvent::QuestionsBeforeTool, HookEvent::QuestionsInDialog, HookEvent::Permission] {
        let event = if kind == HookEvent::Permission { bash.clone() } else { event() };
        assert_eq!(ended(kind, &event, Outcome::unavailable("nobody")), None);
        assert_eq!(ended(kind, &event, Outcome::timed_out()), None);
    }
}

#[test]
fn a_tool_runs_only_if_a_person_allows_just_that() {
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "rm -r x", "description": "d"}});
    let behavior = |rows: &[usize], typed, via| {
        decided(HookEvent::Permission, &bash, rows, typed, via).map(|said| said["decision"]["behavior"].clone())
    };
    assert_eq!(behavior(&[0], None, Via::Inbox), Some(json!("allow")));
    assert_eq!(behavior(&[1], None, Via::Inbox), Some(json!("deny")));
    assert_eq!(behavior(&[], Some("Allow once"), Via::Inbox), Some(json!("deny")), "typed is not chosen");
    for via in [Via::Policy, Via::AnswersFile] {
        assert_eq!(behavior(&[0], None, via), None, "no rule gives permission");
    }
    assert_eq!(ended(HookEvent::Permission, &bash, Outcome::cancelled()).unwrap()["decision"]["behavior"], "deny");
}

#[test]
fn what_would_run_is_shown_with_everything_that_matters() {
    assert_eq!(what_would_run(&json!({"command": "a\nb", "description": "d"})), Context::command("a\nb"));
    let more = what_would_run(&json!({"command": "a", "dangerouslyDisableSandbox": true}));
    assert!(matches!(&more, Context::ToolInput(text) if text.contains("dangerouslyDisableSandbox")), "{more:?}");
    assert!(matches!(what_would_run(&json!({"file_path": "x"})), Context::ToolInput(_)));
}

#[test]
fn a_form_of_choices_is_asked_and_filled_in_and_any_other_is_not() {
    let schema = json!({"type": "object", "properties": {
        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
        "sure": {"type": "boolean", "title": "Are you sure?"},
        "tags": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}, {"const": "y", "title": "Y"}]}},
    }});
    let event = json!({"mcp_server_name": "m", "message": "Order", "requested_schema": schema});
    let said = decided(HookEvent::Elicitation, &event, &[1], None, Via::Inbox).unwrap();
    assert_eq!(said["content"], json!({"size": "l", "sure": false, "tags": ["y"]}));
    assert_eq!(decided(HookEvent::Elicitation, &event, &[], Some("other"), Via::Inbox), None, "no place for it");
    let text = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    assert!(request(HookEvent::Elicitation, &json!({"message": "Who?", "requested_schema": text})).is_none());
    assert_eq!(ended(HookEvent::Elicitation, &event, Outcome::cancelled()).unwrap()["action"], "cancel");
}
