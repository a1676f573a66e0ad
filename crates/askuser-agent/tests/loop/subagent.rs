//! Subagents: their questions reach the same person, who sees where the questions come from.

use crate::support::*;
use askuser_agent::{Agent, FailureKind, Message, PermissionMode, Permissions, Transcript};
use serde_json::{Value, json};

fn task(description: &str) -> Value {
    json!({"name": "Task", "input": {"description": description, "prompt": format!("Do it: {description}")}})
}

fn audit(calls: Value) -> askuser_agent::Script {
    script(json!({
        "turns": [{"calls": [task("audit deps")]}, {"text": "all done"}],
        "tasks": {"audit deps": [{"calls": calls}, {"text": "audited"}]},
    }))
}

#[tokio::test]
async fn a_question_of_a_subagent_says_where_it_comes_from() {
    let person = Person::new([pick("SQLite")]);
    let (model, requests) = watched(audit(json!([ask("Which?")])));
    let record = Transcript::in_memory();
    let log = Log::default();
    let mut agent =
        Agent::new(model).with_tools(registry(&log)).with_asker(person.clone()).with_transcript(record.clone());
    let events = collect(agent.run("go")).await;
    let [request] = &person.asked()[..] else { panic!("asked once") };
    assert_eq!(request.asked_by().as_deref(), Some("task 'audit deps'"));
    assert_eq!(*request.key(), askuser::RequestKey::new(record.id(), "call_1_1").in_tasks(["call_1_1"]));
    assert_eq!(
        short(&events),
        [
            "start call_1_1 Task",
            "call_1_1 'audit deps': start call_1_1 AskUserQuestion",
            "call_1_1 'audit deps': ask call_1_1/call_1_1",
            "call_1_1 'audit deps': ended call_1_1/call_1_1 answered",
            "call_1_1 'audit deps': result call_1_1",
            "call_1_1 'audit deps': text audited",
            "call_1_1 'audit deps': done audited",
            "result call_1_1",
            "text all done",
            "done all done",
        ]
    );
    assert_eq!(requests.last_result(), ("audited".into(), false));
    let own = requests.all().into_iter().find(|seen| seen.task.is_some()).unwrap();
    assert_eq!(own.task.as_deref(), Some("audit deps"));
    assert_eq!(own.messages.len(), 1);
    assert_eq!(own.tools, ["AskUserQuestion", "Look", "Act"], "no subagents of subagents");
}

#[tokio::test]
async fn a_question_of_the_agent_itself_has_no_origin() {
    let person = Person::new([pick("SQLite")]);
    let log = Log::default();
    let mut agent = Agent::new(calling([json!([ask("Which?")])])).with_tools(registry(&log)).with_asker(person.clone());
    finish(&mut agent, "go").await;
    assert_eq!(person.asked()[0].asked_by(), None);
}

#[tokio::test]
async fn two_subagents_work_at_once_and_ask_one_after_the_other() {
    let log = Log::default();
    let model = script(json!({
        "turns": [{"calls": [task("one"), task("two")]}, {"text": "both"}],
        "tasks": {
            "one": [{"calls": [ask("One?")]}, {"text": "1"}],
            "two": [{"calls": [ask("Two?")]}, {"text": "2"}],
        },
    }));
    let person = Person::logging(&log, [pick("SQLite"), pick("PostgreSQL")]);
    let (model, requests) = watched(model);
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(person);
    let events = short(&collect(agent.run("go")).await);
    let mut pairs: Vec<_> = log.lines().chunks(2).map(|pair| pair.join(", ")).collect();
    pairs.sort();
    assert_eq!(pairs, ["asked One?, replied One?", "asked Two?, replied Two?"]);
    let mut asks: Vec<_> = events.iter().filter(|event| event.contains(": ask ")).collect();
    asks.sort();
    assert_eq!(asks, ["call_1_1 'one': ask call_1_1/call_1_1", "call_1_2 'two': ask call_1_2/call_1_1"]);
    let results: Vec<_> = requests.last_results().into_iter().map(|(id, output, _)| (id, output)).collect();
    assert_eq!(results, [("call_1_1".into(), "1".into()), ("call_1_2".into(), "2".into())]);
}

#[tokio::test]
async fn an_interrupt_in_a_subagent_stops_everything() {
    let log = Log::default();
    let person = Person::logging(&log, [interrupts()]);
    let mut agent = Agent::new(audit(json!([ask("Which?"), {"name": "Act", "input": {}}])))
        .with_tools(registry(&log))
        .with_asker(person)
        .with_permissions(Permissions::new(PermissionMode::Allow));
    let events = collect(agent.run("go")).await;
    assert_eq!(short(&events).last().unwrap(), "broke Interrupted");
    assert_eq!(log.lines(), ["asked Which?", "replied Which?"]);
    assert!(agent.resume().is_none());
}

#[tokio::test]
async fn a_subagent_that_fails_is_an_error_the_model_reads() {
    let model = script(json!({"turns": [{"calls": [task("unheard of")]}, {"text": "a pity"}]}));
    let (model, requests) = watched(model);
    let log = Log::default();
    let mut agent = Agent::new(model).with_tools(registry(&log));
    let events = collect(agent.run("go")).await;
    assert_eq!(last_words(&events), "a pity");
    assert!(short(&events).contains(&format!("call_1_1 'unheard of': broke {:?}", FailureKind::Script)));
    let words = "The task broke off: the script of task \"unheard of\" ends here";
    assert_eq!(requests.last_result(), (words.into(), true));
}

#[tokio::test]
async fn answers_in_a_subagent_that_is_cut_off_reach_the_model() {
    let answered = "Other: in memory, for now";
    // The subagent fails because its script has no more responses.
    let model = script(json!({
        "turns": [{"calls": [task("audit deps")]}, {"text": "a pity"}],
        "tasks": {"audit deps": [{"calls": [ask("Which?")]}]},
    }));
    let (model, requests) = watched(model);
    let log = Log::default();
    let person = Person::new([other("in memory, for now")]);
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(person);
    assert_eq!(last_words(&collect(agent.run("go")).await), "a pity");
    let (read, is_error) = requests.last_result();
    assert!(is_error && read.contains("The task broke off") && read.contains(answered), "{read}");
    // The turn is stopped, or cut off and then given up for a message.
    for is_stopped in [true, false] {
        let log = Log::default();
        let (model, requests) = watched(audit(json!([ask("Which?"), {"name": "Act", "input": {"forever": true}}])));
        let mut agent = Agent::new(model)
            .with_tools(registry(&log))
            .with_permissions(Permissions::new(PermissionMode::Allow))
            .with_asker(Person::new([other("in memory, for now")]));
        let mut run = agent.run("go");
        until(&mut run, &log, "begin Act it").await;
        if is_stopped {
            run.stopper().cancel();
            collect(run).await;
        } else {
            drop(run);
        }
        finish(&mut agent, "go on").await;
        let messages = requests.all().pop().unwrap().messages;
        let [_, _, Message::Results { results }, ..] = &messages[..] else { panic!("{messages:#?}") };
        assert!(results[0].output.contains(answered), "{is_stopped}: {results:?}");
    }
}

#[tokio::test]
async fn what_a_subagent_is_told_has_to_say_something() {
    let model = calling([json!([{"name": "Task", "input": {"description": " ", "prompt": "x"}}])]);
    let (model, requests) = watched(model);
    let log = Log::default();
    let mut agent = Agent::new(model).with_tools(registry(&log));
    finish(&mut agent, "go").await;
    let words = "Invalid Task input; nothing was done. description: blank, must say something";
    assert_eq!(requests.last_result(), (words.into(), true));
}

#[tokio::test]
async fn always_in_a_subagent_is_always_for_the_agent_too() {
    let log = Log::default();
    let act = json!({"name": "Act", "input": {}});
    let model = script(json!({
        "turns": [{"calls": [task("one")]}, {"calls": [act]}, {"text": "done"}],
        "tasks": {"one": [{"calls": [act]}, {"text": "1"}]},
    }));
    let person = Person::logging(&log, [pick("Always allow in this folder")]);
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(person.clone());
    finish(&mut agent, "go").await;
    assert_eq!(person.asked()[0].asked_by().as_deref(), Some("task 'one'"));
    assert_eq!(log.count("end Act it"), 2);
}

#[tokio::test]
async fn subagents_at_work_together_ask_one_after_the_other_in_the_order_of_their_calls() {
    let names = ["first", "second", "third", "fourth"];
    for words in ["", "Hm. Let me think."] {
        let turns = |name: &&str| {
            let asking = json!({"text": words, "calls": [ask(name)]});
            ((*name).to_owned(), json!([asking, {"text": "asked"}]))
        };
        let tasks: serde_json::Map<String, Value> = names.iter().map(turns).collect();
        let calls: Vec<Value> = names.iter().map(|name| task(name)).collect();
        let model = script(json!({"turns": [{"calls": calls}, {"text": "all done"}], "tasks": tasks}));
        let person = Person::new(names.map(|_| pick("SQLite")));
        let log = Log::default();
        let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(person.clone());
        let events = collect(agent.run("go")).await;
        assert_eq!(last_words(&events), "all done");
        let origins: Vec<String> = person.asked().into_iter().filter_map(|request| request.asked_by()).collect();
        assert_eq!(origins, names.map(|name| format!("task '{name}'")));
    }
}

/// Returns a pair of overlapping actions or questions in a log; `None` if there is no overlap.
fn overlap(lines: &[String]) -> Option<String> {
    let mut open: Option<&str> = None;
    for line in lines {
        let (word, what) = line.split_once(' ').unwrap();
        match (word, open) {
            ("begin" | "asked", None) => open = Some(what),
            ("end" | "replied", Some(other)) if other == what => open = None,
            _ => return Some(format!("{line}, while {open:?} is under way")),
        }
    }
    open.map(|what| format!("{what} never ends"))
}

#[tokio::test]
async fn no_two_agents_act_at_once_and_none_acts_while_a_question_is_open() {
    let act = |at: &str| json!({"name": "Act", "input": {"at": at}});
    let names = ["one", "two", "three"];
    for mode in [PermissionMode::Allow, PermissionMode::Ask] {
        let log = Log::default();
        // The calls of each subagent are in another order, so that questions and actions meet in every order.
        let turns = |(i, name): (usize, &&str)| {
            let mut calls = vec![act(&format!("{name} a")), ask(&format!("{name}?")), act(&format!("{name} b"))];
            calls.rotate_left(i);
            ((*name).to_owned(), json!([{"calls": calls}, {"text": "ok"}]))
        };
        let tasks: serde_json::Map<String, Value> = names.iter().enumerate().map(turns).collect();
        let calls: Vec<Value> = names.iter().map(|name| task(name)).collect();
        let model =
            script(json!({"turns": [{"calls": calls}, {"calls": [act("last")]}, {"text": "all"}], "tasks": tasks}));
        let answer = || -> Reply {
            Box::new(|request| {
                let label = if request.key().purpose == askuser::Purpose::Permission { "Allow once" } else { "SQLite" };
                pick(label)(request)
            })
        };
        let person = Person::logging(&log, std::iter::repeat_with(answer).take(10));
        let mut agent = Agent::new(model)
            .with_tools(registry(&log))
            .with_asker(person.clone())
            .with_permissions(Permissions::new(mode));
        assert_eq!(finish(&mut agent, "go").await, "all");
        let lines = log.lines();
        assert_eq!(overlap(&lines), None, "{mode:?}: {lines:#?}");
        let acts = lines.iter().filter(|line| line.starts_with("begin")).count();
        let asked = if mode == PermissionMode::Ask { 3 + 7 } else { 3 };
        assert_eq!((acts, person.asked().len()), (7, asked), "{mode:?}: {lines:#?}");
    }
}

#[tokio::test]
async fn what_a_subagent_is_about_is_short_enough_to_stand_with_each_of_its_questions() {
    let too_long = "Invalid Task input; nothing was done. description: 81 characters, at most 80";
    for (chars, read) in [(80, ("did it", false)), (81, (too_long, true))] {
        let description = "é".repeat(chars);
        let (model, requests) = watched(script(json!({
            "turns": [{"calls": [{"name": "Task", "input": {"description": description, "prompt": "x"}}]}, {"text": "ok"}],
            "tasks": {description: [{"text": "did it"}]},
        })));
        let mut agent = Agent::new(model).with_tools(registry(&Log::default()));
        finish(&mut agent, "go").await;
        assert_eq!(requests.last_result(), (read.0.into(), read.1));
    }
}
