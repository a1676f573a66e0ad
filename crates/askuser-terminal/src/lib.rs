//! Shows a question to a person in a terminal.
//!
//! ```text
//! ask ──▶ screen: view ─▶ cells ─▶ paint ─▶ bytes ─▶ device      (the prompt, drawn inline)
//!    └──▶ line:   the same machine, spoken one line at a time     (screen readers, dumb terminals)
//! ```
//!
//! [`ask`] owns the terminal for the length of one question set and gives it back as it was. [`PromptWidget`] draws the
//! same prompt inside a program that owns the terminal itself. Nothing here writes to stdout.

mod asker;
#[doc(hidden)]
pub mod bench;
#[cfg(any(not(unix), feature = "crossterm"))]
mod convert;
mod decode;
mod device;
mod editor;
mod environment;
#[cfg(test)]
mod fixtures;
mod line;
mod paint;
mod screen;
mod view;

pub use asker::TerminalAsker;
#[cfg(any(not(unix), feature = "crossterm"))]
pub use convert::from_crossterm;
pub use decode::{Decoder, Input};
pub use environment::{Environment, Manner};
pub use line::Dialogue;
pub use view::{Background, Confirm, Depth, Mood, PromptWidget, Role, Signs, Theme};

use askuser::prompt::Settings;
use askuser::{Answer, AskError, Outcome, QuestionSet};
use device::{Device, Keys};
use std::time::Duration;

/// How to ask.
#[derive(Clone, Debug)]
pub struct Options {
    /// Drawn, or line by line.
    pub manner: Manner,
    /// How it looks.
    pub theme: Theme,
    /// What stays in the scrollback.
    pub confirm: Confirm,
    /// How it behaves.
    pub settings: Settings,
    /// How long the prompt shows in the colour of success before it closes.
    pub flash: Duration,
    /// Whether the terminal rewraps its lines when it is resized.
    pub reflows: bool,
    /// Answers that are known already.
    pub known: Vec<Answer>,
}

impl Options {
    /// What suits the terminal this process runs in, as far as its environment tells.
    pub fn detect() -> Options {
        Options::from(Environment::read(|name| std::env::var(name).ok()))
    }
}

impl From<Environment> for Options {
    fn from(environment: Environment) -> Options {
        Options {
            manner: environment.manner,
            theme: environment.theme,
            confirm: Confirm::default(),
            settings: Settings::default(),
            flash: Duration::from_millis(80),
            reflows: environment.reflows,
            known: Vec::new(),
        }
    }
}

/// Asks on the terminal that controls this process, whatever its standard streams are. Blocks until there is an outcome;
/// without a terminal that is `unavailable`, at once.
pub fn ask(set: &QuestionSet, options: &Options) -> Result<Outcome, AskError> {
    let keys = match options.manner {
        Manner::Screen => Keys::Each,
        Manner::Line => Keys::Lines,
    };
    match (Device::open(keys), options.manner) {
        (Ok(device), Manner::Screen) => screen::ask(set, options, device),
        (Ok(device), Manner::Line) => line::ask(set, options, device),
        (Err(error), _) => {
            Ok(Outcome::unavailable(format!("cannot open the terminal: {error}"), options.known.clone()))
        }
    }
}

/// Whether this process has a terminal to ask on; the error says why not.
pub fn has_terminal() -> std::io::Result<()> {
    Device::open(Keys::Each).map(drop)
}

fn surface(what: &'static str) -> impl Fn(std::io::Error) -> AskError {
    move |source| AskError::Surface { what, source }
}
