//! `askuser config`: every setting, its value and where it came from.

use crate::args;
use crate::config::{Layers, misspelt_variables};
use crate::environment;
use crate::failure::{Failure, exit, notice};
use crate::result::write;
use askuser::sanitize;
use std::ffi::OsString;

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let layers = Layers::inspect(&super::arguments(args::config(), words)?);
    let mut out = String::new();
    for (setting, value, origin) in layers.rows() {
        out.push_str(&sanitize::line(&format!("{:<16}{value:<15} {origin}", setting.name)));
        out.push('\n');
    }
    write(&out)?;
    for (variable, meant) in misspelt_variables(environment::names()) {
        notice("askuser", &format!("{variable}: unknown variable, sets nothing; did you mean {meant}?"));
    }
    // A broken file and a bad value are errors here too, once it can be seen where everything comes from.
    layers.sound()?.settings().map(|_| exit::ANSWERED)
}
