//! The tool `approve`, for Claude Code's `--permission-prompt-tool`. The client's own AskUserQuestion is asked, and
//! answered in the form that the client expects. For any other tool, a person is shown exactly what would run, and
//! allows or denies it.
//!
//! A call is allowed only if a person chose to allow exactly this call. Any other outcome, including silence, denies
//! the call with the reason.

use crate::call::{Call, Unanswered};
use crate::exchange::Exchange;
use crate::tools;
use askuser::permission::{FILE_CHANGED, MayPermit, Permission, reject_imitation, verdict};
use askuser::{AskError, Context, Limits, Purpose, QuestionSet, Resolution, Rules, Span, Status, report};
use askuser_sys::regular_file;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use serde_json::{Value, json};
use std::path::Path;

impl Call<'_> {
    /// Handles a call of `approve`.
    pub(crate) async fn approve(&self, arguments: &Value) -> Result<CallToolResponse, Unanswered> {
        let refused = |why: &str| Unanswered::refused(denied(why));
        let (Some(tool), input @ Value::Object(fields)) = (arguments["tool_name"].as_str(), &arguments["input"]) else {
            return Err(refused("tool_name and input are needed to ask for permission"));
        };
        let is_question = tool == tools::ASK;
        let read_call = || {
            let folder = self.origin.folder.as_deref().unwrap_or("/");
            askuser_markdown::tool_use(tool, fields, Path::new(folder), &regular_file::read_if_there)
        };
        let call = (!is_question).then(read_call);
        let (asked, purpose) = match &call {
            None => {
                let set = QuestionSet::parse(input.clone(), &their_rules());
                (set.and_then(|set| reject_imitation(set, [])), Purpose::Question)
            }
            Some(call) => (Permission::to_use(call).question_set(), Purpose::Permission),
        };
        let about = call.map(Context::ToolUse);
        let set = asked.map_err(|violations| refused(&report::rejection(&violations)))?;
        let kept = self.keep(self.request(set, about, purpose)).await;
        let put = kept.map_err(|error| refused(&format!("The user could not be asked: {}", error.chain())))?;
        let request = put.question.request.clone();
        let delivery = self.wait_with_dialog(put).await.map_err(|unanswered| match unanswered {
            Unanswered::NotYet(id) => {
                refused(&format!("Not answered yet: the user answers it with `askuser answer {id}`; then try again."))
            }
            Unanswered::Failed(AskError::Withdrawn) => {
                refused("The user withdrew the question. Do not assume an answer.")
            }
            Unanswered::Failed(error) => refused(&format!("The user could not be asked: {}", error.chain())),
            refused @ (Unanswered::Refused(_) | Unanswered::Left) => refused,
        })?;
        let decided = if is_question {
            let decided = answered(request.set(), delivery.resolution());
            Exchange::of(self.context).leaving(delivery);
            decided
        } else {
            let is_unchanged = || request.context() == Some(&Context::ToolUse(read_call()));
            permitted(request.set(), &delivery.stored(), input, is_unchanged)
        };
        Ok(decided.into())
    }
}

/// Returns the rules for the client's own questions. They are wider than those of askuser's tool, because they must
/// admit all questions that the client's model may ask.
fn their_rules() -> Rules {
    let label_chars = Span { min: 1, max: 200 };
    let description_chars = Span { min: 0, max: 2_000 };
    let limits = Limits { label_chars, description_chars, ..Limits::DEFAULT };
    Rules::repair().with_limits(limits).unwrap_or(Rules::repair())
}

fn answered(set: &QuestionSet, resolution: &Resolution) -> CallToolResult {
    if *resolution.outcome().status() != Status::Answered || !resolution.is_a_persons() {
        return denied(&report::prose(set, resolution));
    }
    allowed(&report::claude_input(set, resolution))
}

/// Allows a call that a person permitted, if `is_unchanged` returns that it still does what the person was shown.
fn permitted(
    set: &QuestionSet,
    resolution: &Resolution,
    input: &Value,
    is_unchanged: impl FnOnce() -> bool,
) -> CallToolResult {
    match verdict(set, resolution, MayPermit::Person).refusal() {
        None if is_unchanged() => allowed(input),
        None => denied(FILE_CHANGED),
        Some(why) => denied(&why),
    }
}

fn allowed(input: &Value) -> CallToolResult {
    decision(&json!({"behavior": "allow", "updatedInput": input}))
}

fn denied(why: &str) -> CallToolResult {
    decision(&json!({"behavior": "deny", "message": why}))
}

/// Returns a decision as a single text block, which is all that the client reads.
fn decision(decision: &Value) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(decision.to_string())])
}
