//! The handle and the owned stream of an agent in an app.

use crate::support::*;
use askuser_agent::{
    Agent, AgentEvent, AgentEvents, AgentHandle, FailureKind, Message, PermissionMode, Permissions, Transcript, tools,
};
use futures_util::StreamExt;
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn a_message_begins_a_turn_and_the_stream_ends_with_the_handle() {
    let model = script(json!({"turns": [{"text": "One."}, {"text": "Two."}]}));
    let (handle, mut events) = Agent::new(model).start();
    let mut done = Vec::new();
    for words in ["first", "second"] {
        handle.say(words).unwrap();
        while let Some(event) = events.next().await {
            if let AgentEvent::Done { text } = event {
                done.push(text);
                break;
            }
        }
    }
    assert_eq!(done, ["One.", "Two."]);
    drop(handle);
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_turn_is_stopped_from_the_handle_while_it_waits_for_an_answer() {
    let log = Log::default();
    let model = script(json!({"turns": [{"calls": [ask("Which?")]}, {"text": "?"}]}));
    let agent = Agent::new(model).with_tools(tools::talking()).with_asker(Arc::new(Silent(log.clone())));
    let (handle, mut events) = agent.start();
    handle.say("go").unwrap();
    let mut end = None;
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::AskUser { .. } => handle.stop(),
            AgentEvent::Error { error } => {
                end = Some(error.kind);
                break;
            }
            _ => {}
        }
    }
    assert_eq!(end, Some(FailureKind::Interrupted));
    assert_eq!(log.lines(), ["asked", "withdrawn"]);
}

#[tokio::test]
async fn another_model_answers_once_it_is_set() {
    let mut agent = Agent::new(script(json!({"turns": [{"text": "One."}]})));
    assert_eq!((agent.model().as_str(), finish(&mut agent, "go").await.as_str()), ("script", "One."));
    agent.set_model(Arc::new(Played::new(vec![vec![says("Two.")]])));
    assert_eq!((agent.model().as_str(), finish(&mut agent, "go").await.as_str()), ("played", "Two."));
}

#[tokio::test]
async fn the_mode_is_changed_and_seen_from_the_handle_at_once() {
    let (handle, mut events) = Agent::new(script(json!({"turns": []}))).start();
    for mode in [PermissionMode::Allow, PermissionMode::Ask, PermissionMode::Plan] {
        handle.set_mode(mode).unwrap();
        assert_eq!(handle.mode(), mode);
    }
    drop(handle.clone());
    handle.say("hi").unwrap();
    assert!(events.next().await.is_some());
    assert_eq!(handle.mode(), PermissionMode::Plan);
}

#[tokio::test]
async fn a_turn_that_is_stopped_before_it_begins_asks_no_model_and_the_next_one_does() {
    let model = script(json!({"turns": [{"text": "One."}]}));
    let (handle, mut events) = Agent::new(model).start();
    handle.say("first").unwrap();
    handle.stop();
    assert!(handle.is_stopping());
    handle.say("second").unwrap();
    let mut ends = Vec::new();
    while ends.len() < 2 {
        match events.next().await.unwrap() {
            AgentEvent::Error { error } => ends.push(error.message),
            AgentEvent::Done { text } => ends.push(text),
            _ => {}
        }
        assert!(!handle.is_stopping() || ends.is_empty());
    }
    assert_eq!(ends, ["interrupted", "One."]);
    handle.stop();
    assert!(!handle.is_stopping(), "nothing is left to stop");
}

#[tokio::test]
async fn a_command_runs_after_what_came_before_it_was_taken_in() {
    let model = script(json!({"turns": [{"text": "One."}]}));
    let (handle, mut events) = Agent::new(model).start();
    let log = Log::default();
    handle.say("first").unwrap();
    let told = log.clone();
    handle.queue(move |agent| {
        told.add(format!("{} messages", agent.messages().len()));
        Box::pin(async { None })
    });
    drop(handle);
    while let Some(event) = events.next().await {
        if let AgentEvent::Done { text } = event {
            log.add(text);
        }
    }
    assert_eq!(log.lines(), ["One.", "2 messages"]);
}

#[tokio::test]
async fn what_was_said_before_the_stream_is_polled_comes_before_what_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let log = Log::default();
    let model = || {
        calling([
            json!([{"name": "Act", "input": {"at": "a", "forever": true}}, {"name": "Act", "input": {"at": "b"}}]),
        ])
    };
    let agent = |transcript| {
        let permissions = Permissions::new(PermissionMode::Allow);
        Agent::new(model()).with_tools(registry(&log)).with_permissions(permissions).with_transcript(transcript)
    };
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let id = transcript.id();
    let mut first = agent(transcript);
    let mut run = first.run("go");
    until(&mut run, &log, "begin Act a").await;
    drop(run);
    drop(first);
    let (handle, mut events) = agent(Transcript::open(folder.path(), &id).unwrap()).start();
    handle.say("stop").unwrap();
    while let Some(event) = events.next().await {
        if matches!(&event, AgentEvent::Done { text } if text == "done") {
            break;
        }
    }
    assert_eq!(log.lines(), ["begin Act a"]);
    assert!(matches!(&handle.messages()[3], Message::User { text } if text == "stop"));
}

/// Sends a message once a tool has begun. Returns the events until the turn is over.
async fn say_at(handle: &AgentHandle, events: &mut AgentEvents, log: &Log, line: &str, words: &str) -> Vec<AgentEvent> {
    let mut seen = Vec::new();
    let mut said = false;
    loop {
        tokio::select! {
            biased;
            event = events.next() => seen.push(event.unwrap()),
            () = tokio::task::yield_now() => {}
        }
        if !said && log.count(line) > 0 {
            handle.say(words).unwrap();
            said = true;
        }
        if matches!(seen.last(), Some(AgentEvent::Done { .. } | AgentEvent::Error { .. })) {
            return seen;
        }
    }
}

#[tokio::test]
async fn what_is_said_during_a_turn_is_heard_between_two_calls() {
    let log = Log::default();
    let act = |at: &str| json!({"name": "Act", "input": {"at": at}});
    let (model, requests) = watched(calling([json!([act("1"), act("2")])]));
    let agent = Agent::new(model).with_tools(registry(&log)).with_permissions(Permissions::new(PermissionMode::Allow));
    let (handle, mut events) = agent.start();
    handle.say("go").unwrap();
    let seen = short(&say_at(&handle, &mut events, &log, "begin Act 1", "stop at one").await);
    let expected = [
        "user go",
        "start call_1_1 Act",
        "result call_1_1",
        "start call_1_2 Act",
        "error call_1_2",
        "user stop at one",
        "text done",
        "done done",
    ];
    assert_eq!(seen, expected);
    assert_eq!(log.lines(), ["begin Act 1", "end Act 1"], "the second had not begun");
    let last = requests.all().pop().unwrap().messages;
    assert_eq!(last.last(), Some(&Message::User { text: "stop at one".into() }));
    assert_eq!(handle.take_back(), None);
}

#[tokio::test]
async fn what_is_said_to_the_models_last_words_is_still_heard_and_what_is_taken_back_is_not() {
    let (model, requests) = watched(Played::new(vec![vec![says("one")], vec![says("two")]]));
    let (handle, mut events) = Agent::new(model).start();
    handle.say("a").unwrap();
    handle.say("b").unwrap();
    assert_eq!(handle.take_back().as_deref(), Some("b"));
    // The message is read whether it arrives during the turn or after it.
    let mut heard = Vec::new();
    while heard.len() < 2 {
        match events.next().await.unwrap() {
            AgentEvent::User { text } => heard.push(text),
            AgentEvent::Text { .. } if heard.len() == 1 => handle.say("and").unwrap(),
            _ => {}
        }
    }
    assert_eq!(heard, ["a", "and"]);
    assert_eq!(requests.all()[0].messages, [Message::User { text: "a".into() }]);
}

#[tokio::test]
async fn what_a_stopped_turn_left_unread_comes_with_the_next_message() {
    for is_said_while_stopping in [true, false] {
        let log = Log::default();
        let turns = vec![vec![calls("c", "Act", json!({"at": "a", "forever": true}))], vec![says("done")]];
        let (model, requests) = watched(Played::new(turns));
        let permissions = Permissions::new(PermissionMode::Allow);
        let (handle, mut events) = Agent::new(model).with_tools(registry(&log)).with_permissions(permissions).start();
        handle.say("go").unwrap();
        while log.count("begin Act a") == 0 {
            tokio::select! { biased; _ = events.next() => {}, () = tokio::task::yield_now() => {} }
        }
        handle.say("unread").unwrap();
        handle.stop();
        if is_said_while_stopping {
            handle.say("next").unwrap();
        }
        while !matches!(events.next().await, Some(AgentEvent::Error { .. })) {}
        assert_eq!(requests.all().len(), 1, "a turn that was stopped asks for nothing more");
        if !is_said_while_stopping {
            handle.say("next").unwrap();
        }
        while !matches!(events.next().await, Some(AgentEvent::Done { .. })) {}
        let last = requests.all().pop().unwrap().messages;
        let said = ["unread", "next"].map(|text| Message::User { text: text.into() });
        assert_eq!(last[last.len() - 2..], said);
    }
}

#[tokio::test]
async fn what_was_said_and_not_heard_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let id = transcript.id();
    let (handle, events) = Agent::new(Played::new(vec![])).with_transcript(transcript).start();
    for words in ["a", "b", "c"] {
        handle.say(words).unwrap();
    }
    handle.take_back();
    drop((handle, events));
    let (model, requests) = watched(Played::new(vec![vec![says("done")]]));
    let agent = Agent::new(model).with_transcript(Transcript::open(folder.path(), &id).unwrap());
    assert!(agent.is_cut_off());
    let (_handle, mut events) = agent.start();
    while !matches!(events.next().await, Some(AgentEvent::Done { .. })) {}
    let heard = ["a", "b"].map(|text| Message::User { text: text.into() });
    assert_eq!(requests.all()[0].messages, heard);
}
