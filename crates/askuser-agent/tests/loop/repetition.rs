//! A call that repeats with the same result. The model reads a hint, and the turn continues.

use crate::support::{Log, Part, Person, Played, calls, collect, finish, last_words, registry, says, watched};
use askuser_agent::{Agent, Message};
use serde_json::json;

fn look(id: &str, at: &str) -> Vec<Part> {
    vec![calls(id, "Look", json!({"at": at}))]
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
async fn a_call_that_repeats_itself_does_not_end_the_turn() {
    let looks = (0..9).map(|i| look(&format!("c{i}"), "x"));
    let person = Person::new([]);
    let model = Played::new(looks.chain([vec![says("done")]]).collect());
    let mut agent = Agent::new(model).with_tools(registry(&Log::default())).with_asker(person.clone());
    assert_eq!(last_words(&collect(agent.run("go")).await), "done");
    assert!(person.asked().is_empty(), "{:?}", person.texts());
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
