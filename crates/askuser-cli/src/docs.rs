//! What the command says about itself: tool definitions, settings, completions, manual pages.

use askuser::tool::{Provider, definition};
use askuser::{Limits, sanitize};
use askuser_cli::config::Layers;
use askuser_cli::failure::{Failure, exit};
use askuser_cli::result::write;
use clap::ArgMatches;

include!(concat!(env!("OUT_DIR"), "/generated.rs"));

pub(crate) fn schema(args: &ArgMatches) -> Result<u8, Failure> {
    let provider = match args.get_one::<String>("for").map(String::as_str) {
        Some("anthropic") => Provider::Anthropic,
        Some("openai") => Provider::OpenAi,
        Some("gemini") => Provider::Gemini,
        Some("mcp") => Provider::Mcp,
        _ => Provider::JsonSchema,
    };
    write(&format!("{:#}\n", definition(provider, &Limits::DEFAULT)))?;
    Ok(exit::ANSWERED)
}

pub(crate) fn config(layers: &Layers) -> Result<u8, Failure> {
    let mut out = String::new();
    for (setting, value, origin) in layers.rows() {
        out.push_str(&sanitize::line(&format!("{:<14}{value:<15} {origin}", setting.name)));
        out.push('\n');
    }
    write(&out)?;
    // A bad value is an error here too, once it can be seen where it comes from.
    layers.settings().map(|_| exit::ANSWERED)
}

pub(crate) fn completions(args: &ArgMatches) -> Result<u8, Failure> {
    let shell = args.get_one::<String>("shell").map_or("", String::as_str);
    print(COMPLETIONS, shell).unwrap_or_else(|| Err(Failure::new(format!("no completions for {shell}"))))
}

pub(crate) fn man(args: &ArgMatches) -> Result<u8, Failure> {
    let name = args.get_one::<String>("command").map_or("", String::as_str);
    print(PAGES, name)
        .unwrap_or_else(|| Err(Failure::new(format!("no command {name}")).hint("`askuser --help` lists them")))
}

fn print(texts: &[(&str, &str)], key: &str) -> Option<Result<u8, Failure>> {
    let (_, text) = texts.iter().find(|(name, _)| *name == key)?;
    Some(write(text).map(|()| exit::ANSWERED))
}
