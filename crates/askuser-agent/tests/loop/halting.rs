//! What a person did not agree to does not happen: nothing runs on the strength of a question that was not answered, or
//! behind a permission that was not given.

use crate::support::*;
use askuser::{AskError, Asker, Asking, Outcome, Request, Resolution, Via};
use askuser_agent::{Agent, PermissionMode, Permissions, Transcript};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

const NOT_ANSWERED: &str = "Not run: a question before it in the same message was not answered. Read what came of the \
                            question, then decide anew.";
const NOT_ALLOWED: &str = "Not run: a call before it in the same message was not allowed. Read why, then decide anew.";

fn look(at: &str) -> Value {
    json!({"name": "Look", "input": {"at": at}})
}

fn act(at: &str) -> Value {
    json!({"name": "Act", "input": {"at": at}})
}

/// What happens beside this question, answered like this, where everything is allowed: the log, and what the model reads.
async fn beside(reply: Reply) -> (Vec<String>, Vec<(String, String, bool)>) {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([look("a"), ask("Which?"), act("b"), look("c")])]));
    let mut agent = Agent::new(model)
        .with_tools(registry(&log))
        .with_asker(Person::new([reply]))
        .with_permissions(Permissions::new(PermissionMode::Allow));
    finish(&mut agent, "go").await;
    let ran = log.lines().into_iter().filter(|line| line.starts_with("end")).collect();
    (ran, requests.last_results())
}

#[tokio::test]
async fn calls_beside_a_question_that_was_not_answered_do_not_run() {
    for outcome in [
        Outcome::discuss(Some("wait, do nothing yet".into())),
        Outcome::declined(None),
        Outcome::cancelled(),
        Outcome::timed_out(),
        Outcome::unavailable("no terminal"),
    ] {
        let (ran, results) = beside(ends(outcome.clone())).await;
        assert_eq!(ran, ["end Look a"], "{outcome:?}");
        let read: Vec<_> = results.iter().map(|(_, output, is_error)| (output.as_str(), *is_error)).collect();
        assert_eq!(read[0], ("Look a: ok", false));
        assert_eq!(read[2..], [(NOT_ANSWERED, true), (NOT_ANSWERED, true)], "{outcome:?}");
    }
}

#[tokio::test]
async fn calls_beside_a_question_that_was_answered_run() {
    let (ran, _) = beside(pick("SQLite")).await;
    assert_eq!(ran, ["end Look a", "end Act b", "end Look c"]);
}

#[tokio::test]
async fn calls_beside_a_question_that_could_not_be_asked_do_not_run() {
    let log = Log::default();
    let invalid = json!({"name": "AskUserQuestion", "input": {"questions": []}});
    let (model, requests) = watched(calling([json!([invalid, act("b")])]));
    let mut agent = Agent::new(model)
        .with_tools(registry(&log))
        .with_asker(Person::new([]))
        .with_permissions(Permissions::new(PermissionMode::Allow));
    finish(&mut agent, "go").await;
    assert_eq!(log.lines(), Vec::<String>::new());
    assert_eq!(requests.last_results()[1].1, NOT_ANSWERED);
}

#[tokio::test]
async fn calls_beside_a_question_in_a_run_in_which_nobody_is_there_do_not_run() {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([ask("Which?"), act("b"), look("c")])]));
    let mut agent =
        Agent::new(model).with_tools(registry(&log)).with_permissions(Permissions::new(PermissionMode::Allow));
    finish(&mut agent, "go").await;
    let results = requests.last_results();
    assert!(results[0].1.contains("nobody can be asked in this run"), "{results:?}");
    assert_eq!((results[1].1.as_str(), results[2].1.as_str()), (NOT_ANSWERED, NOT_ANSWERED));
    assert_eq!(log.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn a_call_that_is_not_available_in_this_mode_keeps_no_other_from_running() {
    let plan = json!({"name": "ExitPlanMode", "input": {"plan": "Ship"}});
    for (unavailable, mode, asker) in [
        (plan, PermissionMode::Ask, Some(Person::new([]))),
        (act("a"), PermissionMode::Plan, Some(Person::new([]))),
        (act("a"), PermissionMode::Plan, None),
    ] {
        let log = Log::default();
        let agent = Agent::new(calling([json!([unavailable, look("b")])])).with_tools(registry(&log));
        let agent = agent.with_permissions(Permissions::new(mode));
        let mut agent = match asker {
            Some(person) => agent.with_asker(person),
            None => agent,
        };
        finish(&mut agent, "go").await;
        assert_eq!(log.lines(), ["begin Look b", "end Look b"], "{unavailable}");
    }
}

#[tokio::test]
async fn calls_behind_a_permission_that_was_refused_do_not_run() {
    for reply in [pick("Don't run it"), other("no"), ends(Outcome::discuss(None)), ends(Outcome::cancelled())] {
        let log = Log::default();
        let (model, requests) = watched(calling([json!([look("a"), act("b"), look("c"), act("d")])]));
        let person = Person::new([reply]);
        let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(person.clone());
        finish(&mut agent, "go").await;
        assert_eq!(person.asked().len(), 1);
        assert_eq!(log.lines(), ["begin Look a", "end Look a"]);
        let results = requests.last_results();
        assert_eq!((results[2].1.as_str(), results[3].1.as_str()), (NOT_ALLOWED, NOT_ALLOWED));
    }
}

#[tokio::test]
async fn the_next_message_runs_again() {
    let log = Log::default();
    let model = calling([json!([ask("Which?"), act("b")]), json!([act("c")])]);
    let mut agent = Agent::new(model)
        .with_tools(registry(&log))
        .with_asker(Person::new([ends(Outcome::discuss(None))]))
        .with_permissions(Permissions::new(PermissionMode::Allow));
    finish(&mut agent, "go").await;
    assert_eq!(log.lines(), ["begin Act c", "end Act c"]);
}

/// The first lines of a session's file, up to and with the one that fits.
fn cut_after(path: &Path, fits: impl Fn(&Value) -> bool) {
    let text = fs::read_to_string(path).unwrap();
    let last = text.lines().position(|line| fits(&serde_json::from_str(line).unwrap())).expect("no such line");
    let kept: String = text.lines().take(last + 1).map(|line| format!("{line}\n")).collect();
    fs::write(path, kept).unwrap();
}

#[tokio::test]
async fn after_a_crash_calls_beside_a_question_that_was_not_answered_do_not_run_either() {
    for (first, asked_for, words) in
        [(ask("Which?"), Outcome::discuss(None), NOT_ANSWERED), (act("a"), Outcome::declined(None), NOT_ALLOWED)]
    {
        for last in ["outcome", "result"] {
            let (folder, log) = (tempfile::tempdir().unwrap(), Log::default());
            let calls = || calling([json!([first.clone(), act("b")])]);
            let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
            let (id, path) = (transcript.id(), transcript.path().unwrap());
            let person = Person::new([ends(asked_for.clone())]);
            let mut agent =
                Agent::new(calls()).with_tools(registry(&log)).with_asker(person).with_transcript(transcript);
            finish(&mut agent, "go").await;
            drop(agent);
            cut_after(&path, |line| line["type"] == last);
            let (model, requests) = watched(calls());
            let mut agent = Agent::new(model)
                .with_tools(registry(&log))
                .with_asker(Person::new([]))
                .with_transcript(Transcript::open(folder.path(), &id).unwrap());
            assert_eq!(last_words(&collect(agent.resume().unwrap()).await), "done");
            assert_eq!(log.lines(), Vec::<String>::new(), "cut after the {last}");
            assert_eq!(requests.last_results()[1].1, words, "cut after the {last}");
        }
    }
}

// ---- an outcome that belongs to another question ----

/// Gives the answer to the first question it is asked again and again.
#[derive(Default)]
struct Repeating(Mutex<Option<Resolution>>);

impl Asker for Repeating {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        let mut first = self.0.lock().unwrap();
        let resolution = first.get_or_insert_with(|| {
            let question = &request.set().questions()[0];
            let answers = vec![question.answer(&[0], None, None).unwrap()];
            Outcome::answered(request.set(), answers).unwrap().through(Via::Terminal)
        });
        Box::pin(std::future::ready(Ok::<_, AskError>(resolution.clone().into())))
    }
}

#[tokio::test]
async fn the_permission_for_one_call_does_not_run_another() {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([act("ls")]), json!([act("wipe")])]));
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(Arc::new(Repeating::default()));
    finish(&mut agent, "go").await;
    assert_eq!(log.lines(), ["begin Act ls", "end Act ls"]);
    let (read, is_error) = requests.last_result();
    assert!(is_error && read.starts_with("Not run: this needs the user's permission"), "{read}");
}

#[tokio::test]
async fn the_answer_to_one_question_does_not_answer_another() {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([ask("Ls?")]), json!([ask("Wipe?"), look("a")])]));
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(Arc::new(Repeating::default()));
    finish(&mut agent, "go").await;
    let results = requests.last_results();
    assert!(!results[0].1.contains("answered the following"), "{results:?}");
    assert_eq!((results[1].1.as_str(), log.lines()), (NOT_ANSWERED, Vec::new()));
}

/// A session that ends with the outcome of this call's question, which is then written over.
async fn with_recorded_outcome(call: Value, forge: impl Fn(&mut Value)) -> (Arc<Person>, Log, String) {
    let (folder, log) = (tempfile::tempdir().unwrap(), Log::default());
    let calls = || calling([json!([call.clone()])]);
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let (id, path) = (transcript.id(), transcript.path().unwrap());
    let person = Person::new([pick_first()]);
    let mut agent =
        Agent::new(calls()).with_tools(registry(&Log::default())).with_asker(person).with_transcript(transcript);
    finish(&mut agent, "go").await;
    drop(agent);
    cut_after(&path, |line| line["type"] == "outcome");
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    forge(&mut lines.last_mut().unwrap()["outcome"]);
    fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let (model, requests) = watched(calls());
    let person = Person::new([ends(Outcome::declined(None))]);
    let mut agent = Agent::new(model)
        .with_tools(registry(&log))
        .with_asker(person.clone())
        .with_transcript(Transcript::open(folder.path(), &id).unwrap());
    assert_eq!(last_words(&collect(agent.resume().unwrap()).await), "done");
    (person, log, requests.last_result().0)
}

fn pick_first() -> Reply {
    Box::new(|request| {
        let answer = request.set().questions()[0].answer(&[0], None, None).unwrap();
        Ok(Outcome::answered(request.set(), vec![answer]).unwrap().through(Via::Terminal).into())
    })
}

#[tokio::test]
async fn a_recorded_outcome_of_another_question_does_not_run_a_call_on_resume() {
    let (person, log, _) = with_recorded_outcome(act("wipe"), |_| {}).await;
    assert_eq!((person.asked().len(), log.count("end Act wipe")), (0, 1), "the recorded permission counts");
    let (person, log, read) = with_recorded_outcome(act("wipe"), |outcome| {
        outcome["answers"][0]["question"] = "Run Act with this input?\n\n{\"at\":\"ls\"}".into();
    })
    .await;
    assert_eq!((person.asked().len(), log.lines()), (1, Vec::new()));
    assert_eq!(read, "The user did not allow this.");
}

#[tokio::test]
async fn a_recorded_outcome_without_answers_is_asked_again_on_resume() {
    for call in [act("wipe"), ask("Which?")] {
        let (person, log, read) = with_recorded_outcome(call, |outcome| outcome["answers"] = json!([])).await;
        assert_eq!((person.asked().len(), log.lines()), (1, Vec::new()));
        assert!(!read.contains("answered the following"), "{read}");
    }
}
