//! Processes that other tests start and kill. Each runs this test binary, with a job from its environment.

use askuser_conformance::kills;
use askuser_serve::{HttpStore, Patience};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Returns the command of a process that does a job with the store at an address.
pub(crate) fn command(job: &str, address: &str, token: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["worker::works", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("JOB", job)
        .env("ADDRESS", address)
        .env("TOKEN", token)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

#[test]
#[ignore = "a process that other tests start"]
fn works() {
    let variable = |name| std::env::var(name).expect("other tests say what to do");
    let patience = Patience::default();
    let store = HttpStore::open(&variable("ADDRESS"), &variable("TOKEN"), patience).unwrap();
    let job = variable("JOB");
    assert!(kills::work(Arc::new(store), &job), "no job {job}");
}
