//! Converts a resolution to the output of Claude Code's hooks. Without a decision there is no output.

use super::elicitation::Form;
use crate::commands::hook::event::HookEvent;
use askuser::permission::{FILE_CHANGED, MayPermit, Verdict, verdict};
use askuser::{QuestionSet, Resolution, Status, report};
use serde_json::{Value, json};

/// Returns the `hookSpecificOutput`; `None` leaves the decision to Claude Code. An allowed call runs only if it
/// `is_unchanged` since it was shown.
pub(super) fn of(
    kind: HookEvent,
    set: &QuestionSet,
    form: Option<&Form>,
    resolution: &Resolution,
    is_unchanged: &dyn Fn() -> bool,
) -> Option<Value> {
    let status = resolution.outcome().status();
    // An unanswered question gets no reply. Claude Code treats every reply as its user's, so answers of files and rules
    // are not passed on.
    if matches!(status, Status::TimedOut | Status::Unavailable { .. }) || !resolution.is_a_persons() {
        return None;
    }
    let is_answered = *status == Status::Answered;
    match kind {
        HookEvent::QuestionsBeforeTool | HookEvent::QuestionsInDialog if !is_answered => {
            Some(denied(kind, &report::prose(set, resolution)))
        }
        HookEvent::QuestionsBeforeTool => Some(json!({
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "updatedInput": report::claude_input(set, resolution),
        })),
        HookEvent::QuestionsInDialog => {
            Some(in_dialog(json!({"behavior": "allow", "updatedInput": report::claude_input(set, resolution)})))
        }
        HookEvent::Permission => permission(set, resolution, is_unchanged),
        HookEvent::Elicitation => elicitation(form?, resolution),
        HookEvent::ToolRan | HookEvent::TurnEnded | HookEvent::SessionWentOn => None,
    }
}

/// Returns the output that refuses a tool. The model reads the reason.
pub(super) fn denied(kind: HookEvent, why: &str) -> Value {
    match kind {
        HookEvent::QuestionsBeforeTool => {
            json!({"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why})
        }
        _ => in_dialog(json!({"behavior": "deny", "message": why})),
    }
}

fn in_dialog(decision: Value) -> Value {
    json!({"hookEventName": "PermissionRequest", "decision": decision})
}

/// Returns the output for a permission. A tool runs only if a person chose exactly that. If no person decided, the
/// decision is left to Claude Code.
fn permission(set: &QuestionSet, resolution: &Resolution, is_unchanged: &dyn Fn() -> bool) -> Option<Value> {
    let verdict = verdict(set, resolution, MayPermit::Person);
    Some(match verdict.refusal() {
        None if is_unchanged() => in_dialog(json!({"behavior": "allow"})),
        None => denied(HookEvent::Permission, FILE_CHANGED),
        Some(_) if matches!(verdict, Verdict::NotAsked { .. }) => return None,
        Some(why) => denied(HookEvent::Permission, &why),
    })
}

fn elicitation(form: &Form, resolution: &Resolution) -> Option<Value> {
    let output = |action: &str| json!({"hookEventName": "Elicitation", "action": action});
    match resolution.outcome().status() {
        Status::Answered => {
            let mut output = output("accept");
            output["content"] = form.content(resolution)?;
            Some(output)
        }
        Status::Declined { .. } => Some(output("decline")),
        Status::Cancelled => Some(output("cancel")),
        _ => None,
    }
}
