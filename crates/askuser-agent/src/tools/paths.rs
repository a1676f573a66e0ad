//! Where a path from a model leads, and whether that is inside the folders of the agent.
//!
//! Links are resolved here, name by name, so that what is checked is what is used; afterwards a [`Place`] is opened from
//! its folder downwards without following any link (see [`Folder`]). Deliberately absent: `~` and variables, which
//! belong to shells.

use super::folder::{Folder, Thing};
use super::input::refuse;
use crate::message::ToolCall;
use crate::tool::{ToolContext, ToolResult};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;

/// A path inside one of the agent's folders. It need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The folder of the agent it is in, resolved.
    pub(crate) root: PathBuf,
    /// The way from there, without links and dots; empty for the folder itself.
    pub(crate) inner: PathBuf,
    /// Whether that folder is the one the agent works in, or one that was added.
    pub(crate) home: Home,
}

/// Which of the agent's folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    Here,
    Added,
}

/// What to do about folders on the way that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Fail,
    Create,
}

impl Place {
    /// Where `given` leads.
    pub(crate) fn of(call: &ToolCall, given: &str, context: &ToolContext) -> Result<Place, ToolResult> {
        if given.is_empty() {
            return Err(refuse(call, "path", "empty", "must name a file or folder"));
        }
        if given == "~" || given.starts_with("~/") {
            return Err(refuse(
                call,
                "path",
                "starts with ~",
                "must be spelled out, or relative to the working folder",
            ));
        }
        let fail = |error: io::Error| failure(given, "cannot be resolved", &error);
        let cwd = std::path::absolute(&context.cwd).map_err(fail)?;
        let real = resolve(&cwd.join(given)).map_err(fail)?;
        let roots = std::iter::once((Home::Here, cwd.clone()))
            .chain(context.allowed.iter().map(|folder| (Home::Added, cwd.join(folder))));
        for (home, root) in roots {
            // A folder that cannot be resolved holds nothing.
            let Ok(root) = resolve(&root) else { continue };
            if let Ok(inner) = real.strip_prefix(&root) {
                let inner = inner.to_owned();
                return Ok(Place { root, inner, home });
            }
        }
        Err(outside(given, &cwd.join(given), &real, context))
    }

    /// Where it really is.
    pub(crate) fn real(&self) -> PathBuf {
        if self.inner.as_os_str().is_empty() { self.root.clone() } else { self.root.join(&self.inner) }
    }

    /// As people and models read it: relative in the folder the agent works in.
    pub(crate) fn shown(&self) -> String {
        match self.home {
            Home::Here if self.inner.as_os_str().is_empty() => ".".into(),
            Home::Here => self.inner.display().to_string(),
            Home::Added => self.real().display().to_string(),
        }
    }

    /// A path below it; nothing for the place itself.
    pub(crate) fn join(&self, below: &Path) -> Place {
        let inner = if below.as_os_str().is_empty() { self.inner.clone() } else { self.inner.join(below) };
        Place { inner, ..self.clone() }
    }

    /// The same as people and models read it.
    pub(crate) fn below(&self, below: &Path) -> String {
        self.join(below).shown()
    }

    /// The folder it is in and its name there; no name for the agent's folder itself.
    pub(crate) fn parent(&self, missing: Missing) -> io::Result<(Folder, Option<OsString>)> {
        let mut folder = Folder::open(&self.root)?;
        let mut names: Vec<&OsStr> = self.inner.iter().collect();
        let last = names.pop();
        for name in names {
            folder = match missing {
                Missing::Fail => folder.folder(name)?,
                Missing::Create => folder.folder_made(name)?,
            };
        }
        Ok((folder, last.map(OsStr::to_owned)))
    }

    /// What is there now.
    pub(crate) fn thing(&self) -> io::Result<Thing> {
        match self.parent(Missing::Fail) {
            Ok((folder, Some(name))) => folder.thing(&name),
            Ok((folder, None)) => Ok(Thing::Folder(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Thing::Nothing),
            Err(error) => Err(error),
        }
    }
}

/// An error about a path.
pub(crate) fn failure(shown: &str, what: &str, error: &io::Error) -> ToolResult {
    ToolResult::error(format!("{shown}: {what}: {error}"))
}

fn outside(given: &str, asked: &Path, real: &Path, context: &ToolContext) -> ToolResult {
    let leads = if asked == real { String::new() } else { format!(" leads to {} and", real.display()) };
    let mut folders = vec![context.cwd.display().to_string()];
    folders.extend(context.allowed.iter().map(|folder| folder.display().to_string()));
    ToolResult::error(format!(
        "{given}{leads} is outside of the folder this agent may use ({}). Nothing was done. The user can allow more \
         folders with --add-dir.",
        folders.join(", ")
    ))
}

/// `path` without links and dots. What does not exist is taken as it is written.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut real = PathBuf::new();
    let mut ahead: VecDeque<OsString> = parts(path);
    let mut links = 0;
    let mut exists = true;
    while let Some(part) = ahead.pop_front() {
        match Path::new(&part).components().next() {
            None | Some(Component::CurDir) => {}
            Some(Component::Prefix(_) | Component::RootDir) => real.push(part),
            Some(Component::ParentDir) if !exists => return Err(io::Error::other("a folder before .. does not exist")),
            Some(Component::ParentDir) => _ = real.pop(),
            Some(Component::Normal(name)) => {
                let next = real.join(name);
                match next.symlink_metadata() {
                    Ok(metadata) if metadata.is_symlink() => {
                        links += 1;
                        if links > MOST_LINKS {
                            return Err(io::Error::other("too many links"));
                        }
                        let mut target = parts(&next.read_link()?);
                        target.append(&mut ahead);
                        ahead = target;
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
    Ok(real)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components().map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(all(test, unix))]
#[path = "paths_tests.rs"]
mod tests;
