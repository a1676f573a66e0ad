//! When the model fails: what is tried again, and what is void.

use crate::support::*;
use askuser_agent::{Agent, AgentEvent, Message, ModelError, ModelErrorKind};
use serde_json::json;
use std::time::Duration;

fn broken(kind: ModelErrorKind) -> Part {
    Some(Err(ModelError::new(kind, "broken")))
}

#[tokio::test]
async fn a_failure_that_may_pass_is_tried_again() {
    for kind in [ModelErrorKind::RateLimited, ModelErrorKind::Overloaded, ModelErrorKind::Network] {
        let answers = vec![vec![broken(kind)], vec![broken(kind)], vec![says("ok")]];
        let mut agent = Agent::new(Played::new(answers)).with_retries(2, Duration::ZERO);
        let events = short(&collect(agent.run("go")).await);
        assert_eq!(events, [format!("retry {kind:?}"), format!("retry {kind:?}"), "text ok".into(), "done ok".into()]);
    }
}

#[tokio::test]
async fn it_is_not_tried_for_ever() {
    let answers = vec![vec![broken(ModelErrorKind::Network)], vec![broken(ModelErrorKind::Network)]];
    let mut agent = Agent::new(Played::new(answers)).with_retries(1, Duration::ZERO);
    assert_eq!(short(&collect(agent.run("go")).await), ["retry Network", "broke Network"]);
}

#[tokio::test]
async fn a_failure_that_will_not_pass_breaks_the_turn_off_and_it_can_be_resumed() {
    for kind in [
        ModelErrorKind::Key,
        ModelErrorKind::UnknownModel,
        ModelErrorKind::ContextTooLong,
        ModelErrorKind::Rejected,
        ModelErrorKind::Protocol,
        ModelErrorKind::Script,
    ] {
        let answers = vec![vec![says("half a"), broken(kind)], vec![says("whole")]];
        let (model, requests) = watched(Played::new(answers));
        let mut agent = Agent::new(model).with_retries(5, Duration::ZERO);
        assert_eq!(short(&collect(agent.run("go")).await), [format!("broke {kind:?}")]);
        assert_eq!(last_words(&collect(agent.resume().unwrap()).await), "whole");
        let [first, second] = &requests.all()[..] else { panic!("two requests") };
        assert_eq!(first, second);
    }
}

#[tokio::test]
async fn a_longer_wait_than_anybody_has_patience_for_breaks_the_turn_off() {
    let error = ModelError {
        kind: ModelErrorKind::RateLimited,
        message: "tomorrow".into(),
        retry_after: Some(Duration::from_secs(86_400)),
    };
    let mut agent = Agent::new(Played::new(vec![vec![Some(Err(error))]]));
    assert_eq!(short(&collect(agent.run("go")).await), ["broke RateLimited"]);
}

#[tokio::test]
async fn what_a_failed_answer_said_and_called_is_void() {
    let log = Log::default();
    let look = || calls("a", "Look", json!({}));
    let answers = vec![
        vec![says("I look."), look(), says("And"), broken(ModelErrorKind::Network)],
        vec![says("I look."), look()],
        vec![says("done")],
    ];
    let (model, requests) = watched(Played::new(answers));
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_retries(1, Duration::ZERO);
    let events = collect(agent.run("go")).await;
    assert_eq!(
        short(&events),
        ["retry Network", "text I look.", "start a Look", "result a", "text done", "done done"],
        "a whole text is told once"
    );
    assert_eq!(log.lines(), ["begin Look it", "end Look it"]);
    let [first, second, _] = &requests.all()[..] else { panic!("three requests") };
    assert_eq!(first, second);
    let retry = events.iter().position(|event| matches!(event, AgentEvent::Retry { .. })).unwrap();
    let deltas = |events: &[AgentEvent]| {
        let text = |event: &AgentEvent| match event {
            AgentEvent::TextDelta { text } => Some(text.clone()),
            _ => None,
        };
        events.iter().filter_map(text).collect::<Vec<_>>()
    };
    assert_eq!(deltas(&events[..retry]), ["I look.", "And"]);
    assert_eq!(deltas(&events[retry..]), ["I look.", "done"]);
}

#[tokio::test]
async fn a_turn_makes_no_more_requests_than_it_may() {
    let log = Log::default();
    let look = |id: &str| vec![calls(id, "Look", json!({}))];
    let (model, requests) = watched(Played::new(vec![look("a"), look("b"), look("c"), vec![says("done")]]));
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_max_requests(2);
    let events = collect(agent.run("go")).await;
    let Some(AgentEvent::Error { error }) = events.last() else { panic!("{events:?}") };
    assert_eq!(error.message, "stopped after 2 requests to the model in this turn");
    assert_eq!((requests.all().len(), log.count("end Look it")), (2, 2));
    assert_eq!(last_words(&collect(agent.resume().unwrap()).await), "done");
}

#[tokio::test]
async fn a_model_that_says_nothing_ends_the_turn() {
    let mut agent = Agent::new(Played::new(vec![vec![]]));
    assert_eq!(finish(&mut agent, "go").await, "");
    assert_eq!(agent.messages().last(), Some(&Message::Assistant { content: vec![] }));
}
