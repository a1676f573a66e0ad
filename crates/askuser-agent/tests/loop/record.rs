//! The transcript: what a session reads back from it, and the errors of writing it.

use crate::support::*;
use askuser_agent::{Agent, Message, PermissionMode, Permissions, Transcript, TranscriptError, tools};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::tempdir;

/// Cuts off a session's file after the first line that fits.
fn cut_after(folder: &Path, id: &str, fits: impl Fn(&Value) -> bool) {
    let path = folder.join(format!("{id}.jsonl"));
    let text = fs::read_to_string(&path).unwrap();
    let last = text.lines().position(|line| fits(&serde_json::from_str(line).unwrap())).expect("no such line");
    let kept: String = text.lines().take(last + 1).map(|line| format!("{line}\n")).collect();
    fs::write(path, kept).unwrap();
}

/// Runs a session to its end. Returns its id.
async fn run_once(folder: &Path, make: impl FnOnce() -> Agent) -> String {
    let transcript = Transcript::create(folder, folder).unwrap();
    let id = transcript.id();
    let mut agent = make().with_transcript(transcript);
    collect(agent.run("go")).await;
    id
}

fn is(kind: &str) -> impl Fn(&Value) -> bool {
    move |line| line["type"] == kind
}

#[tokio::test]
async fn a_damaged_line_is_a_clear_error_and_the_file_is_left_alone() {
    let folder = tempdir().unwrap();
    let id = run_once(folder.path(), || Agent::new(calling([]))).await;
    let path = folder.path().join(format!("{id}.jsonl"));
    let text = fs::read_to_string(&path).unwrap();
    let damaged = text.replacen("\"type\":\"user\"", "\"type\":\"us", 1) + "{\"at\":1,";
    fs::write(&path, &damaged).unwrap();
    match Transcript::open(folder.path(), &id) {
        Err(TranscriptError::Damaged { path: told, line: 2, .. }) => assert_eq!(told, path),
        other => panic!("{other:?}"),
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
}

#[tokio::test]
async fn a_file_with_the_record_of_another_session_is_not_taken_up_as_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let id = run_once(folder.path(), || Agent::new(calling([]))).await;
    fs::copy(folder.path().join(format!("{id}.jsonl")), folder.path().join("other.jsonl")).unwrap();
    match Transcript::open(folder.path(), "other") {
        Err(TranscriptError::Damaged { line: 1, fact, .. }) => assert_eq!(fact, "begins a session of another name"),
        other => panic!("{other:?}"),
    }
    let listed: Vec<String> = Transcript::list(folder.path()).into_iter().map(|session| session.id).collect();
    assert_eq!(listed, [id]);
}

#[tokio::test]
async fn what_the_model_had_read_it_may_write_after_a_resume() {
    let folder = tempdir().unwrap();
    let file = folder.path().canonicalize().unwrap().join("a.txt");
    let turn = |name: &str, input: Value| json!({"calls": [{"name": name, "input": input}]});
    let turns = json!({"turns": [
        turn("Read", json!({"path": "a.txt"})),
        {"text": "read"},
        turn("Write", json!({"path": "a.txt", "content": "two"})),
        {"text": "written"},
        turn("Write", json!({"path": "a.txt", "content": "three"})),
        {"text": "done"},
    ]});
    let sessions = tempdir().unwrap();
    let id = Transcript::create(sessions.path(), file.parent().unwrap()).unwrap().id();
    let turn = async || {
        let (model, requests) = watched(script(turns.clone()));
        let mut agent = Agent::new(model)
            .with_tools(tools::all())
            .with_permissions(Permissions::new(PermissionMode::Allow))
            .with_folder(file.parent().unwrap())
            .with_transcript(Transcript::open(sessions.path(), &id).unwrap());
        finish(&mut agent, "go").await;
        requests.last_result()
    };
    fs::write(&file, "one").unwrap();
    turn().await;
    assert_eq!((turn().await.1, fs::read_to_string(&file).unwrap()), (false, "two".into()));
    fs::write(&file, "changed").unwrap();
    let (read, is_error) = turn().await;
    assert!(is_error && read.contains("was changed since you read it"), "{read}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "changed");
}

#[tokio::test]
async fn a_damaged_line_is_not_quoted_at_length() {
    let folder = tempfile::tempdir().unwrap();
    let id = run_once(folder.path(), || Agent::new(calling([]))).await;
    let path = folder.path().join(format!("{id}.jsonl"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{{\"at\": 1, \"type\": \"{}\"}}\n", "x".repeat(1 << 20))).unwrap();
    let error = Transcript::open(folder.path(), &id).unwrap_err().to_string();
    assert!(error.len() < 1000 && error.contains("xxx") && error.ends_with('…'), "{} bytes", error.len());
}

#[tokio::test]
async fn a_session_is_open_once() {
    let folder = tempdir().unwrap();
    let first = Transcript::create(folder.path(), folder.path()).unwrap();
    let id = first.id();
    assert!(matches!(Transcript::open(folder.path(), &id), Err(TranscriptError::InUse { id: told }) if told == id));
    drop(first);
    let second = Transcript::open(folder.path(), &id).unwrap();
    assert!(matches!(Transcript::open(folder.path(), &id), Err(TranscriptError::InUse { .. })));
    drop(second);
}

#[tokio::test]
async fn a_session_that_is_not_there_is_missing_and_a_path_is_no_name() {
    let folder = tempdir().unwrap();
    let sessions = folder.path().join("sessions");
    let is_missing = |id: &str| matches!(Transcript::open(&sessions, id), Err(TranscriptError::Missing { .. }));
    // Each of these files would be found if its id were used as a path.
    let transcript = Transcript::create(&sessions, folder.path()).unwrap();
    let name = transcript.id();
    let path = transcript.path().unwrap();
    drop(transcript);
    // On Windows, one of the names is a path into the second folder.
    for inner in ["inner", "a"] {
        fs::create_dir(sessions.join(inner)).unwrap();
    }
    for copy in ["x.jsonl", "sessions/inner/x.jsonl", "sessions/.jsonl", "sessions/a.b.jsonl", "sessions/a\\b.jsonl"] {
        fs::copy(&path, folder.path().join(copy)).unwrap();
    }
    let absolute = folder.path().join("x").display().to_string();
    for id in ["none", "", "../x", "inner/x", "a.b", "a\\b", "inner/../inner/x", &absolute, &format!("./{name}")] {
        assert!(is_missing(id), "{id}");
    }
    assert!(!is_missing(&name));
    fs::create_dir(sessions.join("folder.jsonl")).unwrap();
    assert!(matches!(Transcript::open(&sessions, "folder"), Err(TranscriptError::File { .. })), "it is there");
}

#[tokio::test]
async fn plan_mode_survives_a_crash_in_whichever_order_the_agent_is_built() {
    let folder = tempdir().unwrap();
    let plan = || Agent::new(calling([])).with_permissions(Permissions::new(PermissionMode::Plan));
    let id = run_once(folder.path(), plan).await;
    for mode in [PermissionMode::Ask, PermissionMode::AcceptEdits, PermissionMode::Allow, PermissionMode::Plan] {
        let open = || Transcript::open(folder.path(), &id).unwrap();
        let permissions = || Permissions::new(mode);
        let agent = Agent::new(calling([])).with_permissions(permissions()).with_transcript(open());
        assert_eq!(agent.mode(), PermissionMode::Plan);
        drop(agent);
        let agent = Agent::new(calling([])).with_transcript(open()).with_permissions(permissions());
        assert_eq!(agent.mode(), PermissionMode::Plan);
    }
}

/// Returns the modes in a session's file, in order.
fn modes(folder: &Path, id: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join(format!("{id}.jsonl"))).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(is("mode")).map(|line| line["mode"].clone()).collect()
}

#[tokio::test]
async fn the_mode_of_the_user_who_returns_counts_and_is_written_down() {
    for (had, given) in [
        (PermissionMode::Ask, PermissionMode::Allow),
        (PermissionMode::AcceptEdits, PermissionMode::Allow),
        (PermissionMode::Allow, PermissionMode::Ask),
        (PermissionMode::AcceptEdits, PermissionMode::Ask),
        (PermissionMode::Ask, PermissionMode::Plan),
    ] {
        let folder = tempdir().unwrap();
        let log = Log::default();
        let model = || calling([json!([{"name": "Act", "input": {"at": "it"}}])]);
        let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
        let id = transcript.id();
        let mut agent = Agent::new(model()).with_tools(registry(&log)).with_transcript(transcript);
        agent.set_mode(had).unwrap();
        drop(agent);
        let transcript = Transcript::open(folder.path(), &id).unwrap();
        let mut agent = Agent::new(model())
            .with_tools(registry(&log))
            .with_permissions(Permissions::new(given))
            .with_transcript(transcript);
        assert_eq!(agent.mode(), given, "{had:?} {given:?}");
        finish(&mut agent, "go").await;
        // Without a person to ask, tools act only in the mode that allows all calls.
        assert_eq!(log.count("end Act it"), usize::from(given == PermissionMode::Allow), "{had:?} {given:?}");
        assert_eq!(agent.mode(), given, "{had:?} {given:?}");
        drop(agent);
        assert_eq!(modes(folder.path(), &id), [json!(had), json!(given)], "{had:?} {given:?}");
    }
}

#[tokio::test]
async fn the_mode_that_was_written_last_is_the_one_a_session_is_taken_up_in() {
    let folder = tempdir().unwrap();
    for (modes, expected) in [
        (vec![PermissionMode::Plan, PermissionMode::Ask], PermissionMode::Allow),
        (vec![PermissionMode::Ask, PermissionMode::Plan], PermissionMode::Plan),
        (vec![PermissionMode::Plan, PermissionMode::AcceptEdits, PermissionMode::Plan], PermissionMode::Plan),
    ] {
        let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
        let id = transcript.id();
        let mut agent = Agent::new(calling([])).with_transcript(transcript.clone());
        modes.iter().for_each(|mode| agent.set_mode(*mode).unwrap());
        let allowing = || Agent::new(calling([])).with_permissions(Permissions::new(PermissionMode::Allow));
        assert_eq!(allowing().with_transcript(transcript).mode(), expected, "{modes:?} in this process");
        drop(agent);
        let transcript = Transcript::open(folder.path(), &id).unwrap();
        assert_eq!(allowing().with_transcript(transcript).mode(), expected, "{modes:?} in the next");
    }
}

#[tokio::test]
async fn the_mode_of_a_turn_is_written_down_once_and_before_anything_is_said() {
    let folder = tempdir().unwrap();
    let plan = || Agent::new(calling([])).with_permissions(Permissions::new(PermissionMode::Plan));
    let id = run_once(folder.path(), plan).await;
    let transcript = Transcript::open(folder.path(), &id).unwrap();
    let mut agent = Agent::new(script(json!({"turns": [{"text": "1"}, {"text": "2"}]}))).with_transcript(transcript);
    assert_eq!(finish(&mut agent, "again").await, "2");
    drop(agent);
    assert_eq!(modes(folder.path(), &id), [json!("plan")]);
    let text = fs::read_to_string(folder.path().join(format!("{id}.jsonl"))).unwrap();
    assert!(text.find("\"type\":\"mode\"") < text.find("\"type\":\"user\""), "{text}");
}

#[tokio::test]
async fn a_question_stands_in_the_record_once() {
    let folder = tempdir().unwrap();
    let make = || {
        let model = calling([json!([ask("Which?")])]);
        Agent::new(model).with_tools(tools::talking()).with_asker(Person::new([other("DuckDB")]))
    };
    let id = run_once(folder.path(), make).await;
    let text = fs::read_to_string(folder.path().join(format!("{id}.jsonl"))).unwrap();
    let asked = text.lines().find(|line| line.contains("\"type\":\"asked\"")).unwrap();
    assert_eq!(asked.matches("Which?").count(), 1, "{asked}");
}

#[tokio::test]
async fn an_answer_is_not_lost_when_something_else_is_said_after_a_crash() {
    let folder = tempdir().unwrap();
    let model = || calling([json!([ask("Which?")])]);
    let make = || Agent::new(model()).with_tools(tools::talking()).with_asker(Person::new([other("DuckDB")]));
    let id = run_once(folder.path(), make).await;
    cut_after(folder.path(), &id, is("outcome"));

    let (model, requests) = watched(model());
    let transcript = Transcript::open(folder.path(), &id).unwrap();
    let person = Person::new([]);
    let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(person).with_transcript(transcript);
    finish(&mut agent, "by the way").await;
    let seen = requests.all().pop().unwrap();
    let Message::Results { results } = &seen.messages[2] else { panic!("{seen:#?}") };
    assert!(results[0].output.contains("\"customInput\":\"DuckDB\""), "{results:?}");
}

#[tokio::test]
async fn an_approval_counts_although_the_crash_came_after_the_mode_had_changed() {
    let folder = tempdir().unwrap();
    let model = || calling([json!([{"name": "ExitPlanMode", "input": {"plan": "Ship"}}])]);
    let make = || {
        let agent = Agent::new(model()).with_tools(tools::talking()).with_asker(Person::new([pick("Go ahead")]));
        agent.with_permissions(Permissions::new(PermissionMode::Plan))
    };
    let id = run_once(folder.path(), make).await;
    cut_after(folder.path(), &id, |line| line["type"] == "mode" && line["mode"] == "ask");

    let (model, requests) = watched(model());
    let transcript = Transcript::open(folder.path(), &id).unwrap();
    let mut agent =
        Agent::new(model).with_tools(tools::talking()).with_asker(Person::new([])).with_transcript(transcript);
    assert_eq!(last_words(&collect(agent.resume().unwrap()).await), "done");
    let read = "The user approved the plan. Plan mode is over: carry it out.";
    assert_eq!(requests.last_result(), (read.into(), false));
}

#[tokio::test]
async fn a_subagent_that_was_stopped_does_not_read_as_finished_after_a_crash() {
    let folder = tempdir().unwrap();
    let model = || {
        script(json!({
            "turns": [{"calls": [{"name": "Task", "input": {"description": "one", "prompt": "go"}}]}, {"text": "ok"}],
            "tasks": {"one": [{"text": "Fine so far.", "calls": [ask("Which?")]}, {"text": "1"}]},
        }))
    };
    let make = || Agent::new(model()).with_tools(tools::talking()).with_asker(Person::new([interrupts()]));
    let id = run_once(folder.path(), make).await;
    cut_after(folder.path(), &id, |line| line["type"] == "interrupted" && line["task"] == json!(["call_1_1"]));

    let transcript = Transcript::open(folder.path(), &id).unwrap();
    let mut agent =
        Agent::new(model()).with_tools(tools::talking()).with_asker(Person::new([])).with_transcript(transcript);
    let events = short(&collect(agent.resume().unwrap()).await);
    assert_eq!(events, ["start call_1_1 Task", "error call_1_1", "broke Interrupted"]);
}

#[tokio::test]
async fn an_outcome_from_before_a_clearing_answers_nothing_after_it() {
    let folder = tempdir().unwrap();
    let model = || calling([json!([ask("Which?")])]);
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let id = transcript.id();
    let mut agent = Agent::new(model())
        .with_tools(tools::talking())
        .with_asker(Person::new([pick("SQLite")]))
        .with_transcript(transcript);
    finish(&mut agent, "go").await;
    agent.clear().unwrap();
    drop(agent);

    let transcript = Transcript::open(folder.path(), &id).unwrap();
    let person = Person::new([pick("PostgreSQL")]);
    let (model, requests) = watched(model());
    let mut agent =
        Agent::new(model).with_tools(tools::talking()).with_asker(person.clone()).with_transcript(transcript);
    assert_eq!(agent.messages(), []);
    finish(&mut agent, "go").await;
    assert_eq!(person.asked().len(), 1);
    assert!(requests.last_result().0.contains("Selected: PostgreSQL"));
}

#[tokio::test]
async fn an_interrupted_session_waits_for_the_person() {
    let folder = tempdir().unwrap();
    let model = || calling([json!([ask("Which?")])]);
    let make = || Agent::new(model()).with_tools(tools::talking()).with_asker(Person::new([interrupts()]));
    let id = run_once(folder.path(), make).await;
    let transcript = Transcript::open(folder.path(), &id).unwrap();
    let mut agent = Agent::new(model()).with_tools(tools::talking()).with_transcript(transcript);
    assert!(agent.resume().is_none());
    assert_eq!(finish(&mut agent, "go on").await, "done");
}

#[tokio::test]
async fn what_had_begun_to_act_is_not_said_to_be_refused_by_plan_mode() {
    let folder = tempdir().unwrap();
    let log = Log::default();
    let model = || calling([json!([{"name": "Act", "input": {}}])]);
    let make =
        || Agent::new(model()).with_tools(registry(&log)).with_permissions(Permissions::new(PermissionMode::Allow));
    let id = run_once(folder.path(), make).await;
    cut_after(folder.path(), &id, is("started"));

    let (model, requests) = watched(model());
    let transcript = Transcript::open(folder.path(), &id).unwrap();
    let mut agent = Agent::new(model)
        .with_tools(registry(&log))
        .with_permissions(Permissions::new(PermissionMode::Plan))
        .with_transcript(transcript);
    assert_eq!(last_words(&collect(agent.resume().unwrap()).await), "done");
    let (read, is_error) = requests.last_result();
    assert!(is_error && read.contains("It may have taken effect"), "{read}");
    assert_eq!(log.count("begin Act it"), 1);
}

/// A file that a test can make full: a sealed file in memory cannot grow.
#[cfg(target_os = "linux")]
mod full {
    use super::*;
    use askuser_agent::{AgentEvent, FailureKind};
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::sync::Arc;

    fn session(folder: &Path) -> (Arc<File>, Transcript) {
        let file = File::from(memfd_create("transcript", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap());
        let first = json!({"at": 1, "type": "session", "id": "full", "cwd": folder, "version": "0"});
        writeln!(&file, "{first}").unwrap();
        let target = format!("/proc/self/fd/{}", file.as_raw_fd());
        std::os::unix::fs::symlink(target, folder.join("full.jsonl")).unwrap();
        (Arc::new(file), Transcript::open(folder, "full").unwrap())
    }

    fn fill(file: &File) {
        fcntl_add_seals(file, SealFlags::GROW).unwrap();
    }

    fn failure(events: &[AgentEvent]) -> (FailureKind, String) {
        match events.last() {
            Some(AgentEvent::Error { error }) => (error.kind, error.message.clone()),
            last => panic!("{last:?}"),
        }
    }

    #[tokio::test]
    async fn nothing_is_said_to_the_model_that_cannot_be_written_down() {
        let folder = tempdir().unwrap();
        let (file, transcript) = session(folder.path());
        fill(&file);
        let (model, requests) = watched(calling([]));
        let mut agent = Agent::new(model).with_transcript(transcript);
        let events = collect(agent.run("go")).await;
        assert_eq!(failure(&events).0, FailureKind::Transcript);
        assert_eq!((requests.all(), agent.messages()), (vec![], &[][..]));
    }

    /// An asker that makes the file full when it gets a question.
    struct Filling(Arc<File>);

    impl askuser_agent::Tool for Filling {
        fn definition(&self) -> askuser_agent::ToolDefinition {
            askuser_agent::ToolDefinition::new("Fill", "Fills", json!({}))
        }

        fn access(&self) -> askuser_agent::Access {
            askuser_agent::Access::Ask
        }

        fn run<'a>(
            &'a self,
            call: &'a askuser_agent::ToolCall,
            context: &'a askuser_agent::ToolContext,
        ) -> askuser_agent::Running<'a> {
            Box::pin(async move {
                fill(&self.0);
                let set = askuser::QuestionSet::parse(questions("Which?"), &askuser::Rules::default()).unwrap();
                context.ask(&call.id, set, None).await?;
                unreachable!("asked");
            })
        }
    }

    #[tokio::test]
    async fn a_question_that_cannot_be_written_down_is_not_shown() {
        let folder = tempdir().unwrap();
        let (file, transcript) = session(folder.path());
        let person = Person::new([]);
        let mut agent = Agent::new(calling([json!([{"name": "Fill", "input": {}}])]))
            .with_tools(tools::talking().with(Filling(file.clone())))
            .with_asker(person.clone())
            .with_transcript(transcript);
        let events = collect(agent.run("go")).await;
        assert_eq!(short(&events), ["start call_1_1 Fill", "broke Transcript"]);
        assert_eq!(person.asked(), []);
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_written_down_is_in_the_error() {
        struct FillsUp(Arc<File>);
        impl askuser::Asker for FillsUp {
            fn ask<'a>(&'a self, request: &'a askuser::Request) -> askuser::Asking<'a> {
                fill(&self.0);
                Box::pin(async move { other("my precious words")(request) })
            }
        }
        let folder = tempdir().unwrap();
        let (file, transcript) = session(folder.path());
        let mut agent = Agent::new(calling([json!([ask("Which?")])]))
            .with_tools(tools::talking())
            .with_asker(Arc::new(FillsUp(file)))
            .with_transcript(transcript);
        let (kind, message) = failure(&collect(agent.run("go")).await);
        assert_eq!(kind, FailureKind::Transcript);
        assert!(message.contains("\"customInput\":\"my precious words\""), "{message}");
    }

    #[tokio::test]
    async fn nothing_acts_that_cannot_be_written_down() {
        struct FillsUp(Arc<File>, Log);
        impl askuser_agent::Tool for FillsUp {
            fn definition(&self) -> askuser_agent::ToolDefinition {
                askuser_agent::ToolDefinition::new("Act", "Acts", json!({}))
            }
            fn access(&self) -> askuser_agent::Access {
                askuser_agent::Access::Act
            }
            fn consent(
                &self,
                call: &askuser_agent::ToolCall,
                _: &askuser_agent::ToolContext,
            ) -> Result<askuser_agent::Consent, askuser_agent::ToolResult> {
                fill(&self.0);
                let context = askuser::Context::ToolInput("{}".into());
                Ok(askuser_agent::Consent::new("Act?", context, askuser_agent::PermissionRule::Edits, &call.name))
            }
            fn run<'a>(
                &'a self,
                _: &'a askuser_agent::ToolCall,
                _: &'a askuser_agent::ToolContext,
            ) -> askuser_agent::Running<'a> {
                self.1.add("acted");
                Box::pin(async { Ok(askuser_agent::ToolResult::ok("")) })
            }
        }
        let folder = tempdir().unwrap();
        let (file, transcript) = session(folder.path());
        let log = Log::default();
        let mut agent = Agent::new(calling([json!([{"name": "Act", "input": {}}])]))
            .with_tools(tools::talking().with(FillsUp(file, log.clone())))
            .with_permissions(Permissions::new(PermissionMode::AcceptEdits))
            .with_transcript(transcript);
        let events = collect(agent.run("go")).await;
        assert_eq!(failure(&events).0, FailureKind::Transcript);
        assert_eq!(log.lines(), Vec::<String>::new());
    }
}
