//! Who answers, and how they are asked, as the settings say.

use crate::config::Settings;
use crate::failure::Failure;
use crate::source;
use askuser::policy::{Answers, Policy};
use askuser::{Answer, prompt};
use askuser_terminal::{Options, Presentation};
use std::path::Path;

/// The policy that the settings describe.
pub fn policy(settings: &Settings) -> Result<Policy, Failure> {
    let answers = settings.answers.as_deref().map(answers).transpose()?;
    Ok(Policy { answers, headless: settings.headless })
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

/// The answers file does not fit the questions.
pub fn misfit(settings: &Settings, violations: &askuser::Violations) -> Failure {
    unfit(&settings.answers.as_deref().unwrap_or(Path::new("answers")).display().to_string(), violations)
}

fn unfit(path: &str, violations: &askuser::Violations) -> Failure {
    let lines: String = violations.iter().map(|violation| format!("\n  {violation}")).collect();
    Failure::new(format!("{path} does not fit, nothing was asked{lines}"))
}

/// What the settings and the environment make of the terminal.
pub fn options(settings: &Settings, known: Vec<Answer>) -> Options {
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
    options.flash = settings.flash;
    options.settings = prompt::PromptOptions { arm: settings.arm, timeout: settings.timeout };
    options.known = known;
    options
}
