//! `askuser pair`: lets in the browser that shows a code, after the person has seen where it is.

use super::init::confirm::{ask, is_answered_with};
use super::token::refuse_agents;
use crate::failure::{Failure, exit};
use crate::result::write;
use crate::store::{done, open_kept};
use askuser::input::QuestionInput;
use askuser::store::PairingKind;
use askuser::{QuestionSet, Rules, sanitize};
use askuser_serve::pairing::code_id;
use std::ffi::OsString;

const YES: &str = "Let it in";

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (args, settings) = super::parse(crate::args::pair(), words)?;
    refuse_agents("let a device in")?;
    let id = code_id(args.get_one::<String>("code").map_or("", String::as_str));
    let store = open_kept(&settings)?;
    let pairing = done(store.pairing(&id))?.filter(|pairing| pairing.kind == PairingKind::Code);
    let pairing = pairing.ok_or_else(|| {
        Failure::new("no browser shows this code").hint("a code is good for five minutes; the page shows a new one")
    })?;
    let shown = |text: Option<String>| text.map(|text| sanitize::line(&text).chars().take(120).collect::<String>());
    let browser = shown(pairing.browser).unwrap_or_else(|| "an unknown browser".into());
    let address = shown(pairing.address).unwrap_or_else(|| "an unknown address".into());
    let question =
        QuestionInput::new(format!("Let this browser answer your questions? {browser}, from {address}"), "Pair")
            .option(YES, "It may answer and read every question until you revoke it")
            .option("Leave it out", "Nothing is changed");
    let set = QuestionSet::new([question], &Rules::strict()).map_err(Failure::new)?;
    if !is_answered_with(&ask(set, None, Vec::new(), &settings)?, YES) {
        return Ok(exit::NOT_ANSWERED);
    }
    match done(store.approve_pairing(&id))? {
        true => {
            write("paired; the page goes on by itself\n")?;
            Ok(exit::ANSWERED)
        }
        false => Err(Failure::new("the code's time is over").hint("the page shows a new one")),
    }
}
