//! The same call with the same result: the model is told, then the person is asked, once a turn.

use crate::support::{
    Log, Part, Person, Played, Reply, calls, collect, ends, finish, last_words, other, pick, registry, says, short,
    watched,
};
use askuser::{Outcome, Purpose, Request, Via};
use askuser_agent::{Agent, AgentEvent, FailureKind, Message, Transcript};
use serde_json::json;
use std::sync::Arc;

fn look(id: &str, at: &str) -> Vec<Part> {
    vec![calls(id, "Look", json!({"at": at}))]
}

/// Looks at the same so often, then is done.
fn looking(times: usize) -> Played {
    let looks = (0..times).map(|i| look(&format!("c{i}"), "x"));
    Played::new(looks.chain([vec![says("done")]]).collect())
}

fn error(events: &[AgentEvent]) -> Option<(FailureKind, String)> {
    match events.last() {
        Some(AgentEvent::Error { error }) => Some((error.kind, error.message.clone())),
        _ => None,
    }
}

#[tokio::test]
async fn the_same_call_with_the_same_result_for_the_third_time_is_said_to_be() {
    let turns =
        vec![look("a", "x"), look("b", "y"), look("c", "x"), look("d", "x"), look("e", "y"), vec![says("done")]];
    let (model, requests) = watched(Played::new(turns));
    let mut agent = Agent::new(model).with_tools(registry(&Log::default()));
    finish(&mut agent, "go").await;
    let told = |message: &Message| match message {
        Message::Results { results } => Some(results[0].output.contains("same result three times")),
        _ => None,
    };
    let told: Vec<bool> = requests.all().pop().unwrap().messages.iter().filter_map(told).collect();
    assert_eq!(told, [false, false, false, true, false]);
}

#[tokio::test]
async fn the_fourth_time_the_person_is_asked_and_once_a_turn() {
    let person = Person::new([pick("Go on"), pick("Go on")]);
    let mut agent = Agent::new(looking(9)).with_tools(registry(&Log::default())).with_asker(person.clone());
    let events = collect(agent.run("go")).await;
    let ended = events.iter().filter(|event| matches!(event, AgentEvent::QuestionEnded { .. })).count();
    assert_eq!((last_words(&events).as_str(), ended), ("done", 1), "told once, too");
    let asked = person.asked();
    assert_eq!(asked.len(), 1, "{:?}", person.texts());
    assert_eq!((&*asked[0].key().call, asked[0].key().purpose), ("c3", Purpose::Choice));
    assert_eq!(asked[0].context().unwrap().text(), "Look {\"at\":\"x\"}");
    // The next turn begins anew.
    let mut agent = Agent::new(looking(4)).with_tools(registry(&Log::default())).with_asker(person.clone());
    finish(&mut agent, "again").await;
    assert_eq!(person.asked().len(), 2);
}

#[tokio::test]
async fn a_person_may_stop_it_or_say_something_instead() {
    let ended = async |reply: Reply| {
        let (model, requests) = watched(looking(4));
        let mut agent = Agent::new(model).with_tools(registry(&Log::default())).with_asker(Person::new([reply]));
        let events = collect(agent.run("go")).await;
        (error(&events).map(|(kind, _)| kind), requests.all().len(), agent.messages().to_vec())
    };
    let stopped = (Some(FailureKind::Interrupted), 4);
    let ways = [pick("Stop"), ends(Outcome::cancelled()), ends(Outcome::declined(Some("no".into())))];
    for reply in ways {
        let (error, requests, _) = ended(reply).await;
        assert_eq!((error, requests), stopped);
    }
    let (error, requests, messages) = ended(other("Look at y.")).await;
    assert_eq!((error, requests), (None, 5));
    assert!(messages.contains(&Message::User { text: "Look at y.".into() }), "{messages:?}");
}

/// As a rule answers, not a person.
fn by_rule(request: &Request) -> askuser::Resolution {
    let answer = request.set().questions()[0].answer(&[0], None, None).unwrap();
    Outcome::answered(request.set(), vec![answer]).unwrap().through(Via::Policy)
}

#[tokio::test]
async fn without_a_person_the_turn_stops_and_says_so() {
    let mut alone = Agent::new(looking(9)).with_tools(registry(&Log::default()));
    let (kind, message) = error(&collect(alone.run("go")).await).unwrap();
    assert_eq!(kind, FailureKind::NobodyThere);
    assert!(message.contains("Look has had the same result four times and no person said to go on"), "{message}");
    let rule: Reply = Box::new(|request| Ok(by_rule(request).into()));
    let mut ruled = Agent::new(looking(9)).with_tools(registry(&Log::default())).with_asker(Person::new([rule]));
    assert_eq!(error(&collect(ruled.run("go")).await).map(|(kind, _)| kind), Some(FailureKind::NobodyThere));
}

#[tokio::test]
async fn cut_off_at_that_question_it_is_asked_again_and_not_once_it_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let id = transcript.id();
    let agent = |model: Played, person: Arc<Person>, transcript| {
        Agent::new(model).with_tools(registry(&Log::default())).with_asker(person).with_transcript(transcript)
    };
    let away: Reply = Box::new(|_| Err(askuser::AskError::Signal(1)));
    let mut first = agent(looking(5), Person::new([away]), transcript);
    assert_eq!(short(&collect(first.run("go")).await).last().map(String::as_str), Some("broke Signal"));
    drop(first);
    let open = || Transcript::open(folder.path(), &id).unwrap();
    assert_eq!(open().pending().len(), 1);
    let person = Person::new([pick("Go on")]);
    let mut again = agent(looking(3), person.clone(), open());
    collect(again.resume().unwrap()).await;
    assert_eq!((person.asked().len(), again.messages().last().unwrap().text().as_str()), (1, "done"));
}

#[tokio::test]
async fn ten_identical_calls_in_one_message_count_once() {
    let ten = || (0..10).map(|i| calls(&format!("c{i}"), "Look", json!({"at": "x"}))).collect();
    let person = Person::new([]);
    let (model, requests) = watched(Played::new(vec![ten(), vec![says("done")]]));
    let mut agent = Agent::new(model).with_tools(registry(&Log::default())).with_asker(person.clone());
    assert_eq!(last_words(&collect(agent.run("go")).await), "done");
    assert!(person.asked().is_empty(), "{:?}", person.texts());
    let Some(Message::Results { results }) = requests.all().pop().unwrap().messages.pop() else { panic!() };
    assert!(results.iter().all(|result| !result.output.contains("three times")), "{results:?}");
}
