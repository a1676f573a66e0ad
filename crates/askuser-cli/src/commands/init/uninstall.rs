//! `askuser uninstall`: undoes every `askuser init`, in the user's files and in those of projects, and says what is kept.

use super::clients::{CLIENTS, Client};
use super::undo::Changes;
use super::{NOTHING_TO_REMOVE, Setup, Target};
use crate::args;
use crate::config::user_folder;
use crate::failure::{Failure, notice};
use crate::state_folder::state_folder;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(in crate::commands) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (args, settings) = super::super::parse(args::uninstall(), words)?;
    let setup = Setup::new(&args, &settings, true)?;
    let state = state_folder()?;
    let projects: Vec<(&Client, PathBuf)> = Changes::read(&state)?.files().filter_map(project_of).collect();
    let of_the_user = setup.there();
    if of_the_user.is_empty() && projects.is_empty() {
        notice("askuser", NOTHING_TO_REMOVE);
    }
    let (mut code, _) = setup.change_all(of_the_user)?;
    for (client, root) in projects {
        let setup = Setup { project: Some(root), ..Setup::new(&args, &settings, true)? };
        code = code.max(setup.change_all(vec![Target::Client(client)])?.0);
    }
    if !args.get_flag("print") {
        say_what_is_kept(&setup, &state);
    }
    Ok(code)
}

/// The client whose file in a project this is, and the project.
fn project_of(file: &Path) -> Option<(&'static Client, PathBuf)> {
    let of = |client: &'static Client| {
        let root = file.ancestors().skip(1).find(|root| client.project_file(root).as_deref() == Some(file))?;
        Some((client, root.to_owned()))
    };
    file.exists().then(|| CLIENTS.iter().find_map(of))?
}

/// What no `init` made: it is the person's, who may want it again.
fn say_what_is_kept(setup: &Setup<'_>, state: &Path) {
    let caches = std::env::var_os("XDG_CACHE_HOME").map_or_else(|| setup.home.folder.join(".cache"), PathBuf::from);
    let kept = [
        ("sessions, questions and answers", Some(state.to_owned())),
        ("settings", user_folder(|name| std::env::var(name).ok())),
        ("caches of the agent's commands", Some(caches.join("askuser"))),
    ];
    let kept = kept.into_iter().filter_map(|(what, folder)| Some((what, folder.filter(|folder| folder.exists())?)));
    let (folders, what): (Vec<PathBuf>, Vec<String>) =
        kept.map(|(what, folder)| (folder.clone(), format!("{what} ({})", setup.home.shown(&folder)))).unzip();
    let delete = if cfg!(windows) { "Remove-Item -Recurse" } else { "rm -r" };
    let quoted = |path: &Path| match path.to_str().filter(|path| !path.contains(|c: char| " '\"$`".contains(c))) {
        Some(plain) => plain.to_owned(),
        None => format!("{:?}", path.display().to_string()),
    };
    if !folders.is_empty() {
        let words: Vec<String> = folders.iter().map(|folder| quoted(folder)).collect();
        notice("askuser", &format!("kept: {}; to delete them: {delete} {}", what.join(", "), words.join(" ")));
    }
    if let Ok(program) = std::env::current_exe() {
        notice("askuser", &format!("the program itself is {}", quoted(&program)));
    }
}
