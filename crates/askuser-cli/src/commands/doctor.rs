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
use askuser_terminal::{Background, ColorDepth, Options, Presentation};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// What is looked at, in the order of the report.
const CHECKS: [fn(&Here, &mut Report); 11] =
    [answers_file, via, policy, terminal, state, inbox, editor, files, variables, clients, would_ask];

/// What the checks look at.
struct Here {
    settings: Settings,
    layers: Layers,
    surfaces: Surfaces,
    terminal: io::Result<()>,
    options: Options,
    /// Why the state folder is not used, if it is not.
    untrusted: Option<Failure>,
}

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let layers = Layers::detect(&super::arguments(args::doctor(), words)?);
    let mut report = Report::default();
    // Users come here because of broken settings: say so, and what would be without them.
    let read = layers.and_then(|layers| Ok((layers.settings().and_then(readable)?, layers)));
    let (settings, layers) = match read {
        Ok(read) => read,
        Err(failure) => {
            report.line("settings", &format!("broken, every question fails: {}", failure.message));
            report.line("", "what follows is how it would be without them");
            report.code = Some(exit::BAD_INPUT);
            (Layers::defaults().settings()?, Layers::defaults())
        }
    };
    let here = Here {
        surfaces: Surfaces::of(&settings)?,
        terminal: askuser_terminal::has_terminal(),
        options: terminal_options(&settings),
        untrusted: state_folder().and_then(|state| check_state_folder(&state)).err(),
        settings,
        layers,
    };
    CHECKS.iter().for_each(|check| check(&here, &mut report));
    write(&report.text)?;
    Ok(report.code.unwrap_or(exit::ANSWERED))
}

fn answers_file(here: &Here, report: &mut Report) {
    match &here.settings.answers {
        Some(path) => {
            report.line("answers file", &format!("yes, {}: questions it covers are answered from it", path.display()))
        }
        None => report.line("answers file", "no"),
    }
}

fn via(here: &Here, report: &mut Report) {
    let via: Vec<&str> = here.settings.via.iter().map(|surface| surface.name()).collect();
    report.line("via", &via.join(", then "));
}

fn policy(here: &Here, report: &mut Report) {
    let policy = here.surfaces.headless().map_or("none", |headless| match headless {
        Headless::Fail => "fail",
        Headless::Recommended => "recommended",
    });
    report.line("policy", policy);
}

fn terminal(here: &Here, report: &mut Report) {
    match &here.terminal {
        Ok(()) => report.line("terminal", "yes, /dev/tty opens"),
        Err(error) => report.line("terminal", &format!("no, {error}")),
    }
    report.line("", &format!("TERM={}", variable("TERM").unwrap_or_else(|| "(not set)".into())));
    let (reasons, options) = (Reasons { layers: &here.layers, environment: &variable }, &here.options);
    report.line("", &reasons.colours(options.theme.depth));
    report.line("", &reasons.background(options.theme.background));
    if options.asks_background() && options.presentation == Presentation::Screen {
        report.line("", "the terminal is asked for its background once the prompt is there");
    }
    report.line("", &reasons.presentation(options.presentation));
}

fn state(here: &Here, report: &mut Report) {
    if let Some(failure) = &here.untrusted {
        report.line("state folder", &format!("not used: {}", failure.message));
        report.line("", failure.hint.as_deref().unwrap_or_default());
    }
}

impl Here {
    /// Why the inbox cannot be used, if it is in a state folder that is not used.
    fn refused(&self) -> Option<&Failure> {
        self.untrusted.as_ref().filter(|_| self.settings.store.is_none())
    }
}

fn inbox(here: &Here, report: &mut Report) {
    let no = |failure: &Failure| format!("no, {}", failure.message);
    let location = match (here.refused(), store::location(&here.settings)) {
        (Some(failure), _) => return report.line("inbox", &no(failure)),
        (None, Err(failure)) => return report.line("inbox", &no(&failure)),
        (None, Ok(location)) => location,
    };
    match here.surfaces.uses_the_inbox() {
        true => report.line("inbox", &format!("yes, {location}")),
        false => report.line("inbox", &format!("no, via does not name it ({location})")),
    }
    if let Some(failed) = last_reach_failure(&location) {
        report.line("", &failed);
    }
}

fn editor(_: &Here, report: &mut Report) {
    let editor = variable("VISUAL").or_else(|| variable("EDITOR"));
    report.line("editor", &editor.unwrap_or_else(|| "vi (neither VISUAL nor EDITOR is set)".into()));
}

fn files(_: &Here, report: &mut Report) {
    let shown = |path: Option<PathBuf>| path.map_or_else(|| "none".to_owned(), |path| path.display().to_string());
    report.line("user file", &shown(config::user_file(variable)));
    report.line("project file", &shown(config::project_file_here().0));
}

fn variables(_: &Here, report: &mut Report) {
    for (variable, meant) in config::misspelt_variables(environment::names()) {
        report.line("variable", &format!("{variable} is unknown and sets nothing; did you mean {meant}?"));
    }
}

fn clients(_: &Here, report: &mut Report) {
    match init::status::clients() {
        Ok(clients) => clients.iter().for_each(|(client, state)| report.line(client, state)),
        Err(failure) => report.line("clients", &format!("not checked: {}", failure.message)),
    }
}

fn would_ask(here: &Here, report: &mut Report) {
    if here.refused().is_some() && here.surfaces.uses_the_inbox() {
        report.code = Some(exit::BAD_INPUT);
        return report.line("would ask", "no person: questions for the inbox fail");
    }
    let at_the_terminal = here.surfaces.asks_at_the_terminal() && here.terminal.is_ok();
    let (surface, code) = match here.surfaces.headless() {
        Some(Headless::Fail) => ("no person: the policy is to fail", exit::UNAVAILABLE),
        Some(Headless::Recommended) => ("policy: recommended options; no person is asked", exit::ANSWERED),
        None if at_the_terminal && here.options.presentation == Presentation::Line => {
            ("terminal, line by line", exit::ANSWERED)
        }
        None if at_the_terminal && here.surfaces.uses_the_inbox() => {
            ("terminal and inbox; the first answer counts", exit::ANSWERED)
        }
        None if at_the_terminal => ("terminal", exit::ANSWERED),
        None if here.surfaces.uses_the_inbox() => ("inbox: it waits there for its person", exit::ANSWERED),
        None if here.surfaces.has_answers() => ("the answers file alone", exit::ANSWERED),
        None if !here.surfaces.asks_at_the_terminal() => ("no person: via leaves the terminal out", exit::UNAVAILABLE),
        None => ("no person", exit::UNAVAILABLE),
    };
    report.line("would ask", surface);
    report.code.get_or_insert(code);
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
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
            Background::Told(_) => "background told by the terminal",
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
    /// What the command ends with, once it is known.
    code: Option<u8>,
}

impl Report {
    fn line(&mut self, name: &str, value: &str) {
        self.text.push_str(&sanitize::line(&format!("{name:<14}{value}")));
        self.text.push('\n');
    }
}
