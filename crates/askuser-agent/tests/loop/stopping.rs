//! Stopping a turn in good order, and dropping a running turn.

use crate::support::*;
use askuser_agent::{Agent, AgentEvent, Block, Message, PermissionMode, Permissions, Transcript, tools};
use futures_util::StreamExt;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const INTERRUPTED: &str = "The user interrupted this before it had finished.";
const NOT_BEGUN: &str = "The user interrupted before this had any effect: nothing was changed by it.";

#[tokio::test]
async fn words_that_were_read_stay_and_calls_that_were_not_run_do_not() {
    let log = Log::default();
    let answers =
        vec![vec![says("I will "), says("look."), calls("a", "Look", json!({})), says(" And"), None], vec![says("ok")]];
    let (model, requests) = watched(Played::new(answers));
    let mut agent = Agent::new(model).with_tools(registry(&log));
    let mut run = agent.run("go");
    for _ in 0..4 {
        assert!(matches!(run.next().await, Some(AgentEvent::TextDelta { .. } | AgentEvent::TextEnd)));
    }
    run.stopper().cancel();
    assert_eq!(short(&collect(run).await), ["text I will look.", "text  And", "broke Interrupted"]);
    assert_eq!(finish(&mut agent, "go on").await, "ok");
    let text = |text: &str| Block::Text { text: text.into() };
    let expected = Message::Assistant { content: vec![text("I will look."), text(" And")] };
    assert_eq!(requests.all()[1].messages[1], expected);
    assert_eq!(log.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn a_model_that_has_said_nothing_leaves_nothing() {
    let (model, requests) = watched(Played::new(vec![vec![None], vec![says("ok")]]));
    let mut agent = Agent::new(model);
    let mut run = agent.run("go");
    tokio::select! { biased; _ = run.next() => panic!("it waits"), () = std::future::ready(()) => {} }
    run.stopper().cancel();
    assert_eq!(short(&collect(run).await), ["broke Interrupted"]);
    assert_eq!(finish(&mut agent, "again").await, "ok");
    let expected: Vec<Message> = ["go", "again"].map(|text| Message::User { text: text.into() }).into();
    assert_eq!(requests.all().pop().unwrap().messages, expected);
}

#[tokio::test]
async fn a_tool_is_dropped_and_what_comes_after_it_does_not_begin() {
    let log = Log::default();
    let calls = json!([{"name": "Act", "input": {"forever": true}}, {"name": "Look", "input": {}}]);
    let (model, requests) = watched(calling([calls]));
    let mut agent =
        Agent::new(model).with_tools(registry(&log)).with_permissions(Permissions::new(PermissionMode::Allow));
    let mut run = agent.run("go");
    until(&mut run, &log, "begin Act it").await;
    run.stopper().cancel();
    assert_eq!(short(&collect(run).await), ["error call_1_1", "broke Interrupted"]);
    assert_eq!(log.lines(), ["begin Act it"]);
    finish(&mut agent, "go on").await;
    let seen = requests.all().pop().unwrap();
    let Message::Results { results } = &seen.messages[2] else { panic!("{seen:#?}") };
    let read: Vec<_> = results.iter().map(|result| (result.id.as_str(), result.output.as_str())).collect();
    assert_eq!(read, [("call_1_1", INTERRUPTED), ("call_1_2", NOT_BEGUN)]);
}

#[tokio::test]
async fn a_question_is_withdrawn() {
    let log = Log::default();
    let mut agent = Agent::new(calling([json!([ask("Which?"), {"name": "Look", "input": {}}])]))
        .with_tools(registry(&log))
        .with_asker(Arc::new(Silent(log.clone())));
    let mut run = agent.run("go");
    until(&mut run, &log, "asked").await;
    run.stopper().cancel();
    assert_eq!(short(&collect(run).await), ["error call_1_1", "broke Interrupted"]);
    assert_eq!(log.lines(), ["asked", "withdrawn"]);
    assert!(agent.resume().is_none());
}

#[tokio::test]
async fn a_command_that_was_never_permitted_had_no_effect() {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([{"name": "Act", "input": {}}])]));
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(Arc::new(Silent(log.clone())));
    let mut run = agent.run("go");
    until(&mut run, &log, "asked").await;
    run.stopper().cancel();
    collect(run).await;
    finish(&mut agent, "go on").await;
    let messages = requests.all().pop().unwrap().messages;
    let [_, _, Message::Results { results }, ..] = &messages[..] else { panic!("{messages:#?}") };
    assert_eq!(results[0].output, NOT_BEGUN);
}

#[tokio::test]
async fn a_question_of_a_subagent_is_withdrawn() {
    let log = Log::default();
    let model = script(json!({
        "turns": [{"calls": [{"name": "Task", "input": {"description": "one", "prompt": "go"}}]}, {"text": "done"}],
        "tasks": {"one": [{"calls": [ask("Which?")]}, {"text": "1"}]},
    }));
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(Arc::new(Silent(log.clone())));
    let mut run = agent.run("go");
    until(&mut run, &log, "asked").await;
    run.stopper().cancel();
    assert_eq!(short(&collect(run).await), ["error call_1_1", "broke Interrupted"]);
    assert_eq!(log.lines(), ["asked", "withdrawn"]);
}

#[tokio::test]
async fn what_is_stopped_when_it_is_announced_does_not_begin() {
    let log = Log::default();
    let mut agent = Agent::new(calling([json!([{"name": "Act", "input": {}}])]))
        .with_tools(registry(&log))
        .with_permissions(Permissions::new(PermissionMode::Allow));
    let mut run = agent.run("go");
    while let Some(event) = run.next().await {
        if matches!(event, AgentEvent::ToolStart { .. }) {
            run.stopper().cancel();
        }
    }
    drop(run);
    assert_eq!(log.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn an_answer_given_in_the_moment_of_stopping_is_kept() {
    struct Both(std::sync::Mutex<Option<tokio_util::sync::CancellationToken>>);
    impl askuser::Asker for Both {
        fn ask<'a>(&'a self, request: &'a askuser::Request) -> askuser::Asking<'a> {
            Box::pin(async move {
                self.0.lock().unwrap().as_ref().unwrap().cancel();
                pick("SQLite")(request)
            })
        }
    }
    let log = Log::default();
    let both = Arc::new(Both(Default::default()));
    let (model, requests) = watched(calling([json!([ask("Which?"), {"name": "Look", "input": {}}])]));
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(both.clone());
    let run = agent.run("go");
    *both.0.lock().unwrap() = Some(run.stopper());
    assert_eq!(short(&collect(run).await).last().unwrap(), "broke Interrupted");
    assert_eq!(log.lines(), Vec::<String>::new());
    finish(&mut agent, "go on").await;
    let seen = requests.all().pop().unwrap();
    let Message::Results { results } = &seen.messages[2] else { panic!("{seen:#?}") };
    assert!(results[0].output.contains("Selected: SQLite"), "{results:?}");
    assert_eq!(results[1].output, NOT_BEGUN);
}

#[tokio::test]
async fn a_wait_before_the_next_try_can_be_stopped() {
    let error = askuser_agent::ModelError::new(askuser_agent::FailureKind::Network, "gone");
    let mut agent = Agent::new(Played::new(vec![vec![Some(Err(error))]])).with_retries(1, Duration::from_secs(100));
    let mut run = agent.run("go");
    assert!(matches!(run.next().await, Some(AgentEvent::Retry { .. })));
    run.stopper().cancel();
    assert_eq!(short(&collect(run).await), ["broke Interrupted"]);
}

#[tokio::test]
async fn something_new_can_be_said_after_a_run_was_let_go() {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([ask("Which?")])]));
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(Arc::new(Silent(log.clone())));
    let mut run = agent.run("go");
    until(&mut run, &log, "asked").await;
    drop(run);
    assert_eq!(finish(&mut agent, "never mind").await, "done");
    let seen = requests.all().pop().unwrap();
    let Message::Results { results } = &seen.messages[2] else { panic!("{seen:#?}") };
    assert_eq!(results[0].output, "This was cut off before it had finished.");
    assert_eq!(seen.messages[3], Message::User { text: "never mind".into() });
}

#[tokio::test]
async fn a_run_that_was_let_go_can_be_taken_up_and_what_acted_does_not_act_again() {
    let log = Log::default();
    let (model, requests) = watched(calling([json!([{"name": "Act", "input": {"forever": true}}])]));
    let person = Person::new([pick("Allow once")]);
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(person.clone());
    let mut run = agent.run("go");
    until(&mut run, &log, "begin Act it").await;
    drop(run);
    assert_eq!(last_words(&collect(agent.resume().unwrap()).await), "done");
    assert_eq!(log.lines(), ["begin Act it"]);
    let (read, is_error) = requests.last_result();
    assert!(is_error && read.starts_with("The session was cut off while this ran."), "{read}");
}

#[tokio::test]
async fn a_subagent_that_was_let_go_is_taken_up_where_it_was() {
    let log = Log::default();
    let model = script(json!({
        "turns": [{"calls": [{"name": "Task", "input": {"description": "one", "prompt": "go"}}]}, {"text": "done"}],
        "tasks": {"one": [
            {"calls": [ask("Which?")]}, {"calls": [{"name": "Look", "input": {"forever": true}}]}, {"text": "1"},
        ]},
    }));
    let (model, requests) = watched(model);
    let person = Person::new([pick("SQLite")]);
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(person.clone());
    let mut run = agent.run("go");
    until(&mut run, &log, "begin Look it").await;
    drop(run);
    let mut run = agent.resume().unwrap();
    until_again(&mut run, &log, "begin Look it").await;
    drop(run);
    assert_eq!(person.asked().len(), 1);
    let own: Vec<_> = requests.all().into_iter().filter(|seen| seen.task.is_some()).collect();
    assert_eq!(own.len(), 2, "its answered turn is not asked of the model again");
}

#[tokio::test]
async fn calls_that_never_began_are_not_reported_as_interrupted_half_way() {
    let act = |at: &str| json!({"name": "Act", "input": {"at": at, "forever": true}});
    let task = json!({"name": "Task", "input": {"description": "audit", "prompt": "Do it"}});
    let calls = json!([task, act("never")]);
    // The calls of the subagent have the same ids.
    let look = json!({"name": "Look", "input": {}});
    let script = json!({
        "turns": [{ "calls": calls }, {"text": "done"}],
        "tasks": {"audit": [{"calls": [look, act("audit")]}, {"text": "audited"}]},
    });
    let folder = tempfile::tempdir().unwrap();
    let log = Log::default();
    let transcript = askuser_agent::Transcript::create(folder.path(), folder.path()).unwrap();
    let id = transcript.id();
    let allow = || Permissions::new(PermissionMode::Allow);
    let mut agent = Agent::new(self::script(script))
        .with_tools(registry(&log))
        .with_permissions(allow())
        .with_transcript(transcript);
    let mut run = agent.run("go");
    until(&mut run, &log, "begin Act audit").await;
    run.stopper().cancel();
    collect(run).await;
    let read = |agent: &Agent| match agent.messages().last() {
        Some(Message::Results { results }) => results.iter().map(|r| r.output.clone()).collect::<Vec<_>>(),
        last => panic!("{last:?}"),
    };
    assert_eq!(read(&agent), [INTERRUPTED, NOT_BEGUN]);
    drop(agent);
    let transcript = askuser_agent::Transcript::open(folder.path(), &id).unwrap();
    assert_eq!(read(&Agent::new(calling([])).with_transcript(transcript)), [INTERRUPTED, NOT_BEGUN], "read back");
}

#[tokio::test]
#[cfg_attr(windows, ignore = "the command is for a shell that Windows does not have")]
async fn an_interrupted_call_keeps_what_it_has_written_and_every_call_ends() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(&folder.path().join("sessions"), folder.path()).unwrap();
    let id = transcript.id();
    let bash = json!({"name": "Bash", "input": {"command": "echo written; sleep 1000"}});
    let (model, requests) = watched(calling([json!([bash, {"name": "Read", "input": {"path": "a"}}])]));
    let mut agent = Agent::new(model)
        .with_tools(tools::all())
        .with_folder(folder.path())
        .with_transcript(transcript)
        .with_permissions(Permissions::new(PermissionMode::Allow));
    let mut run = agent.run("go");
    while !matches!(run.next().await.unwrap(), AgentEvent::ToolOutput { .. }) {}
    run.stopper().cancel();
    assert_eq!(short(&collect(run).await), ["error call_1_1", "broke Interrupted"]);
    finish(&mut agent, "go on").await;
    let seen = requests.all().pop().unwrap();
    let Message::Results { results } = &seen.messages[2] else { panic!("{seen:#?}") };
    let stopped = "The user stopped it. It may have taken effect in part.\n\nwritten";
    assert_eq!([results[0].output.as_str(), results[1].output.as_str()], [stopped, NOT_BEGUN]);
    drop(agent);
    let replayed = Transcript::open(&folder.path().join("sessions"), &id).unwrap().replay();
    let expected = ["user go", "start call_1_1 Bash", "error call_1_1", "broke Interrupted", "user go on", "text done"];
    assert_eq!(short(&replayed)[1..], expected);
}
