//! `askuser ask --via inbox`: the question is kept, and whoever asks waits for it, or comes back later.

use super::{asker, holding, open, origin, parse, runtime, words};
use crate::signals::Signals;
use askuser::store::Store;
use askuser::{AskError, Asker, Decision, Delivery, Request, RequestKey};
use askuser_cli::ask_here::{self, Input};
use askuser_cli::config::{Settings, Surface};
use askuser_cli::failure::{self, Failure, exit};
use askuser_cli::result::{self, print};
use askuser_cli::source;
use askuser_cli::surfaces::{Surfaces, terminal_options};
use askuser_inbox::InboxAsker;
use askuser_terminal::{Options, TerminalAsker};
use clap::ArgMatches;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (args, settings) = parse(askuser_cli::args::ask(), words)?;
    if !settings.via.contains(&Surface::Inbox) {
        return ask_here::run(Input::read(&args, &settings)?, &settings, askuser_terminal::ask_request);
    }
    failure::outlive_file_size_limit();
    let set = source::question_set(&args, &settings).map_err(|rejected| result::rejected(rejected, &settings))?;
    let from = args.get_one::<String>("from").map_or("askuser ask", String::as_str);
    let request = Request::new(key(&args), set).with_origin(origin(from)).with_deadline(settings.timeout);
    let surfaces = Surfaces::of(&settings)?;
    if let Some(words) = surfaces.unmatched(&request) {
        failure::notice("askuser", &words);
    }
    let known = match surfaces.decide(&request)? {
        Decision::Settled(resolution) => {
            print(request.set(), &resolution, &settings)?;
            return result::code(&resolution, &settings);
        }
        Decision::Ask(known) => known,
    };
    let request = request.with_known(known).map_err(Failure::new)?;
    if args.get_flag("detach") {
        return detach(&request, &settings);
    }
    let here = surfaces.asks_at_the_terminal() && askuser_terminal::has_terminal().is_ok();
    let inbox = open(&settings)?;
    let terminal = here.then(|| {
        let options = Options { on_hold: holding(&inbox), ..terminal_options(&settings) };
        Arc::new(TerminalAsker::new(options)) as Arc<dyn Asker>
    });
    let asker = asker(&settings, inbox, terminal)?.telling(move |question| {
        if !here {
            failure::notice("askuser", &words::how_to_answer(question));
        }
    });
    wait(asker, &request, &settings)
}

/// Names the question: by the key that was given, or else by this very process.
fn key(args: &ArgMatches) -> RequestKey {
    match args.get_one::<String>("key") {
        Some(key) => RequestKey::new("askuser ask", key),
        None => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
            RequestKey::new(format!("ask-{}-{now:x}", std::process::id()), "ask")
        }
    }
}

/// Keeps the question and does not wait for it.
fn detach(request: &Request, settings: &Settings) -> Result<u8, Failure> {
    let asker = asker(settings, open(settings)?, None)?;
    let question = asker.put(request).map_err(super::failed)?;
    result::write(&format!("{}\n", question.id))?;
    asker.inbox().store().detach(&question.id).map_err(super::failed)?;
    super::reach::wait_until_called();
    Ok(exit::DETACHED)
}

/// Waits until it is answered, here or anywhere. Whoever stops waiting takes nothing back.
fn wait(asker: InboxAsker, request: &Request, settings: &Settings) -> Result<u8, Failure> {
    let runtime = runtime()?;
    let delivered = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(|error| Failure::new(format!("cannot start: {error}")))?;
        tokio::select! {
            delivered = asker.ask(request) => Ok(delivered),
            _ = signals.next() => Err(still_waits(&*asker.inbox().store().clone(), request)),
        }
    })?;
    let delivery = match delivered {
        Ok(delivery) => delivery,
        Err(AskError::Withdrawn) => {
            let ended = asker.inbox().store().id_of(request.key()).ok().flatten();
            let question = ended.and_then(|id| asker.inbox().store().get(&id).ok());
            let by = question.and_then(|question| question.ending.map(|ending| words::ended(request.set(), &ending)));
            return Err(Failure::new(format!("the question {}", by.unwrap_or_else(|| "was withdrawn".into())))
                .code(exit::ENDED_ELSEWHERE));
        }
        Err(AskError::Interrupted) => {
            let waits = still_waits(&*asker.inbox().store().clone(), request);
            return Err(Failure { code: exit::INTERRUPTED, ..waits });
        }
        Err(AskError::Signal(_)) => return Err(still_waits(&*asker.inbox().store().clone(), request)),
        Err(error) => return Err(Failure::new(error.chain())),
    };
    hand_over(delivery, asker, request, settings)
}

/// Prints what came of it; only then does it count as delivered. A file or a program takes it over before the prompt shows
/// success; on a terminal it stands under the prompt.
fn hand_over(delivery: Delivery, asker: InboxAsker, request: &Request, settings: &Settings) -> Result<u8, Failure> {
    if std::io::stdout().is_terminal() {
        let resolution = delivery.stored();
        drop(asker);
        print(request.set(), &resolution, settings)?;
        return result::code(&resolution, settings);
    }
    match print(request.set(), delivery.resolution(), settings) {
        Ok(()) => result::code(&delivery.stored(), settings),
        Err(failure) => {
            drop(delivery.not_stored(failure.message.lines().next().unwrap_or_default()));
            Err(failure)
        }
    }
}

/// Nobody waits any more; the question does.
fn still_waits(store: &dyn Store, request: &Request) -> Failure {
    let failure = match store.id_of(request.key()) {
        Ok(Some(id)) => Failure::new(format!("stopped waiting; the question stays in the inbox as {id}"))
            .hint(format!("`askuser wait {id}` waits for it again, `askuser withdraw {id}` takes it back")),
        _ => Failure::new("stopped before the question was kept"),
    };
    failure.code(exit::DETACHED)
}
