//! The conversation in a terminal.

use askuser::Asker;
use askuser_agent::Agent;
use askuser_cli::config::Settings;
use askuser_cli::failure::Failure;
use std::sync::Arc;

/// The terminal, before there is an agent to talk to.
pub(crate) struct Surface;

impl Surface {
    pub(crate) fn open(_settings: &Settings) -> Result<Surface, Failure> {
        Err(Failure::new("the conversation is not here yet").hint("use -p"))
    }

    pub(crate) fn asker(&self) -> Arc<dyn Asker> {
        Arc::new(askuser_terminal::TerminalAsker::new(askuser_terminal::Options::detect()))
    }
}

pub(crate) fn run(
    _agent: Agent,
    _surface: Surface,
    _opening: Option<String>,
    _settings: &Settings,
) -> Result<u8, Failure> {
    Ok(0)
}
