//! The one chain of surfaces: what answers first, who is asked then, and how. `ask`, `agent` and `doctor` all use it.
//!
//! Order: the policy (answers file, headless rule), then a person. `--via` leaves out what it does not name.

use crate::config::{Settings, Surface};
use crate::failure::Failure;
use crate::source;
use askuser::policy::{Answers, Headless, Policy};
use askuser::{Asker, Decision, PolicyFirst, Request};
use askuser_terminal::{Options, Presentation};
use std::path::Path;
use std::sync::Arc;

/// Who may be asked here, in order.
pub struct Surfaces {
    policy: Policy,
    person: bool,
    answers_file: String,
}

impl Surfaces {
    /// The chain that the settings describe.
    ///
    /// # Errors
    /// Where the answers file cannot be read.
    pub fn of(settings: &Settings) -> Result<Surfaces, Failure> {
        let policy = match settings.via.contains(&Surface::Policy) {
            true => {
                Policy { answers: settings.answers.as_deref().map(answers).transpose()?, headless: settings.headless }
            }
            false => Policy::default(),
        };
        let answers_file = settings.answers.as_deref().unwrap_or(Path::new("answers")).display().to_string();
        Ok(Surfaces { policy, person: settings.via.contains(&Surface::Terminal), answers_file })
    }

    /// What the policy knows of a request, for whoever asks at a terminal themselves.
    ///
    /// # Errors
    /// Where the answers file does not fit the questions: nobody is asked then.
    pub fn decide(&self, request: &Request) -> Result<Decision, Failure> {
        let decision = self.policy.apply(request.set()).map_err(|violations| unfit(&self.answers_file, &violations))?;
        match decision {
            // Without a terminal in the chain the policy is all there is.
            Decision::Ask(_) if !self.person => Ok(self.policy.decide(request)),
            decision => Ok(decision),
        }
    }

    /// The chain around a person who is asked by `person`; `None` if nobody ever answers: then the tool is not offered.
    pub fn chain(self, person: Option<Arc<dyn Asker>>) -> Option<Arc<dyn Asker>> {
        let person = person.filter(|_| self.person);
        let knows_something = match (&self.policy.answers, self.policy.headless) {
            (None, None) => return person,
            (None, Some(Headless::Fail)) => false,
            _ => true,
        };
        match (person, self.policy.headless) {
            (_, Some(Headless::Fail)) if !knows_something => None,
            (Some(person), _) => Some(Arc::new(PolicyFirst { policy: self.policy, person })),
            (None, _) => Some(Arc::new(self.policy)),
        }
    }

    /// Whether a person may be asked at a terminal.
    pub fn asks_at_the_terminal(&self) -> bool {
        self.person && self.policy.headless.is_none()
    }

    /// Whether answers written beforehand are used.
    pub fn has_answers(&self) -> bool {
        self.policy.answers.is_some()
    }

    /// The rule that is used instead of asking, if there is one.
    pub fn headless(&self) -> Option<Headless> {
        self.policy.headless
    }
}

fn answers(path: &Path) -> Result<Answers, Failure> {
    let shown = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|error| Failure::new(format!("cannot open {shown}: {error}")))?;
    let text = source::read(&shown, file)?;
    let value = if path.extension().is_some_and(|extension| extension == "toml") {
        source::from_toml(&text).map_err(|error| Failure::new(format!("{shown}: {error}")))?
    } else {
        serde_json::from_str(&text).map_err(|error| Failure::new(format!("{shown}: not JSON ({error})")))?
    };
    Answers::parse(&value).map_err(|violations| unfit(&shown, &violations))
}

fn unfit(path: &str, violations: &askuser::Violations) -> Failure {
    let lines: String = violations.iter().map(|violation| format!("\n  {violation}")).collect();
    Failure::new(format!("{path} does not fit, nothing was asked{lines}"))
}

/// What the settings and the environment make of the terminal.
pub fn terminal_options(settings: &Settings) -> Options {
    let mut options = Options::detect();
    if settings.plain {
        options.presentation = Presentation::Line;
    }
    if let Some(background) = settings.background {
        options.theme.background = background;
    }
    if let Some(depth) = settings.depth {
        options.theme.depth = depth;
    }
    options.confirm = settings.confirm;
    options.flash = settings.success_flash;
    options.key_delay = settings.key_delay;
    options
}
