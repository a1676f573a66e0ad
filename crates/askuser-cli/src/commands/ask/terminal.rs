//! Asking right here, at the terminal.

use crate::config::Settings;
use crate::failure::{Failure, exit};
use crate::result::{self, print};
use crate::store::only_a_person;
use crate::surfaces::Surfaces;
use askuser::{AskError, Decision, QuestionSet, Request, RequestKey, Resolution, Stored, Via};
use askuser_terminal::{Options, StoreAnswer, ask_request};
use clap::ArgMatches;
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) fn run(set: QuestionSet, args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    for flag in ["key", "from", "for", "detach"] {
        if args.value_source(flag) == Some(clap::parser::ValueSource::CommandLine) {
            return Err(Failure::new(format!("--{flag} is for questions that are kept in the inbox"))
                .hint("add --via inbox, or --via terminal,inbox to ask here too"));
        }
    }
    let request = super::filled_in(request(set, settings), args)?;
    let mut options = super::prompt_options(args, settings);
    options.ends_process = true;
    let resolution = ask(&request, settings, &options, &mut |_| Ok(Stored::Done))?;
    // The terminal is restored: the next program of a pipeline may print on it at once.
    let was_prompted = matches!(resolution.via(), Some(Via::Terminal | Via::Line));
    if !(was_prompted && super::confirmation_suffices(settings)) {
        print(request.set(), &resolution, settings)?;
    }
    result::code(request.set(), &resolution, settings)
}

pub(crate) fn request(set: QuestionSet, settings: &Settings) -> Request {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let session = format!("ask-{}-{now:x}", std::process::id());
    Request::new(RequestKey::new(session, "ask"), set).with_deadline(settings.timeout)
}

/// Asks along the chain: what the policy settles is settled, the rest is asked at the terminal.
pub(crate) fn ask(
    request: &Request,
    settings: &Settings,
    options: &Options,
    store: StoreAnswer<'_>,
) -> Result<Resolution, Failure> {
    let surfaces = Surfaces::of(settings)?;
    let known = match super::decide(&surfaces, request)? {
        Decision::Settled(resolution) => return Ok(resolution),
        Decision::Ask(known) => known,
    };
    if let Err(failure) = only_a_person("answer at its terminal") {
        return Ok(Resolution::unavailable(failure.message));
    }
    let request = request.clone().with_known(known).map_err(Failure::new)?;
    ask_request(&request, options, store).map_err(broken_off)
}

pub(crate) fn broken_off(error: AskError) -> Failure {
    match error {
        AskError::Interrupted => Failure::new("interrupted").code(exit::INTERRUPTED),
        AskError::Signal(signal) => {
            // The terminal is restored; now the signal takes its usual effect.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            Failure::new(format!("ended by signal {signal}")).code(128u8.saturating_add(signal as u8))
        }
        error => Failure::new(error.chain()).code(exit::UNAVAILABLE),
    }
}
