//! `askuser completions`: a completion script, made by the build script.

use crate::args;
use crate::failure::{Failure, exit};
use crate::result::write;
use std::ffi::OsString;

include!(concat!(env!("OUT_DIR"), "/completions.rs"));

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let args = super::arguments(args::completions(), words)?;
    let shell = args.get_one::<String>("shell").map_or("", String::as_str);
    let script = COMPLETIONS.iter().find(|(name, _)| *name == shell);
    let (_, script) = script.ok_or_else(|| Failure::new(format!("no completions for {shell}")))?;
    write(script).map(|()| exit::ANSWERED)
}
