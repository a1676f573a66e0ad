use super::*;
use crate::fixtures::database;
use crate::in_a_terminal::{is_inside, modes, run};
use ratatui_core::text::Line;
use std::time::Duration;

const NAME: &str = "console::tests::";

fn open() -> Console {
    let mut options = Options::detect();
    options.key_delay = Duration::ZERO;
    options.flash = Duration::ZERO;
    Console::open(&options).expect("a terminal")
}

fn options() -> Options {
    let mut options = Options::detect();
    options.key_delay = Duration::ZERO;
    options.flash = Duration::ZERO;
    options
}

/// Returns the final screen after this output, from its first non-empty row.
fn screen(output: &str) -> String {
    let size = |cells| std::num::NonZeroU16::new(cells).unwrap();
    let mut parser = vt100::Parser::new(size(24), size(80), 0);
    parser.process(output.as_bytes());
    parser.screen().contents()
}

/// Waits for input and returns it.
fn typed(console: &mut Console) -> Vec<TerminalInput> {
    let mut inputs = Vec::new();
    while console.wait(None, &mut inputs).expect("a terminal") != ConsoleEvent::Input {}
    inputs
}

fn request() -> Request {
    Request::new(askuser::RequestKey::new("session", "call"), database())
}

#[test]
fn what_is_printed_stays_above_what_is_live() {
    if is_inside() {
        let mut console = open();
        console.set_live(&[Line::raw("LIVE 1")], None);
        console.flush().unwrap();
        console.print(&[Line::raw("FIRST"), Line::raw("SECOND")]);
        console.set_live(&[Line::raw("LIVE 2"), Line::raw("below")], None);
        typed(&mut console);
        console.print(&[Line::raw("THIRD")]);
        return console.close().unwrap();
    }
    let output = run(&format!("{NAME}what_is_printed_stays_above_what_is_live"), &[("below", "x")]);
    let before = screen(output.split("THIRD").next().unwrap());
    assert!(before.contains("FIRST\nSECOND"), "{before}");
    let after = screen(&output);
    assert!(after.contains("FIRST\nSECOND\nTHIRD\n") && !after.contains("LIVE") && !after.contains("below"), "{after}");
    let (before, after) = modes(&output);
    assert_eq!(before, after, "{output}");
}

#[test]
fn a_question_takes_the_place_of_the_live_region_and_its_answer_stays() {
    if is_inside() {
        let mut console = open();
        console.set_live(&[Line::raw("LIVE")], None);
        let request = request().with_context(askuser::Context::Prose("what it is about".into()));
        let outcome = console
            .ask(&request, &options(), None, &mut Vec::new(), &mut |delivery| drop(delivery.stored()))
            .expect("an outcome");
        console.print(&[Line::raw(format!("OUTCOME {}", outcome.outcome().status().name()))]);
        console.set_live(&[Line::raw("LIVE AGAIN")], None);
        typed(&mut console);
        return;
    }
    let name = format!("{NAME}a_question_takes_the_place_of_the_live_region_and_its_answer_stays");
    let output = run(&name, &[("keys", "\x1b[I\x1b[B\r"), ("LIVE AGAIN", "x")]);
    let after = screen(&output);
    assert!(after.contains("┃ what it is about\n✔ Database: MongoDB\nOUTCOME answered\n"), "{after}");
    assert!(!after.contains("LIVE"), "{after}");
    let (before, after) = modes(&output);
    assert_eq!(before, after, "{output}");
}

#[test]
fn a_question_can_be_withdrawn_and_the_console_goes_on() {
    if is_inside() {
        let mut console = open();
        let (closer, signal) = crate::close_signal().expect("a pipe");
        let waker = console.waker();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(500));
            // A wake during a question is not lost, and does not end the question.
            waker.wake();
            std::thread::sleep(Duration::from_millis(200));
            drop(closer);
        });
        let asked =
            console.ask(&request(), &options(), Some(signal), &mut Vec::new(), &mut |delivery| drop(delivery.stored()));
        assert!(matches!(asked, Err(AskError::Withdrawn)), "{asked:?}");
        assert_eq!(console.wait(None, &mut Vec::new()).unwrap(), ConsoleEvent::Woken);
        console.print(&[Line::raw("WITHDRAWN")]);
        return;
    }
    let output = run(&format!("{NAME}a_question_can_be_withdrawn_and_the_console_goes_on"), &[]);
    assert!(output.contains("PostgreSQL") && screen(&output).contains("WITHDRAWN"), "{output}");
    assert!(!screen(&output).contains("PostgreSQL"), "{output}");
}

#[test]
fn focus_is_told_where_there_is_a_window() {
    if is_inside() {
        let mut console = open();
        console.set_live(&[Line::raw("READY")], None);
        let inputs = typed(&mut console);
        console.print(&[Line::raw(format!("{inputs:?}"))]);
        return;
    }
    let output = run(&format!("{NAME}focus_is_told_where_there_is_a_window"), &[("READY", "\x1b[O")]);
    assert!(output.contains("[Focus(Lost)]"), "{output}");
    let on = output.rfind("\x1b[?1004h").unwrap();
    let off = output.rfind("\x1b[?1004l").unwrap();
    assert!(on < off, "{output}");
}

#[test]
fn titles_and_notifications_carry_no_control_characters_and_the_title_is_given_back() {
    if is_inside() {
        let mut console = open();
        console.set_title("a\x07b\x1b]2;evil\x07");
        console.notify("c\u{9c}d\ne");
        return;
    }
    let name = "titles_and_notifications_carry_no_control_characters_and_the_title_is_given_back";
    let output = run(&format!("{NAME}{name}"), &[]);
    assert!(output.contains("\x1b[22;2t\x1b]2;ab\x07\x1b]9;cd e\x07"), "{output:?}");
    assert!(output.contains("\x1b]2;\x07\x1b[23;2t"), "{output:?}");
}

#[test]
fn a_panic_erases_what_is_above_a_hidden_cursor_too() {
    if is_inside() {
        let mut console = open();
        console.set_live(&["LIVE 1", "LIVE 2", "LIVE 3"].map(Line::raw), None);
        console.flush().unwrap();
        panic!("on purpose");
    }
    let output = run(&format!("{NAME}a_panic_erases_what_is_above_a_hidden_cursor_too"), &[]);
    let (before, _) = output.split_once("on purpose").expect("the message");
    assert!(before.contains("LIVE") && !screen(before).contains("LIVE"), "{output}");
}

#[test]
fn a_panic_gives_the_terminal_back_and_hides_nothing() {
    if is_inside() {
        let mut console = open();
        console.set_live(&[Line::raw("LIVE 1"), Line::raw("LIVE 2")], Some(Position::new(3, 1)));
        console.flush().unwrap();
        panic!("on purpose");
    }
    let output = run(&format!("{NAME}a_panic_gives_the_terminal_back_and_hides_nothing"), &[]);
    let (before, after) = modes(&output);
    assert_eq!(before, after, "{output}");
    let (before, after) = output.split_once("on purpose").expect("the message");
    assert!(!screen(before).contains("LIVE") && !after.contains("\x1b["), "{output}");
}

#[test]
fn more_lines_than_there_are_rows_show_their_end() {
    if is_inside() {
        let mut console = open();
        let lines: Vec<Line<'_>> = (0..30).map(|i| Line::raw(format!("row {i}."))).collect();
        console.set_live(&lines, Some(Position::new(2, 29)));
        typed(&mut console);
        return;
    }
    let output = run(&format!("{NAME}more_lines_than_there_are_rows_show_their_end"), &[("row 29.", "x")]);
    assert!(output.contains("row 7.") && !output.contains("row 6."), "{output}");
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it_and_is_not_lost() {
    if is_inside() {
        let mut console = open();
        console.set_live(&[Line::raw("READY")], None);
        console.flush().unwrap();
        // The pause leaves time for typing.
        std::thread::sleep(Duration::from_millis(500));
        let mut before = Vec::new();
        let outcome = console
            .ask(&request(), &options(), None, &mut before, &mut |delivery| drop(delivery.stored()))
            .expect("an outcome");
        console.print(&[
            Line::raw(format!("{before:?}")),
            Line::raw(format!("OUTCOME {}", outcome.outcome().status().name())),
        ]);
        return;
    }
    let name = format!("{NAME}what_was_typed_before_a_question_does_not_answer_it_and_is_not_lost");
    let output = run(&name, &[("READY", "2\r"), ("keys", "\x1b")]);
    let screen = screen(&output);
    assert!(
        screen.contains("Char('2')") && screen.contains("Enter") && screen.contains("OUTCOME cancelled"),
        "{screen}"
    );
}
