//! Processes that are killed at random, several of them concurrently.

use crate::support::Place;
use crate::worker::command;
use askuser::store::Store;
use askuser_conformance::{Place as _, kills};
use std::sync::Arc;
use std::time::Duration;

/// Returns the time for which processes are killed. `ASKUSER_KILL_SECONDS` sets it for long runs.
fn kill_time() -> Duration {
    let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    let seconds = variable("ASKUSER_KILL_SECONDS").and_then(|seconds| seconds.parse().ok());
    // CI runs this longer than a developer's machine.
    Duration::from_secs(seconds.unwrap_or(if variable("CI").is_some() { 60 } else { 10 }))
}

#[test]
#[allow(clippy::print_stdout, reason = "counts of a long run are of interest")]
fn nothing_acknowledged_is_lost_when_askers_answerers_and_watchers_are_killed_at_random() {
    let place = Place::new();
    drop(place.store());
    let reopen = || Arc::new(place.sqlite()) as Arc<dyn Store>;
    println!("{}", kills::nothing_acknowledged_is_lost(kill_time(), |job| command(job, &place.path()), reopen));
    assert!(place.damage().is_empty());
}
