//! Who may do what without asking. A permission is asked for like anything else, through the same [`Asker`].
//!
//! No mode answers a question or skips it: modes are about tools that act.
//!
//! [`Asker`]: askuser::Asker

use crate::asking::Asked;
use crate::event::AgentEvent;
use crate::message::ToolCall;
use crate::permission_rules::AllowedRule;
use crate::tool::{Consent, Stop, Tool, ToolContext, ToolResult};
use askuser::input::QuestionInput;
use askuser::{Answer, Limits, Purpose, QuestionSet, Resolution, Rules, Status, Via, report};
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
    ///
    /// # Errors
    /// Where it cannot be kept; it is allowed for this session then.
    fn insert(&self, tool: &str, rule: &str) -> std::io::Result<()>;
    /// All that has been allowed here.
    ///
    /// # Errors
    /// Where it cannot be read; nothing is allowed then.
    fn rules(&self) -> std::io::Result<Vec<AllowedRule>>;
    /// Takes a rule back.
    ///
    /// # Errors
    /// Where that cannot be kept; the rule still holds then.
    fn remove(&self, rule: &AllowedRule) -> std::io::Result<()>;
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
        let is_allowed = |tool: &str, rule: &str| {
            self.session.contains(&(tool.to_owned(), rule.to_owned()))
                || self.allowed.as_ref().is_some_and(|allowed| allowed.contains(tool, rule))
        };
        let known = || {
            is_allowed(whose(tool, consent), &consent.rule)
                || consent.prefixes.matching.iter().any(|prefix| is_allowed(&prefixes_of(tool), prefix))
        };
        match self.mode {
            _ if consent.always_ask => false,
            PermissionMode::Allow => true,
            PermissionMode::AcceptEdits => consent.edits_here || known(),
            PermissionMode::Ask => known(),
            PermissionMode::Plan => false,
        }
    }

    /// An allowance that cannot be kept lasts as long as the agent.
    pub(crate) fn allow_for_now(&mut self, tool: &str, rule: &str) {
        self.session.insert((tool.to_owned(), rule.to_owned()));
    }
}

/// Whoever may edit files here may, with whichever tool.
fn whose<'a>(tool: &'a str, consent: &Consent) -> &'a str {
    if consent.edits_here { "edits" } else { tool }
}

/// Where the prefixes of a tool's commands stand: apart from its other rules, since `ls *` is a command as well.
pub(crate) fn prefixes_of(tool: &str) -> String {
    format!("{tool} prefix")
}

/// What came of asking for permission.
pub(crate) enum Verdict {
    Allowed {
        /// What was noted with it, as the model reads it.
        note: Option<String>,
    },
    /// They were asked, and did not say yes.
    Refused(ToolResult),
    /// It could not run anyway, so nobody was asked.
    Invalid(ToolResult),
}

/// The options by their index: a recorded answer may have been given under other labels.
const ONCE: usize = 0;
const ALWAYS: usize = 1;
const ALWAYS_PREFIX: usize = 2;
const ONCE_LABEL: &str = "Allow once";
const ALWAYS_LABEL: &str = "Always allow in this folder";
const REFUSE_LABEL: &str = "Don't run it";

/// What no question of a model is headed, beside the names of tools.
pub(crate) const RESERVED_HEADERS: [&str; 6] =
    ["Permission", "Permissions", ONCE_LABEL, "Always allow", REFUSE_LABEL, "Not allowed"];

/// How a question for permission is headed: by the tool, as far as there is room.
pub(crate) fn header(tool: &str) -> &str {
    let end = tool.char_indices().nth(Limits::DEFAULT.header_chars().max).map_or(tool.len(), |(end, _)| end);
    &tool[..end]
}

/// Makes sure that the person agrees.
pub(crate) async fn obtain(tool: &dyn Tool, call: &ToolCall, context: &ToolContext) -> Result<Verdict, Stop> {
    let consent = match tool.consent(call, context) {
        Ok(consent) => consent,
        Err(invalid) => return Ok(Verdict::Invalid(invalid)),
    };
    let shared = &context.shared;
    let recorded = shared.transcript.question(&shared.tasks, &call.id, Purpose::Permission);
    // What they said before the session was cut off counts, whatever the mode is now.
    let is_answered = recorded.is_some_and(|recorded| recorded.resolution.is_some());
    if !is_answered && shared.permissions().let_through(&call.name, &consent) {
        return Ok(Verdict::Allowed { note: None });
    }
    let set = match question(&call.name, &consent) {
        Ok(set) => set,
        Err(violations) => {
            let why = format!("Not run: this cannot be shown to the user for permission ({violations}).");
            return Ok(Verdict::Invalid(ToolResult::error(why)));
        }
    };
    let asked = context.ask_for(Purpose::Permission, &call.id, set, consent.context.clone()).await?;
    let refused = |why: String| {
        let details = json!({"permission": report::json(&asked.set, &asked.resolution)});
        Ok(Verdict::Refused(ToolResult::error(why).titled(&call.name, "Not allowed").with_details(details)))
    };
    let words = |text: &Option<String>| text.as_ref().map(|text| format!(" Their words: {text}")).unwrap_or_default();
    let noted = |note: &Option<String>| note.as_ref().map(|note| noted(note, asked.resolution.via()));
    if let Some((picked, Answer { custom_input, note, .. })) = asked.answer() {
        return match (picked, shown_prefix(&asked.set, &consent)) {
            (Some(ONCE), _) => Ok(Verdict::Allowed { note: noted(note) }),
            // Where it was not offered, that place is the refusal's.
            (Some(ALWAYS), _) if !consent.always_ask && asked.set.questions()[0].options().len() > ALWAYS + 1 => {
                allow_always(whose(&call.name, &consent), &consent.rule, &asked.resolution, context);
                Ok(Verdict::Allowed { note: noted(note) })
            }
            (Some(ALWAYS_PREFIX), Some(prefix)) => {
                allow_always(&prefixes_of(&call.name), prefix, &asked.resolution, context);
                Ok(Verdict::Allowed { note: noted(note) })
            }
            _ if !asked.resolution.is_a_persons() => {
                let note = note.as_ref().map(|note| format!(" Their note: {note}")).unwrap_or_default();
                refused(format!(
                    "Not run: answers that were written beforehand do not allow this. The user was not asked.{note}"
                ))
            }
            _ => refused(format!("The user did not allow this.{}{}", words(custom_input), words(note))),
        };
    }
    match asked.resolution.outcome().status() {
        Status::Declined { reason } => refused(format!("The user did not allow this.{}", words(reason))),
        Status::Discuss { message } => refused(format!(
            "Not run: the user wants to talk about it first.{} Reply to them before you go on.",
            words(message)
        )),
        Status::TimedOut => refused("Not run: the time for permission ran out. Silence is not consent.".into()),
        Status::Unavailable { reason } => {
            refused(format!("Not run: this needs the user's permission, and nobody can be asked ({reason})."))
        }
        Status::Answered | Status::Cancelled => {
            refused("Not run: the user dismissed the request for permission. Wait for them to say how to go on.".into())
        }
    }
}

/// Whether this is a permission: any option but the last, which refuses.
pub(crate) fn allows(set: &QuestionSet, resolution: &Resolution) -> bool {
    let asked = Asked { set: set.clone(), resolution: resolution.clone() };
    let picked = asked.answer().and_then(|(picked, _)| picked);
    picked.is_some_and(|picked| picked + 1 < set.questions()[0].options().len())
}

/// For as long as the agent; for good, if a person said so: what a file or a rule says is not kept.
fn allow_always(tool: &str, rule: &str, resolution: &Resolution, context: &ToolContext) {
    let mut permissions = context.shared.permissions();
    permissions.allow_for_now(tool, rule);
    if let Some(allowed) = permissions.allowed.as_ref().filter(|_| resolution.is_a_persons())
        && let Err(error) = allowed.insert(tool, rule)
    {
        let message = format!("\"Always allow\" lasts only as long as this session: {error}");
        context.emit(AgentEvent::Notice { message });
    }
}

/// The label of the option that allows a prefix; it says the rule as it is.
fn prefix_label(prefix: &str) -> Option<String> {
    let label = format!("Always allow {prefix} *");
    (label.chars().count() <= Limits::DEFAULT.label_chars().max).then_some(label)
}

/// The prefix that a call is offered, if the person was shown exactly that.
fn shown_prefix<'a>(set: &QuestionSet, consent: &'a Consent) -> Option<&'a str> {
    let prefix = consent.prefixes.offered.as_deref().filter(|_| !consent.always_ask)?;
    let shown = set.questions()[0].options().get(ALWAYS_PREFIX)?;
    (Some(shown.label_verbatim()) == prefix_label(prefix).as_deref()).then_some(prefix)
}

/// A note on a permission as the model reads it. Only a person's own is called that.
fn noted(note: &str, via: Option<Via>) -> String {
    match via.is_none_or(Via::is_a_person) {
        true => format!("\n\nThe user allowed this, and noted: {note}"),
        false => {
            format!("\n\nAnswers that were written beforehand allowed this; the user was not asked. Their note: {note}")
        }
    }
}

/// What was noted when a call was allowed that was then cut off, as the model reads it.
pub(crate) fn recorded_note(call: &ToolCall, context: &ToolContext) -> Option<String> {
    let shared = &context.shared;
    let resolution = shared.transcript.question(&shared.tasks, &call.id, Purpose::Permission)?.resolution?;
    let note = resolution.outcome().answers().first()?.note.as_deref()?;
    Some(noted(note, resolution.via()))
}

fn question(tool: &str, consent: &Consent) -> Result<QuestionSet, askuser::Violations> {
    let limits = Limits::DEFAULT;
    let cut = |text: &str, max: usize| text.chars().take(max).collect::<String>();
    let question = QuestionInput::new(&consent.question, header(tool)).option(ONCE_LABEL, "This time only");
    let question = match consent.always_ask {
        true => question,
        false => {
            let question = question.option(ALWAYS_LABEL, cut(&consent.always, limits.description_chars().max));
            let offered = consent.prefixes.offered.as_deref();
            match offered.and_then(prefix_label) {
                Some(label) => question.option(
                    label,
                    "Plain commands that begin with these words, in this folder; /permissions takes it back",
                ),
                None => question,
            }
        }
    };
    let question = question.option(REFUSE_LABEL, "A note or Other says what to do instead");
    QuestionSet::new([question], &Rules::strict())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_prefix::Prefixes;

    fn consent(offered: Option<&str>) -> Consent {
        Consent {
            question: "Run this command?".into(),
            context: None,
            rule: "x".into(),
            always: "Run exactly this".into(),
            prefixes: Prefixes { matching: Vec::new(), offered: offered.map(str::to_owned) },
            edits_here: false,
            always_ask: false,
        }
    }

    #[test]
    fn a_prefix_that_was_not_shown_is_not_allowed_by_its_place() {
        let now = consent(Some("cargo test"));
        let shown = |consent: &Consent| question("Bash", consent).unwrap();
        assert_eq!(shown_prefix(&shown(&now), &now), Some("cargo test"));
        // The question was put by a version that offered something else in that place.
        assert_eq!(shown_prefix(&shown(&consent(None)), &now), None);
        assert_eq!(shown_prefix(&shown(&consent(Some("cargo run"))), &now), None);
        let always_ask = Consent { always_ask: true, ..consent(Some("cargo test")) };
        assert_eq!(shown_prefix(&shown(&now), &always_ask), None);
        assert_eq!(shown(&always_ask).questions()[0].options().len(), 2);
    }

    #[test]
    fn a_prefix_too_long_to_be_shown_is_not_offered() {
        let long = consent(Some(&format!("npm run {}", "x".repeat(40))));
        assert_eq!(question("Bash", &long).unwrap().questions()[0].options().len(), 3);
    }
}
