//! An agent with a tool of its own, and a question on the way: `cargo run -p askuser-agent --example own_tool`
//!
//! The model follows a script and nobody has to answer, so it runs without a key and without a person.
#![allow(clippy::print_stdout, reason = "the events belong on stdout")]

use askuser::asker::{Asking, Request};
use askuser::{Asker, Outcome, Via};
use askuser_agent::{Access, Agent, Running, Script, Tool, ToolCall, ToolContext, ToolDefinition, ToolResult, tools};
use futures_util::StreamExt;
use serde_json::json;
use std::sync::Arc;

/// A tool is what models are told about it, what it does to the world, and what it does.
struct Count;

impl Tool for Count {
    fn definition(&self) -> ToolDefinition {
        let text = json!({"type": "string", "description": "What to count the words of"});
        let schema = json!({"type": "object", "properties": {"text": text}, "required": ["text"]});
        ToolDefinition { name: "Count".into(), description: "Counts the words of a text".into(), schema }
    }

    fn access(&self) -> Access {
        Access::Read // of a tool that acts, the loop asks permission first
    }

    fn run<'a>(&'a self, call: &'a ToolCall, _: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            Ok(match call.input["text"].as_str() {
                Some(text) => ToolResult::ok(format!("{} words", text.split_whitespace().count())),
                None => ToolResult::error("text: missing, must be a string"),
            })
        })
    }
}

/// Takes the first option of each question, and says that no person did. `askuser_terminal::TerminalAsker` asks one.
struct First;

impl Asker for First {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        let answers = request.set.questions().iter().filter_map(|question| question.answer(&[0], None, None));
        let outcome = Outcome::answered(&request.set, answers.collect());
        let outcome = outcome.unwrap_or_else(|| Outcome::unavailable("there is no first option", Vec::new()));
        Box::pin(async { Ok(outcome.with_via(Via::Policy)) })
    }
}

const SCRIPT: &str = r#"{"turns": [
    {"text": "Let me ask.", "calls": [{"name": "AskUserQuestion", "input": {"questions": [{
        "question": "Which title shall I count?", "header": "Title", "multiSelect": false, "options": [
            {"label": "War and Peace", "description": "Long"}, {"label": "Emma", "description": "Short"}
        ]}]}}]},
    {"calls": [{"name": "Count", "input": {"text": "War and Peace"}}]},
    {"text": "It has three."}
]}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = tools::talking().with(Count);
    let mut agent = Agent::new(Script::parse(SCRIPT)?).with_tools(tools).with_asker(Arc::new(First));
    let mut run = agent.run("Count the words of a title");
    while let Some(event) = run.next().await {
        println!("{}", serde_json::to_string(&event)?);
    }
    Ok(())
}
