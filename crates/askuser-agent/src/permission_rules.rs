//! Rules that allow calls without asking. A person can list, add and remove them.

use crate::command_prefix;
use crate::permission::Permissions;
use askuser::sanitize;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The subject of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum PermissionRule {
    /// This exact command, inside the sandbox if there is one.
    Command(String),
    /// This exact command inside the sandbox, with network access.
    CommandWithNetwork(String),
    /// This exact command outside the sandbox.
    CommandOutside(String),
    /// Plain commands that begin with these words, inside the sandbox.
    CommandPrefix(String),
    /// Edits of files in the working folder by any tool.
    Edits,
    /// Edits of files in an added folder by any tool.
    EditsIn(String),
    /// Edits of one file by this tool, by absolute path, if accept-edits mode still asks for that file.
    File { tool: String, path: String },
    /// Every call of a tool.
    Tool(String),
    /// Calls with the same key, which the tool defines.
    Own { tool: String, rule: String },
}

impl PermissionRule {
    /// Whether accept-edits mode allows it as well.
    pub(crate) fn is_for_edits(&self) -> bool {
        matches!(self, PermissionRule::Edits | PermissionRule::EditsIn(_))
    }

    /// The command of a rule about a command.
    pub(crate) fn command(&self) -> Option<&str> {
        match self {
            PermissionRule::Command(command)
            | PermissionRule::CommandWithNetwork(command)
            | PermissionRule::CommandOutside(command) => Some(command),
            _ => None,
        }
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedRule {
    /// The subject.
    pub rule: PermissionRule,
    /// The scope and duration.
    pub scope: Scope,
}

/// The scope and duration of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The working folder, permanently.
    Folder,
    /// Every folder, permanently.
    Everywhere,
    /// This session.
    Session,
}

impl AllowedRule {
    /// A rule with this subject, scope and duration.
    pub fn new(rule: PermissionRule, scope: Scope) -> AllowedRule {
        AllowedRule { rule, scope }
    }
}

impl Display for AllowedRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // A command of several lines is shown on one line and must not look like another command.
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

/// The rules of an agent. Clones share them.
#[derive(Clone)]
pub struct PermissionRules(pub(crate) Arc<Mutex<Permissions>>);

impl PermissionRules {
    /// All rules: the stored ones, then those of the session.
    pub fn list(&self) -> io::Result<Vec<AllowedRule>> {
        let permissions = self.permissions();
        let mut rules = permissions.allowed.as_ref().map_or(Ok(Vec::new()), |allowed| allowed.rules())?;
        let is_kept = |rule: &PermissionRule| rules.iter().any(|kept| kept.rule == *rule);
        let session: Vec<_> = permissions.session.iter().filter(|rule| !is_kept(rule)).cloned().collect();
        rules.extend(session.into_iter().map(|rule| AllowedRule::new(rule, Scope::Session)));
        Ok(rules)
    }

    /// Adds a rule for an exact command or a prefix such as `cargo test *`, and returns it. Only people may call it,
    /// never a model or a file.
    ///
    /// # Errors
    /// If the rule is invalid or cannot be stored. It is not added then.
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

    /// Removes a rule. Its calls need permission from now on.
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
