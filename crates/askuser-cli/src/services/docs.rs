//! What the command says about itself: tool definitions, settings, completions, manual pages.

use crate::commands::unknown_command;
use askuser::tool::{Extra, Provider, definition};
use askuser::{Limits, sanitize};
use askuser_cli::config::{Layers, misspelt_variables};
use askuser_cli::failure::{Failure, exit, notice};
use askuser_cli::result::write;
use clap::ArgMatches;
use std::io::IsTerminal;

include!(concat!(env!("OUT_DIR"), "/generated.rs"));

pub(crate) fn schema(args: &ArgMatches) -> Result<u8, Failure> {
    let provider = match args.get_one::<String>("for").map(String::as_str) {
        Some("anthropic") => Provider::Anthropic,
        Some("openai") => Provider::OpenAi,
        Some("openai-responses") => Provider::OpenAiResponses,
        Some("gemini") => Provider::Gemini,
        Some("mcp") => Provider::Mcp,
        _ => Provider::JsonSchema,
    };
    let extra = |name: &String| if name == "plan" { Extra::Plan } else { Extra::Preview };
    let extras: Vec<Extra> = args.get_many::<String>("with").unwrap_or_default().map(extra).collect();
    let definition = definition(provider, &Limits::DEFAULT, &extras);
    // Indented for whoever looks at it; a program gets what a request would carry.
    write(&match std::io::stdout().is_terminal() {
        true => format!("{definition:#}\n"),
        false => format!("{definition}\n"),
    })?;
    if provider == Provider::Gemini {
        notice("askuser", "a request holds it as {\"tools\": [{\"functionDeclarations\": [DEFINITION]}]}");
    }
    Ok(exit::ANSWERED)
}

pub(crate) fn config(layers: Layers) -> Result<u8, Failure> {
    let mut out = String::new();
    for (setting, value, origin) in layers.rows() {
        out.push_str(&sanitize::line(&format!("{:<16}{value:<15} {origin}", setting.name)));
        out.push('\n');
    }
    write(&out)?;
    for (variable, meant) in misspelt_variables(variables()) {
        notice("askuser", &format!("{variable}: unknown variable, sets nothing; did you mean {meant}?"));
    }
    // A broken file and a bad value are errors here too, once it can be seen where everything comes from.
    layers.sound()?.settings().map(|_| exit::ANSWERED)
}

/// The names of all variables.
pub(crate) fn variables() -> impl Iterator<Item = String> {
    std::env::vars_os().filter_map(|(name, _)| name.into_string().ok())
}

pub(crate) fn completions(args: &ArgMatches) -> Result<u8, Failure> {
    let shell = args.get_one::<String>("shell").map_or("", String::as_str);
    print(COMPLETIONS, shell).unwrap_or_else(|| Err(Failure::new(format!("no completions for {shell}"))))
}

pub(crate) fn man(args: &ArgMatches) -> Result<u8, Failure> {
    let name = args.get_one::<String>("command").map_or("", String::as_str);
    print(PAGES, name).unwrap_or_else(|| Err(unknown_command(name)))
}

fn print(texts: &[(&str, &str)], key: &str) -> Option<Result<u8, Failure>> {
    let (_, text) = texts.iter().find(|(name, _)| *name == key)?;
    Some(write(text).map(|()| exit::ANSWERED))
}
