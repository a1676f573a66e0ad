//! Tests of questions that are asked in the background.

use crate::support::{Client, Desk, database, features, options, text};
use askuser::store::{AskerPresence, State};
use serde_json::{Value, json};
use std::sync::Arc;

const ASK: &str = "AskUserQuestion";
const RESULT: &str = "AskUserQuestionResult";

fn in_background(mut input: Value) -> Value {
    input["background"] = true.into();
    input
}

async fn client(desk: &Arc<Desk>) -> Client {
    Client::named(desk, "claude-code", options()).await
}

/// Asks in the background. Returns the ticket.
async fn ask(client: &mut Client, id: u64, input: Value) -> String {
    client.call(id, ASK, in_background(input)).await;
    let result = client.result(id).await;
    assert_eq!(result["structuredContent"]["status"], "background", "{result}");
    result["structuredContent"]["ticket"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_background_call_returns_at_once_with_a_ticket() {
    let desk = Desk::new();
    let mut client = client(&desk).await;
    client.call(1, ASK, in_background(database())).await;
    let result = client.result(1).await;
    let question = desk.pending(1).await.remove(0);
    let words = format!(
        "Question {} is with the user. Continue with work that does not depend on it. Do not ask again and do not assume \
         an answer. Call AskUserQuestionResult with this ticket before you finish.",
        question.id
    );
    assert_eq!((text(&result), &result["structuredContent"]["message"]), (&*words, &json!(words)));
    assert!(question.request.is_in_background());
    assert!(matches!(question.asker, AskerPresence::Left(_)), "{:?}", question.asker);
    desk.choose(&question, "SQLite").await;
    client.call(2, RESULT, json!({"ticket": question.id})).await;
    let result = client.result(2).await;
    assert!(text(&result).starts_with(&format!("Ticket {}:\n", question.id)), "{result}");
    let structured = &result["structuredContent"];
    assert_eq!((&structured["status"], &structured["ticket"]), (&json!("answered"), &json!(question.id)));
    assert_eq!(structured["again"], Value::Null);
    desk.delivered(&question.id).await;
    client.call(3, RESULT, json!({"ticket": question.id})).await;
    let result = client.result(3).await;
    assert!(text(&result).starts_with(&format!("Ticket {}, again:\n", question.id)), "{result}");
    assert_eq!(result["structuredContent"]["again"], true);
}

#[tokio::test]
async fn an_answer_comes_once_with_the_next_result() {
    let desk = Desk::new();
    let mut other = client(&desk).await;
    let mut client = client(&desk).await;
    let ticket = ask(&mut client, 1, database()).await;
    let question = desk.pending(1).await.remove(0);
    desk.choose(&question, "SQLite").await;
    other.call(1, RESULT, json!({})).await;
    let result = other.result(1).await;
    assert!(!result.to_string().contains("SQLite"), "another conversation: {result}");
    // An answer also arrives with a refusal, which has no structured content.
    client.call(2, ASK, json!({"questions": []})).await;
    let result = client.result(2).await;
    let words = result["content"][1]["text"].as_str().unwrap();
    let beginning = format!("Meanwhile an earlier question has ended. Ticket {ticket}:\n");
    assert!(words.starts_with(&beginning) && words.contains("SQLite"), "{result}");
    desk.delivered(&question.id).await;
    client.call(3, RESULT, json!({})).await;
    let result = client.result(3).await;
    assert!(!result.to_string().contains("SQLite"), "it is delivered: {result}");
    let listed = &result["structuredContent"];
    assert_eq!(listed["questions"][0], json!({"ticket": ticket, "state": "answered", "question": "Which database?"}));
    assert_eq!(listed["arrived"], Value::Null);
}

#[tokio::test]
async fn structured_content_holds_the_answers_that_arrived() {
    let desk = Desk::new();
    let mut client = client(&desk).await;
    let first = ask(&mut client, 1, database()).await;
    let second = ask(&mut client, 2, features()).await;
    let questions = desk.pending(2).await;
    desk.choose(&questions[0], "SQLite").await;
    desk.choose(&questions[1], "Export").await;
    client.call(3, RESULT, json!({})).await;
    let arrived = client.result(3).await["structuredContent"]["arrived"].take();
    let tickets: Vec<&Value> = arrived.as_array().unwrap().iter().map(|one| &one["ticket"]).collect();
    assert_eq!(tickets, [&json!(first), &json!(second)], "a second question does not cancel the first");
    assert_eq!(arrived[0]["answers"][0]["selectedOptions"], json!(["SQLite"]));
}

#[tokio::test]
async fn a_reply_that_is_not_written_delivers_nothing() {
    let desk = Desk::new();
    let mut client = client(&desk).await;
    let ticket = ask(&mut client, 1, database()).await;
    let question = desk.pending(1).await.remove(0);
    desk.choose(&question, "SQLite").await;
    client.close().await;
    assert_eq!(desk.person().get(&question.id).await.unwrap().delivered_ms, None);
    // After a restart, only the ticket finds the question.
    let mut client = self::client(&desk).await;
    client.call(1, RESULT, json!({})).await;
    let listed = client.result(1).await;
    assert_eq!(listed["structuredContent"], json!({"status": "listed", "questions": []}), "{listed}");
    client.call(2, RESULT, json!({"ticket": ticket})).await;
    assert!(text(&client.result(2).await).contains("SQLite"));
}

#[tokio::test]
async fn two_sessions_in_one_folder_never_share_a_background_question() {
    let desk = Desk::new();
    let mut one = client(&desk).await;
    let mut two = client(&desk).await;
    let first = ask(&mut one, 1, database()).await;
    let second = ask(&mut two, 1, database()).await;
    assert_ne!(first, second);
    let questions = desk.pending(2).await;
    desk.choose(&questions[0], "SQLite").await;
    one.close().await;
    // The question is answered but undelivered, and no process waits for it. Another session still asks a second
    // question.
    let mut three = client(&desk).await;
    three.call(1, ASK, database()).await;
    let pending = desk.pending(2).await;
    assert!(pending.iter().any(|question| !question.request.is_in_background()), "the call waits");
    let third = ask(&mut client(&desk).await, 1, database()).await;
    assert!(third != first && third != second);
}

#[tokio::test]
async fn a_retry_asks_no_second_question() {
    let desk = Desk::new();
    let mut client = client(&desk).await;
    client.call(1, ASK, in_background(database())).await;
    client.call(2, ASK, in_background(database())).await;
    let [one, two] =
        [client.next().await, client.next().await].map(|mut reply| reply["result"]["structuredContent"].take());
    assert_eq!(one["ticket"], two["ticket"]);
    let question = desk.pending(1).await.remove(0);
    // The same question in a call that waits is no second question, either.
    client.call(3, ASK, database()).await;
    desk.choose(&question, "SQLite").await;
    let result = client.result(3).await;
    assert_eq!(result["structuredContent"]["ticket"], one["ticket"]);
    assert!(desk.pending(0).await.is_empty());
}

#[tokio::test]
async fn a_model_takes_its_question_back_until_it_is_answered() {
    let desk = Desk::new();
    let mut client = client(&desk).await;
    let ticket = ask(&mut client, 1, database()).await;
    client.call(2, RESULT, json!({"ticket": ticket, "withdraw": true})).await;
    let result = client.result(2).await;
    assert_eq!(result["structuredContent"]["status"], "withdrawn", "{result}");
    assert!(desk.pending(0).await.is_empty());
    let ticket = ask(&mut client, 3, features()).await;
    let question = desk.pending(1).await.remove(0);
    desk.choose(&question, "Export").await;
    client.call(4, RESULT, json!({"ticket": ticket, "withdraw": true})).await;
    let result = client.result(4).await;
    assert!(text(&result).contains("Export"), "the answer was first: {result}");
    let other = Client::named(&desk, "codex", options()).await;
    let mut other = other;
    other.call(1, RESULT, json!({"ticket": ticket, "withdraw": true})).await;
    assert!(text(&other.result(1).await).starts_with("unknown ticket"), "a ticket of another client");
}

#[tokio::test]
async fn a_withdrawal_is_told_with_the_next_result() {
    let desk = Desk::new();
    let mut client = client(&desk).await;
    let ticket = ask(&mut client, 1, database()).await;
    let question = desk.pending(1).await.remove(0);
    desk.person().withdraw(&question.id, &askuser_inbox::new_attempt().unwrap()).await.unwrap();
    client.call(2, RESULT, json!({})).await;
    let result = client.result(2).await;
    let arrived = &result["structuredContent"]["arrived"][0];
    assert_eq!((&arrived["status"], &arrived["ticket"]), (&json!("withdrawn"), &json!(ticket)), "{result}");
    desk.delivered(&question.id).await;
}

#[tokio::test]
async fn an_answer_is_promised_only_where_a_push_was_seen() {
    let desk = Desk::new();
    let mut client = client(&desk).await;
    ask(&mut client, 1, database()).await;
    let question = desk.pending(1).await.remove(0);
    desk.choose(&question, "SQLite").await;
    // A hook of the same session records the sending in this way.
    let agent = desk.person().by(askuser::store::Principal::agent(question.request.origin()));
    assert_eq!(agent.sent(&question.id).await.unwrap(), None);
    client.call(2, ASK, in_background(features())).await;
    let result = client.result(2).await;
    assert!(text(&result).ends_with("The answer will be delivered to you."), "{result}");
}

#[tokio::test]
async fn where_it_is_not_offered_a_call_waits() {
    let desk = Desk::new();
    let mut options = options();
    options.background = false;
    let mut client = Client::named(&desk, "t", options).await;
    client.call(1, ASK, in_background(database())).await;
    let question = desk.pending(1).await.remove(0);
    assert_eq!((question.request.is_in_background(), question.state()), (false, State::Pending));
    desk.choose(&question, "SQLite").await;
    assert!(text(&client.result(1).await).contains("SQLite"));
}

#[tokio::test]
async fn fields_of_a_call_that_are_no_booleans_are_named() {
    let desk = Desk::new();
    let mut client = client(&desk).await;
    let mut input = database();
    input["background"] = "yes".into();
    for (id, tool, arguments, expected) in [
        (1, ASK, input, "background: \"yes\", must be true or false"),
        (2, RESULT, json!({"withdraw": 1}), "withdraw: 1, must be true or false"),
        (3, RESULT, json!({"withdraw": true}), "ticket: missing, must name the question to withdraw"),
        (4, RESULT, json!({"ticket": 7}), "ticket: 7, must be a text that AskUserQuestion returned"),
    ] {
        client.call(id, tool, arguments).await;
        assert_eq!(text(&client.result(id).await), expected);
    }
    assert!(desk.pending(0).await.is_empty());
}
