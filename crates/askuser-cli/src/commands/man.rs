//! `askuser man`: prints a manual page, which the build script has generated.

use crate::failure::Failure;
use crate::result::finish;
use clap::ArgMatches;

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

pub(super) fn run(args: &ArgMatches) -> Result<u8, Failure> {
    let name = args.get_one::<String>("command").map_or("", String::as_str);
    let page = PAGES.iter().find(|(command, _)| *command == name);
    let (_, page) = page.ok_or_else(|| super::unknown_command(name))?;
    finish(page)
}
