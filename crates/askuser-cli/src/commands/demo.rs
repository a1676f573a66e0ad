//! `askuser demo`: the proposals' four examples, one after the other.

use super::ask::terminal;
use crate::args;
use crate::failure::{Failure, exit};
use crate::result::{exit_code, write};
use crate::source;
use crate::surfaces::terminal_options;
use crate::wrapped::wrapped_for;
use askuser::{Status, report};
use std::ffi::OsString;

const EXAMPLES: [(&str, &str); 4] = [
    ("1 of 4: choosing one", include_str!("../../demo/database.json")),
    ("2 of 4: choosing several", include_str!("../../demo/features.json")),
    ("3 of 4: two questions with a review", include_str!("../../demo/authentication.json")),
    ("4 of 4: your own words, under Other", include_str!("../../demo/package-manager.json")),
];

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (_, settings) = super::parse(args::demo(), words)?;
    let mut code = exit::ANSWERED;
    for (title, json) in EXAMPLES {
        let set = source::parse(json, &settings).map_err(source::invalid)?;
        write(&format!("\nExample {title} (? for keys, Ctrl-C to leave)\n"))?;
        let request = terminal::request(set, &settings);
        let options = terminal_options(&settings);
        let resolution = terminal::ask(&request, &settings, &options, &mut |_| Ok(()))?;
        if let Status::Unavailable { reason } = resolution.outcome().status() {
            return Err(Failure::new(format!("no person can be asked: {reason}"))
                .hint("run the demo in a terminal")
                .code(exit::UNAVAILABLE));
        }
        let prose = report::prose(request.set(), &resolution);
        write(&format!("\nThe model reads:\n\n{}\n", wrapped_for(std::io::stdout(), &prose)))?;
        code = code.max(exit_code(&resolution));
    }
    Ok(code)
}
