//! The paths of the settings files.

use crate::ownership;
use std::path::{Path, PathBuf};

/// Returns the user's folder: `$XDG_CONFIG_HOME/askuser`, or a folder below `~/.config`. `None` without a home folder.
pub(crate) fn user_folder(environment: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    environment("XDG_CONFIG_HOME")
        .filter(|value| Path::new(value).is_absolute())
        .map(PathBuf::from)
        .or_else(|| environment("APPDATA").filter(|_| cfg!(windows)).map(PathBuf::from))
        .or_else(|| environment("HOME").filter(|home| !home.is_empty()).map(|home| Path::new(&home).join(".config")))
        .map(|folder| folder.join("askuser"))
}

pub(crate) fn user_file(environment: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    user_folder(environment).map(|folder| folder.join("askuser.toml")).filter(|path| path.is_file())
}

/// Returns the project's file: the nearest `askuser.toml` between this folder and the root of its repository. Also
/// returns a warning if the repository belongs to another user. Outside a repository only this folder counts, so that
/// the folders of other users above it have no effect.
fn project_file(folder: &Path) -> (Option<PathBuf>, Option<String>) {
    let (root, warning) = match ownership::repository(folder) {
        Ok(root) => (root.unwrap_or(folder), None),
        Err(foreign) => (folder, foreign.left_out(&["askuser.toml"])),
    };
    let folders = folder.ancestors().take_while(|folder| folder.starts_with(root));
    let file = folders.map(|folder| folder.join("askuser.toml")).find(|path| path.symlink_metadata().is_ok());
    (file, warning)
}

pub(crate) fn project_file_here() -> (Option<PathBuf>, Option<String>) {
    std::env::current_dir().map_or((None, None), |folder| project_file(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projects_file_is_looked_for_up_to_the_repository_and_no_further() {
        let outside = tempfile::tempdir().unwrap();
        let repository = outside.path().join("repo");
        let inside = outside.path().join("repo/src/deep");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(outside.path().join("askuser.toml"), "").unwrap();
        assert_eq!(project_file(&inside), (None, None));
        std::fs::create_dir(repository.join(".git")).unwrap();
        assert_eq!(project_file(&inside), (None, None));
        std::fs::write(repository.join("askuser.toml"), "").unwrap();
        assert_eq!(project_file(&inside), (Some(repository.join("askuser.toml")), None));
    }

    #[test]
    fn the_nearest_file_of_a_project_counts_in_repositories_of_every_kind() {
        for marker in [".git", ".hg", ".jj"] {
            let repository = tempfile::tempdir().unwrap();
            let inside = repository.path().join("src/deep");
            std::fs::create_dir_all(&inside).unwrap();
            std::fs::create_dir(repository.path().join(marker)).unwrap();
            std::fs::write(repository.path().join("askuser.toml"), "").unwrap();
            assert_eq!(project_file(&inside), (Some(repository.path().join("askuser.toml")), None), "{marker}");
            std::fs::write(inside.join("askuser.toml"), "").unwrap();
            assert_eq!(project_file(&inside), (Some(inside.join("askuser.toml")), None), "{marker}");
        }
    }

    fn folder(variables: &[(&str, &str)]) -> Option<PathBuf> {
        user_folder(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    #[cfg(unix)]
    fn the_users_folder_is_an_absolute_one_or_none() {
        let home = ("HOME", "/home/ada");
        assert_eq!(folder(&[("XDG_CONFIG_HOME", "/config"), home]), Some("/config/askuser".into()));
        for ignored in [("XDG_CONFIG_HOME", ""), ("XDG_CONFIG_HOME", "config"), ("APPDATA", "/windows")] {
            assert_eq!(folder(&[ignored, home]), Some("/home/ada/.config/askuser".into()), "{ignored:?}");
        }
        assert_eq!(folder(&[("HOME", "")]), None);
    }

    #[test]
    fn the_users_file_is_one_only_where_there_is_a_file() {
        let config = tempfile::tempdir().unwrap();
        let file = config.path().join("askuser/askuser.toml");
        let found = || user_file(|name| (name == "XDG_CONFIG_HOME").then(|| config.path().display().to_string()));
        assert_eq!(found(), None);
        std::fs::create_dir_all(&file).unwrap();
        assert_eq!(found(), None);
        std::fs::remove_dir(&file).unwrap();
        std::fs::write(&file, "").unwrap();
        assert_eq!(found(), Some(file));
    }
}
