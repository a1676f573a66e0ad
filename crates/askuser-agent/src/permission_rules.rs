//! What has been allowed without asking, as rules that a person can list, add to and take back.

use crate::command_prefix;
use crate::permission::{Permissions, prefixes_of};
use askuser::sanitize;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something that is allowed without asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedRule {
    /// The tool, `TOOL prefix` for the beginnings of its commands, or `edits` for whatever edits files.
    pub tool: String,
    /// What of it.
    pub rule: String,
    /// Where and how long.
    pub scope: Scope,
}

/// Where and how long a rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In the working folder, for good.
    Folder,
    /// In every folder, for good.
    Everywhere,
    /// In this session.
    Session,
}

impl AllowedRule {
    /// This rule of this tool.
    pub fn new(tool: impl Into<String>, rule: impl Into<String>, scope: Scope) -> AllowedRule {
        AllowedRule { tool: tool.into(), rule: rule.into(), scope }
    }
}

/// In words.
impl Display for AllowedRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let AllowedRule { tool, rule, scope } = self;
        // A command of several lines is shown as one, and not as another command.
        let rule = sanitize::block(rule).replace('\n', " ⏎ ");
        match (tool.as_str(), tool.strip_suffix(" prefix")) {
            (_, Some(tool)) => {
                write!(f, "{tool}: {rule} * ")?;
                match command_prefix::check_kept(&rule) {
                    Ok(()) => write!(f, "(with plain words and harmless options)")?,
                    Err(why) => write!(f, "(lets nothing through: {why})")?,
                }
            }
            ("edits", _) => match rule.strip_prefix("edit in ") {
                Some(folder) => write!(f, "Edit and Write: files in {folder}")?,
                None => write!(f, "Edit and Write: files in the working folder")?,
            },
            ("Bash", _) => write!(f, "Bash: {rule} (exactly this)")?,
            (tool, _) if tool == rule => write!(f, "{tool}")?,
            (tool, _) => write!(f, "{tool}: {rule}")?,
        }
        f.write_str(match scope {
            Scope::Folder => "",
            Scope::Everywhere => ", in every folder",
            Scope::Session => ", for this session",
        })
    }
}

/// The rules of an agent. Clones are the same ones.
#[derive(Clone)]
pub struct PermissionRules(Arc<Mutex<Permissions>>);

impl PermissionRules {
    pub(crate) fn new(permissions: Arc<Mutex<Permissions>>) -> PermissionRules {
        PermissionRules(permissions)
    }

    /// All of them: those that are kept, then those that last as long as the session.
    ///
    /// # Errors
    /// Where those that are kept cannot be read.
    pub fn list(&self) -> io::Result<Vec<AllowedRule>> {
        let permissions = self.permissions();
        let mut rules = permissions.allowed.as_ref().map_or(Ok(Vec::new()), |allowed| allowed.rules())?;
        for (tool, rule) in &permissions.session {
            if !rules.iter().any(|kept| (&kept.tool, &kept.rule) == (tool, rule)) {
                rules.push(AllowedRule::new(tool, rule, Scope::Session));
            }
        }
        Ok(rules)
    }

    /// Allows a command, written exactly or as `cargo test *`, and says which rule that is. It is for people to call: no
    /// model and no file decides about it.
    ///
    /// # Errors
    /// Why it cannot be a rule, or where it cannot be kept; it is not allowed then.
    pub fn add(&self, command: &str) -> io::Result<AllowedRule> {
        let command = command.trim();
        let (tool, rule) = match command_prefix::parse_rule(command) {
            Some(prefix) => (prefixes_of("Bash"), prefix.map_err(io::Error::other)?),
            None => ("Bash".to_owned(), command.to_owned()),
        };
        let mut permissions = self.permissions();
        let scope = match &permissions.allowed {
            Some(allowed) => allowed.insert(&tool, &rule).map(|()| Scope::Folder)?,
            None => Scope::Session,
        };
        permissions.allow_for_now(&tool, &rule);
        Ok(AllowedRule { tool, rule, scope })
    }

    /// Takes a rule back: what it allowed is asked for from now on.
    ///
    /// # Errors
    /// Where that cannot be kept; the rule still holds then.
    pub fn remove(&self, rule: &AllowedRule) -> io::Result<()> {
        let mut permissions = self.permissions();
        if let Some(allowed) = permissions.allowed.as_ref().filter(|_| rule.scope != Scope::Session) {
            allowed.remove(rule)?;
        }
        permissions.session.remove(&(rule.tool.clone(), rule.rule.clone()));
        Ok(())
    }

    fn permissions(&self) -> MutexGuard<'_, Permissions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_reads_as_what_it_allows_and_where() {
        let words = |tool, rule, scope| AllowedRule::new(tool, rule, scope).to_string();
        assert_eq!(words("Act", "Act", Scope::Folder), "Act");
        assert_eq!(words("Act", "one thing", Scope::Everywhere), "Act: one thing, in every folder");
        assert_eq!(words("Bash", "true", Scope::Session), "Bash: true (exactly this), for this session");
        assert_eq!(
            words("Bash prefix", "cargo test", Scope::Folder),
            "Bash: cargo test * (with plain words and harmless options)"
        );
        assert_eq!(words("edits", "edit in /x", Scope::Folder), "Edit and Write: files in /x");
        assert_eq!(words("edits", "edit", Scope::Folder), "Edit and Write: files in the working folder");
    }
}
