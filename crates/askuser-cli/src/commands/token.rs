//! `askuser token`: credentials for agents elsewhere. Each has one scope: who asks cannot answer.

use crate::config::Layers;
use crate::failure::{Failure, exit};
use crate::result::write;
use crate::store::{done, open_kept, person, started_by_agent, words};
use askuser::sanitize;
use askuser::store::{Credential, CredentialScope};
use clap::ArgMatches;
use std::ffi::OsString;

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let args = super::arguments(crate::args::token(), words)?;
    match args.subcommand() {
        Some(("new", args)) => new(args),
        Some(("list", args)) => list(args, false),
        Some(("revoke", args)) => revoke(args, false),
        _ => Ok(exit::BAD_INPUT),
    }
}

/// An agent must not make itself what only a person has.
pub(super) fn refuse_agents(what: &str) -> Result<(), Failure> {
    match started_by_agent() {
        false => Ok(()),
        true => Err(Failure::new(format!("an agent started this command, and only a person can {what}"))
            .hint("run it in a terminal of your own")),
    }
}

fn new(args: &ArgMatches) -> Result<u8, Failure> {
    refuse_agents("make a token")?;
    let settings = Layers::detect(args)?.settings()?;
    let scope = CredentialScope::ALL.into_iter().find(|scope| args.get_flag(scope.name()));
    let scope = scope.ok_or_else(|| Failure::new("give one of --ask, --answer and --admin"))?;
    let name = args.get_one::<String>("name").map(|name| sanitize::line(name).trim().to_owned()).unwrap_or_default();
    let made = askuser_serve::token::make(&name, scope, &person());
    let (token, credential) = made.map_err(|error| Failure::new(format!("cannot get random numbers: {error}")))?;
    done(open_kept(&settings)?.add_credential(&credential))?;
    write(&format!("{token}\n"))?;
    Ok(exit::ANSWERED)
}

/// Tokens, or devices.
pub(super) fn list(args: &ArgMatches, of_devices: bool) -> Result<u8, Failure> {
    let settings = Layers::detect(args)?.settings()?;
    let known = done(open_kept(&settings)?.credentials())?;
    let lines: String = known.iter().filter(|known| known.made.is_device == of_devices).map(line).collect();
    write(&lines)?;
    Ok(exit::ANSWERED)
}

/// `ci  ask  used 2026-11-16 12:04 from 10.0.0.7`.
fn line(credential: &Credential) -> String {
    let made = &credential.made;
    let address = made.address.as_deref().map(|address| format!(" from {address}")).unwrap_or_default();
    let used = match credential.seen_ms {
        Some(at) => format!("used {}{address}", words::date_time(at)),
        None => format!("made {}, never used", words::date_time(credential.made_ms)),
    };
    sanitize::line(&format!("{}  {}  {used}", made.name, made.scope.name())).into_owned() + "\n"
}

pub(super) fn revoke(args: &ArgMatches, of_devices: bool) -> Result<u8, Failure> {
    let settings = Layers::detect(args)?.settings()?;
    let name = args.get_one::<String>("name").map_or("", String::as_str);
    let store = open_kept(&settings)?;
    let known = done(store.credentials())?;
    let named: Vec<&Credential> =
        known.iter().filter(|known| known.made.is_device == of_devices && known.made.name == name).collect();
    if named.is_empty() {
        let (what, list) = if of_devices { ("device", "askuser devices") } else { ("token", "askuser token list") };
        return Err(Failure::new(format!("there is no {what} {name:?}")).hint(format!("`{list}` lists them")));
    }
    for credential in named {
        done(store.revoke_credential(&credential.made.id))?;
    }
    write(&format!("revoked {name}\n"))?;
    Ok(exit::ANSWERED)
}
