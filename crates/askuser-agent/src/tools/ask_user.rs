//! AskUserQuestion, the tool with which a model asks a person.

use crate::message::ToolCall;
use crate::tool::{Access, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use crate::tools::exit_plan_mode;
use askuser::{QuestionSet, Rules, Violations, permission, report, tool};

/// The extra options of the tool: the agent has a plan mode.
const OFFERED: [tool::Extra; 1] = [tool::Extra::Plan];

/// A tool that asks the person one to four questions.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskUserQuestion {
    /// The rules by which inputs are parsed.
    pub rules: Rules,
}

impl AskUserQuestion {
    /// Parses the input of a call.
    ///
    /// Rejects a question that imitates a permission or the approval of a plan. The person, the conversation or
    /// prepared answers for permissions could take it for one.
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
            // A question from before an interruption follows the rules of that time.
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
