//! The `askuser-services` executable: every command but the prompt itself. `askuser` becomes it for those (`delegate.rs`), so a
//! user only ever calls `askuser COMMAND`.

mod agent;
mod check;
mod claude_hook;
mod commands;
mod docs;
mod doctor;
mod hook;
mod inbox;
mod mcp;
mod setup;
mod signals;
#[cfg(unix)]
mod supervise;
mod truncate;

use askuser_cli::failure::{self, Failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    failure::report("askuser", run())
}

fn run() -> Result<u8, Failure> {
    let mut words = std::env::args_os().skip(1).peekable();
    match words.peek().and_then(|word| word.to_str()) {
        Some("agent") => agent::run(words),
        Some(agent::keys::WITH_KEYS) => {
            agent::keys::take_up(words.nth(1))?;
            agent::run_with_keys(words)
        }
        Some("ask") => inbox::ask::run(words),
        Some("inbox") => inbox::list::run(words),
        Some("hook") => {
            // It takes no arguments but for its help.
            let done = if words.len() > 1 { commands::run() } else { claude_hook::run(words) };
            Ok(done.unwrap_or_else(|failure| {
                // To Claude Code a failing hook is a no; ours is none.
                failure::notice("askuser", &failure.message);
                failure::exit::ANSWERED
            }))
        }
        Some("init") => setup::run(words),
        Some("wait") => inbox::wait::run(words),
        Some("answer") => inbox::answer::run(words),
        Some("withdraw") => inbox::withdraw::run(words),
        Some("log") => inbox::log::run(words),
        Some("mcp") => mcp::run(words),
        #[cfg(unix)]
        Some("supervise") => supervise::run(words.skip(1)),
        _ => commands::run(),
    }
}
