//! The live list.

use askuser_cli::config::Settings;
use askuser_cli::failure::Failure;
use askuser_inbox::Inbox;

pub(crate) fn run(_: &Inbox, _: &Settings, _: &tokio::runtime::Runtime) -> Result<u8, Failure> {
    Err(Failure::new("later"))
}
