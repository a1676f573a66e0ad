use super::*;
use crate::Presentation;
use crate::fixtures::{database, features};
use crate::in_a_terminal::{is_inside, modes, run};
use askuser::{Context as About, Delivery, Origin, Outcome, QuestionSet, Via};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn options() -> Options {
    let detected = Options::detect();
    // The background is set, because these terminals do not reply to a query for it.
    let theme = crate::Theme { background: crate::Background::Dark, ..detected.theme };
    Options { key_delay: Duration::ZERO, flash: Duration::ZERO, theme, ..detected }
}

fn request(call: &str, set: QuestionSet) -> Request {
    Request::new(RequestKey::new("session", call), set)
}

fn poll(asking: &mut Asking<'_>) -> Poll<Result<Delivery, AskError>> {
    asking.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Waits for the result of asking, and returns it.
fn wait(mut asking: Asking<'_>) -> Result<Delivery, AskError> {
    loop {
        match poll(&mut asking) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Waits until the prompt has the terminal, and until its first frame is shown.
fn wait_until_shown() {
    while !TerminalAsker::is_busy() {
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(500));
}

/// Prints a message to the process outside the terminal.
#[allow(clippy::print_stdout)]
fn say(words: &str) {
    println!("SAID {words}\r");
}

#[test]
fn what_the_questions_are_about_stands_above_them_and_stays() {
    if is_inside() {
        let request = request("1", database()).with_context(About::Prose("The plan:\x1b[2J\n1. look".into()));
        for presentation in [Presentation::Screen, Presentation::Line] {
            let options = Options { presentation, ..options() };
            crate::ask_request(&request, &options).expect("an outcome");
        }
        return;
    }
    let name = "asker::tests::what_the_questions_are_about_stands_above_them_and_stays";
    let output = run(name, &[("keys", "\r"), ("Choose 1 to 4", "1\r")]);
    // The text is in the frame, then in the scrollback, and once in line mode.
    assert_eq!(output.matches("The plan:").count(), 3, "{output}");
    assert!(output.find("look") < output.find("Which database"), "{output}");
    assert!(!output.contains("\x1b[2J"), "{output}");
}

#[test]
fn when_the_time_is_up_all_that_was_to_be_decided_stays() {
    if is_inside() {
        let command: String = (1..=60).map(|n| format!("step {n}.\n")).collect();
        let request =
            request("1", database()).with_context(About::Command(command)).with_deadline(Duration::from_millis(200));
        crate::ask_request(&request, &options()).expect("an outcome");
        return;
    }
    let output = run("asker::tests::when_the_time_is_up_all_that_was_to_be_decided_stays", &[("Timed out", "")]);
    let after = output.rfind("step 1.").expect("its beginning");
    assert!(output[after..].contains("step 60.") && output[after..].contains("Timed out"), "{output}");
}

#[test]
fn a_dropped_future_takes_its_question_off_the_screen_and_the_next_is_asked() {
    if is_inside() {
        let asker = TerminalAsker::new(options());
        let detached = request("1", database());
        let kept = request("2", features());
        let kept = kept.with_origin(Origin::default().with_task("x"));
        let mut first = asker.ask(&detached);
        assert!(poll(&mut first).is_pending());
        wait_until_shown();
        let mut second = asker.ask(&kept);
        assert!(poll(&mut second).is_pending());
        drop(first);
        let answered = wait(second).expect("an outcome").stored();
        return say(answered.outcome().status().name());
    }
    let name = "asker::tests::a_dropped_future_takes_its_question_off_the_screen_and_the_next_is_asked";
    let output = run(name, &[("Tailwind", "1\r")]);
    assert!(output.contains("PostgreSQL") && output.contains("Asked by: task 'x'"), "{output}");
    assert!(output.contains("SAID answered") && !output.contains("Database: "), "{output}");
    let (before, after) = modes(&output);
    assert_eq!(before, after, "{output}");
}

#[test]
fn a_panic_while_a_prompt_is_drawn_erases_it_and_gives_the_terminal_back() {
    if is_inside() {
        let _ = ask::run(&request("1", database()), &options(), None, &mut |_| panic!("on purpose"));
        return;
    }
    let name = "asker::tests::a_panic_while_a_prompt_is_drawn_erases_it_and_gives_the_terminal_back";
    let output = run(name, &[("keys", "1")]);
    let (drawn, after) = output.split_once("on purpose").expect("the message");
    let size = |cells| std::num::NonZeroU16::new(cells).unwrap();
    let mut terminal = vt100::Parser::new(size(24), size(80), 0);
    terminal.process(drawn.as_bytes());
    let screen = terminal.screen();
    assert!(drawn.contains("PostgreSQL") && !screen.contents().contains("PostgreSQL"), "{}", screen.contents());
    assert!(
        !screen.hide_cursor() && !screen.bracketed_paste() && screen.attributes_formatted() == "\x1b[m",
        "{output:?}"
    );
    assert!(drawn.rfind("\x1b[?7h") > drawn.rfind("\x1b[?7l"), "lines are wrapped again: {output:?}");
    assert!(!after.contains("\x1b["), "{output:?}");
    let (before, after) = modes(&output);
    assert_eq!(before, after, "{output}");
}

#[test]
fn a_prompt_that_is_closed_from_elsewhere_says_why() {
    if is_inside() {
        for presentation in [Presentation::Screen, Presentation::Line] {
            let asker = TerminalAsker::new(Options { presentation, ..options() });
            let elsewhere = Outcome::declined(None).through(Via::Inbox).with_by("ann");
            let withdrawn = Ending::Withdrawn { by: "ann".into(), at_ms: 7 };
            for ending in [withdrawn, Ending::Resolved(elsewhere)] {
                let request = request("1", database());
                let mut asking = asker.ask(&request);
                assert!(poll(&mut asking).is_pending());
                wait_until_shown();
                asker.close(request.key(), &ending);
                match wait(asking) {
                    Ok(delivery) => say(&format!("by {}", delivery.stored().by().unwrap_or_default())),
                    Err(error) => say(&error.chain()),
                }
                while asker.queue.pending().len() + usize::from(TerminalAsker::is_busy()) > 0 {
                    thread::sleep(Duration::from_millis(5));
                }
            }
        }
        return;
    }
    let name = "asker::tests::a_prompt_that_is_closed_from_elsewhere_says_why";
    let output = run(name, &[]);
    assert_eq!(output.matches("Withdrawn, no answer needed").count(), 2, "{output}");
    assert_eq!(output.matches("Declined by ann from inbox").count(), 2, "{output}");
    assert_eq!(output.matches("SAID withdrawn").count(), 2, "{output}");
    assert_eq!(output.matches("SAID by ann").count(), 2, "{output}");
}

impl TerminalAsker {
    /// Returns whether a prompt still has the terminal.
    fn is_busy() -> bool {
        crate::device::is_in_use()
    }
}

#[test]
fn success_is_shown_once_the_answer_is_stored_and_never_if_it_is_not() {
    if is_inside() {
        let asker = TerminalAsker::new(options());
        for (stored, set) in [(true, database()), (false, features())] {
            let request = request("1", set);
            let delivery = wait(asker.ask(&request)).expect("an outcome");
            say("storing");
            // A prompt that did not wait for the store would show success in this time.
            thread::sleep(Duration::from_millis(300));
            say("stored");
            if stored {
                drop(delivery.stored())
            } else {
                drop(delivery.not_stored("disk full"))
            }
            while TerminalAsker::is_busy() {
                thread::sleep(Duration::from_millis(5));
            }
        }
        return;
    }
    let name = "asker::tests::success_is_shown_once_the_answer_is_stored_and_never_if_it_is_not";
    let output = run(name, &[("keys", "1"), ("Tailwind", "1\r")]);
    assert_eq!(output.matches("Database: ").count(), 1, "{output}");
    let stored = output.find("SAID stored");
    let shown = output.find("Database: ");
    assert!(stored.is_some() && stored < shown, "{output}");
    assert!(output.contains("Your answer was not stored: disk full") && !output.contains("✔ Features"), "{output}");
    assert!(output.contains("Not sent: Features: TypeScript"), "it can be copied: {output}");
}

/// Asks, and sends itself SIGHUP while the answer is delivered, and again later. It prints a message if it survives.
fn hang_up_at_the_answer(ends_process: bool) {
    let hang_up = || signal_hook::low_level::raise(signal_hook::consts::SIGHUP).map_err(|error| error.to_string());
    let options = Options { ends_process, ..options() };
    let mut deliver = |delivery: askuser::Delivery| {
        hang_up().expect("a signal");
        delivery.stored();
    };
    ask::run(&request("1", database()), &options, None, &mut deliver).expect("an outcome");
    hang_up().expect("a signal");
    say("alive");
}

#[test]
fn an_answer_that_was_handed_over_ends_the_process_and_no_signal_does() {
    if is_inside() {
        return hang_up_at_the_answer(true);
    }
    let output =
        run("asker::tests::an_answer_that_was_handed_over_ends_the_process_and_no_signal_does", &[("keys", "1")]);
    assert!(output.contains("SAID alive"), "{output}");
}

#[test]
fn a_process_that_goes_on_after_its_prompt_is_ended_by_a_signal_all_the_same() {
    if is_inside() {
        return hang_up_at_the_answer(false);
    }
    let name = "asker::tests::a_process_that_goes_on_after_its_prompt_is_ended_by_a_signal_all_the_same";
    let output = run(name, &[("keys", "1")]);
    assert!(!output.contains("SAID alive"), "{output}");
    let (before, after) = modes(&output);
    assert_eq!(before, after, "{output}");
}
