//! `askuser pair`: approves the browser that shows a code, after the person has seen its address.

use super::init::confirm::{ask, is_answered_with};
use crate::config::Settings;
use crate::failure::{Failure, exit};
use crate::result::finish;
use crate::store::{administration, done, only_a_person, person};
use askuser::input::QuestionInput;
use askuser::{QuestionSet, Rules, sanitize};
use askuser_serve::pairing;
use clap::ArgMatches;

const YES: &str = "Let it in";

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    only_a_person("let a device in")?;
    let code = args.get_one::<String>("code").map_or("", String::as_str);
    let store = administration(settings)?;
    let pairing = done(pairing::of_code(&*store, code))?.ok_or_else(|| {
        Failure::new("no browser shows this code").hint("a code is good for five minutes; the page shows a new one")
    })?;
    let shown = |text: Option<String>| text.map(|text| sanitize::line(&text).chars().take(120).collect::<String>());
    let browser = shown(pairing.browser).unwrap_or_else(|| "an unknown browser".into());
    let address = shown(pairing.address).unwrap_or_else(|| "an unknown address".into());
    let whose = args.get_one::<String>("person").map(String::as_str);
    let answers = whose.map_or("answer your questions".into(), |name| format!("answer as {}", sanitize::line(name)));
    let question = QuestionInput::new(format!("Let this browser {answers}? {browser}, from {address}"), "Pair")
        .option(YES, "It may read every question, and answer what is not for others, until you revoke it")
        .option("Leave it out", "Nothing is changed");
    let set = QuestionSet::new([question], &Rules::strict()).map_err(Failure::new)?;
    let asked = ask(set, None, Vec::new(), settings).map_err(|failure| match failure.code {
        exit::UNAVAILABLE => failure.hint("only a person at a terminal lets a device in"),
        _ => failure,
    });
    if !is_answered_with(&asked?, YES) {
        return Ok(exit::NOT_ANSWERED);
    }
    // A server determines the person of the device.
    let person = whose.map(str::to_owned).or(pairing.person).unwrap_or_else(person);
    if done(store.approve_pairing(&pairing.id, &person))? {
        finish("paired; the page continues by itself\n")
    } else {
        Err(Failure::new("the code's time is over").hint("the page shows a new one"))
    }
}
