//! `askuser ask`: questions from a file, through the chain of surfaces, to a result on standard output. What needs more than a
//! prompt is handed over to the other executable: the inbox, and Markdown.

use crate::delegate;
use askuser_cli::ask_here::{self, Input};
use askuser_cli::config::{Settings, Surface};
use askuser_cli::failure::Failure;
use askuser_terminal::ask_without_markdown;
use clap::ArgMatches;

pub(crate) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let words = || std::env::args_os().skip(1);
    if settings.via.contains(&Surface::Inbox) {
        return delegate::become_services(words());
    }
    let input = Input::read(args, settings)?;
    if input.needs_markdown() {
        delegate::keep_terminal_open();
        if let Some(text) = input.stdin() {
            delegate::give_back_stdin(&text)?;
        }
        return delegate::become_services(words());
    }
    ask_here::run(input, settings, ask_without_markdown)
}
