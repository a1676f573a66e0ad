//! The server's log. It is never written to standard output, which the client reads.
//!
//! Without `--log` no log is written. Up to `info` it contains names, numbers and kinds of endings, but no questions or
//! answers. From `debug` on, the protocol's crate logs complete messages.

use crate::failure::{Failure, OrFail};
use askuser_agent::regular_file;
use clap::ArgMatches;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The crates that log at any level.
const OURS: [&str; 2] = ["askuser_mcp", "askuser_serve"];
/// The crate whose log messages quote questions and answers.
const PROTOCOL: &str = "rmcp";

/// Starts the log if the arguments ask for one.
pub(in crate::commands) fn start(args: &ArgMatches) -> Result<(), Failure> {
    let file = args.get_one::<PathBuf>("log-file");
    let level = args.get_one::<String>("log").and_then(|level| level.parse().ok());
    let Some(level) = level.or(file.map(|_| LevelFilter::INFO)) else { return Ok(()) };
    let writer = match file {
        Some(path) => BoxMakeWriter::new(Mutex::new(open(path)?)),
        None => BoxMakeWriter::new(io::stderr),
    };
    let ours = Targets::new().with_targets(OURS.map(|target| (target, level)));
    let targets = if level >= LevelFilter::DEBUG { ours.with_target(PROTOCOL, level) } else { ours };
    let lines = fmt::layer().with_writer(writer).with_ansi(false);
    let listening = tracing_subscriber::registry().with(lines).with(targets).try_init();
    listening.or_fail("cannot write a log")
}

/// Opens the log file so that only this user can read it. From `debug` on, the log contains answers.
fn open(path: &Path) -> Result<File, Failure> {
    let opened = regular_file::private().append(true).create(true).open(path);
    opened.or_fail(format!("cannot write {}", path.display()))
}
