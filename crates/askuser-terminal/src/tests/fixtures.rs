//! Test data of this crate: the proposals' questions, key scripts, hostile text and events.

use askuser::input::QuestionInput;
use askuser::prompt::{Event, PromptOptions};
use askuser::{Key, KeyCode, Limits, Mods, QuestionSet, Rules};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

/// The options of a prompt without a key delay.
pub(crate) const ARMED: PromptOptions = PromptOptions { key_delay: Duration::ZERO, deadline: None };

// ---- questions ----

pub(crate) fn set(json: &str) -> QuestionSet {
    QuestionSet::from_json(json, &Rules::default()).expect("a valid input")
}

pub(crate) fn database() -> QuestionSet {
    set(include_str!("../../examples/database.json"))
}

pub(crate) fn features() -> QuestionSet {
    set(include_str!("../../examples/features.json"))
}

pub(crate) fn authentication() -> QuestionSet {
    set(include_str!("../../examples/authentication.json"))
}

pub(crate) fn package_manager() -> QuestionSet {
    set(include_str!("../../examples/package-manager.json"))
}

/// Returns a yes-or-no question, as `askuser confirm` asks it.
pub(crate) fn confirm() -> QuestionSet {
    let question = QuestionInput::new("Deploy?", "Confirm").option("Yes", "").option("No", "");
    QuestionSet::new([question], &Rules::confirm()).expect("a valid question")
}

pub(crate) fn input() -> QuestionSet {
    QuestionSet::new([QuestionInput::new("Name?", "Input")], &Rules::input()).expect("a valid question")
}

pub(crate) fn pick(count: usize, multi_select: bool) -> QuestionSet {
    let question = QuestionInput::new("Which item?", "Pick");
    let question = (1..=count).fold(question, |question, i| question.option(format!("item {i}"), ""));
    let question = if multi_select { question.multi_select() } else { question };
    QuestionSet::new([question], &Rules::pick()).expect("a valid question")
}

/// Returns the input of a question whose options have a label and a description each.
pub(crate) fn question(text: &str, header: &str, multi_select: bool, options: &[(&str, &str)]) -> Value {
    let options: Vec<Value> = options.iter().map(|(l, d)| json!({"label": l, "description": d})).collect();
    json!({"question": text, "header": header, "options": options, "multiSelect": multi_select})
}

pub(crate) fn set_of(questions: &[Value]) -> QuestionSet {
    // These limits permit empty descriptions, as an embedding program may.
    let rules = Rules::strict().with_limits(Limits::WITH_BLANK_DESCRIPTIONS).expect("limits with room for a question");
    QuestionSet::from_json(&json!({"questions": questions}).to_string(), &rules).expect("a valid input")
}

/// Returns a question of 2,000 characters with four descriptions of 200. They are the longest that a model may send,
/// and longer than a screen.
pub(crate) fn long() -> QuestionSet {
    let description = |name: &str| numbered(name, 200);
    let a = description("a");
    let b = description("b");
    let c = description("c");
    let d = description("d");
    let options = [("First", a.as_str()), ("Second", b.as_str()), ("Third", c.as_str()), ("Fourth", d.as_str())];
    set_of(&[question(&numbered("q", 2_000), "Long", false, &options)])
}

/// Returns distinct words such as `q0 q1 q2 …`, with exactly this number of characters.
pub(crate) fn numbered(name: &str, chars: usize) -> String {
    let mut text = String::new();
    for i in 0.. {
        let word = format!("{name}{i} ");
        if text.len() + word.len() > chars {
            break;
        }
        text.push_str(&word);
    }
    format!("{:.<chars$}", text.trim_end())
}

// ---- keys ----

/// Parses the events of a script: keys such as `<down>`, pastes such as `<paste:…>`, and characters.
pub(crate) fn events(script: &str) -> Vec<Event> {
    let mut events = Vec::new();
    let mut rest = script;
    while let Some(c) = rest.chars().next() {
        let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        events.push(match named {
            Some((name, _)) if name.starts_with("paste:") => Event::Paste(name["paste:".len()..].to_owned()),
            Some((name, _)) => Event::Key(key(name)),
            None => Event::Key(KeyCode::Char(c).into()),
        });
        rest = named.map_or(&rest[c.len_utf8()..], |(_, rest)| rest);
    }
    events
}

fn key(name: &str) -> Key {
    if let Some(rest) = name.strip_prefix("a-") {
        return Key { mods: Mods::ALT, ..key(rest) };
    }
    match name {
        "enter" => KeyCode::Enter.into(),
        "esc" => KeyCode::Esc.into(),
        "tab" => KeyCode::Tab.into(),
        "backtab" => KeyCode::BackTab.into(),
        "up" => KeyCode::Up.into(),
        "down" => KeyCode::Down.into(),
        "left" => KeyCode::Left.into(),
        "right" => KeyCode::Right.into(),
        "home" => KeyCode::Home.into(),
        "end" => KeyCode::End.into(),
        "pgup" => KeyCode::PageUp.into(),
        "pgdn" => KeyCode::PageDown.into(),
        "space" => KeyCode::Char(' ').into(),
        _ => panic!("<{name}> is no key"),
    }
}

/// Returns a single-select question whose options have previews.
pub(crate) fn layouts() -> QuestionSet {
    let grid = "A grid of **cards**:\n\n```\n+------+ +------+\n| card | | card |\n+------+ +------+\n```";
    let table = "```diff\n--- a/list.html\n+++ b/list.html\n@@ -1,2 +1,2 @@\n <main>\n-  <ul class=\"cards\">\n+  <table>\n```\n\n\
        - sorts by *column*\n- prints well\n- scrolls\n- and so on";
    let option = |label: &str, description: &str, preview: Value| json!({"label": label, "description": description, "preview": preview});
    let mut question = question("Which layout for the list?", "Layout", false, &[]);
    question["options"] = json!([
        option("Grid", "Cards beside each other", json!(grid)),
        option("Table", "One row each, as in a spreadsheet", json!(table)),
        option("Plain", "Just text", Value::Null),
    ]);
    set_of(&[question])
}

// ---- anything ----

/// Generates text that a model or a clipboard might contain: escape sequences, bidi, joiners, wide and combining
/// characters.
pub(crate) fn nasty_text() -> impl Strategy<Value = String> {
    const PIECES: &str = "\x1b[31m|\x1b]0;t\x07|\u{9b}2J|\r|\n|\t|\x08|\u{2028}| | |a|bc |word |#|1|\u{20e3}|\u{fe0f}|\
        \u{200b}|\u{200c}|\u{200d}|\u{202e}|\u{2066}|\u{feff}|\u{ad}|\u{301}|\u{489}|👩|👩\u{200d}👩\u{200d}👩|❤|🏽|🏴|\
        \u{e0067}|🇩|🇪|क\u{94d}क\u{94d}क\u{94d}क|\u{93e}|\u{1100}|\u{1161}|\u{11a8}|각|می\u{200c}خ|שלום |語|日本|\u{3099}|\
        ｶﾞ|ﾟ|\u{e33}|\u{ffff}|\u{e000}|\u{2800}|\u{3000}|\u{a0}|longwordwithoutanybreakinsideit|\u{17d8}|─|█";
    let piece = prop_oneof![
        12 => prop::sample::select(PIECES.split('|').collect::<Vec<_>>()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Generates a valid set of hostile questions.
pub(crate) fn nasty_set() -> impl Strategy<Value = QuestionSet> {
    let text = |max: usize| nasty_text().prop_map(move |text| text.chars().take(max).collect::<String>());
    let option = (text(48), text(199));
    let question = (text(400), text(11), any::<bool>(), prop::collection::vec(option, 2..=4));
    prop::collection::vec(question, 1..=4).prop_map(|questions| {
        let questions = questions.into_iter().enumerate().map(|(i, (text, header, multi, options))| {
            // A digit in each text ensures that it is neither blank nor a duplicate.
            let named = |(j, (label, description)): (usize, (String, String))| {
                json!({"label": format!("{j}{label}"), "description": format!("{description}.")})
            };
            let options: Vec<Value> = options.into_iter().enumerate().map(named).collect();
            json!({"question": format!("{i}{text}"), "header": format!("{i}{header}"), "options": options,
                "multiSelect": multi})
        });
        set_of(&questions.collect::<Vec<_>>()[..])
    })
}

/// Generates any event except Ctrl-C.
pub(crate) fn any_event() -> impl Strategy<Value = Event> {
    use KeyCode::*;
    let codes = vec![
        Enter,
        Esc,
        Tab,
        BackTab,
        Backspace,
        Delete,
        Up,
        Down,
        Left,
        Right,
        Home,
        End,
        PageUp,
        PageDown,
        Char(' '),
        Char('1'),
        Char('2'),
        Char('5'),
        Char('9'),
        Char('n'),
        Char('c'),
        Char('d'),
        Char('?'),
        Char('j'),
        Char('k'),
        Char('x'),
        Char('語'),
        Char('\u{301}'),
    ];
    let plain = prop::sample::select(codes).prop_map(Key::plain);
    let modified = prop::sample::select(vec![
        Key::alt(Enter),
        Key::ctrl('j'),
        Key::ctrl('g'),
        Key::ctrl('w'),
        Key::ctrl('u'),
        Key::ctrl('a'),
        Key::alt(Left),
    ]);
    prop_oneof![
        20 => plain.prop_map(Event::Key),
        3 => modified.prop_map(Event::Key),
        2 => nasty_text().prop_map(Event::Paste),
        1 => Just(Event::Tick),
    ]
}
