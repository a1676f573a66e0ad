//! `askuser man`: a manual page, made by the build script.

use crate::args;
use crate::failure::{Failure, exit};
use crate::result::write;
use std::ffi::OsString;

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let args = super::arguments(args::man(), words)?;
    let name = args.get_one::<String>("command").map_or("", String::as_str);
    let page = PAGES.iter().find(|(command, _)| *command == name);
    let (_, page) = page.ok_or_else(|| super::unknown_command(name))?;
    write(page).map(|()| exit::ANSWERED)
}
