//! Markdown in questions and descriptions, and the texts in which marks stay as written.

use super::*;
use crate::markdown;
use askuser::{KeyCode, Purpose, QuestionSet, Request, RequestKey};
use fixtures::{ARMED, database, events, question, set_of};
use ratatui_core::style::Modifier;

fn shown(prompt: &Prompt, size: Size) -> Vec<String> {
    rows(&drawn(&view(prompt, &Theme::default(), PromptPhase::Asking, size)))
}

fn of(text: &str, description: &str) -> QuestionSet {
    set_of(&[question(text, "Plan", false, &[("Yes", description), ("No", "Stop")])])
}

#[test]
fn lists_and_code_blocks_in_a_question_and_in_a_description_are_shown_as_such() {
    let text = "Which **first**?\n\n- the `parser`\n- the printer\n\n```\nmake all\n```";
    let screen = shown(&Prompt::new(of(text, "Then:\n1. test\n2. ship"), ARMED), (60, 40)).join("\n");
    for row in ["│  ┃ Which first?", "│  ┃ • the parser", "│  ┃ • the printer", "│  ┃   make all", "│        ┃ 2. ship"]
    {
        assert!(screen.lines().any(|line| line.starts_with(row)), "{row} in\n{screen}");
    }
    assert!(!screen.contains("**") && !screen.contains("```"), "{screen}");
}

#[test]
fn marks_are_read_on_the_review_page_too() {
    let questions = ["Use **Rust** and `cargo`?", "Really?\n- now\n```\nmake\n```"];
    let set = set_of(&questions.map(|text| question(text, "Plan", false, &[("Yes", "Go"), ("No", "Stop")])));
    let mut prompt = Prompt::new(set, ARMED);
    for event in events("11") {
        press(&mut prompt, event, Duration::from_secs(1), (80, 24));
    }
    let buffer = drawn(&view(&prompt, &Theme::default(), PromptPhase::Asking, (80, 24)));
    let screen = rows(&buffer);
    let (y, row) = screen.iter().enumerate().find(|(_, row)| row.contains("1. Use")).expect("the review");
    assert_eq!(row.trim_end(), "│    1. Use Rust and cargo?");
    let listed = ["│    2. Really?", "│    ┃ • now", "│    ┃   make"];
    assert!(listed.iter().all(|start| screen.iter().any(|row| row.starts_with(start))), "{screen:#?}");
    let x = row.chars().position(|c| c == 'R').expect("bold");
    assert!(buffer[(x as u16, y as u16)].modifier.contains(Modifier::BOLD));
}

#[test]
fn text_that_a_person_agrees_to_keeps_its_marks_in_the_question_and_in_what_an_option_means() {
    let set = of("Run `rm **`?\n- now", "Runs `rm **` and rm **/* without asking");
    let request = Request::new(RequestKey::new("s", "1").for_purpose(Purpose::Permission), set);
    let screen = shown(&Prompt::of(&request, Duration::ZERO), (80, 24)).join("\n");
    for text in ["Run `rm **`?", "- now", "Runs `rm **` and rm **/* without asking"] {
        assert!(screen.contains(text), "{text} in\n{screen}");
    }
}

#[test]
fn a_note_beside_another_option_is_shown_with_its_option() {
    let mut prompt = Prompt::new(database(), ARMED);
    for key in "jntoo loose".chars().map(KeyCode::Char).chain([KeyCode::Enter, KeyCode::Up]) {
        press(&mut prompt, Event::Key(key.into()), Duration::ZERO, (60, 12));
    }
    let shown = shown(&prompt, (60, 12)).join("\n");
    let option = shown.find("MongoDB").expect("its option");
    let note = shown.find("Note: too loose");
    assert!(note.is_some_and(|note| note > option) && shown.contains("> 1 ○ PostgreSQL"), "{shown}");
    let Effect::Finish(outcome) = prompt.update(Event::Key(KeyCode::Enter.into()), Duration::ZERO) else {
        panic!("{shown}")
    };
    let closing = closing_lines(prompt.set(), &outcome, Confirm::Inline, &Theme::default(), 79);
    assert_eq!(closing[0].to_string(), "✔ Database: PostgreSQL (note: MongoDB: too loose)");
}

#[test]
fn a_person_who_notes_something_beside_a_yes_reads_that_it_holds_it_up() {
    let typing = |purpose, script: &str| {
        let request = Request::new(RequestKey::new("s", "1").for_purpose(purpose), of("Run it?", "Go"));
        let mut prompt = Prompt::of(&request, Duration::ZERO);
        for event in events(script) {
            press(&mut prompt, event, Duration::from_secs(1), (100, 24));
        }
        shown(&prompt, (100, 24)).join("\n")
    };
    let yes = "nin a branch";
    let no = "<down>nnever";
    let run = "Note: in a branch\n│        With a note it does not run yet: the agent reads the note and may ask again";
    let screen = typing(Purpose::Permission, yes);
    assert!(screen.contains(run), "{screen}");
    // The hint stays as long as the note.
    let screen = typing(Purpose::Permission, &format!("{yes}<enter>"));
    assert!(screen.contains(run), "{screen}");
    let screen = typing(Purpose::Plan, yes);
    assert!(screen.contains("With a note it is not approved yet: the agent reads the note"), "{screen}");
    for screen in [typing(Purpose::Permission, no), typing(Purpose::Question, yes), typing(Purpose::Permission, "")] {
        assert!(!screen.contains("With a note"), "{screen}");
    }
}

#[test]
fn a_list_or_a_block_of_code_makes_a_text_markdown_and_nothing_else_does() {
    for text in ["a\n- b", "a\n* b", "1. a", "a\n2) b", "```\na\n```", "~~~\na\n~~~"] {
        assert!(markdown::blocks(text).is_some(), "{text:?}");
    }
    for text in ["a **b** `c`?", "a - b?", "1.5 or 2?", "-1?", "2024?", "#a"] {
        assert!(markdown::blocks(text).is_none(), "{text:?}");
    }
}
