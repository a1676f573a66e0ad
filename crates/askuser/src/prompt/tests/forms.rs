//! Tests of questions from askuser's own commands: a yes, a text, a line of a list.

use super::*;
use crate::input::QuestionInput;

fn confirm() -> QuestionSet {
    let question = QuestionInput::new("Deploy?", "Deploy").option("Yes", "").option("No", "");
    QuestionSet::new([question], &Rules::confirm()).unwrap()
}

fn input() -> QuestionSet {
    QuestionSet::new([QuestionInput::new("Name?", "Name")], &Rules::input()).unwrap()
}

fn pick(lines: &[&str]) -> QuestionInput {
    lines.iter().fold(QuestionInput::new("Which file?", "File"), |question, line| question.option(*line, ""))
}

const FILES: [&str; 4] = ["src/main.rs", "src/lib.rs", "README.md", "3 notes.txt"];

fn files() -> QuestionSet {
    QuestionSet::new([pick(&FILES)], &Rules::pick()).unwrap()
}

fn several_files() -> QuestionSet {
    QuestionSet::new([pick(&FILES).multi_select()], &Rules::pick()).unwrap()
}

#[test]
fn y_n_digits_and_enter_answer_a_question_for_a_yes() {
    check(confirm(), "y", "answered | Deploy: Yes");
    check(confirm(), "n", "answered | Deploy: No");
    check(confirm(), "<enter>", "answered | Deploy: Yes");
    check(confirm(), "<down><down><enter>", "answered | Deploy: No");
    check(confirm(), "2", "answered | Deploy: No");
    check(confirm(), "3", "1 on Yes |  ! Choose 1 to 2");
    // A command of askuser asks the person who started it.
    check(confirm(), "dc", "1 on Yes | ");
    for trigger in [Trigger::Opened, Trigger::Popup] {
        let opened = Prompt::new(confirm(), ARMED).on(trigger);
        assert_eq!(play(opened, "dtoo late<enter>").line(), "declined “too late” | ", "{trigger:?}");
    }
    check(confirm(), "<esc>", "cancelled | ");
}

#[test]
fn a_yes_waits_until_the_question_can_have_been_seen() {
    check_with(
        confirm(),
        ARMING,
        "<wait:249>y<enter>",
        "1 on Yes |  ! Not taken: keys count once you stop typing for a moment",
    );
    check_with(confirm(), ARMING, "<wait:250>y", "answered | Deploy: Yes");
    let popup = Prompt::new(confirm(), ARMED).on(Trigger::Popup);
    assert_eq!(play(popup, "n").line(), "1 on No | ");
}

#[test]
fn what_is_typed_answers_a_question_for_a_text() {
    check(input(), "Ann<enter>", "answered | Name: “Ann”");
    check(input(), "d 1?<enter>", "answered | Name: “d 1?”");
    check(input(), "<enter>", "1 on Other, other “█” |  ! Type an answer, or press Esc to cancel");
    check(input(), " <enter>", "1 on Other, other “ █” |  ! Type an answer, or press Esc to cancel");
    check(input(), "<paste:a name><enter>", "answered | Name: “a name”");
}

#[test]
fn esc_leaves_a_question_for_a_text_and_asks_first_if_that_would_lose_something() {
    check(input(), "<esc>", "cancelled | ");
    check(input(), "Ann<esc>", "1 on Other, leaving | ");
    check(input(), "Ann<esc>x<enter>", "answered | Name: “Ann”");
    check(input(), "Ann<esc><esc>", "cancelled | ");
    let opened = Prompt::new(input(), ARMED).on(Trigger::Opened);
    assert_eq!(play(opened, "Ann<esc>").line(), "put aside | Name: “Ann”");
    // An escape byte may be the first half of another key.
    for (typed, is_harmless) in [("", false), ("Ann", true)] {
        assert_eq!(play(Prompt::new(input(), ARMED), typed).prompt.is_esc_harmless(), is_harmless, "{typed}");
    }
}

#[test]
fn what_was_typed_for_a_text_is_there_another_time() {
    let opened = Prompt::new(input(), ARMED).on(Trigger::Opened);
    let Effect::PutAside(draft) = play(opened, "Ann<esc>").effect else { panic!("it is put aside") };
    let again = Prompt::new(input(), ARMED).on(Trigger::Opened).resuming(&draft);
    assert_eq!(play(again, "e<enter>").line(), "answered | Name: “Anne”");
}

#[test]
fn text_meant_for_something_else_does_not_get_into_a_text_that_opened_by_itself() {
    let popup = || Prompt::new(input(), ARMING).on(Trigger::Popup);
    assert!(popup().is_unseen(Duration::ZERO));
    let told = "Not taken: keys count once you stop typing for a moment";
    assert_eq!(play(popup(), "rm<enter>").line(), format!("1 on Other, other “█” |  ! {told}"));
    assert_eq!(play(popup(), "rm<wait:700>Ann<enter>").line(), "answered | Name: “Ann”");
    // The person who ran the command may type immediately.
    check_with(input(), ARMING, "Ann<enter>", "answered | Name: “Ann”");
}

#[test]
fn typing_narrows_a_list_down() {
    check(files(), "<enter>", "answered | File: src/main.rs");
    check(files(), "lib<enter>", "answered | File: src/lib.rs");
    check(files(), "RS LI<enter>", "answered | File: src/lib.rs");
    check(files(), "src<down><down><enter>", "answered | File: src/lib.rs");
    check(files(), "3<enter>", "answered | File: 3 notes.txt");
    check(files(), "<paste:readme><enter>", "answered | File: README.md");
    check(files(), "md<bs><bs><up><enter>", "answered | File: src/lib.rs");
    check(files(), "<pgdn><enter>", "answered | File: src/lib.rs");
}

#[test]
fn nothing_is_chosen_where_nothing_matches() {
    let told = "Nothing matches; Esc clears the search";
    check(files(), "zzz<enter>", &format!("1 on src/main.rs |  ! {told}"));
    check(several_files(), "zzz<space>", &format!("1 on src/main.rs |  ! {told}"));
    check(files(), "zzz<down><esc><enter>", "answered | File: src/main.rs");
}

#[test]
fn esc_ends_the_search_first_and_then_the_question() {
    check(files(), "lib<esc>", "1 on src/lib.rs | ");
    check(files(), "lib<esc><esc>", "cancelled | ");
    let searching = play(Prompt::new(several_files(), ARMED), "<space>lib").prompt;
    assert!(!searching.is_esc_harmless(), "Enter after it would send what is ticked");
}

#[test]
fn what_is_ticked_stays_ticked_while_the_list_shows_something_else() {
    check(several_files(), "main<space><esc>md<tab><enter>", "answered | File: src/main.rs + README.md");
    check(several_files(), "md<enter>", "1 on README.md | File: README.md ! Selected. Enter again to continue");
}

#[test]
fn a_search_is_no_answer_and_so_need_not_wait() {
    check_with(files(), ARMING, "lib<enter><wait:700><enter>", "answered | File: src/lib.rs");
    let popup = Prompt::new(files(), ARMING).on(Trigger::Popup);
    assert_eq!(play(popup, "lib<wait:700><enter>").line(), "answered | File: src/main.rs");
}

#[test]
fn only_options_answer_where_there_is_no_other() {
    for set in [confirm(), files()] {
        let question = &set.questions()[0];
        assert!(question.answer(&[], Some("maybe".into()), None).is_none());
        let answer = Answer { custom_input: Some("maybe".into()), ..question.answer(&[0], None, None).unwrap() };
        let error = Outcome::answered(&set, vec![answer.clone()]).unwrap_err().to_string();
        assert!(error.starts_with("answers[0].customInput: given, must be left out"), "{error}");
        let noted = Answer { custom_input: None, note: Some("if it is green".into()), ..answer };
        let error = Outcome::answered(&set, vec![noted]).unwrap_err().to_string();
        assert_eq!(error, "answers[0].note: given, must be left out: this question takes no notes");
    }
}

#[test]
fn a_long_list_is_read_searched_and_answered_whole() {
    let lines: Vec<String> = (0..10_000).map(|i| format!("{i:0>500}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let set = QuestionSet::new([pick(&lines).multi_select()], &Rules::pick()).unwrap();
    let all: Vec<usize> = (0..10_000).collect();
    let answer = set.questions()[0].answer(&all, None, None).unwrap();
    assert_eq!(answer.selected_options.len(), 10_000);
    assert!(Outcome::answered(&set, vec![answer]).is_ok());
    let prompt = play(Prompt::new(set, ARMED), "9999<space>").prompt;
    assert_eq!(prompt.draft(0).listed().collect::<Vec<_>>(), [9_999]);
    let long = "x".repeat(501);
    let error = QuestionSet::new([pick(&[&long])], &Rules::pick()).unwrap_err().to_string();
    assert_eq!(error, "questions[0].options[0].label: 501 characters, at most 500");
}

#[test]
fn lines_may_differ_in_case_alone_but_not_in_what_nobody_sees() {
    assert!(QuestionSet::new([pick(&["README", "readme", "Other", "x (Recommended)"])], &Rules::pick()).is_ok());
    let error = QuestionSet::new([pick(&["a", "b", "a\u{200b}"])], &Rules::pick()).unwrap_err().to_string();
    assert_eq!(
        error,
        "questions[0].options[2].label: looks the same as questions[0].options[0].label, labels must differ"
    );
}

#[test]
fn no_input_of_a_model_takes_a_form_of_ours() {
    for rules in [Rules::strict(), Rules::repair()] {
        let mut asked = question("Deploy?", "Deploy", &["Yes", "No"], false);
        asked["form"] = "confirm".into();
        let input = json!({"questions": [asked], "form": "confirm", "rules": Rules::confirm()});
        let set = QuestionSet::parse(input, &rules).unwrap();
        assert_eq!((set.rules().form(), set.questions()[0].form()), (Form::Tool, Form::Tool));
        assert!(set.questions()[0].answer(&[], Some("not today".into()), None).is_some(), "Other is there");
    }
}

#[test]
fn a_stored_question_keeps_its_form() {
    for set in [confirm(), input(), several_files()] {
        let stored = serde_json::to_string(&set).unwrap();
        assert_eq!(serde_json::from_str::<QuestionSet>(&stored).unwrap(), set);
    }
}

#[test]
fn a_question_of_options_alone_takes_no_other_words() {
    let asked = json!({"questions": [question("Size?", "Size", &["Small", "Large"], false)]});
    let set = QuestionSet::parse(asked, &Rules::strict().options_only()).unwrap();
    check(set.clone(), "2", "answered | Size: Large");
    check(set.clone(), "<down><down><enter>", "answered | Size: Large");
    check(set.clone(), "n2", "answered | Size: Large");
    let prompt = Prompt::new(set.clone(), ARMED);
    assert!(prompt.hints().all(|(_, word)| word != "note") && prompt.help().all(|(_, does)| !does.contains("note")));
    let noted = Answer { note: Some("soon".into()), ..set.questions()[0].answer(&[0], None, None).unwrap() };
    assert!(Outcome::answered(&set, vec![noted]).is_err());
}
