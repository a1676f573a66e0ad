//! Files that need separate permission: hidden files, executables, files of version control, and files that instruct an
//! agent.
//!
//! Each edit of such a file needs permission even in accept-edits mode. Commands that create or change instructing
//! files are reported.

use super::confined_path::{ConfinedPath, resolve_links};
use crate::tool::ToolContext;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The names, or endings of names, of files that instruct agents. They are compared in lower case, because some file
/// systems ignore case.
const AGENTS_READ: &[&str] = &[
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "qwen.md",
    "skill.md",
    "opencode.json",
    "opencode.jsonc",
    "kilo.json",
    "kilo.jsonc",
    ".instructions.md",
    ".prompt.md",
    ".chatmode.md",
    "copilot-instructions.md",
    ".cursorrules",
    ".windsurfrules",
    ".mcp.json",
    "mcp.json",
    "askuser.toml",
    "agent.md",
    "warp.md",
    "replit.md",
    "knowledge.md",
    "firebender.json",
];
/// The folders in which every file is an instruction to an agent.
const OF_AGENTS: &[&str] = &[".askuser", ".claude", ".codex", ".cursor", ".gemini", ".opencode", ".kilo"];
/// The folders that belong to version control.
const OF_VERSION_CONTROL: &[&str] = &[".git", ".hg", ".svn", ".jj"];
/// The files that make git treat a folder as a repository, or redirect git to another one.
const MAKE_REPOSITORIES: &[&str] = &["head", "commondir", "gitdir"];
/// The parts of a repository that make git run programs or read other files.
const READ_BY_GIT: &[&str] =
    &["config", "config.worktree", "hooks", "info", "modules", "worktrees", "commondir", "gitdir"];

/// The maximum number of a folder's entries that are checked after a command. The nearest entries are checked first.
const MAX_ENTRIES: usize = 20_000;

fn lower(name: &std::ffi::OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}

/// Returns the reason why a change of this file needs permission in accept-edits mode; `None` for an ordinary file.
pub(crate) fn why_sensitive(path: &ConfinedPath, context: &ToolContext) -> Option<&'static str> {
    let real = path.absolute();
    if is_protected(&real, &context.protected) {
        return Some("askuser keeps it");
    }
    let by_links = || {
        let roots = [&context.cwd, &path.root].into_iter().chain(&context.allowed);
        roots.into_iter().find_map(|root| names_by_links(&real, root).iter().find_map(|name| why_by_name(root, name)))
    };
    let other = || {
        if is_in_bare_repository(path) {
            Some("version control reads it")
        } else if is_executable(&real) {
            Some("it is executable")
        } else {
            None
        }
    };
    why_by_name(&path.root, &path.relative).or_else(other).or_else(by_links)
}

/// Returns the reason why a change needs permission because of the file's name; `None` for an ordinary name.
fn why_by_name(root: &Path, relative: &Path) -> Option<&'static str> {
    let names: Vec<String> = root.join(relative).iter().map(lower).collect();
    let name = names.last().map(String::as_str).unwrap_or_default();
    let is_in = |folders: &[&str]| names.iter().any(|name| folders.contains(&name.as_str()));
    if instructs_agents(name) || is_in(OF_AGENTS) {
        Some("it instructs agents")
    } else if is_in(OF_VERSION_CONTROL) || MAKE_REPOSITORIES.contains(&name) {
        Some("version control reads it")
    } else if relative.iter().any(|name| lower(name).starts_with('.')) {
        Some("it is hidden")
    } else {
        None
    }
}

/// Returns the paths that links in a folder give to a file, relative to the folder.
fn names_by_links(file: &Path, root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = MAX_ENTRIES;
    let mut folders = VecDeque::from([root.to_owned()]);
    while let Some(folder) = folders.pop_front() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(fewer) = left.checked_sub(1) else { return found };
            left = fewer;
            let (link, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            if kind.is_dir() {
                folders.push_back(link);
            } else if kind.is_symlink()
                && let Ok(target) = resolve_links(&link)
                && let (Ok(below), Ok(link)) = (file.strip_prefix(&target), link.strip_prefix(root))
            {
                found.push(if below.as_os_str().is_empty() { link.to_owned() } else { link.join(below) });
            }
        }
    }
    found
}

/// Whether a resolved file is in a protected folder. Case is ignored.
pub(crate) fn is_protected(file: &Path, protected: &[PathBuf]) -> bool {
    let names = |path: &Path| -> Vec<String> { path.iter().map(lower).collect() };
    let file = names(file);
    protected.iter().any(|kept| file.starts_with(&names(&resolve_links(kept).unwrap_or_else(|_| kept.clone()))))
}

fn instructs_agents(name: &str) -> bool {
    AGENTS_READ
        .iter()
        .any(|known| name == *known || (known.ends_with(".md") && known.starts_with('.') && name.ends_with(known)))
}

fn is_executable(file: &Path) -> bool {
    #[cfg(unix)]
    return file.symlink_metadata().is_ok_and(|metadata| {
        metadata.is_file() && std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0
    });
    // On other systems, the ending of the name shows that a file is executable.
    #[cfg(not(unix))]
    return file.extension().is_some_and(|extension| {
        ["exe", "com", "bat", "cmd", "ps1"].iter().any(|known| extension.eq_ignore_ascii_case(known))
    });
}

/// Whether the file is part of a repository itself, such as a hook.
fn is_in_bare_repository(path: &ConfinedPath) -> bool {
    let real = path.absolute();
    let mut folders = real.ancestors().skip(1).take_while(|folder| folder.starts_with(&path.root));
    folders.any(is_repository)
}

/// Whether git would treat a folder as the internal folder of a repository.
fn is_repository(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    has("HEAD") && ["objects", "refs", "commondir"].into_iter().any(has)
}

/// Returns the files of a folder from which git or an agent takes instructions and that have changed since a time.
pub(crate) fn instructing_since(root: &Path, then: SystemTime) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = MAX_ENTRIES;
    let mut folders = VecDeque::from([(root.to_owned(), Kind::Plain)]);
    while let Some((folder, kind)) = folders.pop_front() {
        let is_bare = kind == Kind::Plain && is_repository(&folder);
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(fewer) = left.checked_sub(1) else { return found };
            left = fewer;
            let (name, Ok(file_type)) = (lower(&entry.file_name()), entry.file_type()) else { continue };
            let name = name.as_str();
            let instructs_git = READ_BY_GIT.contains(&name) || (is_bare && name == "head");
            let instructs = match kind {
                Kind::Git => instructs_git,
                // Git does not run samples.
                Kind::Instructions => !name.ends_with(".sample"),
                Kind::Plain => {
                    name == ".git" || instructs_agents(name) || OF_AGENTS.contains(&name) || (is_bare && instructs_git)
                }
            };
            if !file_type.is_dir() {
                if instructs && entry.metadata().is_ok_and(|metadata| has_changed_since(&metadata, then)) {
                    let path = entry.path();
                    found.push(path.strip_prefix(root).unwrap_or(&path).display().to_string());
                }
                continue;
            }
            match (kind, instructs) {
                (Kind::Plain, true) if name == ".git" => folders.push_back((entry.path(), Kind::Git)),
                (_, true) => folders.push_back((entry.path(), Kind::Instructions)),
                (Kind::Plain, false) => folders.push_back((entry.path(), Kind::Plain)),
                (Kind::Git | Kind::Instructions, false) => {}
            }
        }
    }
    found
}

/// The kind of a folder, which tells which of its files instruct git or an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    /// A folder inside a repository, of which some files instruct git.
    Git,
    /// A folder in which every file is an instruction.
    Instructions,
}

/// Whether a file has changed since a time. The change time counts on Unix, because no program can set it.
fn has_changed_since(metadata: &std::fs::Metadata, then: SystemTime) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        use std::time::{Duration, UNIX_EPOCH};
        let seconds = metadata.ctime().max(0).unsigned_abs();
        let nanos = metadata.ctime_nsec().max(0).unsigned_abs();
        UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanos) >= then
    }
    #[cfg(not(unix))]
    return metadata.modified().is_ok_and(|modified| modified >= then);
}

#[cfg(test)]
#[path = "sensitive_tests.rs"]
mod tests;
