//! Tests `--output stream-json` as a front end uses it. A front end may rely on `docs/agent-protocol.md`.

use crate::place::{Driver, Place, ask, one_question};
use rustix::process::Signal;
use serde_json::{Value, json};

const STREAM: [&str; 2] = ["--output", "stream-json"];

fn start(place: &Place, script: &Value) -> Driver {
    Driver::start(place.agent(script, &["-p", "hi"]).args(STREAM))
}

#[test]
fn the_events_are_those_of_the_proposals_with_their_fields() {
    let place = Place::new();
    let mut driver = start(&place, &one_question());
    let mut events = Vec::new();
    while let Some(event) = driver.next() {
        if event["type"] == "ask_user" {
            driver.pick(&event["id"], "SQLite");
        }
        if !["session", "user", "text_delta", "text_end", "usage", "context"].contains(&event["type"].as_str().unwrap())
        {
            events.push(event);
        }
    }
    assert_eq!(driver.finish(), 0);
    let ended = events.remove(3);
    let request = events[2].as_object_mut().unwrap().remove("request").expect("the request");
    assert_eq!(request["key"]["call"], "call_1_1");
    let input = ask("Which database?", "Database", &["PostgreSQL (Recommended)", "SQLite"])["input"].clone();
    let prose = "User answered the following questions:\n\n1. Database (Which database?)\n   Selected: SQLite\n\nProceeding \
                 with user selections.";
    let answer = json!({"question": "Which database?", "header": "Database", "selectedOptions": ["SQLite"]});
    let details = json!({"status": "answered", "answers": [answer], "via": "front-end"});
    assert_eq!(
        ended,
        json!({"type": "question_ended", "id": "call_1_1", "key": request["key"], "outcome": details}),
        "beside the proposals"
    );
    assert_eq!(
        events,
        [
            json!({"type": "text", "text": "I ask."}),
            json!({"type": "tool_start", "id": "call_1_1", "name": "AskUserQuestion", "input": input}),
            json!({"type": "ask_user", "id": "call_1_1", "questions": input["questions"]}),
            json!({"type": "tool_result", "id": "call_1_1", "name": "AskUserQuestion", "result": {
                "success": true, "output": prose,
                "metadata": {"title": "AskUserQuestion", "subtitle": "1 question", "details": details},
            }}),
            json!({"type": "text", "text": "SQLite it is."}),
            json!({"type": "done", "text": "SQLite it is."}),
        ]
    );
}

#[test]
fn an_answer_that_does_not_fit_is_rejected_and_the_question_still_waits() {
    let place = Place::new();
    let mut driver = start(&place, &one_question());
    let id = driver.until("ask_user")["id"].clone();
    driver.pick(&id, "Oracle");
    let message =
        "answers[0].selectedOptions[0]: \"Oracle\" is not an option, must be one of \"PostgreSQL\", \"SQLite\"";
    assert_eq!(driver.until("rejected"), json!({"type": "rejected", "id": id, "error": {"message": message}}));
    driver.send(&json!({"type": "answer", "id": id, "answers": [{"customInput": "a shoe box"}]}));
    assert_eq!(driver.until("done")["text"], "Something else it is.");
    assert_eq!(driver.finish(), 0);
}

#[test]
fn refusals_have_their_exit_code_and_the_end_of_the_input_is_nobody() {
    for (reply, code) in [
        (json!({"status": "cancelled"}), 1),
        (json!({"status": "declined", "reason": "not now"}), 1),
        (json!({"status": "discuss", "message": "why?"}), 1),
    ] {
        let place = Place::new();
        let mut driver = start(&place, &one_question());
        let mut message = reply;
        message["type"] = "answer".into();
        message["id"] = driver.until("ask_user")["id"].clone();
        driver.send(&message);
        assert_eq!(driver.until("done")["text"], "Nothing was decided.");
        assert_eq!(driver.finish(), code, "{message}");
    }
    let place = Place::new();
    let mut driver = start(&place, &one_question());
    driver.until("ask_user");
    driver.hang_up();
    let result = driver.until("tool_result");
    assert_eq!(result["result"]["metadata"]["details"]["status"], "unavailable");
    assert_eq!(driver.finish(), 3);
}

#[test]
fn a_front_end_can_hold_a_whole_conversation() {
    let place = Place::new();
    let script = json!({"turns": [{"if": "one", "text": "First."}, {"if": "two", "text": "Second."}]});
    let mut driver = Driver::start(place.agent(&script, &[]).args(STREAM));
    for (words, reply) in [("one", "First."), ("two", "Second.")] {
        driver.send(&json!({"type": "user", "text": words}));
        assert_eq!(driver.until("user")["text"], words);
        assert_eq!(driver.until("done")["text"], reply);
    }
    assert_eq!(driver.finish(), 0);
}

#[test]
fn an_interrupt_withdraws_the_question_and_ends_the_turn() {
    let place = Place::new();
    let mut driver = start(&place, &one_question());
    driver.until("ask_user");
    driver.send(&json!({"type": "interrupt"}));
    assert_eq!(driver.until("error")["error"], json!({"kind": "interrupted", "message": "interrupted"}));
    assert_eq!(driver.exit(), 130);
    let mut driver = start(&place, &one_question());
    driver.until("ask_user");
    driver.signal(Signal::INT);
    assert_eq!(driver.until("error")["error"]["kind"], "interrupted");
    assert_eq!(driver.exit(), 130);
}

#[test]
fn told_to_end_it_leaves_the_question_open_for_the_next_time() {
    let place = Place::new();
    let mut driver = start(&place, &one_question());
    driver.until("ask_user");
    driver.signal(Signal::TERM);
    assert_eq!(driver.until("error")["error"], json!({"kind": "signal", "message": "terminated"}));
    assert_eq!(driver.exit(), 143);
    let mut driver = Driver::start(place.agent(&one_question(), &["--continue"]).args(STREAM));
    let id = driver.until("ask_user")["id"].clone();
    driver.pick(&id, "PostgreSQL");
    assert_eq!(driver.until("done")["text"], "PostgreSQL it is.");
    assert_eq!(driver.finish(), 0);
}

#[test]
fn a_subagents_question_has_an_id_of_its_own_and_its_origin() {
    let place = Place::new();
    let task = json!({"name": "Task", "input": {"description": "audit deps", "prompt": "Look."}});
    let script = json!({
        "turns": [{"calls": [task]}, {"text": "Audited."}],
        "tasks": {"audit deps": [{"calls": [ask("Drop it?", "Drop", &["Yes", "No"])]}, {"text": "Kept."}]},
    });
    let mut driver = start(&place, &script);
    let event = loop {
        let event = driver.until("task");
        if event["event"]["type"] == "ask_user" {
            break event;
        }
    };
    assert_eq!((&event["id"], &event["description"]), (&json!("call_1_1"), &json!("audit deps")));
    assert_eq!(event["event"]["request"]["key"]["tasks"], json!(["call_1_1"]));
    driver.pick(&event["event"]["id"], "No");
    assert_eq!(driver.until("tool_result")["result"]["output"], "Kept.");
    assert_eq!(driver.finish(), 0);
}

#[test]
fn one_session_is_not_run_twice_at_once() {
    let place = Place::new();
    let mut driver = start(&place, &one_question());
    driver.until("ask_user");
    let mut second = place.agent(&one_question(), &["--continue", "-p", "me too"]);
    let (code, _, stderr) = crate::place::output(&mut second);
    assert_eq!(code, 2);
    assert!(stderr.contains("is open in another process"), "{stderr}");
    driver.kill();
}

#[test]
fn the_users_hook_hears_of_a_question() {
    let place = Place::new();
    let heard = place.folder().join("heard");
    let hook = format!(
        "cat > {0}.tmp; echo \"$ASKUSER_HEADER: $ASKUSER_QUESTION\" >> {0}.tmp; mv {0}.tmp {0}",
        heard.display()
    );
    let mut driver = Driver::start(place.agent(&one_question(), &["-p", "hi", "--on-question", &hook]).args(STREAM));
    let id = driver.until("ask_user")["id"].clone();
    while !heard.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let text = std::fs::read_to_string(heard).unwrap();
    let (question, variables) = text.split_once('\n').unwrap();
    let question: Value = serde_json::from_str(question).unwrap();
    assert_eq!(question["questions"][0]["header"], "Database");
    assert_eq!(variables, "Database: Which database?\n");
    driver.pick(&id, "SQLite");
    assert_eq!(driver.finish(), 0);
}

#[test]
fn an_answer_that_names_no_question_is_never_kept_for_one_that_nobody_has_seen() {
    let place = Place::new();
    let bash = |command: &str| json!({"name": "Bash", "input": {"command": command}});
    let script = json!({"turns": [{"calls": [bash("echo harmless"), bash("touch harmful")]}, {"text": "Done."}]});
    let mut driver = start(&place, &script);
    driver.until("ask_user");
    let allow = |id: Value| json!({"type": "answer", "id": id, "answers": [{"selectedOptions": ["Allow once"]}]});
    for (id, message) in
        [(Value::Null, "id: missing, must be the id of an ask_user"), (json!(5), "id: 5, must be a string")]
    {
        driver.send(&allow(id));
        assert_eq!(driver.until("rejected")["error"]["message"], message);
    }
    driver.hang_up();
    assert_eq!(driver.exit(), 3);
    assert!(!place.folder().join("harmful").exists());
}

#[test]
fn signals_end_it_between_turns_and_while_nobody_reads() {
    let place = Place::new();
    let idle = json!({"turns": [{"text": "Hello."}]});
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut driver = Driver::start(place.agent(&idle, &[]).args(STREAM));
        driver.until("session");
        driver.signal(signal);
        assert_eq!(driver.exit(), if signal == Signal::INT { 130 } else { 143 });
    }
    let flood = json!({"turns": [{"text": "word ".repeat(40_000)}]});
    let mut driver = start(&place, &flood);
    driver.until("session");
    driver.leave_unread();
    driver.signal(Signal::TERM);
    assert_eq!(driver.wait_unread(), 143);
}

#[test]
fn told_to_end_while_the_input_is_closed_it_leaves_the_question_open() {
    let place = Place::new();
    for _ in 0..10 {
        let mut driver = start(&place, &one_question());
        driver.until("ask_user");
        driver.signal(Signal::TERM);
        driver.hang_up();
        assert_eq!(driver.exit(), 143);
        let entries = Place::entries(place.sessions().last().unwrap());
        assert_eq!(entries.last().unwrap()["type"], "asked");
    }
}

#[test]
fn a_question_that_a_person_has_seen_is_not_settled_by_a_run_without_a_person() {
    let place = Place::new();
    let mut driver = start(&place, &one_question());
    driver.until("ask_user");
    driver.kill();
    for _ in 0..2 {
        let (code, _, stderr) =
            crate::place::output(&mut place.agent(&one_question(), &["--continue", "--output", "text"]));
        assert_eq!(code, 3);
        assert!(stderr.contains("a question still waits for its answer"), "{stderr}");
    }
    // Another message does not answer the question either.
    let (code, stdout, _) = crate::place::output(&mut place.agent(&one_question(), &["--continue", "-p", "else"]));
    assert_eq!((code, stdout.as_str()), (3, ""));
    let mut driver = Driver::start(place.agent(&one_question(), &["--continue"]).args(STREAM));
    let id = driver.until("ask_user")["id"].clone();
    driver.pick(&id, "SQLite");
    assert_eq!(driver.until("done")["text"], "SQLite it is.");
    // A second answer is rejected at once.
    driver.pick(&id, "PostgreSQL");
    assert_eq!(driver.until("rejected")["error"]["message"], "this question is over");
    assert_eq!(driver.finish(), 0);
}

#[test]
fn an_input_is_mended_if_the_user_wants_that() {
    let place = Place::new();
    let script =
        json!({"turns": [{"calls": [ask("Which?", "A header of 22 chars.", &["A", "B"])]}, {"text": "Done."}]});
    let mut driver = Driver::start(place.agent(&script, &["-p", "hi", "--repair"]).args(STREAM));
    let id = driver.until("ask_user")["id"].clone();
    driver.pick(&id, "A");
    assert_eq!(driver.finish(), 0);
}

#[test]
fn a_line_too_long_is_passed_over_and_the_next_one_counts() {
    let place = Place::new();
    let mut driver = start(&place, &one_question());
    let id = driver.until("ask_user")["id"].clone();
    driver.send(&json!({"type": "user", "text": "x".repeat(2 << 20)}));
    assert_eq!(driver.until("rejected")["error"]["message"], "a line is longer than 1048576 bytes");
    driver.pick(&id, "SQLite");
    assert_eq!(driver.until("done")["text"], "SQLite it is.");
    assert_eq!(driver.finish(), 0);
}

#[test]
fn the_examples_run_to_their_end() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agent");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        count += 1;
        let path = entry.unwrap().path();
        let mut script: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        script["pace_ms"] = 0.into();
        let place = Place::new();
        let mut driver = Driver::start(place.agent(&script, &["--plan"]).args(STREAM));
        let mut asked = 0;
        let last = loop {
            let event = driver.next().unwrap_or_else(|| panic!("{} ended early", path.display()));
            let inner = if event["type"] == "task" { &event["event"] } else { &event };
            if inner["type"] == "ask_user" {
                asked += 1;
                let questions = inner["questions"].as_array().unwrap();
                let first = |question: &Value| json!({"selectedOptions": [question["options"][0]["label"]]});
                let answers: Vec<Value> = questions.iter().map(first).collect();
                driver.send(&json!({"type": "answer", "id": inner["id"], "answers": answers}));
            }
            if ["done", "error"].contains(&event["type"].as_str().unwrap()) {
                break event;
            }
        };
        assert_eq!(last["type"], "done", "{}: {last}", path.display());
        assert!(asked > 0, "{} asks nothing", path.display());
        assert_eq!(driver.finish(), 0, "{}", path.display());
    }
    assert!(count >= 2);
}

#[test]
fn a_front_end_that_resumes_a_session_is_told_what_was_before() {
    let place = Place::new();
    let mut driver = start(&place, &one_question());
    let id = driver.until("ask_user")["id"].clone();
    driver.pick(&id, "SQLite");
    assert_eq!(driver.finish(), 0);
    let mut driver = Driver::start(place.agent(&one_question(), &["--continue"]).args(STREAM));
    let mut replayed = Vec::new();
    driver.until("session");
    driver.hang_up();
    while let Some(event) = driver.next() {
        assert_eq!(event["type"], "replay", "nothing is left to do: {event}");
        replayed.push(event["event"].clone());
    }
    assert_eq!(driver.exit(), 0);
    let kinds: Vec<&str> = replayed.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user", "text", "tool_start", "usage", "tool_result", "text", "usage"]);
    assert_eq!(replayed[0]["text"], "hi");
    assert_eq!(replayed[4]["result"]["metadata"]["details"]["answers"][0]["selectedOptions"], json!(["SQLite"]));
}

#[test]
fn a_later_message_does_not_end_a_turn_that_was_continued() {
    let place = Place::new();
    let bash = |command: &str| json!({"name": "Bash", "input": {"command": command}});
    let script = json!({"turns": [
        {"calls": [bash("touch began; while [ ! -e go ]; do sleep 0.05; done")]},
        {"calls": [bash("touch second; while [ ! -e further ]; do sleep 0.05; done")]},
        {"if": "also this", "text": "Heard."}, {"text": "Not heard."},
    ]});
    let mut driver = Driver::start(place.agent(&script, &["-p", "hi", "--permissions", "allow"]).args(STREAM));
    driver.until("tool_start");
    while !place.folder().join("began").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    driver.kill();
    std::fs::write(place.folder().join("go"), "").unwrap();
    let mut driver = Driver::start(place.agent(&script, &["--continue", "--permissions", "allow"]).args(STREAM));
    driver.until("cut_off");
    // The command of the second response runs before the message arrives.
    while !place.folder().join("second").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    driver.send(&json!({"type": "user", "text": "also this"}));
    while !Place::entries(&place.sessions()[0])
        .iter()
        .any(|entry| entry["type"] == "said" && entry["text"] == "also this")
    {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::fs::write(place.folder().join("further"), "").unwrap();
    assert_eq!(driver.until("user")["text"], "also this");
    assert_eq!(driver.until("done")["text"], "Heard.");
    assert_eq!(driver.finish(), 0);
}

#[test]
fn a_message_in_a_turn_is_heard_between_two_calls() {
    let place = Place::new();
    let bash = |command: &str| json!({"name": "Bash", "input": {"command": command}});
    let calls = json!([bash("while [ ! -e go ]; do sleep 0.05; done"), bash("touch second")]);
    let script = json!({"turns": [{"calls": calls}, {"if": "only one", "text": "Heard."}, {"text": "Not heard."}]});
    let mut driver = Driver::start(place.agent(&script, &["-p", "hi", "--permissions", "allow"]).args(STREAM));
    driver.until("tool_start");
    driver.send(&json!({"type": "user", "text": "only one"}));
    driver.send(&json!({"type": "nothing"}));
    // The process has read both lines.
    driver.until("rejected");
    std::fs::write(place.folder().join("go"), "").unwrap();
    assert_eq!(driver.until("user")["text"], "only one");
    assert_eq!(driver.until("done")["text"], "Heard.");
    assert_eq!(driver.finish(), 0);
    assert!(!place.folder().join("second").exists());
}
