//! What is on the disk before anybody is asked or anything acts: a machine that fails must not forget it.

use super::*;
use crate::{
    Access, Agent, PermissionMode, Permissions, Running, Script, Tool, ToolCall, ToolContext, ToolDefinition, tools,
};
use askuser::{Asker, Asking, Outcome, Via};
use futures_util::StreamExt;
use serde_json::json;
use std::cell::Cell;

thread_local! {
    /// How many entries this thread has written since the last sync.
    pub(super) static UNSYNCED: Cell<usize> = const { Cell::new(0) };
}

/// What was not yet on the disk when this was about to happen.
type Log = Arc<Mutex<Vec<(String, usize)>>>;

fn note(log: &Log, what: String) {
    log.lock().unwrap().push((what, UNSYNCED.get()));
}

struct Act(Log);

impl Tool for Act {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition { name: "Act".into(), description: "For tests".into(), schema: json!({"type": "object"}) }
    }

    fn access(&self) -> Access {
        Access::Act
    }

    fn run<'a>(&'a self, call: &'a ToolCall, _: &'a ToolContext) -> Running<'a> {
        note(&self.0, format!("act {}", call.id));
        Box::pin(async { Ok(crate::tool::ToolResult::ok("done")) })
    }
}

/// Takes the first option of everything.
struct Person(Log);

impl Asker for Person {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        note(&self.0, format!("ask {}", request.key().call()));
        let answers = request.set().questions().iter().map(|question| question.answer(&[0], None, None).unwrap());
        let outcome = Outcome::answered(request.set(), answers.collect()).unwrap();
        Box::pin(async move { Ok(outcome.through(Via::Terminal).into()) })
    }
}

async fn noted(mode: PermissionMode) -> Vec<(String, usize)> {
    let option = |label: &str| json!({"label": label, "description": "x"});
    let question =
        json!({"question": "Which?", "header": "Which", "multiSelect": false, "options": [option("a"), option("b")]});
    let calls = json!([
        {"name": "AskUserQuestion", "input": {"questions": [question]}},
        {"name": "Act", "input": {}},
        {"name": "Act", "input": {}},
    ]);
    let script = json!({"turns": [{"calls": calls}, {"text": "done"}]});
    let log = Log::default();
    let mut agent = Agent::new(Script::parse(&script.to_string()).unwrap())
        .with_tools(tools::talking().with(Act(log.clone())))
        .with_asker(Arc::new(Person(log.clone())))
        .with_permissions(Permissions::new(mode));
    let events: Vec<_> = agent.run("go").collect().await;
    assert!(matches!(events.last(), Some(crate::AgentEvent::Done { .. })), "{events:?}");
    let log = log.lock().unwrap();
    log.clone()
}

#[tokio::test]
async fn what_is_asked_and_what_is_about_to_act_is_on_the_disk_first() {
    let at = |what: &str| (what.to_owned(), 0);
    let acts = [at("ask call_1_1"), at("act call_1_2"), at("act call_1_3")];
    assert_eq!(noted(PermissionMode::Allow).await, acts);
    let asks = [at("ask call_1_1"), at("ask call_1_2"), at("act call_1_2"), at("ask call_1_3"), at("act call_1_3")];
    assert_eq!(noted(PermissionMode::Ask).await, asks);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_session_hangs_neither_the_list_nor_a_search_nor_taking_it_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0-0.jsonl");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    assert_eq!(Transcript::list(folder.path()), []);
    assert_eq!(Transcript::mention(folder.path(), "0-0", "x"), None);
    for refused in
        [Transcript::open(folder.path(), "0-0").map(drop), Transcript::repair(folder.path(), "0-0").map(drop)]
    {
        let error = refused.unwrap_err().to_string();
        assert!(error.ends_with("0-0.jsonl: is a pipe, must be a regular file"), "{error}");
    }
}
