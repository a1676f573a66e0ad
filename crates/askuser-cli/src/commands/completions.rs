//! `askuser completions`: prints a completion script, which the build script has generated.

use crate::failure::Failure;
use crate::result::finish;
use clap::ArgMatches;

include!(concat!(env!("OUT_DIR"), "/completions.rs"));

pub(super) fn run(args: &ArgMatches) -> Result<u8, Failure> {
    let shell = args.get_one::<String>("shell").map_or("", String::as_str);
    let script = COMPLETIONS.iter().find(|(name, _)| *name == shell);
    let (_, script) = script.ok_or_else(|| Failure::new(format!("no completions for {shell}")))?;
    finish(script)
}
