//! Lines that stay in the scrollback.

use super::*;
use askuser::{Answer, Outcome, QuestionSet};
use fixtures::{authentication, database, features};
use std::fmt::Write;

fn answer(set: &QuestionSet, i: usize, picks: &[usize], typed: Option<&str>, note: Option<&str>) -> Answer {
    let answer = set.questions()[i].answer(picks, typed.map(Into::into), note.map(Into::into));
    answer.expect("a legal answer")
}

fn lines(set: &QuestionSet, outcome: &Outcome, confirm: Confirm, theme: &Theme) -> String {
    closing_lines(set, outcome, confirm, theme, 79).iter().map(|line| format!("{line}\n")).collect()
}

/// Returns every kind of ending, with answers of every kind.
fn endings() -> Vec<(&'static str, QuestionSet, Outcome)> {
    let one = database();
    let many = features();
    let two = authentication();
    let answered = |set: &QuestionSet, answers: Vec<Answer>| Outcome::answered(set, answers).expect("all answered");
    let picked = answer(&one, 0, &[0], None, None);
    let several = answer(&many, 0, &[0, 1, 3], None, None);
    let mixed = answer(&many, 0, &[0], Some("bun\nand deno"), Some("no hurry\nreally"));
    let partial_answers = answer(&two, 0, &[1], None, None);
    let both = vec![partial_answers.clone(), answer(&two, 1, &[0, 1], None, Some("Google: first"))];
    vec![
        ("single", one.clone(), answered(&one, vec![picked])),
        ("several", many.clone(), answered(&many, vec![several])),
        ("typed, with a note, in several lines", many.clone(), answered(&many, vec![mixed])),
        ("two questions", two.clone(), answered(&two, both)),
        ("cancelled", one.clone(), Outcome::cancelled()),
        (
            "cancelled half way",
            two.clone(),
            Outcome::cancelled().with_answers(&two, vec![partial_answers.clone()]).unwrap(),
        ),
        ("declined", one.clone(), Outcome::declined(None)),
        ("declined with a reason", one.clone(), Outcome::declined(Some("not\nnow".into()))),
        ("discuss", one.clone(), Outcome::discuss(None)),
        (
            "discuss with a message",
            two.clone(),
            Outcome::discuss(Some("What about LDAP?".into())).with_answers(&two, vec![partial_answers]).unwrap(),
        ),
        ("timed out", one.clone(), Outcome::timed_out()),
        ("unavailable", one, Outcome::unavailable("no terminal")),
    ]
}

fn all(confirm: Confirm, theme: &Theme) -> String {
    let mut out = String::new();
    for (name, set, outcome) in endings() {
        let _ = writeln!(out, "[{name}]\n{}", lines(&set, &outcome, confirm, theme));
    }
    out
}

#[test]
fn inline() {
    insta::assert_snapshot!("closing_inline", all(Confirm::Inline, &Theme::default()));
}

#[test]
fn boxed() {
    insta::assert_snapshot!("closing_boxed", all(Confirm::Boxed, &Theme::default()));
}

#[test]
fn full() {
    insta::assert_snapshot!("closing_full", all(Confirm::Full, &Theme::default()));
}

#[test]
fn a_question_that_stays_is_muted_and_cannot_pass_for_a_confirmation() {
    let set =
        fixtures::set_of(&[fixtures::question("Go?\n✔ Run: Deny", "Run", false, &[("Allow", "a"), ("Deny", "b")])]);
    let outcome = Outcome::answered(&set, vec![answer(&set, 0, &[0], None, None)]).expect("answered");
    let lines = closing_lines(&set, &outcome, Confirm::Full, &Theme::default(), 79);
    let rows: Vec<String> = lines.iter().map(ToString::to_string).collect();
    assert_eq!(rows, ["┃ Go?", "┃ ✔ Run: Deny", "✔ Run: Allow"]);
    assert_eq!(lines[0].spans[1].style, Theme::default().style(Role::Muted));
}

#[test]
fn boxed_in_ascii() {
    insta::assert_snapshot!("closing_ascii", all(Confirm::Boxed, &Theme { signs: Signs::ASCII, ..Theme::default() }));
}

#[test]
fn nothing_stays_where_nothing_is_wanted() {
    for (name, set, outcome) in endings() {
        assert_eq!(lines(&set, &outcome, Confirm::None, &Theme::default()), "", "{name}");
    }
}

#[test]
fn answers_are_green_headers_quiet_and_refusals_muted() {
    let theme = Theme::default();
    let (_, set, outcome) = endings().remove(0);
    let line = &closing_lines(&set, &outcome, Confirm::Inline, &theme, 79)[0];
    let styles: Vec<_> = line.spans.iter().map(|span| span.style).collect();
    assert_eq!(styles, [Role::Success, Role::Secondary, Role::Text].map(|role| theme.style(role)));
    let line = &closing_lines(&set, &Outcome::cancelled(), Confirm::Inline, &theme, 79)[0];
    assert_eq!(line.spans[0].style, theme.style(Role::Muted));
}

#[test]
fn the_box_is_the_one_that_the_proposal_draws() {
    let set = fixtures::features();
    let outcome = Outcome::answered(&set, vec![answer(&set, 0, &[0, 1, 3], None, None)]).expect("answered");
    let drawn = "╭─ Features ─╮\n│ ✔ TypeScript\n│ ✔ ESLint + Prettier\n│ ✔ Tailwind CSS\n╰────────────╯\n";
    assert_eq!(lines(&set, &outcome, Confirm::Boxed, &Theme::default()), drawn);
}

#[test]
fn a_question_without_a_header_of_its_own_is_confirmed_with_its_words() {
    let set = database();
    let outcome = Outcome::answered(&set, vec![answer(&set, 0, &[1], None, Some("soon"))]).expect("answered");
    let shown = lines(&set, &outcome, Confirm::Asked, &Theme::default());
    assert_eq!(shown, "✔ Which database should we use for this project? MongoDB (note: soon)\n");
}
