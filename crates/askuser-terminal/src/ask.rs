//! Asks on the controlling terminal, with the inline prompt or in line mode.

use crate::close_signal::CloseSignal;
use crate::decode::TerminalInput;
use crate::device::{Device, WakeSource};
use crate::environment::Presentation;
use crate::kept_question::{DraftStore, KeptQuestion};
use crate::view::{Background, ColorDepth, Confirm, Theme};
use crate::{finish, inline_prompt, line_prompt};
use askuser::prompt::Trigger;
use askuser::{AskError, Delivery, Outcome, Prompt, QuestionSet, Request, RequestKey, Resolution, Status, Via};
use std::sync::Arc;
use std::time::Duration;

/// The options of a prompt: the terminal's abilities, the look and the behaviour.
///
/// ```
/// use askuser_terminal::{Confirm, Options, Presentation};
/// use std::time::Duration;
///
/// let mut options = Options::detect();
/// options.presentation = Presentation::Line;
/// options.confirm = Confirm::Boxed;
/// options.key_delay = Duration::from_millis(500);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The presentation: drawn on the screen, or line by line.
    pub presentation: Presentation,
    /// The colours and symbols.
    pub theme: Theme,
    /// The confirmation that stays once the prompt has closed.
    pub confirm: Confirm,
    /// The time after the first frame in which the prompt ignores keys that answer, cancel or open a text field.
    pub key_delay: Duration,
    /// The time for which the prompt shows the colour of success after each answer and before it closes.
    pub flash: Duration,
    /// Whether the terminal rewraps its lines when it is resized.
    pub reflows: bool,
    /// Whether the terminal has a window, with a title, focus events and notifications. A console or a serial line
    /// might print such sequences as text.
    pub has_window: bool,
    /// The reason why the prompt is on the screen.
    pub trigger: Trigger,
    /// The store of the questions asked here, as this person uses it. The store is notified when the person stops the
    /// clock, and keeps unsent text. `None` if the questions are not stored.
    pub kept_in: Option<Arc<dyn DraftStore>>,
    /// Whether this process ends with its prompt.
    ///
    /// The terminal then stays locked until the process ends, so a waiting prompt does not draw over later output.
    /// After the answer is delivered, no signal ends the process.
    pub ends_process: bool,
}

impl Options {
    /// Returns whether to query the terminal's background after the first frame. The query needs an unknown background,
    /// a theme with colours, and a terminal with a window.
    pub fn asks_background(&self) -> bool {
        let Theme { background, depth, .. } = self.theme;
        background == Background::Unknown && depth != ColorDepth::None && self.has_window
    }
}

/// Asks on the controlling terminal, regardless of the standard streams. Blocks until there is an outcome. Returns
/// `unavailable` at once if there is no terminal.
///
/// ```no_run
/// use askuser::{QuestionSet, Rules};
/// use askuser_terminal::{Options, ask};
///
/// let json = r#"{"questions":[{"question":"Which database?","header":"Database","multiSelect":false,
///   "options":[{"label":"PostgreSQL","description":"a server"},{"label":"SQLite","description":"a file"}]}]}"#;
/// let set = QuestionSet::from_json(json, &Rules::default())?;
/// let resolution = ask(&set, &Options::detect())?;
/// for answer in resolution.outcome().answers() {
///     assert_eq!(answer.header, "Database");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the person interrupts, a signal ends the prompt, or the terminal fails.
pub fn ask(set: &QuestionSet, options: &Options) -> Result<Resolution, AskError> {
    let request = Request::new(RequestKey::new("terminal", "ask"), set.clone());
    ask_request(&request, options)
}

/// Asks a request on the controlling terminal, with its origin, its context, its known answers and its deadline. Blocks
/// until there is an outcome.
///
/// # Errors
/// If the person interrupts, a signal ends the prompt, or the terminal fails.
pub fn ask_request(request: &Request, options: &Options) -> Result<Resolution, AskError> {
    run(request, options, None, &mut |delivery| drop(delivery.stored()))
}

/// The callback that receives the answer of a prompt. The prompt shows success once the delivery is marked as stored.
pub type Deliver<'a> = &'a mut dyn FnMut(Delivery);

/// Asks until there is a resolution, or until the prompt is closed from elsewhere.
pub(crate) fn run(
    request: &Request,
    options: &Options,
    close: Option<CloseSignal>,
    deliver: Deliver<'_>,
) -> Result<Resolution, AskError> {
    // No person was asked. The known answers are from the file and must not be reported as a person's.
    let unavailable = |what: &str, error: std::io::Error| {
        let reason = format!("{what}: {error}");
        if request.known().is_empty() {
            return Ok(Resolution::unavailable(reason));
        }
        let outcome = Outcome::unavailable(reason).with_answers(request.set(), request.known().to_vec());
        outcome.map(|outcome| outcome.through(Via::AnswersFile)).map_err(AskError::WrongAnswer)
    };
    let mut device = match Device::open(options.presentation) {
        Ok(device) => device,
        Err(error) => return unavailable("cannot open the terminal", error),
    };
    if let Err(error) = device.start() {
        return unavailable("cannot take over the terminal", error);
    }
    if let Some(close) = close {
        // The prompt may have waited for another prompt, and been closed meanwhile.
        if close.is_closed() {
            let _ = device.stop();
            return finish::result_of(close.why());
        }
        device.watch(Some(WakeSource::Close(close)));
    }
    let result = ask_on(&mut device, request, Keyboard::Free, options, &mut Vec::new(), deliver);
    if options.ends_process {
        device.lock_until_exit();
        if result.as_ref().is_ok_and(|answer| !matches!(answer.outcome().status(), Status::Unavailable { .. })) {
            device.outlive_signals();
        }
    }
    // The outcome counts even if restoring the terminal fails.
    let _ = device.stop();
    result
}

/// The use of the keyboard right before a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyboard {
    /// The keyboard was not used, or its use is unknown.
    Free,
    /// The person typed into this program. The duration is the time since the last question was closed; `None` without
    /// an earlier question.
    InUse(Option<Duration>),
}

/// Asks on a started device, and leaves the device started. If the keyboard was in use, input typed before the person
/// can have seen the prompt is appended to `type_ahead`.
pub(crate) fn ask_on(
    device: &mut Device,
    request: &Request,
    keyboard: Keyboard,
    options: &Options,
    type_ahead: &mut Vec<TerminalInput>,
    deliver: Deliver<'_>,
) -> Result<Resolution, AskError> {
    let key_delay = match options.presentation {
        Presentation::Screen => options.key_delay,
        // Enter sends a line, which already guards against stray keys.
        Presentation::Line => Duration::ZERO,
    };
    let prompt = Prompt::of(request, key_delay).on(options.trigger).flashing_success(options.flash);
    // A user who opens the prompt elsewhere cannot know its folder.
    let prompt = match options.trigger {
        Trigger::Inline => prompt,
        _ => {
            let home = std::env::var("HOME").ok().filter(|home| home.len() > 1).map(|home| format!(" in {home}/"));
            let short = |from: String| home.iter().fold(from, |from, home| from.replacen(home.as_str(), " in ~/", 1));
            prompt.from_whom(request.asked_from().map(short))
        }
    };
    let prompt = match keyboard {
        Keyboard::Free => prompt,
        Keyboard::InUse(since) => prompt.among_keys(since),
    };
    let context = request.context();
    let (kept, prompt) = KeptQuestion::open(request, options.kept_in.as_deref(), prompt);
    match options.presentation {
        Presentation::Screen => inline_prompt::ask(prompt, context, options, device, type_ahead, kept, deliver),
        Presentation::Line => line_prompt::ask(prompt, context, options, device, kept, deliver),
    }
}

/// Checks whether this process has a controlling terminal.
///
/// # Errors
/// If the process has no controlling terminal, or the terminal cannot be opened.
pub fn has_terminal() -> std::io::Result<()> {
    Device::open(Presentation::Screen).map(drop)
}

pub(crate) fn surface(what: &'static str) -> impl Fn(std::io::Error) -> AskError {
    move |source| AskError::surface(what, source)
}
