//! Standard input and output are for the script. The prompt is on the terminal, regardless of them.

use crate::terminal::{RESTORED, Stage, Terminal, example};
use serde_json::json;
use std::fs;

#[track_caller]
fn answer(mut terminal: Terminal) -> crate::terminal::Ended {
    terminal.wait_for("? keys");
    terminal.keys("2");
    terminal.finish()
}

/// Checks that the output is one line of JSON and nothing more.
#[track_caller]
fn check_pure(stdout: &str) {
    let expected = json!({
        "status": "answered",
        "answers": [{
            "question": "Which database should we use for this project?",
            "header": "Database",
            "selectedOptions": ["MongoDB"],
        }],
        "via": "terminal",
    });
    assert_eq!(stdout, format!("{expected}\n"));
}

#[test]
fn a_redirected_stdout_holds_one_line_of_json_and_no_escape_sequence() {
    let ended = answer(Stage::new().ask(&[&example("database")]));
    check_pure(&ended.stdout);
    assert_eq!(ended.modes, RESTORED);
}

#[test]
fn stdin_may_be_a_pipe_with_the_input() {
    let stage = Stage::new();
    let file = example("database");
    let ended =
        answer(stage.shell(&format!("cat {file} | askuser ask --key-delay 0 --success-flash 0 --format json >out")));
    check_pure(&stage.read("out"));
    assert_eq!(ended.modes, RESTORED);
}

#[test]
fn a_dash_is_standard_input() {
    let stage = Stage::new();
    answer(stage.shell(&format!("askuser ask --key-delay 0 --success-flash 0 - <{} >out", example("database"))));
    check_pure(&stage.read("out"));
}

#[test]
fn both_may_be_pipes() {
    let stage = Stage::new();
    let file = example("database");
    let ended = answer(stage.shell(&format!("cat {file} | askuser ask --key-delay 0 --success-flash 0 | cat >out")));
    check_pure(&stage.read("out"));
    assert_eq!(ended.modes, RESTORED);
}

#[test]
fn all_three_may_be_elsewhere() {
    let stage = Stage::new();
    let file = example("database");
    let ended = answer(stage.shell(&format!("askuser ask --key-delay 0 --success-flash 0 <{file} >out 2>err")));
    check_pure(&stage.read("out"));
    assert_eq!((stage.read("err").as_str(), ended.screen.as_str()), ("", "\n✔ Database: MongoDB"));
}

#[test]
fn the_next_program_of_a_pipe_prints_below_the_prompt() {
    for via in ["terminal", "terminal,inbox"] {
        let file = example("database");
        // In this time, the next program can print while the prompt is still there.
        let script =
            format!("askuser ask --via {via} --key-delay 0 --success-flash 700ms {file} | sed -u 's/,/,\\n/g'");
        let ended = answer(Stage::new().shell(&script));
        let expected = "✔ Database: MongoDB\n{\"status\":\"answered\",\n\"answers\":[{";
        assert!(ended.screen.contains(expected), "{via}: {}", ended.screen);
        assert_eq!(ended.modes, RESTORED);
    }
}

#[test]
fn stdin_may_be_empty_when_the_input_is_a_file() {
    let stage = Stage::new();
    answer(
        stage.shell(&format!("askuser ask --key-delay 0 --success-flash 0 {} </dev/null >out", example("database"))),
    );
    check_pure(&stage.read("out"));
}

#[test]
fn stdin_may_be_closed_altogether() {
    let stage = Stage::new();
    answer(stage.shell(&format!("askuser ask --key-delay 0 --success-flash 0 {} <&- >out", example("database"))));
    check_pure(&stage.read("out"));
}

#[test]
fn the_input_may_be_an_argument() {
    let stage = Stage::new();
    let json = fs::read_to_string(example("database")).unwrap();
    check_pure(&answer(stage.ask(&["--json", &json])).stdout);
}

#[test]
fn the_answer_fits_into_a_command_substitution() {
    let stage = Stage::new();
    let script = format!(
        "answer=$(askuser ask --key-delay 0 --success-flash 0 --format record {}); echo \"<$answer>\"",
        example("database")
    );
    let ended = answer(stage.shell(&script));
    assert!(
        ended.screen.ends_with("<{\"Which database should we use for this project?\":\"MongoDB\"}>"),
        "{}",
        ended.screen
    );
}

#[test]
fn a_result_that_nobody_reads_is_an_error_and_the_terminal_is_restored() {
    let stage = Stage::new();
    let script =
        format!("(askuser ask --key-delay 0 --success-flash 0 {} 2>err; echo $? >code) | true", example("database"));
    let ended = answer(stage.shell(&script));
    assert_eq!((stage.read("code").trim(), ended.modes), ("2", RESTORED));
    assert!(stage.read("err").starts_with("askuser: cannot write the result: "), "{}", stage.read("err"));
    assert!(stage.read("err").contains("\"status\":\"answered\""), "the answer is lost: {}", stage.read("err"));
}

#[test]
fn a_null_device_open_for_reading_too_is_not_taken_for_a_closed_output() {
    // Python's DEVNULL and Node's "ignore" open it in these ways.
    for redirection in [">/dev/null", "1<>/dev/null"] {
        let stage = Stage::new();
        let script = format!(
            "askuser ask --key-delay 0 --success-flash 0 {} {redirection} 2>err; echo $? >code",
            example("database")
        );
        answer(stage.shell(&script));
        assert_eq!((stage.read("code").trim(), stage.read("err").as_str()), ("0", ""), "{redirection}");
    }
}

#[test]
fn an_output_that_was_opened_to_be_read_does_not_swallow_the_answer() {
    for command in ["ask", "ask --format text"] {
        let stage = Stage::new().file("readable", "");
        let script = format!(
            "askuser {command} --key-delay 0 --success-flash 0 {} 1<readable 2>err; echo $? >code",
            example("database")
        );
        let ended = answer(stage.shell(&script));
        assert_eq!((stage.read("code").trim(), ended.modes), ("2", RESTORED));
        assert!(stage.read("err").starts_with("askuser: cannot write the result: "), "{}", stage.read("err"));
        assert!(stage.read("err").contains("MongoDB"), "the answer is lost: {}", stage.read("err"));
    }
}

// Only Linux has `/dev/full`.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_the_terminal_is_restored() {
    let stage = Stage::new();
    let script =
        format!("askuser ask --key-delay 0 --success-flash 0 {} >/dev/full 2>err; echo $? >code", example("database"));
    let ended = answer(stage.shell(&script));
    assert_eq!((stage.read("code").trim(), ended.modes), ("2", RESTORED));
    assert!(stage.read("err").starts_with("askuser: cannot write the result: "), "{}", stage.read("err"));
    assert!(stage.read("err").contains("\"status\":\"answered\""), "the answer is lost: {}", stage.read("err"));
}
