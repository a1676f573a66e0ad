//! Failures of the model: the retries, and the output that becomes void.

use crate::support::*;
use askuser_agent::{
    Access, Agent, AgentEvent, Block, FailureKind, Message, ModelError, ModelEvent, PermissionMode, Permissions,
    Registry, Running, Tool, ToolCall, ToolContext, ToolDefinition, Usage,
};
use serde_json::json;
use std::time::Duration;

fn broken(kind: FailureKind) -> Part {
    Some(Err(ModelError::new(kind, "broken")))
}

#[tokio::test]
async fn a_failure_that_may_pass_is_tried_again() {
    for kind in [FailureKind::RateLimited, FailureKind::Overloaded, FailureKind::Network] {
        let answers = vec![vec![broken(kind)], vec![broken(kind)], vec![says("ok")]];
        let mut agent = Agent::new(Played::new(answers)).with_retries(2, Duration::ZERO);
        let events = short(&collect(agent.run("go")).await);
        assert_eq!(events, [format!("retry {kind:?}"), format!("retry {kind:?}"), "text ok".into(), "done ok".into()]);
    }
}

#[tokio::test]
async fn it_is_not_tried_for_ever() {
    let answers = vec![vec![broken(FailureKind::Network)], vec![broken(FailureKind::Network)]];
    let mut agent = Agent::new(Played::new(answers)).with_retries(1, Duration::ZERO);
    assert_eq!(short(&collect(agent.run("go")).await), ["retry Network", "broke Network"]);
}

#[tokio::test]
async fn a_failure_that_will_not_pass_breaks_the_turn_off_and_it_can_be_resumed() {
    for kind in [
        FailureKind::Key,
        FailureKind::UnknownModel,
        FailureKind::ContextTooLong,
        FailureKind::Rejected,
        FailureKind::Protocol,
        FailureKind::Script,
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
    let error = ModelError::new(FailureKind::RateLimited, "tomorrow").with_retry_after(Duration::from_secs(86_400));
    let mut agent = Agent::new(Played::new(vec![vec![Some(Err(error))]]));
    assert_eq!(short(&collect(agent.run("go")).await), ["broke RateLimited"]);
}

#[tokio::test]
async fn what_a_failed_answer_said_and_called_is_void() {
    let log = Log::default();
    let look = || calls("a", "Look", json!({}));
    let answers = vec![
        vec![says("I look."), look(), says("And"), broken(FailureKind::Network)],
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
async fn an_empty_answer_is_asked_for_once_more_and_then_said_to_be_empty() {
    let log = Log::default();
    let look = || vec![calls("a", "Look", json!({"at": "it"}))];
    let mut agent = Agent::new(Played::new(vec![look(), vec![], vec![says("done")]])).with_tools(registry(&log));
    assert_eq!(finish(&mut agent, "go").await, "done");
    let mut agent = Agent::new(Played::new(vec![look(), vec![], vec![]])).with_tools(registry(&log));
    assert_eq!(short(&collect(agent.run("go")).await).last().map(String::as_str), Some("broke Protocol"));
    let mut agent = Agent::new(Played::new(vec![vec![], vec![]]));
    assert_eq!(short(&collect(agent.run("go")).await), ["broke Protocol"]);
}

#[tokio::test]
async fn white_space_is_no_answer() {
    let mut agent = Agent::new(Played::new(vec![vec![says(" \n")], vec![says("done")]]));
    assert_eq!(short(&collect(agent.run("go")).await), ["text done", "done done"]);
    let mut agent = Agent::new(Played::new(vec![vec![says(" ")], vec![says("\n")]]));
    assert_eq!(short(&collect(agent.run("go")).await), ["broke Protocol"]);
}

#[tokio::test]
async fn the_end_of_each_text_is_marked_in_the_stream() {
    let opaque = || Some(Ok(ModelEvent::Opaque(Block::Opaque { provider: "played".into(), value: json!({}) })));
    let response = vec![says("one"), opaque(), says("tw"), says("o"), calls("a", "Look", json!({})), says("three")];
    let mut agent = Agent::new(Played::new(vec![response, vec![says("done")]])).with_tools(registry(&Log::default()));
    let mut streamed = vec![String::new()];
    let mut whole = Vec::new();
    for event in collect(agent.run("go")).await {
        match event {
            AgentEvent::TextDelta { text } => streamed.last_mut().unwrap().push_str(&text),
            AgentEvent::TextEnd => streamed.push(String::new()),
            AgentEvent::Text { text } => whole.push(text),
            _ => {}
        }
    }
    assert_eq!(streamed.pop().as_deref(), Some(""));
    assert_eq!((&streamed, streamed.len()), (&whole, 4));
}

#[tokio::test]
async fn a_call_written_as_text_does_not_run_and_the_model_is_told_once() {
    let log = Log::default();
    let written = || vec![says(r#"{"name": "Act", "arguments": {"at": "it"}}"#)];
    let agent = |turns| {
        let (model, requests) = watched(Played::new(turns));
        let permissions = Permissions::new(PermissionMode::Allow);
        (Agent::new(model).with_tools(registry(&log)).with_permissions(permissions), requests)
    };
    let (mut mended, requests) = agent(vec![written(), vec![says("done")]]);
    assert_eq!(last_words(&collect(mended.run("go")).await), "done");
    let told = requests.all().pop().unwrap().messages.pop();
    assert!(matches!(&told, Some(Message::User { text }) if text.contains("was not run")), "{told:?}");
    let (mut stubborn, requests) = agent(vec![written(), written(), written()]);
    let events = short(&collect(stubborn.run("go")).await);
    assert_eq!(events.last().map(String::as_str), Some("broke Protocol"), "{events:?}");
    assert_eq!((requests.all().len(), log.lines()), (2, vec![]));
}

#[tokio::test]
async fn only_who_can_ask_is_told_to_ask() {
    let system = async |can_ask: bool| {
        let (model, requests) = watched(Played::new(vec![vec![says("done")]]));
        let agent = Agent::new(model).with_tools(askuser_agent::tools::talking()).with_system("Be brief.");
        let mut agent = if can_ask { agent.with_asker(Person::new([])) } else { agent };
        finish(&mut agent, "go").await;
        requests.all().pop().unwrap().system
    };
    assert!(system(true).await.starts_with("Be brief.\n\n- Where requirements are ambiguous"));
    assert_eq!(system(false).await, "Be brief.");
}

#[tokio::test]
async fn a_tool_is_found_behind_a_name_that_gemini_puts_before_it() {
    let log = Log::default();
    let model = Played::new(vec![vec![calls("a", "default_api:Look", json!({}))], vec![says("done")]]);
    let mut agent = Agent::new(model).with_tools(registry(&log));
    assert_eq!(finish(&mut agent, "go").await, "done");
    assert_eq!(log.count("end Look it"), 1);
}

#[tokio::test]
async fn an_answer_that_was_cut_off_says_so() {
    let cut: Part = Some(Ok(ModelEvent::Truncated));
    let mut agent = Agent::new(Played::new(vec![vec![says("And then"), cut]]));
    let notice = "notice the answer was cut off at the limit of its length: ask for the rest, or raise max_tokens";
    assert_eq!(short(&collect(agent.run("go")).await), ["text And then", notice, "done And then"]);
}

#[tokio::test]
async fn an_answer_without_end_is_given_up() {
    let pieces = |count: usize, size: usize| -> Vec<Part> { (0..count).map(|_| says(&"x".repeat(size))).collect() };
    let mut agent = Agent::new(Played::new(vec![pieces(16, (1 << 20) + 1)]));
    assert_eq!(short(&collect(agent.run("go")).await), ["broke Protocol"]);
    let mut agent = Agent::new(Played::new(vec![pieces(16, 1 << 20)]));
    assert_eq!(last_words(&collect(agent.run("go")).await).len(), 16 << 20);
}

#[tokio::test]
async fn a_provider_that_wants_to_be_left_alone_for_long_is_and_the_person_is_told_how_long() {
    let mut error = ModelError::new(FailureKind::RateLimited, "slow down");
    error.retry_after = Some(Duration::from_secs(3600));
    let mut agent = Agent::new(Played::new(vec![vec![Some(Err(error))]]));
    let events = collect(agent.run("go")).await;
    let Some(AgentEvent::Error { error }) = events.last() else { panic!("{events:?}") };
    assert_eq!(error.message, "slow down; try again in 3600 s");
}

struct Panics;

impl Tool for Panics {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("Panics", String::new(), json!({}))
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn run<'a>(&'a self, _: &'a ToolCall, _: &'a ToolContext) -> Running<'a> {
        panic!("on purpose")
    }
}

#[tokio::test]
async fn a_tool_that_panics_has_failed_and_the_turn_goes_on() {
    let script = calling([json!([{"name": "Panics", "input": {}}])]);
    let mut agent = Agent::new(script).with_tools(Registry::new().with(Panics));
    let events = short(&collect(agent.run("go")).await);
    assert_eq!(events[..2], ["start call_1_1 Panics", "error call_1_1"]);
    assert!(events.last().unwrap().starts_with("done"), "{events:?}");
}

/// Returns a part with a tool call that the output limit truncated.
fn cut_off(id: &str, written: &str) -> Part {
    Some(Ok(ModelEvent::TruncatedCall(ToolCall {
        id: id.into(),
        name: "Act".into(),
        input: json!(written),
        extra: None,
    })))
}

#[tokio::test]
async fn a_call_cut_off_at_the_output_limit_does_not_run_and_the_model_is_told() {
    let log = Log::default();
    let used = Some(Ok(ModelEvent::Usage(Usage::new(1, 8192))));
    let answers = vec![vec![used, calls("a", "Look", json!({})), cut_off("a", "{}")], vec![says("In parts, then.")]];
    let (model, requests) = watched(Played::new(answers));
    let mut agent =
        Agent::new(model).with_tools(registry(&log)).with_permissions(Permissions::new(PermissionMode::Allow));
    assert_eq!(last_words(&collect(agent.run("go")).await), "In parts, then.");
    assert_eq!(log.lines().iter().filter(|line| line.contains("Act")).count(), 0, "{:?}", log.lines());
    let results = requests.last_results();
    assert_eq!(results.len(), 2);
    let (id, output, is_error) = &results[1];
    assert_eq!(id, "a-2", "a name that is taken would bring back another call's answer");
    assert!(*is_error && output.starts_with("Not run: this call was cut off at the output limit of 8192 tokens."));
}

#[tokio::test]
async fn calls_cut_off_again_and_again_break_the_turn_off() {
    let answers = (0..5).map(|i| vec![cut_off(&format!("c{i}"), "{\"path\": ")]).collect();
    let (model, requests) = watched(Played::new(answers));
    let mut agent = Agent::new(model).with_tools(registry(&Log::default()));
    let events = collect(agent.run("go")).await;
    assert_eq!(short(&events).last().map(String::as_str), Some("broke Rejected"));
    assert_eq!(requests.all().len(), 3);
}

#[tokio::test]
async fn some_failures_are_tried_again_less_often_than_others() {
    let refused = |n| Some(Err(ModelError::new(FailureKind::Network, "refused").with_max_retries(n)));
    for (most, expected) in [(0, vec!["broke Network"]), (1, vec!["retry Network", "broke Network"])] {
        let answers = vec![vec![refused(most)], vec![refused(most)], vec![says("ok")]];
        let mut agent = Agent::new(Played::new(answers)).with_retries(5, Duration::ZERO);
        assert_eq!(short(&collect(agent.run("go")).await), expected);
    }
}
