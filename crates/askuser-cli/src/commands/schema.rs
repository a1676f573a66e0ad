//! `askuser schema`: prints the tool definition to give to a model.

use crate::failure::{Failure, exit, notice};
use crate::result::write;
use askuser::Limits;
use askuser::tool::{Extra, Provider, definition};
use clap::ArgMatches;
use std::io::IsTerminal;

pub(super) fn run(args: &ArgMatches) -> Result<u8, Failure> {
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
    // A person gets indented JSON, and a program gets it as in a request.
    let is_person = std::io::stdout().is_terminal();
    write(&if is_person { format!("{definition:#}\n") } else { format!("{definition}\n") })?;
    if provider == Provider::Gemini {
        notice("a request holds it as {\"tools\": [{\"functionDeclarations\": [DEFINITION]}]}");
    }
    Ok(exit::ANSWERED)
}
