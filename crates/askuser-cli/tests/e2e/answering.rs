//! Answers the proposals' four examples, and checks the result, the exit code, and the scrollback.

use crate::terminal::{Ended, RESTORED, Stage, example};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Asks an example and returns the end of its process. Each step waits for a text, then presses keys.
#[track_caller]
fn answer(name: &str, args: &[&str], steps: &[(&str, &str)]) -> Ended {
    let file = example(name);
    let mut terminal = Stage::new().ask(&[&[file.as_str()], args].concat());
    for (text, keys) in steps {
        terminal.wait_for(text);
        terminal.keys(keys);
    }
    terminal.finish()
}

#[track_caller]
fn check(ended: &Ended, answers: Value, screen: &str) {
    assert_eq!(ended.json(), json!({"status": "answered", "answers": answers, "via": "terminal"}));
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.screen, screen);
    assert_eq!(ended.stderr, "");
    assert_eq!(ended.modes, RESTORED);
}

fn database(label: &str) -> Value {
    json!([{
        "question": "Which database should we use for this project?",
        "header": "Database",
        "selectedOptions": [label],
    }])
}

#[test]
fn the_first_frame_is_as_the_proposal_draws_it() {
    let terminal = Stage::new().ask(&[&example("database")]);
    terminal.wait_for("? keys");
    let expected = "
╭─ Database ─╮
│
│  Which database should we use for this project?
│
│  1 > ○ PostgreSQL (Recommended)
│        Robust relational DB, great for complex queries
│
│  2   ○ MongoDB
│        Document DB, flexible schema for rapid development
│
│  3   ○ SQLite
│        Embedded DB, zero configuration, good for small apps
│
│  4   ○ Other
│        Type something else…
│
╰───────────────────────────────────────────────────────────╯
  enter select • n note • c discuss • d decline • esc cancel • ? keys";
    terminal.wait_for_screen(expected);
}

#[test]
fn enter_chooses_the_focused_option() {
    let ended = answer("database", &[], &[("> ○ PostgreSQL", "<down>"), ("> ○ MongoDB", "<enter>")]);
    check(&ended, database("MongoDB"), "\n✔ Database: MongoDB");
}

#[test]
fn a_digit_chooses_its_option() {
    let ended = answer("database", &[], &[("Which database", "3")]);
    check(&ended, database("SQLite"), "\n✔ Database: SQLite");
}

#[test]
fn recommended_is_kept_in_json_and_left_out_of_the_confirmation() {
    let ended = answer("database", &[], &[("Which database", "<enter>")]);
    check(&ended, database("PostgreSQL (Recommended)"), "\n✔ Database: PostgreSQL");
}

#[test]
fn a_boxed_confirmation_is_a_chip_with_the_answer_under_it() {
    let ended = answer("database", &["--confirm", "boxed"], &[("Which database", "<enter>")]);
    let screen = "\n╭─ Database ─╮\n│ ✔ PostgreSQL\n╰────────────╯";
    check(&ended, database("PostgreSQL (Recommended)"), screen);
}

#[test]
fn without_a_confirmation_nothing_stays_on_the_screen() {
    let ended = answer("database", &["--confirm", "none"], &[("Which database", "<enter>")]);
    check(&ended, database("PostgreSQL (Recommended)"), "");
}

#[test]
fn space_ticks_several_and_enter_confirms_them() {
    let steps = [("> ☐ TypeScript", "<space><down><down><space>"), ("> ☑ Testing", "<enter>")];
    let ended = answer("features", &[], &steps);
    let answers = json!([{
        "question": "Which features should we enable?",
        "header": "Features",
        "selectedOptions": ["TypeScript", "Testing (Vitest)"],
    }]);
    check(&ended, answers, "\n✔ Features: TypeScript, Testing (Vitest)");
}

#[test]
fn enter_with_nothing_ticked_ticks_the_focused_option_and_another_one_sends_it() {
    let ended = answer("features", &[], &[("> ☐ TypeScript", "<down><enter>"), ("Enter again to continue", "<enter>")]);
    assert_eq!(ended.picks(), json!([["ESLint + Prettier"]]));
}

#[test]
fn ticks_and_typed_text_are_one_answer_of_several() {
    let steps = [
        ("> ☐ TypeScript", "15"),
        ("Please specify:", "Storybook"),
        ("Storybook", "<enter>"),
        ("> ☑ Other", "<enter>"),
    ];
    let ended = answer("features", &["--confirm", "boxed"], &steps);
    let answers = json!([{
        "question": "Which features should we enable?",
        "header": "Features",
        "selectedOptions": ["TypeScript"],
        "customInput": "Storybook",
    }]);
    check(&ended, answers, "\n╭─ Features ─╮\n│ ✔ TypeScript\n│ ✔ Storybook\n╰────────────╯");
}

fn authentication() -> Value {
    json!([
        {
            "question": "Which authentication method should we use?",
            "header": "Auth Method",
            "selectedOptions": ["JWT"],
        },
        {
            "question": "Which OAuth providers should we support?",
            "header": "Providers",
            "selectedOptions": ["Google", "GitHub"],
        },
    ])
}

const AUTHENTICATION: [(&str, &str); 4] = [
    ("Question 1 of 2", "<down><enter>"),
    ("Question 2 of 2", "<space><down><space>"),
    ("> ☑ GitHub", "<enter>"),
    ("Send these answers", "<enter>"),
];

#[test]
fn two_questions_end_on_a_review_and_are_answered_together() {
    let ended = answer("authentication", &[], &AUTHENTICATION);
    check(&ended, authentication(), "\n✔ Auth Method: JWT\n✔ Providers: Google, GitHub");
}

#[test]
fn a_boxed_confirmation_of_two_answers_is_two_boxes() {
    let ended = answer("authentication", &["--confirm", "boxed"], &AUTHENTICATION);
    let screen = "
╭─ Auth Method ─╮
│ ✔ JWT
╰───────────────╯

╭─ Providers ─╮
│ ✔ Google
│ ✔ GitHub
╰─────────────╯";
    check(&ended, authentication(), screen);
}

#[test]
fn the_review_shows_every_answer() {
    let mut terminal = Stage::new().ask(&[&example("authentication")]);
    for (text, keys) in &AUTHENTICATION[..3] {
        terminal.wait_for(text);
        terminal.keys(keys);
    }
    let expected = "
╭─ Review ─╮  Check your answers before they are sent
│  ✔ Auth Method  ✔ Providers
│
│    1. Which authentication method should we use?
│      ✔ JWT
│
│    2. Which OAuth providers should we support?
│      ✔ Google
│      ✔ GitHub
│
│  > Send these answers
│
╰───────────────────────────────────────────────────╯
  enter send • 1-2 change • c discuss • d decline • esc cancel • ? keys";
    terminal.wait_for_screen(expected);
}

#[test]
fn an_answer_can_be_changed_from_the_review() {
    let mut steps = AUTHENTICATION[..3].to_vec();
    steps.extend([("Send these answers", "1"), ("Question 1 of 2", "3"), ("✔ Session-based", "<enter>")]);
    let ended = answer("authentication", &[], &steps);
    assert_eq!(ended.picks(), json!([["Session-based"], ["Google", "GitHub"]]));
}

#[test]
fn the_review_is_not_sent_while_a_question_is_open() {
    let steps = [
        ("Question 1 of 2", "<tab><tab>"),
        ("not answered yet", "<enter>"),
        ("Question 1 has no answer yet", "1"),
        ("Question 2 of 2", "2<enter>"),
        ("Send these answers", "<enter>"),
    ];
    let ended = answer("authentication", &[], &steps);
    assert_eq!(ended.picks(), json!([["OAuth 2.0 (Recommended)"], ["GitHub"]]));
}

fn bun() -> Value {
    json!([{
        "question": "Which package manager do you prefer?",
        "header": "Package Mgr",
        "selectedOptions": [],
        "customInput": "bun",
    }])
}

const BUN: [(&str, &str); 3] = [("Which package manager", "4"), ("Please specify:", "bun"), ("bun█", "<enter>")];

#[test]
fn an_answer_is_typed_under_other() {
    check(&answer("package-manager", &[], &BUN), bun(), "\n✔ Package Mgr: bun");
}

#[test]
fn an_answer_typed_under_other_is_boxed_like_any() {
    let ended = answer("package-manager", &["--confirm", "boxed"], &BUN);
    check(&ended, bun(), "\n╭─ Package Mgr ─╮\n│ ✔ bun\n╰───────────────╯");
}

#[test]
fn typing_under_other_looks_as_the_proposal_draws_it() {
    let mut terminal = Stage::new().ask(&[&example("package-manager")]);
    terminal.wait_for("Which package manager");
    terminal.keys("4bun");
    let expected = "
╭─ Package Mgr ─╮
│
│  Which package manager do you prefer?
│
│  1   ○ npm
│        Default Node.js package manager
│
│  2   ○ pnpm (Recommended)
│        Fast, efficient disk space usage
│
│  3   ○ yarn
│        Alternative with workspaces support
│
│  4 > ○ Other
│        Please specify: bun
│
╰──────────────────────────────────────────╯
  enter send • esc back • ctrl-j new line • ctrl-g editor";
    terminal.wait_for_screen(expected);
}

#[test]
fn a_note_goes_with_the_choice_it_is_on() {
    let steps =
        [("> ○ PostgreSQL", "n"), ("Note:", "version 17"), ("version 17█", "<enter>"), ("d decline", "<enter>")];
    let ended = answer("database", &[], &steps);
    assert_eq!(ended.json()["answers"][0]["note"], "version 17");
    assert_eq!(ended.picks(), json!([["PostgreSQL (Recommended)"]]));
    assert_eq!(ended.screen, "\n✔ Database: PostgreSQL (note: version 17)");
}

#[test]
fn a_boxed_note_stands_under_its_answer() {
    let steps = [("> ○ PostgreSQL", "n17"), ("Note: 17", "<enter>"), ("d decline", "<enter>")];
    let ended = answer("database", &["--confirm", "boxed"], &steps);
    assert_eq!(ended.screen, "\n╭─ Database ─╮\n│ ✔ PostgreSQL\n│   Note: 17\n╰────────────╯");
}

#[test]
fn keys_that_arrive_together_all_count_in_order() {
    let mut terminal = Stage::new().ask(&[&example("database")]);
    terminal.wait_for("? keys");
    terminal.write(b"\x1b[B\x1b[B\r");
    assert_eq!(terminal.finish().picks(), json!([["SQLite"]]));
}

#[test]
fn a_whole_set_answered_in_one_write_counts_in_order() {
    let mut terminal = Stage::new().ask(&[&example("authentication")]);
    terminal.wait_for("? keys");
    // The keys select JWT, then the providers GitHub and Apple, and submit.
    terminal.keys("<down><enter><down><space><down><down><space><enter><enter>");
    assert_eq!(terminal.finish().picks(), json!([["JWT"], ["GitHub", "Apple"]]));
}

#[test]
fn a_key_sequence_that_arrives_in_two_parts_is_one_key() {
    loop {
        let mut terminal = Stage::new().ask(&[&example("database")]);
        terminal.wait_for("? keys");
        let began = Instant::now();
        terminal.write(b"\x1b[");
        terminal.write(b"B");
        // Parts this far apart no longer form a key. Here the delay means that this process was not scheduled.
        if began.elapsed() > Duration::from_millis(100) {
            continue;
        }
        terminal.wait_for("> ○ MongoDB");
        terminal.keys("<enter>");
        assert_eq!(terminal.finish().picks(), json!([["MongoDB"]]));
        return;
    }
}

#[test]
fn application_cursor_keys_are_understood() {
    let mut terminal = Stage::new().ask(&[&example("database")]);
    terminal.wait_for("? keys");
    terminal.write(b"\x1bOB\x1bOB\x1bOA\r");
    assert_eq!(terminal.finish().picks(), json!([["MongoDB"]]));
}

#[test]
fn what_stood_on_the_screen_before_stays() {
    let stage = Stage::new();
    let mut terminal = stage.shell(&format!(
        "printf 'one\\ntwo\\nunfinished'; askuser ask --key-delay 0 --success-flash 0 {} >out; echo after",
        example("database")
    ));
    terminal.wait_for("? keys");
    terminal.keys("1");
    let ended = terminal.finish();
    assert_eq!(ended.screen, "one\ntwo\nunfinished\n✔ Database: PostgreSQL\nafter");
}

#[test]
fn a_prompt_at_the_bottom_of_the_screen_scrolls_the_conversation_up() {
    let stage = Stage::new();
    let mut terminal = stage.shell(&format!(
        "seq 1 40; askuser ask --key-delay 0 --success-flash 0 {} >out; echo after",
        example("database")
    ));
    terminal.wait_for("? keys");
    terminal.keys("1");
    terminal.wait_for("after");
    let history = terminal.history();
    let expected: String = (1..=40).map(|n| format!("{n}\n")).collect::<String>() + "\n✔ Database: PostgreSQL\nafter";
    assert_eq!(history, expected);
}

#[test]
fn the_flash_of_success_shows_what_was_chosen() {
    let file = example("database");
    let mut terminal = Stage::new().askuser(&["ask", "--key-delay", "0", "--success-flash", "50ms", &file], "");
    terminal.wait_for("? keys");
    terminal.keys("2");
    let ended = terminal.finish();
    assert!(ended.has_shown("● MongoDB"));
    assert_eq!(ended.screen, "\n✔ Database: MongoDB");
}

#[test]
fn help_lists_the_keys_and_any_key_closes_it() {
    let mut terminal = Stage::new().ask(&[&example("database")]);
    terminal.wait_for("? keys");
    terminal.keys("?");
    terminal.wait_until("the help page", |screen| screen.contains("╭─ Keys ─╮") && screen.contains("Ctrl-C"));
    terminal.keys("x");
    terminal.wait_for("? keys");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().picks(), json!([["PostgreSQL (Recommended)"]]));
}

#[test]
fn a_rejected_key_says_what_to_do() {
    let mut terminal = Stage::new().ask(&[&example("database")]);
    terminal.wait_for("? keys");
    terminal.keys("9");
    terminal.wait_for("Choose 1 to 4");
}

/// Returns the text that stays on the screen if the result is printed there, too.
fn left_on_the_screen(args: &str) -> String {
    let stage = Stage::new();
    let mut terminal =
        stage.shell(&format!("exec askuser ask --key-delay 0 --success-flash 0 {} {args}", example("database")));
    terminal.wait_for("? keys");
    terminal.keys("1");
    terminal.finish().screen
}

#[test]
fn where_the_result_goes_to_the_terminal_the_confirmation_is_all_of_it() {
    assert_eq!(left_on_the_screen(""), "\n✔ Database: PostgreSQL");
    assert_eq!(left_on_the_screen("--confirm none").trim(), "✔ Database: PostgreSQL");
}

#[test]
fn prose_is_printed_below_the_confirmation_if_it_is_asked_for() {
    let expected = "
✔ Database: PostgreSQL
User answered the following questions:

1. Database (Which database should we use for this project?)
   Selected: PostgreSQL

Proceeding with user selections.";
    assert_eq!(left_on_the_screen("--format text"), expected);
}

#[test]
fn a_record_is_keyed_by_question_text() {
    let ended = answer("authentication", &["--format", "record"], &AUTHENTICATION);
    let expected = json!({
        "Which authentication method should we use?": "JWT",
        "Which OAuth providers should we support?": ["Google", "GitHub"],
    });
    assert_eq!(ended.json(), expected);
}

#[test]
fn the_demo_shows_choices_words_a_preview_a_diff_a_deadline_and_an_inbox_and_says_what_comes_next() {
    let stage = Stage::new();
    let mut terminal = stage.shell("exec askuser demo --key-delay 0 --success-flash 0");
    let steps = [
        ("Which database", "<enter>"),
        ("Which features", "<enter>"),
        ("Enter again to continue", "<enter>"),
        ("Which authentication", "<enter>"),
        ("Which OAuth", "<enter>"),
        ("Enter again to continue", "<enter>"),
        ("Send these answers", "<enter>"),
        ("Which package manager", "4"),
        ("Please specify", "bun<enter>"),
    ];
    for (text, keys) in steps {
        terminal.wait_for(text);
        terminal.keys(keys);
    }
    terminal.wait_for("| #1042     |");
    terminal.keys("<down>");
    terminal.wait_for("• prints well");
    terminal.keys("<enter>");
    terminal.wait_for("8   ┃ -    Duration::from_secs(1)");
    terminal.wait_for("2 min left · press any key to stop the clock");
    terminal.keys("1");
    terminal.wait_for("`askuser inbox` lists such questions");
    terminal.wait_for("Asked by: demo");
    terminal.keys("3");
    let ended = terminal.finish();
    assert!(ended.screen.ends_with("✔ Database: SQLite\n\nNext: askuser init"), "{}", ended.screen);
    assert_eq!((ended.code, ended.modes), (Some(0), RESTORED));
}
