//! What the command says about itself: tool definitions, settings, completions, manual pages.

use crate::args;
use crate::config::Layers;
use crate::failure::{Failure, exit};
use askuser::Limits;
use askuser::tool::{Provider, definition};
use clap::ArgMatches;
use clap_complete::Shell;
use std::io::Write;

/// Writes to standard output.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| Failure::new(format!("cannot write to standard output: {error}"))),
    }
}

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
    // Bad values are an error here too: the point is to see what would happen.
    layers.settings()?;
    let mut out = String::new();
    for (setting, value, origin) in layers.rows() {
        out.push_str(&format!("{:<10}{value:<16}{origin}\n", setting.name));
    }
    write(&out)?;
    Ok(exit::ANSWERED)
}

pub(crate) fn completions(args: &ArgMatches) -> Result<u8, Failure> {
    let shell = match args.get_one::<String>("shell").map(String::as_str) {
        Some("bash") => Shell::Bash,
        Some("elvish") => Shell::Elvish,
        Some("fish") => Shell::Fish,
        Some("powershell") => Shell::PowerShell,
        _ => Shell::Zsh,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "askuser", &mut script);
    write(&String::from_utf8_lossy(&script))?;
    Ok(exit::ANSWERED)
}

pub(crate) fn man(args: &ArgMatches) -> Result<u8, Failure> {
    let mut command = args::command();
    command.build();
    if let Some(name) = args.get_one::<String>("command") {
        let Some(sub) = command.find_subcommand(name) else {
            return Err(Failure::new(format!("no command {name}")).hint("`askuser --help` lists them"));
        };
        command = sub.clone();
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::new(format!("cannot make the page: {error}")))?;
    write(&String::from_utf8_lossy(&page))?;
    Ok(exit::ANSWERED)
}
