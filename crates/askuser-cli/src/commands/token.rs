//! `askuser token`: manages credentials for agents on other machines. A credential has one scope, so an agent that can
//! ask cannot answer.

use super::init::clients::Client;
use super::init::{home, mcp_url};
use crate::config::Layers;
use crate::failure::{self, Failure, exit};
use crate::result::finish;
use crate::store::{administration, display, done, only_a_person};
use askuser::sanitize;
use askuser::store::{Credential, CredentialScope};
use askuser_serve::token::renew;
use clap::ArgMatches;

pub(super) fn run(args: &ArgMatches) -> Result<u8, Failure> {
    match args.subcommand() {
        Some(("new", args)) => new(args),
        Some(("list", args)) => list(args, false),
        Some(("revoke", args)) => revoke(args, false),
        _ => Ok(exit::BAD_INPUT),
    }
}

fn new(args: &ArgMatches) -> Result<u8, Failure> {
    only_a_person("make a token")?;
    let settings = Layers::detect(args)?.settings()?;
    let scope = CredentialScope::ALL.into_iter().find(|scope| args.get_flag(scope.name()));
    let scope = scope.ok_or_else(|| Failure::new("give one of --ask, --answer and --admin"))?;
    let name = args.get_one::<String>("name").map(|name| sanitize::line(name).trim().to_owned()).unwrap_or_default();
    let person = args.get_one::<String>("person").map(String::as_str);
    let made = done(renew(&*administration(&settings)?, &name, scope, person))?;
    if made.replaced > 0 {
        failure::notice(&format!("{name} has a new token; the one before does not count any more"));
    }
    let Some(client) = args.get_one::<String>("mcp-config").and_then(|name| Client::named(name)) else {
        return finish(&format!("{}\n", made.token));
    };
    let url = mcp_url(args.get_one::<String>("server").map(String::as_str), &settings)?;
    let file = client.user_file(&home()?);
    let text = client.http_file(&url, &made.token).map_err(Failure::new)?;
    failure::notice(&format!("for {} on the machine of {}", file.display(), client.title));
    finish(&text)
}

/// Lists the tokens, or the devices.
pub(super) fn list(args: &ArgMatches, of_devices: bool) -> Result<u8, Failure> {
    let settings = Layers::detect(args)?.settings()?;
    let known = done(administration(&settings)?.credentials())?;
    let lines: String = known.iter().filter(|known| known.made.is_device == of_devices).map(line).collect();
    if lines.is_empty() {
        failure::notice(if of_devices { "no device is paired" } else { "there are no tokens" });
    }
    finish(&lines)
}

/// Formats a credential as `phone  answer as ada  used 2026-11-16 12:04 from 10.0.0.7`.
fn line(credential: &Credential) -> String {
    let made = &credential.made;
    let address = made.address.as_deref().map(|address| format!(" from {address}")).unwrap_or_default();
    let used = match credential.seen_ms {
        Some(at) => format!("used {}{address}", display::date_time(at)),
        None => format!("made {}, never used", display::date_time(credential.made_ms)),
    };
    let person = made.person.as_deref().map(|person| format!(" as {person}")).unwrap_or_default();
    sanitize::line(&format!("{}  {}{person}  {used}", made.name, made.scope.name())).into_owned() + "\n"
}

pub(super) fn revoke(args: &ArgMatches, of_devices: bool) -> Result<u8, Failure> {
    only_a_person("revoke a token or a device")?;
    let settings = Layers::detect(args)?.settings()?;
    let name = args.get_one::<String>("name").map_or("", String::as_str);
    let store = administration(&settings)?;
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
    finish(&format!("revoked {name}\n"))
}
