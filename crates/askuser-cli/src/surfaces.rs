//! The chain of surfaces, from prepared answers to the person. `ask`, `agent`, `mcp` and `doctor` all use it.
//!
//! The policy comes first (answers file, headless rule), then a person, at the terminal or wherever they open the
//! inbox. Surfaces that `--via` does not name are left out.

use crate::config::{AnswersFile, Settings, Surface};
use crate::failure::{Failure, reason};
use crate::json;
use crate::notifier;
use crate::source;
use crate::store::{asker, display, is_run_by_a_person};
use askuser::policy::{Answers, Headless, Policy};
use askuser::store::Store;
use askuser::{Asker, Chain, Decision, Request};
use askuser_sys::programs;
use askuser_terminal::{Background, ColorDepth, Options, Presentation};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

pub(crate) struct Surfaces {
    /// The chain with the policy alone. A command adds the person.
    pub(crate) chain: Chain,
    terminal: bool,
    inbox: bool,
    answers_file: String,
}

impl Surfaces {
    pub(crate) fn of(settings: &Settings) -> Result<Surfaces, Failure> {
        let names = |surface| settings.via.contains(&surface);
        let policy = if names(Surface::Policy) {
            Policy {
                answers: settings.answers.as_ref().map(AnswersFile::read).transpose()?,
                headless: settings.headless,
            }
        } else {
            Policy::default()
        };
        let path = settings.answers.as_ref().map_or(Path::new("answers"), |file| &file.path);
        let answers_file = path.display().to_string();
        let [terminal, inbox] = [Surface::Terminal, Surface::Inbox].map(names);
        let chain = if terminal || inbox { Chain::new(policy) } else { Chain::alone(policy) };
        Ok(Surfaces { chain, terminal, inbox, answers_file })
    }

    /// Returns the decision of the policy. A command that uses it fails if the answers do not fit.
    pub(crate) fn settle(&self, request: &Request) -> Result<Decision, Failure> {
        self.chain.settle(request).map_err(|violations| unfit(&self.answers_file, &violations))
    }

    /// Returns the message to the author of the answers file: the unanswered questions, and the keys that match no
    /// question. `None` if there is no such mismatch.
    pub(crate) fn unmatched(&self, request: &Request) -> Option<String> {
        const SHOWN: usize = 5;
        let unmatched = self.chain.policy().answers.as_ref()?.unmatched(request.set())?;
        let headers: Vec<String> = unmatched.headers.iter().map(|header| format!("{header:?}")).collect();
        let keys = unmatched.keys[..unmatched.keys.len().min(SHOWN)].join(", ");
        let more = match unmatched.keys.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let file = &self.answers_file;
        Some(format!("{file}: no answer to {}; no question matches its keys {keys}{more}", headers.join(", ")))
    }

    /// Returns the chain of an agent: the policy, then the person here, and the person who opens the inbox if there is
    /// a store. `None` if no person can ever answer, and then the tool is not offered. `tell` receives the hint how to
    /// answer, and one notice if the answers file does not fit.
    pub(crate) fn chain(
        self,
        settings: &Settings,
        store: Option<Arc<dyn Store>>,
        here: Option<Arc<dyn Asker>>,
        tell: impl Fn(&str) + Clone + Send + Sync + 'static,
    ) -> Result<Option<Chain>, Failure> {
        let is_asked_here = self.asks_at_the_terminal();
        let may_ask = self.inbox || self.terminal && is_run_by_a_person();
        // If there is a store, its notifier runs the command.
        let command = settings.on_question.clone().filter(|_| store.is_none());
        let file = self.answers_file;
        let was_noticed = AtomicBool::new(false);
        let notify = tell.clone();
        let chain = self.chain.on_misfit(move |violations| {
            if !was_noticed.swap(true, Ordering::Relaxed) {
                notify(&format!("{file} does not fit a question it matches, so the person is asked: {violations}"));
            }
        });
        let person = match store {
            Some(store) => {
                let here = here.filter(|_| is_asked_here);
                let is_alone = here.is_none();
                let asker = asker(settings, store, here)?.on_waiting(move |question| {
                    if is_alone {
                        tell(&display::how_to_answer(question));
                    }
                });
                Some(Arc::new(asker) as Arc<dyn Asker>)
            }
            None => here,
        };
        let chain = match command {
            // Its end is of no interest here.
            Some(command) => chain.on_ask(move |request| _ = notifier::run(&command, request, None)),
            None => chain,
        };
        let Policy { answers, headless } = chain.policy();
        let answers = answers.is_some();
        Ok(match person.filter(|_| may_ask) {
            _ if !answers && *headless == Some(Headless::Fail) => None,
            Some(person) => Some(chain.with_person(person)),
            None => (answers || headless.is_some()).then(|| Chain::alone(chain.policy().clone())),
        })
    }

    /// Returns whether a person is asked at the terminal, or through a front end in its place.
    pub(crate) fn asks_at_the_terminal(&self) -> bool {
        self.terminal && self.chain.policy().headless.is_none() && is_run_by_a_person()
    }

    pub(crate) fn uses_the_inbox(&self) -> bool {
        self.inbox && self.chain.policy().headless.is_none()
    }
}

impl AnswersFile {
    /// Reads the answers file. Only `--answers` on the command line of this command can give permissions, approve plans
    /// and answer a `confirm` with yes.
    fn read(&self) -> Result<Answers, Failure> {
        let answers = answers_file(&self.path)?;
        Ok(if self.is_on_command_line { answers.permitting() } else { answers })
    }
}

pub(crate) fn answers_file(path: &Path) -> Result<Answers, Failure> {
    let shown = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|error| {
        Failure::new(format!("answers: cannot open {shown}: {}", reason(&error)))
            .hint("it is a JSON or TOML file from header or question to answer: {\"Database\": \"SQLite\"}")
    })?;
    let text = source::read(&shown, file)?;
    let value = if path.extension().is_some_and(|extension| extension == "toml") {
        source::from_toml(&text)
            .map_err(|error| Failure::new(format!("answers: {shown}: {}", error.to_string().trim_end())))?
    } else {
        json::without_repeats(&text).map_err(|error| {
            Failure::new(if error.is_data() {
                format!("answers: {shown}: {error}, must be there once")
            } else {
                format!("answers: {shown} is not JSON ({error}), must be a JSON object")
            })
        })?
    };
    Answers::parse(&value).map_err(|violations| unfit(&shown, &violations))
}

fn unfit(path: &str, violations: &askuser::Violations) -> Failure {
    Failure::of(&format!("{path} does not fit, nothing was asked"), violations)
}

/// Returns whether this is a pane of tmux in a terminal that does not report 256 colours. With eight colours, tmux
/// shows grey as black.
fn is_in_few_colours() -> bool {
    static IS: LazyLock<bool> = LazyLock::new(|| {
        let asked = programs::command("tmux").and_then(|mut tmux| {
            tmux.args(["display-message", "-p", "#{client_termname}"]).stderr(Stdio::null()).output()
        });
        let name = asked.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned()).unwrap_or_default();
        !name.is_empty() && !name.contains("256color")
    });
    std::env::var_os("TMUX").is_some() && *IS
}

pub(crate) fn terminal_options(settings: &Settings) -> Options {
    let mut options = Options::detect();
    if settings.plain {
        options.presentation = Presentation::Line;
    }
    if let Some(background) = settings.theme {
        options.theme.background = background;
    }
    if let Some(depth) = settings.color {
        options.theme.depth = depth;
    } else if options.theme.background == Background::Unknown
        && options.theme.depth == ColorDepth::Ansi256
        && is_in_few_colours()
    {
        options.theme.depth = ColorDepth::Ansi16;
    }
    options.theme.prompt_style = settings.style;
    options.confirm = settings.confirm;
    options.flash = settings.success_flash;
    options.key_delay = settings.key_delay;
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::input::QuestionInput;
    use askuser::{Asking, QuestionSet, RequestKey, Resolution, Rules};
    use std::sync::Mutex;

    struct Person;

    impl Asker for Person {
        fn ask<'a>(&'a self, _: &'a Request) -> Asking<'a> {
            Box::pin(std::future::ready(Ok(Resolution::unavailable("gone").into())))
        }
    }

    #[test]
    fn answers_that_do_not_fit_ask_the_person_and_the_operator_is_told_once() {
        let answers = Answers::parse(&serde_json::json!({"/Run .*/": "PostgreSQL"})).unwrap();
        let policy = Policy { answers: Some(answers), headless: None };
        let chain = Chain::new(policy);
        let surfaces = Surfaces { chain, terminal: true, inbox: false, answers_file: "a.json".into() };
        let told = Arc::new(Mutex::new(Vec::new()));
        let list = told.clone();
        let tell = move |words: &str| list.lock().unwrap().push(words.to_owned());
        let settings = crate::config::Layers::defaults().settings().unwrap();
        let chain = surfaces.chain(&settings, None, Some(Arc::new(Person)), tell).unwrap().unwrap();
        let question = QuestionInput::new("Run it?", "Bash").option("Allow", "Yes").option("Deny", "No");
        let set = QuestionSet::new([question], &Rules::strict()).unwrap();
        let request = Request::new(RequestKey::new("session", "call"), set);
        for _ in 0..2 {
            assert!(matches!(chain.decide(&request), Decision::Ask(known) if known.is_empty()));
        }
        let told = told.lock().unwrap();
        assert!(told.len() == 1 && told[0].starts_with("a.json does not fit a question it matches"), "{told:?}");
    }
}
