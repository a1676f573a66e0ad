//! The one chain of surfaces: what answers first, who is asked then, and how. `ask`, `agent`, `mcp` and `doctor` all use it.
//!
//! Order: the policy (answers file, headless rule), then a person, at the terminal or wherever they open the inbox. Surfaces that `--via` does not name are left out.

use crate::config::{AnswersFile, Settings, Surface};
use crate::failure::{Failure, reason};
use crate::json;
use crate::source;
use crate::store::is_run_by_a_person;
use askuser::policy::{Answers, Headless, Policy};
use askuser::{Asker, Asking, Closed, Decision, PolicyFirst, Request, RequestKey};
use askuser_sys::programs;
use askuser_terminal::{Background, ColorDepth, Options, Presentation};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

pub(crate) struct Surfaces {
    pub(crate) policy: Policy,
    terminal: bool,
    inbox: bool,
    answers_file: String,
}

impl Surfaces {
    pub(crate) fn of(settings: &Settings) -> Result<Surfaces, Failure> {
        let policy = match settings.via.contains(&Surface::Policy) {
            true => Policy {
                answers: settings.answers.as_ref().map(AnswersFile::read).transpose()?,
                headless: settings.headless,
            },
            false => Policy::default(),
        };
        let path = settings.answers.as_ref().map_or(Path::new("answers"), |file| &file.path);
        let answers_file = path.display().to_string();
        let [terminal, inbox] = [Surface::Terminal, Surface::Inbox].map(|surface| settings.via.contains(&surface));
        Ok(Surfaces { policy, terminal, inbox, answers_file })
    }

    /// What the policy knows of a request, for a caller that asks at a terminal itself.
    pub(crate) fn decide(&self, request: &Request) -> Result<Decision, Failure> {
        // Without a person in the chain the policy is all there is.
        match self.asks_a_person() {
            true => self.policy.apply_to(request).map_err(|violations| unfit(&self.answers_file, &violations)),
            false => Ok(self.policy.decide(request)),
        }
    }

    /// What to tell the author of the answers file: that a question is without an answer, and which keys match nothing.
    pub(crate) fn unmatched(&self, request: &Request) -> Option<String> {
        const SHOWN: usize = 5;
        let unmatched = self.policy.answers.as_ref()?.unmatched(request.set())?;
        let headers: Vec<String> = unmatched.headers.iter().map(|header| format!("{header:?}")).collect();
        let keys = unmatched.keys[..unmatched.keys.len().min(SHOWN)].join(", ");
        let more = match unmatched.keys.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let file = &self.answers_file;
        Some(format!("{file}: no answer to {}; no question matches its keys {keys}{more}", headers.join(", ")))
    }

    /// The chain around a person who is asked by `person`; `None` if no person ever answers: then the tool is not offered.
    /// The operator is told, once, that answers written beforehand match a question without fitting it, so that the person is asked.
    pub(crate) fn chain(
        self,
        person: Option<Arc<dyn Asker>>,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Option<Arc<dyn Asker>> {
        let person = person.filter(|_| self.inbox || self.terminal && is_run_by_a_person());
        match (self.policy.answers.is_some(), self.policy.headless, person) {
            (false, None, person) => person,
            (false, Some(Headless::Fail), _) => None,
            (_, _, Some(person)) => Some(Arc::new(MisfitNotice {
                chain: PolicyFirst { policy: self.policy, person },
                answers_file: self.answers_file,
                tell,
                was_noticed: AtomicBool::new(false),
            })),
            (_, _, None) => Some(Arc::new(self.policy)),
        }
    }

    /// Whether a person is asked at the terminal, or by the front end in its place.
    pub(crate) fn asks_at_the_terminal(&self) -> bool {
        self.terminal && self.policy.headless.is_none() && is_run_by_a_person()
    }

    pub(crate) fn uses_the_inbox(&self) -> bool {
        self.inbox && self.policy.headless.is_none()
    }

    fn asks_a_person(&self) -> bool {
        self.terminal || self.inbox
    }
}

/// The policy and a person, and a word to the operator when the answers do not fit.
struct MisfitNotice<T> {
    chain: PolicyFirst<Arc<dyn Asker>>,
    answers_file: String,
    tell: T,
    was_noticed: AtomicBool,
}

impl<T: Fn(&str) + Send + Sync> Asker for MisfitNotice<T> {
    fn decide(&self, request: &Request) -> Decision {
        let violations = match self.chain.policy.apply_to(request) {
            Ok(decision) => return decision,
            Err(violations) => violations,
        };
        if !self.was_noticed.swap(true, Ordering::Relaxed) {
            let file = &self.answers_file;
            (self.tell)(&format!("{file} does not fit a question it matches, so the person is asked: {violations}"));
        }
        self.chain.person.decide(request)
    }

    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        self.chain.ask(request)
    }

    fn close(&self, key: &RequestKey, why: &Closed) {
        self.chain.close(key, why);
    }

    fn take_back<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        self.chain.take_back(request)
    }
}

impl AnswersFile {
    /// Reads the answers file. Only the command's own `--answers` gives permissions, approves plans and says yes to a `confirm`.
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
        json::without_repeats(&text).map_err(|error| match error.is_data() {
            true => Failure::new(format!("answers: {shown}: {error}, must be there once")),
            false => Failure::new(format!("answers: {shown} is not JSON ({error}), must be a JSON object")),
        })?
    };
    Answers::parse(&value).map_err(|violations| unfit(&shown, &violations))
}

fn unfit(path: &str, violations: &askuser::Violations) -> Failure {
    Failure::of(&format!("{path} does not fit, nothing was asked"), violations)
}

/// Whether this is a pane of tmux in a terminal that has not said to have 256 colours. What tmux makes of a grey in eight colours is
/// black.
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
    use askuser::{QuestionSet, Resolution, Rules};
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
        let surfaces = Surfaces { policy, terminal: true, inbox: false, answers_file: "a.json".into() };
        let told = Arc::new(Mutex::new(Vec::new()));
        let list = told.clone();
        let tell = move |words: &str| list.lock().unwrap().push(words.to_owned());
        let chain = surfaces.chain(Some(Arc::new(Person)), tell).unwrap();
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
