use super::*;
use crate::permission::Permission;
use crate::verbatim::Charset;
use serde_json::json;

fn call(tool: &str, input: Value) -> ToolUse {
    let Value::Object(input) = input else { panic!("no object: {input}") };
    ToolUse::new(tool, input)
}

fn change(is_new: bool) -> FileChange {
    FileChange { path: "src/retry.rs".into(), is_new, added: 2, removed: 1, diff: "--- a\n+++ b\n".into() }
}

fn title(call: &ToolUse) -> String {
    Permission::to_use(call).question_set().unwrap().questions()[0].text().to_owned()
}

#[test]
fn a_title_tells_one_call_from_another() {
    let edit = call("Edit", json!({"file_path": "/p/src/retry.rs"}));
    assert_eq!(title(&edit.clone().with_change(change(false))), "Edit src/retry.rs (+2 −1)?");
    assert_eq!(title(&edit.clone().with_change(change(true))), "Create src/retry.rs (+2)?");
    assert_eq!(title(&edit), "Run Edit with this input?");
    assert_eq!(title(&call("Bash", json!({"command": "ls"}))), "Run this command?");
    assert_eq!(title(&call("Bash", json!({"command": 1}))), "Run Bash with this input?");
    assert_eq!(title(&call("mcp__x__run", json!({"command": "ls"}))), "Run mcp__x__run with this input?");
    let address = json!({"url": "https://a.example/b", "prompt": "p"});
    assert_eq!(title(&call("WebFetch", address)), "Fetch https://a.example/b?");
    assert_eq!(title(&call("ExitPlanMode", json!({"plan": "1. x"}))), "Approve this plan?");
}

#[test]
fn a_command_is_shown_with_its_description_below() {
    let bash = call("Bash", json!({"description": "List\nfiles", "command": "ls\n-l", "timeout": 5}));
    let table = "description  List\n             files\ntimeout      5";
    assert_eq!(bash.parts(), [Context::Command("ls\n-l".into()), Context::ToolInput(table.into())]);
    let plain = call("Bash", json!({"command": "ls"}));
    assert_eq!(plain.parts(), [Context::Command("ls".into())]);
}

#[test]
fn fields_beside_a_diff_are_listed() {
    let input = json!({"file_path": "/p", "old_string": "a", "new_string": "b", "replace_all": true, "extra": [1]});
    let parts = call("Edit", input.clone()).with_change(change(false)).parts();
    let table = "extra  [\n         1\n       ]";
    assert_eq!(parts, [Context::Diff("--- a\n+++ b\n".into()), Context::ToolInput(table.into())]);
    let [Context::ToolInput(table)] = &call("Edit", input).parts()[..] else { panic!("a table alone") };
    assert!(table.contains("old_string   a\nnew_string   b\nreplace_all  true\nextra        [\n"), "{table}");
}

#[test]
fn a_plan_is_prose_and_the_rest_of_its_input_a_table() {
    let plan = call("ExitPlanMode", json!({"plan": "# P", "planFilePath": "/x"}));
    assert_eq!(plan.parts(), [Context::Prose("# P".into()), Context::ToolInput("planFilePath  /x".into())]);
}

#[test]
fn two_inputs_never_look_the_same() {
    let inputs = [
        json!({}),
        json!({"a": 1}),
        json!({"a": "1"}),
        json!({"a": "\"1\""}),
        json!({"a": true}),
        json!({"a": "true"}),
        json!({"a": null}),
        json!({"a": ""}),
        json!({"a": "{}"}),
        json!({"a": {}}),
        json!({"a": "x", "b": "y"}),
        json!({"a": "x\nb  y"}),
        json!({"a": "   x\nb  y"}),
        json!({"a": "x", "   b": "y"}),
        json!({"a\nb": "x"}),
        json!({"a\\nb": "x"}),
        json!({"a name that is longer than its column": "x"}),
    ];
    let shown: Vec<String> = inputs
        .iter()
        .map(|input| Context::ToolUse(call("T", input.clone())).shown(Charset::Utf8).into_owned())
        .collect();
    for (i, one) in shown.iter().enumerate() {
        assert!(!shown[..i].contains(one), "{one:?} stands for {} and another", inputs[i]);
    }
    insta::assert_snapshot!(shown.join("\n----\n"));
}

#[test]
fn the_input_is_stored_as_it_came() {
    let input = json!({"z": 1.5, "a": {"y": [], "b": "\u{202e}"}});
    let context = Context::ToolUse(call("T", input.clone()).with_change(change(false)));
    let stored = serde_json::to_value(&context).unwrap();
    assert_eq!((&stored["kind"], &stored["input"]), (&json!("tool_use"), &input));
    assert_eq!(serde_json::from_value::<Context>(stored).unwrap(), context);
    assert_eq!(context.raw_input().unwrap(), format!("{input:#}"));
}
