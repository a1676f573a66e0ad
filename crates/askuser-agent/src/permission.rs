//! Who may do what without asking. A permission is asked for like anything else, through the same [`Asker`].
//!
//! No mode answers a question or skips it: modes are about tools that act.
//!
//! [`Asker`]: askuser::Asker

use crate::command_prefix;
use crate::event::AgentEvent;
use crate::message::ToolCall;
use crate::permission_rules::{AllowedRule, PermissionRule};
use crate::tool::{Agreed, Consent, Stop, Tool, ToolContext, ToolResult};
use askuser::permission::{MayPermit, Permission, Verdict, verdict};
use askuser::{Purpose, report};
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
    /// The same, but commands inside the sandbox neither.
    Sandbox,
    /// Nothing.
    Allow,
    /// Nothing changes anything: look, ask, then present a plan.
    Plan,
}

impl PermissionMode {
    /// What a person calls it, and writes into the settings.
    pub fn name(self) -> &'static str {
        match self {
            PermissionMode::Ask => "ask",
            PermissionMode::AcceptEdits => "accept-edits",
            PermissionMode::Sandbox => "sandbox",
            PermissionMode::Allow => "allow",
            PermissionMode::Plan => "plan",
        }
    }
}

/// What a person has allowed for good.
pub trait Allowed: Send + Sync {
    /// Remembers it.
    ///
    /// # Errors
    /// Where it cannot be kept; it is allowed for this session then.
    fn insert(&self, rule: &PermissionRule) -> std::io::Result<()>;
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
    /// An allowance that cannot be kept lasts as long as the agent.
    pub(crate) session: BTreeSet<PermissionRule>,
}

impl Permissions {
    /// This mode, and nothing allowed beyond it.
    pub fn new(mode: PermissionMode) -> Permissions {
        Permissions { mode, ..Permissions::default() }
    }

    /// Keeping what is allowed for good here.
    pub fn with_allowed(self, allowed: Arc<dyn Allowed>) -> Permissions {
        Permissions { allowed: Some(allowed), ..self }
    }

    /// What has been allowed, whether it is kept or not.
    fn rules(&self) -> impl Iterator<Item = PermissionRule> {
        let kept = self.allowed.as_ref().and_then(|allowed| allowed.rules().ok()).unwrap_or_default();
        kept.into_iter().map(|kept| kept.rule).chain(self.session.iter().cloned())
    }

    fn let_through(&self, consent: &Consent) -> bool {
        let known = || {
            self.rules().any(|rule| match rule {
                PermissionRule::CommandPrefix(prefix) => command_prefix::lets_through(&prefix, &consent.plain_words),
                rule => rule == consent.rule,
            })
        };
        match self.mode {
            _ if consent.always_ask => false,
            PermissionMode::Allow => true,
            PermissionMode::AcceptEdits | PermissionMode::Sandbox if consent.rule.is_for_edits() => true,
            // In plan mode it can change nothing there.
            PermissionMode::Sandbox | PermissionMode::Plan if consent.is_inside => true,
            PermissionMode::Plan => false,
            PermissionMode::Ask | PermissionMode::AcceptEdits | PermissionMode::Sandbox => known(),
        }
    }

    /// Why something is asked for.
    fn why(&self, consent: &Consent) -> String {
        let mode = self.mode.name();
        let mut why = match &consent.because {
            Some(because) if self.mode == PermissionMode::Ask && !consent.always_ask => {
                format!("Asks because the mode is {mode}, and {because}.")
            }
            Some(because) => format!("Asks because {because}."),
            None => format!("Asks because the mode is {mode}."),
        };
        if let Some(rule) = self.rule_that_does_not_hold(consent) {
            let because = match consent.is_inside {
                true => "the command is more than plain words",
                false => "it is for commands inside the sandbox",
            };
            why.push_str(&format!(" Your rule {rule} * does not hold: {because}."));
        }
        why
    }

    /// A rule by prefix that the person might have expected to let a command through.
    fn rule_that_does_not_hold(&self, consent: &Consent) -> Option<String> {
        let command = consent.rule.command()?;
        self.rules().find_map(|rule| match rule {
            PermissionRule::CommandPrefix(words) => {
                let rest = command.trim_start().strip_prefix(&words)?;
                (rest.is_empty() || rest.starts_with(|c: char| !c.is_alphanumeric() && c != '-')).then_some(words)
            }
            _ => None,
        })
    }
}

pub(crate) enum Obtained {
    Allowed(Option<Agreed>),
    /// They were asked, and did not say yes.
    NotAllowed(ToolResult),
    /// It could not run anyway, so no person was asked.
    Invalid(ToolResult),
}

/// Makes sure that the person agrees.
pub(crate) async fn obtain(tool: &dyn Tool, call: &ToolCall, context: &ToolContext) -> Result<Obtained, Stop> {
    let consent = match tool.consent(call, context) {
        Ok(consent) => consent,
        Err(invalid) => return Ok(Obtained::Invalid(invalid)),
    };
    let shared = &context.shared;
    let recorded = shared.transcript.question(&shared.tasks, &call.id, Purpose::Permission);
    // Their decision from before the session was cut off counts, whatever the mode is now.
    let is_answered = recorded.is_some_and(|recorded| recorded.resolution.is_some());
    if !is_answered && shared.permissions().let_through(&consent) {
        return Ok(Obtained::Allowed(consent.agreed));
    }
    let why = shared.permissions().why(&consent);
    let is_kept = shared.permissions().allowed.is_some();
    let permission = permission(&call.name, &consent, &why, is_kept);
    let set = match permission.question_set() {
        Ok(set) => set,
        Err(violations) => {
            let why = format!("Not run: this cannot be shown to the user for permission ({violations}).");
            return Ok(Obtained::Invalid(ToolResult::error(why)));
        }
    };
    let asked = context.ask_for(Purpose::Permission, &call.id, set, Some(consent.context)).await?;
    let verdict = verdict(&asked.set, &asked.resolution, MayPermit::PersonOrAnswers);
    if let Verdict::Agreed(option) = verdict
        && let Some(rule) = permission.rule(&asked.set, option)
    {
        // What a file says is not kept.
        allow_always(rule, asked.resolution.is_a_persons(), context);
    }
    let Some(why) = verdict.refusal() else { return Ok(Obtained::Allowed(consent.agreed)) };
    let title = if matches!(verdict, Verdict::Conditional { .. }) { "Not run yet" } else { "Not allowed" };
    let details = json!({"permission": report::json(&asked.set, &asked.resolution)});
    Ok(Obtained::NotAllowed(ToolResult::error(why).with_title(&call.name, title).with_details(details)))
}

/// The question, and the lasting permissions it offers.
fn permission(tool: &str, consent: &Consent, why: &str, is_kept: bool) -> Permission<PermissionRule> {
    let permission = Permission::new(tool, &consent.question).because(why);
    if consent.always_ask {
        return permission;
    }
    let lasts = if is_kept { "also in later sessions" } else { "in this session" };
    let always = format!("{}, {lasts}; /permissions takes it back", consent.always);
    let permission = permission.or_always(consent.rule.clone(), "in this folder", &always);
    match command_prefix::offered(&consent.plain_words) {
        // The label says the rule as it is.
        Some(prefix) => permission.or_always(
            PermissionRule::CommandPrefix(prefix.clone()),
            format!("{prefix} *"),
            &format!("Inside the sandbox, commands that begin with these words, {lasts}; /permissions takes it back"),
        ),
        None => permission,
    }
}

/// For as long as the agent, and for good where it can be kept.
fn allow_always(rule: &PermissionRule, is_kept: bool, context: &ToolContext) {
    let mut permissions = context.shared.permissions();
    permissions.session.insert(rule.clone());
    if let Some(allowed) = permissions.allowed.as_ref().filter(|_| is_kept)
        && let Err(error) = allowed.insert(rule)
    {
        let message = format!("\"Always allow\" lasts only as long as this session: {error}");
        context.emit(AgentEvent::Notice { message });
    }
}
