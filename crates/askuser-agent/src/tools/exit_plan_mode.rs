//! ExitPlanMode, the tool that presents the plan. The agent leaves plan mode if the person approves the plan.

use crate::asking::Asked;
use crate::event::AgentEvent;
use crate::message::ToolCall;
use crate::permission::PermissionMode;
use crate::tool::{Access, Running, Stop, Tool, ToolContext, ToolDefinition, ToolResult};
use askuser::input::QuestionInput;
use askuser::permission::{MayPermit, Verdict, verdict};
use askuser::{Context, Purpose, QuestionSet, Rules, report};
use serde::Deserialize;
use serde_json::json;

/// A tool that presents a plan for approval.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExitPlanMode;

#[derive(Deserialize)]
struct Input<'a> {
    plan: &'a str,
}

/// The index of the option that also accepts edits. A recorded answer may have other labels, so its index counts.
const GO_AND_EDIT: usize = 1;

impl Tool for ExitPlanMode {
    fn definition(&self) -> ToolDefinition {
        let properties = json!({"plan": {"type": "string", "description": "The plan, in Markdown"}});
        let description = include_str!("../../prompts/tools/exit-plan-mode.txt");
        super::built_in("ExitPlanMode", description, properties, &["plan"])
    }

    fn access(&self) -> Access {
        Access::Ask
    }

    fn is_offered(&self, mode: PermissionMode, can_ask: bool) -> bool {
        mode == PermissionMode::Plan && can_ask
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            let plan = match call.typed_input().and_then(|Input { plan }| call.non_blank("plan", plan)) {
                Ok(plan) => plan,
                Err(refused) => return Ok(refused),
            };
            let asked =
                context.ask_for(Purpose::Plan, &call.id, plan_question()?, Some(Context::Prose(plan.into()))).await?;
            let (mode, says) = outcome(&asked);
            if let Some(mode) = mode {
                context.shared.set_mode(mode)?;
                context.emit(AgentEvent::Mode { mode });
            }
            let subtitle = if mode.is_some() { "approved" } else { "not approved" };
            Ok(ToolResult::ok(says)
                .with_title("ExitPlanMode", subtitle)
                .with_details(report::json(&asked.set, &asked.resolution)))
        })
    }
}

/// The header of the approval question.
pub(crate) const HEADER: &str = "Plan";

/// Returns the question that asks to approve a plan.
///
/// # Errors
/// Never, because the fixed text obeys the limits of every question.
pub fn plan_question() -> Result<QuestionSet, Stop> {
    let question = QuestionInput::new("Go ahead with this plan?", HEADER)
        .option("Go ahead", "Leave plan mode. Changes still ask for permission")
        .option("Go ahead, accept edits", "Leave plan mode. Edits in this folder do not ask")
        // The last option is the refusal.
        .option("Keep planning", "Stay in plan mode. A note or Other says what to change");
    QuestionSet::new([question], &Rules::strict()).map_err(|_| Stop::Interrupted)
}

/// Returns the text for the model, and the next mode if the plan was approved.
fn outcome(asked: &Asked) -> (Option<PermissionMode>, String) {
    let quoted = |text: &Option<String>| text.as_ref().map(|text| format!(" They wrote: {text}")).unwrap_or_default();
    let says = match verdict(&asked.set, &asked.resolution, MayPermit::PersonOrAnswers) {
        Verdict::Agreed(option) => {
            let mode = if option == GO_AND_EDIT { PermissionMode::AcceptEdits } else { PermissionMode::Ask };
            let by = if asked.resolution.is_a_persons() {
                "The user approved the plan."
            } else {
                "Answers that were written beforehand approve the plan; the user was not asked."
            };
            return (Some(mode), format!("{by} Plan mode is over: carry it out."));
        }
        Verdict::Conditional { note } => format!(
            "The user would approve the plan, and noted: {note}\nThe note may be a condition, so the plan is not approved yet. \
             Still in plan mode: take it in and present the plan again."
        ),
        Verdict::Refused { words } => format!(
            "The user did not approve the plan.{} Still in plan mode: revise it before you present it again.",
            quoted(&words)
        ),
        Verdict::Discuss { words } => {
            format!("The user wants to talk about the plan first.{} Still in plan mode.", quoted(&words))
        }
        Verdict::TimedOut => "The time ran out before the user approved the plan. Still in plan mode.".into(),
        Verdict::NotAsked { reason } => {
            format!(
                "The user was not asked to approve the plan ({reason}). Still in plan mode: end your turn with the plan."
            )
        }
        Verdict::Dismissed => {
            "The user dismissed the plan without approving it. Still in plan mode: wait for them.".into()
        }
    };
    (None, says)
}
