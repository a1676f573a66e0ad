//! Bytes as what a person does at a prompt: nothing breaks it, and whatever it ends with is admitted by its questions.
#![no_main]

use askuser::prompt::{Effect, Event, InputMode, PromptOptions, Viewport, Window};
use askuser::{Key, KeyCode, Mods, Outcome, Prompt, QuestionSet, Rules, Status, Via, report};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use std::time::Duration;

/// A single-select question; a multi-select one; one of each, in hostile words.
static SETS: LazyLock<[QuestionSet; 3]> = LazyLock::new(|| {
    let a = r#"{"question":"Which database?","header":"Database","multiSelect":false,"options":[
        {"label":"PostgreSQL (Recommended)","description":"Relational"},{"label":"SQLite","description":"Embedded"}]}"#;
    let b = r#"{"question":"Which features?","header":"Features","multiSelect":true,"options":[
        {"label":"a, b","description":"d"},{"label":"c","description":"d"},{"label":"d","description":"d"}]}"#;
    let c = r#"{"question":"\u001b[2JWhich\r\n?","header":"\u202ex","multiSelect":true,"options":[
        {"label":"a\u001b]0;t\u0007\nb","description":"d"},{"label":"e\u0301\u0301","description":"d"}]}"#;
    let set = |questions: &str| QuestionSet::from_json(&format!("{{\"questions\":[{questions}]}}"), &Rules::default());
    [a.to_owned(), b.to_owned(), [a, c, b].join(",")].map(|questions| set(&questions).expect("a valid input"))
});

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.iter().copied();
    let mut byte = || bytes.next();
    let Some(first) = byte() else { return };
    let settings = PromptOptions {
        key_delay: Duration::from_millis(if first & 4 == 0 { 0 } else { 250 }),
        deadline: (first & 8 != 0).then_some(Duration::from_secs(2)),
    };
    let mut prompt = Prompt::new(SETS[usize::from(first & 3) % SETS.len()].clone(), settings);
    let mut now = Duration::ZERO;
    while let Some(code) = byte() {
        let event = match code {
            0xf0 => Event::Paste(text(&mut byte)),
            0xf1 => Event::Edited(text(&mut byte)),
            0xf2 => {
                now += Duration::from_millis(10 * u64::from(byte().unwrap_or(0)));
                Event::Tick
            }
            0xf3 => {
                let [offset, height, total, seen] = [(); 4].map(|()| usize::from(byte().unwrap_or(0)));
                prompt.look(Viewport { page: Window { offset, height, total }, rows: (0..6).map(|row| if seen >> row & 1 == 1 { offset..offset + 1 } else { 90..99 }).collect(), ..Viewport::default() });
                continue;
            }
            _ => Event::Key(key(code)),
        };
        match prompt.update(event, now) {
            Effect::Continue | Effect::Edit(_) => check(&prompt),
            Effect::PutAside(_) | Effect::Interrupt => return,
            Effect::Finish(outcome) => return check_outcome(prompt.set(), &outcome),
        }
    }
});

fn key(byte: u8) -> Key {
    use KeyCode::*;
    let special =
        [Enter, Esc, Tab, BackTab, Backspace, Delete, Up, Down, Left, Right, Home, End, PageUp, PageDown, Char('é')];
    match byte {
        1..=26 => Key::ctrl((b'a' + byte - 1) as char),
        b' '..=b'~' => Key::plain(Char(byte as char)),
        0x80..=0xbf => {
            let code = special[usize::from(byte & 0xf) % special.len()];
            Key { code, mods: Mods { ctrl: byte & 0x10 != 0, alt: byte & 0x20 != 0, shift: false } }
        }
        0xc0..=0xcf => Key::plain(Char(
            ['\u{301}', '\u{200d}', '👩', '語', '\u{1b}', '\u{202e}', 'ی', '\n'][usize::from(byte & 7)],
        )),
        _ => Key::alt(Char((byte & 0x7f) as char)),
    }
}

/// A text of up to 255 bytes, a few of them many times over.
fn text(byte: &mut impl FnMut() -> Option<u8>) -> String {
    let length = byte().unwrap_or(0);
    let bytes: Vec<u8> = (0..length).map_while(|_| byte()).collect();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if length > 250 { text.repeat(9) } else { text }
}

fn check(prompt: &Prompt) {
    assert!(prompt.set().admits(&prompt.answers()));
    assert_eq!(prompt.text().is_some(), matches!(prompt.mode(), InputMode::Typing(_)));
    assert!(prompt.hints().next().is_some());
    if let Some((_, entry)) = prompt.current() {
        assert!(entry.focus <= entry.other_row());
    }
}

fn check_outcome(set: &QuestionSet, outcome: &Outcome) {
    assert!(set.admits(outcome.answers()));
    let answered = *outcome.status() == Status::Answered;
    assert!(!answered || outcome.answers().len() == set.questions().len());
    let made_again = outcome.clone().with_answers(set, outcome.answers().to_vec());
    assert_eq!(made_again.as_ref(), Ok(outcome));
    let resolution = outcome.clone().through(Via::Terminal);
    assert_eq!(report::prose(set, &resolution).starts_with("User answered"), answered);
}
