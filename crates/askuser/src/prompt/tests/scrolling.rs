//! Tests of pages longer than the screen: which rows count as seen, and how rows longer than the screen are read.

use super::*;

fn view(offset: usize, rows: &[std::ops::Range<usize>]) -> Viewport {
    Viewport { page: Window { offset, height: 10, total: 60 }, rows: rows.to_vec(), ..Viewport::default() }
}

#[test]
fn a_row_is_seen_if_all_of_it_is_or_the_beginning_of_a_row_longer_than_the_screen() {
    for (row, seen) in [
        (20..22, true),
        (28..30, true),
        (20..30, true),
        (19..21, false),
        (29..31, false),
        (30..31, false),
        (18..20, false),
        (25..35, false),
        (25..36, true),
        (29..40, true),
        (30..41, false),
        (19..40, false),
    ] {
        assert_eq!(view(20, std::slice::from_ref(&row)).shows(0), seen, "{row:?}");
    }
    assert!(view(20, &[]).shows(0), "what has no place on the page is not off the screen");
}

/// Presses a key repeatedly and reports the drawn viewport before each press. Returns the scroll position after each
/// press.
fn read(start: usize, rows: &[std::ops::Range<usize>], before: &str, key: &str, times: usize) -> Vec<String> {
    let mut played = play(Prompt::new(database(), ARMED), before);
    let mut offset = start;
    let mut seen = Vec::new();
    for _ in 0..times {
        played.prompt.look(view(offset, rows));
        played.play(key);
        seen.push(match played.prompt.scroll() {
            Scroll::At(line) => {
                offset = line;
                format!("at {line}")
            }
            Scroll::Reveal(_) => played.line().trim_end_matches(" | ").to_owned(),
        });
    }
    seen
}

/// Two short rows around a long one, and Other.
const LONG: [std::ops::Range<usize>; 4] = [3..5, 5..30, 30..32, 32..34];

#[test]
fn a_row_longer_than_the_screen_is_read_to_its_end_before_it_is_left() {
    let on = "1 on SQLite".to_owned();
    assert_eq!(read(5, &LONG, "j", "<down>", 3), ["at 14".to_owned(), "at 20".to_owned(), on]);
}

#[test]
fn a_row_longer_than_the_screen_is_read_back_to_its_beginning_before_it_is_left() {
    let on = "1 on PostgreSQL".to_owned();
    assert_eq!(read(20, &LONG, "j", "<up>", 3), ["at 11".to_owned(), "at 5".to_owned(), on]);
}

#[test]
fn what_is_above_a_row_that_begins_below_is_not_skipped() {
    let far = [24..26, 26..60, 60..62, 62..64];
    let on = "1 on MongoDB".to_owned();
    let read_on = |times| read(0, &far, "", "<down>", times);
    assert_eq!(read_on(3), ["at 9".to_owned(), "at 16".to_owned(), on]);
    // A long row that begins below is first brought to the top.
    assert_eq!(read(8, &far, "j", "<down>", 3), ["at 17".to_owned(), "at 26".to_owned(), "at 35".to_owned()]);
}

#[test]
fn from_a_row_just_off_the_screen_the_cursor_comes_to_the_nearest_one_on_it() {
    let rows = [0..2, 2..4, 20..22, 22..24];
    // The focused row ends where the screen begins, or begins where it ends.
    assert_eq!(read(4, &rows, "j", "<up>", 1), ["1 on PostgreSQL"]);
    assert_eq!(read(10, &rows, "jj", "<up>", 1), ["at 1"]);
    assert_eq!(read(4, &rows, "j", "<down>", 1), ["at 13"]);
}

#[test]
fn a_long_help_page_is_read_both_ways_and_a_short_one_is_closed_by_any_key() {
    for (key, line) in [("<up>", 6), ("<pgup>", 6), ("<down>", 24), ("<pgdn>", 24)] {
        let mut played = play(Prompt::new(database(), ARMED), "?");
        played.prompt.look(view(15, &[]));
        played.play(key);
        assert_eq!((played.prompt.mode(), played.prompt.scroll()), (InputMode::Help, Scroll::At(line)), "{key}");
        let mut played = play(Prompt::new(database(), ARMED), "?");
        played.prompt.look(Viewport { page: Window { offset: 0, height: 10, total: 10 }, ..Viewport::default() });
        played.play(key);
        assert_eq!((played.prompt.mode(), played.prompt.scroll()), (InputMode::Choosing, Scroll::Reveal(0)), "{key}");
    }
}

#[test]
fn another_page_begins_at_its_beginning_with_none_of_its_previews_read() {
    let mut prompt = Prompt::new(auth(), ARMED);
    let preview = Window { offset: 0, height: 5, total: 20 };
    prompt.look(Viewport { page: Window { offset: 0, height: 10, total: 30 }, preview, ..Viewport::default() });
    prompt.update(Event::Key(KeyCode::PageDown.into()), Duration::ZERO);
    assert_eq!(prompt.preview_offset(), Some(4));
    prompt.look(Viewport { page: Window { offset: 0, height: 10, total: 30 }, ..Viewport::default() });
    prompt.update(Event::Key(KeyCode::PageDown.into()), Duration::ZERO);
    assert_eq!(prompt.scroll(), Scroll::At(9));
    prompt.update(Event::Key(KeyCode::Tab.into()), Duration::ZERO);
    assert_eq!((prompt.scroll(), prompt.preview_offset()), (Scroll::At(0), None));
    prompt.update(Event::Key(KeyCode::BackTab.into()), Duration::ZERO);
    assert_eq!(prompt.preview_offset(), None);
}

#[test]
fn an_escape_byte_may_count_at_once_only_where_it_ends_nothing() {
    for (set, script, harmless) in [
        (database(), "?", true),
        (database(), "<space><esc>", false),
        (database(), "", false),
        (database(), "<space>", true),
        (database(), "4bun", true),
        (features(), "5bun", true),
        (features(), "5bun<enter>s", false),
        (features(), "5bun<enter><space>s", true),
        (database(), "n", false),
        (database(), "c", false),
        (database(), "d", false),
    ] {
        let prompt = play(Prompt::new(set, ARMED), script).prompt;
        assert_eq!(prompt.is_esc_harmless(), harmless, "{script} {:?}", prompt.mode());
    }
}
