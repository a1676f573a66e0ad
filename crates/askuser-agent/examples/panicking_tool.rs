//! Shows that a panic of a tool fails only its call: `cargo run -p askuser-agent --example panicking_tool`
//!
//! The example needs panics that unwind. `./check` runs the example in the release profile, which sets this for
//! installed programs.
#![allow(clippy::print_stdout, reason = "the last words belong on stdout")]

use askuser_agent::{Access, Agent, AgentEvent, Running, Script, Tool, ToolCall, ToolContext, ToolDefinition, tools};
use futures_util::StreamExt;
use serde_json::json;

struct Broken;

impl Tool for Broken {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("Broken", "Panics", json!({"type": "object"}))
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn run<'a>(&'a self, _: &'a ToolCall, _: &'a ToolContext) -> Running<'a> {
        Box::pin(async { panic!("on purpose") })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = json!({"turns": [
        {"calls": [{"name": "Broken", "input": {}}]},
        {"if": "The tool panicked", "text": "I continue without it."},
    ]});
    let mut agent = Agent::new(Script::parse(&script.to_string())?).with_tools(tools::talking().with(Broken));
    let mut run = agent.run("Use the tool");
    while let Some(event) = run.next().await {
        if let AgentEvent::Done { text } = event {
            println!("{text}");
            return Ok(());
        }
    }
    Err("the turn broke off".into())
}
