//! Calls without the person's agreement do not run: neither after an unanswered question nor after a refused
//! permission.

use crate::support::*;
use askuser::{AskError, Asker, Asking, Outcome, Request, Resolution, Via};
use askuser_agent::{Agent, PermissionMode, Permissions, Transcript};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

const NOT_ANSWERED: &str = "Not run: a question before it in the same message was not answered. Read what came of the \
                            question, then decide anew.";
const NOT_ASKED: &str =
    "Not run: a question before it in the same message could not be asked. Read why, then decide anew.";
const NOT_ALLOWED: &str = "Not run: a call before it in the same message was not allowed. Read why, then decide anew.";

fn look(at: &str) -> Value {
    json!({"name": "Look", "input": {"at": at}})
}

fn act(at: &str) -> Value {
    json!({"name": "Act", "input": {"at": at}})
}

/// Runs calls beside a question in a mode that allows all calls, with this reply. Returns the log and the results that
/// the model reads.
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
    assert_eq!(requests.last_results()[1].1, NOT_ASKED);
}

#[tokio::test]
async fn calls_beside_a_question_in_a_run_in_which_nobody_is_there_do_not_run() {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([ask("Which?"), act("b"), look("c")])]));
    let mut agent =
        Agent::new(model).with_tools(registry(&log)).with_permissions(Permissions::new(PermissionMode::Allow));
    finish(&mut agent, "go").await;
    let results = requests.last_results();
    assert!(results[0].1.contains("no person can be asked in this run"), "{results:?}");
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
    let noted = pick_and_note("Allow once", "in a branch");
    for reply in [pick("Don't run it"), noted, other("no"), ends(Outcome::discuss(None)), ends(Outcome::cancelled())] {
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

/// Cuts off a session's file after the first line that fits.
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
            let folder = tempfile::tempdir().unwrap();
            let log = Log::default();
            let calls = || calling([json!([first.clone(), act("b")])]);
            let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
            let id = transcript.id();
            let path = transcript.path().unwrap();
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

// ---- subagents ----

fn task(name: &str) -> Value {
    json!({"name": "Task", "input": {"description": name, "prompt": "go"}})
}

/// Returns a script with the calls of the main agent, and one message of calls for each task.
fn with_tasks<const N: usize>(outer: Value, tasks: [(&str, Value); N]) -> askuser_agent::Script {
    let turns = |calls: Value| json!([{"calls": calls}, {"text": "reported"}]);
    let tasks: serde_json::Map<String, Value> =
        tasks.into_iter().map(|(name, calls)| (name.to_owned(), turns(calls))).collect();
    script(json!({"turns": [{"calls": outer}, {"text": "done"}], "tasks": tasks}))
}

fn agent(model: impl askuser_agent::Model + 'static, log: &Log, person: Arc<Person>, mode: PermissionMode) -> Agent {
    Agent::new(model).with_tools(registry(log)).with_asker(person).with_permissions(Permissions::new(mode))
}

#[tokio::test]
async fn calls_behind_a_task_whose_question_was_not_answered_do_not_run() {
    for outcome in [
        Outcome::declined(None),
        Outcome::discuss(Some("stop everything".into())),
        Outcome::cancelled(),
        Outcome::timed_out(),
        Outcome::unavailable("no terminal"),
    ] {
        let log = Log::default();
        let outer = json!([task("a"), act("b"), look("c")]);
        let (model, requests) = watched(with_tasks(outer, [("a", json!([ask("Which?")]))]));
        let person = Person::new([ends(outcome.clone())]);
        finish(&mut agent(model, &log, person, PermissionMode::Allow), "go").await;
        assert_eq!(log.lines(), Vec::<String>::new(), "{outcome:?}");
        let results = requests.last_results();
        assert!(results[0].1.starts_with("reported\n\nNot answered or not allowed in this task: AskUserQuestion: "));
        assert_eq!((results[1].1.as_str(), results[2].1.as_str()), (NOT_ANSWERED, NOT_ANSWERED), "{outcome:?}");
    }
    let log = Log::default();
    let outer = json!([task("a"), act("b")]);
    let model = with_tasks(outer, [("a", json!([ask("Which?")]))]);
    finish(&mut agent(model, &log, Person::new([pick("SQLite")]), PermissionMode::Allow), "go").await;
    assert_eq!(log.count("end Act b"), 1, "an answer lets them run");
}

#[tokio::test]
async fn calls_behind_a_task_whose_call_was_refused_do_not_run() {
    let log = Log::default();
    let outer = json!([task("a"), act("b")]);
    let (model, requests) = watched(with_tasks(outer, [("a", json!([act("in a")]))]));
    let person = Person::new([other("not like this")]);
    finish(&mut agent(model, &log, person.clone(), PermissionMode::Ask), "go").await;
    assert_eq!((person.asked().len(), log.lines()), (1, Vec::new()));
    let results = requests.last_results();
    let told = "Act: The user did not allow this. Their words: not like this";
    assert_eq!(results[0].1, format!("reported\n\nNot answered or not allowed in this task: {told}"));
    assert_eq!(results[1].1, NOT_ALLOWED);
}

#[tokio::test]
async fn a_task_beside_a_question_that_was_not_answered_does_nothing_more() {
    for (first, second) in [("a", "b"), ("b", "a")] {
        let log = Log::default();
        let outer = json!([task(first), task(second)]);
        let tasks = [("a", json!([ask("Which?")])), ("b", json!([look("b"), act("b")]))];
        let (model, requests) = watched(with_tasks(outer, tasks));
        let person = Person::logging(&log, [ends(Outcome::discuss(Some("stop everything".into())))]);
        finish(&mut agent(model, &log, person, PermissionMode::Allow), "go").await;
        let acted = log.lines().iter().position(|line| line == "begin Act b");
        let replied = log.lines().iter().position(|line| line == "replied Which?");
        assert!(acted.is_none_or(|acted| acted < replied.unwrap()), "{:?}", log.lines());
        if first == "a" {
            assert_eq!(acted, None);
            let read = requests.all().into_iter().find_map(|seen| match (seen.task.as_deref(), seen.messages.last()) {
                (Some("b"), Some(askuser_agent::Message::Results { results })) => Some(results[1].output.clone()),
                _ => None,
            });
            let words = "Not run: a question asked beside this task was not answered. Do nothing more, and report what is \
                         done and what is not.";
            assert_eq!(read.as_deref(), Some(words));
        }
    }
}

#[tokio::test]
async fn a_question_that_a_task_got_wrong_halts_nothing_outside_of_it() {
    let log = Log::default();
    let invalid = json!({"name": "AskUserQuestion", "input": {"questions": []}});
    let model = with_tasks(json!([task("a"), act("b")]), [("a", json!([invalid, act("in a")]))]);
    finish(&mut agent(model, &log, Person::new([]), PermissionMode::Allow), "go").await;
    assert_eq!(log.lines(), ["begin Act b", "end Act b"]);
}

#[tokio::test]
async fn after_a_crash_a_task_that_was_told_no_still_halts_what_is_beside_and_behind_it() {
    let replies: [(Value, fn() -> Reply); 3] = [
        (ask("Which?"), || ends(Outcome::discuss(None))),
        (act("in a"), || ends(Outcome::declined(None))),
        (act("in a"), || pick_and_note("Allow once", "in a branch")),
    ];
    for (call, reply) in replies {
        for last in ["outcome", "result"] {
            let folder = tempfile::tempdir().unwrap();
            let log = Log::default();
            let calls = || {
                let outer = json!([task("a"), task("b"), act("c")]);
                with_tasks(outer, [("a", json!([call.clone()])), ("b", json!([act("b")]))])
            };
            let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
            let id = transcript.id();
            let path = transcript.path().unwrap();
            let person = Person::new([reply()]);
            let mut first = agent(calls(), &log, person, PermissionMode::Ask).with_transcript(transcript);
            finish(&mut first, "go").await;
            drop(first);
            cut_after(&path, |line| line["type"] == last);
            let transcript = Transcript::open(folder.path(), &id).unwrap();
            // The returning user allows all calls, so only the refusal prevents the call.
            let mut second = agent(calls(), &log, Person::new([]), PermissionMode::Allow).with_transcript(transcript);
            assert_eq!(last_words(&collect(second.resume().unwrap()).await), "done");
            assert_eq!(log.lines(), Vec::<String>::new(), "cut after the {last} of {call}");
        }
    }
}

// ---- a user who comes back with a message ----

const CAME_BACK: &str = "Not run: the user came back with a message before this had begun. Read it, then decide anew.";

/// Cuts off a session after a line. The person then resumes it with the message "stop" and allows all calls.
///
/// Returns the log since then, and the results of the calls that were cut off.
async fn come_back(model: impl Fn() -> askuser_agent::Script, last: &str, person: Arc<Person>) -> (Log, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::default();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let id = transcript.id();
    let path = transcript.path().unwrap();
    let mode = if last == "asked" { PermissionMode::Ask } else { PermissionMode::Allow };
    let before = Person::new([pick_first(), pick_first()]);
    let mut first = agent(model(), &Log::default(), before, mode).with_transcript(transcript);
    finish(&mut first, "go").await;
    drop(first);
    cut_after(&path, |line| line["type"] == last);
    let transcript = Transcript::open(folder.path(), &id).unwrap();
    let (model, requests) = watched(model());
    let mut second = agent(model, &log, person, PermissionMode::Allow).with_transcript(transcript);
    let user_returned = tokio_util::sync::CancellationToken::new();
    user_returned.cancel();
    collect(second.resume_until_user_returned(user_returned).unwrap()).await;
    assert_eq!(requests.all(), [], "the model hears nothing before the words");
    finish(&mut second, "stop").await;
    let read = requests.all()[0].messages.clone();
    let [.., askuser_agent::Message::Results { results }, askuser_agent::Message::User { text }] = &read[..] else {
        panic!("{read:?}")
    };
    assert_eq!(text, "stop");
    (log, results.iter().map(|result| result.output.clone()).collect())
}

#[tokio::test]
async fn after_a_crash_nothing_begins_before_the_message_of_the_user_who_returns() {
    let model = || calling([json!([act("a"), act("b"), ask("Which?")])]);
    let (log, read) = come_back(model, "started", Person::new([])).await;
    assert_eq!(log.lines(), Vec::<String>::new());
    assert!(read[0].starts_with("The session was cut off while this ran."), "{read:?}");
    assert_eq!(read[1..], [CAME_BACK, CAME_BACK]);
}

#[tokio::test]
async fn a_permission_that_still_waits_is_not_given_by_the_mode_of_a_user_who_returns_with_a_message() {
    let (log, read) = come_back(|| calling([json!([act("a"), act("b")])]), "asked", Person::new([])).await;
    assert_eq!((log.lines(), &*read), (Vec::new(), &[CAME_BACK, CAME_BACK].map(str::to_owned)[..]));
}

#[tokio::test]
async fn a_question_that_a_person_has_seen_is_asked_again_before_their_message() {
    let person = Person::new([pick("SQLite")]);
    let (log, read) = come_back(|| calling([json!([ask("Which?"), act("b")])]), "asked", person.clone()).await;
    assert_eq!((person.asked().len(), log.lines()), (1, Vec::new()));
    assert!(read[0].contains("Selected: SQLite"), "{read:?}");
    assert_eq!(read[1], CAME_BACK);
}

#[tokio::test]
async fn a_task_goes_no_further_before_the_message_of_the_user_who_returns() {
    let model = || with_tasks(json!([task("a"), act("c")]), [("a", json!([act("x"), act("y")]))]);
    let (log, read) = come_back(model, "started", Person::new([])).await;
    assert_eq!(log.lines(), Vec::<String>::new());
    assert!(read[0].starts_with("The session was cut off while this task was at work, and the user came back"));
    assert_eq!(read[1], CAME_BACK);
}

// ---- an outcome that belongs to another question ----

/// Repeats its answer to the first question for all later questions.
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
    // The surface repeats an answer to another question. The answer is checked against the question, so it does not
    // count.
    let other = json!({"name": "Write", "input": {"path": "a.txt", "content": "a"}});
    let (model, requests) = watched(calling([json!([act("ls")]), json!([other])]));
    let folder = tempfile::tempdir().unwrap();
    let tools = registry(&log).with(askuser_agent::tools::Write);
    let agent = Agent::new(model).with_tools(tools).with_folder(folder.path());
    finish(&mut agent.with_asker(Arc::new(Repeating::default())), "go").await;
    assert_eq!((log.lines().len(), folder.path().join("a.txt").exists()), (2, false));
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

/// Runs a session up to the outcome of this call's question, and changes the recorded outcome. Then resumes it.
///
/// Returns the person, the log and the result that the model reads.
async fn with_recorded_outcome(call: Value, forge: impl Fn(&mut Value)) -> (Arc<Person>, Log, String) {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::default();
    let calls = || calling([json!([call.clone()])]);
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let id = transcript.id();
    let path = transcript.path().unwrap();
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
