//! `askuser ask`: asks questions from a file, through the chain of surfaces, and prints the result on standard output.
//! With `--via inbox` the question is stored. The caller waits for the answer, or fetches it later.

use crate::config::{Format, Settings, Surface};
use crate::failure::{Failure, OrFail, exit, notice, outlive_file_size_limit};
use crate::result::print;
use crate::signals::until_signal;
use crate::store::{
    asker, at_the_terminal, audience, block_on, display, done, failed, only_a_person, open, open_within, origin,
    patient, person, runtime,
};
use crate::surfaces::{Surfaces, terminal_options};
use crate::{notifier, result, source};
use askuser::store::{Handle, Principal, QuestionId, StoreError};
use askuser::{
    AskError, Asker, Asking, Decision, Delivery, Form, Inbox, QuestionSet, Request, RequestKey, Resolution, Via,
    Violation,
};
use askuser_terminal::{Confirm, Options, TerminalAsker, ask_request};
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let set = source::question_set(args, settings).map_err(|rejected| result::rejected(rejected, settings))?;
    put(set, args, settings)
}

pub(super) fn put(set: QuestionSet, args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    outlive_file_size_limit();
    let request = request(set, args, settings)?;
    let surfaces = Surfaces::of(settings)?;
    let known = match decide(&surfaces, &request)? {
        Decision::Settled(resolution) => {
            print(request.set(), &resolution, settings)?;
            return result::code(request.set(), &resolution, settings);
        }
        Decision::Ask(known) => known,
    };
    let request = request.with_known(known).map_err(Failure::new)?;
    if args.get_flag("detach") {
        return detach(&request, settings);
    }
    let store = is_kept(settings).then(|| open(settings)).transpose()?;
    let is_prompted =
        surfaces.asks_at_the_terminal() && askuser_terminal::has_terminal().is_ok() && request.is_for(&person());
    let stored_as = Arc::new(OnceLock::new());
    let chain = surfaces.chain.with_person(match &store {
        Some(store) => {
            let terminal = is_prompted.then(|| {
                let mut options = prompt_options(args, settings);
                options.kept_in = Some(Arc::new(at_the_terminal(store)));
                Arc::new(TerminalAsker::new(options)) as Arc<dyn Asker>
            });
            let id = stored_as.clone();
            let asker = asker(settings, store.clone(), terminal)?.on_waiting(move |question| {
                let _ = id.set(question.id.clone());
                if !is_prompted {
                    notice(&display::how_to_answer(question));
                }
            });
            Arc::new(asker)
        }
        None => {
            let mut options = prompt_options(args, settings);
            options.ends_process = true;
            Arc::new(ThisTerminal(options))
        }
    });
    let delivery = match &store {
        // The end of the wait does not withdraw the question.
        Some(store) => {
            let agent = Handle::new(store.clone(), Principal::agent(request.origin()));
            let asked = runtime()?.block_on(until_signal(chain.ask(&request)))?;
            let failed = |error| not_answered(error, &agent, &request, &stored_as);
            asked.map_or_else(|| Err(failed(None)), |asked| asked.map_err(|error| failed(Some(error))))
        }
        None => pollster::block_on(chain.ask(&request)).map_err(broken_off),
    }?;
    let resolution = hand_over(delivery, chain, &request, settings, is_prompted)?;
    if let Some(store) = store {
        let _ = done(store.flush());
    }
    result::code(request.set(), &resolution, settings)
}

fn is_kept(settings: &Settings) -> bool {
    settings.via.contains(&Surface::Inbox)
}

fn request(set: QuestionSet, args: &ArgMatches, settings: &Settings) -> Result<Request, Failure> {
    let command = match set.rules().form() {
        Form::Tool => "askuser ask",
        Form::Confirm => "askuser confirm",
        Form::Input => "askuser input",
        _ => "askuser pick",
    };
    let for_inbox = |flag: &&str| args.value_source(flag) == Some(ValueSource::CommandLine);
    let request = match ["key", "from", "for", "detach"].into_iter().find(for_inbox) {
        Some(flag) if !is_kept(settings) => {
            return Err(Failure::new(format!("--{flag} is for questions that are kept in the inbox"))
                .hint("add --via inbox, or --via terminal,inbox to ask here too"));
        }
        _ => Request::new(key(args)?, set).with_deadline(settings.timeout),
    };
    if !is_kept(settings) {
        return filled_in(request, args);
    }
    let from = args.get_one::<String>("from").map_or(command, String::as_str);
    filled_in(request.with_origin(origin(from)).with_audience(audience(args, settings)?), args)
}

/// Returns the key in the arguments, or else a random key for this process.
fn key(args: &ArgMatches) -> Result<RequestKey, Failure> {
    match args.get_one::<String>("key") {
        Some(key) => Ok(RequestKey::new("askuser ask", key)),
        None => {
            let id = askuser_sys::random::id().or_fail("cannot get random numbers")?;
            Ok(RequestKey::new(format!("ask-{id}"), "ask"))
        }
    }
}

/// Returns the decision of the policy. The operator gets a notice about answers that match no question.
pub(super) fn decide(surfaces: &Surfaces, request: &Request) -> Result<Decision, Failure> {
    if let Some(words) = surfaces.unmatched(request) {
        notice(&words);
    }
    Ok(match surfaces.settle(request)? {
        Decision::Ask(known) if known.is_empty() => Decision::Ask(request.known().to_vec()),
        decision => decision,
    })
}

/// An asker at this terminal, which blocks the calling thread.
pub(super) struct ThisTerminal(pub(super) Options);

impl Asker for ThisTerminal {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            Ok(match only_a_person("answer at its terminal") {
                Ok(()) => ask_request(request, &self.0)?,
                Err(failure) => Resolution::unavailable(failure.message),
            }
            .into())
        })
    }
}

/// The longest wait for an unreachable server, if the caller does not wait for the answer.
const AWAY: Duration = Duration::from_secs(10);

/// Stores the question without waiting for the answer. Returns the exit code.
fn detach(request: &Request, settings: &Settings) -> Result<u8, Failure> {
    let asker = asker(settings, open_within(settings, patient(Some(AWAY)))?, None)?;
    let put = block_on(asker.keep(request, None)).map_err(|error| match error {
        StoreError::Unavailable { .. } | StoreError::Unknown { .. } => failed(error).code(exit::UNAVAILABLE),
        error => failed(error),
    })?;
    result::write(&format!("{}\n", put.question.id))?;
    done(put.attachment.detach())?;
    notifier::wait_until_called();
    Ok(exit::DETACHED)
}

/// Prints the result. If a prompt on this terminal has confirmed the answer, its confirmation replaces the output.
///
/// Without a prompt the answer counts as delivered once it is printed. With a prompt the terminal is restored first.
/// The next program of a pipeline may print on the terminal at once.
fn hand_over(
    delivery: Delivery,
    chain: impl Asker,
    request: &Request,
    settings: &Settings,
    is_prompted: bool,
) -> Result<Resolution, Failure> {
    if !is_prompted && let Err(failure) = print(request.set(), delivery.resolution(), settings) {
        drop(delivery.not_stored(failure.message.lines().next().unwrap_or_default()));
        return Err(failure);
    }
    let resolution = delivery.stored();
    drop(chain);
    let is_from_prompt = is_kept(settings) || matches!(resolution.via(), Some(Via::Terminal | Via::Line));
    let is_confirmed = is_from_prompt
        && settings.format.is_none()
        && settings.confirm != Confirm::None
        && std::io::stdout().is_terminal();
    if is_prompted && !is_confirmed {
        print(request.set(), &resolution, settings)?;
    }
    Ok(resolution)
}

/// Returns the look of the prompt. A question from the command line without a header is confirmed with its text.
fn prompt_options(args: &ArgMatches, settings: &Settings) -> Options {
    let mut options = terminal_options(settings);
    let is_nameless = args.contains_id("question") && !args.contains_id("header");
    if is_nameless && options.confirm == Confirm::Inline {
        options.confirm = Confirm::Asked;
    }
    // The value is printed on this terminal next.
    if settings.format == Some(Format::Value) && std::io::stdout().is_terminal() {
        options.confirm = Confirm::None;
    }
    options
}

/// Returns the request with the text of `input --value` as a known answer.
fn filled_in(request: Request, args: &ArgMatches) -> Result<Request, Failure> {
    let Ok(Some(text)) = args.try_get_one::<String>("value") else { return Ok(request) };
    let answer = request.set().questions()[0].answer(&[], Some(text.clone()), None);
    let in_flags = |bad: Violation| Violation { path: "--value".to_owned(), ..bad };
    request.with_known(answer.into_iter().collect()).map_err(|bad| source::invalid(bad.map(in_flags)))
}

/// Returns the failure of a command whose stored question was not answered while the command waited. A signal is no
/// error.
fn not_answered(
    error: Option<AskError>,
    agent: &Handle,
    request: &Request,
    stored_as: &OnceLock<QuestionId>,
) -> Failure {
    let code = match error {
        None | Some(AskError::Signal(_)) => exit::DETACHED,
        Some(AskError::Interrupted) => exit::INTERRUPTED,
        Some(AskError::Withdrawn) => {
            let ending = done(agent.get(request.key())).ok().and_then(|question| question.ending);
            let words = ending.map_or_else(|| "was withdrawn".into(), |ending| display::ended(request, &ending));
            return Failure::new(format!("the question {words}")).code(exit::ENDED_ELSEWHERE);
        }
        Some(error) => return Failure::new(error.chain()),
    };
    // The flush tells the store that this process has detached.
    let _ = done(agent.flush());
    let failure = match stored_as.get() {
        // The store has confirmed the question.
        Some(id) => Failure::new(format!("stopped waiting; the question stays in the inbox as {id}"))
            .hint(format!("`askuser wait {id}` waits for it again, `askuser withdraw {id}` withdraws it")),
        None => Failure::new("stopped before the inbox confirmed the question")
            .hint("`askuser inbox` lists it if it was stored"),
    };
    failure.code(code)
}

/// Returns the failure of a command whose prompt was closed without an answer.
pub(crate) fn broken_off(error: AskError) -> Failure {
    match error {
        AskError::Interrupted => Failure::new("interrupted").code(exit::INTERRUPTED),
        AskError::Signal(signal) => {
            // The terminal is restored, so the signal now takes its default action.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            Failure::new(format!("ended by signal {signal}")).code(128u8.saturating_add(signal as u8))
        }
        error => Failure::new(error.chain()).code(exit::UNAVAILABLE),
    }
}
