//! Where the files with settings are.

use std::path::{Path, PathBuf};

/// The user's folder: `$XDG_CONFIG_HOME/askuser`, or under `~/.config`.
pub fn user_folder(environment: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    environment("XDG_CONFIG_HOME")
        .filter(|value| Path::new(value).is_absolute())
        .map(PathBuf::from)
        .or_else(|| environment("APPDATA").filter(|_| cfg!(windows)).map(PathBuf::from))
        .or_else(|| environment("HOME").filter(|home| !home.is_empty()).map(|home| Path::new(&home).join(".config")))
        .map(|folder| folder.join("askuser"))
}

/// The user's file, if there is one.
pub fn user_file(environment: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    user_folder(environment).map(|folder| folder.join("askuser.toml")).filter(|path| path.is_file())
}

/// The project's file: the nearest `askuser.toml` from this folder up to the repository it is in. Outside a repository
/// only this folder counts, so that nobody else's folder above has a say.
pub fn project_file(folder: &Path) -> Option<PathBuf> {
    let is_root = |folder: &Path| [".git", ".hg", ".jj"].iter().any(|name| folder.join(name).exists());
    let depth = folder.ancestors().position(is_root).unwrap_or(0);
    folder.ancestors().take(depth + 1).map(|folder| folder.join("askuser.toml")).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_file_is_looked_for_up_to_the_repository_and_no_further() {
        let outside = tempfile::tempdir().unwrap();
        let (repository, inside) = (outside.path().join("repo"), outside.path().join("repo/src/deep"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(outside.path().join("askuser.toml"), "").unwrap();
        assert_eq!(project_file(&inside), None);
        std::fs::create_dir(repository.join(".git")).unwrap();
        assert_eq!(project_file(&inside), None);
        std::fs::write(repository.join("askuser.toml"), "").unwrap();
        assert_eq!(project_file(&inside), Some(repository.join("askuser.toml")));
    }
}
