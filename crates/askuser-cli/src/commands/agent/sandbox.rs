//! The sandbox according to the user's settings.

use super::session;
use crate::config::Settings;
use crate::failure::Failure;
use crate::store;
use askuser_agent::{Sandbox, SandboxSettings, check_kept};
use std::path::{Path, PathBuf};

/// Returns askuser's own files: sessions, permissions, settings, the store and tokens. They are hidden from sandboxed
/// commands, and every edit of them needs a permission.
pub(crate) fn protected(settings: &Settings) -> Vec<PathBuf> {
    session::protected().into_iter().chain(store::files(settings)).collect()
}

/// Rejects a folder for commands if it contains askuser's own files.
pub(crate) fn check_given(settings: &Settings, folder: &Path, added: &[PathBuf]) -> Result<(), Failure> {
    let wall = of(settings, folder);
    let kept = protected(settings);
    for (name, given) in [("--add-dir", added), ("sandbox_read", &wall.read), ("sandbox_write", &wall.write)] {
        let checked = given.iter().try_for_each(|folder| check_kept(folder, &kept));
        checked.map_err(|why| Failure::new(format!("{name}: {why}")))?;
    }
    Ok(())
}

/// Creates the sandbox of this folder.
///
/// # Errors
/// Returns the reason why there is no sandbox.
pub(crate) fn here(settings: &Settings, folder: &Path, added: &[PathBuf]) -> Result<Sandbox, String> {
    Sandbox::new(of(settings, folder), folder, added)
}

fn of(settings: &Settings, folder: &Path) -> SandboxSettings {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = variable("HOME");
    let below_home = |name: &String| match (name.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => folder.join(name),
    };
    let paths = |names: &[String]| names.iter().map(below_home).filter_map(|path| path.canonicalize().ok()).collect();
    let caches = variable("XDG_CACHE_HOME").or_else(|| home.as_ref().map(|home| home.join(".cache")));
    SandboxSettings {
        read: paths(&settings.sandbox_read),
        write: paths(&settings.sandbox_write),
        kept: protected(settings),
        caches: caches.map(|caches| caches.join("askuser/sandbox")),
    }
}
