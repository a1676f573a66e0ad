//! Tests of prompts for stored questions, opened by a person or as a popup while a person types.

use super::*;
use crate::request::{Origin, Purpose, Request, RequestKey};

fn on(trigger: Trigger, set: QuestionSet, options: PromptOptions) -> Prompt {
    Prompt::new(set, options).on(trigger)
}

#[test]
fn a_digit_alone_answers_nothing_that_opened_by_itself() {
    for (set, second) in [(database(), "MongoDB"), (features(), "ESLint + Prettier")] {
        let mut played = play(on(Trigger::Popup, set, ARMED), "2");
        assert_eq!(played.line(), format!("1 on {second} | "));
        let digits = played.prompt.hints().find(|(key, _)| key.starts_with("1-")).unwrap();
        assert_eq!(digits.1, "move");
        played.play("9");
        assert_eq!(played.prompt.notice().map(|notice| notice.kind), Some(NoticeKind::Rejected));
    }
    assert_eq!(play(on(Trigger::Popup, database(), ARMED), "2<enter>").line(), "answered | Database: MongoDB");
    assert_eq!(play(on(Trigger::Opened, database(), ARMED), "2").line(), "answered | Database: MongoDB");
    assert_eq!(on(Trigger::Opened, database(), ARMED).trigger(), Trigger::Opened);
}

#[test]
fn a_prompt_that_opened_by_itself_takes_keys_once_the_keyboard_has_rested() {
    let mut played = play(on(Trigger::Popup, database(), ARMING), "<wait:200><enter><wait:699><enter>");
    assert!(played.line().starts_with("1 on PostgreSQL |  ! Not taken"), "{}", played.line());
    let now = played.now;
    let rest = Duration::from_millis(700);
    assert!(played.prompt.is_unseen(now) && !played.prompt.is_unseen(now + rest));
    played.play("<wait:700><enter>");
    assert_eq!(played.line(), "answered | Database: PostgreSQL");
    // The person who opened the prompt has seen it.
    let opened = on(Trigger::Opened, database(), ARMING);
    assert!(!opened.is_unseen(Duration::ZERO));
    assert_eq!(play(opened, "<wait:250><enter>").line(), "answered | Database: PostgreSQL");
}

#[test]
fn a_text_field_is_seen_by_the_person_who_opened_it() {
    let prompt = play(on(Trigger::Popup, database(), ARMING), "<down><down><down><c-g>").prompt;
    assert!(!prompt.is_unseen(Duration::ZERO));
}

#[test]
fn a_paste_that_came_too_early_puts_a_prompt_off_too() {
    let mut played = play(on(Trigger::Popup, database(), ARMING), "<wait:200><paste:1\n><wait:600>2<enter>");
    assert!(played.line().starts_with("1 on PostgreSQL |  ! Not taken"), "{}", played.line());
    played.play("<wait:700><enter>");
    assert_eq!(played.line(), "answered | Database: PostgreSQL");
}

#[test]
fn what_is_put_aside_is_kept_with_what_was_typed_and_not_chosen() {
    for trigger in [Trigger::Opened, Trigger::Popup] {
        for leave in ["<esc>", "<c-c>"] {
            let script = format!("<down><enter><down><down><down><down><enter>own<esc>{leave}");
            let played = play(on(trigger, auth(), ARMED), &script);
            assert_eq!(played.line(), "put aside | Auth Method: JWT; Providers: “own”", "{trigger:?} {leave}");
        }
        let known = known(&auth(), &[(1, &[0])]);
        let filled = on(trigger, auth(), ARMED).prefilled(&known);
        assert_eq!(play(filled, "<esc>").line(), "put aside | Providers: Google", "{trigger:?}");
    }
    // A blank text is not kept.
    let blank = play(on(Trigger::Opened, database(), ARMED), "4<space><esc><esc>");
    assert_eq!(blank.line(), "put aside | ");
}

#[test]
fn what_was_typed_and_not_chosen_is_no_answer_to_a_question_that_is_declined() {
    let script = "<down><enter><down><down><down><down><enter>own<esc><up>dno<enter>";
    for trigger in [Trigger::Inline, Trigger::Opened, Trigger::Popup] {
        let played = play(on(trigger, auth(), ARMED), script);
        assert_eq!(played.line(), "declined “no” | Auth Method: JWT", "{trigger:?}");
    }
    // The answers of the person's draft are their own. Answers known beforehand are not.
    let known = known(&auth(), &[(1, &[0])]);
    for (trigger, answers) in [(Trigger::Inline, ""), (Trigger::Opened, "Providers: Google")] {
        let filled = on(trigger, auth(), ARMED).prefilled(&known);
        assert_eq!(play(filled, "dno<enter>").line(), format!("declined “no” | {answers}"), "{trigger:?}");
    }
}

#[test]
fn a_note_beside_what_was_typed_and_not_chosen_is_put_aside_with_it() {
    let script = "nwhy not<enter><down><down><down>own<esc><esc>";
    let played = play(on(Trigger::Opened, database(), ARMED), script);
    let again = on(Trigger::Opened, database(), ARMED).resuming(&aside(played));
    assert_eq!([0, 3].map(|row| again.draft(0).note(row).map(Text::as_str)), [Some("why not"), Some("")]);
    assert_eq!(play(again, "").line(), "1 on Other | ", "what was not chosen is not chosen by being put aside");
}

/// Returns the draft of a question that was put aside.
fn aside(played: Played) -> Draft {
    match played.effect {
        Effect::PutAside(draft) => draft,
        effect => panic!("{effect:?}"),
    }
}

#[test]
fn a_note_with_nothing_chosen_and_what_was_typed_at_c_and_d_are_put_aside() {
    let script = "nwhy not<enter>clet us talk<esc>dno, thanks<esc><esc>";
    let draft = aside(play(on(Trigger::Opened, database(), ARMED), script));
    let again = on(Trigger::Opened, database(), ARMED).resuming(&draft);
    assert_eq!(again.draft(0).note(0).map(Text::as_str), Some("why not"));
    assert_eq!(play(again.clone(), "c").line(), "1 on PostgreSQL, discuss “let us talk█” | ");
    assert_eq!(play(again.clone(), "d<enter>").line(), "declined “no, thanks” | ");
    assert_eq!(play(again, "").line(), "1 on PostgreSQL |  ! What you had typed at d is still there");
}

#[test]
fn text_beside_a_choice_is_put_aside_and_stays_what_it_was() {
    // The text is typed but not chosen, beside a choice of a single-select or a multi-select question.
    for (set, script, line) in [
        (database(), "<space><down><down><down>own<esc><esc>", "1 on SQLite | Database: SQLite"),
        (features(), "<space><down><down><down><down>own<esc><esc>", "1 on TypeScript | Features: TypeScript"),
    ] {
        let draft = aside(play(on(Trigger::Opened, set.clone(), ARMED), script));
        let again = on(Trigger::Opened, set, ARMED).resuming(&draft);
        assert_eq!(again.draft(0).other.as_str(), "own");
        assert_eq!(play(again, "").line(), line);
    }
}

#[test]
fn a_draft_decides_nothing_but_what_is_filled_in() {
    let draft = |answer: serde_json::Value| -> Draft { serde_json::from_value(json!({"answers": [answer]})).unwrap() };
    let question = database().questions()[0].text_verbatim().to_owned();
    let written = |options: &[&str], text: &str| {
        draft(json!({"question": question, "header": "x", "selectedOptions": options, "customInput": text}))
    };
    let resumed = |draft: &Draft| play(Prompt::new(database(), ARMED).resuming(draft), "").line();
    assert_eq!(resumed(&written(&["SQLite", "MongoDB"], "own")), "1 on SQLite | Database: SQLite");
    assert_eq!(resumed(&written(&["Nothing"], "\u{1b}]0;x\u{7}own")), "1 on Other | Database: “own”");
    // The answers of a policy are not the person's. The answers of the person's earlier draft are.
    let known = known(&auth(), &[(0, &[0]), (1, &[0])]);
    let theirs = Draft::from(vec![auth().questions()[1].answer(&[1], None, None).unwrap()]);
    let prompt = Prompt::new(auth(), ARMED).prefilled(&known).resuming(&theirs);
    assert_eq!([0, 1].map(|i| prompt.prefilled_by(i)), [Some(Prefilled::Asker), Some(Prefilled::Person)]);
    assert_eq!(prompt.partial_answers(), theirs.chosen());
}

#[test]
fn long_notes_on_several_rows_are_not_lost_when_a_question_is_opened_again() {
    let long = "é".repeat(1_500);
    let note = format!("n<paste:{long}><enter>");
    let script = format!("<space>{note}<down>{note}<down><down><down>own<enter><esc>");
    let draft = aside(play(on(Trigger::Opened, features(), ARMED), &script));
    let again = on(Trigger::Opened, features(), ARMED).resuming(&draft);
    assert_eq!(again.unsent(), draft);
    let notes = [0, 1, 2].map(|row| again.draft(0).note(row).map(Text::as_str));
    assert_eq!(notes, [Some(long.as_str()), Some(&long), Some("")]);
}

#[test]
fn esc_while_typing_goes_back_and_says_so_wherever_the_prompt_came_from() {
    for trigger in [Trigger::Inline, Trigger::Opened, Trigger::Popup] {
        let prompt = play(on(trigger, database(), ARMED), "<down><down><down>x").prompt;
        assert!(prompt.hints().any(|hint| hint == ("esc".into(), "back")), "{trigger:?}");
        assert!(prompt.help().any(|row| row == ("Esc", "back to the options, text kept")), "{trigger:?}");
        assert_eq!(play(prompt, "<esc>").line(), "1 on Other | ", "{trigger:?}");
    }
}

#[test]
fn a_prompt_says_who_asks_in_the_words_it_was_given() {
    let prompt = Prompt::new(database(), ARMED);
    assert_eq!(prompt.origin(), None);
    assert_eq!(prompt.from_whom(Some("claude in /work".into())).origin(), Some("claude in /work"));
}

#[test]
fn a_person_is_there_once_they_did_anything_and_not_because_time_passes() {
    let held = |event: Event| {
        let mut prompt = Prompt::new(database(), MINUTE);
        prompt.update(event, Duration::from_secs(1));
        prompt.is_held()
    };
    assert!(
        held(Event::Key(Key::plain(KeyCode::Down))) && held(Event::Paste("x".into())) && held(Event::Act(Action::Down))
    );
    assert!(!held(Event::Tick));
}

#[test]
fn what_is_asked_for_by_name_waits_like_a_key() {
    let act = |prompt: &mut Prompt, now| prompt.update(Event::Act(Action::Enter), Duration::from_millis(now));
    let mut prompt = Prompt::new(database(), ARMING);
    assert_eq!(act(&mut prompt, 249), Effect::Continue);
    assert!(matches!(act(&mut prompt, 250), Effect::Finish(_)));
    // The action answers neither the help page nor the question whether to leave.
    for before in ["?", "<space><esc>"] {
        let mut prompt = play(Prompt::new(database(), ARMED), before).prompt;
        let mode = prompt.mode();
        assert_eq!((act(&mut prompt, 1), prompt.mode()), (Effect::Continue, mode), "{before}");
    }
}

#[test]
fn a_text_by_name_begins_nothing_but_on_the_row_of_other() {
    let insert = || Event::Act(Action::Edit(crate::text::Edit::Insert('x')));
    for (script, place) in [("", "1 on PostgreSQL | "), ("<down><down><down>", "1 on Other, other “x█” | ")] {
        let mut played = play(Prompt::new(database(), ARMED), script);
        assert_eq!(played.prompt.update(insert(), Duration::ZERO), Effect::Continue);
        assert_eq!(played.line(), place);
    }
}

#[test]
fn what_a_surface_could_not_do_is_told_like_a_refused_key() {
    let mut prompt = Prompt::new(database(), ARMED);
    prompt.warn("The editor failed".into());
    let told = prompt.notice().map(|notice| (notice.text.as_str(), notice.kind));
    assert_eq!(told, Some(("The editor failed", NoticeKind::Rejected)));
}

#[test]
fn a_prompt_takes_everything_from_its_request() {
    for (purpose, wording) in [
        (Purpose::Question, TextMode::Prose),
        (Purpose::Plan, TextMode::Prose),
        // Text that a person agrees to is shown verbatim.
        (Purpose::Permission, TextMode::Exact),
    ] {
        let request = Request::new(RequestKey::new("s", "c").for_purpose(purpose), auth())
            .with_origin(Origin::default().with_task("audit"))
            .with_deadline(Duration::from_secs(60));
        let filled = request.clone().with_known(known(&auth(), &[(0, &[1])]));
        assert_eq!(filled.is_err(), purpose != Purpose::Question);
        let prompt = Prompt::of(&filled.unwrap_or(request), Duration::ZERO);
        assert_eq!((prompt.wording(), prompt.origin()), (wording, Some("task 'audit'")));
        assert_eq!(prompt.time_left(), Some(Duration::from_secs(60)));
        // A permission and a plan start without a choice.
        let (page, by) = match purpose {
            Purpose::Question => (Page::Question(1), Some(Prefilled::Asker)),
            _ => (Page::Question(0), None),
        };
        assert_eq!((prompt.page(), [0, 1, 9].map(|i| prompt.prefilled_by(i))), (page, [by, None, None]));
    }
}

#[test]
fn a_note_beside_a_yes_is_said_to_hold_it_up_and_one_beside_a_no_is_not() {
    for (purpose, says) in [
        (Purpose::Question, None),
        (Purpose::Permission, Some("With a note it does not run yet: the agent reads the note and may ask again")),
        (Purpose::Plan, Some("With a note it is not approved yet: the agent reads the note and may ask again")),
    ] {
        let request = Request::new(RequestKey::new("s", "c").for_purpose(purpose), database());
        let prompt = Prompt::of(&request, Duration::ZERO);
        // The first two options agree, the third refuses, and the fourth row is Other.
        assert_eq!([0, 1, 2, 3].map(|row| prompt.note_hint(row)), [says, says, None, None], "{purpose:?}");
    }
}

#[test]
fn a_question_or_a_row_that_is_not_there_has_nothing() {
    let prompt = play(Prompt::new(database(), ARMED), "nfor now<enter><enter>").prompt;
    assert_eq!((prompt.answer(0).is_some(), prompt.answer(1)), (true, None));
    let notes = [0, 3, 4].map(|row| prompt.draft(0).note(row).map(Text::as_str));
    assert_eq!(notes, [Some("for now"), Some(""), None]);
}
