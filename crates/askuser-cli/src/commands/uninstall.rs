//! `askuser uninstall`: undoes every `askuser init`, in the user's files and in those of projects. Then it names the
//! files that are kept.

use super::init::{self, clients::Home};
use crate::config::{Settings, user_folder};
use crate::failure::{Failure, notice};
use crate::state_folder::state_folder;
use clap::ArgMatches;
use std::path::{Path, PathBuf};

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let code = init::undo_everywhere(args, settings)?;
    if !args.get_flag("print") {
        say_what_is_kept(&init::home()?, &state_folder()?);
    }
    Ok(code)
}

/// Prints the folders that `init` did not create and the person may want to keep.
fn say_what_is_kept(home: &Home<'_>, state: &Path) {
    let caches = std::env::var_os("XDG_CACHE_HOME").map_or_else(|| home.folder.join(".cache"), PathBuf::from);
    let kept = [
        ("sessions, questions and answers", Some(state.to_owned())),
        ("settings", user_folder(|name| std::env::var(name).ok())),
        ("caches of the agent's commands", Some(caches.join("askuser"))),
    ];
    let kept = kept.into_iter().filter_map(|(what, folder)| Some((what, folder.filter(|folder| folder.exists())?)));
    let (folders, what): (Vec<String>, Vec<String>) =
        kept.map(|(what, folder)| (quoted(&folder), format!("{what} ({})", home.shown(&folder)))).unzip();
    let (delete, and) = if cfg!(windows) { ("Remove-Item -Recurse", ", ") } else { ("rm -r", " ") };
    if !folders.is_empty() {
        notice(&format!("kept: {}; to delete them: {delete} {}", what.join(", "), folders.join(and)));
    }
    if let Ok(program) = std::env::current_exe() {
        notice(&format!("the program itself is {}", quoted(&program)));
    }
}

/// Quotes a path for the shell of this system.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    if path.chars().all(|c| c.is_alphanumeric() || c == std::path::MAIN_SEPARATOR || ":._-".contains(c)) {
        path
    } else {
        format!("'{}'", path.replace('\'', if cfg!(windows) { "''" } else { r"'\''" }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_quotes_and_variables_in_its_name_can_be_pasted() {
        assert_eq!(quoted(Path::new("ada_1.x-y")), "ada_1.x-y");
        let own = if cfg!(windows) { "'it''s $HOME'" } else { r"'it'\''s $HOME'" };
        assert_eq!(quoted(Path::new("it's $HOME")), own);
    }
}
