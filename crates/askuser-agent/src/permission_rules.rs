//! Rules that allow calls without asking. A person can list, add and remove them.

use crate::command_prefix;
use crate::permission::Permissions;
use askuser::sanitize;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The calls that a rule allows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum PermissionRule {
    /// The exact command, inside the sandbox if there is one.
    Command(String),
    /// The exact command inside the sandbox, with network access.
    CommandWithNetwork(String),
    /// The exact command outside the sandbox.
    CommandOutside(String),
    /// Plain commands that begin with these words, inside the sandbox.
    CommandPrefix(String),
    /// Edits of files in the working folder by any tool.
    Edits,
    /// Edits of files in an added folder by any tool.
    EditsIn(String),
    /// Edits of one file by this tool, if accept-edits mode still asks for that file. The path is absolute.
    File { tool: String, path: String },
    /// Every call of this tool.
    Tool(String),
    /// Calls of this tool with the same rule text, which the tool defines.
    Own { tool: String, rule: String },
}

impl PermissionRule {
    /// Whether accept-edits mode allows the same calls.
    pub(crate) fn is_for_edits(&self) -> bool {
        matches!(self, PermissionRule::Edits | PermissionRule::EditsIn(_))
    }

    /// Returns the exact command that a rule allows; `None` for other rules.
    pub(crate) fn command(&self) -> Option<&str> {
        match self {
            PermissionRule::Command(command)
            | PermissionRule::CommandWithNetwork(command)
            | PermissionRule::CommandOutside(command) => Some(command),
            _ => None,
        }
    }
}

/// A rule that allows calls, with its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedRule {
    /// The calls that the rule allows.
    pub rule: PermissionRule,
    /// The folders and the time for which the rule holds.
    pub scope: Scope,
}

/// The folders and the time for which a rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The rule holds in the working folder, permanently.
    Folder,
    /// The rule holds in every folder, permanently.
    Everywhere,
    /// The rule holds until this session ends.
    Session,
}

impl AllowedRule {
    /// Creates a rule with this scope.
    pub fn new(rule: PermissionRule, scope: Scope) -> AllowedRule {
        AllowedRule { rule, scope }
    }
}

impl Display for AllowedRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // A command of several lines is shown on one line, but must not look like another command.
        let shown = |text: &str| sanitize::block(text).replace('\n', " ⏎ ");
        match &self.rule {
            PermissionRule::Command(command) => write!(f, "Bash: {} (exactly this)", shown(command))?,
            PermissionRule::CommandWithNetwork(command) => {
                write!(f, "Bash: {} (exactly this, with the network)", shown(command))?;
            }
            PermissionRule::CommandOutside(command) => {
                write!(f, "Bash: {} (exactly this, outside the sandbox)", shown(command))?;
            }
            PermissionRule::CommandPrefix(words) => write!(f, "Bash: {} * (inside the sandbox)", shown(words))?,
            PermissionRule::Edits => write!(f, "Edit and Write: files in the working folder")?,
            PermissionRule::EditsIn(folder) => write!(f, "Edit and Write: files in {}", shown(folder))?,
            PermissionRule::File { tool, path } => write!(f, "{}: the file {}", shown(tool), shown(path))?,
            PermissionRule::Tool(tool) => write!(f, "{}", shown(tool))?,
            PermissionRule::Own { tool, rule } => write!(f, "{}: {}", shown(tool), shown(rule))?,
        }
        f.write_str(match self.scope {
            Scope::Folder => "",
            Scope::Everywhere => ", in every folder",
            Scope::Session => ", for this session",
        })
    }
}

/// The rules of an agent. Clones refer to the same rules.
#[derive(Clone)]
pub struct PermissionRules(pub(crate) Arc<Mutex<Permissions>>);

impl PermissionRules {
    /// Returns all rules: the stored rules first, then those of the session.
    pub fn list(&self) -> io::Result<Vec<AllowedRule>> {
        let permissions = self.permissions();
        let mut rules = permissions.allowed.as_ref().map_or(Ok(Vec::new()), |allowed| allowed.rules())?;
        let is_kept = |rule: &PermissionRule| rules.iter().any(|kept| kept.rule == *rule);
        let session: Vec<_> = permissions.session.iter().filter(|rule| !is_kept(rule)).cloned().collect();
        rules.extend(session.into_iter().map(|rule| AllowedRule::new(rule, Scope::Session)));
        Ok(rules)
    }

    /// Adds a rule for an exact command or for a prefix such as `cargo test *`. Returns the rule.
    ///
    /// Call this only for a person, never for a model or a file.
    ///
    /// # Errors
    /// If the rule is invalid or cannot be stored. The rule is then not added.
    pub fn add(&self, command: &str) -> io::Result<AllowedRule> {
        let command = command.trim();
        let rule = match command_prefix::parse_rule(command) {
            Some(prefix) => PermissionRule::CommandPrefix(prefix.map_err(io::Error::other)?),
            None => PermissionRule::Command(command.to_owned()),
        };
        let mut permissions = self.permissions();
        let scope = match &permissions.allowed {
            Some(allowed) => allowed.insert(&rule).map(|()| Scope::Folder)?,
            None => Scope::Session,
        };
        permissions.session.insert(rule.clone());
        Ok(AllowedRule { rule, scope })
    }

    /// Removes a rule, so that the calls it allowed need permission again.
    ///
    /// # Errors
    /// If the removal cannot be stored. The rule then still holds.
    pub fn remove(&self, rule: &AllowedRule) -> io::Result<()> {
        let mut permissions = self.permissions();
        if let Some(allowed) = permissions.allowed.as_ref().filter(|_| rule.scope != Scope::Session) {
            allowed.remove(rule)?;
        }
        permissions.session.remove(&rule.rule);
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
        use PermissionRule::*;
        let words = |rule, scope| AllowedRule::new(rule, scope).to_string();
        assert_eq!(words(Tool("Act".into()), Scope::Folder), "Act");
        let own = Own { tool: "Act".into(), rule: "one\nthing".into() };
        assert_eq!(words(own, Scope::Everywhere), "Act: one ⏎ thing, in every folder");
        assert_eq!(words(Command("true".into()), Scope::Session), "Bash: true (exactly this), for this session");
        assert_eq!(words(CommandPrefix("cargo test".into()), Scope::Folder), "Bash: cargo test * (inside the sandbox)");
        let outside = words(CommandOutside("git push".into()), Scope::Folder);
        assert_eq!(outside, "Bash: git push (exactly this, outside the sandbox)");
        let network = words(CommandWithNetwork("npm ci".into()), Scope::Folder);
        assert_eq!(network, "Bash: npm ci (exactly this, with the network)");
        assert_eq!(words(EditsIn("/x".into()), Scope::Folder), "Edit and Write: files in /x");
        assert_eq!(words(Edits, Scope::Folder), "Edit and Write: files in the working folder");
        let file = File { tool: "Edit".into(), path: "/x/.env".into() };
        assert_eq!(words(file, Scope::Folder), "Edit: the file /x/.env");
    }
}
