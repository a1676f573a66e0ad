//! ExitPlanMode: presents the plan, and leaves plan mode if the person wants to go ahead.

use crate::event::AgentEvent;
use crate::message::ToolCall;
use crate::permission::PermissionMode;
use crate::tool::{Access, Running, Stop, Tool, ToolContext, ToolDefinition, ToolResult};
use crate::transcript::Entry;
use askuser::{Answer, Outcome, QuestionSet, Rules, Status, report};
use serde::Deserialize;
use serde_json::json;

/// Presents a plan for approval.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExitPlanMode;

#[derive(Deserialize)]
struct Input<'a> {
    plan: &'a str,
}

const GO: &str = "Go ahead";
const GO_AND_EDIT: &str = "Go ahead, accept edits";
const STAY: &str = "Keep planning";

impl Tool for ExitPlanMode {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "ExitPlanMode".into(),
            description: include_str!("../../prompts/tools/exit-plan-mode.txt").trim_ascii_end().into(),
            schema: json!({
                "type": "object",
                "properties": {"plan": {"type": "string", "description": "The plan, in Markdown"}},
                "required": ["plan"],
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Ask
    }

    fn is_offered(&self, mode: PermissionMode, somebody_can_be_asked: bool) -> bool {
        mode == PermissionMode::Plan && somebody_can_be_asked
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            let plan = match call.typed_input().and_then(|Input { plan }| call.non_blank("plan", plan)) {
                Ok(plan) => plan,
                Err(refused) => return Ok(refused),
            };
            let set = question()?;
            let outcome = context.ask(&call.id, set.clone(), Some(plan.to_owned())).await?;
            let (mode, says) = verdict(&outcome);
            if let Some(mode) = mode {
                context.shared.append(&Entry::Mode { mode })?;
                context.shared.permissions().mode = mode;
                context.emit(AgentEvent::Mode { mode });
            }
            let subtitle = if mode.is_some() { "approved" } else { "not approved" };
            Ok(ToolResult::ok(says).titled("ExitPlanMode", subtitle).with_details(report::json(&set, &outcome)))
        })
    }
}

fn question() -> Result<QuestionSet, Stop> {
    let option = |label: &str, description: &str| json!({"label": label, "description": description});
    let question = json!({
        "question": "Go ahead with this plan?",
        "header": "Plan",
        "options": [
            option(GO, "Leave plan mode; each change still asks for permission"),
            option(GO_AND_EDIT, "Leave plan mode; edit files in this folder without asking"),
            option(STAY, "Stay in plan mode; n adds a note, Other says what to change"),
        ],
        "multiSelect": false,
    });
    QuestionSet::parse(json!({ "questions": [question] }), &Rules::default()).map_err(|_| Stop::Interrupted)
}

/// The mode to go on in, if the plan was approved, and what the model reads.
fn verdict(outcome: &Outcome) -> (Option<PermissionMode>, String) {
    let words = |text: &Option<String>| text.as_ref().map(|text| format!(" They wrote: {text}")).unwrap_or_default();
    match (outcome.status(), outcome.answers()) {
        (Status::Answered, [Answer { selected_options, custom_input, note, .. }]) => {
            let mode = match selected_options.first().map(String::as_str) {
                Some(GO) => Some(PermissionMode::Ask),
                Some(GO_AND_EDIT) => Some(PermissionMode::AcceptEdits),
                _ => None,
            };
            let says = match mode {
                Some(_) => "The user approved the plan. Plan mode is over: carry it out.",
                None => "The user did not approve the plan yet. Still in plan mode: revise it and present it again.",
            };
            (mode, format!("{says}{}{}", words(custom_input), words(note)))
        }
        (Status::Declined { reason }, _) => {
            (None, format!("The user rejected the plan.{} Still in plan mode.", words(reason)))
        }
        (Status::Discuss { message }, _) => {
            (None, format!("The user wants to talk about the plan first.{} Still in plan mode.", words(message)))
        }
        (Status::TimedOut, _) => {
            (None, "The time ran out before the user approved the plan. Still in plan mode.".into())
        }
        (Status::Unavailable { reason }, _) => {
            (None, format!("Nobody can approve the plan ({reason}). Still in plan mode: end your turn with the plan."))
        }
        (Status::Answered | Status::Cancelled, _) => {
            (None, "The user dismissed the plan without approving it. Still in plan mode: wait for them.".into())
        }
    }
}
