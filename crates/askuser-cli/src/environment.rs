//! The environment of this process, with the secrets that were removed from it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

static TAKEN_OUT: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// Returns the value of a variable, even if it was removed from the environment.
pub(crate) fn variable(name: &str) -> Option<String> {
    let taken_out = TAKEN_OUT.get().and_then(|variables| variables.get(name).cloned());
    taken_out.or_else(|| std::env::var(name).ok())
}

pub(crate) fn names() -> impl Iterator<Item = String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())
}

/// Sets the variables that this process was started without, so that other processes cannot read them. It is called
/// once, before any variable is read.
#[cfg(target_os = "linux")]
pub(crate) fn know_taken_out(variables: BTreeMap<String, String>) {
    let _ = TAKEN_OUT.set(variables);
}
