//! What a person agrees to is read to its end before they can.

use super::*;
use crate::request::{Context, Purpose, Request, RequestKey};

fn about(purpose: Purpose, context: Context) -> Prompt {
    let set = set_of(&[question("Run it?", "Bash", &["Allow once", "Always allow", "Don't run it"], false)]);
    let request = Request::new(RequestKey::new("s", "c").for_purpose(purpose), set).with_context(context);
    Prompt::of(&request, Duration::ZERO)
}

/// A screen that shows so many of ten lines of the context.
fn screen(offset: usize, height: usize) -> Viewport {
    let context = Window { offset, height, total: 10 };
    Viewport {
        page: Window { offset: 0, height: 10, total: 10 },
        rows: vec![0..1, 1..2, 2..3, 3..4],
        context,
        ..Viewport::default()
    }
}

/// What comes of keys on a prompt whose context is on the screen from its beginning, but not to its end.
#[track_caller]
fn check_unread(purpose: Purpose, context: Context, keys: &str, is_chosen: bool) {
    let mut prompt = about(purpose, context.clone());
    prompt.look(screen(0, 9));
    let played = play(prompt, keys);
    assert_eq!(matches!(played.effect, Effect::Finish(_)), is_chosen, "{purpose:?} {context:?} {keys}");
    if !is_chosen {
        assert_eq!(played.prompt.notice().map(|notice| notice.text.as_str()), Some("Read it to its end first: PgDn"));
        assert!(played.prompt.answer(0).is_none(), "nothing is marked either");
    }
}

#[test]
fn no_option_permits_what_was_not_read_to_its_end() {
    for keys in ["<enter>", "1", "2", "<space>", "<down><enter>", "<enter><enter><enter><enter>"] {
        check_unread(Purpose::Permission, Context::Command("rm".into()), keys, false);
        check_unread(Purpose::Permission, Context::Prose("rm".into()), keys, false);
        check_unread(Purpose::Plan, Context::Prose("# Plan".into()), keys, false);
        check_unread(Purpose::Choice, Context::Diff("+a".into()), keys, false);
    }
    // A refusal, or something else in words, needs no reading to the end.
    for keys in ["3", "<down><down><enter>", "4no<enter>", "d<enter>", "c<enter>", "<esc>"] {
        check_unread(Purpose::Permission, Context::Command("rm".into()), keys, true);
    }
}

#[test]
fn of_a_models_question_no_option_is_known_to_refuse() {
    check_unread(Purpose::Question, Context::Diff("+a".into()), "3", false);
    // An explanation is not agreed to.
    check_unread(Purpose::Question, Context::Prose("Because".into()), "1", true);
}

#[test]
fn once_its_end_was_on_the_screen_it_can_be_allowed_wherever_it_is_scrolled_to() {
    for offsets in [&[1][..], &[0, 1, 0]] {
        let mut prompt = about(Purpose::Permission, Context::Command("rm".into()));
        offsets.iter().for_each(|&offset| prompt.look(screen(offset, 9)));
        assert_eq!(play(prompt, "1").line(), "answered | Bash: Allow once");
    }
}

#[test]
fn a_screen_that_is_about_to_show_the_end_has_not_shown_it() {
    let mut prompt = about(Purpose::Permission, Context::Command("rm".into()));
    prompt.look(screen(0, 9));
    prompt.foresee(screen(1, 9));
    let mut played = play(prompt, "1");
    assert_eq!(played.effect, Effect::Continue);
    played.prompt.look(screen(1, 9));
    played.play("1");
    assert!(matches!(played.effect, Effect::Finish(_)));
}

#[test]
fn a_page_without_the_context_has_not_shown_its_end() {
    let mut prompt = about(Purpose::Permission, Context::Command("rm".into()));
    prompt.look(screen(0, 9));
    let mut played = play(prompt, "?");
    played.prompt.look(Viewport { page: Window { offset: 0, height: 10, total: 10 }, ..Viewport::default() });
    played.play("x1");
    assert_eq!(played.effect, Effect::Continue);
}

#[test]
fn what_was_filled_in_is_not_sent_before_the_end_was_on_the_screen() {
    let two = [question("One?", "One", &["Yes", "No"], false), question("Two?", "Two", &["Yes", "No"], false)];
    let set = set_of(&two);
    let yes: Vec<Answer> = set.questions().iter().map(|question| question.answer(&[0], None, None).unwrap()).collect();
    let key = RequestKey::new("s", "c").for_purpose(Purpose::Permission);
    let request = Request::new(key, set).with_context(Context::Command("rm".into())).with_known(yes).unwrap();
    let mut played = play(Prompt::of(&request, Duration::ZERO), "<enter>");
    assert_eq!((played.effect.clone(), played.prompt.page()), (Effect::Continue, Page::Question(0)));
    played.prompt.look(screen(1, 9));
    played.play("<enter><enter>");
    assert!(matches!(played.effect, Effect::Finish(_)), "{:?}", played.prompt.page());
}

#[test]
fn a_surface_that_prints_everything_has_shown_the_end() {
    let mut prompt = about(Purpose::Permission, Context::Command("rm".into()));
    prompt.show_context();
    assert!(matches!(play(prompt, "1").effect, Effect::Finish(_)));
}

#[test]
fn an_option_that_is_about_to_come_onto_the_screen_permits_nothing_yet() {
    let set =
        set_of(&[question("Run this command?\n\nmake\nmake install", "Bash", &["Allow once", "Don't run it"], false)]);
    for (purpose, is_chosen) in [(Purpose::Permission, false), (Purpose::Question, true)] {
        let request = Request::new(RequestKey::new("s", "c").for_purpose(purpose), set.clone());
        let at = |offset| Viewport {
            page: Window { offset, height: 5, total: 10 },
            rows: vec![6..7, 7..8, 8..9],
            ..Viewport::default()
        };
        let mut prompt = Prompt::of(&request, Duration::ZERO);
        prompt.look(at(0));
        let mut played = play(prompt, "<enter>");
        played.prompt.foresee(at(5));
        played.play("<enter>");
        assert_eq!(matches!(played.effect, Effect::Finish(_)), is_chosen, "{purpose:?}");
        if !is_chosen {
            played.prompt.look(at(5));
            played.play("<enter>");
            assert!(matches!(played.effect, Effect::Finish(_)));
        }
    }
}
