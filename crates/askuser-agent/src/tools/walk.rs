//! Walks the files below a folder in path order. Symbolic links and ignored files are skipped. So are hidden files that
//! the pattern does not name.

use super::ignore_rules::IgnoreRules;
use globset::{GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use std::ops::ControlFlow;
use std::path::Path;
use tokio_util::sync::CancellationToken;
use walkdir::{DirEntry, WalkDir};

/// A glob for paths relative to the searched folder.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    matcher: GlobMatcher,
    /// The hidden names in the pattern, such as `.github`.
    hidden: GlobSet,
}

impl Pattern {
    /// Parses a glob. A glob without a slash matches file names at any depth.
    ///
    /// # Errors
    /// Returns the reason why the glob is invalid.
    pub(crate) fn parse(text: &str) -> Result<Pattern, String> {
        let text = text.strip_prefix("./").unwrap_or(text);
        if text.trim().is_empty() {
            return Err("blank, must be a glob such as **/*.rs".into());
        }
        if Path::new(text).is_absolute() {
            return Err("absolute, must be relative; path says where to search".into());
        }
        if text.starts_with('!') {
            return Err("starts with !, must not be negated".into());
        }
        if text.split('/').any(|part| part == "..") {
            return Err("has .., must stay below path".into());
        }
        let anchored = if text.contains('/') { text.to_owned() } else { format!("**/{text}") };
        let compile = |text: &str| GlobBuilder::new(text).literal_separator(true).build();
        let glob = compile(&anchored).map_err(|error| format!("not a glob ({}), must be one", error.kind()))?;
        let mut hidden = GlobSetBuilder::new();
        for part in text.split('/').filter(|part| part.starts_with('.') || part.starts_with("{.")) {
            // A part of an alternative with a slash is not a glob by itself, so it is skipped.
            if let Ok(name) = compile(part) {
                hidden.add(name);
            }
        }
        Ok(Pattern { matcher: glob.compile_matcher(), hidden: hidden.build().unwrap_or_default() })
    }
}

/// Visits each file below `folder`, until `visit` breaks or the token is cancelled. If `folder` is a file, only that
/// file is visited.
///
/// `visit` gets the path relative to `folder`, and the entry.
pub(crate) fn files(
    folder: &Path,
    pattern: Option<&Pattern>,
    cancel: &CancellationToken,
    mut visit: impl FnMut(&Path, &DirEntry) -> ControlFlow<()>,
) {
    // Links are resolved, so that the rules come from the real parent folders.
    let folder = &folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut rules = IgnoreRules::above(folder);
    let mut entries = WalkDir::new(folder).sort_by_file_name().into_iter();
    while let Some(entry) = entries.next() {
        if cancel.is_cancelled() {
            return;
        }
        // Unreadable entries are skipped, as git does.
        let Ok(entry) = entry else { continue };
        let is_folder = entry.file_type().is_dir();
        if entry.depth() > 0 && (is_left_out(&entry, pattern) || rules.ignores(entry.path(), is_folder)) {
            if is_folder {
                entries.skip_current_dir();
            }
            continue;
        }
        if is_folder {
            rules.enter(entry.path());
            continue;
        }
        let below = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        let matched = if entry.depth() == 0 { Path::new(entry.file_name()) } else { below };
        if pattern.is_none_or(|pattern| pattern.matcher.is_match(matched)) && visit(below, &entry).is_break() {
            return;
        }
    }
}

/// Whether an entry is hidden and the pattern does not name it.
fn is_left_out(entry: &DirEntry, pattern: Option<&Pattern>) -> bool {
    let name = entry.file_name();
    name.as_encoded_bytes().starts_with(b".") && !pattern.is_some_and(|pattern| pattern.hidden.is_match(name))
}
