//! The events of Claude Code's hooks that askuser handles.

use serde_json::Value;

/// The name of Claude Code's own question tool.
pub(super) const QUESTION_TOOL: &str = "AskUserQuestion";
/// The value of `CLAUDE_CODE_ENTRYPOINT` if Claude Code has a screen.
const WITH_SCREEN: &str = "cli";
/// The value of `CLAUDE_CODE_ENTRYPOINT` if Claude Code runs without a screen (`claude -p`).
const HEADLESS: &str = "sdk-cli";
/// The variable that tells how Claude Code was started.
pub(crate) const ENTRYPOINT: &str = "CLAUDE_CODE_ENTRYPOINT";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookEvent {
    /// The model asks questions, and its tool has not run yet.
    QuestionsBeforeTool,
    /// The model asks questions, and Claude Code also shows them.
    QuestionsInDialog,
    /// A tool needs a permission, and Claude Code also asks for it.
    Permission,
    Elicitation,
    /// A tool has run, so the questions about its call are decided.
    ToolRan,
    /// A turn has ended, so its questions are decided.
    TurnEnded,
    /// A session was resumed, or its conversation was summarised.
    SessionWentOn,
}

impl HookEvent {
    /// Returns whether the model asks with Claude Code's own tool.
    pub(crate) fn is_question(self) -> bool {
        matches!(self, HookEvent::QuestionsBeforeTool | HookEvent::QuestionsInDialog)
    }

    /// Returns whether the event reports a decision made elsewhere.
    pub(crate) fn ends_questions(self) -> bool {
        matches!(self, HookEvent::ToolRan | HookEvent::TurnEnded)
    }

    /// Returns whether an asynchronous hook wakes a session. Without a screen, such a hook would block the turn.
    pub(crate) fn may_wake(entrypoint: Option<&str>) -> bool {
        entrypoint == Some(WITH_SCREEN)
    }

    /// Parses an event. Returns `None` if there is nothing to ask, or if Claude Code asks by itself.
    ///
    /// Claude Code waits for a `PreToolUse` and an `Elicitation` hook before it shows a question. With a screen it must
    /// not wait, or the person at the terminal would not see the question. Only the entrypoint tells whether there is a
    /// screen. If the entrypoint is unknown, no question is asked.
    pub(crate) fn of(event: &Value, entrypoint: Option<&str>) -> Option<HookEvent> {
        let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        let is_headless = entrypoint == Some(HEADLESS);
        let is_answered = event["tool_input"].get("answers").is_some();
        match (text("hook_event_name"), text("tool_name")) {
            ("PreToolUse", QUESTION_TOOL) => (is_headless && !is_answered).then_some(HookEvent::QuestionsBeforeTool),
            ("PermissionRequest", QUESTION_TOOL) => (!is_answered).then_some(HookEvent::QuestionsInDialog),
            // A call of askuser's own tools needs no permission, because it only asks.
            ("PermissionRequest", tool) if tool.is_empty() || tool.starts_with("mcp__askuser__") => None,
            ("PermissionRequest", _) => Some(HookEvent::Permission),
            ("PostToolUse" | "PostToolUseFailure", tool) if tool.starts_with("mcp__askuser__") => None,
            ("PostToolUse" | "PostToolUseFailure", _) => Some(HookEvent::ToolRan),
            ("Stop" | "SubagentStop", _) => Some(HookEvent::TurnEnded),
            ("SessionStart", _) => matches!(text("source"), "resume" | "compact").then_some(HookEvent::SessionWentOn),
            // The MCP server of askuser puts its forms into the inbox itself.
            ("Elicitation", _) if text("mcp_server_name") == "askuser" => None,
            ("Elicitation", _) => {
                (is_headless && matches!(text("mode"), "" | "form")).then_some(HookEvent::Elicitation)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(event: Value, entrypoint: &str, expected: Option<HookEvent>) {
        assert_eq!(HookEvent::of(&event, Some(entrypoint)), expected, "{event}");
    }

    #[test]
    fn before_a_tool_only_questions_are_answered_and_only_where_claude_has_no_screen() {
        let event =
            json!({"hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_input": {"questions": []}});
        check(event.clone(), "sdk-cli", Some(HookEvent::QuestionsBeforeTool));
        for entrypoint in ["cli", "sdk-ts", "sdk-py", "claude-vscode", ""] {
            check(event.clone(), entrypoint, None);
        }
        assert_eq!(HookEvent::of(&event, None), None);
        check(json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}}), "sdk-cli", None);
    }

    #[test]
    fn questions_that_another_hook_has_answered_are_not_asked_again() {
        let input = json!({"questions": [], "answers": {"a": "b"}});
        for event in ["PreToolUse", "PermissionRequest"] {
            let event = json!({"hook_event_name": event, "tool_name": "AskUserQuestion", "tool_input": input});
            check(event, "sdk-cli", None);
        }
    }

    #[test]
    fn what_is_ours_or_unknown_is_left_alone() {
        let ours = "mcp__askuser__AskUserQuestion";
        check(json!({"hook_event_name": "PermissionRequest", "tool_name": ours}), "cli", None);
        check(json!({"hook_event_name": "Elicitation", "mcp_server_name": "askuser"}), "sdk-cli", None);
        check(json!({"hook_event_name": "PostToolUse", "tool_name": ours}), "cli", None);
        check(json!({"hook_event_name": "SessionEnd"}), "cli", None);
        check(json!({"hook_event_name": 7}), "sdk-cli", None);
        check(json!([]), "sdk-cli", None);
        check(json!(null), "sdk-cli", None);
    }

    #[test]
    fn permissions_are_asked_beside_the_dialog_and_forms_only_without_one() {
        check(json!({"hook_event_name": "PermissionRequest", "tool_name": "Bash"}), "cli", Some(HookEvent::Permission));
        check(json!({"hook_event_name": "PostToolUse", "tool_name": "Bash"}), "cli", Some(HookEvent::ToolRan));
        check(json!({"hook_event_name": "Stop"}), "cli", Some(HookEvent::TurnEnded));
        let form = json!({"hook_event_name": "Elicitation", "mcp_server_name": "x", "mode": "form"});
        check(form.clone(), "sdk-cli", Some(HookEvent::Elicitation));
        check(form, "cli", None);
        let url = json!({"hook_event_name": "Elicitation", "mcp_server_name": "x", "mode": "url"});
        check(url, "sdk-cli", None);
    }
}
