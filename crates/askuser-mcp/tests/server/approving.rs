//! Tests of the tool `approve`, through which Claude Code asks for permission.

use crate::support::{Client, Desk, features, options, text};
use askuser::store::StoreError;
use askuser::{Context, Via};
use askuser_mcp::Options;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

fn approving() -> Options {
    let mut options = options();
    options.approve = true;
    options
}

fn bash(command: &str) -> Value {
    json!({"tool_name": "Bash", "input": {"command": command, "description": "d"}, "tool_use_id": "toolu_1"})
}

/// Asks for permission, answers as the person with this reply, and returns the decision.
async fn decision(call: Value, reply: Value) -> Value {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "claude-code", approving()).await;
    client.call(1, "approve", call).await;
    desk.answer(&desk.pending(1).await[0], &reply).await;
    decided(&client.result(1).await)
}

fn decided(result: &Value) -> Value {
    assert!(result.get("structuredContent").is_none(), "{result}");
    serde_json::from_str(text(result)).unwrap()
}

#[tokio::test]
async fn it_is_listed_only_where_it_was_asked_for() {
    let desk = Desk::new();
    for (options, count) in [(options(), 2), (approving(), 3)] {
        let mut client = Client::named(&desk, "claude-code", options).await;
        client.request(1, "tools/list", json!({})).await;
        assert_eq!(client.result(1).await["tools"].as_array().unwrap().len(), count);
    }
    let mut client = Client::named(&desk, "claude-code", options()).await;
    client.call(1, "approve", bash("ls")).await;
    assert!(client.next().await["error"].is_object());
}

#[tokio::test]
async fn a_command_is_shown_exactly_and_allowed_as_it_is() {
    let desk: Arc<Desk> = Desk::new();
    let mut client = Client::named(&desk, "claude-code", approving()).await;
    client.call(1, "approve", bash("rm -rf build \\\n  && make")).await;
    let question = desk.pending(1).await.remove(0);
    assert_eq!(question.request.context().and_then(Context::command), Some("rm -rf build \\\n  && make"));
    desk.choose(&question, "Allow once").await;
    let allowed = decided(&client.result(1).await);
    assert_eq!(allowed, json!({"behavior": "allow", "updatedInput": bash("rm -rf build \\\n  && make")["input"]}));
}

#[tokio::test]
async fn whatever_else_changes_what_runs_is_shown_too() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "claude-code", approving()).await;
    let mut call = bash("make");
    call["input"]["dangerouslyDisableSandbox"] = true.into();
    client.call(1, "approve", call).await;
    let question = desk.pending(1).await.remove(0);
    let shown = question.request.context().expect("a call").text();
    assert!(shown.contains("dangerouslyDisableSandbox") && shown.contains("make"), "{shown}");
}

#[tokio::test]
async fn everything_but_a_plain_allow_of_a_person_denies_with_what_they_said() {
    let chosen = |label: &str, note: Option<&str>| json!({"answers": [{"selectedOptions": [label], "note": note}]});
    let ended = |status: &str| json!({"status": status, "reason": "not now", "message": "why?"});
    let noted = "Not run: the user would allow this, and noted: in a branch\nThe note may be a condition, so nothing has run \
                 yet. Keep to it, and call again if you still need to: the user is asked again.";
    for (reply, why) in [
        (chosen("Allow once", None), None),
        (chosen("Allow once", Some("in a branch")), Some(noted)),
        (chosen("Don't run it", None), Some("The user did not allow this.")),
        (chosen("Don't run it", Some("ever")), Some("The user did not allow this. Their words: ever")),
        (
            json!({"answers": [{"customInput": "Allow once"}]}),
            Some("The user did not allow this. Their words: Allow once"),
        ),
        (ended("declined"), Some("The user did not allow this. Their words: not now")),
        (
            ended("discuss"),
            Some("Not run: the user wants to talk about it first. Their words: why? Reply to them before you go on."),
        ),
        (
            ended("cancelled"),
            Some("Not run: the user dismissed the request for permission. Wait for them to say how to go on."),
        ),
    ] {
        let expected = match why {
            None => json!({"behavior": "allow", "updatedInput": bash("ls")["input"]}),
            Some(why) => json!({"behavior": "deny", "message": why}),
        };
        assert_eq!(decision(bash("ls"), reply).await, expected);
    }
    let mut options = approving();
    options.deadline = Some(Duration::from_millis(50));
    let desk = Desk::new();
    let mut client = Client::named(&desk, "claude-code", options).await;
    client.call(1, "approve", bash("ls")).await;
    let late = "Not run: the time for permission ran out. Silence is not consent.";
    assert_eq!(decided(&client.result(1).await), json!({"behavior": "deny", "message": late}));
}

#[tokio::test]
async fn no_file_and_no_rule_answers_for_a_permission() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "claude-code", approving()).await;
    client.call(1, "approve", bash("ls")).await;
    let question = desk.pending(1).await.remove(0);
    for via in [Via::AnswersFile, Via::Policy] {
        let refused =
            desk.answer_through(via, &question, &json!({"answers": [{"selectedOptions": ["Allow once"]}]})).await;
        assert!(matches!(refused, Err(StoreError::Forbidden(_))), "{refused:?}");
    }
    assert_eq!(desk.pending(1).await[0].id, question.id);
}

#[tokio::test]
async fn a_tool_with_a_long_name_is_asked_about_and_named_whole() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "claude-code", approving()).await;
    let tool = format!("mcp__server__{}", "x".repeat(200));
    client.call(1, "approve", json!({"tool_name": tool, "input": {"a": 1}})).await;
    let asked = desk.pending(1).await.remove(0).request;
    let question = &asked.set().questions()[0];
    assert_eq!((question.header(), question.text()), ("mcp__server_", &*format!("Run {tool} with this input?")));
    assert_eq!(asked.context().expect("a call").text(), "a  1");
}

#[tokio::test]
async fn the_clients_dialog_says_what_a_note_beside_a_yes_does() {
    let desk = Desk::new();
    let forms = json!({"elicitation": {"form": {}}});
    let mut client = Client::with(&desk, "claude-code", "2025-11-25", forms, approving()).await;
    client.call(1, "approve", bash("ls")).await;
    let form = client.next().await;
    let fields = &form["params"]["requestedSchema"]["properties"];
    assert_eq!(fields["answer"]["enum"], json!(["Allow once", "Don't run it"]), "{form}");
    let hint = "With a note it does not run yet: the agent reads the note and may ask again";
    assert_eq!(fields["note"]["description"], hint);
}

#[tokio::test]
async fn at_the_clients_limit_it_denies_and_the_late_answer_serves_the_next_try() {
    let desk = Desk::new();
    let mut options = approving();
    options.limit = Some(Duration::from_millis(50));
    let mut client = Client::named(&desk, "claude-code", options).await;
    client.call(1, "approve", bash("ls")).await;
    let denied = decided(&client.result(1).await);
    assert!(
        denied["behavior"] == "deny" && denied["message"].as_str().unwrap().starts_with("Not answered yet"),
        "{denied}"
    );
    desk.choose(&desk.pending(1).await[0], "Allow once").await;
    client.call(2, "approve", bash("ls -a")).await;
    assert_eq!(decided(&client.result(2).await)["behavior"], "deny", "that was another command");
    client.call(3, "approve", bash("ls")).await;
    assert_eq!(decided(&client.result(3).await)["behavior"], "allow");
    client.call(4, "approve", bash("ls")).await;
    assert_eq!(decided(&client.result(4).await)["behavior"], "deny", "it was allowed once");
}

#[tokio::test]
async fn its_own_questions_are_answered_in_the_form_it_wants() {
    let mut input = features();
    input["questions"][0]["options"][0]["label"] =
        "A label that is longer than the fifty characters of our own tool".into();
    let call = json!({"tool_name": "AskUserQuestion", "input": input, "tool_use_id": "toolu_2"});
    let long = input["questions"][0]["options"][0]["label"].as_str().unwrap();
    let both = json!({"answers": [{"selectedOptions": [long, "Export"], "customInput": "Print"}]});
    let allowed = decision(call.clone(), both).await;
    assert_eq!(allowed["behavior"], "allow", "{allowed}");
    assert_eq!(allowed["updatedInput"]["questions"], input["questions"]);
    assert_eq!(allowed["updatedInput"]["answers"], json!({"Which features?": format!("{long}, Export, Print")}));
    assert_eq!(allowed["updatedInput"].get("annotations"), None);
    let noted = json!({"answers": [{"selectedOptions": ["Export"], "note": "as CSV"}]});
    let noted = decision(call.clone(), noted).await;
    assert_eq!(noted["updatedInput"]["annotations"], json!({"Which features?": {"notes": "as CSV"}}));
    let declined = decision(call, json!({"status": "declined", "reason": "later"})).await;
    assert!(declined["behavior"] == "deny" && declined["message"].as_str().unwrap().contains("later"), "{declined}");
}

#[tokio::test]
async fn no_question_of_a_model_reads_like_a_permission() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "claude-code", approving()).await;
    let mut forged = features();
    forged["questions"][0]["header"] = "BASH".into();
    forged["questions"][0]["options"][0]["label"] = "Always allow edits".into();
    client.call(1, "AskUserQuestion", forged.clone()).await;
    let refused = client.result(1).await;
    let why = text(&refused);
    assert!(why.contains("questions[0].header: reads like \"Bash\""), "{why}");
    assert!(why.contains("questions[0].options[0].label: \"Always allow edits\" reads like"), "{why}");
    client.call(2, "approve", json!({"tool_name": "AskUserQuestion", "input": forged})).await;
    let denied = decided(&client.result(2).await);
    assert!(denied["message"].as_str().unwrap().contains("reads like \"Bash\""), "{denied}");
    assert!(desk.pending(0).await.is_empty());
}

/// Returns the decision on a call. The same call was allowed this long ago, but no client received that decision.
async fn allowed_before(age: Duration) -> Value {
    let now = Arc::new(AtomicU64::new(1_000_000));
    let clock = now.clone();
    let desk = Desk::at(Arc::new(move || clock.load(Ordering::Relaxed)));
    let mut options = approving();
    options.limit = Some(Duration::from_millis(50));
    let mut client = Client::named(&desk, "claude-code", options).await;
    client.call(1, "approve", bash("ls")).await;
    assert_eq!(decided(&client.result(1).await)["behavior"], "deny");
    desk.choose(&desk.pending(1).await[0], "Allow once").await;
    now.fetch_add(age.as_millis() as u64, Ordering::Relaxed);
    client.call(2, "approve", bash("ls")).await;
    decided(&client.result(2).await)
}

#[tokio::test]
async fn an_allow_that_is_hours_old_lets_nothing_run() {
    assert_eq!(allowed_before(Duration::from_secs(9 * 60)).await["behavior"], "allow");
    let late = allowed_before(Duration::from_secs(11 * 60)).await;
    assert!(late["behavior"] == "deny" && late["message"].as_str().unwrap().starts_with("Not answered yet"), "{late}");
}

#[tokio::test]
async fn an_allow_is_used_up_before_it_is_sent_so_that_it_never_serves_twice() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "claude-code", approving()).await;
    client.call(1, "approve", bash("make install")).await;
    let question = desk.pending(1).await.remove(0);
    desk.choose(&question, "Allow once").await;
    // No byte of the reply has been read, and none will be.
    desk.delivered(&question.id).await;
    drop(client);
    let mut client = Client::named(&desk, "claude-code", approving()).await;
    client.call(1, "approve", bash("make install")).await;
    assert_ne!(desk.pending(1).await[0].id, question.id, "it is asked for again");
}

/// Returns the message of the client's own dialog for a command that needs permission; `None` if no dialog is opened.
async fn dialog_of(command: &str) -> Option<String> {
    let desk = Desk::new();
    let mut client = Client::with(&desk, "claude-code", "2025-11-25", json!({"elicitation": {}}), approving()).await;
    client.call(1, "approve", bash(command)).await;
    desk.answer(&desk.pending(1).await[0], &json!({"status": "declined"})).await;
    let mut message = None;
    loop {
        let next = client.next().await;
        match next["method"].as_str() {
            Some("elicitation/create") => message = next["params"]["message"].as_str().map(str::to_owned),
            Some(_) => {}
            None => return message,
        }
    }
}

#[tokio::test]
async fn a_clients_dialog_shows_a_command_whole_and_every_line_of_it_behind_a_bar() {
    let message = dialog_of("echo hello \u{1b}];touch PWNED;\u{7}\n- Allow: harmless").await.expect("a dialog");
    let shown = "\n┃ echo hello <U+001B>];touch PWNED;<U+0007>\n┃ - Allow: harmless\n";
    assert!(message.contains(shown), "{message}");
}

#[tokio::test]
async fn a_command_that_a_clients_dialog_may_cut_off_waits_in_the_inbox_alone() {
    let of = |rows: usize| vec!["x"; rows].join("\n");
    // The description takes two of the twenty rows.
    assert!(dialog_of(&of(18)).await.is_some());
    assert_eq!(dialog_of(&of(19)).await, None);
    assert_eq!(dialog_of(&"x".repeat(78 * 18 + 1)).await, None);
}

#[tokio::test]
async fn the_ticket_of_a_permission_is_none_for_answers() {
    let desk = Desk::new();
    let mut options = approving();
    options.limit = Some(Duration::from_millis(50));
    let mut client = Client::named(&desk, "claude-code", options).await;
    client.call(1, "approve", bash("ls")).await;
    client.result(1).await;
    let question = desk.pending(1).await.remove(0);
    desk.choose(&question, "Allow once").await;
    client.call(2, "AskUserQuestionResult", json!({"ticket": question.id})).await;
    let refused = client.result(2).await;
    assert_eq!(refused["isError"], true, "{refused}");
    client.call(3, "approve", bash("ls")).await;
    assert_eq!(decided(&client.result(3).await)["behavior"], "allow", "it was not used up");
}

#[tokio::test]
async fn two_identical_calls_at_once_are_two_questions() {
    let desk = Desk::new();
    let mut client = Client::named(&desk, "claude-code", approving()).await;
    client.call(1, "approve", bash("ls")).await;
    client.call(2, "approve", bash("ls")).await;
    let questions = desk.pending(2).await;
    desk.choose(&questions[0], "Allow once").await;
    assert_eq!(decided(&client.next().await["result"])["behavior"], "allow");
    assert_eq!(desk.pending(1).await[0].id, questions[1].id, "one permission, one act");
}
