//! Who may do what without asking. A permission is asked for like anything else, through the same [`Asker`].
//!
//! No mode answers a question or skips it: modes are about tools that act.
//!
//! [`Asker`]: askuser::Asker

use crate::event::AgentEvent;
use crate::message::ToolCall;
use crate::tool::{Consent, Stop, Tool, ToolContext, ToolResult};
use askuser::{Answer, Limits, QuestionSet, Rules, Status, Via, report};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What needs permission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Everything that acts.
    #[default]
    Ask,
    /// Everything that acts but edits in the allowed folders.
    AcceptEdits,
    /// Nothing.
    Allow,
    /// Nothing acts: look, ask, then present a plan.
    Plan,
}

/// What a person has allowed for good.
pub trait Allowed: Send + Sync {
    /// Whether this rule of this tool has been allowed here.
    fn contains(&self, tool: &str, rule: &str) -> bool;
    /// Remembers it.
    fn insert(&self, tool: &str, rule: &str) -> std::io::Result<()>;
}

/// The mode and what has been allowed.
#[derive(Clone, Default)]
pub struct Permissions {
    /// What needs permission.
    pub mode: PermissionMode,
    /// What does not any more; without it, "always" lasts as long as the agent.
    pub(crate) allowed: Option<Arc<dyn Allowed>>,
    pub(crate) session: BTreeSet<(String, String)>,
}

impl Permissions {
    /// This mode, and nothing allowed beyond it.
    pub fn new(mode: PermissionMode) -> Permissions {
        Permissions { mode, ..Permissions::default() }
    }

    /// Keeping what is allowed for good here.
    pub fn keeping(self, allowed: Arc<dyn Allowed>) -> Permissions {
        Permissions { allowed: Some(allowed), ..self }
    }

    fn let_through(&self, tool: &str, consent: &Consent) -> bool {
        let known = || {
            let rule = (whose(tool, consent).to_owned(), consent.rule.clone());
            self.session.contains(&rule)
                || self.allowed.as_ref().is_some_and(|allowed| allowed.contains(&rule.0, &rule.1))
        };
        match self.mode {
            PermissionMode::Allow => true,
            PermissionMode::AcceptEdits => consent.edits_here || known(),
            PermissionMode::Ask => known(),
            PermissionMode::Plan => false,
        }
    }

    /// An allowance that cannot be kept lasts as long as the agent.
    fn allow_for_now(&mut self, tool: &str, rule: &str) {
        self.session.insert((tool.to_owned(), rule.to_owned()));
    }
}

/// Whoever may edit files here may, with whichever tool.
fn whose<'a>(tool: &'a str, consent: &Consent) -> &'a str {
    if consent.edits_here { "edits" } else { tool }
}

/// What came of asking for permission.
pub(crate) enum Verdict {
    Allowed { note: Option<String> },
    Refused(ToolResult),
}

const ONCE: &str = "Allow once";
const ALWAYS: &str = "Always here";
const DENY: &str = "Deny";

/// Makes sure that the person agrees.
pub(crate) async fn obtain(tool: &dyn Tool, call: &ToolCall, context: &ToolContext) -> Result<Verdict, Stop> {
    let consent = match tool.consent(call, context) {
        Ok(consent) => consent,
        Err(refused) => return Ok(Verdict::Refused(refused)),
    };
    let shared = &context.shared;
    if shared.permissions().let_through(&call.name, &consent) {
        return Ok(Verdict::Allowed { note: None });
    }
    let set = match question(&call.name, &consent) {
        Ok(set) => set,
        Err(violations) => {
            let why = format!("Not run: this cannot be shown to the user for permission ({violations}).");
            return Ok(Verdict::Refused(ToolResult::error(why)));
        }
    };
    let outcome = context.ask(&question_id(call), set.clone(), consent.context.clone()).await?;
    let refused = |why: String| {
        let details = json!({"permission": report::json(&set, &outcome)});
        Ok(Verdict::Refused(ToolResult::error(why).titled(&call.name, "not allowed").with_details(details)))
    };
    let words = |text: &Option<String>| text.as_ref().map(|text| format!(" Their words: {text}")).unwrap_or_default();
    match (outcome.status(), outcome.answers()) {
        (Status::Answered, [Answer { selected_options, custom_input, note, .. }]) => {
            match selected_options.first().map(String::as_str) {
                Some(ONCE) => Ok(Verdict::Allowed { note: note.clone() }),
                Some(ALWAYS) => {
                    allow_always(call, &consent, outcome.via(), context);
                    Ok(Verdict::Allowed { note: note.clone() })
                }
                _ => refused(format!("The user did not allow this.{}{}", words(custom_input), words(note))),
            }
        }
        (Status::Declined { reason }, _) => refused(format!("The user did not allow this.{}", words(reason))),
        (Status::Discuss { message }, _) => refused(format!(
            "Not run: the user wants to talk about it first.{} Reply to them before you go on.",
            words(message)
        )),
        (Status::TimedOut, _) => refused("Not run: the time for permission ran out. Silence is not consent.".into()),
        (Status::Unavailable { reason }, _) => {
            refused(format!("Not run: this needs the user's permission, and nobody can be asked ({reason})."))
        }
        (Status::Answered | Status::Cancelled, _) => {
            refused("Not run: the user dismissed the request for permission. Wait for them to say how to go on.".into())
        }
    }
}

/// For as long as the agent; for good, if a person said so.
fn allow_always(call: &ToolCall, consent: &Consent, via: Option<Via>, context: &ToolContext) {
    let whose = whose(&call.name, consent);
    let mut permissions = context.shared.permissions();
    permissions.allow_for_now(whose, &consent.rule);
    match (&permissions.allowed, via) {
        (None, _) | (_, Some(Via::AnswersFile | Via::Policy)) => {}
        (Some(allowed), _) => {
            if let Err(error) = allowed.insert(whose, &consent.rule) {
                let message = format!("\"{ALWAYS}\" lasts only as long as this session: {error}");
                context.emit(AgentEvent::Notice { message });
            }
        }
    }
}

/// What the person noted when they allowed a call that was then cut off.
pub(crate) fn recorded_note(call: &ToolCall, context: &ToolContext) -> Option<String> {
    let shared = &context.shared;
    let outcome = shared.transcript.outcome(shared.path(), &question_id(call))?;
    outcome["answers"][0]["note"].as_str().map(str::to_owned)
}

fn question_id(call: &ToolCall) -> String {
    format!("{}:permission", call.id)
}

fn question(tool: &str, consent: &Consent) -> Result<QuestionSet, askuser::Violations> {
    let limits = Limits::DEFAULT;
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    let option = |label: &str, description: &str| json!({"label": label, "description": description});
    let options = [
        option(ONCE, "This time only"),
        option(ALWAYS, &cut(&consent.always, limits.description_chars.max)),
        option(DENY, "Do not; n adds a note, Other says what to do instead"),
    ];
    let header = cut(tool, limits.header_chars.max);
    let question = json!({
        "question": consent.question, "header": header, "options": options, "multiSelect": false,
    });
    QuestionSet::parse(json!({ "questions": [question] }), &Rules::default())
}
