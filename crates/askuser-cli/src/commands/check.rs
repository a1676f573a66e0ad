//! `askuser check`: prints violations and advice, without asking.

use crate::config::{Format, Settings};
use crate::failure::{Failure, exit};
use crate::result::write;
use crate::source::{self, Rejected};
use askuser::Violations;
use askuser::lint::lint;
use clap::ArgMatches;
use serde_json::json;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let machine = settings.format == Some(Format::Json);
    let text = match source::text(args) {
        Ok(text) => text,
        Err(Rejected { violations: Some(violations), .. }) if machine => return invalid(&violations),
        Err(rejected) => return Err(rejected.failure),
    };
    match source::parse(&text, settings) {
        Ok(set) => {
            let lints = lint(&set);
            if machine {
                write(&format!("{}\n", json!({"valid": true, "warnings": lints, "mended": set.mended()})))?;
            } else {
                let mut out = String::new();
                set.mended().iter().for_each(|line| out.push_str(&format!("mended: {line}\n")));
                lints.iter().for_each(|lint| out.push_str(&format!("warning: {lint}\n")));
                let count = set.questions().len();
                out.push_str(&format!("valid: {count} question{}\n", if count == 1 { "" } else { "s" }));
                write(&out)?;
            }
            Ok(exit::ANSWERED)
        }
        Err(violations) if machine => invalid(&violations),
        Err(violations) => Err(Failure::of("invalid input", &violations)),
    }
}

fn invalid(violations: &Violations) -> Result<u8, Failure> {
    write(&format!("{}\n", json!({"valid": false, "violations": violations})))?;
    Ok(exit::BAD_INPUT)
}
