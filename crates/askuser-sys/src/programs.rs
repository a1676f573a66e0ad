//! Finds the programs that askuser starts.
//!
//! A program comes from a folder of `PATH` that no sandboxed command could have written. Otherwise such a command could
//! plant a `git` that askuser starts next. The search skips these folders and all folders inside them:
//! - the current folder, and the repository around it;
//! - each folder that an agent of this user has ever let its commands write: see [`distrust`] and [`record_in`].
//!
//! The home folder and the folders above it are never skipped, because the sandbox refuses to open them.

use crate::folders::{Identity, identity};
use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The folders that commands of this process can write.
static WRITABLE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// The file that also lists the folders of earlier processes.
static RECORD: OnceLock<PathBuf> = OnceLock::new();

/// The folders that are searched if `PATH` is not set.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// Prepares to start a program. The program looks up its own programs in the same folders.
///
/// # Errors
/// Returns [`io::ErrorKind::NotFound`] if the program is in none of these folders.
pub fn command(name: &str) -> io::Result<Command> {
    let missing =
        || io::Error::new(io::ErrorKind::NotFound, format!("{name} is in no folder of PATH that can be trusted"));
    let mut command = Command::new(find(name).ok_or_else(missing)?);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::arg0(&mut command, name);
    if let Ok(path) = env::join_paths(Search::now().folders()) {
        command.env("PATH", path);
    }
    Ok(command)
}

/// Returns the real path of a program; `None` if no trusted folder contains it.
pub fn find(name: &str) -> Option<PathBuf> {
    find_all(name).into_iter().next()
}

/// Returns the real paths of all programs of a name, in the order of `PATH`.
pub fn find_all(name: &str) -> Vec<PathBuf> {
    Search::now().find_all(name)
}

/// Excludes these folders from all later searches, because commands can write them.
pub fn distrust<'a>(folders: impl IntoIterator<Item = &'a Path>) {
    writable().extend(folders.into_iter().map(Path::to_owned));
}

/// Whether no command could have written this file or folder, by the same rule as for programs.
pub fn is_trusted(path: &Path) -> bool {
    let real = path.ancestors().find_map(|above| above.canonicalize().ok());
    real.is_some_and(|real| Search::now().trusts(&real))
}

/// Sets the file that lists the folders of all processes of this user. Commands must not be able to write it.
pub fn record_in(file: PathBuf) {
    let _ = RECORD.set(file);
}

/// Adds the distrusted folders of this process to the file that [`record_in`] named.
///
/// # Errors
/// If the file cannot be written, or the name of a folder is not UTF-8.
pub fn record() -> io::Result<()> {
    let Some(file) = RECORD.get() else { return Ok(()) };
    let known = recorded();
    let mut new = String::new();
    for folder in writable().iter().filter(|folder| !known.contains(folder)) {
        new.push_str(folder.to_str().ok_or(io::ErrorKind::InvalidFilename)?);
        new.push('\0');
    }
    if new.is_empty() {
        return Ok(());
    }
    OpenOptions::new().append(true).create(true).open(file)?.write_all(new.as_bytes())
}

/// Returns the folders in the record.
fn recorded() -> Vec<PathBuf> {
    let text = RECORD.get().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    text.split_terminator('\0').map(PathBuf::from).collect()
}

fn writable() -> MutexGuard<'static, Vec<PathBuf>> {
    WRITABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A search for programs: the folders to search, and the folders to skip.
struct Search {
    path: OsString,
    skipped: BTreeSet<Identity>,
}

impl Search {
    fn now() -> Search {
        let mut skipped = recorded();
        skipped.extend(writable().iter().cloned());
        if let Ok(current) = env::current_dir() {
            skipped.extend(current.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned));
            skipped.push(current);
        }
        let path = env::var_os("PATH").unwrap_or_else(|| USUAL.into());
        Search::new(path, &skipped, env::var_os("HOME").map(PathBuf::from).as_deref())
    }

    fn new(path: OsString, skipped: &[PathBuf], home: Option<&Path>) -> Search {
        let home = home.and_then(|home| home.canonicalize().ok()).unwrap_or_else(|| "/".into());
        let kept: Vec<Identity> = home.ancestors().filter_map(identity).collect();
        let skipped = skipped.iter().filter_map(|folder| identity(folder)).filter(|folder| !kept.contains(folder));
        Search { path, skipped: skipped.collect() }
    }

    fn trusts(&self, real: &Path) -> bool {
        !real.ancestors().filter_map(identity).any(|folder| self.skipped.contains(&folder))
    }

    /// Returns the trusted folders without links in their paths, because a command could point a link elsewhere.
    fn folders(&self) -> Vec<PathBuf> {
        let folders = env::split_paths(&self.path).filter(|folder| folder.is_absolute());
        folders.filter_map(|folder| real(&folder)).filter(|folder| self.trusts(folder)).collect()
    }

    fn find_all(&self, name: &str) -> Vec<PathBuf> {
        let file = format!("{name}{}", env::consts::EXE_SUFFIX);
        let files = self.folders().into_iter().filter_map(|folder| real(&folder.join(&file)));
        files.filter(|file| is_executable(file) && self.trusts(file)).collect()
    }
}

/// Returns the path without links; `None` if it does not exist. On Windows the path stays as it is, because many
/// programs do not understand the canonical form.
fn real(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    Some(if cfg!(windows) { path.to_owned() } else { real })
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file()
}

// Windows lets only an administrator create links.
#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Creates folders with a program `tool` in each.
    fn folders(names: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap();
        for name in names {
            fs::create_dir_all(root.join(name)).unwrap();
            let program = root.join(name).join("tool");
            fs::write(&program, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        (outer, root)
    }

    fn found(root: &Path, path: &[&str], skipped: &[&str], home: &str) -> Vec<PathBuf> {
        let path = env::join_paths(path.iter().map(|name| root.join(name))).unwrap();
        let skipped: Vec<PathBuf> = skipped.iter().map(|name| root.join(name)).collect();
        let found = Search::new(path, &skipped, Some(&root.join(home))).find_all("tool");
        found.iter().map(|file| file.strip_prefix(root).unwrap().to_owned()).collect()
    }

    #[test]
    fn a_program_in_a_folder_that_commands_can_write_is_skipped() {
        let (_outer, root) = folders(&["home/project/.venv/bin", "home/bin", "system"]);
        let path = ["home/project/.venv/bin", "home/bin", "system"];
        assert_eq!(
            found(&root, &path, &["home/project"], "home"),
            [Path::new("home/bin/tool"), Path::new("system/tool")]
        );
        assert_eq!(found(&root, &path, &["home/project/.venv", "home/bin"], "home"), [Path::new("system/tool")]);
    }

    #[test]
    fn a_link_into_a_writable_folder_or_through_it_is_skipped() {
        let (_outer, root) = folders(&["home/project/bin", "system"]);
        symlink(root.join("home/project/bin"), root.join("linked")).unwrap();
        fs::create_dir(root.join("bin")).unwrap();
        symlink(root.join("home/project/bin/tool"), root.join("bin/tool")).unwrap();
        symlink(root.join("system"), root.join("home/project/system")).unwrap();
        let path = ["linked", "bin", "home/project/system"];
        // The real path of the last folder is used, which no command can point elsewhere.
        assert_eq!(found(&root, &path, &["home/project"], "home"), [Path::new("system/tool")]);
    }

    #[test]
    fn the_home_is_not_skipped_whole() {
        let (_outer, root) = folders(&["home/bin"]);
        for skipped in ["home", "."] {
            assert_eq!(found(&root, &["home/bin"], &[skipped], "home"), [Path::new("home/bin/tool")], "{skipped}");
        }
    }

    #[test]
    fn a_relative_folder_of_path_is_skipped() {
        let (_outer, root) = folders(&["system"]);
        let search = |path: &str| Search::new(path.into(), &[], None).find_all("tool");
        assert_eq!(search(&format!("system:.:{}", root.join("system").display())), [root.join("system/tool")]);
    }

    #[test]
    fn a_later_process_skips_what_an_earlier_one_let_commands_write() {
        let (outer, root) = folders(&["project"]);
        record_in(outer.path().join("record"));
        distrust([root.join("project").as_path()]);
        record().unwrap();
        record().unwrap();
        assert_eq!(recorded(), [root.join("project")]);
    }

    #[test]
    fn a_started_program_finds_its_own_programs_in_trusted_folders_alone() {
        let shell = command("sh").unwrap();
        assert!(shell.get_envs().any(|(name, path)| name == "PATH" && path.is_some()));
        let absent = command("no-such-program").unwrap_err();
        assert_eq!(absent.to_string(), "no-such-program is in no folder of PATH that can be trusted");
    }
}
