//! Processes that other tests start and kill. Each is this test binary with a job in its environment.

use crate::support::options;
use askuser_conformance::kills;
use askuser_postgres::PostgresStore;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Returns a command that starts a process with a job for a store.
pub(crate) fn command(job: &str, address: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["worker::works", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("JOB", job)
        .env("STORE", address)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

#[test]
#[ignore = "a process that other tests start"]
fn works() {
    let variable = |name| std::env::var(name).expect("other tests say what to do");
    let store = PostgresStore::open(&variable("STORE"), options()).unwrap();
    assert!(kills::work(Arc::new(store), &variable("JOB")), "no such job");
}
