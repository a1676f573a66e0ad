//! What is searched: the files of a folder in path order, without what version control ignores, without hidden ones
//! unless a pattern names them, and without following links.

use globset::{GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder};
use std::ffi::OsStr;
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// Which files, by their path from the folder that is searched.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    matcher: GlobMatcher,
    /// The hidden names it has, such as `.github`.
    hidden: GlobSet,
}

impl Pattern {
    /// Reads a pattern; one without a slash is matched by names at any depth.
    pub(crate) fn parse(text: &str) -> Result<Pattern, String> {
        let text = text.strip_prefix("./").unwrap_or(text);
        if text.trim().is_empty() {
            return Err("blank, must be a glob such as **/*.rs".into());
        }
        if Path::new(text).is_absolute() {
            return Err("absolute, must be relative; path says where to search".into());
        }
        if text.starts_with('!') {
            return Err("starts with !, must say which files, not which not".into());
        }
        if text.split('/').any(|part| part == "..") {
            return Err("has .., must stay below path".into());
        }
        let wide = if text.contains('/') { text.to_owned() } else { format!("**/{text}") };
        let compile = |text: &str| GlobBuilder::new(text).literal_separator(true).build();
        let glob = compile(&wide).map_err(|error| format!("not a glob ({}), must be one", error.kind()))?;
        let mut hidden = GlobSetBuilder::new();
        for part in text.split('/').filter(|part| part.starts_with('.') || part.starts_with("{.")) {
            // Half of an alternative with a slash in it names nothing by itself.
            if let Ok(name) = compile(part) {
                hidden.add(name);
            }
        }
        Ok(Pattern { matcher: glob.compile_matcher(), hidden: hidden.build().unwrap_or_default() })
    }

    fn names_hidden(&self, name: &OsStr) -> bool {
        self.hidden.is_match(name)
    }
}

/// Calls `found` with each file below `folder` and its path from there, until it says to stop or the token does. A file
/// instead of a folder is found itself.
pub(crate) fn files(
    folder: &Path,
    pattern: Option<&Pattern>,
    stopped: &CancellationToken,
    mut found: impl FnMut(&Path, &DirEntry) -> Next,
) {
    let names = pattern.cloned();
    // Above a repository, or where there is none, somebody else's ignore files may well ignore everything.
    let in_repository = folder.ancestors().any(|folder| folder.join(".git").exists());
    let mut walk = WalkBuilder::new(folder);
    walk.hidden(false)
        .require_git(false)
        .parents(in_repository)
        .follow_links(false)
        .sort_by_file_name(OsStr::cmp)
        .current_dir(folder)
        .filter_entry(move |entry| {
            let name = entry.file_name();
            let is_hidden = entry.depth() > 0 && name.as_encoded_bytes().starts_with(b".");
            !is_hidden || names.as_ref().is_some_and(|names| names.names_hidden(name))
        });
    // What cannot be read is passed over, as version control does.
    for entry in walk.build().filter_map(Result::ok) {
        if stopped.is_cancelled() {
            return;
        }
        if entry.file_type().is_none_or(|kind| kind.is_dir()) {
            continue;
        }
        let below = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        let by_name = if entry.depth() == 0 { Path::new(entry.file_name()) } else { below };
        if pattern.is_none_or(|pattern| pattern.matcher.is_match(by_name)) && found(below, &entry) == Next::Stop {
            return;
        }
    }
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Continue,
    Stop,
}
