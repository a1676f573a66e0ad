//! The events as Claude Code sends them, and the decisions that it reads.

use super::asking::request;
use super::decision;
use super::event::HookEvent;
use askuser::{Context, Outcome, Purpose, Via};
use serde_json::{Value, json};

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

/// Returns the decision after these rows were chosen, or this text was typed.
fn decided(kind: HookEvent, event: &Value, rows: &[usize], typed: Option<&str>, via: Via) -> Option<Value> {
    noted(kind, event, rows, typed, None, via)
}

/// Returns the decision after an answer with a note.
fn noted(
    kind: HookEvent,
    event: &Value,
    rows: &[usize],
    typed: Option<&str>,
    note: Option<&str>,
    via: Via,
) -> Option<Value> {
    let (request, form) = request(kind, event).expect("a question");
    let set = request.set();
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let answers = set.questions().iter().map(|question| question.answer(rows, owned(typed), owned(note)).unwrap());
    let resolution = Outcome::answered(set, answers.collect()).unwrap().through(via);
    decision::of(kind, set, form.as_ref(), &resolution, &|| true)
}

fn ended(kind: HookEvent, event: &Value, outcome: Outcome) -> Option<Value> {
    let (request, form) = request(kind, event).expect("a question");
    decision::of(kind, request.set(), form.as_ref(), &outcome.through(Via::Inbox), &|| true)
}

#[test]
fn an_answer_goes_into_the_input_of_the_tool() {
    let event = event();
    let output = decided(HookEvent::QuestionsBeforeTool, &event, &[0, 1], None, Via::Inbox).unwrap();
    assert_eq!(output["permissionDecision"], "allow");
    assert_eq!(output["updatedInput"]["answers"], json!({"Which features?": "A, B"}));
    assert_eq!(output["updatedInput"]["questions"], event["tool_input"]["questions"]);
    let output = decided(HookEvent::QuestionsInDialog, &event, &[0], Some("C"), Via::Inbox).unwrap();
    assert_eq!(output["decision"]["behavior"], "allow");
    assert_eq!(output["decision"]["updatedInput"]["answers"], json!({"Which features?": "A, C"}));
}

#[test]
fn a_person_who_declines_is_quoted_and_silence_decides_nothing() {
    let output = ended(HookEvent::QuestionsBeforeTool, &event(), Outcome::cancelled()).unwrap();
    assert_eq!(output["permissionDecision"], "deny");
    assert!(output["permissionDecisionReason"].as_str().unwrap().contains("cancelled"), "{output}");
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}});
    for kind in [HookEvent::QuestionsBeforeTool, HookEvent::QuestionsInDialog, HookEvent::Permission] {
        let event = if kind == HookEvent::Permission { bash.clone() } else { event() };
        assert_eq!(ended(kind, &event, Outcome::unavailable("no person")), None);
        assert_eq!(ended(kind, &event, Outcome::timed_out()), None);
    }
}

#[test]
fn a_tool_runs_only_if_a_person_allows_just_that() {
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "rm -r x", "description": "d"}});
    let allowed = || Some(json!({"behavior": "allow"}));
    let denied = |why: &str| Some(json!({"behavior": "deny", "message": why}));
    let decision = |rows: &[usize], typed, note, via| {
        noted(HookEvent::Permission, &bash, rows, typed, note, via).map(|output| output["decision"].clone())
    };
    let over = |outcome| ended(HookEvent::Permission, &bash, outcome).map(|output| output["decision"].clone());
    let words = |words: &str| denied(&format!("The user did not allow this. Their words: {words}"));
    let on_a_yes = "Not run: the user would allow this, and noted: in a branch\nThe note may be a condition, so nothing has run \
                    yet. Keep to it, and call again if you still need to: the user is asked again.";
    assert_eq!(decision(&[0], None, None, Via::Inbox), allowed());
    assert_eq!(decision(&[0], None, Some("in a branch"), Via::Inbox), denied(on_a_yes));
    assert_eq!(decision(&[1], None, None, Via::Inbox), denied("The user did not allow this."));
    assert_eq!(decision(&[1], None, Some("ever"), Via::Inbox), words("ever"));
    assert_eq!(decision(&[], Some("Allow once"), None, Via::Inbox), words("Allow once"), "typed is not chosen");
    assert_eq!(over(Outcome::declined(Some("no".into()))), words("no"));
    let talk = "Not run: the user wants to talk about it first. Their words: why? Reply to them before you go on.";
    assert_eq!(over(Outcome::discuss(Some("why?".into()))), denied(talk));
    let dismissed = "Not run: the user dismissed the request for permission. Wait for them to say how to go on.";
    assert_eq!(over(Outcome::cancelled()), denied(dismissed));
    assert_eq!((over(Outcome::timed_out()), over(Outcome::unavailable("no person"))), (None, None));
    for via in [Via::Policy, Via::AnswersFile] {
        assert_eq!(decision(&[0], None, None, via), None, "no rule gives permission");
        assert_eq!(decision(&[1], None, None, via), None, "nor refuses it beside the dialog");
    }
}

#[test]
fn a_permission_names_its_tool_and_keeps_the_input_as_it_came() {
    let tool = "mcp__github__create_issue";
    let event = json!({"tool_name": tool, "tool_input": {"title": "x"}});
    let (asked, _) = request(HookEvent::Permission, &event).unwrap();
    let question = &asked.set().questions()[0];
    assert_eq!((question.header(), question.text()), ("mcp__github_", &*format!("Run {tool} with this input?")));
    let Some(Context::ToolUse(call)) = asked.context() else { panic!("{:?}", asked.context()) };
    assert_eq!((call.tool(), json!(call.input())), (tool, event["tool_input"].clone()));
    assert_eq!(asked.key().purpose, Purpose::Permission);
}

#[test]
fn an_edit_is_shown_as_a_diff_against_the_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one\ntwo\n").unwrap();
    let input = json!({"file_path": folder.path().join("a.txt"), "old_string": "two", "new_string": "2"});
    let event = json!({"cwd": folder.path(), "tool_name": "Edit", "tool_input": input});
    let (asked, _) = request(HookEvent::Permission, &event).unwrap();
    assert_eq!(asked.title(), "Edit a.txt (+1 −1)?");
    let parts = asked.context().unwrap().parts();
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    assert_eq!(parts, [std::borrow::Cow::<Context>::Owned(Context::Diff(diff.into()))]);
}

#[test]
fn a_file_that_changed_since_is_not_edited() {
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}});
    let (asked, _) = request(HookEvent::Permission, &bash).unwrap();
    let set = asked.set();
    let yes = Outcome::answered(set, vec![set.questions()[0].answer(&[0], None, None).unwrap()]).unwrap();
    let output = decision::of(HookEvent::Permission, set, None, &yes.through(Via::Inbox), &|| false).unwrap();
    assert_eq!(output["decision"]["behavior"], "deny");
    assert!(output["decision"]["message"].as_str().unwrap().starts_with("Not run: the file changed since"));
}

#[test]
fn a_form_of_choices_is_asked_and_filled_in_and_any_other_is_not() {
    let schema = json!({"type": "object", "properties": {
        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
        "sure": {"type": "boolean", "title": "Are you sure?"},
        "tags": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}, {"const": "y", "title": "Y"}]}},
    }});
    let event = json!({"mcp_server_name": "m", "message": "Order", "requested_schema": schema});
    let output = decided(HookEvent::Elicitation, &event, &[1], None, Via::Inbox).unwrap();
    assert_eq!(output["content"], json!({"size": "l", "sure": false, "tags": ["y"]}));
    assert_eq!(ended(HookEvent::Elicitation, &event, Outcome::cancelled()).unwrap()["action"], "cancel");
    let asked =
        |schema: Value| request(HookEvent::Elicitation, &json!({"message": "Who?", "requested_schema": schema}));
    let text = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    assert!(asked(text.clone()).is_none(), "no choice");
    let mut both = text;
    both["properties"]["sure"] = json!({"type": "boolean"});
    assert!(asked(both.clone()).is_some());
    both["required"] = json!(["name"]);
    assert!(asked(both).is_none(), "a field that is required would stay empty");
}

/// Returns a form with one choice and this further field.
fn form(further: &str, required: &[&str]) -> Value {
    let mut properties = json!({"size": {"type": "string", "enum": ["s", "l"]}});
    if !further.is_empty() {
        properties[further] = json!({"type": "string"});
    }
    let schema = json!({"type": "object", "properties": properties, "required": required});
    json!({"mcp_server_name": "shop", "message": "Which size?", "requested_schema": schema})
}

#[test]
fn words_are_offered_only_where_a_form_has_a_field_for_them() {
    for (event, takes_words) in
        [(form("", &[]), false), (form("comment", &["size"]), false), (form("comment", &[]), true)]
    {
        let (asked, _) = request(HookEvent::Elicitation, &event).unwrap();
        let form = asked.set().rules().form();
        assert_eq!((form.takes_text(), form.takes_notes()), (takes_words, takes_words), "{event}");
        let question = &asked.set().questions()[0];
        assert_eq!(question.answer(&[], Some("medium".into()), None).is_some(), takes_words, "{event}");
    }
}

#[test]
fn words_go_into_the_field_of_the_form() {
    let content = |event: &Value, rows: &[usize], typed, note| {
        noted(HookEvent::Elicitation, event, rows, typed, note, Via::Inbox).unwrap()["content"].clone()
    };
    let event = form("comment", &[]);
    assert_eq!(content(&event, &[1], None, Some("as a gift")), json!({"size": "l", "comment": "as a gift"}));
    assert_eq!(content(&event, &[], Some("medium"), Some("soon")), json!({"comment": "medium\nsoon"}));
    let (asked, _) = request(HookEvent::Elicitation, &event).unwrap();
    let Some(Context::Prose(context)) = asked.context() else { panic!("{:?}", asked.context()) };
    assert!(context.contains("`comment`"), "{context}");
}

#[test]
fn a_form_names_its_server() {
    let (asked, _) = request(HookEvent::Elicitation, &form("", &[])).unwrap();
    assert_eq!(asked.asked_by().as_deref(), Some("form of shop"));
}
