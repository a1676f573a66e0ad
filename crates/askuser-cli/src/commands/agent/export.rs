//! `askuser agent export`: a session as Markdown.
//!
//! Text of the person and the model is quoted, and text of tools is fenced. No text can therefore pass for a heading of
//! the export.

use super::app::tool_calls::{details, shown_name};
use super::session;
use crate::failure::Failure;
use crate::result::finish;
use askuser::sanitize;
use askuser_agent::AgentEvent;
use clap::ArgMatches;

pub(crate) fn run(args: &ArgMatches) -> Result<u8, Failure> {
    let id = args.get_one::<String>("session").map_or("", String::as_str);
    let events = session::events(id)?;
    let parts: Vec<String> = events.iter().filter_map(part).collect();
    finish(&format!("# Session {id}\n\n{}", parts.join("\n")))
}

fn part(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::User { text } => format!("## User\n\n{}", quoted(text)),
        AgentEvent::Text { text } => format!("## Model\n\n{}", quoted(text)),
        AgentEvent::ToolStart { name, input, .. } => {
            format!("## Call: {}\n\n{}", shown_name(name), fenced(&format!("{input:#}"), "json"))
        }
        AgentEvent::ToolResult { name, result, .. } => {
            let failed = if result.success { "" } else { " (failed)" };
            let diff =
                details(result)["diff"].as_str().map(|diff| format!("\n{}", fenced(diff, "diff"))).unwrap_or_default();
            format!("## Result: {}{failed}\n\n{}{diff}", shown_name(name), fenced(&result.output, ""))
        }
        AgentEvent::Notice { message } => format!("## Beside the conversation\n\n{}", quoted(message)),
        AgentEvent::Error { error } => format!("## Stopped\n\n{}", quoted(&error.message)),
        AgentEvent::Compacted { .. } => {
            "## Summarised\n\nFrom here on the model reads a summary of what came before.\n".to_owned()
        }
        _ => return None,
    })
}

fn quoted(text: &str) -> String {
    sanitize::block(text.trim_end()).lines().map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect()
}

/// Puts a text between fences that are longer than any fence in it.
fn fenced(text: &str, language: &str) -> String {
    let text = sanitize::block(text.trim_end());
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{text}\n{fence}\n")
}
