//! Untrusted text cannot imitate the prompt's own options, chips, footers or confirmations.

use super::*;
use askuser::{Context, Outcome, QuestionSet, Request, RequestKey};
use fixtures::{ARMED, question, set_of};

const FORGED: &str =
    "Run it?\n\n  > ○ Deny\n      Safe\n  ○ Allow\n╰────╯\n  ↑↓ navigate  •  enter select\n✔ Run: Deny";

/// Returns the rows without a bar, which are the prompt's own. The bottom line is shortened, because its length depends
/// on the widest row.
fn ours(view: &View) -> Vec<String> {
    let ours = rows(&drawn(view)).into_iter().filter(|row| !row.contains(['┃', '╏']));
    ours.map(|row| if row.starts_with("╰──") { row.chars().filter(|c| *c != '─').collect() } else { row }).collect()
}

fn of(text: &str) -> QuestionSet {
    set_of(&[question(text, "Run", false, &[("Allow", "Runs it"), ("Deny", "Does not")])])
}

#[test]
fn a_question_of_several_lines_cannot_show_options_a_footer_or_a_confirmation_of_its_own() {
    let honest = Prompt::new(of("Run it?"), ARMED);
    let forged = Prompt::new(of(FORGED), ARMED);
    for size in [(80, 40), (120, 40)] {
        let shown = |prompt| ours(&view(prompt, &Theme::default(), PromptPhase::Asking, size));
        let mut expected = shown(&honest);
        expected.retain(|row| !row.contains("Run it?"));
        assert_eq!(shown(&forged), expected);
    }
}

#[test]
fn one_long_line_cannot_begin_a_row_like_an_option() {
    let text = format!("Run it? {} 1 > ○ Deny", "x".repeat(34));
    let prompt = Prompt::new(of(&text), ARMED);
    let shown = rows(&drawn(&view(&prompt, &Theme::default(), PromptPhase::Asking, (40, 40))));
    assert!(shown.contains(&"│  ┃ 1 > ○ Deny".to_owned()), "{shown:#?}");
    assert_eq!(shown.iter().filter(|row| row.starts_with("│  1 > ○")).count(), 1, "{shown:#?}");
}

#[test]
fn a_context_cannot_show_options_a_footer_or_a_confirmation_of_its_own() {
    let prompt = Prompt::new(of("Run it?"), ARMED);
    let long = format!("{FORGED}{}> ○ Deny", " ".repeat(300));
    for context in
        [Context::Command, Context::Diff, Context::ToolInput, Context::Prose].map(|context| context(long.clone()))
    {
        let shown = |context| ours(&View::new(&prompt, context, &Theme::default(), PromptPhase::Asking, 79, 60));
        let expected = shown(None);
        assert_eq!(shown(Some(&context)), expected, "{context:?}");
    }
}

#[test]
fn a_description_of_several_lines_has_no_row_that_could_be_an_option() {
    let set =
        set_of(&[question("Run it?", "Run", false, &[("Allow", "Runs\n○ Deny\n  Does not"), ("Deny", "Does not")])]);
    let prompt = Prompt::new(set, ARMED);
    let shown = ours(&view(&prompt, &Theme::default(), PromptPhase::Asking, (80, 40)));
    assert_eq!(shown.iter().filter(|row| row.contains("Deny")).count(), 1, "{shown:#?}");
}

#[test]
fn a_question_on_the_review_page_cannot_pass_for_two() {
    let two = [
        question("First?\n2. Second?\n    ✔ Deny", "One", false, &[("Allow", "a"), ("Deny", "b")]),
        question("Second?", "Two", false, &[("Allow", "a"), ("Deny", "b")]),
    ];
    let mut prompt = Prompt::new(set_of(&two), ARMED);
    for event in fixtures::events("1") {
        press(&mut prompt, event, Duration::from_secs(1), (80, 40));
    }
    for event in fixtures::events("1") {
        press(&mut prompt, event, Duration::from_secs(1), (80, 40));
    }
    let shown = ours(&view(&prompt, &Theme::default(), PromptPhase::Asking, (80, 40)));
    assert_eq!(shown.iter().filter(|row| row.contains("2. Second?")).count(), 1, "{shown:#?}");
    assert_eq!(shown.iter().filter(|row| row.contains("✔ Deny")).count(), 0, "{shown:#?}");
}

#[test]
fn a_note_of_several_lines_cannot_pass_for_another_confirmation() {
    let set = of("Run it?");
    let note = Some(format!("fine\n✔ Bash: Allow once\n{}\n", "✔ Bash: Always ".repeat(20)));
    let answer = set.questions()[0].answer(&[1], None, note).expect("an answer");
    let outcome = Outcome::answered(&set, vec![answer]).expect("an outcome");
    for confirm in [Confirm::Inline, Confirm::Boxed] {
        for columns in [79, 40, 20] {
            let lines = closing_lines(&set, &outcome, confirm, &Theme::default(), columns);
            let rows: Vec<String> = lines.iter().map(ToString::to_string).collect();
            assert!(!rows.iter().skip(1).any(|row| row.starts_with('✔')), "{rows:#?}");
            assert!(rows.iter().all(|row| width(row) <= columns.into()), "{rows:#?}");
        }
    }
    let declined = Outcome::declined(Some("no\n✔ Bash: Allow once".into()));
    let lines = closing_lines(&set, &declined, Confirm::Inline, &Theme::default(), 79);
    assert_eq!(lines[1].to_string(), "  ┃ ✔ Bash: Allow once");
}

#[test]
fn the_command_of_a_permission_keeps_its_blanks_where_it_is_wrapped() {
    let command = format!("rm -rf{}/", " ".repeat(60));
    let key = RequestKey::new("s", "c").for_purpose(askuser::Purpose::Permission);
    let request = Request::new(key, of(&format!("Run this command?\n\n{command}")));
    let prompt = Prompt::of(&request, Duration::ZERO);
    let shown = rows(&drawn(&view(&prompt, &Theme::default(), PromptPhase::Asking, (40, 40))));
    // The row has 39 columns, without the border, the indent and the bar.
    let blanks = " ".repeat(60 - 34);
    assert!(shown.contains(&format!("│  ╏ {blanks}/")), "{shown:#?}");
    let at = shown.iter().position(|row| row == "│  ┃ rm -rf").unwrap_or_else(|| panic!("{shown:#?}"));
    assert_eq!(shown[at + 1], "│  ╏");
}

#[test]
fn a_model_cannot_begin_a_row_like_an_option() {
    let origin = askuser::Origin::default().with_task(format!("{} 1 > ○ Deny", "x".repeat(60)));
    let request = Request::new(RequestKey::new("s", "c"), of("Run it?")).with_origin(origin);
    let prompt = Prompt::of(&request, Duration::ZERO);
    for columns in 20..100 {
        let shown = rows(&drawn(&view(&prompt, &Theme::default(), PromptPhase::Asking, (columns, 60))));
        assert_eq!(shown.iter().filter(|row| row.starts_with("│  1 > ")).count(), 1, "{shown:#?}");
    }
}
