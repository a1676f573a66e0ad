//! The `askuser` command.

#[macro_use]
mod settings;
mod args;
mod commands;
mod config;
mod environment;
mod failure;
mod json;
mod notifier;
mod ownership;
mod result;
mod signals;
mod source;
mod state_folder;
mod store;
mod surfaces;
mod truncate;
mod usage;
mod wrapped;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(commands::run(std::env::args_os().skip(1)).unwrap_or_else(|failure| failure.tell()))
}
