//! ExitPlanMode: presents the plan, and leaves plan mode if the person wants to go ahead.

use crate::asking::Asked;
use crate::event::AgentEvent;
use crate::message::ToolCall;
use crate::permission::PermissionMode;
use crate::tool::{Access, Running, Stop, Tool, ToolContext, ToolDefinition, ToolResult};
use crate::transcript::Entry;
use askuser::input::QuestionInput;
use askuser::{Answer, Context, Purpose, QuestionSet, Rules, Status, report};
use serde::Deserialize;
use serde_json::json;

/// Presents a plan for approval.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExitPlanMode;

#[derive(Deserialize)]
struct Input<'a> {
    plan: &'a str,
}

/// The options by their index: a recorded answer may have been given under other labels.
const GO: usize = 0;
const GO_AND_EDIT: usize = 1;

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
            let asked = context.ask_for(Purpose::Plan, &call.id, question()?, Some(Context::prose(plan))).await?;
            let (mode, says) = verdict(&asked);
            if let Some(mode) = mode {
                context.shared.append(&Entry::Mode { mode })?;
                context.shared.permissions().mode = mode;
                context.emit(AgentEvent::Mode { mode });
            }
            let subtitle = if mode.is_some() { "approved" } else { "not approved" };
            Ok(ToolResult::ok(says)
                .titled("ExitPlanMode", subtitle)
                .with_details(report::json(&asked.set, &asked.resolution)))
        })
    }
}

/// How the question for approval is headed.
pub(crate) const HEADER: &str = "Plan";

fn question() -> Result<QuestionSet, Stop> {
    let question = QuestionInput::new("Go ahead with this plan?", HEADER)
        .option("Go ahead", "Leave plan mode. Changes still ask for permission")
        .option("Go ahead, accept edits", "Leave plan mode. Edits in this folder do not ask")
        .option("Keep planning", "Stay in plan mode. A note or Other says what to change");
    QuestionSet::new([question], &Rules::strict()).map_err(|_| Stop::Interrupted)
}

/// The mode to go on in, if the plan was approved, and what the model reads.
fn verdict(asked: &Asked) -> (Option<PermissionMode>, String) {
    let words = |text: &Option<String>| text.as_ref().map(|text| format!(" They wrote: {text}")).unwrap_or_default();
    if let Some((picked, Answer { custom_input, note, .. })) = asked.answer() {
        let mode = match picked {
            Some(GO) => Some(PermissionMode::Ask),
            Some(GO_AND_EDIT) => Some(PermissionMode::AcceptEdits),
            _ => None,
        };
        let says = match (mode, asked.resolution.is_a_persons()) {
            (Some(_), true) => "The user approved the plan. Plan mode is over: carry it out.",
            (None, true) => {
                "The user did not approve the plan yet. Still in plan mode: revise it and present it again."
            }
            (Some(_), false) => {
                "Answers that were written beforehand approve the plan; the user was not asked. Plan mode is over: carry it \
                 out."
            }
            (None, false) => {
                "Answers that were written beforehand do not approve the plan; the user was not asked. Still in plan mode: \
                 end your turn with the plan."
            }
        };
        return (mode, format!("{says}{}{}", words(custom_input), words(note)));
    }
    let says = match asked.resolution.outcome().status() {
        Status::Declined { reason } => format!("The user rejected the plan.{} Still in plan mode.", words(reason)),
        Status::Discuss { message } => {
            format!("The user wants to talk about the plan first.{} Still in plan mode.", words(message))
        }
        Status::TimedOut => "The time ran out before the user approved the plan. Still in plan mode.".into(),
        Status::Unavailable { reason } => {
            format!("Nobody can approve the plan ({reason}). Still in plan mode: end your turn with the plan.")
        }
        Status::Answered | Status::Cancelled => {
            "The user dismissed the plan without approving it. Still in plan mode: wait for them.".into()
        }
    };
    (None, says)
}
