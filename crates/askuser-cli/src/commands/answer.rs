//! `askuser answer`: answers a question of the inbox, at its prompt or by arguments.

use super::ask::broken_off;
use super::inbox::{broken, console};
use crate::config::Settings;
use crate::failure::{self, Failure, OrFail, exit};
use crate::json;
use crate::notifier::popup::Popups;
use crate::result::finish;
use crate::signals::{self, Signal};
use crate::source;
use crate::store::{
    attempt, block_on, display, done, ended_elsewhere, failed, location, only_a_person, open_for_person, question,
    runtime,
};
use crate::surfaces::{answers_file, terminal_options};
use askuser::policy::Policy;
use askuser::prompt::Trigger;
use askuser::store::{
    AskerPresence, Draft, Ending, Filter, Handle, Principal, State, StoreError, StoredQuestion, UnsentWords,
};
use askuser::{AskError, Decision, KeyCode, Outcome, QuestionSet, Via, Violation, reply};
use askuser_inbox::answer_at;
use askuser_terminal::text::{Line, Span};
use askuser_terminal::{ConsoleEvent, Options, Presentation, Role, TerminalAsker, TerminalInput};
use clap::ArgMatches;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The maximum number of questions among which the next one is sought.
const MANY: u32 = 100;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    only_a_person("answer a question")?;
    let store = open_for_person(settings)?;
    let question = question(&store, args)?;
    if let Some((outcome, via)) = given(&question, args)? {
        let by = Principal::person(store.principal().name().unwrap_or_default(), via);
        return match block_on(store.by(by).answer(&question.id, outcome, &attempt()?)) {
            Ok(ending) => finish(&format!("{} {}\n", question.id, display::ended(&question.request, &ending))),
            Err(StoreError::Ended(ending)) => Err(ended_elsewhere(&question, &ending)),
            Err(error) => Err(failed(error)),
        };
    }
    if !args.get_flag("unbidden") {
        return at_the_prompt(&store, &question, settings, Trigger::Opened);
    }
    in_a_popup(&store, question, settings)
}

/// Answers a question in a popup. Questions that arrived meanwhile follow if the person wants that, until the person
/// puts one aside. Returns the exit code.
fn in_a_popup(store: &Handle, mut question: StoredQuestion, settings: &Settings) -> Result<u8, Failure> {
    let popups = Popups::of(settings, &location(settings)?);
    loop {
        let code = match at_the_prompt(store, &question, settings, Trigger::Popup) {
            Err(failure) if failure.code == exit::ENDED_ELSEWHERE => exit::ENDED_ELSEWHERE,
            Err(failure) => return Err(failure),
            Ok(exit::ANSWERED) => exit::ANSWERED,
            Ok(code) => return Ok(code),
        };
        let mut waiting = done(store.list(&Filter::mine().at_most(MANY)))?.questions;
        waiting.retain(|question| question.asker == AskerPresence::Waits || question.request.is_in_background());
        if waiting.is_empty() || !wants_next(waiting.len(), &terminal_options(settings))? {
            return Ok(code);
        }
        question = waiting.swap_remove(0);
        // With a multiplexer, the next question gets a popup of its own size.
        if popups.as_ref().is_some_and(|popups| popups.open_next(&question)) {
            return Ok(code);
        }
    }
}

/// Shows the number of waiting questions for three seconds. Returns whether the person wants the next one. Enter counts
/// only after the keyboard was idle, because the last Enter may still be down.
fn wants_next(count: usize, options: &Options) -> Result<bool, Failure> {
    const SHOWN: Duration = Duration::from_secs(3);
    const REST: Duration = Duration::from_millis(500);
    if options.presentation == Presentation::Line {
        return Ok(true);
    }
    let theme = &options.theme;
    let waiting = Span::styled(format!("  {count} more waiting "), theme.style(Role::Text));
    let line =
        Line::from_iter([waiting, Span::styled(format!("{} enter next", theme.signs.dot), theme.style(Role::Muted))]);
    let mut console = console(options)?;
    let mut inputs = Vec::new();
    let begun = Instant::now();
    let mut last = begun;
    let mut wants_next = None;
    while wants_next.is_none() {
        console.set_live(std::slice::from_ref(&line), None);
        let event = console.wait(Some(SHOWN.saturating_sub(begun.elapsed())), &mut inputs).map_err(broken)?;
        let has = |code: KeyCode| inputs.contains(&TerminalInput::Key(code.into()));
        wants_next = match event {
            ConsoleEvent::Input if has(KeyCode::Esc) => Some(false),
            ConsoleEvent::Input => (has(KeyCode::Enter) && last.elapsed() >= REST).then_some(true),
            ConsoleEvent::Signal(_) | ConsoleEvent::Closed | ConsoleEvent::EndOfInput => Some(false),
            _ => (begun.elapsed() >= SHOWN).then_some(false),
        };
        if !std::mem::take(&mut inputs).is_empty() {
            last = Instant::now();
        }
    }
    console.clear_live();
    console.close().map_err(broken)?;
    Ok(wants_next == Some(true))
}

/// Returns the answer in the arguments, with its surface; `None` if the arguments have no answer. Options and text
/// count as the person's answer, but a file of answers does not. The user's setting of such a file applies only to
/// commands that ask.
fn given(question: &StoredQuestion, args: &ArgMatches) -> Result<Option<(Outcome, Via)>, Failure> {
    let set = question.request.set();
    if let Some(file) = args.get_one::<String>("reply") {
        let outcome = reply::outcome(set, &reply_in(file)?).map_err(source::invalid_answer)?;
        return Ok(Some((outcome, Via::Inbox)));
    }
    if let Some(reply) = reply_by_flags(set, args)? {
        let outcome = reply::outcome(set, &reply)
            .map_err(|violations| source::invalid_answer(violations.map(|violation| in_flags(violation, &reply))))?;
        return Ok(Some((outcome, Via::Inbox)));
    }
    let Some(file) = args.get_one::<String>("answers") else { return Ok(None) };
    if question.request.asks_to_agree() {
        return Err(Failure::new("only a person gives permission, approves a plan or says yes, no file does"));
    }
    let policy = Policy { answers: Some(answers_file(Path::new(file))?), headless: None };
    let unfit = |violations: askuser::Violations| Failure::new(format!("{file} does not fit: {violations}"));
    match policy.apply_to(&question.request).map_err(unfit)? {
        Decision::Settled(resolution) => Ok(Some((resolution.outcome().clone(), Via::AnswersFile))),
        Decision::Ask(_) => Err(Failure::new(format!("{file} does not answer every question"))),
    }
}

/// Reads a reply that another program has written.
fn reply_in(file: &str) -> Result<Value, Failure> {
    let text = match file {
        "-" => source::read("standard input", std::io::stdin().lock())?,
        file => {
            let opened = std::fs::File::open(file);
            source::read(file, opened.or_fail(format!("--reply: cannot open {file}"))?)?
        }
    };
    let reply = json::without_repeats(&text)
        .map_err(|error| Failure::new(format!("--reply: {file} is not JSON ({error}), must be a JSON object")))?;
    // Only the asker may report that no person answered.
    match reply["status"].as_str() {
        Some(status @ ("timed_out" | "unavailable")) => {
            let limit = "must be answered, cancelled, declined or discuss";
            Err(Failure::new(format!("--reply: status is {status:?}, {limit}")))
        }
        _ => Ok(reply),
    }
}

/// The flags that answer one question, and their fields in a reply.
const FLAGS: [(&str, &str); 3] = [("select", "selectedOptions"), ("other", "customInput"), ("note", "note")];

/// Builds the reply from `--select`, `--other`, `--note`, `--decline` and `--discuss`. Returns `None` without these
/// flags.
fn reply_by_flags(set: &QuestionSet, args: &ArgMatches) -> Result<Option<Value>, Failure> {
    let mut answers: Vec<Value> = Vec::new();
    for (flag, field) in FLAGS {
        for given in args.get_many::<String>(flag).unwrap_or_default() {
            let (header, value) = named(set, flag, given)?;
            let found = answers.iter().position(|answer| answer["header"] == header);
            let i = found.unwrap_or_else(|| {
                answers.push(json!({"header": header}));
                answers.len() - 1
            });
            match &mut answers[i][field] {
                Value::Array(labels) => labels.push(value.into()),
                slot @ Value::Null if flag == "select" => *slot = json!([value]),
                slot @ Value::Null => *slot = value.into(),
                _ => return Err(Failure::new(format!("--{flag}: given twice for {header:?}, at most once"))),
            }
        }
    }
    let mut reply = json!({"answers": answers});
    for (flag, status, words) in [("decline", "declined", "reason"), ("discuss", "discuss", "message")] {
        if let Some(given) = args.get_one::<String>(flag) {
            (reply["status"], reply[words]) = (status.into(), given.as_str().into());
        }
    }
    Ok((!answers.is_empty() || !reply["status"].is_null()).then_some(reply))
}

/// Returns an answer's violation in terms of the flags.
fn in_flags(bad: Violation, reply: &Value) -> Violation {
    let place = bad.path.strip_prefix("answers[").and_then(|rest| rest.split_once(']'));
    let Some((i, field)) = place else { return bad };
    let header = i.parse().ok().and_then(|i: usize| reply["answers"][i]["header"].as_str()).unwrap_or_default();
    let flag = FLAGS.iter().find(|(_, name)| field.trim_start_matches('.').starts_with(name));
    let path = flag.map_or_else(|| header.to_owned(), |(flag, _)| format!("--{flag} {header}"));
    Violation { path, limit: bad.limit.replace("selectedOptions or customInput", "--select or --other"), ..bad }
}

/// Returns the header and the value of `HEADER=VALUE`. If there is only one question, the header is optional.
fn named<'a>(set: &'a QuestionSet, flag: &str, given: &'a str) -> Result<(&'a str, &'a str), Failure> {
    let questions = set.questions();
    match (given.split_once('='), questions) {
        (Some((header, value)), [only]) if [only.header(), only.header_verbatim()].contains(&header.trim()) => {
            Ok((header.trim(), value))
        }
        (_, [only]) => Ok((only.header(), given)),
        (Some((header, value)), _) => Ok((header.trim(), value)),
        (None, _) => {
            let count = questions.len();
            Err(Failure::new(format!("--{flag} {given:?}, must be HEADER=…: there are {count} questions")))
        }
    }
}

/// Lets the person answer at this terminal, and returns the exit code. Prints a message if the person puts the question
/// aside.
pub(crate) fn at_the_prompt(
    store: &Handle,
    question: &StoredQuestion,
    settings: &Settings,
    trigger: Trigger,
) -> Result<u8, Failure> {
    Ok(match open(store, question, settings, trigger)? {
        Ok(ending) if ending.state() == State::TimedOut => exit::NOT_ANSWERED,
        Ok(_) => exit::ANSWERED,
        Err(draft) => {
            let what = if draft.is_empty() { "put aside" } else { "saved as draft" };
            failure::notice(&format!("{what}; the question is still waiting"));
            exit::DETACHED
        }
    })
}

/// Opens a question at this terminal. Returns the ending of the question, or the draft of a person who put it aside.
pub(crate) fn open(
    store: &Handle,
    question: &StoredQuestion,
    settings: &Settings,
    trigger: Trigger,
) -> Result<Result<Ending, Draft>, Failure> {
    if let (Some(names), false) = (question.request.audience_words(), store.principal().is_asked(&question.request)) {
        return Err(Failure::new(format!("{} is for {names}: only they can answer it", question.id)));
    }
    failure::outlive_file_size_limit();
    let mut options = terminal_options(settings);
    options.trigger = trigger;
    if trigger == Trigger::Popup {
        options.key_delay = options.key_delay.max(Duration::from_secs(1));
    }
    options.kept_in = Some(Arc::new(store.clone()));
    signals::listen()?;
    let terminal = TerminalAsker::new(options);
    let answered = runtime()?.block_on(answer_at(store, question, &terminal));
    drop(terminal);
    match answered {
        Ok(ending) => Ok(Ok(ending)),
        Err(AskError::PutAside(draft)) => Ok(Err(draft)),
        Err(AskError::Ended(ending)) => Err(with_unsent(ended_elsewhere(question, &ending), store, question)),
        Err(error @ AskError::NotSaved(_)) => Err(Failure::new(error.chain())),
        Err(AskError::Interrupted) => {
            Err(Failure::new("interrupted; the question is still waiting").code(exit::INTERRUPTED))
        }
        Err(error) => Err(signals::received().map_or_else(|| broken_off(error), Signal::failure)),
    }
}

/// Returns a failure with the person's unsent text, which a question keeps after its end. At a prompt the text has just
/// been shown.
fn with_unsent(failure: Failure, store: &Handle, question: &StoredQuestion) -> Failure {
    let drafts = block_on(store.drafts(&question.id)).unwrap_or_default();
    let unsent = display::unsent(&drafts.iter().map(UnsentWords::from).collect::<Vec<_>>());
    match (&unsent[..], question.ending.is_some()) {
        ([], _) => failure,
        (_, false) => failure.hint(format!("`askuser answer {}` shows once more what you have not sent", question.id)),
        (_, true) => {
            Failure { message: format!("{}\nnot sent: {}", failure.message, unsent.join("\nnot sent: ")), ..failure }
        }
    }
}
