//! Line mode as transcripts. A property test checks that it gives the same answers as the screen.

use super::*;
use crate::fixtures::{
    ARMED, authentication, confirm, database, events, features, input, package_manager, pick, question, set_of,
};
use askuser::prompt::Rival;
use askuser::store::Draft;
use askuser::{Limits, Outcome, report};
use proptest::prelude::*;
use std::fmt::Write;

// ---- transcripts ----

/// Returns the conversation as the terminal shows it, with `⏎` after the person's lines, and the outcome.
fn transcript(set: QuestionSet, lines: &[&str]) -> String {
    let mut line_prompt = LinePrompt::new(set, ARMED);
    let mut out = line_prompt.text();
    for line in lines {
        let _ = writeln!(out, "{line}⏎");
        match submit_line(&mut line_prompt, line, &mut out) {
            Effect::Continue | Effect::Edit(_) => out.push_str(&line_prompt.text()),
            Effect::Interrupt => out.push_str("(interrupted)\n"),
            Effect::PutAside(_) => out.push_str("(put aside)\n"),
            Effect::Finish(outcome) => {
                let _ = writeln!(
                    out,
                    "\n({})\n{}",
                    outcome.status().name(),
                    report::prose(line_prompt.prompt.set(), &outcome.clone().through(askuser::Via::Line))
                );
            }
        }
    }
    out
}

/// Submits a line and returns its effect. After the help it continues without a line, as the driver does.
fn submit_line(line_prompt: &mut LinePrompt, line: &str, out: &mut String) -> Effect {
    let effect = line_prompt.submit_line(line, Duration::ZERO);
    if line_prompt.prompt.mode() == InputMode::Help {
        out.push_str(&line_prompt.text());
        return line_prompt.submit_line("", Duration::ZERO);
    }
    effect
}

macro_rules! transcript {
    ($name:ident, $set:expr, $lines:expr) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), transcript($set, &$lines));
        }
    };
}

transcript!(a_yes, confirm(), ["maybe", "?", "y"]);
transcript!(a_text, input(), ["", "Ann"]);
transcript!(a_line_of_a_list, pick(30, false), ["item 2", "zz", "/21", "21"]);
transcript!(several_lines_of_a_list, pick(3, true), ["2", "1,3"]);

#[test]
fn a_number_that_is_not_listed_chooses_nothing() {
    let mut prompt = LinePrompt::new(pick(30, false), ARMED);
    assert_eq!(prompt.submit_line("25", Duration::ZERO), Effect::Continue);
    assert!(prompt.text().starts_with("Type a number that is listed"), "{}", prompt.text());
    let mut prompt = LinePrompt::new(pick(30, false), ARMED);
    prompt.submit_line("/25", Duration::ZERO);
    assert!(matches!(prompt.submit_line("25", Duration::ZERO), Effect::Finish(_)));
}

#[test]
fn enter_takes_what_is_chosen_already() {
    let set = pick(3, true);
    let known = set.questions()[0].answer(&[0, 2], None, None).unwrap();
    let mut line_prompt = LinePrompt::from_prompt(Prompt::new(set, ARMED).prefilled(std::slice::from_ref(&known)));
    assert!(line_prompt.text().contains("  3. item 3 [chosen]\nChoose one or more, or press Enter for what is chosen"));
    let effect = line_prompt.submit_line("", Duration::ZERO);
    assert!(matches!(effect, Effect::Finish(outcome) if outcome.answers() == [known]));
}

transcript!(single, database(), ["2"]);
transcript!(multi, features(), ["1, 3"]);
transcript!(other, package_manager(), ["4", "bun"]);
transcript!(other_and_options_together, features(), ["1 5", "Storybook"]);
transcript!(other_left_again, package_manager(), ["4", "", "1"]);
transcript!(two_questions_and_a_review, authentication(), ["1", "1,2", ""]);
transcript!(back_and_forth, authentication(), ["2", "b", "f", "1", "b", "b", "3", "yes"]);
transcript!(a_change_on_the_review, authentication(), ["2", "1", "1", "3", "y"]);
transcript!(an_incomplete_review, authentication(), ["f", "f", "y", "1", "4", "y"]);
transcript!(
    other_once_more,
    authentication(),
    ["4", "our own\u{2026}", "b", "n 4", "since 2019", "4", "passkeys", "1", "y"]
);
transcript!(notes, authentication(), ["n 2", "for the API", "2", "n 1 3", "soon", "", "1", "y"]);
transcript!(help, database(), ["?", "h", "1"]);
transcript!(help_on_the_review, authentication(), ["1", "1", "help", "y"]);
transcript!(discuss, database(), ["c", "What about licences?"]);
transcript!(discuss_without_words, authentication(), ["1", "c", ""]);
transcript!(decline, database(), ["d", "not today"]);
transcript!(decline_without_a_reason, database(), ["d", ""]);
transcript!(cancel, database(), ["q"]);
transcript!(cancel_after_an_answer, authentication(), ["1", "q", "n", "cancel", "y"]);
transcript!(
    lines_that_mean_nothing,
    database(),
    ["", "postgres", "0", "5", "1,2", "n", "n 9", "99999999999999999999", "1"]
);
transcript!(lines_that_mean_nothing_to_many, features(), ["x", "6", "1,,2"]);
transcript!(lines_that_mean_nothing_on_the_review, authentication(), ["1", "1", "no", "7", "1 2", "n 1", "y"]);

#[test]
fn text_of_several_lines_stays_under_its_number() {
    let options = [("One", "first line\nsecond line"), ("Two (Recommended)", "")];
    let set = set_of(&[question("Which?\nThink well.", "Pick", false, &options)]);
    insta::assert_snapshot!("several_lines", transcript(set, &["2"]));
}

#[test]
fn a_text_that_is_too_long_is_asked_for_again() {
    let long = "x".repeat(Limits::DEFAULT.typed_chars + 1);
    let mut line_prompt = LinePrompt::new(database(), ARMED);
    line_prompt.submit_line("4", Duration::ZERO);
    assert_eq!(line_prompt.submit_line(&long, Duration::ZERO), Effect::Continue);
    assert!(line_prompt.text().starts_with("16001 characters, at most 16000"), "{}", line_prompt.text());
    let Effect::Finish(outcome) = line_prompt.submit_line("short", Duration::ZERO) else { panic!("not answered") };
    assert_eq!(outcome.answers()[0].custom_input.as_deref(), Some("short"));
}

#[test]
fn a_text_that_was_there_already_is_taken_after_one_that_was_too_long() {
    let long = "x".repeat(Limits::DEFAULT.typed_chars + 1);
    let mut line_prompt = LinePrompt::new(database(), ARMED);
    for line in ["n 1", "same", "n 1", &long, "same"] {
        assert_eq!(line_prompt.submit_line(line, Duration::ZERO), Effect::Continue);
    }
    assert_eq!(line_prompt.prompt().mode(), InputMode::Choosing);
}

#[test]
fn a_number_too_large_for_a_question_is_no_question() {
    let mut line_prompt = LinePrompt::new(authentication(), ARMED);
    for line in ["1", "1", "4294967297"] {
        line_prompt.submit_line(line, Duration::ZERO);
    }
    assert_eq!(line_prompt.prompt().page(), Page::Review);
}

// ---- time ----

fn timed() -> LinePrompt {
    LinePrompt::new(database(), PromptOptions { deadline: Some(Duration::from_secs(60)), ..ARMED })
}

#[test]
fn the_time_runs_out_while_nobody_says_anything() {
    let mut line_prompt = timed();
    assert_eq!(line_prompt.tick(Duration::from_secs(59)), Effect::Continue);
    assert_eq!(line_prompt.tick(Duration::from_secs(60)), Effect::Finish(Outcome::timed_out()));
}

#[test]
fn any_line_holds_the_time_even_one_that_means_nothing() {
    for lines in [vec!["4"], vec!["nonsense"], vec![""], vec!["n 1"], vec!["?"]] {
        let mut line_prompt = timed();
        for line in &lines {
            line_prompt.submit_line(line, Duration::from_secs(1));
        }
        assert_eq!(line_prompt.tick(Duration::from_secs(3_600)), Effect::Continue, "{lines:?}");
    }
}

#[test]
fn no_line_is_ignored_for_coming_early() {
    let mut line_prompt = LinePrompt::new(database(), PromptOptions::default());
    assert!(matches!(line_prompt.submit_line("1", Duration::ZERO), Effect::Finish(_)));
}

// ---- the same answers as on a screen ----

/// A person's intended answer to one question.
#[derive(Clone, Debug)]
struct Intent {
    /// The selected rows, which may include Other. A single-select question has one.
    rows: Vec<usize>,
    other: String,
    notes: Vec<(usize, String)>,
}

/// The intended end of a prompt.
#[derive(Clone, Debug)]
enum Finish {
    Answer,
    Cancel,
    Decline(String),
    Discuss(String),
}

#[derive(Clone, Debug)]
struct Plan {
    intents: Vec<Intent>,
    /// The questions that are answered again on the review page.
    changes: Vec<(usize, Intent)>,
    /// The number of questions before the end, unless the prompt is answered.
    end_after: usize,
    finish: Finish,
}

fn any_words() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9?é語👍][a-zA-Z0-9 ,é語👍]{0,12}[a-z語👍]"
}

fn any_intent(set: &QuestionSet, i: usize) -> impl Strategy<Value = Intent> + use<> {
    let question = &set.questions()[i];
    let count = question.options().len() + 1;
    let at_most = if question.is_multi_select() { count } else { 1 };
    let rows = prop::sample::subsequence((0..count).collect::<Vec<_>>(), 1..=at_most);
    let notes = prop::collection::vec((0..count, any_words()), 0..3);
    (rows, any_words(), notes).prop_map(|(rows, other, notes)| Intent { rows, other, notes })
}

fn any_plan() -> impl Strategy<Value = (QuestionSet, Plan)> {
    prop::sample::select(vec![database(), features(), authentication(), package_manager()]).prop_flat_map(|set| {
        let count = set.questions().len();
        let intents: Vec<_> = (0..count).map(|i| any_intent(&set, i)).collect();
        let change = {
            let set = set.clone();
            (0..count).prop_flat_map(move |i| (Just(i), any_intent(&set, i)))
        };
        let changes = prop::collection::vec(change, if count > 1 { 0..3 } else { 0..1 });
        let words = prop_oneof![Just(String::new()), any_words()];
        let finish = prop_oneof![
            4 => Just(Finish::Answer),
            1 => Just(Finish::Cancel),
            1 => words.clone().prop_map(Finish::Decline),
            1 => words.prop_map(Finish::Discuss),
        ];
        let plan = (intents, changes, 0..count, finish);
        let plan = plan.prop_map(|(intents, changes, end_after, finish)| Plan { intents, changes, end_after, finish });
        (Just(set), plan)
    })
}

/// A surface on which a plan can be carried out.
trait Surface {
    fn answer(&mut self, intent: &Intent) -> Effect;
    fn change(&mut self, i: usize) -> Effect;
    fn submit(&mut self) -> Effect;
    fn end(&mut self, finish: &Finish) -> Effect;

    /// Carries out a plan and returns the outcome.
    fn carry_out(&mut self, plan: &Plan) -> Outcome {
        let stop = match plan.finish {
            Finish::Answer => usize::MAX,
            _ => plan.end_after,
        };
        let mut effect = Effect::Continue;
        for intent in plan.intents.iter().take(stop) {
            effect = self.answer(intent);
        }
        if stop == usize::MAX && plan.intents.len() > 1 {
            for (i, intent) in &plan.changes {
                assert_eq!(self.change(*i), Effect::Continue);
                assert_eq!(self.answer(intent), Effect::Continue);
            }
            effect = self.submit();
        } else if stop != usize::MAX {
            effect = self.end(&plan.finish);
        }
        match effect {
            Effect::Finish(outcome) => outcome,
            other => panic!("{other:?} at the end of {plan:?}"),
        }
    }
}

struct TtyMode(Prompt);

impl TtyMode {
    fn press(&mut self, script: &str) -> Effect {
        let apply = |_, event| self.0.update(event, Duration::ZERO);
        events(script).into_iter().fold(Effect::Continue, apply)
    }

    fn key(&mut self, key: Key) -> Effect {
        self.0.update(Event::Key(key), Duration::ZERO)
    }

    fn focus(&mut self, row: usize) {
        let focus = self.0.current().expect("a question").1.focus;
        self.press(&if focus < row { "<down>" } else { "<up>" }.repeat(focus.abs_diff(row)));
    }

    /// Requests an action by its name, because its key works only on some rows.
    fn act(&mut self, action: Action) {
        self.0.update(Event::Act(action), Duration::ZERO);
    }

    /// Replaces the text in the field.
    fn write(&mut self, text: &str) {
        self.key(Key::plain(KeyCode::End));
        self.key(Key::ctrl('u'));
        self.press(text);
    }
}

impl Surface for TtyMode {
    fn answer(&mut self, intent: &Intent) -> Effect {
        for (row, note) in &intent.notes {
            self.focus(*row);
            self.act(Action::Note);
            self.write(note);
            self.press("<enter>");
        }
        let (question, entry) = self.0.current().expect("a question");
        let multi = question.is_multi_select();
        let other = entry.other_row();
        let picked: Vec<bool> = (0..=other).map(|row| entry.is_picked(row)).collect();
        if multi {
            for (row, is_picked) in picked.into_iter().enumerate() {
                let wanted = intent.rows.contains(&row);
                // Typing under Other selects it.
                if is_picked != wanted && !(row == other && wanted) {
                    self.focus(row);
                    self.press("<space>");
                }
            }
        }
        self.focus(*intent.rows.last().expect("something to answer"));
        if intent.rows.contains(&other) {
            self.press("x");
            self.write(&intent.other);
            if multi {
                self.press("<enter>");
            }
        }
        self.press("<enter>")
    }

    fn change(&mut self, i: usize) -> Effect {
        self.press(&(i + 1).to_string())
    }

    fn submit(&mut self) -> Effect {
        self.press("<enter>")
    }

    fn end(&mut self, finish: &Finish) -> Effect {
        match finish {
            Finish::Answer => Effect::Continue,
            Finish::Cancel => match self.press("<esc>") {
                Effect::Continue => self.press("<esc>"),
                ended => ended,
            },
            Finish::Decline(words) => {
                self.act(Action::Decline);
                self.press(&format!("{words}<enter>"))
            }
            Finish::Discuss(words) => {
                self.act(Action::Discuss);
                self.press(&format!("{words}<enter>"))
            }
        }
    }
}

impl Surface for LinePrompt {
    fn answer(&mut self, intent: &Intent) -> Effect {
        for (row, note) in &intent.notes {
            self.submit_line(&format!("n {}", row + 1), Duration::ZERO);
            self.submit_line(note, Duration::ZERO);
        }
        let other = self.prompt.current().expect("a question").1.other_row();
        let rows: Vec<String> = intent.rows.iter().map(|row| (row + 1).to_string()).collect();
        let effect = self.submit_line(&rows.join(","), Duration::ZERO);
        if intent.rows.contains(&other) { self.submit_line(&intent.other, Duration::ZERO) } else { effect }
    }

    fn change(&mut self, i: usize) -> Effect {
        self.submit_line(&(i + 1).to_string(), Duration::ZERO)
    }

    fn submit(&mut self) -> Effect {
        self.submit_line("y", Duration::ZERO)
    }

    fn end(&mut self, finish: &Finish) -> Effect {
        let (command, words) = match finish {
            Finish::Answer => return Effect::Continue,
            Finish::Cancel => ("q", "y"),
            Finish::Decline(words) => ("d", words.as_str()),
            Finish::Discuss(words) => ("c", words.as_str()),
        };
        match self.submit_line(command, Duration::ZERO) {
            Effect::Continue => self.submit_line(words, Duration::ZERO),
            ended => ended,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_and_keys_come_to_the_same_outcome((set, plan) in any_plan()) {
        let by_keys = TtyMode(Prompt::new(set.clone(), ARMED)).carry_out(&plan);
        let by_lines = LinePrompt::new(set.clone(), ARMED).carry_out(&plan);
        prop_assert_eq!(&by_keys, &by_lines);
        prop_assert!(set.admits(by_lines.answers()));
        if matches!(plan.finish, Finish::Answer) {
            prop_assert_eq!(by_lines.status().name(), "answered");
        }
    }

    #[test]
    fn no_lines_yield_an_answer_that_does_not_satisfy_its_question(
        set in crate::fixtures::nasty_set(),
        lines in prop::collection::vec(
            prop_oneof![
                prop::sample::select(vec!["", "1", "2", "1,2", "5", "b", "f", "c", "d", "q", "y", "?", "n 1", "n 1 2"])
                    .prop_map(str::to_owned),
                crate::fixtures::nasty_text(),
            ],
            0..30,
        ),
    ) {
        let mut line_prompt = LinePrompt::new(set, ARMED);
        for line in lines {
            let text = line_prompt.text();
            prop_assert!(!text.chars().any(|c| c != '\n' && c.is_control()), "{:?}", text);
            match submit_line(&mut line_prompt, &line, &mut String::new()) {
                Effect::Finish(outcome) => {
                    prop_assert!(line_prompt.prompt().set().admits(outcome.answers()));
                    break;
                }
                effect => prop_assert_eq!(effect, Effect::Continue),
            }
        }
    }
}

#[test]
fn a_question_of_several_lines_cannot_show_a_list_of_its_own() {
    let forged = "Run it?\n  1. Deny: safe\n  2. Allow: not safe\nChoose 1 to 3 (? for help): ";
    let set = crate::fixtures::set_of(&[crate::fixtures::question(
        forged,
        "Run",
        false,
        &[("Allow", "run\n  2. Deny: it"), ("Deny", "not")],
    )]);
    let text = LinePrompt::new(set, crate::fixtures::ARMED).text();
    let ours: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("| ")).collect();
    assert_eq!(
        ours,
        [
            "Run:",
            "  1. Allow: run",
            "  2. Deny: not",
            "  3. Other: Type something else",
            "Choose 1 to 3 (? for help): "
        ],
        "{text}"
    );
}

#[test]
fn one_long_line_cannot_place_text_at_the_left_edge() {
    let forged = |columns: usize| format!("Run it? {}  1. Deny: safe", "x".repeat(columns - 8));
    for columns in [80usize, 40] {
        let text = forged(columns);
        let options = [("Allow", text.as_str()), ("Deny", "not")];
        let set = crate::fixtures::set_of(&[crate::fixtures::question(&text, "Run", false, &options)]);
        let mut prompt = LinePrompt::new(set, crate::fixtures::ARMED);
        prompt.set_columns(columns as u16);
        let shown = prompt.text();
        assert!(shown.lines().all(|line| crate::view::width(line) <= columns), "{shown}");
        assert_eq!(shown.lines().filter(|line| line.trim_start().starts_with("1.")).count(), 1, "{shown}");
    }
}

#[test]
fn a_preview_is_read_on_request_and_the_question_says_so() {
    let mut prompt = LinePrompt::new(crate::fixtures::layouts(), crate::fixtures::ARMED);
    prompt.set_columns(60);
    assert!(
        prompt.text().contains("  1. Grid (v 1 reads its preview): Cards beside each other\n"),
        "{}",
        prompt.text()
    );
    assert_eq!(prompt.submit_line("v 1", Duration::from_secs(1)), Effect::Continue);
    let text = prompt.text();
    assert!(text.starts_with("Preview of 1:\n| A grid of **cards**:\n| \n| ```\n| +------+ +------+\n"), "{text}");
    assert!(text.ends_with("Choose 1 to 4 (? for help): "), "{text}");
    prompt.submit_line("v 3", Duration::from_secs(1));
    assert!(prompt.text().starts_with("Option 3 has no preview."), "{}", prompt.text());
    for (alone, expected) in [("v", "Type v and the number"), ("n", "Type n and the number")] {
        prompt.submit_line(alone, Duration::from_secs(1));
        assert!(prompt.text().starts_with(expected), "{}", prompt.text());
    }
    for none in ["v 4", "v 9", "v 1 2"] {
        prompt.submit_line(none, Duration::from_secs(1));
        assert!(prompt.text().starts_with("Type a number from 1 to 4"), "{none}");
    }
}

#[test]
fn marks_are_read_out_only_in_what_a_person_agrees_to() {
    let options = [("Yes", "Go **now**"), ("No", "Stop")];
    let set = set_of(&[question("Use **Rust** and `cargo`?", "Plan", false, &options)]);
    let text = LinePrompt::new(set.clone(), ARMED).text();
    assert!(text.contains("Use Rust and `cargo`?\n  1. Yes: Go now\n"), "{text}");
    let key = askuser::RequestKey::new("s", "1").for_purpose(askuser::Purpose::Permission);
    let request = askuser::Request::new(key, set);
    let text = LinePrompt::from_prompt(Prompt::of(&request, Duration::ZERO)).text();
    assert!(text.contains("Use **Rust** and `cargo`?\n  1. Yes: Go **now**\n"), "{text}");
}

#[test]
fn a_person_who_notes_something_beside_a_yes_is_told_that_it_holds_it_up() {
    let typing = |purpose, line: &str| {
        let set = set_of(&[question("Run it?", "Bash", false, &[("Allow once", "a"), ("Don't run it", "b")])]);
        let request = askuser::Request::new(askuser::RequestKey::new("s", "1").for_purpose(purpose), set);
        let mut prompt = LinePrompt::from_prompt(Prompt::of(&request, Duration::ZERO));
        prompt.submit_line(line, Duration::ZERO);
        prompt.text()
    };
    use askuser::Purpose;
    let told = "With a note it does not run yet: the agent reads the note and may ask again.\nNote on Allow once (empty for none): ";
    assert_eq!(typing(Purpose::Permission, "n 1"), told);
    assert_eq!(typing(Purpose::Permission, "n 2"), "Note on Don't run it (empty for none): ");
    assert_eq!(typing(Purpose::Question, "n 1"), "Note on Allow once (empty for none): ");
}

#[test]
fn a_label_is_as_good_as_its_number() {
    for line in ["MongoDB", "mongodb", "2"] {
        let mut prompt = LinePrompt::new(database(), ARMED);
        let Effect::Finish(outcome) = prompt.submit_line(line, Duration::from_secs(1)) else { panic!("{line}") };
        assert_eq!(outcome.answers()[0].selected_options, ["MongoDB"], "{line}");
    }
    let mut prompt = LinePrompt::new(database(), ARMED);
    assert_eq!(prompt.submit_line("Mongo", Duration::from_secs(1)), Effect::Continue);
}

#[test]
fn a_line_chooses_between_two_drafts() {
    let rival = Rival {
        draft: Draft { discuss: Some("LDAP?".into()), ..Draft::default() },
        summary: "Typed on phone just now: LDAP?".into(),
    };
    for (line, expected) in [("keep", Some("LDAP?")), ("mine", None)] {
        let mut prompt = LinePrompt::new(database(), PromptOptions::default());
        assert!(!prompt.text().contains("Typed on"));
        prompt.prompt.offer(Some(rival.clone()));
        let offered = "Typed on phone just now: LDAP?. Type keep to keep it, mine to use yours.\n";
        assert!(prompt.text().contains(offered), "{}", prompt.text());
        assert_eq!(prompt.submit_line(line, Duration::from_secs(1)), Effect::Continue);
        assert_eq!(prompt.prompt().unsent().discuss.as_deref(), expected);
        assert_eq!(prompt.prompt().rival(), None);
    }
}
