//! Which files are asked for one by one, also where edits are accepted. The rule: whatever is hidden, runs by itself,
//! configures a tool or steers an agent.
//!
//! *Hidden* is any name below the allowed folder that begins with a dot. The rest has plain names, which are listed here.
//! Deliberately absent: what runs only when somebody builds or starts the project (Makefile, package.json, build.rs, sources).

use super::confined_path::ConfinedPath;
use std::path::{Path, PathBuf};

/// Files with plain names that run by themselves, configure a tool or steer an agent, in lower case.
const FILES: &[&str] = &[
    // Read by agents, this one included.
    "agent.md",
    "agents.md",
    "agents.override.md",
    "claude.md",
    "claude.local.md",
    "gemini.md",
    "qwen.md",
    "copilot-instructions.md",
    "skill.md",
    "askuser.toml",
    // Which name the servers, tools and hooks that an agent starts.
    "mcp.json",
    "mcp-config.json",
    "cline_mcp_settings.json",
    "opencode.json",
    "opencode.jsonc",
    "gemini-extension.json",
    "qwen-extension.json",
    // Run by git, by continuous integration, or by whoever enters the folder.
    "lefthook.yml",
    "lefthook.yaml",
    "lefthook.toml",
    "lefthook.json",
    "lefthook-local.yml",
    "lefthook-local.yaml",
    "lefthook-local.toml",
    "lefthook-local.json",
    "jenkinsfile",
    "azure-pipelines.yml",
    "azure-pipelines.yaml",
    "bitbucket-pipelines.yml",
    "appveyor.yml",
    "cloudbuild.yaml",
    "buildspec.yml",
    "renovate.json",
    "mise.toml",
    "mise.local.toml",
    // Which compiler, packages or code a tool loads before it looks at the project; editors start these tools as well.
    "rust-toolchain",
    "rust-toolchain.toml",
    "conftest.py",
    "pytest.ini",
    "bunfig.toml",
    "pip.conf",
    "nuget.config",
    "gradle-wrapper.properties",
    // As their hidden spelling.
    "justfile",
    // Run by every Python, shell or editor that starts.
    "sitecustomize.py",
    "usercustomize.py",
    "config.fish",
    "_vimrc",
    "_netrc",
    // Of a bare repository, which any folder becomes file by file: its config names commands that git runs.
    "head",
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "packed-refs",
];

/// How the names of others end: settings of an editor, and what every Python that starts runs.
const ENDINGS: [&str; 2] = [".code-workspace", ".pth"];

/// Folders that are sensitive even if the working folder is inside of them.
const FOLDERS: [&str; 11] =
    [".cargo", ".git", ".ssh", ".gnupg", ".aws", ".kube", ".askuser", ".claude", ".husky", ".idea", ".vscode"];

/// The same, with the folder they are in: the user's settings and permissions.
const NESTED: [[&str; 2]; 6] = [
    [".config", "askuser"],
    ["share", "askuser"],
    ["state", "askuser"],
    [".config", "fish"],
    [".config", "autostart"],
    [".config", "systemd"],
];

/// Whether a change of this file has to be asked for: it is hidden, runs by itself, configures a tool or steers an agent, or
/// it is in a folder that is `protected`.
pub(crate) fn is_sensitive(path: &ConfinedPath, protected: &[PathBuf]) -> bool {
    let real = path.absolute();
    // Some file systems ignore case.
    let lower =
        |path: &Path| -> Vec<String> { path.iter().map(|name| name.to_string_lossy().to_lowercase()).collect() };
    let (names, below) = (lower(&real), lower(&path.relative));
    is_protected(path, protected)
        || below.iter().any(|name| name.starts_with('.'))
        || names.last().is_some_and(|name| FILES.contains(&name.as_str()))
        || names.last().is_some_and(|name| ENDINGS.iter().any(|ending| name.ends_with(ending)))
        || names.iter().any(|name| FOLDERS.contains(&name.as_str()))
        || names.windows(2).any(|pair| NESTED.iter().any(|nested| nested == pair))
        || is_in_bare_repository(path)
}

/// Whether it is where answers, permissions and settings are kept: whoever writes there decides in the person's place.
pub(crate) fn is_protected(path: &ConfinedPath, protected: &[PathBuf]) -> bool {
    let real = path.absolute();
    protected.iter().any(|folder| real.starts_with(folder))
}

/// Whether a command, as far as its words tell, would answer or take back a question, or touch what is protected. One that
/// hides its words gets past this; it is a check of honesty, not a wall.
pub(crate) fn decides_for_the_person(command: &str, protected: &[PathBuf]) -> bool {
    let lower = command.to_lowercase();
    let names_askuser = lower.contains("askuser");
    let acts = ["answer", "withdraw", "inbox"].iter().any(|word| lower.contains(word));
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let is_named = |path: &PathBuf| {
        let below_home = home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        let below_home = below_home.and_then(Path::to_str).filter(|path| !path.is_empty());
        path.to_str().is_some_and(|path| command.contains(path))
            || below_home.is_some_and(|path| command.contains(path))
    };
    (names_askuser && acts) || protected.iter().any(is_named)
}

/// Whether it is among a repository's own files, such as its hooks.
fn is_in_bare_repository(path: &ConfinedPath) -> bool {
    let real = path.absolute();
    let mut folders = real.ancestors().skip(1).take_while(|folder| folder.starts_with(&path.root));
    folders.any(|folder| {
        folder.join("HEAD").symlink_metadata().is_ok()
            && ["objects", "refs", "commondir"].iter().any(|name| folder.join(name).symlink_metadata().is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_would_answer_for_the_person_is_told_from_one_that_only_mentions_it() {
        for command in ["askuser answer 3f2a", "AskUser withdraw 3f2a", "askuser inbox", "sh -c 'askuser answer'"] {
            assert!(decides_for_the_person(command, &[]), "{command}");
        }
        for command in ["cargo test -p askuser", "git log --grep=answer", "ls inbox", "ls"] {
            assert!(!decides_for_the_person(command, &[]), "{command}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_only_looks_a_little_like_a_repository_is_none() {
        use crate::tools::fixtures::TestFolder;
        let is_asked_for = |files: &[&str]| {
            let test = files.iter().fold(TestFolder::new(), |test, file| test.with_file(file, ""));
            is_sensitive(&ConfinedPath::inside(&test.context.cwd, "src/a.rs"), &[])
        };
        assert!(is_asked_for(&["HEAD", "objects/x"]));
        assert!(is_asked_for(&["src/HEAD", "src/refs/x"]));
        assert!(!is_asked_for(&["objects/x", "refs/x"]));
        assert!(!is_asked_for(&["HEAD"]));
        assert!(!is_asked_for(&["HEAD", "src/objects/x"]));
    }

    #[test]
    fn a_protected_folder_is_known_however_the_home_folder_is_written() {
        let home = PathBuf::from(std::env::var_os("HOME").expect("a home folder"));
        let protected = [home.join(".state/kept"), "/protected".into()];
        let full = format!("cat {}/.state/kept/x", home.display());
        for command in
            [&full, "cat ~/.state/kept/x", "cat $HOME/.state/kept/x", "cd; cat .state/kept/x", "cat /protected"]
        {
            assert!(decides_for_the_person(command, &protected), "{command}");
        }
        assert!(!decides_for_the_person("cat ~/.state/other", &protected));
        assert!(!decides_for_the_person("ls", &[home]), "not every command is in the home folder");
    }
}
