//! Tests of protocol 2026-07-28, which has no handshake and has dialogs inside results.

use crate::support::{Client, Desk, database, features, options, text};
use serde_json::{Value, json};
use std::time::Duration;

const ASK: &str = "AskUserQuestion";
const WHILE: Duration = Duration::from_millis(600);

fn dialogs() -> Value {
    json!({"elicitation": {"form": {}}})
}

async fn back(client: &mut Client, id: u64, input: Value, shown: &Value, response: Value) {
    all_back(client, id, input, shown, json!({"question1": response})).await;
}

async fn all_back(client: &mut Client, id: u64, input: Value, shown: &Value, responses: Value) {
    let state = &shown["requestState"];
    let params = json!({"name": ASK, "arguments": input, "requestState": state, "inputResponses": responses});
    client.request(id, "tools/call", params).await;
}

#[tokio::test]
async fn discover_says_which_versions_are_spoken_and_calls_need_no_handshake() {
    let desk = Desk::new();
    let mut client = Client::stateless(&desk, "claude-code", json!({}), options());
    client.request(1, "server/discover", json!({})).await;
    let found = client.result(1).await;
    let versions: Vec<&str> = found["supportedVersions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(versions.contains(&"2026-07-28") && versions.contains(&"2024-11-05"), "{found}");
    client.request(2, "tools/list", json!({})).await;
    assert_eq!(client.result(2).await["tools"][0]["name"], ASK);
    client.call(3, ASK, database()).await;
    let question = desk.pending(1).await.remove(0);
    assert_eq!(question.request.origin().agent.as_deref(), Some("claude-code"));
    desk.choose(&question, "SQLite").await;
    let result = client.result(3).await;
    assert!(result["resultType"] == "complete" && text(&result).contains("SQLite"), "{result}");
}

#[tokio::test]
async fn discover_without_what_the_protocol_wants_is_refused_and_the_handshake_still_works() {
    let desk = Desk::new();
    let mut client = Client::raw(&desk, options());
    client.request(1, "server/discover", json!({})).await;
    assert!(client.next().await["error"].is_object());
    let info = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    client.request(2, "initialize", params).await;
    assert_eq!(client.result(2).await["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn a_client_with_forms_is_not_offered_a_protocol_that_cannot_take_them_back() {
    let desk = Desk::new();
    for elicitation in [json!({}), json!({"form": {}}), json!({"form": {}, "url": {}})] {
        let capabilities = json!({"elicitation": elicitation});
        let mut client = Client::stateless(&desk, "claude-code", capabilities.clone(), options());
        client.request(1, "server/discover", json!({})).await;
        assert_eq!(client.next().await["error"]["code"], -32601, "{capabilities}");
        let info = json!({"name": "claude-code", "version": "2.1.325"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
        client.request(2, "initialize", params).await;
        assert_eq!(client.result(2).await["protocolVersion"], "2025-11-25");
    }
    let mut client = Client::stateless(&desk, "claude-code", json!({"elicitation": {"url": {}}}), options());
    client.request(1, "server/discover", json!({})).await;
    assert!(client.result(1).await["supportedVersions"].is_array());
}

#[tokio::test]
async fn a_call_returns_with_a_form_and_comes_back_with_the_answer() {
    let desk = Desk::new();
    let mut client = Client::stateless(&desk, "claude-code", dialogs(), options());
    client.call(1, ASK, database()).await;
    let shown = client.result(1).await;
    assert_eq!(shown["resultType"], "input_required", "{shown}");
    let form = &shown["inputRequests"]["question1"];
    assert!(form["method"] == "elicitation/create" && form["params"]["mode"] == "form", "{form}");
    let question = desk.pending(1).await.remove(0);
    back(&mut client, 2, database(), &shown, json!({"action": "accept", "content": {"answer": "SQLite"}})).await;
    let result = client.result(2).await;
    assert_eq!(result["structuredContent"]["via"], "elicitation", "{result}");
    desk.delivered(&question.id).await;
    // A client that lost the reply gets the same reply again, and no person is asked twice.
    back(&mut client, 3, database(), &shown, json!({"action": "accept", "content": {"answer": "PostgreSQL"}})).await;
    assert!(text(&client.result(3).await).contains("SQLite"));
    assert!(desk.pending(0).await.is_empty());
}

#[tokio::test]
async fn the_state_survives_a_restart_and_an_answer_in_the_inbox_wins() {
    let desk = Desk::new();
    let mut client = Client::stateless(&desk, "claude-code", dialogs(), options());
    client.call(1, ASK, database()).await;
    let shown = client.result(1).await;
    client.close().await;
    desk.choose(&desk.pending(1).await[0], "SQLite").await;
    let mut client = Client::stateless(&desk, "claude-code", dialogs(), options());
    back(&mut client, 1, database(), &shown, json!({"action": "accept", "content": {"answer": "PostgreSQL"}})).await;
    let result = client.result(1).await;
    assert!(text(&result).contains("SQLite") && !text(&result).contains("Selected: PostgreSQL"), "{result}");
}

#[tokio::test]
async fn a_state_that_was_forged_or_belongs_to_another_client_or_question_answers_nothing() {
    let desk = Desk::new();
    let mut client = Client::stateless(&desk, "claude-code", dialogs(), options());
    client.call(1, ASK, database()).await;
    let shown = client.result(1).await;
    let yes = json!({"action": "accept", "content": {"answer": "SQLite"}});
    let mut forged = shown.clone();
    forged["requestState"] = "rs1.e30.AAAA".into();
    back(&mut client, 2, database(), &forged, yes.clone()).await;
    assert_eq!(client.result(2).await["resultType"], "input_required");
    let mut other = Client::stateless(&desk, "other", dialogs(), options());
    back(&mut other, 1, database(), &shown, yes).await;
    assert_eq!(other.result(1).await["resultType"], "input_required");
    desk.pending(2).await;
    let mut deploy = database();
    deploy["questions"][0]["question"] = "Which database do we drop?".into();
    back(&mut client, 3, deploy, &shown, json!({"action": "accept", "content": {"answer": "SQLite"}})).await;
    assert_eq!(client.result(3).await["resultType"], "input_required", "it is asked anew");
    desk.pending(3).await;
}

#[tokio::test]
async fn a_form_that_was_refused_at_once_was_seen_by_nobody() {
    let desk = Desk::new();
    let mut client = Client::stateless(&desk, "claude-code", dialogs(), options());
    client.call(1, ASK, database()).await;
    let shown = client.result(1).await;
    back(&mut client, 2, database(), &shown, json!({"action": "cancel"})).await;
    desk.choose(&desk.pending(1).await[0], "SQLite").await;
    assert_eq!(client.result(2).await["structuredContent"]["via"], "inbox");
}

#[tokio::test]
async fn a_form_that_was_declined_after_a_while_was_declined() {
    let desk = Desk::new();
    let mut client = Client::stateless(&desk, "claude-code", dialogs(), options());
    client.call(1, ASK, database()).await;
    let shown = client.result(1).await;
    tokio::time::sleep(WHILE).await;
    back(&mut client, 2, database(), &shown, json!({"action": "decline"})).await;
    assert_eq!(client.result(2).await["structuredContent"]["status"], "declined");
}

#[tokio::test]
async fn what_was_said_in_one_of_two_forms_is_offered_in_the_inbox() {
    let desk = Desk::new();
    let mut client = Client::stateless(&desk, "claude-code", dialogs(), options());
    let mut input = database();
    input["questions"].as_array_mut().unwrap().push(features()["questions"][0].clone());
    client.call(1, ASK, input.clone()).await;
    let shown = client.result(1).await;
    // No result comes back for the second form.
    back(&mut client, 2, input, &shown, json!({"action": "accept", "content": {"answer": "SQLite"}})).await;
    let question = desk.pending(1).await.remove(0);
    let draft = desk.draft(&question.id).await;
    assert_eq!(draft[0]["selectedOptions"], json!(["SQLite"]), "{draft}");
}

#[tokio::test]
async fn what_was_said_in_one_of_two_forms_is_forgotten_once_both_are_answered() {
    let desk = Desk::new();
    let mut client = Client::stateless(&desk, "claude-code", dialogs(), options());
    let mut input = database();
    input["questions"].as_array_mut().unwrap().push(features()["questions"][0].clone());
    client.call(1, ASK, input.clone()).await;
    let shown = client.result(1).await;
    let first = json!({"action": "accept", "content": {"answer": "SQLite"}});
    back(&mut client, 2, input.clone(), &shown, first.clone()).await;
    let question = desk.pending(1).await.remove(0);
    desk.draft(&question.id).await;
    let second = json!({"action": "accept", "content": {"answer": ["Search"]}});
    let params = json!({
        "name": ASK,
        "arguments": input,
        "requestState": shown["requestState"],
        "inputResponses": {"question1": first, "question2": second},
    });
    client.request(3, "tools/call", params).await;
    desk.pending(0).await;
    desk.no_draft(&question.id).await;
}

#[tokio::test]
async fn forms_that_come_back_wrong_are_shown_three_times_and_the_inbox_has_what_was_right() {
    let desk = Desk::new();
    let mut options = options();
    options.limit = Some(Duration::from_millis(50));
    let mut client = Client::stateless(&desk, "claude-code", dialogs(), options);
    let mut input = features();
    input["questions"].as_array_mut().unwrap().push(database()["questions"][0].clone());
    client.call(1, ASK, input.clone()).await;
    let mut shown = client.result(1).await;
    let wrong = json!({"answer": ["Search"], "other": "x".repeat(16_001), "note": "soon"});
    let right = json!({"answer": "SQLite"});
    for id in 2..4 {
        let responses = json!({
            "question1": {"action": "accept", "content": wrong},
            "question2": {"action": "accept", "content": right},
        });
        all_back(&mut client, id, input.clone(), &shown, responses).await;
        shown = client.result(id).await;
        let forms = shown["inputRequests"].as_object().unwrap();
        assert_eq!(forms.keys().collect::<Vec<_>>(), ["question1"], "what was right is not asked again");
        let fields = &forms["question1"]["params"]["requestedSchema"]["properties"];
        assert_eq!((&fields["answer"]["default"], &fields["note"]["default"]), (&wrong["answer"], &wrong["note"]));
        assert!(fields["other"]["default"].is_null(), "it does not fit");
    }
    all_back(&mut client, 4, input, &shown, json!({"question1": {"action": "accept", "content": wrong}})).await;
    let result = client.result(4).await;
    assert_eq!(result["structuredContent"]["status"], "pending", "{result}");
    let draft = desk.draft(&desk.pending(1).await[0].id).await;
    assert!(draft.to_string().contains("SQLite"), "{draft}");
}
