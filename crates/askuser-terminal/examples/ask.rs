//! Asks on the controlling terminal, even if the standard streams are redirected.
//!
//! `cargo run -p askuser-terminal --example ask`
#![allow(clippy::print_stdout, reason = "the answer belongs on stdout")]

use askuser::{QuestionSet, Rules, report};
use askuser_terminal::{Options, ask};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let set = QuestionSet::from_json(include_str!("database.json"), &Rules::default())?;
    let outcome = ask(&set, &Options::detect())?;
    println!("{}", report::prose(&set, &outcome));
    Ok(())
}
