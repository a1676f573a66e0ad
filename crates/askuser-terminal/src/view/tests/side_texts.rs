//! The model's reason stands above the question. A key shows the whole reason, or the input of a tool.

use super::*;
use askuser::permission::Permission;
use askuser::{Context, Key, KeyCode, Purpose, Request, RequestKey, ToolUse};
use fixtures::database;

const SIZES: [Size; 3] = [(80, 24), (40, 12), (120, 40)];

const SHORT: &str = "I use **SQLite** in the tests already.";

fn long() -> String {
    let paragraph = "The retry loop sleeps for a fixed time, so all clients come back at once. ";
    format!("{}\n\n- I add jitter\n- The tests stay", paragraph.repeat(6))
}

fn asked(why: &str) -> Request {
    Request::new(RequestKey::new("s", "c"), database()).with_why(why.to_owned())
}

fn permission(why: &str) -> Request {
    let input = serde_json::json!({"command": "make test\nmake clean", "description": "Run the tests"});
    let call = ToolUse::new("Bash", input.as_object().unwrap().clone());
    let key = RequestKey::new("s", "c").for_purpose(Purpose::Permission);
    let set = Permission::to_use(&call).question_set().unwrap();
    Request::new(key, set).with_context(Context::ToolUse(call)).with_why(why.to_owned())
}

/// Returns the screen after each of these keys, on a terminal of this size.
fn screens(request: &Request, keys: &str, size: Size) -> String {
    let mut prompt = Prompt::of(request, Duration::ZERO);
    let mut shown = format!("{}x{}\n", size.0, size.1);
    for key in std::iter::once(None).chain(keys.chars().map(Some)) {
        if let Some(key) = key {
            shown.push_str(&format!("-- {key}\n"));
            let key = if key == '<' { KeyCode::Esc } else { KeyCode::Char(key) };
            prompt.update(Event::Key(Key::plain(key)), Duration::from_secs(9));
        }
        let theme = Theme::default();
        let view = View::new(&prompt, request.context(), &theme, PromptPhase::Asking, size.0 - 1, size.1 - 1);
        shown.extend(rows(&drawn(&view)).iter().map(|row| format!("{row}\n")));
        let viewport = view.viewport.clone();
        prompt.look(viewport);
    }
    shown
}

#[test]
fn a_short_reason_is_whole_and_its_key_is_not_named() {
    let shown: Vec<String> = SIZES.map(|size| screens(&asked(SHORT), "", size)).to_vec();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_long_reason_opens_while_the_question_stays() {
    let shown: Vec<String> = SIZES.map(|size| screens(&asked(&long()), "o<", size)).to_vec();
    for screen in &shown {
        assert_eq!(screen.matches("Which database").count(), 3, "{screen}");
    }
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn the_input_of_a_tool_opens_in_the_place_of_its_rendering() {
    let shown: Vec<String> = SIZES.map(|size| screens(&permission(&long()), "vo<", size)).to_vec();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn reading_another_text_is_not_reading_what_is_agreed_to() {
    let command = "x\n".repeat(200);
    let call = ToolUse::new("Bash", serde_json::json!({"command": command}).as_object().unwrap().clone());
    let request = permission(SHORT).with_context(Context::ToolUse(call));
    let mut prompt = Prompt::of(&request, Duration::ZERO);
    let mut press = |key: &str| {
        for key in key.chars() {
            let _ = prompt.update(Event::Key(Key::plain(KeyCode::Char(key))), Duration::from_secs(9));
            let view = View::new(&prompt, request.context(), &Theme::default(), PromptPhase::Asking, 79, 23);
            let viewport = view.viewport.clone();
            prompt.look(viewport);
        }
        prompt.is_unread()
    };
    assert!(press("o"), "the reason is whole on the screen");
    assert!(press("v"), "the input is whole on the screen");
    assert!(press("   "), "some of the command was not drawn");
    assert!(!press(&" ".repeat(40)));
}
