//! `askuser ask --via inbox`: the question is kept; the caller waits for the answer, or comes back later.

use crate::config::Settings;
use crate::failure::{self, Failure, OrFail, exit};
use crate::notifier;
use crate::result::{self, print};
use crate::signals::until_signal;
use crate::store::{
    asker, at_the_terminal, audience, block_on, done, failed, open, open_within, origin, patient, person, runtime,
    words,
};
use crate::surfaces::Surfaces;
use askuser::store::{Handle, Principal, QuestionId, StoreError};
use askuser::{AskError, Asker, Decision, Form, Inbox, QuestionSet, Request, RequestKey};
use askuser_inbox::InboxAsker;
use askuser_terminal::TerminalAsker;
use clap::ArgMatches;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(super) fn run(set: QuestionSet, args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let command = match set.rules().form() {
        Form::Tool => "askuser ask",
        Form::Confirm => "askuser confirm",
        Form::Input => "askuser input",
        _ => "askuser pick",
    };
    let from = args.get_one::<String>("from").map_or(command, String::as_str);
    let request = Request::new(key(args)?, set).with_origin(origin(from)).with_deadline(settings.timeout);
    let request = super::filled_in(request.with_audience(audience(args, settings)?), args)?;
    let surfaces = Surfaces::of(settings)?;
    let known = match super::decide(&surfaces, &request)? {
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
    let here = surfaces.asks_at_the_terminal() && askuser_terminal::has_terminal().is_ok() && request.is_for(&person());
    let store = open(settings)?;
    let terminal = here.then(|| {
        let mut options = super::prompt_options(args, settings);
        options.kept_in = Some(Arc::new(at_the_terminal(&store)));
        Arc::new(TerminalAsker::new(options)) as Arc<dyn Asker>
    });
    let kept = Arc::new(OnceLock::new());
    let id = kept.clone();
    let asker = asker(settings, store, terminal)?.on_waiting(move |question| {
        let _ = id.set(question.id.clone());
        if !here {
            failure::notice(&words::how_to_answer(question));
        }
    });
    wait(asker, &request, settings, here, &kept)
}

/// Names the question: by the key that was given, or else by this very process.
fn key(args: &ArgMatches) -> Result<RequestKey, Failure> {
    match args.get_one::<String>("key") {
        Some(key) => Ok(RequestKey::new("askuser ask", key)),
        None => {
            let id = askuser_inbox::random_id().or_fail("cannot get random numbers")?;
            Ok(RequestKey::new(format!("ask-{id}"), "ask"))
        }
    }
}

/// How long a server that is away is waited for by a caller that does not wait for the answer.
const AWAY: Duration = Duration::from_secs(10);

/// Keeps the question and does not wait for it.
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

/// Waits until it is answered, here or anywhere. To stop waiting takes nothing back.
fn wait(
    asker: InboxAsker,
    request: &Request,
    settings: &Settings,
    is_prompted: bool,
    kept: &OnceLock<QuestionId>,
) -> Result<u8, Failure> {
    let runtime = runtime()?;
    let delivered = runtime.block_on(until_signal(asker.ask(request)))?;
    let agent = store(&asker, request);
    let delivery = match delivered {
        None | Some(Err(AskError::Signal(_))) => return Err(still_waits(&agent, kept.get())),
        Some(Ok(delivery)) => delivery,
        Some(Err(AskError::Withdrawn)) => {
            let question = done(agent.get(request.key())).ok();
            let by =
                question.and_then(|question| question.ending.map(|ending| words::ended(&question.request, &ending)));
            return Err(Failure::new(format!("the question {}", by.unwrap_or_else(|| "was withdrawn".into())))
                .code(exit::ENDED_ELSEWHERE));
        }
        Some(Err(AskError::Interrupted)) => {
            return Err(Failure { code: exit::INTERRUPTED, ..still_waits(&agent, kept.get()) });
        }
        Some(Err(error)) => return Err(Failure::new(error.chain())),
    };
    // Without a prompt it counts as delivered once it is printed. With one the terminal is restored first: the next program of a
    // pipeline may print on it at once.
    if !is_prompted && let Err(failure) = print(request.set(), delivery.resolution(), settings) {
        drop(delivery.not_stored(failure.message.lines().next().unwrap_or_default()));
        return Err(failure);
    }
    let resolution = delivery.stored();
    drop(asker);
    let _ = done(agent.flush());
    if is_prompted && !super::confirmation_suffices(settings) {
        print(request.set(), &resolution, settings)?;
    }
    result::code(request.set(), &resolution, settings)
}

fn store(asker: &InboxAsker, request: &Request) -> Handle {
    asker.handle(Principal::agent(request.origin()))
}

/// The error of a process that stops waiting. The question stays pending if the store has confirmed it.
fn still_waits(store: &Handle, kept: Option<&QuestionId>) -> Failure {
    // The store learns that this process has left.
    let _ = done(store.flush());
    let failure = match kept {
        Some(id) => Failure::new(format!("stopped waiting; the question stays in the inbox as {id}"))
            .hint(format!("`askuser wait {id}` waits for it again, `askuser withdraw {id}` withdraws it")),
        None => Failure::new("stopped before the inbox confirmed the question")
            .hint("`askuser inbox` lists it if it was stored"),
    };
    failure.code(exit::DETACHED)
}
