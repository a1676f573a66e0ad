//! Adds a custom tool beside AskUserQuestion: `cargo run -p askuser-agent --example own_tool`
//!
//! The model follows a script, and the answer is prepared. So the example needs no API key and no person. For questions
//! in a terminal, use `askuser_terminal::TerminalAsker` as the asker.
#![allow(clippy::print_stdout, reason = "the events belong on stdout")]

use askuser::Chain;
use askuser::policy::{Answers, Policy};
use askuser_agent::{Access, Agent, Running, Script, Tool, ToolCall, ToolContext, ToolDefinition, ToolResult, tools};
use futures_util::StreamExt;
use serde_json::json;
use std::sync::Arc;

struct Count;

#[derive(serde::Deserialize)]
struct Input<'a> {
    text: &'a str,
}

impl Tool for Count {
    fn definition(&self) -> ToolDefinition {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        ToolDefinition::new("Count", "Counts the words of a text", schema)
    }

    fn access(&self) -> Access {
        Access::Read // before a tool that acts, the loop asks for permission
    }

    fn run<'a>(&'a self, call: &'a ToolCall, _: &'a ToolContext) -> Running<'a> {
        let result = call.typed_input().map(|Input { text }| {
            let words = text.split_whitespace().count();
            ToolResult::ok(format!("{words} words"))
        });
        // An invalid input is an ordinary result. The model reads the error and can correct the call.
        Box::pin(async move { Ok(result.unwrap_or_else(|invalid| invalid)) })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let option = |label: &str| json!({"label": label, "description": "A novel"});
    let options = [option("War and Peace"), option("Emma")];
    let question = json!({"question": "Which title?", "header": "Title", "multiSelect": false, "options": options});
    let script = json!({"turns": [
        {"text": "Let me ask.", "calls": [{"name": "AskUserQuestion", "input": {"questions": [question]}}]},
        {"if": "War and Peace", "calls": [{"name": "Count", "input": {"text": "War and Peace"}}]},
        {"text": "That is all."},
    ]});
    let answers = Answers::parse(&json!({"Title": "War and Peace"}))?;
    let mut agent = Agent::new(Script::parse(&script.to_string())?)
        .with_tools(tools::talking().with(Count))
        .with_asker(Arc::new(Chain::alone(Policy { answers: Some(answers), headless: None })));
    let mut run = agent.run("Count the words of a title");
    while let Some(event) = run.next().await {
        println!("{}", serde_json::to_string(&event)?);
    }
    Ok(())
}
