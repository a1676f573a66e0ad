//! Measures the cost of the loop itself. The model and the tools take no time.

use askuser::{Asker, Asking, Outcome, Request, Via};
use askuser_agent::{
    Access, Agent, AgentEvent, Model, ModelEvent, ModelRequest, ResponseStream, Running, Tool, ToolCall, ToolContext,
    ToolDefinition, ToolResult, Transcript, Usage, tools,
};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;

/// A model that calls a tool `count` times, once in each turn.
struct Calls {
    name: &'static str,
    input: Value,
    count: usize,
}

impl Model for Calls {
    fn name(&self) -> String {
        "calls".into()
    }

    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a> {
        let turn = request.messages.len() / 2;
        let event = if turn < self.count {
            let id = format!("call_{turn}");
            let name = self.name.into();
            let input = self.input.clone();
            ModelEvent::Call(ToolCall { id, name, input, extra: None })
        } else {
            ModelEvent::Text("done".into())
        };
        // Providers report token counts at the end of a response.
        let usage = Usage::new(100, 10);
        Box::pin(stream::iter([Ok(event), Ok(ModelEvent::Usage(usage))]))
    }
}

struct Nothing;

impl Tool for Nothing {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("Nothing", "Does nothing", json!({}))
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn run<'a>(&'a self, _: &'a ToolCall, _: &'a ToolContext) -> Running<'a> {
        Box::pin(async { Ok(ToolResult::ok("")) })
    }
}

/// Chooses the first option immediately.
struct First;

impl Asker for First {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let answers = request.set().questions().iter().filter_map(|question| question.answer(&[0], None, None));
            let outcome = Outcome::answered(request.set(), answers.collect());
            Ok(outcome.unwrap_or_else(|_| Outcome::cancelled()).through(Via::FrontEnd).into())
        })
    }
}

const TURNS: usize = 100;

fn nothing() -> Calls {
    Calls { name: "Nothing", input: json!({}), count: TURNS }
}

fn asking() -> Calls {
    let option = |label: &str| json!({"label": label, "description": "One of them"});
    let question = json!({
        "question": "Which database?", "header": "Database", "multiSelect": false,
        "options": [option("PostgreSQL"), option("SQLite")],
    });
    Calls { name: "AskUserQuestion", input: json!({ "questions": [question] }), count: TURNS }
}

fn agent(model: Calls, transcript: Transcript) -> Agent {
    let tools = tools::talking().with(Nothing);
    Agent::new(model).with_tools(tools).with_asker(Arc::new(First)).with_transcript(transcript)
}

/// Measures a hundred turns from the prompt to the last text.
fn turns(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let in_file = || Transcript::create(folder.path(), folder.path()).expect("a transcript");
    let mut group = c.benchmark_group("100 turns");
    group.throughput(criterion::Throughput::Elements(TURNS as u64));
    let mut bench = |name: &str, make: &dyn Fn() -> Agent| {
        let run = |mut agent: Agent| {
            let events: Vec<AgentEvent> = runtime.block_on(agent.run("go").collect());
            assert!(matches!(events.last(), Some(AgentEvent::Done { .. })));
            black_box(events).len()
        };
        group.bench_function(name, |b| b.iter_batched(make, run, BatchSize::PerIteration));
    };
    bench("a tool, in memory", &|| agent(nothing(), Transcript::in_memory()));
    bench("a tool, in a file", &|| agent(nothing(), in_file()));
    bench("a question, in memory", &|| agent(asking(), Transcript::in_memory()));
    bench("a question, in a file", &|| agent(asking(), in_file()));
}

criterion_group!(benches, turns);
criterion_main!(benches);
