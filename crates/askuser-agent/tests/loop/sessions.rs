//! The sessions of a folder: finding and listing them, their contents, and their open questions.

use crate::support::*;
use askuser::{Purpose, QuestionSet, Request, RequestKey, Rules};
use askuser_agent::{
    Agent, AgentEvent, Failure, FailureKind, Message, Model, ModelRequest, PermissionMode, RecordedModel,
    ResponseStream, Session, ToolResult, Transcript, Usage,
};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::tempdir;

/// Writes a session with these lines after its first line.
fn write_session(folder: &Path, id: &str, lines: &[Value]) -> PathBuf {
    let path = folder.join(format!("{id}.jsonl"));
    let first = json!({"type": "session", "id": id, "cwd": "/work", "version": "0"});
    let lines = [&first].into_iter().chain(lines).map(|line| {
        let mut line = line.clone();
        line["at"] = 1.into();
        format!("{line}\n")
    });
    fs::write(&path, lines.collect::<String>()).unwrap();
    path
}

fn user(text: &str) -> Value {
    json!({"type": "user", "text": text})
}

fn assistant(content: Value) -> Value {
    json!({"type": "assistant", "content": content, "usage": {"input_tokens": 1, "output_tokens": 2}})
}

fn result(id: &str, result: &ToolResult) -> Value {
    json!({"type": "result", "id": id, "name": "Look", "result": result})
}

fn changed_at(path: &Path, seconds: u64) -> SystemTime {
    let time = UNIX_EPOCH + Duration::from_secs(seconds);
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    time
}

#[test]
fn sessions_are_listed_with_the_first_words_and_the_last_one_first() {
    let folder = tempdir().unwrap();
    assert_eq!(Transcript::list(&folder.path().join("none")), []);
    let session = |id: &str, opening: &str, seconds: u64| {
        let words = [json!({"type": "mode", "mode": "plan"}), user(opening), user("later")];
        let path = write_session(folder.path(), id, if opening.is_empty() { &[] } else { &words });
        let changed = changed_at(&path, seconds);
        Session { id: id.into(), cwd: "/work".into(), opening: opening.into(), changed }
    };
    let expected = [session("b", "newest", 9), session("d", "", 5), session("c", "as old", 5), session("a", "old", 1)];
    // The following files are not sessions.
    fs::copy(folder.path().join("a.jsonl"), folder.path().join("a.damaged-1")).unwrap();
    fs::write(folder.path().join("empty.jsonl"), "").unwrap();
    fs::write(folder.path().join("other.jsonl"), format!("{}\n", json!({"at": 1, "type": "user", "text": "x"})))
        .unwrap();
    assert_eq!(Transcript::list(folder.path()), expected);
}

#[test]
fn a_session_that_is_only_opened_is_not_the_last_one_because_of_that() {
    let folder = tempdir().unwrap();
    let path = write_session(folder.path(), "a", &[user("go")]);
    let changed = changed_at(&path, 5);
    drop(Transcript::open(folder.path(), "a").unwrap());
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), changed);
}

#[test]
fn a_new_session_says_when_it_began_and_its_name_sorts_by_that() {
    let folder = tempdir().unwrap();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let before = now();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let line: Value = serde_json::from_slice(&fs::read(transcript.path().unwrap()).unwrap()).unwrap();
    let in_name = u64::from_str_radix(transcript.id().split('-').next().unwrap(), 16).unwrap();
    for at in [line["at"].as_u64().unwrap(), in_name] {
        assert!((before..=now()).contains(&at), "{at}");
    }
    assert_eq!(transcript.cwd(), folder.path());
}

// Windows has no file modes.
#[cfg(unix)]
#[test]
fn what_stands_in_a_session_is_nobody_elses_business() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempdir().unwrap();
    let sessions = folder.path().join("state/sessions");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let transcript = Transcript::create(&sessions, folder.path()).unwrap();
    assert_eq!((mode(&sessions), mode(&transcript.path().unwrap())), (0o700, 0o600));
}

#[test]
fn a_front_end_that_comes_back_sees_the_conversation_since_clear() {
    let folder = tempdir().unwrap();
    let call = json!({"type": "call", "id": "1", "name": "Look", "input": {"at": "a"}});
    let never_ran = json!({"type": "call", "id": "2", "name": "Look", "input": {}});
    let opaque = json!({"type": "opaque", "provider": "x", "value": {}});
    let looked = ToolResult::ok("seen");
    let mut in_subagent = user("of a subagent");
    in_subagent["task"] = json!(["1"]);
    let verbatim = json!([{"type": "said", "text": "go"}]);
    let compacted = json!({"type": "compacted", "summary": "s", "verbatim": verbatim, "kept": 0, "budget": 100,
                           "before_tokens": 9, "after_tokens": 2});
    let lines = [
        user("before"),
        json!({"type": "cleared"}),
        user("before that too"),
        json!({"type": "cleared"}),
        json!({"type": "mode", "mode": "plan"}),
        user("go"),
        assistant(json!([opaque, {"type": "text", "text": "I look."}, call, never_ran])),
        in_subagent,
        json!({"type": "started", "id": "1"}),
        result("1", &looked),
        json!({"type": "undone", "text": "for the model", "shown": "a.txt is as it was."}),
        compacted,
        json!({"type": "interrupted"}),
    ];
    write_session(folder.path(), "a", &lines);
    let (id, name) = (|| "1".to_owned(), || "Look".to_owned());
    let expected = [
        AgentEvent::Mode { mode: PermissionMode::Plan },
        AgentEvent::User { text: "go".into() },
        AgentEvent::Text { text: "I look.".into() },
        AgentEvent::ToolStart { id: id(), name: name(), input: json!({"at": "a"}) },
        AgentEvent::Usage { usage: Usage::new(1, 2) },
        AgentEvent::ToolResult { id: id(), name: name(), result: looked },
        AgentEvent::Notice { message: "a.txt is as it was.".into() },
        AgentEvent::Compacted { before_tokens: 9, after_tokens: 2, left_out: 0 },
        AgentEvent::Error { error: Failure::new(FailureKind::Interrupted, "interrupted") },
    ];
    assert_eq!(Transcript::open(folder.path(), "a").unwrap().replay(), expected);
}

#[test]
fn a_session_is_found_by_what_was_said_and_answered_in_it_and_by_nothing_else() {
    let folder = tempdir().unwrap();
    let call = json!({"type": "call", "id": "1", "name": "Look", "input": {"at": "an input"}});
    let answered =
        ToolResult::ok("Selected: Öl").with_title("Question", "1 question(s)").with_details(json!({"answers": []}));
    let path = write_session(
        folder.path(),
        "a",
        &[
            user("Some words\nthe second LINE\nmore"),
            json!({"type": "user_command", "command": "a command of mine", "result": ToolResult::ok("")}),
            assistant(json!([call, {"type": "text", "text": "My view."}])),
            result("1", &ToolResult::ok("the output of a tool")),
            result("1", &ToolResult::ok("titled output").with_title("Look", "it")),
            result("2", &answered),
            json!({"type": "compacted", "summary": "in short", "verbatim": [], "kept": 0, "budget": 1, "before_tokens": 9,
                   "after_tokens": 2}),
            user("the last line"),
        ],
    );
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen('\n', "\n{\"damaged\n", 1)).unwrap();
    let mention = |text: &str| Transcript::mention(folder.path(), "a", text);
    for (text, line) in [
        ("SECOND", "the second LINE"),
        ("line", "the second LINE"),
        ("command of", "a command of mine"),
        ("my view", "My view."),
        ("öL", "Selected: Öl"),
        ("short", "in short"),
    ] {
        assert_eq!(mention(text).as_deref(), Some(line), "{text}");
    }
    for text in ["an input", "the output", "titled", "Some words\nthe", "/work", "nowhere"] {
        assert_eq!(mention(text), None, "{text}");
    }
    assert_eq!(Transcript::mention(folder.path(), "b", "line"), None);
}

/// Returns the entry of an asked question. `chain` has the tasks and then `CALL` or `CALL:permission`.
fn asked(chain: &[&str]) -> Value {
    let (call, tasks) = chain.split_last().unwrap();
    let (id, purpose) = match call.strip_suffix(":permission") {
        Some(id) => (id, Purpose::Permission),
        None => (*call, Purpose::Question),
    };
    let tasks: Vec<String> = tasks.iter().map(|task| (*task).to_owned()).collect();
    let set = QuestionSet::parse(questions("Which?"), &Rules::strict()).unwrap();
    let request = Request::new(RequestKey::new("a", id).in_tasks(&tasks).for_purpose(purpose), set);
    json!({"type": "asked", "id": id, "purpose": purpose, "request": request, "task": tasks})
}

/// Returns the open questions of a session with these lines, as `TASK/CALL:purpose`.
fn pending(lines: &[Value]) -> Vec<String> {
    let folder = tempdir().unwrap();
    write_session(folder.path(), "a", lines);
    let pending = Transcript::open(folder.path(), "a").unwrap().pending();
    pending.iter().map(|request| name_of(request.key())).collect()
}

#[test]
fn a_question_waits_until_it_has_an_outcome_or_its_call_is_over() {
    let in_task = |task: &str, mut line: Value| {
        line["task"] = json!([task]);
        line
    };
    let over = |id: &str| result(id, &ToolResult::ok("over"));
    let outcome =
        |id: &str| json!({"type": "outcome", "id": id, "purpose": "question", "outcome": {"status": "cancelled"}});
    let both = [asked(&["1"]), asked(&["2", "1"]), asked(&["1:permission"])];
    let after = |lines: &[Value]| pending(&[&both, lines].concat());
    assert_eq!(after(&[]), ["1", "2/1", "1:permission"]);
    // A question that is asked again after a crash is listed once.
    assert_eq!(after(&both), ["1", "2/1", "1:permission"]);
    assert_eq!(after(&[outcome("1")]), ["2/1", "1:permission"]);
    assert_eq!(after(&[in_task("2", outcome("1"))]), ["1", "1:permission"]);
    assert_eq!(after(&[over("1")]), ["2/1"]);
    assert_eq!(after(&[in_task("2", over("1"))]), ["1", "1:permission"]);
    assert_eq!(after(&[over("2")]), ["1", "1:permission"], "a subagent ends with the call that started it");
    assert_eq!(after(&[over("3"), in_task("3", over("2")), in_task("3", over("1"))]), ["1", "2/1", "1:permission"]);
    for gives_up in [user("else"), json!({"type": "interrupted"}), json!({"type": "cleared"})] {
        assert_eq!(after(std::slice::from_ref(&gives_up)), Vec::<String>::new(), "{gives_up}");
        assert_eq!(after(&[in_task("2", gives_up.clone())]), ["1", "2/1", "1:permission"], "{gives_up} in a subagent");
    }
    let later = [user("else"), asked(&["3"]), asked(&["3", "4"])];
    assert_eq!(after(&later), ["3", "3/4"], "a later question does not bring back what was given up");
    let deep = |line: Value| pending(&[asked(&["1", "2", "3"]), line]);
    assert_eq!(deep(over("3")), ["1/2/3"]);
    assert_eq!((deep(in_task("1", over("2"))), deep(over("1"))), (vec![], vec![]), "with all subagents below it");
}

#[tokio::test]
async fn a_subagent_that_only_looked_is_not_reported_as_cut_off_half_way() {
    let task = json!({"type": "call", "id": "1", "name": "Task", "input": {}});
    let look = json!({"type": "call", "id": "1", "name": "Look", "input": {}});
    let below = |tasks: &[&str], mut line: Value| {
        line["task"] = json!(tasks);
        line
    };
    let lines =
        [user("go"), assistant(json!([task])), below(&["1"], user("do it")), below(&["1"], assistant(json!([look])))];
    let started = || json!({"type": "started", "id": "1"});
    let no_effect = "This was cut off before it had any effect: nothing was changed by it.";
    let unfinished = "This was cut off before it had finished.";
    for (last, read) in [
        (below(&["1"], result("1", &ToolResult::ok("seen"))), no_effect),
        (below(&["2"], started()), no_effect),
        (below(&["1"], started()), unfinished),
        (below(&["1", "3"], started()), unfinished),
        (below(&["1"], asked(&["1"])), unfinished),
    ] {
        let folder = tempdir().unwrap();
        write_session(folder.path(), "a", &[&lines[..], std::slice::from_ref(&last)].concat());
        let (model, requests) = watched(script(json!({"turns": [{"text": "1"}, {"text": "2"}]})));
        let mut agent = Agent::new(model).with_transcript(Transcript::open(folder.path(), "a").unwrap());
        finish(&mut agent, "else").await;
        let seen = requests.all().pop().unwrap();
        let Some(Message::Results { results }) = seen.messages.get(2) else { panic!("{seen:?}") };
        assert_eq!((results.len(), results[0].output.as_str()), (1, read), "{last}");
    }
}

/// A model of a provider that responds with one word.
struct Provided(&'static str);

impl Model for Provided {
    fn name(&self) -> String {
        self.0.into()
    }

    fn recorded(&self) -> Option<RecordedModel> {
        Some(RecordedModel::new(self.0, false))
    }

    fn respond<'a>(&'a self, _: ModelRequest<'a>) -> ResponseStream<'a> {
        Box::pin(futures_util::stream::iter([Ok(askuser_agent::ModelEvent::Text("ok".into()))]))
    }
}

#[tokio::test]
async fn the_model_that_answered_last_is_written_down_once_and_remembered() {
    let folder = tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let id = transcript.id();
    let path = transcript.path().unwrap();
    assert_eq!(transcript.model(), None);
    drop(transcript);
    for (model, turns) in [("a/one", 2), ("a/two", 1), ("a/two", 1)] {
        let mut agent = Agent::new(Provided(model)).with_transcript(Transcript::open(folder.path(), &id).unwrap());
        for _ in 0..turns {
            finish(&mut agent, "go").await;
        }
        assert_eq!(agent.transcript().model().unwrap().name, model);
    }
    assert_eq!(Transcript::open(folder.path(), &id).unwrap().model().unwrap().name, "a/two");
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let names: Vec<Value> = lines.filter(|line| line["type"] == "model").map(|line| line["name"].clone()).collect();
    assert_eq!(names, ["a/one", "a/two"]);
}
