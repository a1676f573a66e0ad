//! Resolves a path from a model and checks that it is inside an allowed folder.
//!
//! Symbolic links are resolved here, component by component, so that the checked path is also the path that is used. A
//! [`ConfinedPath`] is then opened from its root downwards without following links (see [`Folder`]). `~` and variables
//! are not expanded, because only shells give them a meaning.

use super::folder::{Folder, Opened};
use super::output_file;
use crate::message::ToolCall;
use crate::shared_file::{Update, UpdateError};
use crate::tool::{ToolContext, ToolResult};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

/// The maximum number of symbolic links in a path, as in the Linux kernel.
const MAX_LINKS: usize = 40;

/// A path inside an allowed folder. The path need not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConfinedPath {
    pub(crate) root: PathBuf,
    /// The path relative to `root`, without links and dots. It is empty for the root itself.
    pub(crate) relative: PathBuf,
    pub(crate) root_kind: RootKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RootKind {
    /// The root is the working folder.
    Cwd,
    /// The root is a folder that the user added.
    Added,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingFolders {
    Fail,
    Create,
}

impl ConfinedPath {
    pub(crate) fn resolve(call: &ToolCall, given: &str, context: &ToolContext) -> Result<ConfinedPath, ToolResult> {
        if given.is_empty() {
            return Err(call.invalid_input("path", "empty", "must name a file or folder"));
        }
        if given == "~" || given.starts_with("~/") {
            return Err(call.invalid_input(
                "path",
                "starts with ~",
                "must be absolute, or relative to the working folder",
            ));
        }
        let fail = |error: io::Error| path_error(given, "cannot be resolved", &error);
        let cwd = std::path::absolute(&context.cwd).map_err(fail)?;
        let real = resolve_links(&cwd.join(given)).map_err(fail)?;
        let roots = std::iter::once((RootKind::Cwd, cwd.clone()))
            .chain(context.allowed.iter().map(|folder| (RootKind::Added, cwd.join(folder))));
        for (root_kind, root) in roots {
            // A folder that cannot be resolved contains no path.
            let Ok(root) = resolve_links(&root) else { continue };
            if let Ok(relative) = real.strip_prefix(&root) {
                let relative = relative.to_owned();
                return Ok(ConfinedPath { root, relative, root_kind });
            }
        }
        Err(outside_error(given, &cwd.join(given), &real, context))
    }

    /// Resolves a path for a read-only tool. Such a tool may also read the stored outputs of this session.
    pub(crate) fn resolve_to_read(
        call: &ToolCall,
        given: &str,
        context: &ToolContext,
    ) -> Result<ConfinedPath, ToolResult> {
        ConfinedPath::resolve(call, given, context).or_else(|refused| {
            let outputs = output_file::folder(&context.shared.transcript).ok_or_else(|| refused.clone())?;
            let context = ToolContext { allowed: vec![outputs], ..context.clone() };
            ConfinedPath::resolve(call, given, &context).map_err(|_| refused)
        })
    }

    pub(crate) fn absolute(&self) -> PathBuf {
        if self.relative.as_os_str().is_empty() { self.root.clone() } else { self.root.join(&self.relative) }
    }

    /// Returns the path as users and models see it: relative if it is inside the working folder.
    pub(crate) fn display(&self) -> String {
        match self.root_kind {
            RootKind::Cwd if self.relative.as_os_str().is_empty() => ".".into(),
            RootKind::Cwd => self.relative.display().to_string(),
            RootKind::Added => self.absolute().display().to_string(),
        }
    }

    /// Returns a path below this one. An empty `below` returns the path itself.
    pub(crate) fn join(&self, below: &Path) -> ConfinedPath {
        let relative = if below.as_os_str().is_empty() { self.relative.clone() } else { self.relative.join(below) };
        ConfinedPath { relative, ..self.clone() }
    }

    /// Returns a path below this one as users and models see it.
    pub(crate) fn display_below(&self, below: &Path) -> String {
        self.join(below).display()
    }

    /// Opens the parent folder. Returns it with the name of the path in it; the name is `None` for the root itself.
    pub(crate) fn open_parent(&self, missing: MissingFolders) -> io::Result<(Folder, Option<OsString>)> {
        let mut folder = Folder::open_root(&self.root)?;
        let mut names: Vec<&OsStr> = self.relative.iter().collect();
        let last = names.pop();
        for name in names {
            folder = match missing {
                MissingFolders::Fail => folder.open_folder(name)?,
                MissingFolders::Create => folder.create_folder(name)?,
            };
        }
        Ok((folder, last.map(OsStr::to_owned)))
    }

    /// Changes the file atomically, unless another program has changed it meanwhile. Missing folders of a new file are
    /// created.
    pub(crate) fn update(&self, update: Update<'_>) -> Result<(), UpdateError> {
        let missing = match update {
            Update::Create(_) => MissingFolders::Create,
            Update::Replace(..) | Update::Remove(_) => MissingFolders::Fail,
        };
        match self.open_parent(missing)? {
            (folder, Some(name)) => folder.update(&name, update),
            (_, None) => Err(io::Error::from(io::ErrorKind::IsADirectory).into()),
        }
    }

    /// Creates a path in a working folder.
    #[cfg(test)]
    pub(crate) fn inside(cwd: &Path, relative: &str) -> ConfinedPath {
        ConfinedPath { root: cwd.to_owned(), relative: relative.into(), root_kind: RootKind::Cwd }
    }

    pub(crate) fn open(&self) -> io::Result<Opened> {
        match self.open_parent(MissingFolders::Fail) {
            Ok((folder, Some(name))) => folder.open(&name),
            Ok((folder, None)) => Ok(Opened::Folder(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Opened::Missing),
            Err(error) => Err(error),
        }
    }
}

pub(crate) fn path_error(shown: &str, what: &str, error: &io::Error) -> ToolResult {
    ToolResult::error(format!("{shown}: {what}: {error}"))
}

fn outside_error(given: &str, asked: &Path, real: &Path, context: &ToolContext) -> ToolResult {
    let leads = if asked == real { String::new() } else { format!(" leads to {} and", real.display()) };
    let mut folders = vec![context.cwd.display().to_string()];
    folders.extend(context.allowed.iter().map(|folder| folder.display().to_string()));
    ToolResult::error(format!(
        "{given}{leads} is outside of the folder this agent may use ({}). Nothing was done. The user can allow more \
         folders with --add-dir.",
        folders.join(", ")
    ))
}

/// Returns `path` without symbolic links and dots, in the spelling of the disk. Missing components stay as given.
pub(crate) fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    resolve_links_with(path, |_| Ok(()))
}

/// Resolves a path as [`resolve_links`] does.
///
/// # Errors
/// If the path cannot be resolved, or a link on the way fails the check.
pub(crate) fn resolve_links_with(path: &Path, check: impl Fn(&Path) -> io::Result<()>) -> io::Result<PathBuf> {
    let mut real = PathBuf::new();
    let mut remaining: VecDeque<OsString> = components(path);
    let mut links = 0;
    let mut exists = true;
    while let Some(part) = remaining.pop_front() {
        match Path::new(&part).components().next() {
            None | Some(Component::CurDir) => {}
            Some(Component::Prefix(_) | Component::RootDir) => real.push(part),
            Some(Component::ParentDir) if !exists => {
                return Err(io::Error::other("the folder before .. does not exist"));
            }
            Some(Component::ParentDir) => _ = real.pop(),
            Some(Component::Normal(name)) => {
                let next = real.join(name);
                match next.symlink_metadata() {
                    Ok(metadata) if metadata.is_symlink() => {
                        check(&next)?;
                        links += 1;
                        if links > MAX_LINKS {
                            return Err(io::Error::other("too many symbolic links"));
                        }
                        let mut target = components(&next.read_link()?);
                        target.append(&mut remaining);
                        remaining = target;
                        continue;
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::NotFound => exists = false,
                    Err(error) => return Err(error),
                }
                real = next;
            }
        }
    }
    Ok(as_on_disk(real))
}

/// Returns a path in the spelling of the disk. These systems accept several spellings of one file, such as `SRC` and
/// `src`.
#[cfg(any(windows, target_vendor = "apple"))]
fn as_on_disk(path: PathBuf) -> PathBuf {
    let spelled = |existing: &Path| {
        let mut spelled = dunce::canonicalize(existing).ok()?;
        spelled.extend(path.strip_prefix(existing).ok()?);
        Some(spelled)
    };
    path.ancestors().find_map(spelled).unwrap_or_else(|| path.clone())
}

#[cfg(not(any(windows, target_vendor = "apple")))]
fn as_on_disk(path: PathBuf) -> PathBuf {
    path
}

fn components(path: &Path) -> VecDeque<OsString> {
    path.components().map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(all(test, windows))]
mod spelling_tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_path_is_the_one_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("Src")).unwrap();
        let spelled = |path: &str| resolve_links(&folder.path().join(path)).unwrap();
        assert_eq!(spelled("SRC"), spelled("Src"));
        assert_eq!(spelled("sRC\\New.rs"), spelled("Src").join("New.rs"));
    }
}

// The paths in these tests have the format of Unix.
#[cfg(all(test, unix))]
#[path = "confined_path_tests.rs"]
mod tests;
