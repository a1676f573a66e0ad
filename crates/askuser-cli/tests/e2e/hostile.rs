//! Text from a model is untrusted. The terminal receives only the prompt's own sequences.

use crate::terminal::{Ended, Select, Stage, input};
use serde_json::json;

/// Asks a question with a text in every field that is long enough for it, and selects the first option. Returns the
/// frame and the end.
#[track_caller]
fn ask(header: &str, question: &str, label: &str, description: &str) -> (String, Ended) {
    let options = [(label, description), ("Plain", "Nothing special")];
    let stage = Stage::new().file("q.json", input(question, header, &options, Select::Single));
    let mut terminal = stage.ask(&["q.json"]);
    terminal.wait_for("? keys");
    terminal.wait_for_rest(1);
    let frame = terminal.screen();
    terminal.keys("<enter>");
    (frame, terminal.finish())
}

/// Returns the parts of an output that are neither printable text nor a sequence of the prompt.
fn foreign(raw: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(raw).expect("UTF-8");
    let mut foreign = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\x1b' if rest.as_str().starts_with('[') => {
                let sequence: String = rest.as_str()[1..].chars().take_while(|c| !c.is_ascii_alphabetic()).collect();
                let end = rest.as_str()[1 + sequence.len()..].chars().next();
                let known = match end {
                    Some('A' | 'B' | 'C' | 'D' | 'F' | 'G' | 'K' | 'J') => sequence.chars().all(|c| c.is_ascii_digit()),
                    Some('m') => sequence.chars().all(|c| c.is_ascii_digit() || c == ';'),
                    Some('h' | 'l') => ["?7", "?25", "?2004"].contains(&sequence.as_str()),
                    _ => false,
                };
                if !known {
                    foreign.push(format!("CSI {sequence}{end:?}"));
                }
                (0..sequence.chars().count() + 2).for_each(|_| _ = rest.next());
            }
            '\r' | '\n' | '\x08' => {}
            _ if c.is_control() => foreign.push(format!("{c:?}")),
            // These are direction marks, invisible operators and joiners, the byte order mark, and tags.
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => {
                foreign.push(format!("{c:?}"));
            }
            '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}' => foreign.push(format!("{c:?}")),
            _ => {}
        }
    }
    foreign
}

/// Checks that a hostile text in the question, a label and a description looks exactly like this clean text. The result
/// contains it verbatim.
#[track_caller]
fn check(hostile: &str, clean: &str) {
    let question = format!("Go{hostile}?");
    let label = format!("L{hostile}");
    let (frame, ended) = ask("Head", &question, &label, &format!("D{hostile}."));
    let (expected, _) = ask("Head", &format!("Go{clean}?"), &format!("L{clean}"), &format!("D{clean}."));
    assert_eq!(frame, expected);
    check_ended(&ended, &question, &label);
}

/// Checks that a hostile header looks exactly like this clean one.
#[track_caller]
fn check_header(hostile: &str, clean: &str) {
    let (frame, ended) = ask(hostile, "Go?", "L", "D");
    let (expected, _) = ask(clean, "Go?", "L", "D");
    assert_eq!(frame, expected);
    check_ended(&ended, "Go?", "L");
    assert_eq!(ended.json()["answers"][0]["header"], hostile);
}

#[track_caller]
fn check_ended(ended: &Ended, question: &str, label: &str) {
    assert_eq!(foreign(&ended.raw), Vec::<String>::new());
    assert_eq!(ended.surprises, Vec::<String>::new());
    assert_eq!(ended.json()["answers"][0]["question"], question);
    assert_eq!(ended.picks(), json!([[label]]));
}

#[test]
fn cursor_movement_and_clearing_move_and_clear_nothing() {
    check("\x1b[2J\x1b[H\x1b[10Ax", "x");
}

#[test]
fn colours_are_not_the_models_to_choose() {
    check("\x1b[31;1mred\x1b[0m", "red");
}

#[test]
fn modes_are_not_the_models_to_set() {
    check("\x1b[?1049h\x1b[?1000hx\x1b[?25h", "x");
}

#[test]
fn the_title_stays() {
    check("\x1b]0;owned\x07x", "x");
    check("\x1b]2;owned\x1b\\x", "x");
}

#[test]
fn links_link_nowhere() {
    check("\x1b]8;;http://e.x\x1b\\l\x1b]8;;\x1b\\", "l");
}

#[test]
fn the_clipboard_stays() {
    check("\x1b]52;c;b3duZWQ=\x07x", "x");
}

#[test]
fn device_control_strings_control_no_device() {
    check("\x1bP+q544e\x1b\\x", "x");
    check("\x1b_Gf=24;x\x1b\\x", "x");
    check("\x1b^pm\x1b\\x", "x");
}

#[test]
fn the_eight_bit_forms_do_no_more() {
    check("\u{9b}2Jx", "x");
    check("\u{9d}0;owned\u{9c}x", "x");
    check("\u{90}q\u{9c}x\u{85}y", "x\ny");
}

#[test]
fn a_sequence_that_never_ends_hides_nothing() {
    check("\x1b]0;still here", "0;still here");
}

#[test]
fn backspace_and_delete_rub_out_nothing() {
    check("ab\x08\x08\x7fc", "abc");
}

#[test]
fn a_carriage_return_is_the_end_of_a_line() {
    // A label has only one line.
    let (frame, ended) = ask("Head", "safe\rrm", "a\rb", "c\r\nd");
    let (expected, _) = ask("Head", "safe\nrm", "a b", "c\nd");
    assert_eq!(frame, expected);
    check_ended(&ended, "safe\rrm", "a\rb");
}

#[test]
fn bells_and_other_controls_are_silent() {
    check("\x07a\x0e\x0f\x05\0b", "ab");
}

#[test]
fn bidi_overrides_reorder_nothing() {
    check("\u{202e}gnp.exe\u{202c}\u{2066}x\u{2069}\u{200f}\u{61c}", "gnp.exex");
}

#[test]
fn tag_characters_say_nothing() {
    check("a\u{e0001}\u{e0061}\u{e0062}\u{e007f}b", "ab");
}

#[test]
fn a_flood_of_zero_width_characters_shows_nothing() {
    check(&format!("a{}b", "\u{200b}\u{feff}\u{2060}\u{ad}".repeat(10)), "ab");
}

#[test]
fn ten_thousand_combining_marks_stay_on_their_letter() {
    let question = format!("Zal{}go?", "\u{301}".repeat(9_990));
    let description = format!("z{}y", "\u{336}".repeat(198));
    let (frame, ended) = ask("Head", &question, &format!("l{}", "\u{489}".repeat(49)), &description);
    assert_eq!(foreign(&ended.raw), Vec::<String>::new());
    assert!(ended.raw.len() < 8_000, "{} bytes", ended.raw.len());
    let plain: String = frame.chars().filter(|c| !matches!(c, '\u{300}'..='\u{36f}' | '\u{489}')).collect();
    let (expected, _) = ask("Head", "Zalgo?", "l", "zy");
    assert_eq!(plain, expected);
}

#[test]
fn a_flood_of_zero_width_characters_fills_a_question_and_shows_nothing() {
    let question = format!("a{}b?", "\u{200b}".repeat(9_990));
    let (frame, ended) = ask("Head", &question, "L", "D");
    let (expected, _) = ask("Head", "ab?", "L", "D");
    assert_eq!(frame, expected);
    check_ended(&ended, &question, "L");
}

#[test]
fn a_header_is_as_untrusted_as_the_rest() {
    check_header("\x1b[2JDB", "DB");
    check_header("\x1b]0;x\x07DB", "DB");
    check_header("\u{202e}DB\r\n\x08", "DB");
    check_header("D\u{200b}\u{e0041}B\u{9b}2J", "DB");
}

#[test]
fn the_confirmation_is_safe_too() {
    for confirm in ["inline", "boxed"] {
        let json = input("Go?", "\x1b[2JDB", &[("\x1b]0;t\x07A\u{202e}", "d"), ("B", "d")], Select::Single);
        let mut terminal = Stage::new().file("q.json", json).ask(&["q.json", "--confirm", confirm]);
        terminal.wait_for("? keys");
        terminal.keys("<enter>");
        let ended = terminal.finish();
        assert_eq!(foreign(&ended.raw), Vec::<String>::new());
        assert!(ended.screen.contains("DB") && ended.screen.contains('A'), "{}", ended.screen);
    }
}

#[test]
fn the_review_is_safe_too() {
    let question = |n: usize| {
        json!({
            "question": format!("Go{n}\x1b[2J?"), "header": "\x1b[HDB", "multiSelect": false,
            "options": [{"label": "\x1b]0;t\x07A", "description": "d"}, {"label": "B", "description": "d"}],
        })
    };
    let json = json!({"questions": [question(1), question(2)]}).to_string();
    let mut terminal = Stage::new().file("q.json", json).ask(&["q.json"]);
    terminal.wait_for("? keys");
    terminal.keys("11");
    terminal.wait_for("Send these answers");
    terminal.keys("<enter>");
    let ended = terminal.finish();
    assert_eq!((foreign(&ended.raw), ended.surprises), (Vec::new(), Vec::new()));
}

#[test]
fn line_mode_is_safe_too() {
    let json =
        input("Go\x1b[2J\u{202e}?", "\x1b[HDB", &[("\x1b]0;t\x07A", "\x1bPq\x1b\\d"), ("B", "d")], Select::Single);
    let stage = Stage::new().env("NO_COLOR", "1").file("q.json", json);
    let mut terminal = stage.ask(&["--plain", "q.json"]);
    terminal.wait_for("Choose 1 to 3");
    terminal.keys("1<enter>");
    let ended = terminal.finish();
    assert!(!ended.raw.contains(&0x1b), "{:?}", String::from_utf8_lossy(&ended.raw));
    assert_eq!((foreign(&ended.raw), ended.surprises), (Vec::new(), Vec::new()));
}

#[test]
fn errors_about_a_hostile_input_are_safe_too() {
    let json = input("Go?", "H", &[("\x1b]0;t\x07Other", "d"), ("Other", "d"), ("B", "d")], Select::Single);
    let ended = Stage::new().file("q.json", json).run(&["ask", "q.json"]);
    assert_eq!(ended.code, Some(2));
    assert_eq!(foreign(ended.stderr.as_bytes()), Vec::<String>::new());
}

#[test]
fn the_prose_for_the_model_is_safe_on_the_terminal_too() {
    let json = input("Go\x1b[2J?", "\x1b[HDB", &[("\x1b]0;t\x07A", "d"), ("B", "d")], Select::Single);
    let stage = Stage::new().file("q.json", json);
    let mut terminal = stage.shell("exec askuser ask --key-delay 0 --success-flash 0 --format text q.json");
    terminal.wait_for("? keys");
    terminal.keys("1");
    let ended = terminal.finish();
    assert!(ended.screen.contains("Proceeding with user selections."), "{}", ended.screen);
    assert_eq!((foreign(&ended.raw), ended.surprises), (Vec::new(), Vec::new()));
}

#[test]
fn json_on_the_terminal_is_safe_too() {
    let json = input("Go\u{9b}2J\u{202e}?", "DB", &[("\x1b]0;t\x07A", "d"), ("B", "d")], Select::Single);
    let stage = Stage::new().file("q.json", json);
    let mut terminal = stage.shell("exec askuser ask --key-delay 0 --success-flash 0 --format json q.json");
    terminal.wait_for("? keys");
    terminal.keys("1");
    let ended = terminal.finish();
    assert!(ended.screen.contains("\"status\":\"answered\""), "{}", ended.screen);
    assert_eq!((foreign(&ended.raw), ended.surprises), (Vec::new(), Vec::new()));
}

#[test]
fn bytes_that_another_charset_takes_for_controls_are_not_written() {
    // In ISO 8859-1 the second byte of this character begins a control sequence.
    let stage = Stage::new().env("LC_ALL", "en_US.ISO-8859-1");
    let args =
        ["ask", "--key-delay", "0", "--success-flash", "0", "-q", "\u{96db}\u{96db}2J ok?", "-o", "a", "-o", "b"];
    for manner in ["--plain=false", "--plain"] {
        let mut terminal = stage.askuser(&[&args[..], &[manner]].concat(), "");
        terminal.wait_for("ok?");
        terminal.wait_for("Other");
        terminal.keys("1");
        if manner == "--plain" {
            terminal.keys("<enter>");
        }
        let ended = terminal.finish();
        assert!(ended.raw.iter().all(u8::is_ascii), "{:?}", String::from_utf8_lossy(&ended.raw));
        assert_eq!(ended.json()["answers"][0]["question"], "\u{96db}\u{96db}2J ok?");
    }
}
