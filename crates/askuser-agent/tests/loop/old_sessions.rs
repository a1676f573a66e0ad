//! Sessions that earlier versions have written, cut off where a process may die: they are taken up as today's are.
//!
//! The files under `tests/fixtures/sessions` are recordings of those versions. Only the name of the session and the folder it
//! works in, `WORK`, were replaced.

use crate::support::*;
use askuser::{Purpose, RequestKey};
use askuser_agent::{Agent, Message, Transcript, tools};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::{TempDir, tempdir};

struct OldSession {
    folder: TempDir,
    name: &'static str,
}

impl OldSession {
    fn new(name: &'static str) -> OldSession {
        let folder = tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let old = OldSession { folder, name };
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/sessions/{name}.jsonl"));
        let text = fs::read_to_string(recorded).unwrap();
        let asked = text.lines().find(|line| line.contains("\"type\":\"asked\"")).unwrap();
        assert!(
            text.contains("\"cwd\":\"WORK\"") && serde_json::from_str::<Value>(asked).unwrap()["questions"].is_array()
        );
        let work = serde_json::to_string(&old.work()).unwrap();
        fs::write(old.folder.path().join(format!("{name}.jsonl")), text.replace("\"WORK\"", &work)).unwrap();
        old
    }

    /// The same session with other words in it.
    fn replacing(self, from: &str, to: &str) -> OldSession {
        let path = self.folder.path().join(format!("{}.jsonl", self.name));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from} is not in {text}");
        fs::write(&path, text.replace(from, to)).unwrap();
        self
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work").canonicalize().unwrap()
    }

    fn transcript(&self) -> Transcript {
        Transcript::open(self.folder.path(), self.name).unwrap()
    }

    /// Takes it up with a person who answers like this; returns what the model then read, until the end.
    async fn resume(&self, person: &Arc<Person>, turns: Value) -> Requests {
        let (model, requests) = watched(script(turns));
        let transcript = self.transcript();
        assert_eq!(transcript.cwd(), self.work());
        let mut agent = Agent::new(model)
            .with_tools(tools::all())
            .with_asker(person.clone())
            .with_folder(self.work())
            .with_transcript(transcript);
        let events = collect(agent.resume().expect("something is open")).await;
        assert_eq!(last_words(&events), "done", "{events:?}");
        requests
    }

    /// Once it has come to its end there is nothing left to do, also for the next process that opens it.
    fn assert_done(&self) {
        let transcript = self.transcript();
        assert_eq!(transcript.pending(), []);
        let mut agent = Agent::new(calling([])).with_transcript(transcript);
        assert!(agent.resume().is_none());
    }
}

/// A model that has made its calls already.
fn done() -> Value {
    json!({"turns": [{"text": "not said again"}, {"text": "done"}]})
}

#[tokio::test]
async fn a_question_without_an_answer_is_asked_again() {
    let old = OldSession::new("pending-question");
    let pending: Vec<RequestKey> = old.transcript().pending().iter().map(|request| request.key().clone()).collect();
    assert_eq!(pending, [RequestKey::new("pending-question", "call_1_1")]);
    let person = Person::new([pick("SQLite")]);
    let requests = old.resume(&person, done()).await;
    assert_eq!(person.texts(), ["Which database?"]);
    let read = "User answered the following questions:\n\n1. Database (Which database?)\n   Selected: SQLite\n\nProceeding \
                with user selections.";
    assert_eq!(requests.last_result(), (read.into(), false));
    old.assert_done();
}

#[tokio::test]
async fn a_question_whose_labels_differ_in_case_alone_is_asked_again_by_the_rules_of_its_time() {
    let old = OldSession::new("pending-question").replacing("PostgreSQL (Recommended)", "sqlite");
    let person = Person::new([pick("SQLite")]);
    let requests = old.resume(&person, done()).await;
    assert_eq!(person.texts(), ["Which database?"]);
    assert!(requests.last_result().0.contains("Selected: SQLite\n"), "{:?}", requests.last_result());
    old.assert_done();
}

#[tokio::test]
async fn a_question_that_was_answered_is_not_asked_again_and_the_answer_reaches_the_model() {
    let old = OldSession::new("answered-question");
    assert_eq!(old.transcript().pending(), []);
    let person = Person::new([]);
    let requests = old.resume(&person, done()).await;
    let read = "User answered the following questions:\n\n1. Database (Which database?)\n   Selected: SQLite\n   Note: it is \
                enough\n\nProceeding with user selections.";
    assert_eq!((requests.last_result(), person.asked()), ((read.into(), false), vec![]));
    old.assert_done();
}

#[tokio::test]
async fn a_question_of_a_subagent_is_asked_again_in_its_task() {
    let old = OldSession::new("pending-question-of-a-subagent");
    let person = Person::new([pick("Some")]);
    let tasks = json!({"audit": [{"text": "not said again"}, {"text": "audited"}]});
    let requests = old.resume(&person, json!({"turns": done()["turns"], "tasks": tasks})).await;
    let [request] = &person.asked()[..] else { panic!("asked {} times", person.asked().len()) };
    let key = RequestKey::new("pending-question-of-a-subagent", "call_1_1").in_tasks(["call_1_1"]);
    assert_eq!((request.key(), request.asked_by().as_deref()), (&key, Some("task 'audit'")));
    let own = requests.all().into_iter().find(|seen| seen.task.is_some()).unwrap();
    let Some(Message::Results { results }) = own.messages.last() else { panic!("{own:?}") };
    assert!(results[0].output.contains("(Audit all?)\n   Selected: Some\n"), "{results:?}");
    assert_eq!(requests.last_result(), ("audited".into(), false));
    old.assert_done();
}

#[tokio::test]
#[cfg_attr(windows, ignore = "the command is for a shell that Windows does not have")]
async fn a_command_that_was_allowed_runs_once_and_is_not_asked_about_again() {
    let old = OldSession::new("command-in-its-context").replacing(r#","note":"only today""#, "");
    let recorded = old.transcript().pending();
    assert_eq!(recorded, []);
    let person = Person::new([]);
    let requests = old.resume(&person, done()).await;
    assert_eq!(fs::read_to_string(old.work().join("log")).unwrap(), "ran\n");
    assert_eq!((requests.last_result(), person.asked()), (("(no output)".into(), false), vec![]));
    old.assert_done();
    assert_eq!(fs::read_to_string(old.work().join("log")).unwrap(), "ran\n");
}

#[tokio::test]
async fn a_command_that_was_allowed_with_a_note_runs_only_once_the_model_has_read_the_note() {
    let old = OldSession::new("command-in-its-context");
    let person = Person::new([]);
    let (read, is_error) = old.resume(&person, done()).await.last_result();
    assert!(is_error && read.starts_with("Not run: the user would allow this, and noted: only today\n"), "{read}");
    assert!(person.asked().is_empty() && !old.work().join("log").exists());
    old.assert_done();
}

#[tokio::test]
async fn a_command_allowed_without_a_context_is_asked_about_again() {
    let old = OldSession::new("permission-for-a-command");
    let person = Person::new([pick("Don't run it")]);
    old.resume(&person, done()).await;
    assert_eq!((person.asked().len(), old.work().join("log").exists()), (1, false));
}

#[tokio::test]
async fn the_note_on_a_command_that_was_cut_off_while_it_ran_still_reaches_the_model() {
    let note = r#""note":"only today"}],"via":null}}"#;
    let started = format!("{note}\n{}", r#"{"at":1794767422888,"type":"started","id":"call_1_1"}"#);
    let old = OldSession::new("permission-for-a-command").replacing(note, &started);
    let (read, _) = old.resume(&Person::new([]), done()).await.last_result();
    assert!(read.starts_with("The session was cut off while this ran."), "{read}");
    assert!(read.ends_with("The user allowed this, and noted: only today"), "{read}");
    assert!(!old.work().join("log").exists());
}

#[tokio::test]
async fn a_change_that_was_allowed_is_made_if_it_is_still_the_same_change() {
    let old = OldSession::new("permission-for-a-write");
    let person = Person::new([]);
    let requests = old.resume(&person, done()).await;
    assert_eq!((requests.last_result().1, person.asked()), (false, vec![]));
    assert_eq!(fs::read_to_string(old.work().join("made.txt")).unwrap(), "one\ntwo\n");
    old.assert_done();
}

#[tokio::test]
async fn an_answer_under_the_old_words_of_an_option_still_counts() {
    let answered = |label: &str| format!(r#""selectedOptions":["{label}"]"#);
    for (label, is_made) in [("Always here", true), ("Deny", false)] {
        let old = OldSession::new("permission-for-a-write").replacing(&answered("Allow once"), &answered(label));
        let person = Person::new([]);
        old.resume(&person, done()).await;
        assert_eq!((person.asked(), old.work().join("made.txt").exists()), (vec![], is_made), "{label}");
    }
}

#[tokio::test]
async fn a_refusal_recorded_where_always_was_not_offered_is_not_read_as_always() {
    let always = r#"{"label":"Always here","description":"Change files in this folder without asking"},"#;
    let old = OldSession::new("permission-for-a-write")
        .replacing(always, "")
        .replacing(r#""selectedOptions":["Allow once"]"#, r#""selectedOptions":["Deny"]"#);
    let person = Person::new([]);
    old.resume(&person, done()).await;
    assert_eq!((person.asked(), old.work().join("made.txt").exists()), (vec![], false));
}

#[tokio::test]
async fn a_change_that_was_allowed_is_asked_about_again_if_the_file_is_another_now() {
    // As many lines are added, and the question reads the same: only the diff tells them apart.
    let old =
        OldSession::new("permission-for-a-write").replacing(r#""content":"one\ntwo\n""#, r#""content":"two\nsix\n""#);
    let person = Person::new([pick("Don't run it")]);
    old.resume(&person, done()).await;
    assert_eq!(person.asked().len(), 1);
    assert_eq!(person.asked()[0].key().purpose, Purpose::Permission);
    assert!(!old.work().join("made.txt").exists());
}

#[tokio::test]
async fn a_question_that_was_mended_keeps_its_answer_under_rules_that_would_reject_it() {
    let old = OldSession::new("repaired-question");
    let person = Person::new([]);
    let requests = old.resume(&person, done()).await;
    let (read, is_error) = requests.last_result();
    let answer = "1. Database system (Which database shall this project use from now on?)\n   Selected: SQLite\n";
    assert!(read.contains(answer) && !is_error, "{read}");
    assert_eq!(person.asked(), []);
    old.assert_done();
}

#[tokio::test]
async fn a_question_that_was_recorded_beside_its_request_keeps_its_answer() {
    let old = OldSession::new("question-beside-its-request");
    let person = Person::new([]);
    let requests = old.resume(&person, done()).await;
    let read = "User answered the following questions:\n\n1. Database (Which database?)\n   Selected: SQLite\n   Note: it is \
                enough\n\nProceeding with user selections.";
    assert_eq!((requests.last_result(), person.asked()), ((read.into(), false), vec![]));
    old.assert_done();
}

#[tokio::test]
async fn a_permission_that_was_recorded_beside_its_request_counts_for_the_same_change_alone() {
    let old = OldSession::new("permission-beside-its-request");
    let person = Person::new([]);
    old.resume(&person, done()).await;
    assert_eq!(person.asked(), []);
    assert_eq!(fs::read_to_string(old.work().join("made.txt")).unwrap(), "one\ntwo\n");
    old.assert_done();
    let old = OldSession::new("permission-beside-its-request")
        .replacing(r#""content":"one\ntwo\n""#, r#""content":"two\nsix\n""#);
    let person = Person::new([pick("Don't run it")]);
    old.resume(&person, done()).await;
    assert_eq!((person.asked().len(), old.work().join("made.txt").exists()), (1, false));
}
