//! Tests of the client's own dialog beside the inbox.

use crate::support::{Client, Desk, database, features, options, text};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const ASK: &str = "AskUserQuestion";

/// A time in which every client without a person has refused.
const WHILE: Duration = Duration::from_millis(600);

async fn with_dialogs(desk: &Arc<Desk>, name: &str, version: &str) -> Client {
    Client::with(desk, name, version, json!({"elicitation": {}}), options()).await
}

/// Returns the next dialog, which must be the next message.
async fn dialog(client: &mut Client) -> Value {
    let dialog = client.next().await;
    assert_eq!(dialog["method"], "elicitation/create", "{dialog}");
    dialog
}

async fn reply(client: &mut Client, dialog: &Value, result: Value) {
    client.send(&json!({"jsonrpc": "2.0", "id": dialog["id"], "result": result})).await;
}

#[tokio::test]
async fn a_dialog_shows_the_question_and_its_answer_counts() {
    let desk = Desk::new();
    let mut client = with_dialogs(&desk, "claude-code", "2025-11-25").await;
    client.call(1, ASK, database()).await;
    let dialog = dialog(&mut client).await;
    let params = &dialog["params"];
    let message = params["message"].as_str().unwrap();
    assert!(message.contains("Which database?") && message.contains("PostgreSQL (recommended): A server"), "{message}");
    let fields = &params["requestedSchema"]["properties"];
    assert_eq!(fields["answer"]["enum"], json!(["PostgreSQL", "SQLite"]));
    assert!(fields["other"]["type"] == "string" && fields["note"]["type"] == "string", "{fields}");
    let question = desk.pending(1).await.remove(0);
    reply(
        &mut client,
        &dialog,
        json!({"action": "accept", "content": {"answer": "PostgreSQL", "note": "14 or later"}}),
    )
    .await;
    let result = client.result(1).await;
    assert!(text(&result).contains("Selected: PostgreSQL") && text(&result).contains("Note: 14 or later"), "{result}");
    let structured = &result["structuredContent"];
    assert_eq!((&structured["via"], &structured["by"]), (&json!("elicitation"), &json!("ada")));
    assert_eq!(structured["answers"][0]["selectedOptions"], json!(["PostgreSQL (Recommended)"]));
    desk.delivered(&question.id).await;
}

#[tokio::test]
async fn an_answer_in_the_inbox_closes_the_dialog() {
    let desk = Desk::new();
    let mut client = with_dialogs(&desk, "claude-code", "2025-11-25").await;
    client.call(1, ASK, database()).await;
    let dialog = dialog(&mut client).await;
    assert_eq!(
        dialog["id"], 2,
        "1 was a ping: the TypeScript SDK takes a cancellation of request 0 for one of nothing"
    );
    desk.choose(&desk.pending(1).await[0], "SQLite").await;
    let mut closed = false;
    let mut answered = false;
    for _ in 0..2 {
        let message = client.next().await;
        closed |= message["method"] == "notifications/cancelled" && message["params"]["requestId"] == dialog["id"];
        answered |= message["id"] == 1 && text(&message["result"]).contains("SQLite");
    }
    assert!(closed && answered);
    // A click at the same moment has no effect.
    reply(&mut client, &dialog, json!({"action": "accept", "content": {"answer": "PostgreSQL"}})).await;
    client.request(2, "ping", json!({})).await;
    assert_eq!(client.next().await["id"], 2);
}

/// Checks that this result counts as no person's, so that the question stays in the inbox.
async fn check_nobody(result: Value) {
    let desk = Desk::new();
    let mut client = with_dialogs(&desk, "copilot", "2025-11-25").await;
    client.call(1, ASK, database()).await;
    let dialog = dialog(&mut client).await;
    reply(&mut client, &dialog, result).await;
    client.request(2, "ping", json!({})).await;
    assert_eq!(client.next().await["id"], 2, "no other dialog, and no result");
    desk.choose(&desk.pending(1).await[0], "SQLite").await;
    let result = client.result(1).await;
    assert_eq!(result["structuredContent"]["via"], "inbox", "{result}");
}

#[tokio::test]
async fn a_client_that_refuses_at_once_has_asked_nobody() {
    check_nobody(json!({"action": "decline"})).await;
    check_nobody(json!({"action": "cancel"})).await;
}

/// Claude Code without a terminal, on a busy machine, read the form after half a second and refused it immediately.
#[tokio::test]
async fn a_refusal_that_a_busy_machine_has_delayed_is_no_persons() {
    let desk = Desk::new();
    let mut client = with_dialogs(&desk, "claude-code", "2025-11-25").await;
    client.call(1, ASK, database()).await;
    let ping = client.next_of_all().await;
    assert_eq!(ping["method"], "ping", "{ping}");
    let dialog = dialog(&mut client).await;
    tokio::time::sleep(WHILE).await;
    reply(&mut client, &ping, json!({})).await;
    reply(&mut client, &dialog, json!({"action": "cancel"})).await;
    client.request(2, "ping", json!({})).await;
    assert_eq!(client.next().await["id"], 2, "no result");
    desk.choose(&desk.pending(1).await[0], "SQLite").await;
    assert_eq!(client.result(1).await["structuredContent"]["via"], "inbox");
}

#[tokio::test]
async fn a_client_that_has_refused_by_itself_may_take_longer_the_next_time() {
    let desk = Desk::new();
    let mut client = with_dialogs(&desk, "copilot", "2025-11-25").await;
    for (id, after) in [(1, Duration::ZERO), (2, WHILE)] {
        client.call(id, ASK, database()).await;
        let dialog = dialog(&mut client).await;
        tokio::time::sleep(after).await;
        reply(&mut client, &dialog, json!({"action": "decline"})).await;
        desk.choose(&desk.pending(1).await[0], "SQLite").await;
        assert_eq!(client.result(id).await["structuredContent"]["via"], "inbox", "{after:?}");
    }
}

#[tokio::test]
async fn an_accept_with_nothing_in_it_is_no_answer() {
    check_nobody(json!({"action": "accept"})).await;
    check_nobody(json!({"action": "accept", "content": {}})).await;
    check_nobody(json!({"action": "accept", "content": {"answer": "", "other": " "}})).await;
}

#[tokio::test]
async fn a_dialog_that_fails_leaves_the_question_in_the_inbox() {
    let desk = Desk::new();
    let mut client = with_dialogs(&desk, "t", "2025-06-18").await;
    client.call(1, ASK, database()).await;
    let dialog = dialog(&mut client).await;
    let error = json!({"code": -32603, "message": "no screen"});
    client.send(&json!({"jsonrpc": "2.0", "id": dialog["id"], "error": error})).await;
    client.request(2, "ping", json!({})).await;
    assert_eq!(client.next().await["id"], 2);
    desk.choose(&desk.pending(1).await[0], "SQLite").await;
    assert!(text(&client.result(1).await).contains("SQLite"));
}

#[tokio::test]
async fn a_person_who_takes_a_moment_to_decline_or_cancel_has_done_so() {
    for (action, status) in [("decline", "declined"), ("cancel", "cancelled")] {
        let desk = Desk::new();
        let mut client = with_dialogs(&desk, "claude-code", "2025-11-25").await;
        client.call(1, ASK, database()).await;
        let dialog = dialog(&mut client).await;
        tokio::time::sleep(WHILE).await;
        reply(&mut client, &dialog, json!({"action": action})).await;
        assert_eq!(client.result(1).await["structuredContent"]["status"], status);
    }
}

#[tokio::test]
async fn what_is_no_answer_is_asked_again_with_the_reason() {
    let desk = Desk::new();
    let mut client = with_dialogs(&desk, "claude-code", "2025-11-25").await;
    client.call(1, ASK, database()).await;
    let first = dialog(&mut client).await;
    reply(&mut client, &first, json!({"action": "accept", "content": {"answer": "SQLite", "other": "DuckDB"}})).await;
    let second = dialog(&mut client).await;
    assert!(second["params"]["message"].as_str().unwrap().starts_with("That is no answer: "), "{second}");
    let fields = &second["params"]["requestedSchema"]["properties"];
    assert_eq!((&fields["answer"]["default"], &fields["other"]["default"]), (&json!("SQLite"), &json!("DuckDB")));
    reply(&mut client, &second, json!({"action": "accept", "content": {"other": "DuckDB"}})).await;
    assert!(text(&client.result(1).await).contains("Other: DuckDB"));
}

#[tokio::test]
async fn a_note_alone_is_asked_again_in_words_for_a_person() {
    let desk = Desk::new();
    let mut client = with_dialogs(&desk, "claude-code", "2025-11-25").await;
    client.call(1, ASK, database()).await;
    let first = dialog(&mut client).await;
    reply(&mut client, &first, json!({"action": "accept", "content": {"note": "in memory"}})).await;
    let second = dialog(&mut client).await;
    let message = second["params"]["message"].as_str().unwrap();
    let told = "Choose an option, or type your answer at Other: a note alone is no answer.\n\nWhich";
    assert!(message.starts_with(told) && !message.contains("answers["), "{message}");
    assert_eq!(second["params"]["requestedSchema"]["properties"]["note"]["default"], "in memory");
    reply(&mut client, &second, json!({"action": "accept", "content": {"answer": "SQLite", "note": "in memory"}}))
        .await;
    assert!(text(&client.result(1).await).contains("Note: in memory"));
}

#[tokio::test]
async fn goose_without_a_terminal_is_shown_no_dialog() {
    let desk = Desk::new();
    let mut goose = with_dialogs(&desk, "goose-cli", "2025-11-25").await;
    goose.call(1, ASK, database()).await;
    // The client's next message is the result, so no dialog has come before it.
    let question = desk.pending(1).await.remove(0);
    desk.answer(&question, &json!({"answers": [{"selectedOptions": ["SQLite"]}]})).await;
    let result = goose.result(1).await;
    assert!(text(&result).contains("Selected: SQLite"), "{result}");
}

#[tokio::test]
async fn what_is_typed_under_an_other_of_the_clients_own_is_typed_under_other() {
    let desk = Desk::new();
    let mut copilot = with_dialogs(&desk, "copilot-cli", "2025-11-25").await;
    let cases = [
        (database(), json!({"answer": "DuckDB, in memory"}), "Other: DuckDB, in memory"),
        (features(), json!({"answer": ["Search", "Undo"]}), "Selected: Search\n   Other: Undo"),
        (database(), json!({"answer": "PostgreSQL (Recommended)"}), "Selected: PostgreSQL"),
    ];
    for (id, (input, content, expected)) in (1..).zip(cases) {
        copilot.call(id, ASK, input).await;
        let form = dialog(&mut copilot).await;
        reply(&mut copilot, &form, json!({"action": "accept", "content": content})).await;
        let result = copilot.result(id).await;
        assert!(text(&result).contains(expected), "{result}");
    }
}

#[tokio::test]
async fn several_questions_are_as_many_dialogs() {
    let desk = Desk::new();
    let mut client = with_dialogs(&desk, "claude-code", "2025-11-25").await;
    let mut input = database();
    input["questions"].as_array_mut().unwrap().push(features()["questions"][0].clone());
    client.call(1, ASK, input).await;
    let first = dialog(&mut client).await;
    assert!(first["params"]["message"].as_str().unwrap().starts_with("(1 of 2) "), "{first}");
    reply(&mut client, &first, json!({"action": "accept", "content": {"answer": "SQLite"}})).await;
    let second = dialog(&mut client).await;
    assert_eq!(
        second["params"]["requestedSchema"]["properties"]["answer"]["items"]["enum"],
        json!(["Search", "Export"])
    );
    let question = desk.pending(1).await.remove(0);
    desk.draft(&question.id).await;
    reply(&mut client, &second, json!({"action": "accept", "content": {"answer": ["Search", "Export"]}})).await;
    let result = client.result(1).await;
    assert!(text(&result).contains("SQLite") && text(&result).contains("Search, Export"), "{result}");
    desk.no_draft(&question.id).await;
}

#[tokio::test]
async fn several_choices_are_switches_where_lists_did_not_exist_yet() {
    let desk = Desk::new();
    let mut client = with_dialogs(&desk, "t", "2025-06-18").await;
    client.call(1, ASK, features()).await;
    let dialog = dialog(&mut client).await;
    let fields = &dialog["params"]["requestedSchema"]["properties"];
    assert_eq!((&fields["option2"]["type"], &fields["option2"]["title"]), (&json!("boolean"), &json!("Export")));
    let content = json!({"option1": false, "option2": true, "other": "Print"});
    reply(&mut client, &dialog, json!({"action": "accept", "content": content})).await;
    let answer = client.result(1).await["structuredContent"]["answers"][0].clone();
    assert_eq!((&answer["selectedOptions"], &answer["customInput"]), (&json!(["Export"]), &json!("Print")));
}

/// Returns a client like Codex that asks a question with several choices, and the form for it.
async fn codex_with_several(desk: &Arc<Desk>, limit: Option<Duration>) -> (Client, Value) {
    let mut options = options();
    options.limit = limit;
    let mut client = Client::with(desk, "codex-mcp-client", "2025-06-18", json!({"elicitation": {}}), options).await;
    client.call(1, ASK, features()).await;
    let dialog = dialog(&mut client).await;
    (client, dialog)
}

const INBOX: &str = "Answer in the inbox (`askuser inbox`)";

#[tokio::test]
async fn codex_names_where_to_answer_what_its_form_cannot_show() {
    let desk = Desk::new();
    let (mut client, dialog) = codex_with_several(&desk, None).await;
    let question = desk.pending(1).await.remove(0);
    assert_eq!(dialog["params"]["requestedSchema"]["properties"]["answer"]["enum"], json!([INBOX, "Decline"]));
    let message = dialog["params"]["message"].as_str().unwrap();
    for part in ["Which features?", question.id.as_str(), "askuser inbox", "askuser answer"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    reply(&mut client, &dialog, json!({"action": "accept", "content": {"answer": INBOX}})).await;
    client.request(2, "ping", json!({})).await;
    assert_eq!(client.next().await["id"], 2, "the call waits, and no other form opens");
    desk.choose(&question, "Export").await;
    let result = client.result(1).await;
    assert_eq!(result["structuredContent"]["via"], "inbox", "{result}");
}

#[tokio::test]
async fn codex_declines_in_the_form_that_names_the_inbox() {
    let desk = Desk::new();
    let (mut client, dialog) = codex_with_several(&desk, None).await;
    reply(&mut client, &dialog, json!({"action": "accept", "content": {"answer": "Decline"}})).await;
    let result = client.result(1).await;
    assert_eq!((&result["structuredContent"]["status"], desk.pending(0).await.len()), (&json!("declined"), 0));
}

#[tokio::test]
async fn a_form_that_names_the_inbox_closes_with_the_answer() {
    let desk = Desk::new();
    let (mut client, dialog) = codex_with_several(&desk, None).await;
    desk.choose(&desk.pending(1).await[0], "Export").await;
    let messages = [client.next().await, client.next().await];
    let is_closed = |message: &&Value| message["params"]["requestId"] == dialog["id"];
    assert!(messages.iter().any(|message| is_closed(&message)), "{messages:?}");
    assert!(messages.iter().any(|message| message["id"] == 1 && text(&message["result"]).contains("Export")));
}

#[tokio::test]
async fn the_time_of_an_open_form_does_not_count_for_codex() {
    const LIMIT: Duration = Duration::from_millis(400);
    let desk = Desk::new();
    let (mut client, dialog) = codex_with_several(&desk, Some(LIMIT)).await;
    tokio::time::sleep(2 * LIMIT).await;
    reply(&mut client, &dialog, json!({"action": "accept", "content": {"answer": INBOX}})).await;
    client.request(2, "ping", json!({})).await;
    assert_eq!(client.next().await["id"], 2, "the call has not returned while the form was open");
    let result = client.result(1).await;
    assert_eq!(result["structuredContent"]["status"], "pending", "{result}");
}

#[tokio::test]
async fn codex_is_shown_no_text_field_because_nobody_gets_past_an_empty_one_there() {
    let desk = Desk::new();
    let mut client = with_dialogs(&desk, "codex-mcp-client", "2025-06-18").await;
    client.call(1, ASK, database()).await;
    let dialog = dialog(&mut client).await;
    let fields = dialog["params"]["requestedSchema"]["properties"].as_object().unwrap();
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["answer"]);
    assert!(dialog["params"]["message"].as_str().unwrap().contains("askuser inbox"), "{dialog}");
    reply(&mut client, &dialog, json!({"action": "accept", "content": {"answer": "SQLite"}})).await;
    assert!(text(&client.result(1).await).contains("Selected: SQLite"));
}

#[tokio::test]
async fn what_was_said_before_a_dialog_failed_half_way_is_offered_in_the_inbox() {
    let desk = Desk::new();
    let mut client = with_dialogs(&desk, "claude-code", "2025-11-25").await;
    let mut input = database();
    input["questions"].as_array_mut().unwrap().push(features()["questions"][0].clone());
    client.call(1, ASK, input).await;
    let first = dialog(&mut client).await;
    reply(&mut client, &first, json!({"action": "accept", "content": {"answer": "SQLite", "note": "for now"}})).await;
    let second = dialog(&mut client).await;
    let error = json!({"code": -32603, "message": "no screen"});
    client.send(&json!({"jsonrpc": "2.0", "id": second["id"], "error": error})).await;
    let question = desk.pending(1).await.remove(0);
    let draft = desk.draft(&question.id).await;
    assert_eq!(draft[0]["selectedOptions"], json!(["SQLite"]), "{draft}");
    assert_eq!((&draft[0]["note"], draft.as_array().unwrap().len()), (&json!("for now"), 1));
}
