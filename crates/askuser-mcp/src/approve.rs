//! `approve`, for Claude Code's `--permission-prompt-tool`: its own AskUserQuestion is asked and answered in the form it
//! wants; for any other tool a person is shown exactly what would run, and allows or denies it.
//!
//! Only a person who chose "Allow" allows: everything else, silence included, denies with the reason.

use crate::call::Waited;
use crate::server::Server;
use crate::tools;
use askuser::input::QuestionInput;
use askuser::{Answer, Context, Limits, Purpose, QuestionSet, Resolution, Rules, Status, Violations, report, sanitize};
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, ErrorData};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};

const ALLOW: &str = "Allow";
const DENY: &str = "Deny";

/// The fields of a command that do not change what it does.
const HARMLESS: [&str; 3] = ["command", "description", "timeout"];

impl Server {
    pub(crate) async fn approve(
        &self,
        arguments: &Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (Some(tool), input @ Value::Object(_)) = (arguments["tool_name"].as_str(), &arguments["input"]) else {
            return Ok(denied("tool_name and input are needed to ask for permission").into());
        };
        let is_question = tool == tools::ASK;
        let (asked, about, purpose) = match is_question {
            true => (QuestionSet::parse(input.clone(), &their_rules()), None, Purpose::Question),
            false => (permission(tool), Some(what_would_run(tool, input)), Purpose::Permission),
        };
        let set = match asked {
            Ok(set) => set,
            Err(violations) => return Ok(denied(&report::rejection(&violations)).into()),
        };
        let put = match self.keep(self.request(set, about, purpose, context), context).await {
            Ok(put) => put,
            Err(error) => return Ok(denied(&format!("The user could not be asked: {}", error.chain())).into()),
        };
        let request = put.question.request.clone();
        Ok(match self.wait_beside_dialog(put, context).await {
            Waited::Resolved(delivery) => {
                if is_question {
                    let decided = answered(request.set(), delivery.resolution(), input);
                    self.deliveries.leaving(&context.id, delivery);
                    decided
                } else {
                    permitted(&delivery.stored(), input)
                }
            }
            Waited::NotYet(id) => {
                denied(&format!("Not answered yet: the user answers it with `askuser answer {id}`; then try again."))
            }
            Waited::Withdrawn => denied("The user withdrew the question. Do not assume an answer."),
            Waited::Failed(why) => denied(&format!("The user could not be asked: {why}")),
            Waited::Left => return Err(ErrorData::internal_error("stopped waiting; the question stays open", None)),
        }
        .into())
    }
}

/// The client's own questions may say more than ours: what it lets its model ask is asked.
fn their_rules() -> Rules {
    let limits = Limits::DEFAULT;
    let wide = limits.with_label_chars(1, 200).and_then(|limits| limits.with_description_chars(0, 2_000));
    Rules::repair().with_limits(wide.unwrap_or(limits))
}

fn permission(tool: &str) -> Result<QuestionSet, Violations> {
    let tool: String = sanitize::line(tool).chars().take(100).collect();
    let question = QuestionInput::new(format!("Allow {tool}?"), "Permission")
        .option(ALLOW, "Run exactly what is shown, this once")
        .option(DENY, "Do not run it; say why with Other");
    QuestionSet::new([question], &Rules::strict())
}

/// What a person agrees to, whole.
fn what_would_run(tool: &str, input: &Value) -> Context {
    let is_plain = |fields: &Map<String, Value>| fields.keys().all(|name| HARMLESS.contains(&name.as_str()));
    match (tool, input["command"].as_str(), input.as_object()) {
        ("Bash", Some(command), Some(fields)) if is_plain(fields) => Context::command(command),
        _ => Context::tool_input(format!("{tool} {input:#}")),
    }
}

/// The answers keyed by question, several choices in one text.
fn answered(set: &QuestionSet, resolution: &Resolution, input: &Value) -> CallToolResult {
    let outcome = resolution.outcome();
    if *outcome.status() != Status::Answered || !resolution.is_a_persons() {
        return denied(&report::prose(set, resolution));
    }
    let said = |answer: &Answer| {
        let chosen = answer.selected_options.iter().chain(&answer.custom_input);
        let words = chosen.map(String::as_str).collect::<Vec<_>>().join(", ");
        match &answer.note {
            Some(note) => format!("{words} (note: {note})"),
            None => words,
        }
    };
    let answers: Map<String, Value> =
        outcome.answers().iter().map(|answer| (answer.question.clone(), said(answer).into())).collect();
    let mut input = input.clone();
    input["answers"] = answers.into();
    allowed(&input)
}

fn permitted(resolution: &Resolution, input: &Value) -> CallToolResult {
    if !resolution.is_a_persons() {
        return denied("Not run: this needs the user's permission, and nobody was asked.");
    }
    let outcome = resolution.outcome();
    let answer = outcome.answers().first();
    match (outcome.status(), answer) {
        (Status::Answered, Some(answer)) => {
            let is_allowed = answer.selected_options == [ALLOW] && answer.custom_input.is_none();
            let words = answer.custom_input.as_ref().or(answer.note.as_ref());
            match (is_allowed, words) {
                (true, None) => allowed(input),
                // What they said beside it would be lost with a bare yes, and may be a condition.
                (true, Some(note)) => denied(&format!("Not run yet. The user would allow it, and says: {note}")),
                (false, Some(why)) => denied(&format!("Denied by the user: {why}")),
                (false, None) => denied("Denied by the user."),
            }
        }
        (Status::Declined { reason: Some(why) }, _) => denied(&format!("Denied by the user: {why}")),
        (Status::Discuss { message: Some(words) }, _) => {
            denied(&format!("Not run: the user wants to talk about it first: {words}"))
        }
        (Status::Discuss { message: None }, _) => denied("Not run: the user wants to talk about it first."),
        (Status::TimedOut, _) => denied("Not run: the time for permission ran out. Silence is not consent."),
        _ => denied("Denied by the user."),
    }
}

fn allowed(input: &Value) -> CallToolResult {
    decision(&json!({"behavior": "allow", "updatedInput": input}))
}

fn denied(why: &str) -> CallToolResult {
    decision(&json!({"behavior": "deny", "message": why}))
}

/// A text block, and nothing else: that is what the client reads.
fn decision(decision: &Value) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(decision.to_string())])
}
