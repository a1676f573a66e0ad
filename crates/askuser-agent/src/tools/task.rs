//! Task, the tool that runs a subagent with a separate conversation. The subagent's questions reach the same person and
//! name their origin.

use crate::agent::Agent;
use crate::agent_context::Shared;
use crate::event::{AgentEvent, Failure, FailureKind};
use crate::message::{Message, ToolCall};
use crate::tool::{Access, Running, Stop, Tool, ToolContext, ToolDefinition, ToolResult};
use crate::transcript::Next;
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::json;

/// A tool that hands a piece of work to a subagent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Task;

#[derive(Deserialize)]
struct Input<'a> {
    description: &'a str,
    prompt: &'a str,
}

const NAME: &str = "Task";
const MOST_CHARS: usize = 80;

/// The result of a task that was cut off and does not continue, because the person has sent a message.
const CUT_OFF: &str = "The session was cut off while this task was at work, and the user came back with a message: the task \
                       goes no further. What it has done stays done; look before you do it again.";

impl Tool for Task {
    fn definition(&self) -> ToolDefinition {
        super::built_in(
            NAME,
            include_str!("../../prompts/tools/task.txt"),
            json!({
                "description": {"type": "string", "maxLength": MOST_CHARS, "description": "What it is about, in 2-5 words"},
                "prompt": {"type": "string", "description": "All it needs to know"},
            }),
            &["description", "prompt"],
        )
    }

    /// Returns [`Access::Read`], because the tool itself changes no state. The calls of its subagent need the usual
    /// permissions.
    fn access(&self) -> Access {
        Access::Read
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            let input = call.typed_input().and_then(|Input { description, prompt }| {
                call.non_blank("description", description)?;
                // The length is limited, because the description is shown with every question of the task.
                Ok((call.at_most("description", description, MOST_CHARS, "")?, call.non_blank("prompt", prompt)?))
            });
            let (description, prompt) = match input {
                Ok(input) => input,
                Err(refused) => return Ok(refused),
            };
            let mut child = child(call, description, context);
            let answers = || context.shared.answers_below(&call.id);
            let mut result = match work(&mut child, call, description, prompt, context).await? {
                Ok(_) if child.history.next() != Next::User => {
                    ToolResult::without_end("cut off", format!("{CUT_OFF}{}", answers()))
                }
                Ok(text) => ToolResult::ok(text),
                Err(error) => ToolResult::error(format!("The task broke off: {}{}", error.message, answers())),
            };
            // The text of the subagent may not mention these calls.
            for words in context.shared.halts_below(&call.id).filter_map(|(_, words)| words).filter(|_| result.success)
            {
                result.output.push_str(&format!("\n\nNot answered or not allowed in this task: {words}"));
            }
            Ok(result.with_title(NAME, description))
        })
    }
}

/// Returns a subagent with a new conversation, or with the interrupted one.
fn child(call: &ToolCall, description: &str, context: &ToolContext) -> Agent {
    let parent = &context.shared;
    // A subagent must not start other subagents, because their questions would be hard to follow.
    let tools = parent.tools.clone().without(NAME).without("ExitPlanMode");
    let shared = parent.for_subagent(&call.id, description, tools);
    let history = shared.transcript.history(&shared.tasks);
    let seen_files = shared.transcript.seen_files(&shared.tasks);
    let shared = Shared { seen_files, ..shared };
    Agent { abort: context.abort.clone(), ..Agent::of(shared, history) }
}

async fn work(
    child: &mut Agent,
    call: &ToolCall,
    description: &str,
    prompt: &str,
    context: &ToolContext,
) -> Result<Result<String, Failure>, Stop> {
    if child.history.stopped {
        // The person stopped the subagent. The session was interrupted before its caller learned of it.
        return Err(Stop::Interrupted);
    }
    let finished = child.messages().last().map(Message::text);
    let run = match finished {
        None => Some(child.run(prompt)),
        Some(_) => child.resume_until_user_returned(context.user_returned.clone()),
    };
    let Some(mut run) = run else { return Ok(Ok(finished.unwrap_or_default())) };
    let mut ended = Err(Failure::new(FailureKind::Protocol, "it ended without a word"));
    while let Some(event) = run.next().await {
        match &event {
            AgentEvent::Done { text } => ended = Ok(text.clone()),
            AgentEvent::Error { error } => match error.kind {
                // A stop of the subagent stops its caller, too.
                FailureKind::Interrupted => return Err(Stop::Interrupted),
                FailureKind::Signal | FailureKind::Transcript | FailureKind::NobodyThere => {
                    return Err(Stop::Failed(error.clone()));
                }
                _ => ended = Err(error.clone()),
            },
            _ => {}
        }
        let id = call.id.clone();
        let description = description.to_owned();
        context.emit(AgentEvent::Task { id, description, event: Box::new(event) });
        context.wait_until_taken().await?;
    }
    Ok(ended)
}
