//! `askuser doctor`: how a question would be asked here, and why.

use super::init;
use crate::args;
use crate::config::{self, Layers, Origin, Settings};
use crate::environment;
use crate::failure::{Failure, exit};
use crate::result::write;
use crate::state_folder::{check_state_folder, state_folder};
use crate::store;
use crate::surfaces::{Surfaces, terminal_options};
use askuser::policy::Headless;
use askuser::sanitize;
use askuser_inbox::Location;
use askuser_terminal::{Background, ColorDepth, Presentation};
use std::ffi::OsString;

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let layers = Layers::detect(&super::arguments(args::doctor(), words)?);
    let mut report = Report::default();
    // Broken settings are a reason to run doctor: report them, and what would hold without them.
    let read = layers.and_then(|layers| Ok((layers.settings().and_then(readable)?, layers)));
    let (settings, layers) = match read {
        Ok(read) => read,
        Err(failure) => {
            report.line("settings", &format!("broken, every question fails: {}", failure.message));
            report.line("", "the lines below ignore the settings");
            report.broken = true;
            (Layers::defaults().settings()?, Layers::defaults())
        }
    };
    let environment = |name: &str| std::env::var(name).ok();
    let terminal = askuser_terminal::has_terminal();
    let options = terminal_options(&settings);

    match &settings.answers {
        Some(path) => {
            report.line("answers file", &format!("yes, {}: questions it covers are answered from it", path.display()))
        }
        None => report.line("answers file", "no"),
    }
    let surfaces = Surfaces::of(&settings)?;
    let at_the_terminal = surfaces.asks_at_the_terminal() && terminal.is_ok();
    let (surface, code) = match surfaces.headless() {
        Some(Headless::Fail) => ("no person: the policy is to fail", exit::UNAVAILABLE),
        Some(Headless::Recommended) => ("policy: recommended options; no person is asked", exit::ANSWERED),
        None if at_the_terminal && options.presentation == Presentation::Line => {
            ("terminal, line by line", exit::ANSWERED)
        }
        None if at_the_terminal && surfaces.uses_the_inbox() => {
            ("terminal and inbox; the first answer counts", exit::ANSWERED)
        }
        None if at_the_terminal => ("terminal", exit::ANSWERED),
        None if surfaces.uses_the_inbox() => ("inbox: it waits there for its person", exit::ANSWERED),
        None if surfaces.has_answers() => ("the answers file alone", exit::ANSWERED),
        None if !surfaces.asks_at_the_terminal() => ("no person: via leaves the terminal out", exit::UNAVAILABLE),
        None => ("no person", exit::UNAVAILABLE),
    };
    let via: Vec<&str> = settings.via.iter().map(|surface| surface.name()).collect();
    report.line("via", &via.join(", then "));
    report.line(
        "policy",
        surfaces.headless().map_or("none", |headless| match headless {
            Headless::Fail => "fail",
            Headless::Recommended => "recommended",
        }),
    );
    match &terminal {
        Ok(()) => report.line("terminal", "yes, /dev/tty opens"),
        Err(error) => report.line("terminal", &format!("no, {error}")),
    }
    report.line("", &format!("TERM={}", environment("TERM").unwrap_or_else(|| "(not set)".into())));
    let reasons = Reasons { layers: &layers, environment: &environment };
    report.line("", &reasons.colours(options.theme.depth));
    report.line("", &reasons.background(options.theme.background));
    if options.asks_background() && options.presentation == Presentation::Screen {
        report.line("", "the terminal is asked for its background once the prompt is there");
    }
    report.line("", &reasons.presentation(options.presentation));
    let untrusted = state_folder().and_then(|state| check_state_folder(&state)).err();
    if let Some(failure) = &untrusted {
        report.line("state folder", &format!("not used: {}", failure.message));
        report.line("", failure.hint.as_deref().unwrap_or_default());
    }
    let refused = untrusted.filter(|_| settings.store.is_none());
    let fails = refused.is_some() && surfaces.uses_the_inbox();
    report.broken |= fails;
    let location = refused.map_or_else(|| store::location(&settings), Err);
    match &location {
        Ok(location) if surfaces.uses_the_inbox() => report.line("inbox", &format!("yes, {location}")),
        Ok(location) => report.line("inbox", &format!("no, via does not name it ({location})")),
        Err(failure) => report.line("inbox", &format!("no, {}", failure.message)),
    }
    if let Some(failed) = location.ok().and_then(|location| last_reach_failure(&location)) {
        report.line("", &failed);
    }
    let editor = environment("VISUAL")
        .or_else(|| environment("EDITOR"))
        .unwrap_or_else(|| "vi (neither VISUAL nor EDITOR is set)".into());
    report.line("editor", &editor);
    let file =
        |path: Option<std::path::PathBuf>| path.map_or_else(|| "none".to_owned(), |path| path.display().to_string());
    report.line("user file", &file(config::user_file(environment)));
    report.line("project file", &file(config::project_file_here().0));
    for (variable, meant) in config::misspelt_variables(environment::names()) {
        report.line("variable", &format!("{variable} is unknown and sets nothing; did you mean {meant}?"));
    }
    match init::status::clients() {
        Ok(clients) => clients.iter().for_each(|(client, state)| report.line(client, state)),
        Err(failure) => report.line("clients", &format!("not checked: {}", failure.message)),
    }
    report.line("would ask", if fails { "no person: questions for the inbox fail" } else { surface });
    write(&report.text)?;
    Ok(if report.broken { exit::BAD_INPUT } else { code })
}

/// Why the prompt would look as it would.
struct Reasons<'a> {
    layers: &'a Layers,
    environment: &'a dyn Fn(&str) -> Option<String>,
}

impl Reasons<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }

    /// Where a setting was set, if it was.
    fn set(&self, name: &str) -> Option<String> {
        let (_, value, origin) = self.layers.rows().find(|(setting, ..)| setting.name == name)?;
        let is_choice = *origin != Origin::Default && value != "auto" && value != "false";
        is_choice.then(|| format!("by the setting {name} ({origin})"))
    }

    fn colours(&self, depth: ColorDepth) -> String {
        let because = |name| self.variable(name).map(|value| format!("because {name} is {value}"));
        let term = || because("TERM").unwrap_or_else(|| "because TERM is not set".into());
        let (colours, reason) = match depth {
            ColorDepth::None => ("no colours", because("NO_COLOR").unwrap_or_else(term)),
            ColorDepth::Ansi16 => ("16 colours", "because neither COLORTERM nor TERM says more".into()),
            ColorDepth::Ansi256 => ("256 colours", term()),
            ColorDepth::TrueColor => ("truecolor", because("COLORTERM").unwrap_or_else(term)),
        };
        format!("{colours}, {}", self.set("color").unwrap_or(reason))
    }

    fn background(&self, background: Background) -> String {
        let shown = match background {
            Background::Dark => "dark background",
            Background::Light => "light background",
            Background::Unknown => "unknown background",
            Background::Contrast => "any background",
        };
        let reason = match self.variable("COLORFGBG") {
            Some(value) if background == Background::Unknown => {
                format!("because COLORFGBG is {value}, no colour from 0 to 15")
            }
            Some(value) => format!("because COLORFGBG is {value}"),
            None => "because COLORFGBG is not set".to_owned(),
        };
        format!("{shown}, {}", self.set("theme").unwrap_or(reason))
    }

    fn presentation(&self, presentation: Presentation) -> String {
        let reason = match (self.variable("ACCESSIBLE"), self.variable("TERM")) {
            (Some(value), _) if value != "0" => format!("because ACCESSIBLE is {value}"),
            (_, Some(term)) => format!("because TERM is {term}"),
            (_, None) => "because TERM is not set".into(),
        };
        match presentation {
            Presentation::Screen => "drawn inline".into(),
            Presentation::Line => format!("line by line, {}", self.set("plain").unwrap_or(reason)),
        }
    }
}

/// What went wrong when a person was last called to the inbox. A store that is not there is not made for that.
fn last_reach_failure(location: &Location) -> Option<String> {
    let store = location.exists().then(|| location.open().ok()).flatten()?;
    let person = store::at_the_terminal(&store);
    let failure = pollster::block_on(person.last_failure()).ok()??;
    Some(format!("the last notification failed: {}: {}", failure.what, failure.why))
}

/// An answers file that cannot be read is found here rather than when a question is asked.
fn readable(settings: Settings) -> Result<Settings, Failure> {
    Surfaces::of(&settings).map(|_| settings)
}

#[derive(Default)]
struct Report {
    text: String,
    broken: bool,
}

impl Report {
    fn line(&mut self, name: &str, value: &str) {
        self.text.push_str(&sanitize::line(&format!("{name:<14}{value}")));
        self.text.push('\n');
    }
}
