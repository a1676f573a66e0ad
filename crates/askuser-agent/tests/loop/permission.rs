//! Permission is asked for like any other question, and only a yes gives it.

use crate::support::*;
use askuser::policy::{Answers, Headless, Policy};
use askuser::store::Ending;
use askuser::{Asker, Chain, Outcome};
use askuser_agent::{
    Agent, Allowed, AllowedRule, PermissionMode, PermissionRule, Permissions, Scope, Transcript, tools,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};

fn act() -> Value {
    json!([{"name": "Act", "input": {"at": "it"}}])
}

/// Runs one call that acts, with this reply to its permission. Returns whether the call ran, and the result that the
/// model reads.
async fn after(reply: Reply) -> (bool, String) {
    answered_by([reply]).await
}

/// Runs one call that acts, with these replies to the same permission. Returns whether the call ran, and the result
/// that the model reads.
async fn answered_by<const N: usize>(replies: [Reply; N]) -> (bool, String) {
    let log = Log::default();
    let (model, requests) = watched(calling([act()]));
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(Person::new(replies));
    let events = collect(agent.run("go")).await;
    assert!(short(&events).contains(&"ask call_1_1:permission".to_owned()), "{events:?}");
    (log.count("end Act it") == 1, requests.last_result().0)
}

/// Returns the description of the first option, which tells why permission is asked for.
pub(crate) fn why(request: &askuser::Request) -> String {
    request.set().questions()[0].options()[0].description().to_owned()
}

#[tokio::test]
async fn the_person_sees_what_would_be_done() {
    let log = Log::default();
    let person = Person::new([pick("Allow once")]);
    let mut agent = Agent::new(calling([act()])).with_tools(registry(&log)).with_asker(person.clone());
    finish(&mut agent, "go").await;
    let set = person.asked()[0].set().clone();
    assert_eq!(set.questions()[0].text(), "Run Act with this input?");
    let Some(askuser::Context::ToolUse(shown)) = person.asked()[0].context().cloned() else { panic!("a tool use") };
    assert_eq!((shown.tool(), &shown.input()["at"]), ("Act", &serde_json::json!("it")));
    let labels: Vec<_> = set.questions()[0].options().iter().map(|option| option.name()).collect();
    assert_eq!(labels, ["Allow once", "Always allow in this folder", "Don't run it"]);
    assert_eq!(why(&person.asked()[0]), "This time only. Asks because the mode is ask.");
}

#[tokio::test]
async fn nothing_but_a_plain_yes_is_one() {
    let dismissed = "Not run: the user dismissed the request for permission. Wait for them to say how to go on.";
    let noted = |note: &str| {
        format!(
            "Not run: the user would allow this, and noted: {note}\nThe note may be a condition, so nothing has run yet. Keep to \
             it, and call again if you still need to: the user is asked again."
        )
    };
    for (reply, ran, read) in [
        (pick("Allow once"), true, "Act it: ok"),
        (pick("Always allow in this folder"), true, "Act it: ok"),
        (pick_and_note("Allow once", "in a branch"), false, &*noted("in a branch")),
        (pick_and_note("Always allow in this folder", "today"), false, &*noted("today")),
        (pick("Don't run it"), false, "The user did not allow this."),
        (pick_and_note("Don't run it", "use git mv"), false, "The user did not allow this. Their words: use git mv"),
        (other("Allow once"), false, "The user did not allow this. Their words: Allow once"),
        (ends(Outcome::declined(Some("no".into()))), false, "The user did not allow this. Their words: no"),
        (ends(Outcome::cancelled()), false, dismissed),
        (
            ends(Outcome::discuss(Some("why?".into()))),
            false,
            "Not run: the user wants to talk about it first. Their words: why? Reply to them before you go on.",
        ),
        (ends(Outcome::timed_out()), false, "Not run: the time for permission ran out. Silence is not consent."),
        (
            ends(Outcome::unavailable("no terminal")),
            false,
            "Not run: this needs the user's permission, and the user was not asked (no terminal).",
        ),
    ] {
        assert_eq!(after(reply).await, (ran, read.to_owned()));
    }
}

#[tokio::test]
async fn a_note_beside_always_keeps_no_rule_and_the_model_may_call_again() {
    let kept = Arc::new(Kept::default());
    let log = Log::default();
    let person =
        Person::new([pick_and_note("Always allow in this folder", "in a branch"), pick("Always allow in this folder")]);
    let mut agent = Agent::new(calling([act(), act(), act()]))
        .with_tools(registry(&log))
        .with_asker(person.clone())
        .with_permissions(Permissions::default().with_allowed(kept.clone()));
    let mut run = agent.run("go");
    until(&mut run, &person.log(), "replied Run Act with this input?").await;
    assert!(kept.0.lock().unwrap().is_empty());
    collect(run).await;
    assert_eq!((person.asked().len(), log.count("end Act it")), (2, 2));
    assert_eq!(*kept.0.lock().unwrap(), BTreeSet::from([PermissionRule::Tool("Act".into())]));
}

#[tokio::test]
async fn what_a_surface_hands_over_as_a_files_word_permits_nothing() {
    for via in [askuser::Via::AnswersFile, askuser::Via::Policy] {
        let forged: Reply = Box::new(move |request| {
            let answer = request.set().questions()[0].answer(&[0], None, None).unwrap();
            Ok(Outcome::answered(request.set(), vec![answer]).unwrap().through(via).into())
        });
        let (ran, read) = after(forged).await;
        assert!(!ran && read.contains("only a person can agree to this"), "{read}");
    }
}

/// Returns a reply as if another process with the agent's token had settled the question.
fn settled(label: &'static str) -> Reply {
    let reply = pick(label);
    Box::new(move |request| {
        let ending = Ending::settled("ci", reply(request)?.stored());
        Ok(ending.recorded().expect("a report").clone().into())
    })
}

#[tokio::test]
async fn a_permission_that_its_asker_settled_is_asked_again() {
    let settle = || settled("Allow once");
    let (has_acted, _) = answered_by([settle(), pick("Allow once")]).await;
    assert!(has_acted, "then the person allows it");
    let (has_acted, says) = answered_by([settle(), pick("Don't run it")]).await;
    assert!(!has_acted && says.contains("The user did not allow this"), "{says}");
    let (has_acted, says) = answered_by([settle(), settle(), settle()]).await;
    assert!(!has_acted && says.contains("the asker (ci) reported this outcome itself"), "{says}");
}

#[tokio::test]
async fn without_anybody_to_ask_nothing_acts() {
    let log = Log::default();
    let (model, requests) = watched(calling([act()]));
    let mut agent = Agent::new(model).with_tools(registry(&log));
    finish(&mut agent, "go").await;
    let read =
        "Not run: this needs the user's permission, and the user was not asked (no person can be asked in this run).";
    assert_eq!((log.lines(), requests.last_result()), (vec![], (read.into(), true)));
}

#[tokio::test]
async fn an_interrupt_at_a_permission_stops_the_turn() {
    let log = Log::default();
    let mut agent = Agent::new(calling([act()])).with_tools(registry(&log)).with_asker(Person::new([interrupts()]));
    let events = collect(agent.run("go")).await;
    assert_eq!(short(&events).last().unwrap(), "broke Interrupted");
    assert_eq!(log.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn allowed_always_is_asked_once() {
    let log = Log::default();
    let person = Person::new([pick("Always allow in this folder")]);
    let mut agent = Agent::new(calling([act(), act()])).with_tools(registry(&log)).with_asker(person.clone());
    finish(&mut agent, "go").await;
    assert_eq!((person.asked().len(), log.count("end Act it")), (1, 2));
}

#[derive(Default)]
pub(crate) struct Kept(pub(crate) Mutex<BTreeSet<PermissionRule>>);

impl Allowed for Kept {
    fn insert(&self, rule: &PermissionRule) -> io::Result<()> {
        self.0.lock().unwrap().insert(rule.clone());
        Ok(())
    }

    fn rules(&self) -> io::Result<Vec<AllowedRule>> {
        let rule = |rule: &PermissionRule| AllowedRule::new(rule.clone(), Scope::Folder);
        Ok(self.0.lock().unwrap().iter().map(rule).collect())
    }

    fn remove(&self, rule: &AllowedRule) -> io::Result<()> {
        self.0.lock().unwrap().remove(&rule.rule);
        Ok(())
    }
}

#[tokio::test]
async fn allowed_always_is_kept_for_the_next_agent() {
    let kept = Arc::new(Kept::default());
    let log = Log::default();
    for replies in [vec![pick("Always allow in this folder")], vec![]] {
        let permissions = Permissions::default().with_allowed(kept.clone());
        let mut agent = Agent::new(calling([act()]))
            .with_tools(registry(&log))
            .with_asker(Person::new(replies))
            .with_permissions(permissions);
        finish(&mut agent, "go").await;
    }
    assert_eq!(log.count("end Act it"), 2);
    assert_eq!(*kept.0.lock().unwrap(), BTreeSet::from([PermissionRule::Tool("Act".into())]));
}

#[tokio::test]
async fn a_permission_that_cannot_be_kept_lasts_as_long_as_the_agent() {
    struct Full;
    impl Allowed for Full {
        fn insert(&self, _: &PermissionRule) -> io::Result<()> {
            Err(io::Error::other("full"))
        }
        fn rules(&self) -> io::Result<Vec<AllowedRule>> {
            Ok(Vec::new())
        }
        fn remove(&self, _: &AllowedRule) -> io::Result<()> {
            Err(io::Error::other("full"))
        }
    }
    let log = Log::default();
    let permissions = Permissions::default().with_allowed(Arc::new(Full));
    let mut agent = Agent::new(calling([act(), act()]))
        .with_tools(registry(&log))
        .with_asker(Person::new([pick("Always allow in this folder")]))
        .with_permissions(permissions);
    finish(&mut agent, "go").await;
    assert_eq!(log.count("end Act it"), 2);
}

#[tokio::test]
async fn modes_decide_what_acts_without_asking() {
    for (mode, asked) in [(PermissionMode::Ask, 1), (PermissionMode::AcceptEdits, 1), (PermissionMode::Allow, 0)] {
        let log = Log::default();
        let person = Person::new([pick("Allow once")]);
        let mut agent = Agent::new(calling([act()]))
            .with_tools(registry(&log))
            .with_asker(person.clone())
            .with_permissions(Permissions::new(mode));
        finish(&mut agent, "go").await;
        assert_eq!((person.asked().len(), log.count("end Act it")), (asked, 1), "{mode:?}");
    }
}

#[tokio::test]
async fn no_mode_answers_a_question() {
    for mode in [PermissionMode::Ask, PermissionMode::AcceptEdits, PermissionMode::Allow, PermissionMode::Plan] {
        let log = Log::default();
        let person = Person::new([pick("SQLite")]);
        let mut agent = Agent::new(calling([json!([ask("Which?")])]))
            .with_tools(registry(&log))
            .with_asker(person.clone())
            .with_permissions(Permissions::new(mode));
        finish(&mut agent, "go").await;
        assert_eq!(person.texts(), ["Which?"], "{mode:?}");
    }
}

#[tokio::test]
async fn a_permission_that_survived_a_crash_is_for_the_diff_that_was_shown_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = folder.path().join("sessions");
    let file = folder.path().join("a.txt");
    let make = |transcript, person: &Arc<Person>| {
        let write = json!([{"name": "Write", "input": {"path": "a.txt", "content": "new\n"}}]);
        let read = json!([{"name": "Read", "input": {"path": "a.txt"}}]);
        let agent = Agent::new(calling([read, write])).with_tools(tools::all()).with_folder(folder.path());
        agent.with_asker(person.clone()).with_transcript(transcript)
    };
    std::fs::write(&file, "one\n").unwrap();
    let transcript = Transcript::create(&sessions, folder.path()).unwrap();
    let id = transcript.id();
    let path = transcript.path().unwrap();
    finish(&mut make(transcript, &Person::new([pick("Allow once")])), "go").await;
    let record = std::fs::read_to_string(&path).unwrap();
    let cut = record.find("\"type\":\"started\"").unwrap();
    let until_allowed = &record[..record[..cut].rfind('\n').unwrap() + 1];
    for (meanwhile, asked, then) in [("two\n", 1, "two\n"), ("one\n", 0, "new\n")] {
        std::fs::write(&path, until_allowed).unwrap();
        std::fs::write(&file, meanwhile).unwrap();
        let person = Person::new([pick("Don't run it")]);
        let mut agent = make(Transcript::open(&sessions, &id).unwrap(), &person);
        collect(agent.resume().unwrap()).await;
        assert_eq!(person.asked().len(), asked, "{meanwhile:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), then);
    }
}

#[tokio::test]
async fn what_was_allowed_always_is_not_asked_again_where_edits_are_accepted() {
    for allowed_before in [true, false] {
        let kept = Arc::new(Kept::default());
        if allowed_before {
            kept.insert(&PermissionRule::Tool("Act".into())).unwrap();
        }
        let log = Log::default();
        let person = Person::new(if allowed_before { vec![] } else { vec![pick("Always allow in this folder")] });
        let mut agent = Agent::new(calling([act(), act()]))
            .with_tools(registry(&log))
            .with_asker(person.clone())
            .with_permissions(Permissions::new(PermissionMode::AcceptEdits).with_allowed(kept.clone()));
        finish(&mut agent, "go").await;
        assert_eq!(person.asked().len(), usize::from(!allowed_before));
        assert_eq!(log.count("end Act it"), 2);
    }
}

#[tokio::test]
async fn an_answers_file_that_does_not_fit_a_permission_asks_the_person_who_is_there() {
    use askuser::policy::{Answers, Policy};
    let log = Log::default();
    let answers = Answers::parse(&json!({"/Run .*/": "PostgreSQL"})).unwrap();
    let person = Person::new([pick("Allow once")]);
    let asker = Chain::new(Policy { answers: Some(answers), headless: None }).with_person(person.clone());
    let mut agent = Agent::new(calling([act()])).with_tools(registry(&log)).with_asker(Arc::new(asker));
    finish(&mut agent, "go").await;
    assert_eq!((person.asked().len(), log.count("end Act it")), (1, 1));
}

/// Returns a script that runs these commands with Bash, one per message.
pub(crate) fn commands<const N: usize>(commands: [&str; N]) -> askuser_agent::Script {
    calling(commands.map(|command| json!([{"name": "Bash", "input": {"command": command}}])))
}

#[tokio::test]
async fn an_exact_command_with_a_star_does_not_become_a_prefix() {
    let kept = Arc::new(Kept::default());
    let person = Person::new([pick("Always allow in this folder"), pick("Don't run it")]);
    let mut agent = Agent::new(commands(["ls *", "ls -l"]))
        .with_tools(tools::all())
        .with_asker(person.clone())
        .with_permissions(Permissions::default().with_allowed(kept.clone()));
    finish(&mut agent, "go").await;
    assert_eq!(person.asked().len(), 2);
}

// ---- answers written beforehand ----

/// Returns an asker with these prepared answers, which may permit, in front of a person.
fn behind(answers: Value, person: Arc<Person>) -> Arc<dyn Asker> {
    let answers = Some(Answers::parse(&answers).unwrap().permitting());
    Arc::new(Chain::new(Policy { answers, headless: None }).with_person(person))
}

async fn decided_beforehand(answers: Value, person: Arc<Person>) -> (Log, String) {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([{"name": "Act", "input": {}}])]));
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(behind(answers, person));
    finish(&mut agent, "go").await;
    (log, requests.last_result().0)
}

#[tokio::test]
async fn what_a_file_of_answers_decides_is_not_called_the_users() {
    let beforehand = |why| {
        format!(
            "Not run: this needs the user's permission, and the user was not asked (answers that were written beforehand {why})."
        )
    };
    for (answer, ran, read) in [
        (json!("Allow once"), 1, "Act it: ok".to_owned()),
        (json!("Don't run it"), 0, beforehand("do not agree")),
        (json!({"select": "Don't run it", "note": "n"}), 0, beforehand("do not agree; their note: n")),
        (json!({"select": "Allow once", "note": "n"}), 0, beforehand("would agree; their note: n")),
    ] {
        let (log, output) = decided_beforehand(json!({ "Act": answer }), Person::new([])).await;
        assert_eq!((log.count("end Act it"), output.as_str()), (ran, read.as_str()), "{answer}");
    }
}

#[tokio::test]
async fn answers_that_may_not_permit_and_rules_ask_the_person_who_is_there_and_run_nothing_without_one() {
    let answers = || Some(Answers::parse(&json!({"Act": "Allow once", "Plan": "Go ahead"})).unwrap());
    let plan = json!([{"name": "ExitPlanMode", "input": {"plan": "1. Do it"}}]);
    for (call, mode) in [(act(), PermissionMode::Ask), (plan, PermissionMode::Plan)] {
        for headless in [None, Some(Headless::Recommended)] {
            let log = Log::default();
            let (model, requests) = watched(calling([call.clone()]));
            let mut agent = Agent::new(model)
                .with_tools(registry(&log))
                .with_asker(Arc::new(Chain::alone(Policy { answers: answers(), headless })))
                .with_permissions(Permissions::new(mode));
            finish(&mut agent, "go").await;
            let (read, _) = requests.last_result();
            assert!(
                read.contains("the user was not asked (the ") || read.starts_with("The user was not asked to approve"),
                "{read}"
            );
            assert_eq!((log.lines(), agent.mode()), (vec![], mode));
        }
        let log = Log::default();
        let person = Person::new([ends(Outcome::cancelled())]);
        let policy = Policy { answers: answers(), headless: None };
        let mut agent = Agent::new(calling([call]))
            .with_tools(registry(&log))
            .with_asker(Arc::new(Chain::new(policy).with_person(person.clone())))
            .with_permissions(Permissions::new(mode));
        finish(&mut agent, "go").await;
        assert_eq!((person.asked().len(), log.lines(), agent.mode()), (1, vec![], mode));
    }
}

#[tokio::test]
async fn words_for_other_questions_do_not_refuse_a_permission_while_the_person_is_there() {
    for answers in [json!({"/.*/": {"other": "bun"}}), json!({"/.*/": "PostgreSQL"})] {
        let person = Person::new([pick("Allow once")]);
        let (log, read) = decided_beforehand(answers, person.clone()).await;
        assert_eq!((person.asked().len(), log.count("end Act it"), read.as_str()), (1, 1, "Act it: ok"));
    }
}

#[tokio::test]
async fn an_answer_written_for_a_permission_does_not_answer_a_question_of_the_model() {
    for header in ["Act", "act:", "\u{410}ct", "Look", "Allow once", "Permission", "AskUserQuest", "Plan"] {
        let input = json!({"questions": [{
            "question": "May I?", "header": header, "multiSelect": false, "options": [
                {"label": "Allow once", "description": "Yes"}, {"label": "No", "description": "No"},
            ],
        }]});
        let log = Log::default();
        let (model, requests) = watched(calling([json!([{"name": "AskUserQuestion", "input": input}])]));
        let asker = behind(json!({"Act": "Allow once"}), Person::new([]));
        let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(asker);
        finish(&mut agent, "go").await;
        let (read, is_error) = requests.last_result();
        assert!(is_error && read.contains("questions[0].header: reads like "), "{header}: {read}");
    }
}

#[tokio::test]
async fn a_plan_that_a_file_of_answers_approves_is_not_called_approved_by_the_user() {
    for (answer, mode, words) in [
        (
            "Go ahead",
            PermissionMode::Ask,
            "Answers that were written beforehand approve the plan; the user was not asked.",
        ),
        (
            "Keep planning",
            PermissionMode::Plan,
            "The user was not asked to approve the plan (answers that were written beforehand do not agree).",
        ),
    ] {
        let log = Log::default();
        let (model, requests) = watched(calling([json!([{"name": "ExitPlanMode", "input": {"plan": "1. Do it"}}])]));
        let mut agent = Agent::new(model)
            .with_tools(registry(&log))
            .with_asker(behind(json!({"Plan": answer}), Person::new([])))
            .with_permissions(Permissions::new(PermissionMode::Plan));
        finish(&mut agent, "go").await;
        let (read, _) = requests.last_result();
        assert!(read.starts_with(words) && agent.mode() == mode, "{read}");
    }
}
