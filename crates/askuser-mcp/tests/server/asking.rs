//! Tests of asking through the inbox, of waiting, of tickets, and of every kind of ending.

use crate::support::{Client, Desk, database, features, options, server, text};
use askuser::store::AskerPresence;
use askuser_mcp::{Options, serve};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

const ASK: &str = "AskUserQuestion";
const RESULT: &str = "AskUserQuestionResult";

fn impatient() -> Options {
    let mut options = options();
    options.limit = Some(Duration::from_millis(50));
    options
}

#[tokio::test]
async fn a_question_waits_in_the_inbox_and_its_answer_is_delivered_once_it_is_written() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "claude-code", options()).await;
    client.call(1, ASK, database()).await;
    let question = desk.pending(1).await.remove(0);
    let origin = question.request.origin();
    assert_eq!((origin.agent.as_deref(), origin.folder.as_deref()), (Some("claude-code"), Some("/home/ada/shop")));
    desk.choose(&question, "SQLite").await;
    let result = client.result(1).await;
    assert!(text(&result).contains("Selected: SQLite"), "{result}");
    let structured = &result["structuredContent"];
    assert_eq!((&structured["status"], &structured["via"]), (&json!("answered"), &json!("inbox")));
    assert_eq!(structured["answers"][0]["selectedOptions"], json!(["SQLite"]));
    desk.delivered(&question.id).await;
}

#[tokio::test]
async fn an_input_that_breaks_the_rules_asks_nobody_and_says_everything_that_is_wrong() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", options()).await;
    client.call(1, ASK, json!({"questions": [{"question": "Which?", "header": "far too long a header"}]})).await;
    let result = client.result(1).await;
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("header") && text(&result).contains("options"), "{result}");
    assert!(desk.pending(0).await.is_empty());
}

#[tokio::test]
async fn several_calls_at_once_each_get_their_own_answer() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", options()).await;
    client.call(1, ASK, database()).await;
    client.call(2, ASK, features()).await;
    let questions = desk.pending(2).await;
    let of = |header: &str| questions.iter().find(|q| q.request.set().questions()[0].header() == header).unwrap();
    desk.choose(of("Features"), "Export").await;
    let second = client.result(2).await;
    assert!(text(&second).contains("Export"), "{second}");
    desk.choose(of("Database"), "SQLite").await;
    let first = client.result(1).await;
    assert!(text(&first).contains("SQLite"), "{first}");
}

#[tokio::test]
async fn before_the_client_gives_up_it_gets_a_ticket_that_another_server_redeems() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", impatient()).await;
    client.call(1, ASK, database()).await;
    let result = client.result(1).await;
    let ticket = result["structuredContent"]["ticket"].as_str().unwrap().to_owned();
    assert!(
        text(&result).contains("not answered yet") && text(&result).contains("Tell them: \"A question waits"),
        "{result}"
    );
    assert!(text(&result).contains(&ticket) && text(&result).contains(RESULT), "{result}");
    client.call(2, RESULT, json!({"ticket": ticket})).await;
    assert_eq!(client.result(2).await["structuredContent"]["status"], "pending");
    client.close().await;
    let question = desk.pending(1).await.remove(0);
    assert!(matches!(question.asker, AskerPresence::Left(_)), "{:?}", question.asker);
    desk.choose(&question, "SQLite").await;
    let mut client = Client::named(&desk, "t", options()).await;
    for id in [3, 4] {
        client.call(id, RESULT, json!({"ticket": ticket})).await;
        assert!(text(&client.result(id).await).contains("SQLite"), "a ticket can be redeemed again");
    }
}

#[tokio::test]
async fn a_ticket_is_good_for_the_client_and_the_folder_it_was_given_to() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", impatient()).await;
    client.call(1, ASK, database()).await;
    let ticket = client.result(1).await["structuredContent"]["ticket"].as_str().unwrap().to_owned();
    let mut other = Client::named(&desk, "other", impatient()).await;
    for ticket in [json!(ticket), json!(ticket[..4]), json!("none"), json!(7)] {
        other.call(1, RESULT, json!({"ticket": ticket})).await;
        assert_eq!(other.result(1).await["isError"], true, "{ticket}");
    }
    client.call(2, RESULT, json!({"ticket": ticket[..4]})).await;
    assert_eq!(client.result(2).await["isError"], true, "an abbreviation is no ticket");
}

#[tokio::test]
async fn asking_the_same_again_attaches_to_what_is_pending_or_was_never_delivered_and_to_nothing_else() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", impatient()).await;
    client.call(1, ASK, database()).await;
    client.result(1).await;
    let first = desk.pending(1).await.remove(0);
    client.call(2, ASK, database()).await;
    assert_eq!(client.result(2).await["structuredContent"]["ticket"], json!(first.id), "it is pending");
    desk.choose(&first, "SQLite").await;
    client.call(3, ASK, database()).await;
    assert!(text(&client.result(3).await).contains("SQLite"), "answered, and not delivered before");
    desk.delivered(&first.id).await;
    client.call(4, ASK, database()).await;
    let ticket = client.result(4).await["structuredContent"]["ticket"].clone();
    assert_ne!(ticket, json!(first.id), "yesterday's answer is none to today's question");
    // Another client or another folder asks a question of its own.
    let mut other = Client::named(&desk, "other", impatient()).await;
    other.call(1, ASK, database()).await;
    assert_ne!(other.result(1).await["structuredContent"]["ticket"], ticket);
    assert_eq!(desk.pending(2).await.len(), 2);
}

#[tokio::test]
async fn the_order_of_fields_makes_no_other_question() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", impatient()).await;
    client.call(1, ASK, database()).await;
    let first = client.result(1).await["structuredContent"]["ticket"].clone();
    let mut input = database();
    let question = input["questions"][0].as_object_mut().unwrap();
    let text = question.shift_remove("question").unwrap();
    question.insert("question".into(), text);
    client.call(2, ASK, input).await;
    assert_eq!(client.result(2).await["structuredContent"]["ticket"], first);
}

#[tokio::test]
async fn cancelling_a_call_detaches_and_withdraws_nothing() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", options()).await;
    client.call(1, ASK, database()).await;
    let question = desk.pending(1).await.remove(0);
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    client.send(&cancelled).await;
    client.request(2, "ping", json!({})).await;
    assert_eq!(client.next().await["id"], 2, "the cancelled call gets no reply");
    while matches!(desk.person().get(&question.id).await.unwrap().asker, AskerPresence::Waits) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    desk.choose(&question, "SQLite").await;
    client.call(3, ASK, database()).await;
    assert!(text(&client.result(3).await).contains("SQLite"));
}

#[tokio::test]
async fn what_a_person_withdrew_is_no_answer() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", options()).await;
    client.call(1, ASK, database()).await;
    let question = desk.pending(1).await.remove(0);
    desk.person().withdraw(&question.id, &askuser_inbox::new_attempt().unwrap()).await.unwrap();
    let result = client.result(1).await;
    assert_eq!(result["structuredContent"]["status"], "withdrawn");
    assert!(text(&result).contains("withdrawn"), "{result}");
}

#[tokio::test]
async fn a_server_that_is_told_to_end_leaves_its_questions_in_the_inbox() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", options()).await;
    client.call(1, ASK, database()).await;
    desk.pending(1).await;
    client.end.cancel();
    client.served.await.unwrap();
    assert!(matches!(desk.pending(1).await[0].asker, AskerPresence::Left(_)));
}

#[tokio::test]
async fn a_client_that_gave_a_token_hears_at_once_and_every_15_seconds_where_the_person_answers() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "opencode", options()).await;
    let params = json!({"name": ASK, "arguments": database(), "_meta": {"progressToken": "p"}});
    client.request(1, "tools/call", params).await;
    let id = desk.pending(1).await[0].id.clone();
    let first = client.next().await;
    let words =
        format!("A question waits for your answer: run `askuser inbox` in a terminal, or `askuser answer {id}`.");
    assert_eq!((&first["params"]["progress"].as_f64(), &first["params"]["message"]), (&Some(1.0), &json!(words)));
    // From here on, only the waiting advances the time, because the store's thread has finished its work.
    tokio::time::pause();
    let started = tokio::time::Instant::now();
    for told in 2..=5 {
        let progress = client.next().await;
        assert_eq!(progress["method"], "notifications/progress", "{progress}");
        let params = &progress["params"];
        assert_eq!((&params["progressToken"], params["progress"].as_f64()), (&json!("p"), Some(f64::from(told))));
        assert_eq!(params["message"], words);
        assert_eq!(started.elapsed().as_secs_f64().round() as u64, 15 * (told as u64 - 1));
    }
}

/// Asks a question, which is answered after the client has waited for this time.
async fn answered_after(client: &mut Client, desk: &Desk, id: u64, waited: Duration) {
    client.call(id, ASK, database()).await;
    let question = desk.pending(1).await.remove(0);
    tokio::time::pause();
    tokio::time::advance(waited).await;
    tokio::time::resume();
    desk.choose(&question, "SQLite").await;
    assert!(text(&client.result(id).await).contains("SQLite"));
    desk.delivered(&question.id).await;
}

#[tokio::test]
async fn an_answer_that_came_after_a_client_gave_up_without_a_word_is_there_when_it_asks_the_same_again() {
    let desk = Desk::new();
    // The client waits for 10 s instead of 60, does not cancel the call, and ignores the reply.
    let mut cline = Client::with(&desk, "Cline", "2024-11-05", json!({}), options()).await;
    answered_after(&mut cline, &desk, 1, Duration::from_secs(11)).await;
    cline.call(2, ASK, database()).await;
    let again = cline.result(2).await;
    assert!(text(&again).contains("SQLite") && text(&again).contains("ago, to an earlier call"), "{again}");
    assert!(again["structuredContent"]["answered_seconds_ago"].is_number(), "{again}");
    cline.call(3, ASK, database()).await;
    desk.pending(1).await;
}

#[tokio::test]
async fn an_answer_that_cline_gave_up_on_after_two_seconds_is_there_when_it_asks_the_same_again() {
    let desk = Desk::new();
    let mut cline = Client::with(&desk, "@cline/core", "2024-11-05", json!({}), options()).await;
    answered_after(&mut cline, &desk, 1, Duration::from_secs(3)).await;
    cline.call(2, ASK, database()).await;
    assert!(text(&cline.result(2).await).contains("ago, to an earlier call"));
}

#[tokio::test]
async fn one_yes_answers_one_question() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", options()).await;
    for (id, waited) in [(1, 1), (3, 11)] {
        answered_after(&mut client, &desk, id, Duration::from_secs(waited)).await;
        client.call(id + 1, ASK, database()).await;
        desk.choose(&desk.pending(1).await[0], "SQLite").await;
        client.result(id + 1).await;
    }
}

#[tokio::test]
async fn a_client_that_can_be_told_no_progress_is_gone() {
    let desk = Desk::new();
    let (mut said, read) = tokio::io::duplex(1 << 20);
    let (write, heard) = tokio::io::duplex(1 << 20);
    tokio::spawn(serve(server(&desk, options()), read, write, CancellationToken::new()));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "opencode", "version": "99.0"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "p",
    });
    let params = json!({"name": ASK, "arguments": database(), "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    said.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    let question = desk.pending(1).await.remove(0);
    // The client can still write, but no longer reads.
    drop(heard);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(16)).await;
    tokio::time::resume();
    desk.unattended(&question.id).await;
}

#[tokio::test]
async fn a_message_that_is_too_long_is_answered_with_its_id_if_it_has_one_and_with_null_otherwise() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", options()).await;
    let long = "a".repeat(16 << 20);
    for (line, id) in [
        (format!(r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"id":1,"x":"{long}"}}}}"#), json!(5)),
        // The SDKs for Python and TypeScript write the fields in this order.
        (format!(r#"{{"method":"tools/call","params":{{"x":"{long}"}},"jsonrpc":"2.0","id":"six"}}"#), json!("six")),
        // A response has the id of a server's request. The client might take this id for one of its own.
        (format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"x":"{long}"}}}}"#), Value::Null),
        (long.clone(), Value::Null),
    ] {
        client.send_text(&line).await;
        let reply = client.next().await;
        assert_eq!((reply.get("id"), &reply["error"]["code"]), (Some(&id), &json!(-32600)), "{reply}");
        let message = "the message is longer than 16777216 bytes, and was not read";
        assert_eq!(reply["error"]["message"], message);
    }
    client.request(8, "ping", json!({})).await;
    assert_eq!(client.next().await["id"], 8, "it goes on, and each was answered once");
    client.send_text(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#).await;
    let reply = client.next().await;
    assert_eq!((reply.get("id"), &reply["error"]["code"]), (Some(&Value::Null), &json!(-32600)), "{reply}");
}

#[tokio::test]
async fn a_client_that_leaves_after_a_message_that_is_too_long_is_answered_all_the_same() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", options()).await;
    let long = "a".repeat(16 << 20);
    client.send_text(&format!(r#"{{"id":5,"params":"{long}","method":"ping"}}"#)).await;
    client.hang_up().await;
    assert_eq!(client.next().await["id"], 5);
}

#[tokio::test]
async fn garbage_before_and_after_the_handshake_ends_nothing() {
    let desk = Desk::new();
    let mut client = Client::raw(&desk, options());
    for line in ["", "garbage", "{\"jsonrpc\":", "}{", "\u{0}\u{1}"] {
        client.send_text(line).await;
    }
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    let info = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    client.request(0, "initialize", params).await;
    assert_eq!(client.result(0).await["protocolVersion"], "2025-06-18");
    client.send_text("garbage").await;
    client.request(1, "tools/list", json!({})).await;
    assert_eq!(client.result(1).await["tools"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_input_of_a_megabyte_is_refused_with_words_and_the_next_call_works() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "t", impatient()).await;
    let mut input = database();
    input["questions"][0]["question"] = "x".repeat(1 << 20).into();
    client.call(1, ASK, input).await;
    let result = client.result(1).await;
    assert!(result["isError"] == true && text(&result).len() < 2_000, "{}", text(&result).len());
    client.call(2, ASK, database()).await;
    assert_eq!(client.result(2).await["structuredContent"]["status"], "pending");
}

#[tokio::test]
async fn every_protocol_version_with_a_handshake_is_spoken() {
    let desk = Desk::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::with(&desk, "t", version, json!({}), options()).await;
        client.request(1, "tools/list", json!({})).await;
        assert_eq!(client.result(1).await["tools"][0]["name"], ASK, "{version}");
        client.close().await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_at_once_is_not_told_that_a_question_stays_open_that_was_never_kept() {
    for _ in 0..20 {
        let desk = Desk::new();
        let mut client = Client::named(&desk, "a client", options()).await;
        client.call(1, "AskUserQuestion", database()).await;
        client.hang_up().await;
        let reply = client.next().await;
        assert_eq!(reply["error"]["message"], "stopped waiting; the question stays open", "{reply}");
        let kept = desk.person().list(&askuser::store::Filter::pending()).await.unwrap().questions;
        assert_eq!(kept.len(), 1);
    }
}

#[tokio::test]
async fn an_answer_from_before_the_conversation_says_how_old_it_is() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let now = std::sync::Arc::new(AtomicU64::new(1_000_000));
    let clock = now.clone();
    let desk = Desk::at(std::sync::Arc::new(move || clock.load(Ordering::Relaxed)));
    let mut client = Client::named(&desk, "t", impatient()).await;
    client.call(1, ASK, database()).await;
    client.result(1).await;
    desk.choose(&desk.pending(1).await[0], "SQLite").await;
    client.close().await;
    now.fetch_add(3 * 60 * 60 * 1000, Ordering::Relaxed);
    let mut client = Client::named(&desk, "t", impatient()).await;
    client.call(1, ASK, database()).await;
    let result = client.result(1).await;
    assert!(text(&result).ends_with("This was answered 3 h ago, before this conversation began."), "{result}");
    assert_eq!(result["structuredContent"]["answered_seconds_ago"], 3 * 60 * 60);
}

#[tokio::test]
async fn the_name_of_a_client_is_cleaned_before_anything_shows_it() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "evil\u{1b}]0;root\u{7}\u{202e}\nclient", options()).await;
    client.call(1, ASK, database()).await;
    let question = &desk.pending(1).await[0];
    assert_eq!(question.request.origin().agent.as_deref(), Some("evil client"));
}
