//! The definitions of the tools, as clients list them.

use crate::server::Options;
use askuser::tool::{self, Provider};
use rmcp::model::Tool;
use serde_json::{Value, json};

/// The tool that asks a question.
pub(crate) const ASK: &str = tool::NAME;
/// The tool that waits again for an earlier question.
pub(crate) const RESULT: &str = "AskUserQuestionResult";

/// The tool that Claude Code calls for permission.
pub(crate) const APPROVE: &str = "approve";

pub(crate) fn definitions(options: &Options) -> Vec<Tool> {
    let result = json!({
        "name": RESULT,
        "description": include_str!("../prompts/tools/ask-user-question-result.txt").trim_end(),
        "inputSchema": {"type": "object", "properties": {"ticket": {"type": "string"}, "withdraw": {"type": "boolean"}}},
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
        "_meta": {"anthropic/alwaysLoad": true},
    });
    let approve = json!({
        "name": APPROVE,
        "description": "For --permission-prompt-tool; never call it yourself.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool_name": {"type": "string"},
                "input": {"type": "object"},
                "tool_use_id": {"type": "string"},
            },
            "required": ["tool_name", "input"],
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    });
    let mut ask = tool::definition(Provider::Mcp, options.rules.limits(), &[]);
    // Many clients have a question tool of their own beside askuser's.
    let which = if options.background {
        include_str!("../prompts/tools/ask-and-keep-working.txt")
    } else {
        include_str!("../prompts/tools/which-question-tool.txt")
    };
    let which = which.trim_end();
    if options.background {
        ask["inputSchema"]["properties"]["background"] = json!({"type": "boolean"});
    }
    ask["description"] = format!("{which} {}", ask["description"].as_str().unwrap_or_default()).into();
    let approve = options.approve.then_some(approve);
    [ask, result].into_iter().chain(approve).filter_map(tool).collect()
}

fn tool(definition: Value) -> Option<Tool> {
    let tool = serde_json::from_value(definition);
    debug_assert!(tool.is_ok(), "{tool:?}");
    tool.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::Limits;

    #[test]
    fn the_tools_cost_at_most_1900_characters() {
        let listed = serde_json::to_string(&definitions(&Options::default())).unwrap();
        assert!(listed.chars().count() <= 1_900, "{} characters: {listed}", listed.chars().count());
    }

    #[test]
    fn the_tools_are_listed_as_clients_need_them() {
        for (background, beginning) in [
            (true, "To keep working while the user decides, call this tool with background: true."),
            (false, "If you have a tool AskUserQuestion of your own, use it; otherwise this one."),
        ] {
            let listed = serde_json::to_value(definitions(&Options { background, ..Options::default() })).unwrap();
            let names: Vec<&str> =
                listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
            assert_eq!(names, [ASK, RESULT]);
            for tool in listed.as_array().unwrap() {
                assert_eq!(tool["annotations"], json!({"readOnlyHint": true, "openWorldHint": false}));
                assert_eq!(tool["_meta"], json!({"anthropic/alwaysLoad": true}));
            }
            // The SDK loses no field of the definition.
            let mut ask = listed[0].clone();
            let definition = tool::definition(Provider::Mcp, &Limits::DEFAULT, &[]);
            let description = ask["description"].take();
            ask["description"] = definition["description"].clone();
            let field = ask["inputSchema"]["properties"].as_object_mut().unwrap().remove("background");
            assert_eq!(field, background.then(|| json!({"type": "boolean"})));
            assert_eq!(ask, definition);
            let description = description.as_str().unwrap();
            assert!(description.starts_with(beginning), "which one to take comes first");
            assert!(description.ends_with(definition["description"].as_str().unwrap()), "{description}");
        }
    }
}
