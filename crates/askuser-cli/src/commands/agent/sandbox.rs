//! The sandbox as the user's settings have it.

use super::session;
use crate::config::Settings;
use crate::store;
use askuser_agent::{Sandbox, SandboxSettings};
use std::path::{Path, PathBuf};

/// What decides about sessions, permissions and settings: commands do not find it, and every change of it is asked for.
pub(crate) fn protected(settings: &Settings) -> Vec<PathBuf> {
    session::protected().into_iter().chain(store::files(settings)).collect()
}

/// The sandbox of this folder, or why there is none.
pub(crate) fn here(settings: &Settings, folder: &Path, added: &[PathBuf]) -> Result<Sandbox, String> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = variable("HOME");
    let below_home = |name: &String| match (name.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => folder.join(name),
    };
    let paths = |names: &[String]| names.iter().map(below_home).filter_map(|path| path.canonicalize().ok()).collect();
    let caches = variable("XDG_CACHE_HOME").or_else(|| home.as_ref().map(|home| home.join(".cache")));
    let wall = SandboxSettings {
        read: paths(&settings.sandbox_read),
        write: paths(&settings.sandbox_write),
        hidden: protected(settings),
        caches: caches.map(|caches| caches.join("askuser/sandbox")),
    };
    Sandbox::new(wall, folder, added)
}
