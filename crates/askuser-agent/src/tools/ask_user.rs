//! AskUserQuestion: an ordinary tool that asks a person.

use crate::message::ToolCall;
use crate::tool::{Access, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use crate::tools::exit_plan_mode;
use askuser::{QuestionSet, Rules, Violations, permission, report, tool};

/// The extra tools of this agent: it has a plan mode.
const OFFERED: [tool::Extra; 1] = [tool::Extra::Plan];

/// Puts one to four questions to the person.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskUserQuestion {
    /// The rules for parsing inputs.
    pub rules: Rules,
}

impl AskUserQuestion {
    /// Parses the input. Rejects a question that could pass for a permission or a plan approval. It must not do so to
    /// the person, in the conversation, or to prepared answers for permissions.
    fn read(&self, call: &ToolCall, context: &ToolContext) -> Result<QuestionSet, Violations> {
        let set = QuestionSet::parse(call.input.clone(), &self.rules)?;
        let of_tools = context.shared.tools.names().map(permission::header);
        permission::reject_imitation(set, of_tools.chain([exit_plan_mode::HEADER]))
    }
}

impl Tool for AskUserQuestion {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: tool::NAME.into(),
            description: tool::description(self.rules.limits(), &OFFERED),
            schema: tool::schema(self.rules.limits(), &OFFERED),
        }
    }

    fn access(&self) -> Access {
        Access::Ask
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            // A question from before the interruption follows the rules of that time.
            let asked = context.shared.recorded_set(&call.id).map(Ok);
            let set = match asked.unwrap_or_else(|| self.read(call, context)) {
                Ok(set) => set,
                Err(violations) => {
                    return Ok(
                        ToolResult::error(report::rejection(&violations)).with_title(tool::NAME, "invalid input")
                    );
                }
            };
            let outcome = context.ask(&call.id, set.clone(), None).await?;
            let count = set.questions().len();
            let subtitle = format!("{count} question{}", super::s(count));
            Ok(ToolResult::ok(report::prose(&set, &outcome))
                .with_title(tool::NAME, subtitle)
                .with_details(report::json(&set, &outcome)))
        })
    }
}
