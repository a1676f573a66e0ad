//! `askuser people`: manages the people to whom questions can be addressed by name.

use crate::config::Layers;
use crate::failure::{self, Failure, exit};
use crate::result::{finish, write};
use crate::store::{administration, display, done, only_a_person};
use askuser_serve::people::persons_name;
use clap::ArgMatches;

pub(super) fn run(args: &ArgMatches) -> Result<u8, Failure> {
    let (command, args) = args.subcommand().unwrap_or(("list", args));
    let store = administration(&Layers::detect(args)?.settings()?)?;
    if command == "list" {
        let line = |person: &askuser::store::Person| {
            format!("{}  added {}\n", askuser::sanitize::line(&person.name), display::date_time(person.added_ms))
        };
        return finish(&done(store.people())?.iter().map(line).collect::<String>());
    }
    only_a_person("add or remove a person")?;
    let name = persons_name(args.get_one::<String>("name").map_or("", String::as_str)).map_err(Failure::new)?;
    if command == "add" {
        let is_new = done(store.add_person(&name))?;
        return finish(&format!("{name} {}\n", if is_new { "was added" } else { "was there already" }));
    }
    let Some(removed) = done(store.remove_person(&name))? else {
        return Err(Failure::new(format!("there is no person {name:?}")).hint("`askuser people` lists them"));
    };
    write(&format!("{name} was removed, with {} of their tokens and devices\n", removed.revoked))?;
    if removed.waiting > 0 {
        let words =
            format!("questions that wait for {name} alone: {}; only their askers can end them", removed.waiting);
        failure::notice(&words);
    }
    Ok(exit::ANSWERED)
}
