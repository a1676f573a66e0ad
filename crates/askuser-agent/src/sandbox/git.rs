//! Protects the files from which git takes instructions. If a command could write such a file, the next git outside the
//! sandbox would run the command's programs.
//!
//! Three kinds of paths become read-only in the folders that commands can write. These are all of `.git`, the targets
//! of its links, and the paths in git's configuration.

use super::Mount;
use crate::regular_file::{self, Links};
use crate::tools::resolve_links_with;
use askuser_sys::programs;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// The folders of a repository that contain no instructions and may be huge.
const DATA: &[&str] = &["objects", "refs", "logs"];

/// The treatment of a path that does not exist and that a command could create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Refused,
    File,
    Folder,
}

/// Returns the mounts that make git's files read-only in all folders that commands can write.
///
/// # Errors
/// Returns the reason why a path cannot be protected from commands.
pub(super) fn read_only(roots: &[PathBuf], home: Option<&Path>) -> Result<Vec<Mount>, String> {
    let tops: BTreeSet<&Path> = roots.iter().filter_map(|root| top(root)).collect();
    let mut paths = BTreeMap::new();
    for top in tops {
        let repository = repository(&top.join(".git"));
        let linked = repository.iter().flat_map(|folder| links(folder));
        let own = repository.iter().cloned().chain(linked).map(|path| (path, Missing::Refused));
        for (path, missing) in own.chain(configured(top, home)) {
            paths.insert(settled(&path, roots, &repository)?, (path, missing));
        }
    }
    let mut mounts = Vec::new();
    for (path, (named, missing)) in &paths {
        let root = roots.iter().filter(|root| path.starts_with(root)).max();
        let Some(root) = root else { continue };
        let above: Vec<&Path> = path.ancestors().skip(1).take_while(|above| above.starts_with(root)).collect();
        if above.iter().any(|above| paths.contains_key(*above)) {
            continue;
        }
        // A command could rename a parent folder together with the mount. So the parent folders become mounts, too.
        for above in above.into_iter().rev().filter(|above| above.is_dir() && *above != root) {
            if !mounts.contains(&Mount::write(above)) {
                mounts.push(Mount::write(above));
            }
        }
        let absent = path.ancestors().take_while(|above| !above.exists()).last();
        mounts.push(match (absent, missing) {
            (None, _) if path == root && !path.ends_with(".git") => {
                return Err(format!("git takes instructions from {}, which commands can write", path.display()));
            }
            (None, _) => Mount::read(path),
            (Some(_), Missing::Refused) => {
                return Err(format!("{} leads to what is not there: a command could make it", named.display()));
            }
            (Some(absent), Missing::File) if absent == path => Mount::EmptyFile(path.clone()),
            (Some(absent), _) => Mount::EmptyFolder(absent.to_owned()),
        });
    }
    Ok(mounts)
}

/// Returns the working tree that contains a folder; `None` if there is none.
fn top(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|top| top.join(".git").symlink_metadata().is_ok())
}

/// Resolves the links in a path.
///
/// # Errors
/// If a link lies in a folder that commands can write, because a command could change the link.
fn settled(path: &Path, roots: &[PathBuf], repository: &[PathBuf]) -> Result<PathBuf, String> {
    let check = |link: &Path| {
        let is_in = |folders: &[PathBuf]| folders.iter().any(|folder| link.starts_with(folder) && link != folder);
        if is_in(roots) && !is_in(repository) {
            return Err(io::Error::other(format!("{} is a link, which a command could change", link.display())));
        }
        Ok(())
    };
    resolve_links_with(path, check).map_err(|error| format!("git takes instructions from {}: {error}", path.display()))
}

/// Returns `.git`. If `.git` is a file, returns also the folders that it points to, as in a linked working tree or a
/// submodule.
fn repository(git: &Path) -> Vec<PathBuf> {
    let mut found = vec![git.to_owned()];
    let leads_to = |file: &Path, start: &str| {
        let folder = file.parent()?.join(read(file)?.strip_prefix(start)?);
        folder.canonicalize().ok()
    };
    if let Some(folder) = leads_to(git, "gitdir: ") {
        found.extend(leads_to(&folder.join("commondir"), ""));
        found.push(folder);
    }
    found
}

/// Reads a short file without its final line end; `None` if it cannot be read.
fn read(file: &Path) -> Option<String> {
    let bytes = regular_file::read(file, Links::Refuse, 10_000).ok()?;
    String::from_utf8(bytes).ok().map(|text| text.trim_end().to_owned())
}

/// Returns the links in a repository, such as a link to a hook among the project's files.
fn links(repository: &Path) -> Vec<PathBuf> {
    let holds_data = |name: &std::ffi::OsStr| DATA.iter().any(|data| name == *data);
    let entries = walkdir::WalkDir::new(repository).follow_root_links(false).into_iter();
    let entries = entries.filter_entry(|entry| !entry.file_type().is_dir() || !holds_data(entry.file_name()));
    entries.flatten().filter(|entry| entry.path_is_symlink()).map(|entry| entry.into_path()).collect()
}

/// Returns the files of git's configuration and every file that its values name. Each path comes with its treatment if
/// it is missing.
fn configured(top: &Path, home: Option<&Path>) -> Vec<(PathBuf, Missing)> {
    let listed = programs::command("git")
        .and_then(|mut git| git.args(["config", "--list", "--null", "--show-origin"]).current_dir(top).output());
    let listed = listed.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned()).unwrap_or_default();
    let mut fields = listed.split('\0');
    let mut found = Vec::new();
    while let (Some(origin), Some(entry)) = (fields.next(), fields.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
        let origin = origin.strip_prefix("file:").map(|file| top.join(file));
        let base = origin.as_deref().filter(|_| key.starts_with("include")).and_then(Path::parent).unwrap_or(top);
        let path = |name: &str| match (name.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(name),
        };
        if key.starts_with("include") {
            found.push((path(value), Missing::File));
        } else if key.ends_with("hookspath") || key.ends_with("templatedir") {
            found.push((path(value), Missing::Folder));
        } else {
            let words = value.split(|c: char| c.is_whitespace() || "'\"`!;|&()<>=$".contains(c));
            let files = words.filter(|word| !word.is_empty()).map(path).filter(|path| path.is_file());
            found.extend(files.map(|file| (file, Missing::Refused)));
        }
        found.extend(origin.map(|origin| (origin, Missing::Refused)));
    }
    found
}

/// Returns the repository that contains the working folder, or the main repository of a linked working tree; `None` if
/// there is neither.
///
/// The main repository must name the folder in a file that no command could have written. The folder's own file could
/// name any repository.
pub(super) fn around(roots: &[PathBuf], home: Option<&Path>) -> Option<PathBuf> {
    let folder = roots.first()?;
    let root = top(folder)?;
    if root != folder {
        return (!home.is_some_and(|home| home.starts_with(root))).then(|| root.to_owned());
    }
    let file = folder.join(".git");
    let git = repository(&file).pop()?;
    if roots.iter().any(|folder| git.starts_with(folder)) || Path::new(&read(&git.join("gitdir"))?) != file {
        return None;
    }
    git.parent().filter(|folder| folder.ends_with("worktrees"))?.parent().map(Path::to_owned)
}

/// Returns the user's name, address and default branch from the git settings in the home.
pub(super) fn identity() -> Vec<(String, String)> {
    let wanted = "^(user\\.(name|email)|init\\.defaultbranch)$";
    let said = programs::command("git")
        .and_then(|mut git| git.args(["config", "--global", "--get-regexp", wanted]).current_dir("/").output());
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default();
    said.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
