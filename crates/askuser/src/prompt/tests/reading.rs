//! Tests that a person reads a text to its end before agreeing to it.

use super::*;
use crate::request::{Context, Purpose, Request, RequestKey};

fn about(purpose: Purpose, context: Context) -> Prompt {
    let set = set_of(&[question("Run it?", "Bash", &["Allow once", "Always allow", "Don't run it"], false)]);
    let request = Request::new(RequestKey::new("s", "c").for_purpose(purpose), set).with_context(context);
    Prompt::of(&request, Duration::ZERO)
}

/// Returns a screen that shows `height` of ten lines of the context.
fn screen(offset: usize, height: usize) -> Viewport {
    let context = Window { offset, height, total: 10 };
    Viewport {
        page: Window { offset: 0, height: 10, total: 10 },
        rows: vec![0..1, 1..2, 2..3, 3..4],
        context,
        ..Viewport::default()
    }
}

/// Checks the effect of keys on a prompt whose context is visible from its beginning, but not to its end.
#[track_caller]
fn check_unread(purpose: Purpose, context: Context, keys: &str, is_chosen: bool) {
    let mut prompt = about(purpose, context.clone());
    prompt.look(screen(0, 9));
    let played = play(prompt, keys);
    assert_eq!(matches!(played.effect, Effect::Finish(_)), is_chosen, "{purpose:?} {context:?} {keys}");
    if !is_chosen {
        assert_eq!(played.prompt.notice().map(|notice| notice.text.as_str()), Some("Read it to its end first: Space"));
        assert!(played.prompt.answer(0).is_none(), "nothing is marked either");
    }
}

#[test]
fn no_key_chooses_an_option_of_a_text_that_was_not_read() {
    for keys in ["<enter>", "1", "2", "3", "<down><enter>", "<down><down><enter>", "<enter><enter><enter><enter>"] {
        check_unread(Purpose::Permission, Context::Command("rm".into()), keys, false);
        check_unread(Purpose::Permission, Context::Prose("rm".into()), keys, false);
        check_unread(Purpose::Plan, Context::Prose("# Plan".into()), keys, false);
        check_unread(Purpose::Question, Context::Diff("+a".into()), keys, false);
    }
    // A typed answer or a refusal by its own key agrees to no text.
    for keys in ["4no<enter>", "d<enter>", "c<enter>", "<esc>"] {
        check_unread(Purpose::Permission, Context::Command("rm".into()), keys, true);
    }
}

#[test]
fn an_explanation_and_our_own_setup_need_no_reading() {
    check_unread(Purpose::Question, Context::Prose("Because".into()), "1", true);
    check_unread(Purpose::Choice, Context::Diff("+a".into()), "1", true);
}

#[test]
fn no_key_press_both_scrolls_and_chooses() {
    let start = |keys| {
        let mut prompt = about(Purpose::Permission, Context::Command("rm".into()));
        prompt.look(screen(0, 4));
        let played = play(prompt, keys);
        assert!(played.effect == Effect::Continue && played.prompt.answer(0).is_none(), "{keys}");
        (played.prompt.context_offset(), played.prompt.focus())
    };
    for (keys, focus) in [("<enter>", 0), ("2", 1), ("<enter>1<enter>", 0)] {
        assert_eq!(start(keys), (None, focus), "{keys}");
    }
    // Space scrolls to unread rows, even on the row of Other. A second Space goes no further before the next drawing.
    for keys in ["<space>", "<space><space><space>", "<down><down><down><space>"] {
        assert_eq!(start(keys).0, Some(3), "{keys}");
    }
}

#[test]
fn space_reads_every_row_and_then_marks() {
    let mut prompt = about(Purpose::Permission, Context::Command("rm".into()));
    let mut offsets = Vec::new();
    while prompt.is_unread() {
        let offset = prompt.context_offset().unwrap_or(4).min(7);
        offsets.push(offset);
        prompt.look(screen(offset, 3));
        prompt = play(prompt, "<space>").prompt;
    }
    // A diff begins at its first change. The lines above that change come last.
    assert_eq!(offsets, [4, 6, 7, 0, 2]);
    assert_eq!(prompt.answer(0).expect("marked").selected_options, ["Allow once"]);
}

#[test]
fn a_row_that_was_skipped_is_not_read_and_space_goes_back() {
    let mut prompt = about(Purpose::Permission, Context::Command("rm".into()));
    prompt.look(screen(0, 3));
    for offset in [2, 4, 6] {
        prompt = play(prompt, "<pgdn>").prompt;
        prompt.set_expected_viewport(screen(offset, 3));
    }
    prompt.look(screen(7, 3));
    let mut played = play(prompt, "1");
    assert_eq!(played.effect, Effect::Continue);
    played.play("<space>");
    assert_eq!(played.prompt.context_offset(), Some(2));
    played.prompt.look(screen(2, 3));
    played.prompt.look(screen(5, 3));
    played.play("1");
    assert!(matches!(played.effect, Effect::Finish(_)));
}

#[test]
fn a_screen_of_another_width_is_read_anew() {
    let mut prompt = about(Purpose::Permission, Context::Command("rm".into()));
    prompt.look(screen(0, 6));
    let wider = Window { offset: 3, height: 2, total: 5 };
    prompt.look(Viewport { context: wider, ..screen(0, 6) });
    assert!(prompt.is_unread(), "six rows of ten are no three rows of five");
}

#[test]
fn a_permission_without_a_context_is_read_too() {
    let set = set_of(&[question("Run it?\n\nmake\nmake install", "Bash", &["Allow once", "Don't run it"], false)]);
    for purpose in [Purpose::Permission, Purpose::Plan] {
        let key = RequestKey::new("s", "c").for_purpose(purpose);
        let mut prompt = Prompt::of(&Request::new(key, set.clone()), Duration::ZERO);
        let at = |offset| Viewport {
            page: Window { offset, height: 3, total: 9 },
            rows: vec![6..7, 7..8, 8..9],
            ..Viewport::default()
        };
        prompt.look(at(0));
        let mut played = play(prompt, "<enter>");
        played.prompt.look(at(5));
        played.play("<enter>");
        assert_eq!(played.effect, Effect::Continue, "{purpose:?}: rows 3 and 4 were not drawn");
        played.play("<space>");
        assert_eq!(played.prompt.scroll(), Scroll::At(3));
        played.prompt.look(at(3));
        played.prompt.look(at(5));
        played.play("<enter>");
        assert!(matches!(played.effect, Effect::Finish(_)), "{purpose:?}");
    }
}

#[test]
fn a_draft_is_not_sent_before_its_text_was_read() {
    let prompt = about(Purpose::Permission, Context::Command("rm".into()));
    let allow = prompt.set().questions()[0].answer(&[0], None, None).unwrap();
    for trigger in [Trigger::Inline, Trigger::Opened, Trigger::Popup] {
        let mut prompt = prompt.clone().resuming(&vec![allow.clone()].into()).on(trigger);
        prompt.look(screen(0, 9));
        let mut played = play(prompt, "<enter>");
        assert_eq!(played.effect, Effect::Continue);
        played.prompt.look(screen(1, 9));
        played.play("<enter>");
        assert!(matches!(played.effect, Effect::Finish(_)), "{trigger:?}");
    }
}

#[test]
fn a_text_is_read_once_wherever_it_is_scrolled_to() {
    for offsets in [&[0, 1][..], &[0, 1, 0]] {
        let mut prompt = about(Purpose::Permission, Context::Command("rm".into()));
        offsets.iter().for_each(|&offset| prompt.look(screen(offset, 9)));
        assert_eq!(play(prompt, "1").line(), "answered | Bash: Allow once");
    }
}

#[test]
fn a_screen_that_is_about_to_show_the_end_has_not_shown_it() {
    let mut prompt = about(Purpose::Permission, Context::Command("rm".into()));
    prompt.look(screen(0, 9));
    prompt.set_expected_viewport(screen(1, 9));
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
    let key = RequestKey::new("s", "c");
    let request = Request::new(key, set).with_context(Context::Command("rm".into())).with_known(yes).unwrap();
    let mut played = play(Prompt::of(&request, Duration::ZERO), "<enter>");
    assert_eq!((played.effect.clone(), played.prompt.page()), (Effect::Continue, Page::Question(0)));
    played.prompt.look(screen(0, 9));
    played.prompt.look(screen(1, 9));
    played.play("<enter><enter>");
    assert!(matches!(played.effect, Effect::Finish(_)), "{:?}", played.prompt.page());
}

#[test]
fn a_surface_that_prints_everything_has_shown_the_end() {
    let mut prompt = about(Purpose::Permission, Context::Command("rm".into()));
    prompt.show_all();
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
        played.prompt.set_expected_viewport(at(5));
        played.play("<enter>");
        assert_eq!(matches!(played.effect, Effect::Finish(_)), is_chosen, "{purpose:?}");
        if !is_chosen {
            played.prompt.look(at(5));
            played.play("<enter>");
            assert!(matches!(played.effect, Effect::Finish(_)));
        }
    }
}

#[test]
fn a_key_opens_a_text_in_the_place_of_the_context() {
    let set = set_of(&[question("Run it?", "Bash", &["Allow once", "Don't run it"], false)]);
    let request = Request::new(RequestKey::new("s", "c"), set).with_why("To test it.".to_owned());
    let prompt = |request: &Request| Prompt::of(request, Duration::ZERO);
    let opened = |keys| play(prompt(&request), keys).prompt.opened();
    assert_eq!([opened("o"), opened("oo"), opened("o<esc>")], [Some(SideText::Why), None, None]);
    assert_eq!(opened("v"), None, "it has no input");
    assert_eq!(prompt(&request).side_text(SideText::Why), Some("To test it."));
    let words = |prompt: &Prompt| prompt.hints().map(|(key, word)| format!("{key} {word}")).collect::<Vec<_>>();
    assert!(words(&prompt(&request)).contains(&"o why".to_owned()));
    let closed = words(&play(prompt(&request), "o").prompt);
    assert!(closed.contains(&"esc back".to_owned()) && !closed.contains(&"o why".to_owned()), "{closed:?}");
    let silent = prompt(&request.with_why(None));
    assert!(silent.help().all(|(key, _)| key != "o" && key != "v"));
}

#[test]
fn rows_of_an_opened_text_count_for_no_other_text() {
    let input = json!({"command": "rm"}).as_object().unwrap().clone();
    let mut prompt = about(Purpose::Permission, Context::ToolUse(crate::ToolUse::new("Bash", input)));
    prompt.look(screen(0, 4));
    let mut prompt = play(prompt, "v").prompt;
    prompt.look(screen(0, 10));
    assert!(prompt.is_unread() && prompt.is_unread_after(&screen(0, 10)));
    // Space returns to the text that must be read. Once that text is drawn, Space scrolls on.
    let mut prompt = play(prompt, "<space><space>").prompt;
    assert_eq!((prompt.opened(), prompt.context_offset()), (None, None));
    prompt.look(screen(0, 4));
    assert_eq!(play(prompt, "<space>").prompt.context_offset(), Some(3));
}
