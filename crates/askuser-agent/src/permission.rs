//! Permission modes and rules. A permission is a question like any other. The [`Asker`] asks it.
//!
//! Modes concern only tools that act. Questions are asked in every mode.
//!
//! [`Asker`]: askuser::Asker

use crate::calls::Ended;
use crate::command_prefix;
use crate::event::AgentEvent;
use crate::message::ToolCall;
use crate::permission_rules::{AllowedRule, PermissionRule};
use crate::tool::{Agreed, Consent, Stop, Tool, ToolContext, ToolResult};
use crate::transcript::Halt;
use askuser::permission::{MayPermit, Permission, Verdict, verdict};
use askuser::{Purpose, report};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The mode that decides which calls need permission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Every call of a tool that acts needs permission.
    #[default]
    Ask,
    /// Calls of tools that act need permission, except edits in the allowed folders.
    AcceptEdits,
    /// Calls need permission as in accept-edits mode, but commands inside the sandbox do not.
    Sandbox,
    /// Calls need no permission, except those that need it in every mode.
    Allow,
    /// Tools that change something are refused. The model reads, asks and presents a plan.
    Plan,
}

impl PermissionMode {
    /// Returns the name of the mode in the settings.
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

/// A store of permission rules that outlive the session.
pub trait Allowed: Send + Sync {
    /// Stores a rule.
    ///
    /// # Errors
    /// If the rule cannot be stored. The rule then holds only for this session.
    fn insert(&self, rule: &PermissionRule) -> std::io::Result<()>;
    /// Returns all stored rules.
    ///
    /// # Errors
    /// If the rules cannot be read. No stored rule holds then.
    fn rules(&self) -> std::io::Result<Vec<AllowedRule>>;
    /// Removes a rule.
    ///
    /// # Errors
    /// If the removal cannot be stored. The rule then still holds.
    fn remove(&self, rule: &AllowedRule) -> std::io::Result<()>;
}

/// The permission mode and the rules of an agent.
#[derive(Clone, Default)]
pub struct Permissions {
    /// The current permission mode.
    pub mode: PermissionMode,
    /// The store of lasting rules. If it is `None`, "always" means this session.
    pub(crate) allowed: Option<Arc<dyn Allowed>>,
    /// The rules of this session. Some of them are also stored.
    pub(crate) session: BTreeSet<PermissionRule>,
}

impl Permissions {
    /// Creates permissions in this mode, without rules.
    pub fn new(mode: PermissionMode) -> Permissions {
        Permissions { mode, ..Permissions::default() }
    }

    /// Sets the store of lasting rules.
    pub fn with_allowed(self, allowed: Arc<dyn Allowed>) -> Permissions {
        Permissions { allowed: Some(allowed), ..self }
    }

    /// Returns all rules, stored or not.
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
            // In plan mode the sandbox is read-only.
            PermissionMode::Sandbox | PermissionMode::Plan if consent.is_inside => true,
            PermissionMode::Plan => false,
            PermissionMode::Ask | PermissionMode::AcceptEdits | PermissionMode::Sandbox => known(),
        }
    }

    /// Returns the sentence that tells the person why a call needs permission.
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
            let because = if consent.is_inside {
                "the command is more than plain words"
            } else {
                "it is for commands inside the sandbox"
            };
            why.push_str(&format!(" Your rule {rule} * does not hold: {because}."));
        }
        why
    }

    /// Returns a prefix rule that the person may have expected to allow the command; `None` if there is none.
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

/// Asks the person to agree to a call. The inner error has the result of a call that must not run. A refusal also skips
/// the later calls, but an invalid call does not.
pub(crate) async fn obtain(
    tool: &dyn Tool,
    call: &ToolCall,
    context: &ToolContext,
) -> Result<Result<Option<Agreed>, Ended>, Stop> {
    let consent = match tool.consent(call, context) {
        Ok(consent) => consent,
        Err(invalid) => return Ok(Err(invalid.into())),
    };
    let shared = &context.shared;
    let recorded = shared.transcript.question(&shared.tasks, &call.id, Purpose::Permission);
    // A decision from before an interruption counts in every mode.
    let is_answered = recorded.is_some_and(|recorded| recorded.resolution.is_some());
    if !is_answered && shared.permissions().let_through(&consent) {
        return Ok(Ok(consent.agreed));
    }
    let why = shared.permissions().why(&consent);
    let is_kept = shared.permissions().allowed.is_some();
    let permission = permission(&call.name, &consent, &why, is_kept);
    let set = match permission.question_set() {
        Ok(set) => set,
        Err(violations) => {
            let why = format!("Not run: this cannot be shown to the user for permission ({violations}).");
            return Ok(Err(ToolResult::error(why).into()));
        }
    };
    let asked = context.ask_for(Purpose::Permission, &call.id, set, Some(consent.context)).await?;
    let verdict = verdict(&asked.set, &asked.resolution, MayPermit::PersonOrAnswers);
    if let Verdict::Agreed(option) = verdict
        && let Some(rule) = permission.rule(&asked.set, option)
    {
        // A decision from an answers file is not stored.
        allow_always(rule, asked.resolution.is_a_persons(), context);
    }
    let Some(why) = verdict.refusal() else { return Ok(Ok(consent.agreed)) };
    let title = if matches!(verdict, Verdict::Conditional { .. }) { "Not run yet" } else { "Not allowed" };
    let details = json!({"permission": report::json(&asked.set, &asked.resolution)});
    let result = ToolResult::error(why).with_title(&call.name, title).with_details(details);
    Ok(Err(Ended { result, halt: Some(Halt::NotAllowed) }))
}

/// Creates the question about a call, with the lasting permissions that it offers.
fn permission(tool: &str, consent: &Consent, why: &str, is_kept: bool) -> Permission<PermissionRule> {
    let permission = Permission::new(tool, &consent.question).because(why);
    if consent.always_ask {
        return permission;
    }
    let lasts = if is_kept { "also in later sessions" } else { "in this session" };
    let always = format!("{}, {lasts}; /permissions takes it back", consent.always);
    let permission = permission.or_always(consent.rule.clone(), "in this folder", &always);
    match command_prefix::offered(&consent.plain_words) {
        // The label is the rule itself, so that the person sees what it allows.
        Some(prefix) => permission.or_always(
            PermissionRule::CommandPrefix(prefix.clone()),
            format!("{prefix} *"),
            &format!("Inside the sandbox, commands that begin with these words, {lasts}; /permissions takes it back"),
        ),
        None => permission,
    }
}

/// Adds a rule to the session. Stores it permanently if `is_kept` is set and there is a store.
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
