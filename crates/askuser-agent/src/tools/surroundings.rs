//! What a plain command would find where it runs. The same words do something else where a link leads out of the folder, or
//! where a repository's own settings name programs: rules by prefix do not hold there.

use super::confined_path::resolve_links;
use super::repository::Repository;
use crate::command_prefix::{self, Prefixes};
use crate::tool::ToolContext;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Programs that run git or read its settings.
const USE_GIT: [&str; 3] = ["git", "gh", "go"];

/// What of git stays inside of the folder, where the repository is larger than that.
const STAY_IN_SUBFOLDER: [&str; 7] = ["status", "grep", "ls-files", "blame", "rev-parse", "describe", "shortlog"];

/// What a command can be let through by where it would run.
pub(crate) fn prefixes(command: &str, context: &ToolContext) -> Prefixes {
    let (Some(words), Ok(cwd)) = (command_prefix::plain_words(command), std::path::absolute(&context.cwd)) else {
        return Prefixes::default();
    };
    let folders = std::iter::once(cwd.clone()).chain(context.allowed.iter().map(|folder| cwd.join(folder)));
    let folders: Vec<PathBuf> = folders.filter_map(|folder| resolve_links(&folder).ok()).collect();
    if !stays_inside(&words, &cwd, &folders) {
        return Prefixes::default();
    }
    // Written from its folder, a path is seen to lead nowhere else.
    let (program, further) = words.split_at(1);
    let further = further.iter().map(|word| below(word, &cwd, &folders).unwrap_or_else(|| word.clone()));
    command_prefix::prefixes_of(&program.iter().cloned().chain(further).collect::<Vec<_>>())
}

/// A path that is absolute or goes up, written from the folder that it is in. An option, or something with a path in it, is none.
fn below(word: &str, cwd: &Path, folders: &[PathBuf]) -> Option<String> {
    let path = Path::new(word);
    let wanders = path.is_absolute() || path.components().any(|part| part == Component::ParentDir);
    if !wanders || word.starts_with(['-', '+']) || word.contains(['=', ':', ',', '@']) {
        return None;
    }
    let real = resolve_links(&cwd.join(path)).ok()?;
    let below = folders.iter().find_map(|folder| real.strip_prefix(folder).ok())?;
    Some(Path::new(".").join(below).display().to_string())
}

fn stays_inside(words: &[String], cwd: &Path, folders: &[PathBuf]) -> bool {
    let (program, further) = (words[0].as_str(), &words[1..]);
    further.iter().all(|word| is_inside(word, cwd, folders))
        && (!USE_GIT.contains(&program) || stays_in_repository(program, further, cwd, folders))
}

/// Whether a word, if it is a path or has one in it, leads to something in these folders.
fn is_inside(word: &str, cwd: &Path, folders: &[PathBuf]) -> bool {
    let mut parts = std::iter::once(word).chain(word.split(['=', ':', ',', '@']));
    parts.all(|part| match resolve_links(&cwd.join(part)) {
        Ok(real) => folders.iter().any(|folder| real.starts_with(folder)),
        // Nothing can be there.
        Err(error) => matches!(error.kind(), ErrorKind::NotADirectory | ErrorKind::InvalidFilename),
    })
}

fn stays_in_repository(program: &str, words: &[String], cwd: &Path, folders: &[PathBuf]) -> bool {
    // `:(top)`, `:/` and `:!` are about the whole repository.
    let is_about_all = |word: &String| word.starts_with(':');
    let is_git = program == "git";
    match Repository::of(cwd) {
        Repository::Unknown => false,
        Repository::None => true,
        Repository::Plain { root } if !is_git || folders.iter().any(|folder| root.starts_with(folder)) => {
            !(is_git && words.iter().any(is_about_all))
        }
        // `HEAD:x` is the repository's `x`, not the folder's.
        Repository::Plain { .. } => {
            words.first().is_some_and(|command| STAY_IN_SUBFOLDER.contains(&command.as_str()))
                && words.iter().all(|word| word.starts_with('-') || !word.contains(':'))
        }
    }
}

#[cfg(all(test, unix))]
#[path = "surroundings_tests.rs"]
mod tests;
