//! Which files need permission one by one, even where edits are accepted. The rule: a file that is hidden, is executable, runs by
//! itself, configures a tool or steers an agent.
//!
//! *Hidden* is any name below the allowed folder that begins with a dot, *executable* any file that may be run now. The rest
//! is told by its name (see `sensitive_names`), by being in a folder where programs are found, or by a link that gives it
//! such a name.

use super::confined_path::ConfinedPath;
use super::kept_files::is_protected;
use super::sensitive_links;
use super::sensitive_names::is_sensitive_name;
use std::path::{Path, PathBuf};

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

/// Whether a change of this file has to be asked for: it is hidden, is executable, runs by itself, configures a tool or
/// steers an agent, or it is in a folder that is `protected`.
pub(crate) fn is_sensitive(path: &ConfinedPath, protected: &[PathBuf]) -> bool {
    let real = path.absolute();
    // Some file systems ignore case.
    let lower =
        |path: &Path| -> Vec<String> { path.iter().map(|name| name.to_string_lossy().to_lowercase()).collect() };
    let (names, below) = (lower(&real), lower(&path.relative));
    is_protected(&real, protected)
        || below.iter().any(|name| name.starts_with('.'))
        || names.last().is_some_and(|name| is_sensitive_name(name))
        || names.iter().any(|name| FOLDERS.contains(&name.as_str()))
        || names.windows(2).any(|pair| NESTED.iter().any(|nested| nested == pair))
        || is_executable(&real)
        || is_where_programs_are_found(&real)
        || is_in_bare_repository(path)
        || sensitive_links::lead_to(path)
}

fn is_executable(file: &Path) -> bool {
    #[cfg(unix)]
    return file.symlink_metadata().is_ok_and(|metadata| {
        metadata.is_file() && std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0
    });
    // Elsewhere the name tells.
    #[cfg(not(unix))]
    return file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("exe"));
}

fn is_where_programs_are_found(file: &Path) -> bool {
    let Some(folder) = file.parent() else { return false };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::env::var_os("HOME").map(|home| Path::new(&home).join("bin"));
    let mut folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).chain(own);
    folders.any(|programs| programs.canonicalize().unwrap_or(programs) == folder)
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
}
