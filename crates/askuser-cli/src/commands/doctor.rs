//! `askuser doctor`: checks whether and how questions reach a person here, and gives a fix for each problem.

mod report;

use super::init::clients::Client;
use super::init::status;
use crate::config::{self, Layers, Origin, Settings};
use crate::environment;
use crate::failure::{Failure, exit};
use crate::notifier;
use crate::result::write;
use crate::state_folder::{check_state_folder, state_folder};
use crate::store::{self, done};
use crate::surfaces::{Surfaces, terminal_options};
use crate::wrapped::{columns, for_stdout};
use askuser::policy::Headless;
use askuser::store::{FailedCredentials, NotifierFailure, Store};
use askuser_inbox::Location;
use askuser_serve::ServerStore;
use askuser_terminal::{Background, ColorDepth, FALLBACK_EDITOR, Options, Presentation};
use clap::ArgMatches;
use report::Row;
use std::io;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

type Check = fn(&Here) -> Vec<Row>;

/// The checks in the order of the report. The name is used if a check has no result.
const CHECKS: [(&str, Check); 9] = [
    ("terminal", terminal),
    ("via", policy),
    ("MCP agents", mcp),
    ("inbox", inbox),
    ("agents", clients),
    ("state folder", state),
    ("variable", variables),
    ("sandbox", sandbox),
    ("editor", surroundings),
];
/// The time limit of each check. The checks run at the same time.
const LIMIT: Duration = Duration::from_secs(5);

struct Here {
    settings: Settings,
    layers: Layers,
    surfaces: Surfaces,
    terminal: io::Result<()>,
    options: Options,
    /// The reason why the state folder is not used; `None` if it is used.
    untrusted: Option<Failure>,
}

pub(super) fn run(args: &ArgMatches) -> Result<u8, Failure> {
    let layers = Layers::detect(args);
    // Users run this command because of invalid settings. The report states the error and continues with the defaults.
    let read = layers.and_then(|layers| {
        let settings = layers.settings()?;
        // An unreadable answers file is found here, before a question is asked.
        Ok((Surfaces::of(&settings).map(|_| settings)?, layers))
    });
    let (settings, layers, broken) = match read {
        Ok((settings, layers)) => (settings, layers, None),
        Err(failure) => (Layers::defaults().settings()?, Layers::defaults(), Some(failure)),
    };
    let here = Here {
        surfaces: Surfaces::of(&settings)?,
        terminal: askuser_terminal::has_terminal(),
        options: terminal_options(&settings),
        untrusted: state_folder().and_then(|state| check_state_folder(&state)).err(),
        settings,
        layers,
    };
    let (verdict, code) = match broken {
        None => verdict(&here),
        Some(failure) => {
            let verdict = Row::failed("", "Every question fails: ", &failure);
            (verdict.and("What follows is how it would be without these settings."), exit::BAD_INPUT)
        }
    };
    let here = Arc::new(here);
    let started = CHECKS.map(|(name, check)| {
        let (here, (report, reported)) = (here.clone(), mpsc::channel());
        thread::spawn(move || report.send(check(&here)));
        (name, reported)
    });
    let end = Instant::now() + LIMIT;
    let rows = started.into_iter().flat_map(|(name, reported)| {
        let late = |_| vec![Row::late(name)];
        reported.recv_timeout(end.saturating_duration_since(Instant::now())).unwrap_or_else(late)
    });
    let rows: Vec<Row> = rows.collect();
    let theme = &here.options.theme;
    write(&for_stdout(&report::lines(&verdict, &rows, theme, columns(io::stdout())), theme))?;
    Ok(code)
}

/// Returns what would happen to a question that `ask` asks here, with its exit code.
fn verdict(here: &Here) -> (Row, u8) {
    let good = |words: &str| (Row::good("", words), exit::ANSWERED);
    let bad = |words: &str, fix: &str, code| (Row::bad("", words, fix), code);
    let is_here = here.surfaces.asks_at_the_terminal() && here.terminal.is_ok();
    match (here.surfaces.chain.policy().headless, here.surfaces.uses_the_inbox(), is_here) {
        (_, true, _) if here.refused().is_some() => {
            bad("No person can be asked: questions for the inbox fail.", "see below", exit::BAD_INPUT)
        }
        (Some(Headless::Fail), ..) => {
            bad("No person is asked: headless is fail.", &here.unset("headless"), exit::UNAVAILABLE)
        }
        (Some(Headless::Recommended), ..) => good("No person is asked: the recommended options are chosen (headless)."),
        (None, true, true) => good("Questions are asked at this terminal and in the inbox; the first answer counts."),
        (None, true, false) => good("Questions wait in the inbox. Answer them with `askuser inbox`."),
        (None, false, true) => good("Questions are asked at this terminal."),
        (None, false, false) if here.surfaces.chain.policy().answers.is_some() => {
            good("Questions are answered from the answers file alone.")
        }
        (None, false, false) if !here.surfaces.asks_at_the_terminal() => bad(
            "No person can be asked: via leaves the terminal out.",
            "add terminal or inbox to via",
            exit::UNAVAILABLE,
        ),
        (None, false, false) => bad(
            "No person can be asked: there is no terminal here.",
            "run it in a terminal, or ask in the inbox: --via inbox",
            exit::UNAVAILABLE,
        ),
    }
}

fn terminal(here: &Here) -> Vec<Row> {
    // A missing terminal alone is no problem. The verdict tells whether one is needed.
    if let Err(error) = &here.terminal {
        return vec![Row::plain("terminal", format!("none: {error}"))];
    }
    let term = variable("TERM").unwrap_or_else(|| "not set".into());
    let row = Row::good("terminal", format!("/dev/tty opens; TERM is {term}"));
    let reasons = Reasons { layers: &here.layers, environment: &variable };
    let options = &here.options;
    let row = row.and(reasons.presentation(options.presentation)).and(reasons.colours(options.theme.depth));
    let row = row.and(reasons.background(options.theme.background));
    let asks = cfg!(unix) && options.asks_background() && options.presentation == Presentation::Screen;
    vec![if asks { row.and("the terminal is asked for its background after the first frame") } else { row }]
}

fn policy(here: &Here) -> Vec<Row> {
    let via: Vec<&str> = here.settings.via.iter().map(|surface| surface.name()).collect();
    let answers = here.settings.answers.as_ref().map(|file| {
        Row::good("answers file", format!("{}: questions it covers are answered from it", file.path.display()))
    });
    answers.into_iter().chain([Row::plain("via", via.join(", then "))]).collect()
}

/// Returns the row about other agents' questions. Their destination differs from `via`, because a server has no
/// terminal.
fn mcp(here: &Here) -> Vec<Row> {
    const NAME: &str = "MCP agents";
    let row = match (here.surfaces.chain.policy().headless, here.refused()) {
        (Some(Headless::Fail), _) => {
            Row::bad(NAME, "their questions are not asked: headless is fail", here.unset("headless"))
        }
        (Some(Headless::Recommended), _) => Row::plain(NAME, "get the recommended options; no person is asked"),
        (None, Some(failure)) => Row::failed(NAME, "cannot ask: ", failure),
        (None, None) => Row::good(
            NAME,
            "their questions wait in the inbox, and in the agent's own dialog where it has one; answer them with \
             `askuser inbox`",
        ),
    };
    let is_asked = row.is_well == Some(true);
    let failure =
        kept(here).and_then(|store| done(store::at_the_terminal(&(store as Arc<dyn Store>)).last_failure()).ok()?);
    let told = match (&notifier::ways(&here.settings)[..], failure) {
        ([], _) => Row::bad(
            "new questions",
            "nothing calls you when an agent without a dialog asks: no popup, no desktop, no on_question",
            "work in tmux, set on_question, or keep `askuser inbox` open",
        ),
        (ways, None) => Row::good("new questions", format!("{} calls you", ways.join(" and "))),
        (ways, Some(NotifierFailure { at_ms, what, why })) => {
            let ways = ways.join(" and ");
            let when = store::display::date_time(at_ms);
            let fix =
                if what == "on_question" { "run the command yourself, and correct it" } else { "try it yourself" };
            let fix = format!("{fix}; the next call that works ends this");
            Row::bad("new questions", format!("{ways} should call you"), fix)
                .and(format!("the last call failed at {when}: {what}: {why}"))
        }
    };
    let told = if cfg!(windows) { told.and("no popups here: they need tmux or Zellij") } else { told };
    [row].into_iter().chain(is_asked.then_some(told)).collect()
}

fn state(here: &Here) -> Vec<Row> {
    here.untrusted.iter().map(|failure| Row::failed("state folder", "not used: ", failure)).collect()
}

/// Returns the row about the sandbox of `askuser agent`.
fn sandbox(here: &Here) -> Vec<Row> {
    let folder = std::env::current_dir().map_err(|error| format!("there is no current folder: {error}"));
    let found = folder.and_then(|folder| super::agent::sandbox::here(&here.settings, &folder, &[]));
    vec![match found {
        Ok(_) => Row::good("sandbox", "commands of askuser agent run in it"),
        // Without a sandbox, commands need a permission.
        Err(why) => Row::plain("sandbox", format!("none here: {why}")),
    }]
}

impl Here {
    fn unset(&self, name: &str) -> String {
        let found = self.layers.rows().find(|(setting, ..)| setting.name == name);
        found.map_or_else(String::new, |(_, _, origin)| format!("leave {name} out ({origin})"))
    }

    /// Returns the reason why the default inbox cannot be used; `None` if it can be used, or if the settings name a
    /// store.
    fn refused(&self) -> Option<&Failure> {
        self.untrusted.as_ref().filter(|_| self.settings.store.is_none())
    }
}

fn inbox(here: &Here) -> Vec<Row> {
    let location = match (here.refused(), store::location(&here.settings)) {
        (Some(failure), _) => return vec![Row::failed("inbox", "", failure)],
        (None, Err(failure)) => return vec![Row::failed("inbox", "", &failure)],
        (None, Ok(location)) => location,
    };
    let users = if here.surfaces.uses_the_inbox() {
        "used by ask, agent, mcp and hook"
    } else {
        "used by mcp and hook; ask and agent use it with --via inbox"
    };
    let row = Row::good("inbox", location.to_string()).and(users);
    #[cfg(not(feature = "postgres"))]
    if let askuser_inbox::Location::Postgres(_) = &location
        && let Err(failure) = store::open_at(location.clone())
    {
        return vec![Row::failed("inbox", "", &failure)];
    }
    #[cfg(feature = "postgres")]
    let row = match &location {
        Location::Postgres(address) => {
            match store::postgres(address, LIMIT / 2).and_then(|store| store::done(store.report())) {
                Err(failure) => return vec![Row::failed("inbox", "", &failure)],
                Ok(report) => report.facts().into_iter().fold(Row::good("inbox", report.address.clone()), Row::and),
            }
        }
        _ => row,
    };
    [row].into_iter().chain(refused_credentials(here)).collect()
}

/// Returns the row about rejected credentials at `askuser serve`; `None` if there were none. Rejections older than a
/// day are no problem.
fn refused_credentials(here: &Here) -> Option<Row> {
    const RECENT_MS: u64 = 24 * 60 * 60 * 1000;
    let FailedCredentials { count, last_ms, address } = done(kept(here)?.failed_credentials()).ok()??;
    let when = store::display::date_time(last_ms);
    let fact = format!("{count} did not count at `askuser serve`, the last from {address} at {when}");
    let fix = "if that is a device or an agent of yours, pair it again or give it a new token (`askuser token new`)";
    let is_recent = store::display::now_ms().saturating_sub(last_ms) < RECENT_MS;
    Some(if is_recent { Row::bad("credentials", fact, fix) } else { Row::plain("credentials", fact) })
}

/// Opens the store if its file or database exists. The check creates no store, and contacts no server.
fn kept(here: &Here) -> Option<Arc<dyn ServerStore>> {
    let location = store::location(&here.settings).ok()?;
    let is_kept = here.refused().is_none() && location.exists() && !matches!(location, Location::Address(_));
    is_kept.then(|| store::open_kept(&here.settings).ok())?
}

fn clients(here: &Here) -> Vec<Row> {
    match status::clients() {
        Ok(clients) => {
            let signs = here.options.theme.signs;
            let row = |(client, by_hand, checks): (&Client, String, status::Checks)| {
                let sign = |is_well: bool| if is_well { signs.done } else { signs.not_done };
                let signed = checks.iter().map(|(name, outcome)| format!("{} {name}  ", sign(outcome.is_ok())));
                let tried = client.tried.map_or_else(|| "(untested)".to_owned(), |v| format!("(tried with {v})"));
                let fact = format!("{}{tried}{by_hand}", signed.collect::<String>());
                let row = if checks.iter().all(|(_, outcome)| outcome.is_ok()) {
                    Row::good(client.title, fact)
                } else {
                    Row::bad(client.title, fact, format!("`askuser init {}`", client.name))
                };
                let wrong =
                    checks.into_iter().filter_map(|(name, outcome)| Some(format!("{name}: {}", outcome.err()?)));
                wrong.fold(row, Row::and)
            };
            clients.into_iter().map(row).collect()
        }
        Err(failure) => vec![Row::failed("agents", "not checked: ", &failure)],
    }
}

fn variables(_: &Here) -> Vec<Row> {
    let misspelt = config::misspelt_variables(environment::names()).into_iter();
    let row = |(variable, meant)| {
        Row::bad("variable", format!("{variable} is unknown and sets nothing"), format!("use {meant}"))
    };
    misspelt.map(row).collect()
}

fn surroundings(_: &Here) -> Vec<Row> {
    let editor = variable("VISUAL").or_else(|| variable("EDITOR"));
    let editor = editor.unwrap_or_else(|| format!("{FALLBACK_EDITOR} (neither VISUAL nor EDITOR is set)"));
    let editor = Row::plain("editor", editor);
    let file = |name, path: Option<std::path::PathBuf>| {
        Row::plain(name, path.map_or_else(|| "none".to_owned(), |path| path.display().to_string()))
    };
    vec![editor, file("user file", config::user_file(variable)), file("project file", config::project_file_here().0)]
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The sources that explain the prompt's look.
struct Reasons<'a> {
    layers: &'a Layers,
    environment: &'a dyn Fn(&str) -> Option<String>,
}

impl Reasons<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }

    /// Returns the source of a setting; `None` if the setting has its default.
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
