//! Tests of the state machine by key scripts. Each result is one line.

mod forms;
mod reading;
mod scrolling;
mod triggers;

use super::*;
use crate::draft::Unsent;
use crate::key::{KeyCode, Mods};
use crate::outcome::{Answer, Status};
use crate::question::QuestionSet;
use crate::request::{Request, RequestKey};
use crate::rules::{Form, Rules};
use crate::sanitize::tests::nasty_text;
use crate::text::Text;
use proptest::prelude::*;
use serde_json::json;
use std::time::Duration;

// ---- fixtures: the proposals' examples ----

fn question(text: &str, header: &str, labels: &[&str], multi_select: bool) -> serde_json::Value {
    let options: Vec<_> = labels.iter().map(|label| json!({"label": label, "description": "What it means"})).collect();
    json!({"question": text, "header": header, "options": options, "multiSelect": multi_select})
}

fn set_of(questions: &[serde_json::Value]) -> QuestionSet {
    QuestionSet::parse(json!({"questions": questions}), &Rules::default()).expect("a valid input")
}

/// Returns one single-select question with three options.
fn database() -> QuestionSet {
    let labels = ["PostgreSQL (Recommended)", "MongoDB", "SQLite"];
    set_of(&[question("Which database should we use?", "Database", &labels, false)])
}

/// Returns one multi-select question with four options.
fn features() -> QuestionSet {
    let labels = ["TypeScript", "ESLint + Prettier", "Testing (Vitest)", "Tailwind, CSS"];
    set_of(&[question("Which features should we enable?", "Features", &labels, true)])
}

/// Returns a single-select question and a multi-select question.
fn auth() -> QuestionSet {
    set_of(&[
        question("Which method?", "Auth Method", &["OAuth 2.0 (Recommended)", "JWT", "Session-based"], false),
        question("Which providers?", "Providers", &["Google", "GitHub", "Microsoft", "Apple"], true),
    ])
}

fn three() -> QuestionSet {
    set_of(&["One", "Two", "Three"].map(|name| question(&format!("{name}?"), name, &["a", "b"], false)))
}

// ---- key scripts ----

const ARMED: PromptOptions = PromptOptions { key_delay: Duration::ZERO, deadline: None };

/// A prompt that plays a script, with the elapsed time.
struct Played {
    prompt: Prompt,
    now: Duration,
    effect: Effect,
}

/// Parses the events of a script. `<name>` is a key that types no character; any other text is typed.
fn events(script: &str) -> Vec<(Event, Duration)> {
    let mut events = Vec::new();
    let mut rest = script;
    while let Some(c) = rest.chars().next() {
        let Some(end) = rest.find('>').filter(|_| c == '<') else {
            events.push((Event::Key(Key::plain(KeyCode::Char(c))), Duration::ZERO));
            rest = &rest[c.len_utf8()..];
            continue;
        };
        let name = &rest[1..end];
        rest = &rest[end + 1..];
        events.push(match name.split_once(':') {
            Some(("paste", text)) => (Event::Paste(text.into()), Duration::ZERO),
            Some(("edited", text)) => (Event::Edited(text.into()), Duration::ZERO),
            Some(("wait", millis)) => (Event::Tick, Duration::from_millis(millis.parse().expect("milliseconds"))),
            _ => (Event::Key(key(name)), Duration::ZERO),
        });
    }
    events
}

fn key(name: &str) -> Key {
    if let Some(rest) = name.strip_prefix("c-") {
        return Key { mods: Mods::CTRL, ..key(rest) };
    }
    if let Some(rest) = name.strip_prefix("a-") {
        return Key { mods: Mods::ALT, ..key(rest) };
    }
    let code = match name {
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "pgup" => KeyCode::PageUp,
        "pgdn" => KeyCode::PageDown,
        "tab" => KeyCode::Tab,
        "backtab" => KeyCode::BackTab,
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "space" => KeyCode::Char(' '),
        "bs" => KeyCode::Backspace,
        "del" => KeyCode::Delete,
        _ => {
            let mut chars = name.chars();
            match (chars.next(), chars.next()) {
                (Some(c), None) => KeyCode::Char(c),
                _ => panic!("<{name}> is no key"),
            }
        }
    };
    Key::plain(code)
}

fn play(prompt: Prompt, script: &str) -> Played {
    let mut played = Played { prompt, now: Duration::ZERO, effect: Effect::Continue };
    played.play(script);
    played
}

impl Played {
    fn play(&mut self, script: &str) {
        for (event, wait) in events(script) {
            let over = matches!(self.effect, Effect::Finish(_) | Effect::PutAside(_) | Effect::Interrupt);
            assert!(!over, "{event:?} after {}", self.line());
            self.now += wait;
            self.effect = self.prompt.update(event, self.now);
        }
    }

    /// Describes the result in one line: the ending or the page, the answers, and the notice.
    fn line(&self) -> String {
        let (place, answers) = match &self.effect {
            Effect::Interrupt => return "interrupted".into(),
            Effect::Finish(outcome) => (status(outcome), outcome.answers().to_vec()),
            Effect::PutAside(draft) => {
                let typed = |unsent: &Unsent| unsent.answer.custom_input.clone().or(unsent.typed.clone());
                let answer = |unsent: &Unsent| Answer { custom_input: typed(unsent), ..unsent.answer.clone() };
                ("put aside".into(), draft.answers.iter().map(answer).collect())
            }
            Effect::Edit(text) => (format!("editor “{text}”"), self.prompt.answers()),
            Effect::Continue => (self.place(), self.prompt.answers()),
        };
        assert!(self.prompt.set().admits(&answers), "{answers:?}");
        let answers: Vec<String> = answers.iter().map(answer_line).collect();
        let notice = self.prompt.notice().filter(|_| self.effect == Effect::Continue);
        let told = notice.map(|notice| format!(" ! {}", notice.text)).unwrap_or_default();
        format!("{place} | {}{told}", answers.join("; "))
    }

    fn place(&self) -> String {
        let page = match self.prompt.page() {
            Page::Question(i) => {
                let (question, entry) = self.prompt.current().expect("a question");
                let name = question.options().get(entry.focus).map_or("Other", |option| option.name());
                format!("{} on {name}", i + 1)
            }
            Page::Review => "review".into(),
        };
        match self.prompt.mode() {
            InputMode::Choosing => page,
            InputMode::Leaving => format!("{page}, leaving"),
            InputMode::Help => format!("{page}, help"),
            InputMode::Typing(field) => {
                let text = self.prompt.text().expect("a text");
                let (before, after) = text.as_str().split_at(text.caret());
                let field = match field {
                    TextField::Other => "other",
                    TextField::Note(_) => "note",
                    TextField::Discuss => "discuss",
                    TextField::Decline => "decline",
                };
                format!("{page}, {field} “{before}█{after}”")
            }
        }
    }
}

fn status(outcome: &Outcome) -> String {
    let words = match outcome.status() {
        Status::Declined { reason } => reason.clone(),
        Status::Discuss { message } => message.clone(),
        _ => None,
    };
    format!("{}{}", outcome.status().name(), words.map(|words| format!(" “{words}”")).unwrap_or_default())
}

fn answer_line(answer: &Answer) -> String {
    let mut parts: Vec<String> = crate::report::names(answer).collect();
    parts.extend(answer.custom_input.as_ref().map(|text| format!("“{text}”")));
    let note = answer.note.as_ref().map(|note| format!(" (note: {note})")).unwrap_or_default();
    format!("{}: {}{note}", answer.header, parts.join(" + "))
}

#[track_caller]
fn check(set: QuestionSet, script: &str, expected: &str) {
    check_with(set, ARMED, script, expected);
}

#[track_caller]
fn check_with(set: QuestionSet, settings: PromptOptions, script: &str, expected: &str) {
    assert_eq!(play(Prompt::new(set, settings), script).line(), expected, "after {script:?}");
}

// ---- the proposals' manual checklist ----

#[test]
fn a_single_question_is_answered_with_enter() {
    check(database(), "<enter>", "answered | Database: PostgreSQL");
    check(database(), "<down><enter>", "answered | Database: MongoDB");
}

#[test]
fn a_multi_select_question_is_ticked_and_confirmed() {
    check(
        features(),
        "<space><down><space><down><down><space><enter>",
        "answered | Features: TypeScript + ESLint + Prettier + Tailwind, CSS",
    );
}

#[test]
fn several_questions_are_answered_in_turn_reviewed_and_submitted() {
    check(auth(), "<enter>", "2 on Google | Auth Method: OAuth 2.0");
    check(auth(), "<enter>12<enter>", "review | Auth Method: OAuth 2.0; Providers: Google + GitHub");
    check(auth(), "<enter>12<enter><enter>", "answered | Auth Method: OAuth 2.0; Providers: Google + GitHub");
}

#[test]
fn other_takes_an_answer_in_own_words() {
    check(database(), "<down><down><down><enter>bun<enter>", "answered | Database: “bun”");
}

#[test]
fn other_is_one_of_several_choices_of_a_multi_select_question() {
    check(features(), "15Storybook<enter><enter>", "answered | Features: TypeScript + “Storybook”");
}

// ---- moving ----

#[test]
fn arrows_letters_and_control_keys_move() {
    for (down, up) in [("<down>", "<up>"), ("j", "k"), ("<c-n>", "<c-p>")] {
        check(database(), down, "1 on MongoDB | ");
        check(database(), &format!("{down}{down}{up}"), "1 on MongoDB | ");
    }
}

#[test]
fn moving_stops_at_the_ends() {
    check(database(), "<up>", "1 on PostgreSQL | ");
    check(database(), "<down><down><down><down><down>", "1 on Other | ");
    check(database(), "<down><down><down><down><down><up>", "1 on SQLite | ");
}

#[test]
fn moving_answers_nothing() {
    check(features(), "jjkj", "1 on Testing (Vitest) | ");
}

// ---- Enter ----

#[test]
fn enter_with_nothing_ticked_ticks_the_focused_option_and_only_another_enter_sends_it() {
    let ticked = "1 on ESLint + Prettier | Features: ESLint + Prettier ! Selected. Enter again to continue";
    check(features(), "<down><enter>", ticked);
    check(features(), "<down><enter><enter>", "answered | Features: ESLint + Prettier");
    check(
        auth(),
        "1<enter>",
        "2 on Google | Auth Method: OAuth 2.0; Providers: Google ! Selected. Enter again to continue",
    );
}

#[test]
fn a_word_typed_on_other_is_its_text_and_declines_nothing() {
    check(database(), "<down><down><down>deno<enter>", "answered | Database: “deno”");
    check(features(), "<up><down><down><down><down>cdn?<enter>", "1 on Other | Features: “cdn?”");
    check(database(), "<down><down><down><paste:bun><enter>", "answered | Database: “bun”");
}

#[test]
fn digits_and_space_on_other_are_keys() {
    check(database(), "<down><down><down>2", "answered | Database: MongoDB");
    check(database(), "<down><down><down><space>", "1 on Other, other “█” | ");
}

#[test]
fn a_word_typed_on_other_before_the_prompt_is_armed_is_ignored() {
    let known = known(&database(), &[]);
    let mut prompt = Prompt::new(database(), PromptOptions::default()).prefilled(&known);
    prompt.drafts[0].focus = 3;
    assert_eq!(prompt.update(Event::Key(Key::plain(KeyCode::Char('x'))), Duration::ZERO), Effect::Continue);
    assert!(prompt.drafts[0].other.is_empty());
}

#[test]
fn the_cursor_starts_on_the_recommended_option() {
    let labels = ["SQLite", "PostgreSQL (Recommended)", "MongoDB"];
    let set = set_of(&[question("Which database?", "Database", &labels, false)]);
    check(set, "<enter>", "answered | Database: PostgreSQL");
}

#[test]
fn a_mark_follows_the_cursor_so_that_what_is_marked_is_what_enter_sends() {
    check(database(), "<space><down>", "1 on MongoDB | Database: MongoDB");
    check(database(), "<space><down><enter>", "answered | Database: MongoDB");
    // On the row of an empty Other, Enter starts typing and sends no answer.
    check(database(), "<space><down><down><down>", "1 on Other | Database: SQLite");
    check(database(), "<down>", "1 on MongoDB | ");
}

#[test]
fn enter_with_something_ticked_does_not_add_the_focused_option() {
    check(features(), "<space><down><enter>", "answered | Features: TypeScript");
}

#[test]
fn enter_on_other_opens_the_text_field() {
    check(database(), "<down><down><down><enter>", "1 on Other, other “█” | ");
    check(features(), "1<up><down><down><down><down><down><enter>", "1 on Other, other “█” | Features: TypeScript");
}

#[test]
fn enter_on_an_empty_other_asks_for_an_answer() {
    let told = "! Type an answer, or press Esc to go back";
    check(database(), "4<enter>", &format!("1 on Other, other “█” |  {told}"));
    check(database(), "4<space><enter>", &format!("1 on Other, other “ █” |  {told}"));
    check(features(), "15<enter>", &format!("1 on Other, other “█” | Features: TypeScript {told}"));
}

#[test]
fn enter_on_another_option_replaces_a_typed_answer() {
    check(auth(), "4own<enter><tab><tab><backtab><backtab><up><enter>", "2 on Google | Auth Method: Session-based");
}

// ---- Space ----

#[test]
fn space_toggles_and_toggles_back() {
    check(features(), "<space>", "1 on TypeScript | Features: TypeScript");
    check(features(), "<space><space>", "1 on TypeScript | ");
}

#[test]
fn space_marks_one_option_of_a_single_select_question_without_going_on() {
    check(database(), "<space>", "1 on PostgreSQL | Database: PostgreSQL");
    check(database(), "<space><down><space>", "1 on MongoDB | Database: MongoDB");
}

#[test]
fn space_on_an_empty_other_opens_the_text_field() {
    check(features(), "<down><down><down><down><space>", "1 on Other, other “█” | ");
}

#[test]
fn space_toggles_an_other_that_has_text() {
    check(features(), "5own<esc>", "1 on Other | ");
    check(features(), "5own<esc><space>", "1 on Other | Features: “own”");
    check(features(), "5own<esc><space><space>", "1 on Other | ");
}

// ---- digits ----

#[test]
fn a_digit_chooses_and_goes_on() {
    check(database(), "3", "answered | Database: SQLite");
    check(auth(), "2", "2 on Google | Auth Method: JWT");
}

#[test]
fn a_digit_toggles_in_a_multi_select_question() {
    check(features(), "13", "1 on Testing (Vitest) | Features: TypeScript + Testing (Vitest)");
    check(features(), "131", "1 on TypeScript | Features: Testing (Vitest)");
}

#[test]
fn the_last_digit_is_other() {
    check(database(), "4", "1 on Other, other “█” | ");
    check(features(), "5", "1 on Other, other “█” | ");
}

#[test]
fn a_digit_out_of_range_is_rejected() {
    for digit in ["0", "5", "9"] {
        check(database(), digit, "1 on PostgreSQL |  ! Choose 1 to 4");
    }
    check(features(), "6", "1 on TypeScript |  ! Choose 1 to 5");
}

#[test]
fn a_rejected_key_shows_for_a_moment_and_its_words_until_the_next_key() {
    let mut played = play(Prompt::new(database(), ARMED), "9");
    assert!(played.prompt.is_flashing());
    assert_eq!(played.prompt.next_change(), Some(Duration::from_millis(400)));
    played.play("<wait:400>");
    assert!(!played.prompt.is_flashing());
    assert_eq!(played.prompt.next_change(), None);
    assert_eq!(played.line(), "1 on PostgreSQL |  ! Choose 1 to 4");
    played.play("j");
    assert_eq!(played.line(), "1 on MongoDB | ");
}

#[test]
fn digits_inside_other_are_text() {
    check(database(), "4ext4 or 12<enter>", "answered | Database: “ext4 or 12”");
}

#[test]
fn letters_with_a_meaning_are_text_inside_other() {
    check(database(), "4nd c?jk<enter>", "answered | Database: “nd c?jk”");
}

// ---- turning pages ----

#[test]
fn arrows_and_tabs_turn_pages() {
    for (next, previous) in [("<right>", "<left>"), ("<tab>", "<backtab>")] {
        check(auth(), next, "2 on Google | ");
        check(auth(), &format!("{next}{next}"), "review | ");
        check(auth(), &format!("{next}{next}{next}"), "review | ");
        check(auth(), &format!("{next}{next}{previous}"), "2 on Google | ");
        check(auth(), previous, "1 on OAuth 2.0 | ");
    }
}

#[test]
fn a_single_question_has_no_other_page() {
    check(database(), "<tab><right><backtab><left>", "1 on PostgreSQL | ");
}

#[test]
fn answers_and_cursor_stay_when_pages_turn() {
    check(auth(), "2<space>3<tab><backtab><backtab>", "1 on JWT | Auth Method: JWT; Providers: Google + Microsoft");
    check(auth(), "2<space>3<tab><backtab>", "2 on Microsoft | Auth Method: JWT; Providers: Google + Microsoft");
}

#[test]
fn tab_while_typing_keeps_the_draft() {
    check(auth(), "4draft<tab>", "2 on Google | ");
    check(auth(), "4draft<tab><backtab><enter>", "1 on Other, other “draft█” | ");
    check(auth(), "4draft<tab><backtab><enter>ed<enter>", "2 on Google | Auth Method: “drafted”");
}

#[test]
fn tab_while_typing_into_the_only_question_changes_nothing() {
    check(database(), "4draft<tab><backtab>", "1 on Other, other “draft█” | ");
}

#[test]
fn tab_keeps_notes() {
    check(auth(), "nwith PKCE<tab><backtab>n", "1 on OAuth 2.0, note “with PKCE█” | ");
    check(auth(), "nwith PKCE<tab><backtab><enter>", "2 on Google | Auth Method: OAuth 2.0 (note: with PKCE)");
}

#[test]
fn an_earlier_answer_can_be_changed() {
    check(auth(), "1<left>2", "2 on Google | Auth Method: JWT");
}

#[test]
fn answering_goes_on_to_the_next_open_question() {
    check(three(), "<tab>1", "3 on a | Two: a");
    check(three(), "<tab>1<backtab><backtab>2", "3 on a | One: b; Two: a");
    check(three(), "<tab><tab>1", "1 on a | Three: a");
    check(three(), "<tab><tab>112", "review | One: a; Two: b; Three: a");
}

// ---- review ----

#[test]
fn nothing_is_submitted_before_the_review() {
    check(three(), "111", "review | One: a; Two: a; Three: a");
    check(three(), "111<enter>", "answered | One: a; Two: a; Three: a");
}

#[test]
fn an_unanswered_question_is_never_submitted() {
    check(auth(), "<tab><tab><enter>", "1 on OAuth 2.0 |  ! Question 1 has no answer yet");
    check(auth(), "1<tab><enter>", "2 on Google | Auth Method: OAuth 2.0 ! Question 2 has no answer yet");
}

#[test]
fn a_digit_on_the_review_changes_that_answer() {
    check(three(), "1112", "2 on a | One: a; Two: a; Three: a");
    check(three(), "11122", "review | One: a; Two: b; Three: a");
}

#[test]
fn a_digit_out_of_range_is_rejected_on_the_review() {
    check(three(), "1114", "review | One: a; Two: a; Three: a ! There are 3 questions");
    check(three(), "1110", "review | One: a; Two: a; Three: a ! There are 3 questions");
}

#[test]
fn one_can_still_talk_decline_or_leave_on_the_review() {
    let all = "One: a; Two: a; Three: a";
    check(three(), "111cwait<enter>", &format!("discuss “wait” | {all}"));
    check(three(), "111dno<enter>", &format!("declined “no” | {all}"));
    check(three(), "111<esc><esc>", &format!("cancelled | {all}"));
}

#[test]
fn a_choice_unticked_on_the_way_to_the_review_is_no_answer() {
    check(auth(), "11<enter>21<tab><enter>", "2 on Google | Auth Method: OAuth 2.0 ! Question 2 has no answer yet");
}

// ---- notes ----

#[test]
fn a_note_goes_with_the_choice() {
    check(database(), "nfor now<enter>", "1 on PostgreSQL | ");
    check(database(), "nfor now<enter><enter>", "answered | Database: PostgreSQL (note: for now)");
}

#[test]
fn a_note_clears_no_pick() {
    check(features(), "<space>nstrict<enter>", "1 on TypeScript | Features: TypeScript (note: strict)");
    check(database(), "<space>nfor now<esc>", "1 on PostgreSQL | Database: PostgreSQL (note: for now)");
}

#[test]
fn a_note_alone_is_no_answer() {
    check(auth(), "nfor now<enter><tab><tab><enter>", "1 on OAuth 2.0 |  ! Question 1 has no answer yet");
}

#[test]
fn a_note_on_another_option_says_which() {
    check(
        database(),
        "<down>ntoo loose<enter><up><enter>",
        "answered | Database: PostgreSQL (note: MongoDB: too loose)",
    );
}

#[test]
fn notes_on_several_options_each_say_which() {
    check(
        features(),
        "<space>nstrict<enter><down><down><space>nunit<enter><enter>",
        "answered | Features: TypeScript + Testing (Vitest) (note: TypeScript: strict\nTesting (Vitest): unit)",
    );
}

#[test]
fn a_note_on_other_goes_with_the_typed_text() {
    let mut played = play(Prompt::new(database(), ARMED), "4bun<esc>");
    assert_eq!(played.prompt.update(Event::Act(Action::Note), Duration::ZERO), Effect::Continue);
    played.play("fast<enter><enter><enter>");
    assert_eq!(played.line(), "answered | Database: “bun” (note: fast)");
}

#[test]
fn a_blank_note_is_none() {
    check(database(), "n <enter><enter>", "answered | Database: PostgreSQL");
}

// ---- discuss, decline ----

#[test]
fn one_can_talk_first() {
    check(database(), "c", "1 on PostgreSQL, discuss “█” | ");
    check(database(), "c<enter>", "discuss | ");
    check(database(), "cWhat does it cost?<enter>", "discuss “What does it cost?” | ");
}

#[test]
fn one_can_decline_with_or_without_a_reason() {
    check(database(), "d", "1 on PostgreSQL, decline “█” | ");
    check(database(), "d<enter>", "declined | ");
    check(database(), "dNone of these<enter>", "declined “None of these” | ");
}

#[test]
fn talking_and_declining_keep_the_answers_so_far() {
    check(auth(), "2chm<enter>", "discuss “hm” | Auth Method: JWT");
    check(auth(), "2d<enter>", "declined | Auth Method: JWT");
}

#[test]
fn one_can_come_back_from_talking_and_declining() {
    check(database(), "chm<esc>", "1 on PostgreSQL | ");
    check(database(), "chm<esc>c", "1 on PostgreSQL, discuss “hm█” | ");
    check(database(), "dno<esc>d", "1 on PostgreSQL, decline “no█” | ");
    check(database(), "dno<esc><enter>", "answered | Database: PostgreSQL");
}

#[test]
fn what_is_to_be_talked_about_is_kept_across_pages() {
    check(auth(), "chm<tab>c", "2 on Google, discuss “hm█” | ");
}

// ---- Esc ----

#[test]
fn esc_cancels_at_once_where_nothing_would_be_lost() {
    check(database(), "<esc>", "cancelled | ");
    check(auth(), "<down><tab><esc>", "cancelled | ");
}

#[test]
fn esc_asks_once_more_where_something_would_be_lost() {
    check(auth(), "2<esc>", "2 on Google, leaving | Auth Method: JWT");
    check(auth(), "2<esc><esc>", "cancelled | Auth Method: JWT");
}

#[test]
fn a_draft_or_a_note_would_be_lost_too() {
    check(database(), "4draft<esc><esc>", "1 on Other, leaving | ");
    check(database(), "nnote<esc><esc>", "1 on PostgreSQL, leaving | ");
    check(database(), "cwhy<esc><esc>", "1 on PostgreSQL, leaving | ");
    check(database(), "dwhy<esc><esc>", "1 on PostgreSQL, leaving | ");
}

#[test]
fn any_other_key_stays_and_does_nothing_else() {
    for key in ["<enter>", "<space>", "3", "j", "<tab>", "d"] {
        check(auth(), &format!("2<esc>{key}"), "2 on Google | Auth Method: JWT");
    }
}

#[test]
fn esc_while_typing_goes_back_to_the_options_and_keeps_the_draft() {
    check(database(), "4draft<esc>", "1 on Other | ");
    check(database(), "4draft<esc><enter>", "1 on Other, other “draft█” | ");
    check(database(), "4<esc><up><enter>", "answered | Database: SQLite");
}

#[test]
fn a_draft_that_was_not_confirmed_is_no_answer() {
    check(auth(), "4draft<esc><tab>1<tab><enter>", "1 on Other | Providers: Google ! Question 1 has no answer yet");
}

#[test]
fn a_draft_does_not_replace_a_pick() {
    check(auth(), "2<left>4draft<esc>", "1 on Other | Auth Method: JWT");
}

#[test]
fn a_typed_answer_that_was_deleted_is_no_answer() {
    check(auth(), "4a<enter><left><enter><bs>", "1 on Other, other “█” | ");
    check(auth(), "4a<enter><left><enter><bs><esc>", "1 on Other | ");
    for leave in ["<esc>", "<tab><left>"] {
        check(auth(), &format!("4a<enter><left><enter><bs>{leave}<enter>b<tab>"), "2 on Google | ");
    }
}

// ---- interrupt, help ----

#[test]
fn ctrl_c_interrupts_everywhere() {
    for before in ["", "4draft", "n", "c", "?", "<space><esc>"] {
        check(database(), &format!("{before}<c-c>"), "interrupted");
    }
    check(three(), "111<c-c>", "interrupted");
    check_with(database(), PromptOptions::default(), "<c-c>", "interrupted");
}

#[test]
fn a_question_mark_shows_all_keys() {
    check(database(), "?", "1 on PostgreSQL, help | ");
    check(three(), "111?", "review, help | One: a; Two: a; Three: a");
}

#[test]
fn any_key_closes_the_help_and_does_nothing_else() {
    for key in ["?", "<esc>", "<enter>", "<space>", "2", "j", "d"] {
        check(database(), &format!("?{key}"), "1 on PostgreSQL | ");
    }
}

#[test]
fn a_key_without_a_meaning_does_nothing() {
    check(database(), "zZ!<c-x><a-x><bs><del><home><end>", "1 on PostgreSQL | ");
    check(database(), "4a<c-x><a-x>", "1 on Other, other “a█” | ");
}

// ---- typing ----

#[test]
fn text_is_edited_where_the_caret_is() {
    check(database(), "4bn<left>u", "1 on Other, other “bu█n” | ");
    check(database(), "4bunn<bs><home>a <enter>", "answered | Database: “a bun”");
}

#[test]
fn text_may_have_several_lines() {
    for newline in ["<a-enter>", "<c-j>"] {
        check(database(), &format!("4one{newline}two<enter>"), "answered | Database: “one\ntwo”");
    }
}

#[test]
fn one_backspace_removes_what_looks_like_one_character() {
    check(database(), "4a👨‍👩‍👧‍👦<bs>b<enter>", "answered | Database: “ab”");
}

#[test]
fn a_paste_goes_into_the_text_cleaned() {
    check(database(), "4<paste:one\r\ntwo\u{1b}[31m><enter>", "answered | Database: “one\ntwo”");
}

#[test]
fn a_paste_with_a_newline_submits_nothing() {
    check(database(), "4<paste:rm -rf /\n>", "1 on Other, other “rm -rf /\n█” | ");
}

#[test]
fn a_paste_among_the_options_answers_nothing() {
    let told = "! Choose Other or press n before pasting";
    check(database(), "<paste:2\n>", &format!("1 on PostgreSQL |  {told}"));
    check(features(), "<paste:1 2 3\n>", &format!("1 on TypeScript |  {told}"));
    check(three(), "111<paste:\n>", &format!("review | One: a; Two: a; Three: a {told}"));
}

#[test]
fn a_paste_neither_leaves_nor_stays() {
    check(
        database(),
        "<space><esc><paste:x>",
        "1 on PostgreSQL, leaving | Database: PostgreSQL ! Choose Other or press n before pasting",
    );
}

#[test]
fn text_has_at_most_16_000_characters() {
    let full = "é".repeat(16_000);
    let told = "! At most 16000 characters";
    check(database(), &format!("4<paste:{full}><enter>"), &format!("answered | Database: “{full}”"));
    check(database(), &format!("4<paste:{full}>x"), &format!("1 on Other, other “{full}█” |  {told}"));
    check(database(), &format!("4<paste:{full}><a-enter>"), &format!("1 on Other, other “{full}█” |  {told}"));
}

#[test]
fn a_paste_that_is_too_long_leaves_what_was_there_and_says_how_long_it_is_and_what_fits() {
    let told = "! Not pasted: 16500 characters, room for 15997 (at most 16000)";
    check(database(), &format!("4bun<paste:{}>", "x".repeat(16_500)), &format!("1 on Other, other “bun█” |  {told}"));
    let full = "é".repeat(16_000);
    let told = "! Not pasted: 4 characters, room for 0 (at most 16000)";
    check(database(), &format!("4<paste:{full}><paste:more>"), &format!("1 on Other, other “{full}█” |  {told}"));
}

#[test]
fn a_paste_of_nothing_that_can_be_shown_is_not_called_too_long() {
    check(database(), "4bun<paste:\u{7}>", "1 on Other, other “bun█” |  ! Not pasted: nothing in it that can be shown");
}

#[test]
fn notes_reasons_and_messages_have_the_same_limit() {
    let full = "é".repeat(16_000);
    for (key, field) in [("n", "note"), ("c", "discuss"), ("d", "decline")] {
        let expected = format!("1 on PostgreSQL, {field} “{full}█” |  ! At most 16000 characters");
        check(database(), &format!("{key}<paste:{full}>x"), &expected);
    }
}

#[test]
fn full_notes_on_every_option_are_still_an_answer() {
    let full = "é".repeat(16_000);
    let note = format!("<space>n<paste:{full}><enter><down>");
    let script = format!("{}n<paste:{full}><enter><up><enter>", note.repeat(4));
    let played = play(Prompt::new(features(), ARMED), &script);
    assert!(played.line().starts_with("answered | Features: TypeScript + "), "{}", &played.line()[..60]);
}

// ---- the external editor ----

#[test]
fn the_editor_gets_the_text_and_gives_it_back() {
    check(database(), "4bun<c-g>", "editor “bun” | ");
    check(database(), "4bun<c-g><edited:deno\nor bun\n>", "1 on Other, other “deno\nor bun█” | ");
    check(database(), "4bun<c-g><edited:deno\n><enter>", "answered | Database: “deno”");
}

#[test]
fn the_editor_opens_from_the_row_of_other() {
    check(database(), "<down><down><down><c-g>", "editor “” | ");
    check(database(), "<down><down><down><c-g><edited:bun>", "1 on Other, other “bun█” | ");
}

#[test]
fn the_editor_needs_a_text() {
    check(database(), "<c-g>", "1 on PostgreSQL |  ! Choose Other or press n to have a text to edit");
}

#[test]
fn notes_can_be_edited_too() {
    check(database(), "nfor<c-g><edited:for now><enter><enter>", "answered | Database: PostgreSQL (note: for now)");
}

#[test]
fn an_edit_that_is_too_long_leaves_what_was_there() {
    check(
        database(),
        &format!("4bun<c-g><edited:{}>", "x".repeat(16_001)),
        "1 on Other, other “bun█” |  ! 16001 characters, at most 16000",
    );
}

#[test]
fn an_edit_nobody_asked_for_is_ignored() {
    check(database(), "<edited:bun>", "1 on PostgreSQL | ");
}

// ---- arming ----

#[test]
fn text_that_a_person_asked_to_type_is_not_eaten_while_arming() {
    // Before keys count, only the editor opens a text field.
    let prompt = Prompt::new(database(), PromptOptions { key_delay: Duration::from_secs(9), deadline: None });
    let mut played = play(prompt, "<down><down><down><down><c-g>a 1 b");
    assert_eq!(played.prompt.text().map(|text| text.as_str()), Some("a 1 b"));
    played.play("<enter>");
    assert_eq!(played.line(), "answered | Database: “a 1 b”");
}

const EARLY: &str = " ! Not taken: keys count once you stop typing for a moment";
const ARMING: PromptOptions = PromptOptions { key_delay: Duration::from_millis(250), deadline: None };

#[test]
fn keys_that_answer_are_ignored_until_the_prompt_is_armed() {
    for key in ["<enter>", "<space>", "1", "3", "<a-enter>", "<paste:1\n>", "<esc>", "c", "d", "n"] {
        check_with(database(), ARMING, key, &format!("1 on PostgreSQL | {EARLY}"));
        check_with(database(), ARMING, &format!("<wait:249>{key}"), &format!("1 on PostgreSQL | {EARLY}"));
        check_with(features(), ARMING, key, &format!("1 on TypeScript | {EARLY}"));
    }
}

#[test]
fn the_rest_of_a_burst_is_refused_with_its_first_key() {
    // Otherwise the `n` would be lost, and the rest would be a note or the answer.
    for script in ["only in /tmp", "<wait:200>n<wait:100>ly in 2", "1<wait:600>ly<down><enter>"] {
        check_with(database(), ARMING, script, &format!("1 on PostgreSQL | {EARLY}"));
    }
    check_with(database(), ARMING, "only<wait:700>n", "1 on PostgreSQL, note “█” | ");
}

#[test]
fn keys_that_only_move_work_at_once() {
    check_with(database(), ARMING, "<down>", "1 on MongoDB | ");
    check_with(auth(), ARMING, "<tab>", "2 on Google | ");
}

#[test]
fn an_armed_prompt_takes_every_key() {
    check_with(database(), ARMING, "<wait:250><enter>", "answered | Database: PostgreSQL");
    check_with(database(), ARMING, "<enter><wait:700><down><enter>", "answered | Database: MongoDB");
}

#[test]
fn an_interrupt_is_heard_before_a_prompt_is_armed() {
    assert_eq!(play(Prompt::new(database(), ARMING), "<c-c>").effect, Effect::Interrupt);
}

#[test]
fn a_key_held_since_the_earlier_prompt_never_reaches_the_next_one() {
    for key in ["<enter>", "<esc>", "1", "<space>", "c", "d", "n"] {
        // The first repeat of a held key comes late, and the others follow closely.
        let held = format!("<wait:500>{}", format!("{key}<wait:40>").repeat(100));
        let prompt = || Prompt::new(database(), ARMING).among_keys(Some(Duration::from_millis(100)));
        let mut played = play(prompt(), &held);
        assert!(played.line().starts_with("1 on PostgreSQL | "), "{key}");
        played.play("<wait:700><enter>");
        assert_eq!(played.line(), "answered | Database: PostgreSQL", "{key}");
    }
}

#[test]
fn a_slow_typist_who_began_before_the_prompt_was_seen_answers_nothing() {
    let prompt = Prompt::new(database(), ARMING).among_keys(None);
    let mut played = play(prompt, "h<wait:300>i<wait:300>d<wait:300>o<wait:300>1<wait:300><enter>");
    assert!(played.line().starts_with("1 on PostgreSQL | "));
    played.play("<wait:700>2");
    assert_eq!(played.line(), "answered | Database: MongoDB");
}

#[test]
fn a_key_pressed_twice_does_not_reach_the_next_prompt() {
    let next = |since| Prompt::new(database(), ARMING).among_keys(Some(Duration::from_millis(since)));
    assert!(play(next(100), "<wait:599>1").line().starts_with("1 on PostgreSQL | "));
    assert_eq!(play(next(100), "<wait:600>1").line(), "answered | Database: PostgreSQL");
    assert_eq!(play(next(900), "<wait:250>1").line(), "answered | Database: PostgreSQL");
}

#[test]
fn a_text_typed_into_a_prompt_that_just_opened_does_not_answer_it() {
    let typed = "please use 2 not 1".chars().map(|c| format!("{c}<wait:150>")).collect::<String>();
    let typed = typed.replace(' ', "<space>");
    let played = play(Prompt::new(database(), ARMING).among_keys(None), &typed);
    assert!(played.line().starts_with("1 on PostgreSQL | "));
}

#[test]
fn a_key_that_came_too_early_says_so_until_keys_count() {
    let mut played = play(Prompt::new(database(), ARMING).among_keys(None), "<down><wait:100><enter>");
    let told = |played: &Played| played.prompt.notice().map(|notice| notice.text.clone());
    assert_eq!(told(&played).as_deref(), Some("Not taken: keys count once you stop typing for a moment"));
    // The surface is woken to remove the notice. Keys count from that time.
    assert_eq!(played.prompt.next_change(), Some(Duration::from_millis(800)));
    played.play("<wait:700>");
    assert_eq!(told(&played), None);
    played.play("<enter>");
    assert_eq!(played.line(), "answered | Database: MongoDB");
}

#[test]
fn without_arming_a_prompt_among_keys_takes_every_key_at_once() {
    let prompt = Prompt::new(database(), ARMED).among_keys(Some(Duration::ZERO));
    assert_eq!(play(prompt, "1").line(), "answered | Database: PostgreSQL");
}

#[test]
fn arming_is_a_quarter_of_a_second_and_there_is_no_timeout_unless_told() {
    assert_eq!(PromptOptions::default(), ARMING);
}

// ---- time ----

const MINUTE: PromptOptions = PromptOptions { key_delay: Duration::ZERO, deadline: Some(Duration::from_secs(60)) };

#[test]
fn time_running_out_is_an_outcome_of_its_own() {
    check_with(database(), MINUTE, "<wait:59999>", "1 on PostgreSQL | ");
    check_with(database(), MINUTE, "<wait:60000>", "timed_out | ");
}

#[test]
fn time_running_out_selects_nothing_and_what_was_filled_in_is_not_called_the_persons() {
    let prompt = Prompt::new(auth(), MINUTE);
    let known = prompt.set().questions()[1].answer(&[0], None, None).unwrap();
    let prompt = prompt.prefilled(&[known]);
    assert_eq!([0, 1].map(|i| prompt.prefilled_by(i)), [None, Some(Prefilled::Asker)]);
    assert_eq!(play(prompt, "<wait:60000>").line(), "timed_out | ");
}

#[test]
fn what_was_filled_in_is_the_persons_once_they_change_or_submit_it() {
    let filled = || {
        let prompt = Prompt::new(auth(), ARMED);
        let known = prompt.set().questions()[1].answer(&[0], None, None).unwrap();
        prompt.prefilled(&[known])
    };
    assert_eq!(play(filled(), "1<enter>").line(), "answered | Auth Method: OAuth 2.0; Providers: Google");
    assert_eq!(play(filled(), "1<esc><esc>").line(), "cancelled | Auth Method: OAuth 2.0");
    let changed = play(filled(), "<right>2<esc><esc>").line();
    assert_eq!(changed, "cancelled | Providers: Google + GitHub");
}

#[test]
fn any_key_or_paste_holds_the_time() {
    for key in ["<down>", "z", "<enter>", "<paste:x>"] {
        let played = play(Prompt::new(auth(), MINUTE), &format!("<wait:59999>{key}<wait:600000>"));
        assert_eq!(played.effect, Effect::Continue, "{key}");
        assert_eq!((played.prompt.time_left(), played.prompt.next_change()), (None, None), "{key}");
    }
}

#[test]
fn a_key_ignored_while_arming_holds_the_time_too() {
    let settings = PromptOptions { deadline: MINUTE.deadline, ..ARMING };
    check_with(database(), settings, "<enter><wait:600000>", "1 on PostgreSQL | ");
}

#[test]
fn without_a_timeout_nothing_changes_by_itself() {
    let played = play(Prompt::new(database(), ARMED), "<wait:999999999>");
    assert_eq!((played.line().as_str(), played.prompt.next_change()), ("1 on PostgreSQL | ", None));
}

#[test]
fn the_countdown_wakes_by_minutes_and_at_the_end_by_seconds() {
    let settings = PromptOptions { key_delay: Duration::ZERO, deadline: Some(Duration::from_millis(150_500)) };
    let mut played = play(Prompt::new(database(), settings), "<wait:0>");
    let mut woken = Vec::new();
    for _ in 0..5 {
        let at = played.prompt.next_change().expect("a countdown");
        woken.push(at.as_millis());
        played.play(&format!("<wait:{}>", (at - played.now).as_millis()));
    }
    assert_eq!(woken, [30_500, 90_500, 91_500, 92_500, 93_500]);
}

#[test]
fn the_last_wake_is_the_end() {
    let mut played = play(Prompt::new(database(), MINUTE), "<wait:59500>");
    assert_eq!(played.prompt.next_change(), Some(Duration::from_secs(60)));
    played.play("<wait:500>");
    assert_eq!(played.line(), "timed_out | ");
}

// ---- scrolling ----

/// Returns a screen of ten lines that shows these rows of a page of thirty lines. The rows before them are above the
/// screen, and the others below.
fn screen(offset: usize, seen: [bool; 4]) -> Viewport {
    let first = seen.iter().position(|&seen| seen).unwrap_or(0);
    let start = |row: usize| {
        if seen[row] {
            offset + 2 * (row - first)
        } else if row < first {
            offset.saturating_sub(2 * (first - row))
        } else {
            offset + 25 + 2 * row
        }
    };
    Viewport {
        page: Window { offset, height: 10, total: 30 },
        rows: (0..4).map(|row| start(row)..start(row) + 2).collect(),
        ..Viewport::default()
    }
}

/// Plays a script on a screen. Checks the result and the scroll position of the page.
#[track_caller]
fn check_on(viewport: Viewport, before: &str, script: &str, expected: &str, scroll: Scroll) {
    let mut played = play(Prompt::new(database(), ARMED), before);
    played.prompt.look(viewport);
    played.play(script);
    assert_eq!(played.line(), expected, "after {script:?}");
    assert_eq!(played.prompt.scroll(), scroll, "after {script:?}");
}

#[test]
fn a_row_off_the_screen_is_revealed_and_not_chosen() {
    for key in ["<enter>", "<space>", "1"] {
        check_on(screen(0, [false; 4]), "", key, "1 on PostgreSQL |  ! Press again to choose", Scroll::Reveal(0));
    }
    let expected = "1 on SQLite |  ! Press again to choose";
    check_on(screen(3, [true, true, false, false]), "", "3", expected, Scroll::Reveal(3));
}

#[test]
fn the_number_of_other_opens_it_wherever_it_is_for_typing_is_no_choice() {
    let mut played = play(Prompt::new(database(), ARMED), "");
    played.prompt.look(screen(3, [true, true, false, false]));
    played.play("4docker<enter>");
    assert_eq!(played.line(), "answered | Database: “docker”");
}

#[test]
fn a_row_revealed_is_chosen_by_the_next_key() {
    let mut played = play(Prompt::new(database(), ARMED), "");
    played.prompt.look(screen(0, [true, true, false, false]));
    played.play("3");
    played.prompt.look(screen(8, [false, false, true, true]));
    played.play("3");
    assert_eq!(played.line(), "answered | Database: SQLite");
}

#[test]
fn moving_down_reads_a_long_question_first() {
    check_on(screen(0, [false; 4]), "", "<down>", "1 on PostgreSQL | ", Scroll::At(9));
    check_on(screen(9, [true, false, false, false]), "", "<down>", "1 on MongoDB | ", Scroll::Reveal(9));
}

#[test]
fn moving_past_the_ends_scrolls() {
    check_on(screen(9, [true, true, false, false]), "", "<up>", "1 on PostgreSQL | ", Scroll::At(0));
    check_on(screen(15, [false, true, true, true]), "jjj", "<down>", "1 on Other | ", Scroll::At(20));
}

#[test]
fn moving_on_from_a_row_that_was_scrolled_away_goes_to_one_on_the_screen() {
    check_on(screen(20, [false, false, true, true]), "", "<down>", "1 on SQLite | ", Scroll::Reveal(20));
    check_on(screen(9, [true, true, false, false]), "jjj", "<up>", "1 on MongoDB | ", Scroll::Reveal(9));
}

#[test]
fn pages_scroll_with_a_line_of_overlap_and_stop_at_the_ends() {
    check_on(screen(0, [false; 4]), "", "<pgdn>", "1 on PostgreSQL | ", Scroll::At(9));
    check_on(screen(0, [false; 4]), "", "<c-f>", "1 on PostgreSQL | ", Scroll::At(9));
    check_on(screen(15, [true; 4]), "", "<pgdn>", "1 on PostgreSQL | ", Scroll::At(20));
    check_on(screen(15, [true; 4]), "", "<pgup>", "1 on PostgreSQL | ", Scroll::At(6));
    check_on(screen(5, [true; 4]), "", "<c-b>", "1 on PostgreSQL | ", Scroll::At(0));
}

#[test]
fn the_review_has_a_cursor_and_enter_changes_the_answer_under_it() {
    check(three(), "111<up><up><enter>", "2 on a | One: a; Two: a; Three: a");
    check(three(), "111<up><down><enter>", "answered | One: a; Two: a; Three: a");
}

#[test]
fn arrows_scroll_the_review() {
    let mut played = play(Prompt::new(three(), ARMED), "111");
    played.prompt.look(Viewport {
        page: Window { offset: 0, height: 10, total: 30 },
        rows: vec![],
        ..Viewport::default()
    });
    played.play("<down>");
    assert_eq!(played.prompt.scroll(), Scroll::At(9));
}

#[test]
fn a_long_help_page_scrolls_before_it_closes() {
    let mut played = play(Prompt::new(database(), ARMED), "?");
    played.prompt.look(Viewport {
        page: Window { offset: 0, height: 10, total: 30 },
        rows: vec![],
        ..Viewport::default()
    });
    played.play("<down>");
    assert_eq!((played.prompt.mode(), played.prompt.scroll()), (InputMode::Help, Scroll::At(9)));
    played.play("<enter>");
    assert_eq!(played.line(), "1 on PostgreSQL | ");
}

#[test]
fn what_was_seen_of_one_page_says_nothing_of_the_next() {
    let mut played = play(Prompt::new(auth(), ARMED), "");
    played.prompt.look(screen(0, [true, false, false, false]));
    played.play("<enter>4<enter><enter>");
    assert_eq!(played.line(), "answered | Auth Method: OAuth 2.0; Providers: Apple");
}

// ---- known answers ----

/// Returns answers to these questions, given as their rows.
fn known(set: &QuestionSet, picks: &[(usize, &[usize])]) -> Vec<Answer> {
    picks.iter().map(|&(i, rows)| set.questions()[i].answer(rows, None, None).expect("an answer")).collect()
}

#[track_caller]
fn check_known(set: QuestionSet, answers: &[Answer], script: &str, expected: &str) {
    assert_eq!(play(Prompt::new(set, ARMED).prefilled(answers), script).line(), expected);
}

#[test]
fn known_answers_are_filled_in_and_the_first_open_question_is_shown() {
    let answers = known(&auth(), &[(0, &[1])]);
    check_known(auth(), &answers, "", "2 on Google | Auth Method: JWT");
    check_known(auth(), &answers, "1<enter><enter>", "answered | Auth Method: JWT; Providers: Google");
    check_known(auth(), &known(&auth(), &[(1, &[0, 2])]), "", "1 on OAuth 2.0 | Providers: Google + Microsoft");
}

#[test]
fn known_answers_to_everything_are_reviewed() {
    let answers = known(&auth(), &[(0, &[1]), (1, &[0, 2])]);
    check_known(auth(), &answers, "", "review | Auth Method: JWT; Providers: Google + Microsoft");
    check_known(auth(), &answers, "<enter>", "answered | Auth Method: JWT; Providers: Google + Microsoft");
}

#[test]
fn a_known_answer_to_the_only_question_is_shown_before_it_is_sent() {
    check_known(database(), &known(&database(), &[(0, &[2])]), "", "1 on SQLite | Database: SQLite");
}

#[test]
fn a_known_answer_can_be_changed() {
    check_known(
        auth(),
        &known(&auth(), &[(0, &[1])]),
        "<left><down><enter>",
        "2 on Google | Auth Method: Session-based",
    );
}

#[test]
fn known_typed_text_and_notes_are_filled_in() {
    let set = database();
    let typed = set.questions()[0].answer(&[], Some("bun".into()), Some("fast".into())).unwrap();
    check_known(database(), &[typed], "", "1 on Other | Database: “bun” (note: fast)");
    let picked = set.questions()[0].answer(&[1], None, Some("for now".into())).unwrap();
    check_known(database(), &[picked], "n", "1 on MongoDB, note “for now█” | Database: MongoDB (note: for now)");
}

#[test]
fn a_known_note_that_only_begins_like_one_on_its_row_stays_whole() {
    let picked = database().questions()[0].answer(&[1], None, Some("MongoDB: as ever".into())).unwrap();
    check_known(database(), &[picked], "", "1 on MongoDB | Database: MongoDB (note: MongoDB: as ever)");
}

#[test]
fn a_note_with_a_line_that_begins_like_one_on_another_row_stays_on_its_own() {
    let text = "strict\nTesting (Vitest): unit";
    let script = format!("<space>n<paste:{text}><enter><down><space>");
    let answers = play(Prompt::new(features(), ARMED), &script).prompt.answers();
    let again = Prompt::new(features(), ARMED).prefilled(&answers);
    let typed = [0, 1, 2].map(|row| again.draft(0).note(row).map(Text::as_str));
    assert_eq!((typed, again.answers()), ([Some(text), Some(""), Some("")], answers));
}

#[test]
fn a_note_of_an_earlier_version_is_on_the_first_choice_and_whole() {
    let long = "x".repeat(1_500);
    let note = format!("TypeScript: {long}\nTesting (Vitest): {long}");
    let stored = json!([{
        "question": features().questions()[0].text_verbatim(), "header": "Features",
        "selectedOptions": ["TypeScript", "Testing (Vitest)"], "note": note,
    }]);
    let stored: Vec<Answer> = serde_json::from_value(stored).unwrap();
    let request = Request::new(RequestKey::new("s", "c"), features()).with_known(stored).unwrap();
    let mut prompt = Prompt::of(&request, Duration::ZERO);
    assert_eq!(prompt.draft(0).note(0).map(Text::as_str), Some(note.as_str()));
    let Effect::Finish(outcome) = prompt.update(Event::Key(KeyCode::Enter.into()), Duration::ZERO) else {
        panic!("sent")
    };
    assert!(prompt.set().admits(outcome.answers()) && outcome.answers()[0].note.as_ref().unwrap().contains(&note));
}

#[test]
fn answers_to_other_questions_are_left_alone() {
    check_known(database(), &known(&features(), &[(0, &[1])]), "", "1 on PostgreSQL | ");
}

// ---- footer and help ----

fn hints(set: QuestionSet, script: &str) -> String {
    let played = play(Prompt::new(set, ARMED), script);
    played.prompt.hints().map(|(key, word)| format!("{key} {word}")).collect::<Vec<_>>().join(" • ")
}

#[test]
fn the_footer_tells_what_can_be_done_here() {
    let rest = "n note • c discuss • d decline • esc cancel • ? keys";
    assert_eq!(hints(database(), ""), format!("↑↓ navigate • enter select • 1-4 choose • {rest}"));
    assert_eq!(hints(features(), ""), format!("↑↓ navigate • space toggle • enter select • {rest}"));
    assert_eq!(hints(features(), "1"), format!("↑↓ navigate • space toggle • enter send • {rest}"));
    assert_eq!(hints(features(), "1j"), hints(features(), "1"), "what is ticked is sent from every row");
    assert_eq!(hints(auth(), ""), format!("↑↓ navigate • enter select • 1-4 choose • ←→ questions • {rest}"));
    assert_eq!(hints(database(), "<down><down><down>"), "↑↓ navigate • enter type • 1-4 choose • esc cancel");
    assert_eq!(hints(features(), "5bun<enter>"), "↑↓ navigate • enter send • esc cancel");
    let review = "←→ questions • c discuss • d decline • esc cancel • ? keys";
    assert_eq!(hints(three(), "111"), format!("↑↓ navigate • enter send • 1-3 change • {review}"));
    assert_eq!(hints(three(), "111<up>"), format!("↑↓ navigate • enter change • 1-3 change • {review}"));
    assert_eq!(hints(database(), "4"), "enter send • esc back • ctrl-j new line • ctrl-g editor");
}

#[test]
fn on_other_a_digit_that_chooses_nothing_begins_the_text() {
    check(database(), "<down><down><down>5 days", "1 on Other, other “5 days█” | ");
    check(database(), "<down><down><down>0", "1 on Other, other “0█” | ");
    check(database(), "<down>5", "1 on MongoDB |  ! Choose 1 to 4");
}

#[test]
fn every_hint_is_explained_on_the_help_page() {
    for (set, script) in [(database(), ""), (features(), ""), (three(), "111"), (database(), "4")] {
        let prompt = play(Prompt::new(set, ARMED), script).prompt;
        let rows: Vec<_> = prompt.help().collect();
        assert!(rows.iter().all(|(keys, does)| !keys.is_empty() && !does.is_empty()));
        assert!(rows.iter().any(|(keys, _)| *keys == "Ctrl-C"), "{:?}", prompt.context());
    }
}

#[test]
fn a_single_question_speaks_of_no_others() {
    assert!(Prompt::new(database(), ARMED).help().all(|(_, does)| !does.contains("question")));
    assert!(Prompt::new(auth(), ARMED).help().any(|(_, does)| does == "earlier and later question"));
}

#[test]
fn a_prompt_that_a_person_opened_is_left_for_later_and_not_cancelled() {
    for trigger in [Trigger::Opened, Trigger::Popup] {
        let prompt = Prompt::new(database(), ARMED).on(trigger);
        assert!(prompt.hints().any(|(key, does)| key == "esc" && does == "later"), "{trigger:?}");
        assert!(prompt.help().any(|(keys, does)| keys == "Esc" && does == "leave it for later"), "{trigger:?}");
    }
    assert!(Prompt::new(database(), ARMED).help().any(|(keys, does)| keys == "Esc" && does == "cancel"));
}

// ---- properties ----

/// Returns a question set of hostile text, as a model could send it.
fn hostile() -> QuestionSet {
    set_of(&[
        question(
            "\u{1b}[2JWhich\r\n?",
            "\u{202e}x",
            &["a\u{1b}]0;t\u{7}\nb (Recommended)", "é\u{301}\u{301}", "👩‍👩‍👧"],
            true,
        ),
        question(&"long ".repeat(400), "長い", &["a, b", "b"], false),
    ])
}

fn any_set() -> impl Strategy<Value = QuestionSet> {
    prop::sample::select(vec![database(), features(), auth(), three(), hostile()])
}

#[derive(Clone, Debug)]
enum Step {
    Event(Event),
    Wait(u64),
    Look(Viewport),
}

fn any_key() -> impl Strategy<Value = Key> {
    use KeyCode::*;
    let codes = [Enter, Esc, Tab, BackTab, Backspace, Delete, Up, Down, Left, Right, Home, End, PageUp, PageDown];
    let common = prop::sample::select(vec![Enter, Char(' '), Down, Up, Tab, BackTab, Esc]).prop_map(Key::plain);
    let letters = prop::sample::select("0123456789jknncd? aé語\u{301}\u{200d}".chars().collect::<Vec<_>>());
    let plain = prop_oneof![
        prop::sample::select(codes.to_vec()),
        letters.prop_map(Char),
        any::<char>().prop_map(Char),
        prop::sample::select("abcdefgjknpuw".chars().collect::<Vec<_>>()).prop_map(Char),
    ];
    let mods = (prop::bool::weighted(0.1), prop::bool::weighted(0.1), prop::bool::weighted(0.1))
        .prop_map(|(ctrl, alt, shift)| Mods { ctrl, alt, shift });
    let any = (plain, mods).prop_map(|(code, mods)| Key { code, mods });
    // Ctrl-C ends the prompt. Other tests cover it, and here it would only cut sequences short.
    prop_oneof![2 => common, 3 => any].prop_filter("not Ctrl-C", |key| *key != Key::ctrl('c'))
}

fn any_step() -> impl Strategy<Value = Step> {
    let long = (prop::sample::select(vec!["x", "é\n", "\u{1b}[31m"]), 0usize..2_100).prop_map(|(s, n)| s.repeat(n));
    let text = prop_oneof![4 => nasty_text(), 1 => long];
    let viewport = (0usize..40, 0usize..20, 0usize..60, prop::collection::vec((0usize..60, 0usize..30), 0..7))
        .prop_map(|(offset, height, total, rows)| {
            let rows = rows.into_iter().map(|(start, lines)| start..start + lines).collect();
            Viewport { page: Window { offset, height, total }, rows, ..Viewport::default() }
        });
    prop_oneof![
        20 => any_key().prop_map(|key| Step::Event(Event::Key(key))),
        2 => text.clone().prop_map(|text| Step::Event(Event::Paste(text))),
        1 => text.prop_map(|text| Step::Event(Event::Edited(text))),
        1 => (0u64..2_000).prop_map(Step::Wait),
        2 => viewport.prop_map(Step::Look),
    ]
}

fn any_settings() -> impl Strategy<Value = PromptOptions> {
    let timeout = prop::option::weighted(0.2, (0u64..5_000).prop_map(Duration::from_millis));
    (prop::sample::select(vec![0, 250]), timeout)
        .prop_map(|(arm, deadline)| PromptOptions { key_delay: Duration::from_millis(arm), deadline })
}

/// Plays steps until the prompt ends. Returns its outcome; `None` if the steps do not end the prompt.
fn walk(prompt: &mut Prompt, steps: Vec<Step>, mut each: impl FnMut(&Prompt)) -> Option<Outcome> {
    let mut now = Duration::ZERO;
    for step in steps {
        let event = match step {
            Step::Event(event) => event,
            Step::Wait(millis) => {
                now += Duration::from_millis(millis);
                Event::Tick
            }
            Step::Look(viewport) => {
                prompt.look(viewport);
                continue;
            }
        };
        match prompt.update(event, now) {
            Effect::Finish(outcome) => return Some(outcome),
            Effect::PutAside(_) | Effect::Interrupt => panic!("left without Ctrl-C"),
            Effect::Continue | Effect::Edit(_) => each(prompt),
        }
    }
    None
}

/// Returns the person's work, question by question.
fn drafts(prompt: &Prompt) -> Vec<(usize, Vec<bool>, Text, Vec<Text>)> {
    let draft = |entry: &AnswerDraft| {
        let picks = (0..=entry.other_row()).map(|row| entry.is_picked(row)).collect();
        (entry.focus, picks, entry.other.clone(), entry.notes.clone())
    };
    prompt.drafts.iter().map(draft).collect()
}

fn is_sound(prompt: &Prompt) {
    let set = prompt.set();
    assert!(set.admits(&prompt.answers()), "{:?}", prompt.answers());
    assert!(prompt.next_change().is_none_or(|at| at >= prompt.now));
    assert_eq!(prompt.text().is_some(), matches!(prompt.mode(), InputMode::Typing(_)));
    assert!(prompt.hints().count() > 0);
    for (i, question) in set.questions().iter().enumerate() {
        let entry = prompt.draft(i);
        assert!(entry.focus <= entry.other_row());
        assert_eq!(entry.other_row(), question.options().len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_events_yields_an_answer_that_does_not_satisfy_its_question(
        set in any_set(),
        settings in any_settings(),
        steps in prop::collection::vec(any_step(), 0..80),
    ) {
        let mut prompt = Prompt::new(set, settings);
        let outcome = walk(&mut prompt, steps, is_sound);
        if let Some(outcome) = outcome {
            prop_assert!(prompt.set().admits(outcome.answers()), "{:?}", outcome);
            if *outcome.status() == Status::Answered {
                prop_assert_eq!(outcome.answers().len(), prompt.set().questions().len());
            }
        }
    }

    #[test]
    fn back_and_forth_keeps_drafts_and_picks(
        set in prop::sample::select(vec![auth(), three(), hostile()]),
        steps in prop::collection::vec(any_step(), 0..40),
        turns in prop::collection::vec(any::<bool>(), 0..10),
    ) {
        let mut prompt = Prompt::new(set, ARMED);
        if walk(&mut prompt, steps, |_| {}).is_none() {
            let before = drafts(&prompt);
            let answers = prompt.answers();
            let turns = turns.iter().map(|&on| if on { KeyCode::Tab } else { KeyCode::BackTab });
            let turns = turns.map(|code| Step::Event(Event::Key(Key::plain(code)))).collect();
            prop_assert_eq!(walk(&mut prompt, turns, is_sound), None);
            prop_assert_eq!(drafts(&prompt), before);
            prop_assert_eq!(prompt.answers(), answers);
        }
    }

    #[test]
    fn without_a_key_that_answers_nothing_is_answered(
        set in any_set(),
        steps in prop::collection::vec(any_step(), 0..60),
    ) {
        let answers = |step: &Step| match step {
            Step::Event(Event::Key(key)) => matches!(key.code, KeyCode::Enter | KeyCode::Char(' ' | '0'..='9')),
            _ => false,
        };
        let mut prompt = Prompt::new(set, ARMED);
        let steps = steps.into_iter().filter(|step| !answers(step)).collect();
        let outcome = walk(&mut prompt, steps, is_sound);
        prop_assert!(prompt.answers().is_empty());
        prop_assert!(outcome.is_none_or(|outcome| *outcome.status() == Status::Cancelled));
    }

    #[test]
    fn an_escape_taken_at_once_ends_nothing_even_if_it_was_the_first_half_of_another_key(
        set in any_set(),
        steps in prop::collection::vec(any_step(), 0..40),
    ) {
        let mut prompt = Prompt::new(set, ARMED);
        if walk(&mut prompt, steps, |_| {}).is_none() && prompt.is_esc_harmless() {
            // Alt-Enter is a key of text fields only.
            let is_field = matches!(prompt.mode(), InputMode::Typing(_));
            let halves = [KeyCode::Up, KeyCode::Down, KeyCode::Left, KeyCode::Right].into_iter();
            for half in halves.chain(is_field.then_some(KeyCode::Enter)) {
                let mut prompt = prompt.clone();
                let texts = |prompt: &Prompt| -> Vec<_> {
                    drafts(prompt).into_iter().map(|(_, _, other, notes)| (other, notes)).collect()
                };
                let before = texts(&prompt);
                for code in [KeyCode::Esc, half] {
                    prop_assert_eq!(prompt.update(Event::Key(code.into()), Duration::from_secs(99)), Effect::Continue);
                }
                prop_assert_eq!(texts(&prompt), before);
            }
        }
    }

    #[test]
    fn a_row_off_the_screen_is_never_picked(
        set in any_set(),
        keys in prop::collection::vec(any_key(), 0..30),
        at in any::<prop::sample::Index>(),
    ) {
        let mut prompt = Prompt::new(set, ARMED);
        let hidden = at.index(prompt.draft(0).other_row());
        let rows: Vec<_> = (0..=prompt.draft(0).other_row()).map(|row| if row == hidden { 90..92 } else { 0..2 }).collect();
        for key in keys {
            if prompt.page() != Page::Question(0) {
                break;
            }
            prompt.look(Viewport { page: Window { offset: 0, height: 10, total: 30 }, rows: rows.clone(), ..Viewport::default() });
            let effect = prompt.update(Event::Key(key), Duration::ZERO);
            prop_assert!(!prompt.draft(0).is_picked(hidden), "{:?} picked row {}", key, hidden);
            if matches!(effect, Effect::Finish(_)) {
                break;
            }
        }
    }

    #[test]
    fn known_picks_texts_and_notes_come_out_as_they_went_in(
        set in any_set(),
        steps in prop::collection::vec(any_step(), 0..40),
    ) {
        let mut prompt = Prompt::new(set, ARMED);
        walk(&mut prompt, steps, |_| {});
        let answers = prompt.answers();
        let again = Prompt::new(prompt.set().clone(), ARMED).prefilled(&answers);
        prop_assert_eq!(again.answers(), answers.clone());
        for i in (0..prompt.set().questions().len()).filter(|i| prompt.answer(*i).is_some()) {
            prop_assert_eq!(again.draft(i).written_notes(), prompt.draft(i).written_notes());
        }
        // A draft keeps the choices and all texts, chosen or not.
        let draft = prompt.unsent();
        let again = Prompt::new(prompt.set().clone(), ARMED).resuming(&draft);
        prop_assert_eq!((again.answers(), again.unsent()), (answers.clone(), draft.clone()));
        let stored: Draft = serde_json::from_value(json!(draft)).unwrap();
        prop_assert_eq!(stored, draft);
        let outcome = Outcome::new(prompt.set(), Status::Cancelled, answers).unwrap();
        prop_assert_eq!(crate::reply::outcome(prompt.set(), &json!(outcome)).unwrap(), outcome);
    }
}

#[test]
fn page_down_reads_the_context_to_its_end_and_then_the_page_and_page_up_back() {
    let mut prompt = Prompt::new(database(), ARMED);
    let mut step = |code: KeyCode, offset: usize| {
        let context = Window { offset: prompt.context_offset().unwrap_or(0), height: 5, total: 12 };
        prompt.look(Viewport { page: Window { offset, height: 10, total: 30 }, context, ..Viewport::default() });
        prompt.update(Event::Key(code.into()), Duration::ZERO);
        (prompt.context_offset().unwrap_or(0), prompt.scroll())
    };
    let read = [0, 0, 0, 9].map(|offset| step(KeyCode::PageDown, offset));
    assert_eq!(read, [(4, Scroll::At(0)), (7, Scroll::At(0)), (7, Scroll::At(9)), (7, Scroll::At(18))]);
    let back = [9, 0, 0, 0].map(|offset| step(KeyCode::PageUp, offset));
    assert_eq!(back, [(7, Scroll::At(0)), (3, Scroll::At(0)), (0, Scroll::At(0)), (0, Scroll::At(0))]);
}

#[test]
fn the_preview_scrolls_first_and_each_option_has_its_own_from_the_beginning() {
    let mut prompt = Prompt::new(database(), ARMED);
    let look = |prompt: &mut Prompt| {
        let preview = Window { offset: prompt.preview_offset().unwrap_or(0), height: 5, total: 8 };
        prompt.look(Viewport { page: Window { offset: 0, height: 10, total: 10 }, preview, ..Viewport::default() });
    };
    let mut step = |code: KeyCode| {
        look(&mut prompt);
        prompt.update(Event::Key(code.into()), Duration::ZERO);
        prompt.preview_offset().unwrap_or(0)
    };
    assert_eq!([KeyCode::PageDown, KeyCode::PageDown, KeyCode::PageUp].map(&mut step), [3, 3, 0]);
    assert_eq!([KeyCode::PageDown, KeyCode::Down, KeyCode::PageDown].map(&mut step), [3, 0, 3]);
}

#[test]
fn a_preview_that_is_only_offered_is_read_from_its_beginning() {
    let mut prompt = Prompt::new(database(), ARMED);
    assert_eq!(prompt.preview_offset(), None);
    let mut step = |code: KeyCode, height: usize| {
        let preview = Window { offset: prompt.preview_offset().unwrap_or(0), height, total: 8 };
        prompt.look(Viewport { page: Window { offset: 0, height: 10, total: 10 }, preview, ..Viewport::default() });
        prompt.update(Event::Key(code.into()), Duration::ZERO);
        prompt.preview_offset()
    };
    let read = [(KeyCode::PageUp, 0), (KeyCode::PageDown, 0), (KeyCode::PageDown, 3), (KeyCode::Down, 3)];
    assert_eq!(read.map(|(code, height)| step(code, height)), [None, Some(0), Some(2), None]);
}

#[test]
fn each_answer_of_several_shows_success_for_a_moment_and_holds_up_no_key() {
    let mut prompt = Prompt::new(three(), ARMED).flashing_success(Duration::from_millis(80));
    let press =
        |prompt: &mut Prompt, c, now| prompt.update(Event::Key(KeyCode::Char(c).into()), Duration::from_millis(now));
    assert!(!prompt.is_answer_fresh());
    press(&mut prompt, '1', 1_000);
    assert_eq!((prompt.is_answer_fresh(), prompt.next_change()), (true, Some(Duration::from_millis(1_080))));
    // The next key counts immediately.
    press(&mut prompt, '2', 1_001);
    assert_eq!(prompt.page(), Page::Question(2));
    prompt.update(Event::Tick, Duration::from_millis(1_081));
    assert_eq!((prompt.is_answer_fresh(), prompt.next_change()), (false, None));
    // Moving between pages answers no question.
    prompt.update(Event::Key(KeyCode::Left.into()), Duration::from_millis(1_100));
    assert!(!prompt.is_answer_fresh());
}
