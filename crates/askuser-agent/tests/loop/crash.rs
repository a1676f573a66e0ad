//! A process may die at any byte, and a run may be dropped at any point. The session still ends in the same way. No
//! person is asked twice, and no tool acts twice.

use crate::support::{Log, ask, last_words, name_of, script};
use askuser::{Asker, Asking, Outcome, Request};
use askuser_agent::{
    Access, Agent, AgentEvent, Message, PermissionMode, Permissions, Run, Running, Script, Tool, ToolCall, ToolContext,
    ToolDefinition, ToolResult, Transcript, tools,
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::task::yield_now;

/// Returns a script with text, reads, a question, a plan, permitted actions, and two subagents that ask and act.
fn session() -> Script {
    let look = |at: &str| json!({"name": "Look", "input": {"at": at}});
    let act = |at: &str| json!({"name": "Act", "input": {"at": at}});
    let task = |what: &str| json!({"name": "Task", "input": {"description": what, "prompt": "Do it"}});
    script(json!({
        "turns": [
            {"text": "First I look.", "calls": [look("a"), look("b"), ask("Which database?")]},
            {"text": "Here is a plan.", "calls": [{"name": "ExitPlanMode", "input": {"plan": "1. Act"}}]},
            {"calls": [act("one"), look("c"), act("two")]},
            {"text": "Now the rest.", "calls": [task("audit"), task("tidy")]},
            {"text": "All is done."},
        ],
        "tasks": {
            "audit": [{"calls": [ask("Audit all?"), act("audit")]}, {"text": "audited"}],
            "tidy": [{"text": "Hm.", "calls": [look("d"), ask("Tidy all?")]}, {"text": "tidied"}],
        },
    }))
}

const END: &str = "All is done.";

/// Answers each question in a fixed way, and counts the questions by key.
struct Someone(Log);

impl Asker for Someone {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let key = name_of(request.key());
            self.0.add(format!("asked {key}"));
            yield_now().await;
            yield_now().await;
            self.0.add(format!("replied {key}"));
            let answers = request.set().questions().iter().map(|question| {
                let is_question = request.key().purpose == askuser::Purpose::Question;
                let note = is_question.then(|| "carefully".to_owned());
                question.answer(&[0], None, note).unwrap()
            });
            Ok(Outcome::answered(request.set(), answers.collect()).unwrap().through(askuser::Via::Terminal).into())
        })
    }
}

struct Does(&'static str, Access, Log);

impl Tool for Does {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(self.0, "For tests", json!({"type": "object"}))
    }

    fn access(&self) -> Access {
        self.1
    }

    fn run<'a>(&'a self, call: &'a ToolCall, _: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            let at = call.input["at"].as_str().unwrap_or_default();
            self.2.add(format!("{} {at}", self.0));
            yield_now().await;
            yield_now().await;
            Ok(ToolResult::ok(format!("{} {at}: ok", self.0)))
        })
    }
}

fn agent(log: &Log, mode: PermissionMode) -> Agent {
    let tools =
        tools::talking().with(Does("Look", Access::Read, log.clone())).with(Does("Act", Access::Act, log.clone()));
    Agent::new(session())
        .with_tools(tools)
        .with_asker(Arc::new(Someone(log.clone())))
        .with_permissions(Permissions::new(mode))
}

/// Creates a folder in memory if the system has one, because the test syncs often.
fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Returns the agent at the start of the session or after it. A new session starts in plan mode.
fn go_on(agent: Agent) -> Agent {
    match agent.messages() {
        [] => agent.with_permissions(Permissions::new(PermissionMode::Plan)),
        _ => agent,
    }
}

fn start(agent: &mut Agent) -> Option<Run<'_>> {
    if agent.messages().is_empty() { Some(agent.run("go")) } else { agent.resume() }
}

/// Runs the session to its end, unless it is there already.
async fn finish(agent: &mut Agent) {
    if let Some(run) = start(agent) {
        let events: Vec<AgentEvent> = run.collect().await;
        assert_eq!(last_words(&events), END);
    }
    assert_eq!(agent.messages().last().map(Message::text).as_deref(), Some(END));
}

/// Runs a session without a crash. Returns its id, its file, its conversation and its log.
async fn whole(folder: &Path) -> (String, Vec<u8>, Vec<Message>, Log) {
    let log = Log::default();
    let transcript = Transcript::create(folder, folder).unwrap();
    let id = transcript.id();
    let path = transcript.path().unwrap();
    let mut agent = agent(&log, PermissionMode::Plan).with_transcript(transcript);
    finish(&mut agent).await;
    (id, fs::read(path).unwrap(), agent.messages().to_vec(), log)
}

/// The facts that a part of a session's file records.
#[derive(Default)]
struct Known {
    outcomes: Vec<String>,
    acted: Vec<String>,
    cut_off: bool,
}

fn known(bytes: &[u8]) -> Known {
    let mut known = Known::default();
    let mut names = BTreeMap::new();
    let mut open = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
        let id = |id: &Value| {
            let tasks =
                line["task"].as_array().into_iter().flatten().map(|task| format!("{}/", task.as_str().unwrap()));
            tasks.collect::<String>() + id.as_str().unwrap()
        };
        match line["type"].as_str().unwrap() {
            "assistant" => {
                for call in line["content"].as_array().unwrap().iter().filter(|block| block["type"] == "call") {
                    names.insert(id(&call["id"]), call["input"]["at"].as_str().unwrap_or_default().to_owned());
                }
            }
            "outcome" => known.outcomes.push(match line["purpose"].as_str().unwrap() {
                "question" => id(&line["id"]),
                purpose => format!("{}:{purpose}", id(&line["id"])),
            }),
            "started" => {
                known.acted.push(format!("Act {}", names[&id(&line["id"])]));
                open.push(id(&line["id"]));
            }
            "result" => open.retain(|other| *other != id(&line["id"])),
            _ => {}
        }
    }
    known.cut_off = !open.is_empty();
    known
}

const QUESTIONS: [&str; 7] = [
    "call_1_3",
    "call_2_1:plan",
    "call_3_1:permission",
    "call_3_3:permission",
    "call_4_1/call_1_1",
    "call_4_1/call_1_2:permission",
    "call_4_2/call_1_2",
];
const ACTS: [&str; 3] = ["Act one", "Act two", "Act audit"];

#[tokio::test]
async fn a_session_without_a_crash_asks_and_acts_once() {
    let folder = folder();
    let (_, _, _, log) = whole(folder.path()).await;
    for question in QUESTIONS {
        assert_eq!(log.count(&format!("asked {question}")), 1, "{question}: {:?}", log.lines());
    }
    for act in ACTS {
        assert_eq!(log.count(act), 1, "{act}");
    }
}

#[tokio::test]
async fn a_file_that_ends_at_any_byte_is_read_up_to_its_last_whole_line() {
    let folder = folder();
    let (id, bytes, ..) = whole(folder.path()).await;
    let path = folder.path().join(format!("{id}.jsonl"));
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    for end in 0..=bytes.len() {
        fs::write(&path, &bytes[..end]).unwrap();
        let opened = Transcript::open(folder.path(), &id);
        if end < first {
            assert!(opened.is_err());
            assert_eq!(fs::read(&path).unwrap(), &bytes[..end], "what is no transcript is left alone");
            continue;
        }
        opened.unwrap();
        let lacks_only_its_end = bytes.get(end) == Some(&b'\n');
        let whole = bytes[..end].iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let expected = if lacks_only_its_end { end + 1 } else { whole };
        assert_eq!(fs::read(&path).unwrap(), &bytes[..expected], "cut at {end}");
    }
}

#[tokio::test]
async fn a_crash_at_any_line_loses_nothing_and_does_nothing_twice() {
    let folder = folder();
    let (id, bytes, messages, _) = whole(folder.path()).await;
    let path = folder.path().join(format!("{id}.jsonl"));
    let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let ends = (first..=bytes.len()).filter(|end| {
        let line = bytes[..*end].iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        // The file is cut at the end of each line and at a few places inside each line.
        [0, 1, 40].contains(&(end - line)) || bytes.get(*end) == Some(&b'\n')
    });
    for end in ends {
        let known = known(&bytes[..end]);
        fs::write(&path, &bytes[..end]).unwrap();
        let log = Log::default();
        let transcript = Transcript::open(folder.path(), &id).unwrap();
        let mut agent = go_on(agent(&log, PermissionMode::Ask).with_transcript(transcript));
        finish(&mut agent).await;
        for question in QUESTIONS {
            let expected = usize::from(!known.outcomes.iter().any(|other| other == question));
            assert_eq!(log.count(&format!("asked {question}")), expected, "{question}, cut at {end}");
        }
        for act in ACTS {
            let expected = usize::from(!known.acted.iter().any(|other| other == act));
            assert_eq!(log.count(act), expected, "{act}, cut at {end}");
        }
        assert_eq!(agent.mode(), PermissionMode::Ask, "cut at {end}");
        if !known.cut_off {
            assert_eq!(agent.messages(), messages, "cut at {end}");
        }
    }
}

/// Polls a run `count` times. Returns its last event.
async fn polls(run: &mut Run<'_>, count: usize) -> Option<AgentEvent> {
    let mut last = None;
    for _ in 0..count {
        tokio::select! {
            biased;
            event = run.next() => match event {
                Some(event) => last = Some(event),
                None => break,
            },
            () = yield_now() => {}
        }
    }
    last
}

fn assert_each_once(log: &Log, when: &str) {
    for question in QUESTIONS {
        assert_eq!(log.count(&format!("replied {question}")), 1, "{question}, {when}: {:#?}", log.lines());
    }
    for act in ACTS {
        assert_eq!(log.count(act), 1, "{act}, {when}: {:#?}", log.lines());
    }
}

#[tokio::test]
async fn a_run_let_go_at_any_point_is_taken_up_by_the_same_agent() {
    let mut count = 0;
    loop {
        let log = Log::default();
        let mut agent = agent(&log, PermissionMode::Plan);
        let mut run = agent.run("go");
        let ended = matches!(polls(&mut run, count).await, Some(AgentEvent::Done { .. }));
        drop(run);
        finish(&mut agent).await;
        assert_each_once(&log, &format!("let go after {count}"));
        if ended {
            break;
        }
        count += 1;
    }
    assert!(count > 50, "{count}");
}

#[tokio::test]
async fn a_run_let_go_at_any_point_is_taken_up_from_its_file() {
    let mut count = 0;
    loop {
        let folder = folder();
        let log = Log::default();
        let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
        let id = transcript.id();
        let mut first = agent(&log, PermissionMode::Plan).with_transcript(transcript);
        let mut run = first.run("go");
        let ended = matches!(polls(&mut run, count).await, Some(AgentEvent::Done { .. }));
        drop(run);
        drop(first);
        let transcript = Transcript::open(folder.path(), &id).unwrap();
        let mut second = go_on(agent(&log, PermissionMode::Ask).with_transcript(transcript));
        finish(&mut second).await;
        assert_each_once(&log, &format!("let go after {count}"));
        if ended {
            break;
        }
        count += 1;
    }
}

#[tokio::test]
async fn crash_after_crash_after_crash_loses_nothing() {
    for first in 1..40 {
        let folder = folder();
        let log = Log::default();
        let id = Transcript::create(folder.path(), folder.path()).unwrap().id();
        for more in 0.. {
            let transcript = Transcript::open(folder.path(), &id).unwrap();
            let mut agent = go_on(agent(&log, PermissionMode::Ask).with_transcript(transcript));
            let Some(mut run) = start(&mut agent) else { break };
            // Each run gets one poll more than the previous one, so that the loop ends.
            if let Some(AgentEvent::Error { error }) = polls(&mut run, first + more).await {
                panic!("{error:?}");
            }
        }
        assert_each_once(&log, &format!("first after {first}"));
    }
}
