//! The entries that are on disk before a person is asked or a tool acts, because the machine may fail. Also the entries
//! that are kept in memory, and for how long.

use super::*;
use crate::{
    Access, Agent, PermissionMode, Permissions, Running, Script, Tool, ToolCall, ToolContext, ToolDefinition, tools,
};
use askuser::{Asker, Asking, Outcome, Via};
use futures_util::StreamExt;
use serde_json::json;
use std::cell::Cell;

thread_local! {
    /// The number of entries that this thread has written since the last sync.
    pub(super) static UNSYNCED: Cell<usize> = const { Cell::new(0) };
}

/// The events, each with the number of entries that were not yet on disk at that time.
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

/// Chooses the first option of every question.
struct Person(Log);

impl Asker for Person {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        note(&self.0, format!("ask {}", request.key().call));
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

/// Returns the remembered calls that have started, as `TASK/CALL`.
fn remembered(transcript: &Transcript) -> Vec<String> {
    let name = |line: &Line| match &line.entry {
        Entry::Started { id } => Some(line.tasks.iter().chain([id]).cloned().collect::<Vec<_>>().join("/")),
        _ => None,
    };
    transcript.inner().open.iter().filter_map(name).collect()
}

#[test]
fn what_a_call_may_need_is_forgotten_once_it_has_a_result_or_is_given_up_and_not_before() {
    let result = |id: &str| Entry::Result {
        id: id.into(),
        name: "Act".into(),
        result: crate::tool::ToolResult::ok(""),
        halt: None,
    };
    let user = || Entry::User { text: "x".into() };
    let all = ["1", "2", "1/1", "1/3/2", "2/1"];
    let after = |tasks: &[&str], entry: Entry| {
        let transcript = Transcript::in_memory();
        for path in all {
            let mut tasks: Vec<String> = path.split('/').map(str::to_owned).collect();
            let id = tasks.pop().unwrap();
            transcript.append(&tasks, &Entry::Started { id }).unwrap();
        }
        transcript.append(&tasks.iter().map(|task| (*task).to_owned()).collect::<Vec<_>>(), &entry).unwrap();
        remembered(&transcript)
    };
    assert_eq!(after(&[], result("1")), ["2", "2/1"], "with all subagents below it");
    assert_eq!(after(&["1"], result("1")), all, "the call above still asks whether anything has begun below it");
    assert_eq!(after(&["1"], result("3")), ["1", "2", "1/1", "2/1"]);
    assert_eq!(after(&[], result("3")), all);
    for gives_up in [user(), Entry::Interrupted, Entry::Cleared] {
        assert_eq!(after(&[], gives_up.clone()), Vec::<String>::new(), "{gives_up:?}");
        assert_eq!(after(&["1"], gives_up.clone()), all, "{gives_up:?} in a subagent");
    }
}

#[test]
fn the_conversation_that_was_read_back_is_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let id = transcript.id();
    transcript.append(&[], &Entry::User { text: "go".into() }).unwrap();
    drop(transcript);
    let transcript = Transcript::open(folder.path(), &id).unwrap();
    let read_back = transcript.replay();
    assert_eq!(read_back, [crate::AgentEvent::User { text: "go".into() }]);
    transcript.append(&[], &Entry::User { text: "else".into() }).unwrap();
    assert_eq!(transcript.replay(), read_back);
}

// Windows has no named pipes in folders.
#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_session_hangs_neither_the_list_nor_a_search_nor_taking_it_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0-0.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_eq!(Transcript::list(folder.path()), []);
    assert_eq!(Transcript::mention(folder.path(), "0-0", "x"), None);
    let error = Transcript::open(folder.path(), "0-0").unwrap_err().to_string();
    assert!(error.ends_with("0-0.jsonl: is a pipe, must be a regular file"), "{error}");
}

#[test]
fn what_was_kept_beside_a_session_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Transcript::create(folder.path(), folder.path()).unwrap().id();
    let beside = |id: &str, what: &str| folder.path().join(format!("{id}.{what}"));
    for id in [&kept, "gone"] {
        for what in ["undo", "outputs", "other"] {
            fs::create_dir_all(beside(id, what).join("below")).unwrap();
        }
    }
    for (id, what) in [("file", "undo"), ("gone", "draft"), (&kept, "draft")] {
        fs::write(beside(id, what), "x").unwrap();
    }
    Transcript::create(folder.path(), folder.path()).unwrap();
    let is_there = |id: &str| ["undo", "outputs", "other"].map(|what| beside(id, what).exists());
    assert_eq!((is_there(&kept), is_there("gone")), ([true; 3], [false, false, true]));
    assert!(beside("file", "undo").exists() && beside(&kept, "draft").exists() && !beside("gone", "draft").exists());
}
