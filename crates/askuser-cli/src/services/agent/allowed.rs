//! What a person has allowed for good in a folder, kept where the agent's tools cannot write without asking. The file is
//! for people to read and write too: docs/permissions.md.

use askuser_agent::atomic_file::{self, FilePermissions};
use askuser_agent::regular_file::{self, Links};
use askuser_agent::{Allowed, AllowedRule, Scope};
use askuser_cli::state_folder::{check_state_folder, state_folder, trusted};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The allowances of this folder. Without a place to keep them they last as long as the session.
pub(crate) fn here(cwd: &Path) -> Option<Arc<dyn Allowed>> {
    let file = state_folder().ok()?.join("allowed.json");
    Some(Arc::new(File { file, folder: cwd.display().to_string() }))
}

/// What to tell whoever expects what they allowed before to be allowed, if it is not.
pub(crate) fn warning() -> Option<String> {
    let file = File { file: state_folder().ok()?.join("allowed.json"), folder: String::new() };
    let error = file.read().err()?;
    Some(format!("what was allowed for good is asked for again: {error}"))
}

struct File {
    file: PathBuf,
    folder: String,
}

/// From folder to tool to rules.
#[derive(Default, Serialize, Deserialize)]
struct Rules(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

/// More than anybody allows one by one.
const MAX_BYTES: u64 = 16 << 20;

/// Stands for every folder. No folder is called that: theirs are absolute paths.
const EVERYWHERE: &str = "*";

impl File {
    /// A file that cannot be read, or that somebody else could have written, allows nothing.
    fn read(&self) -> io::Result<Rules> {
        if let Some(state) = self.file.parent() {
            check_state_folder(state).map_err(|failure| io::Error::other(failure.message))?;
        }
        trusted(&self.file).map_err(|error| io::Error::other(format!("{} {error}", self.file.display())))?;
        match regular_file::read(&self.file, Links::Follow, MAX_BYTES) {
            // Some editors put a byte order mark there.
            Ok(bytes) => {
                let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
                serde_json::from_slice(text)
                    .map_err(|error| io::Error::other(format!("{} cannot be read: {error}", self.file.display())))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Rules::default()),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                Err(io::Error::other(format!("{} {error}", self.file.display())))
            }
            Err(error) => Err(io::Error::other(format!("{} cannot be read: {error}", self.file.display()))),
        }
    }
}

impl File {
    /// Changes the file, unless it cannot be read.
    fn change(&self, change: impl FnOnce(&mut Rules)) -> io::Result<()> {
        if let Some(folder) = self.file.parent() {
            private_folder(folder)?;
        }
        // Another session may be changing it at this moment. Where there are no locks, that is a risk to take.
        let lock = private_file(&self.file.with_extension("lock"))?;
        let _ = lock.lock();
        let mut rules = self.read()?;
        change(&mut rules);
        atomic_file::replace(&self.file, &serde_json::to_vec_pretty(&rules)?, FilePermissions::OwnerOnly)
    }

    /// What is allowed here, and where that is written.
    fn here<'a>(&'a self, rules: &'a Rules) -> impl Iterator<Item = (Scope, &'a BTreeMap<String, BTreeSet<String>>)> {
        let places = [(Scope::Folder, self.folder.as_str()), (Scope::Everywhere, EVERYWHERE)];
        places.into_iter().filter_map(|(scope, place)| Some((scope, rules.0.get(place)?)))
    }
}

impl Allowed for File {
    fn contains(&self, tool: &str, rule: &str) -> bool {
        let has =
            |tools: &BTreeMap<String, BTreeSet<String>>| tools.get(tool).is_some_and(|rules| rules.contains(rule));
        self.read().is_ok_and(|rules| self.here(&rules).any(|(_, tools)| has(tools)))
    }

    fn insert(&self, tool: &str, rule: &str) -> io::Result<()> {
        self.change(|Rules(rules)| {
            let tools = rules.entry(self.folder.clone()).or_default();
            tools.entry(tool.to_owned()).or_default().insert(rule.to_owned());
        })
    }

    fn rules(&self) -> io::Result<Vec<AllowedRule>> {
        let rules = self.read()?;
        let listed = self.here(&rules).flat_map(|(scope, tools)| {
            tools.iter().flat_map(move |(tool, rules)| {
                rules.iter().map(move |rule| AllowedRule::new(tool.as_str(), rule.as_str(), scope))
            })
        });
        Ok(listed.collect())
    }

    fn remove(&self, rule: &AllowedRule) -> io::Result<()> {
        let place = match rule.scope {
            Scope::Everywhere => EVERYWHERE,
            Scope::Folder | Scope::Session => &self.folder,
        };
        self.change(|Rules(folders)| {
            let Some(tools) = folders.get_mut(place) else { return };
            if let Some(rules) = tools.get_mut(&rule.tool) {
                rules.remove(&rule.rule);
            }
            tools.retain(|_, rules| !rules.is_empty());
            folders.retain(|_, tools| !tools.is_empty());
        })
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn private_file(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    regular_file::open_with(&mut options, path, Links::Follow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_write_allows_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("askuser");
        let rules = File { file: folder.join("allowed.json"), folder: "/a".into() };
        rules.insert("Bash", "ls").unwrap();
        let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for (path, private) in [(&rules.file, 0o600), (&folder, 0o700)] {
            assert!(rules.contains("Bash", "ls"));
            set_mode(path, private | 0o022);
            assert!(!rules.contains("Bash", "ls") && rules.insert("Bash", "rm").is_err(), "{}", path.display());
            set_mode(path, private);
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_lock_and_its_folder_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let state = tempfile::tempdir().unwrap();
        let rules = File { file: state.path().join("askuser/allowed.json"), folder: "/a".into() };
        rules.insert("Bash", "ls").unwrap();
        let mode = |name: &str| fs::metadata(state.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode("askuser"), mode("askuser/allowed.lock"), mode("askuser/allowed.json")),
            (0o700, 0o600, 0o600)
        );
    }

    #[test]
    fn what_is_allowed_in_a_folder_is_allowed_there_only_and_for_good() {
        let state = tempfile::tempdir().unwrap();
        let rules = |folder: &str| File { file: state.path().join("allowed.json"), folder: folder.into() };
        rules("/a").insert("Bash", "cargo test").unwrap();
        rules("/a").insert("Edit", "edit").unwrap();
        assert!(rules("/a").contains("Bash", "cargo test") && rules("/a").contains("Edit", "edit"));
        assert!(!rules("/b").contains("Bash", "cargo test"));
        assert!(!rules("/a").contains("Bash", "cargo test; rm -rf ~"));
    }

    #[test]
    fn rules_that_a_person_wrote_for_every_folder_hold_in_each_and_can_be_taken_back() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("allowed.json");
        fs::write(&file, r#"{"*": {"Bash": ["git status"], "Bash prefix": ["cargo test"]}, "/a": {"Bash": ["ls"]}}"#)
            .unwrap();
        let rules = File { file: file.clone(), folder: "/a".into() };
        assert!(rules.contains("Bash", "git status") && rules.contains("Bash prefix", "cargo test"));
        let rule = |tool, rule, scope| AllowedRule::new(tool, rule, scope);
        let expected = [
            rule("Bash", "ls", Scope::Folder),
            rule("Bash", "git status", Scope::Everywhere),
            rule("Bash prefix", "cargo test", Scope::Everywhere),
        ];
        assert_eq!(rules.rules().unwrap(), expected);
        rules.remove(&expected[0]).unwrap();
        rules.remove(&expected[2]).unwrap();
        assert!(!rules.contains("Bash", "ls") && !rules.contains("Bash prefix", "cargo test"));
        let left: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(left, serde_json::json!({"*": {"Bash": ["git status"]}}));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_place_of_the_rules_or_their_lock_hangs_nothing_and_allows_nothing() {
        for name in ["allowed.json", "allowed.lock"] {
            let state = tempfile::tempdir().unwrap();
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mkfifoat(rustix::fs::CWD, state.path().join(name), mode).unwrap();
            let rules = File { file: state.path().join("allowed.json"), folder: "/a".into() };
            assert!(!rules.contains("Bash", "ls"));
            let error = rules.insert("Bash", "ls").unwrap_err().to_string();
            assert!(error.ends_with("is a pipe, must be a regular file"), "{error}");
        }
    }

    #[test]
    fn a_byte_order_mark_takes_nothing_back() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("allowed.json");
        fs::write(&file, "\u{feff}{\"/a\": {\"Bash\": [\"ls\"]}}").unwrap();
        assert!(File { file, folder: "/a".into() }.contains("Bash", "ls"));
    }

    #[test]
    fn a_broken_file_allows_nothing_and_is_not_overwritten() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("allowed.json");
        fs::write(&file, "{").unwrap();
        let rules = File { file: file.clone(), folder: "/a".into() };
        assert!(rules.insert("Bash", "ls").is_err() && !rules.contains("Bash", "ls") && rules.rules().is_err());
        assert_eq!(fs::read_to_string(file).unwrap(), "{");
    }
}
