//! Asking on the terminal that controls this process: which way, and with what.

use crate::decode::Input;
use crate::device::{Device, TtyMode, WakeSource};
use crate::environment::{Charset, Environment, Presentation, Window};
use crate::view::{Confirm, Theme};
use crate::{inline_prompt, line_prompt};
use askuser::prompt::PromptOptions;
use askuser::{Answer, AskError, Outcome, Prompt, QuestionSet, Request};
use std::io::PipeReader;
use std::time::Duration;

/// How to ask.
#[derive(Clone, Debug)]
pub struct Options {
    /// Drawn, or line by line.
    pub presentation: Presentation,
    /// How it looks.
    pub theme: Theme,
    /// What stays in the scrollback.
    pub confirm: Confirm,
    /// How it behaves.
    pub settings: PromptOptions,
    /// How long the prompt shows in the colour of success before it closes.
    pub flash: Duration,
    /// Whether the terminal rewraps its lines when it is resized.
    pub reflows: bool,
    /// What the terminal can show.
    pub charset: Charset,
    /// What it has around its screen.
    pub window: Window,
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
            presentation: environment.presentation,
            theme: environment.theme,
            confirm: Confirm::default(),
            settings: PromptOptions::default(),
            flash: Duration::from_millis(80),
            reflows: environment.reflows,
            charset: environment.charset,
            window: environment.window,
            known: Vec::new(),
        }
    }
}

/// Asks on the terminal that controls this process, whatever its standard streams are. Blocks until there is an outcome;
/// without a terminal that is `unavailable`, at once.
pub fn ask(set: &QuestionSet, options: &Options) -> Result<Outcome, AskError> {
    run(&Request::new(set.clone()), options, None)
}

/// Asks until there is an outcome, or until the pipe ends.
pub(crate) fn run(request: &Request, options: &Options, withdrawal: Option<PipeReader>) -> Result<Outcome, AskError> {
    let unavailable = |what: &str, error| Ok(Outcome::unavailable(format!("{what}: {error}"), options.known.clone()));
    let mut device = match Device::open(tty_mode(options.presentation)) {
        Ok(device) => device,
        Err(error) => return unavailable("cannot open the terminal", error),
    };
    if let Err(error) = device.start() {
        return unavailable("cannot take over the terminal", error);
    }
    if let Some(withdrawal) = withdrawal {
        device.watch(Some(WakeSource::Withdrawal(withdrawal)));
    }
    let (context, type_ahead) = (request.context.as_deref(), &mut Vec::new());
    let result = ask_on(&mut device, request, context, Keyboard::Free, options.presentation, options, type_ahead);
    // What came of asking stands, whatever becomes of the terminal.
    let _ = device.stop();
    result
}

/// What the keyboard was used for right before a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyboard {
    /// Nothing that we know of.
    Free,
    /// Talking to us; another question was over so long ago.
    InUse(Option<Duration>),
}

/// Asks on a device that is in use, and leaves it so. What was typed before the prompt can have been seen, by somebody who
/// was typing anyway, comes back in `type_ahead`.
pub(crate) fn ask_on(
    device: &mut Device,
    request: &Request,
    context: Option<&str>,
    keyboard: Keyboard,
    presentation: Presentation,
    options: &Options,
    type_ahead: &mut Vec<Input>,
) -> Result<Outcome, AskError> {
    let settings = match presentation {
        Presentation::Screen => options.settings,
        // A line takes an Enter of its own, which is guard enough.
        Presentation::Line => PromptOptions { arm: Duration::ZERO, ..options.settings },
    };
    let prompt = Prompt::new(request.set.clone(), settings);
    let prompt = prompt.asked_by(request.origin.as_deref()).prefilled(&options.known);
    let prompt = match keyboard {
        Keyboard::Free => prompt,
        Keyboard::InUse(since) => prompt.among_keys(since),
    };
    match presentation {
        Presentation::Screen => inline_prompt::ask(prompt, context, options, device, type_ahead),
        Presentation::Line => line_prompt::ask(prompt, context, options, device),
    }
}

/// What is read from the terminal.
pub(crate) fn tty_mode(presentation: Presentation) -> TtyMode {
    match presentation {
        Presentation::Screen => TtyMode::Raw,
        Presentation::Line => TtyMode::Canonical,
    }
}

/// Whether this process has a terminal to ask on; the error says why not.
pub fn has_terminal() -> std::io::Result<()> {
    Device::open(TtyMode::Raw).map(drop)
}

pub(crate) fn surface(what: &'static str) -> impl Fn(std::io::Error) -> AskError {
    move |source| AskError::Surface { what, source }
}
