//! A question and each of its outcomes, as the model reads them.

use crate::support::*;
use askuser::store::Draft;
use askuser::{AskError, Outcome};
use askuser_agent::{Agent, FailureKind, Message, ModelEvent, PermissionMode, Permissions, Transcript, tools};
use serde_json::json;
use std::io;
use std::sync::Arc;

/// Asks one question and replies to it. Returns the result of the call that the model reads.
async fn result_of(reply: Reply) -> String {
    let (model, requests) = watched(calling([json!([ask("Which database?")])]));
    let person = Person::new([reply]);
    let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(person.clone());
    assert_eq!(finish(&mut agent, "go").await, "done");
    assert_eq!(person.asked().len(), 1);
    let [(id, output, false)] = &requests.last_results()[..] else { panic!("one result that is no error") };
    assert_eq!(id, "call_1_1");
    output.clone()
}

#[tokio::test]
async fn the_next_request_carries_the_answer_as_the_result_of_that_call() {
    let read = result_of(pick("PostgreSQL")).await;
    assert_eq!(
        read,
        "User answered the following questions:\n\n\
         1. Database (Which database?)\n   Selected: PostgreSQL\n\n\
         Proceeding with user selections."
    );
}

#[tokio::test]
async fn what_was_typed_under_other_reaches_the_model() {
    let read = result_of(other("DuckDB,\nin memory")).await;
    assert_eq!(
        read,
        "User answered the following questions:\n\n\
         1. Database (Which database?)\n   Other: DuckDB,\n     in memory\n\n\
         Proceeding with user selections."
    );
}

#[tokio::test]
async fn a_note_reaches_the_model() {
    let read = result_of(pick_and_note("SQLite", "for now")).await;
    assert!(read.contains("   Selected: SQLite\n   Note: for now\n"), "{read}");
}

#[tokio::test]
async fn only_an_answer_reads_as_one() {
    for (outcome, opening) in [
        (Outcome::cancelled(), "The user cancelled"),
        (Outcome::declined(Some("not now".into())), "The user declined to answer.\nReason: not now"),
        (Outcome::discuss(Some("why?".into())), "The user wants to talk about this before answering."),
        (Outcome::timed_out(), "The time ran out before the user answered. Silence is not consent."),
        (Outcome::unavailable("no terminal"), "Nobody was asked: no user can be reached here."),
    ] {
        let read = result_of(ends(outcome)).await;
        assert!(read.starts_with(opening), "{read}");
        assert!(read.contains("Not answered: Database. Do not assume an answer."), "{read}");
        assert!(!read.contains("answered the following"), "{read}");
    }
}

#[tokio::test]
async fn a_broken_surface_is_nobody_there() {
    let broken = || AskError::surface("cannot open the terminal", io::Error::other("gone"));
    let read = result_of(fails(broken)).await;
    assert!(read.starts_with("Nobody was asked"), "{read}");
    assert!(read.contains("Why: cannot open the terminal: gone"), "{read}");
}

#[tokio::test]
async fn an_interrupt_stops_the_turn_and_the_next_one_works() {
    let log = Log::default();
    let turns = json!({"turns": [
        {"calls": [ask("Which database?"), {"name": "Look", "input": {}}]},
        {"text": "as you like"},
    ]});
    let (model, requests) = watched(script(turns));
    let person = Person::logging(&log, [interrupts()]);
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(person);

    let events = collect(agent.run("go")).await;
    assert_eq!(
        short(&events),
        ["start call_1_1 AskUserQuestion", "ask call_1_1", "error call_1_1", "broke Interrupted"]
    );
    assert_eq!(log.lines(), ["asked Which database?", "replied Which database?"]);
    assert_eq!(agent.resume().map(|_| ()), None);

    assert_eq!(finish(&mut agent, "never mind").await, "as you like");
    let seen = requests.all().pop().unwrap();
    let [_, _, Message::Results { results }, Message::User { text }] = &seen.messages[..] else { panic!("{seen:#?}") };
    assert_eq!(text, "never mind");
    let asked = "The user interrupted this before it had finished.";
    let not_begun = "The user interrupted before this had any effect: nothing was changed by it.";
    let read: Vec<_> = results.iter().map(|r| (r.output.as_str(), r.is_error)).collect();
    assert_eq!(read, [(asked, true), (not_begun, true)]);
}

#[tokio::test]
async fn a_signal_breaks_the_turn_off_and_the_question_is_asked_again() {
    let (model, requests) = watched(calling([json!([ask("Which database?")])]));
    let person = Person::new([fails(|| AskError::Signal(15)), pick("SQLite")]);
    let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(person.clone());

    assert_eq!(short(&collect(agent.run("go")).await).last().unwrap(), "broke Signal");
    assert_eq!(last_words(&collect(agent.resume().unwrap()).await), "done");
    assert_eq!(person.asked().len(), 2);
    assert_eq!(person.asked()[0].key(), person.asked()[1].key());
    assert!(requests.last_result().0.contains("Selected: SQLite"));
}

#[tokio::test]
async fn a_question_that_is_put_aside_is_not_settled_and_is_asked_again() {
    let (model, requests) = watched(calling([json!([ask("Which database?")])]));
    let person = Person::new([fails(|| AskError::PutAside(Draft::default())), pick("SQLite")]);
    let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(person.clone());
    assert_eq!(short(&collect(agent.run("go")).await).last().unwrap(), "broke NobodyThere");
    assert_eq!(agent.transcript().pending().len(), 1);
    assert_eq!(last_words(&collect(agent.resume().unwrap()).await), "done");
    assert!(requests.last_result().0.contains("Selected: SQLite"));
}

#[tokio::test]
async fn a_seen_question_is_not_settled_by_a_run_without_a_person() {
    let plan = json!({"name": "ExitPlanMode", "input": {"plan": "Ship"}});
    let act = json!({"name": "Act", "input": {"at": "it"}});
    let task = json!({"name": "Task", "input": {"description": "audit", "prompt": "Do it"}});
    let tasks = json!({"audit": [{"calls": [ask("Audit all?")]}, {"text": "audited"}]});
    for (call, mode, answer) in [
        (ask("Which database?"), PermissionMode::Ask, "SQLite"),
        (act, PermissionMode::Ask, "Allow once"),
        (plan, PermissionMode::Plan, "Go ahead"),
        (task, PermissionMode::Ask, "SQLite"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::default();
        let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
        let id = transcript.id();
        let agent = |transcript| {
            let turns = json!([{"calls": [call]}, {"text": "done"}]);
            Agent::new(script(json!({"turns": turns, "tasks": tasks})))
                .with_tools(registry(&log))
                .with_permissions(Permissions::new(mode))
                .with_transcript(transcript)
        };
        let open = || Transcript::open(folder.path(), &id).unwrap();
        let mut asking = agent(transcript).with_asker(Person::new([fails(|| AskError::Signal(15))]));
        assert_eq!(short(&collect(asking.run("go")).await).last().unwrap(), "broke Signal");
        drop(asking);
        for _ in 0..2 {
            let mut alone = agent(open());
            let events = short(&collect(alone.resume().unwrap()).await);
            assert_eq!(events.last().unwrap(), "broke NobodyThere", "{call}");
        }
        assert_eq!(open().pending().len(), 1, "{call}");
        let person = Person::new([pick(answer)]);
        let mut asking = agent(open()).with_asker(person.clone());
        assert_eq!(last_words(&collect(asking.resume().unwrap()).await), "done", "{call}");
        assert_eq!(person.asked().len(), 1, "{call}");
    }
}

#[tokio::test]
async fn an_invalid_question_is_asked_of_nobody_and_corrected_by_the_model() {
    let mut bad = questions("Which database?");
    bad["questions"][0]["header"] = json!("Far too long a header");
    bad["questions"][0]["options"][0]["label"] = json!("");
    bad["questions"][0]["multiSelect"] = json!("no");
    let (model, requests) =
        watched(calling([json!([{"name": "AskUserQuestion", "input": bad}]), json!([ask("Which database?")])]));
    let person = Person::new([pick("SQLite")]);
    let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(person.clone());

    let events = collect(agent.run("go")).await;
    assert_eq!(
        short(&events),
        [
            "start call_1_1 AskUserQuestion",
            "error call_1_1",
            "start call_2_1 AskUserQuestion",
            "ask call_2_1",
            "ended call_2_1 answered",
            "result call_2_1",
            "text done",
            "done done",
        ]
    );
    let second = &requests.all()[1];
    let Some(Message::Results { results }) = second.messages.last() else { panic!("{second:#?}") };
    assert_eq!(
        results[0].output,
        "Invalid AskUserQuestion input; nothing was asked. Correct this and call again:\n\
         - questions[0].header: 21 characters, at most 12\n\
         - questions[0].options[0].label: empty, at least 1\n\
         - questions[0].multiSelect: a string, must be true or false"
    );
    assert!(results[0].is_error);
    assert_eq!(person.asked().len(), 1);
}

#[tokio::test]
async fn tools_that_ask_are_not_offered_where_nobody_can_be_asked() {
    let (model, requests) = watched(calling([json!([ask("Which database?")])]));
    let mut agent = Agent::new(model).with_tools(tools::talking());
    assert_eq!(finish(&mut agent, "go").await, "done");
    assert_eq!(requests.all()[0].tools, ["Task"]);
    let words = "AskUserQuestion is not available: no person can be asked in this run. Do not assume an answer.";
    assert_eq!(requests.last_result(), (words.into(), true));
}

#[tokio::test]
async fn questions_of_two_agents_never_share_a_key() {
    let ask_both = || async {
        let person = Person::new([pick("SQLite")]);
        let model = calling([json!([ask("Which database?")])]);
        let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(person.clone());
        finish(&mut agent, "go").await;
        person.asked()[0].key().clone()
    };
    let mut keys = Vec::new();
    for _ in 0..100 {
        keys.push(ask_both().await);
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 100);
}

#[tokio::test]
async fn a_cleared_conversation_does_not_bring_back_the_name_of_a_call() {
    let person = Person::new([pick("SQLite"), pick("PostgreSQL")]);
    let (model, requests) = watched(calling([json!([ask("Which database?")])]));
    let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(person.clone());
    finish(&mut agent, "go").await;
    agent.clear().unwrap();
    finish(&mut agent, "go").await;
    let [first, second] = &person.asked()[..] else { panic!("asked twice") };
    assert_ne!(first.key(), second.key());
    assert!(requests.last_result().0.contains("Selected: PostgreSQL"));
}

#[tokio::test]
async fn calls_with_the_same_name_or_none_get_names_of_their_own() {
    let log = Log::default();
    let look = |id: &str, at: &str| calls(id, "Look", json!({ "at": at }));
    let answers = vec![
        vec![look("", "a"), look("", "b"), look("x", "c"), look("x", "d")],
        vec![look("x", "e"), look("call", "f")],
        vec![says("done")],
    ];
    let (model, requests) = watched(Played::new(answers));
    let mut agent = Agent::new(model).with_tools(registry(&log));
    finish(&mut agent, "go").await;
    let ids: Vec<String> = agent
        .messages()
        .iter()
        .flat_map(Message::calls)
        .map(|call| format!("{} {}", call.id, call.input["at"]))
        .collect();
    assert_eq!(ids, [r#"call "a""#, r#"call-2 "b""#, r#"x "c""#, r#"x-2 "d""#, r#"x-3 "e""#, r#"call-3 "f""#]);
    let results = requests.last_results();
    assert_eq!(results[0], ("x-3".into(), "Look e: ok".into(), false));
    assert_eq!(results[1], ("call-3".into(), "Look f: ok".into(), false));
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_that_names_the_tools_there_are() {
    let (model, requests) = watched(calling([json!([{"name": "Fly", "input": {}}])]));
    let log = Log::default();
    let mut agent = Agent::new(model).with_tools(registry(&log));
    assert_eq!(finish(&mut agent, "go").await, "done");
    assert_eq!(requests.last_result(), ("There is no tool \"Fly\". The tools are: Task, Look, Act.".into(), true));
}

#[tokio::test]
async fn input_that_is_no_json_is_asked_of_nobody() {
    let answers = vec![vec![calls("a", "AskUserQuestion", json!("{\"questions\": [{"))], vec![says("done")]];
    let (model, requests) = watched(Played::new(answers));
    let person = Person::new([]);
    let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(person.clone());
    finish(&mut agent, "go").await;
    let (read, is_error) = requests.last_result();
    assert!(is_error && read.starts_with("Invalid AskUserQuestion input; nothing was asked."), "{read}");
    assert_eq!(person.asked(), []);
}

#[tokio::test]
async fn text_is_told_before_the_person_is_asked() {
    struct Watching(Log);
    impl askuser::Asker for Watching {
        fn ask<'a>(&'a self, _: &'a askuser::Request) -> askuser::Asking<'a> {
            self.0.add("shown");
            Box::pin(async { Ok(Outcome::cancelled().through(askuser::Via::Terminal).into()) })
        }
    }
    let log = Log::default();
    let answers = vec![vec![says("Let me ask."), calls("a", "AskUserQuestion", questions("Which?"))], vec![says("ok")]];
    let mut agent =
        Agent::new(Played::new(answers)).with_tools(tools::talking()).with_asker(Arc::new(Watching(log.clone())));
    let mut run = agent.run("go");
    while let Some(event) = futures_util::StreamExt::next(&mut run).await {
        log.add(short(&[event]).pop().unwrap_or_default());
    }
    let lines: Vec<String> = log.lines().into_iter().filter(|line| !line.is_empty()).collect();
    assert_eq!(
        lines,
        [
            "text Let me ask.",
            "start a AskUserQuestion",
            "shown",
            "ask a",
            "ended a cancelled",
            "result a",
            "text ok",
            "done ok"
        ]
    );
}

#[tokio::test]
async fn a_turn_ends_even_if_a_tool_keeps_its_context() {
    struct Keeps(std::sync::Mutex<Vec<askuser_agent::ToolContext>>);
    impl askuser_agent::Tool for Keeps {
        fn definition(&self) -> askuser_agent::ToolDefinition {
            askuser_agent::ToolDefinition::new("Keep", "Keeps", json!({}))
        }
        fn access(&self) -> askuser_agent::Access {
            askuser_agent::Access::Read
        }
        fn run<'a>(
            &'a self,
            _: &'a askuser_agent::ToolCall,
            context: &'a askuser_agent::ToolContext,
        ) -> askuser_agent::Running<'a> {
            self.0.lock().unwrap().push(context.clone());
            Box::pin(async { Ok(askuser_agent::ToolResult::ok("kept")) })
        }
    }
    let model = calling([json!([{"name": "Keep", "input": {}}])]);
    let mut agent = Agent::new(model).with_tools(tools::talking().with(Keeps(Default::default())));
    assert_eq!(finish(&mut agent, "go").await, "done");
}

#[tokio::test]
async fn what_requests_cost_adds_up() {
    let usage = |input_tokens, output_tokens| {
        Some(Ok(ModelEvent::Usage(askuser_agent::Usage::new(input_tokens, output_tokens))))
    };
    let answers =
        vec![vec![usage(1, 0), calls("a", "Look", json!({})), usage(10, 2)], vec![says("done"), usage(20, 3)]];
    let log = Log::default();
    let mut agent = Agent::new(Played::new(answers)).with_tools(registry(&log));
    let mut sum = askuser_agent::Usage::default();
    for event in collect(agent.run("go")).await {
        if let askuser_agent::AgentEvent::Usage { usage } = event {
            sum += usage;
        }
    }
    assert_eq!(sum, askuser_agent::Usage::new(30, 5));
}

#[tokio::test]
async fn a_script_that_ends_says_so() {
    let mut agent = Agent::new(script(json!({"turns": [{"text": "one"}]})));
    finish(&mut agent, "go").await;
    let events = collect(agent.run("and?")).await;
    let Some(askuser_agent::AgentEvent::Error { error }) = events.last() else { panic!("{events:?}") };
    assert_eq!((error.kind, error.message.as_str()), (FailureKind::Script, "the script ends here"));
}

#[tokio::test]
async fn a_question_carries_what_the_model_said_just_before_it() {
    let long = format!("{}end.", "x".repeat(5_000));
    for (said, expected) in [
        ("I looked at the schema.", Some("I looked at the schema.".to_owned())),
        (&long, Some(format!("…{}", &long[long.len() - 1_499..]))),
        ("", None),
    ] {
        let input = ask("Which database?")["input"].clone();
        let asks = vec![says(said), calls("a", "AskUserQuestion", input)];
        let person = Person::new([pick("SQLite")]);
        let model = Played::new(vec![asks, vec![says("done")]]);
        let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(person.clone());
        finish(&mut agent, "go").await;
        let asked = person.asked();
        assert_eq!(asked[0].why().map(str::to_owned), expected);
        assert!(!asked[0].is_agreed_to());
    }
}
