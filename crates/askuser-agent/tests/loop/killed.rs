//! A process that is killed repeatedly, with subagents, summaries and messages sent meanwhile. No action is repeated,
//! and no typed message is lost.

use crate::support::{Log, registry};
use askuser_agent::{
    Agent, AgentEvent, Message, Model, ModelEvent, ModelRequest, PermissionMode, Permissions, ResponseStream, ToolCall,
    Transcript,
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

const KILLS: usize = 200;

/// A model that acts on the last message, itself and through a subagent. Its response follows from the last message
/// alone, so the test can kill the agent.
struct Acting;

impl Model for Acting {
    fn name(&self) -> String {
        "acting".into()
    }

    fn context_window(&self) -> Option<u64> {
        Some(4_000)
    }

    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a> {
        let call = |name: &str, input: Value| {
            ModelEvent::Call(ToolCall { id: String::new(), name: name.into(), input, extra: None })
        };
        let events = match (request.messages.last(), request.task) {
            _ if request.tools.is_empty() => vec![ModelEvent::Text("Task: words.".into())],
            (Some(Message::User { text }), Some(_)) => vec![call("Act", json!({"at": format!("below {text}")}))],
            (Some(Message::User { text }), None) => {
                let task = json!({"description": "below", "prompt": text});
                vec![ModelEvent::Text("x".repeat(2_000)), call("Act", json!({"at": text})), call("Task", task)]
            }
            _ => vec![ModelEvent::Text("ok".into())],
        };
        Box::pin(stream::iter(events.into_iter().map(Ok)))
    }
}

fn agent(folder: &Path, id: &str, log: &Log) -> Agent {
    Agent::new(Acting)
        .with_tools(registry(log))
        .with_permissions(Permissions::new(PermissionMode::Allow))
        .with_transcript(Transcript::open(folder, id).unwrap())
}

#[tokio::test]
async fn of_200_kills_none_does_anything_twice_or_loses_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::default();
    let id = Transcript::create(folder.path(), folder.path()).unwrap().id();
    let mut chance = 7_u64;
    let mut summaries = 0;
    for n in 0..=KILLS {
        let (handle, mut events) = agent(folder.path(), &id, &log).start();
        handle.say(format!("word {n}")).unwrap();
        if n == KILLS {
            drop(handle);
            while events.next().await.is_some() {}
            break;
        }
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        for _ in 0..(chance >> 33) % 30 {
            let Some(event) = events.next().await else { break };
            summaries += usize::from(matches!(event, AgentEvent::Compacted { .. }));
            // The turn is over, so no further event follows.
            if matches!(event, AgentEvent::Done { .. }) {
                break;
            }
        }
    }
    let record = std::fs::read_to_string(folder.path().join(format!("{id}.jsonl"))).unwrap();
    let lines = record.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let heard: Vec<String> = lines
        .filter(|line| line["type"] == "user" && line.get("task").is_none())
        .map(|line| line["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(heard, (0..=KILLS).map(|n| format!("word {n}")).collect::<Vec<_>>());
    let mut begun: HashMap<String, usize> = HashMap::new();
    for line in log.lines().into_iter().filter(|line| line.starts_with("begin")) {
        *begun.entry(line).or_default() += 1;
    }
    assert!(begun.values().all(|count| *count == 1), "{begun:?}");
    let below = begun.keys().filter(|line| line.contains("below")).count();
    assert!(summaries > 10 && below > 10 && begun.len() > 50, "{summaries} summaries, {below} below, {}", begun.len());
}
