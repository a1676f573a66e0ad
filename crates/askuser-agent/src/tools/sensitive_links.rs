//! Links that make a plain file need permission: with `CLAUDE.md -> docs/notes.md`, a change of `docs/notes.md`
//! steers an agent; with `.git/hooks/pre-commit -> ../../check.sh`, a change of `check.sh` runs with the next commit.
//!
//! Looked at are the entries of the allowed folder, and what is in its hidden folders, not deeper than `.git/hooks/pre-commit`.

use super::confined_path::{ConfinedPath, resolve_links};
use super::sensitive_names::is_sensitive_name;
use std::path::{Path, PathBuf};

/// How far down hidden folders are looked at.
const DEPTH: usize = 2;
/// How many entries are looked at. Where there are more, it is not known what leads where.
const MAX_ENTRIES: usize = 50_000;

/// Whether such a link leads to this file, or to a folder it is in.
pub(crate) fn lead_to(path: &ConfinedPath) -> bool {
    let file = path.absolute();
    let mut folders: Vec<(PathBuf, usize)> = vec![(path.root.clone(), 0)];
    let mut left = MAX_ENTRIES;
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(fewer) = left.checked_sub(1) else { return true };
            left = fewer;
            let name = entry.file_name().to_string_lossy().to_lowercase();
            let Ok(kind) = entry.file_type() else { continue };
            let is_hidden = depth > 0 || name.starts_with('.');
            if kind.is_symlink() && (is_hidden || is_sensitive_name(&name)) && leads_to(&entry.path(), &file) {
                return true;
            }
            if kind.is_dir() && is_hidden && depth < DEPTH {
                folders.push((entry.path(), depth + 1));
            }
        }
    }
    false
}

fn leads_to(link: &Path, file: &Path) -> bool {
    // One that leads nowhere, in a circle, is not followed.
    resolve_links(link).is_ok_and(|target| file.starts_with(target))
}
