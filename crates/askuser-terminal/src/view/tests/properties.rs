//! Properties of prompts at every size, in every state, and for any text.

use super::*;
use crate::fixtures::{any_event, authentication, events, features, long, nasty_set, nasty_text};
use askuser::input::QuestionInput;
use askuser::prompt::{InputMode, PromptOptions, Scroll, TextField};
use askuser::verbatim::{self, Charset};
use askuser::{Context, Key, KeyCode, QuestionSet, Request, RequestKey, Rules, ToolUse};
use proptest::prelude::*;
use ratatui_core::buffer::{Cell, CellWidth};
use std::collections::BTreeSet;
use unicode_segmentation::UnicodeSegmentation;

fn any_theme() -> impl Strategy<Value = Theme> {
    let depth =
        prop::sample::select(vec![ColorDepth::None, ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::TrueColor]);
    let background = prop::sample::select(vec![Background::Dark, Background::Light]);
    let signs = prop::sample::select(vec![Signs::UNICODE, Signs::ASCII]);
    let charset = prop::sample::select(vec![Charset::Utf8, Charset::Ascii]);
    (depth, background, signs, charset).prop_map(|(depth, background, signs, charset)| Theme {
        background,
        depth,
        signs,
        charset,
        dimmed: false,
        prompt_style: PromptStyle::Proposal,
    })
}

fn any_context() -> impl Strategy<Value = Context> {
    let kinds = [Context::Command, Context::Diff, Context::ToolInput, Context::Prose as fn(String) -> Context];
    (nasty_text(), prop::sample::select(kinds.to_vec())).prop_map(|(text, kind)| kind(text))
}

/// Generates a request with a context, a reason, an input or previews, so that frames have texts to share.
fn any_request() -> impl Strategy<Value = Request> {
    let parts = (nasty_set(), prop::option::of(any_context()), nasty_text(), nasty_text());
    parts.prop_map(|(set, context, why, command)| {
        let call = ToolUse::new("Bash", serde_json::json!({ "command": command }).as_object().unwrap().clone());
        let set = if context.is_none() { features() } else { set };
        let context = context.unwrap_or(Context::ToolUse(call));
        Request::new(RequestKey::new("s", "c"), set).with_context(context).with_why(why)
    })
}

fn any_phase() -> impl Strategy<Value = PromptPhase> {
    prop_oneof![6 => Just(PromptPhase::Asking), 1 => Just(PromptPhase::Confirmed), 1 => Just(PromptPhase::Expired)]
}

/// Handles events until the prompt ends, one every fifth of a second.
fn live(prompt: &mut Prompt, events: Vec<Event>, size: Size, mut each: impl FnMut(&mut Prompt, &Event)) {
    look(prompt, size);
    for (i, event) in events.into_iter().enumerate() {
        let now = Duration::from_millis(200 * i as u64);
        if let Effect::Finish(_) | Effect::PutAside(_) | Effect::Interrupt = press(prompt, event.clone(), now, size) {
            break;
        }
        each(prompt, &event);
    }
}

/// Returns the text of a whole page without blanks, border and bars. It includes the parts that the screen would hide.
fn whole(prompt: &Prompt, columns: u16) -> String {
    let view = View::new(prompt, None, &Theme::default(), PromptPhase::Asking, columns, u16::MAX);
    let frame = rows(&drawn(&view)).concat();
    frame.chars().filter(|c| !c.is_whitespace() && !['│', '┃'].contains(c)).collect()
}

fn solid(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !['│', '┃'].contains(c)).collect()
}

/// Returns the text that a person reads from the rows of a context. A bar begins a line, and a broken bar continues it.
fn read_rows(rows: &[ratatui_core::text::Line<'_>], signs: &Signs) -> String {
    let mut shown = String::new();
    for (i, row) in rows.iter().enumerate() {
        let text: String = row.spans.iter().map(|span| &*span.content).collect();
        let text = match text.strip_prefix(signs.bar_wrapped) {
            Some(rest) => rest.to_owned(),
            None => text.strip_prefix(signs.bar).expect("a bar").to_owned(),
        };
        if i > 0 && row.spans[0].content.starts_with(signs.bar) {
            shown.push('\n');
        }
        shown.push_str(&text[1..]);
    }
    verbatim::read(&shown)
}

/// A key that moves, picks or takes a pick back.
fn any_choice() -> impl Strategy<Value = Event> {
    prop::sample::select(vec!["<down>", "<up>", "<space>", "4", "n", "x"]).prop_map(|key| events(key).remove(0))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_of_a_command_a_diff_or_an_input_determines_it(
        text in nasty_text(),
        kind in prop::sample::select(vec![Context::Command, Context::ToolInput, Context::Diff as fn(String) -> Context]),
        theme in any_theme(),
        columns in 8u16..=120,
    ) {
        let context = kind(text.clone());
        let rows = read_context(&context, &theme, columns).0;
        let expected = if matches!(context, Context::Diff(_)) { text.strip_suffix('\n').unwrap_or(&text) } else { &text };
        prop_assert_eq!(read_rows(&rows, &theme.signs), expected);
    }

    #[test]
    fn every_state_of_any_text_is_drawn_at_every_size_in_printable_cells(
        set in nasty_set(),
        events in prop::collection::vec(any_event(), 0..25),
        (columns, rows) in (0u16..=120, 0u16..=60),
        theme in any_theme(),
        phase in any_phase(),
        timeout in prop::option::of(0u64..200),
        context in prop::option::of(any_context()),
    ) {
        let settings = PromptOptions { key_delay: Duration::ZERO, deadline: timeout.map(Duration::from_secs) };
        let mut prompt = Prompt::new(set, settings);
        let mut faults = Vec::new();
        live(&mut prompt, events, (columns, rows), |prompt, _| {
            let widget = PromptWidget { theme, phase, context: context.as_ref() };
            // A margin around the area must stay untouched.
            let mut buffer = Buffer::filled(Rect::new(0, 0, columns + 2, rows + 2), Cell::new("~"));
            let area = Rect::new(1, 1, columns, rows);
            let cursor = widget.render_with_cursor(area, &mut buffer, prompt);
            for (i, cell) in buffer.content.iter().enumerate() {
                let (x, y) = buffer.pos_of(i);
                let inside = area.contains(Position::new(x, y));
                let printable = cell.symbol().chars().all(|c| !c.is_control()) && cell.cell_width() > 0;
                if !printable || (!inside && cell.symbol() != "~") {
                    faults.push((x, y, cell.symbol().to_owned()));
                }
            }
            assert!(cursor.is_none_or(|cursor| area.contains(cursor)), "{cursor:?} outside {area}");
        });
        prop_assert_eq!(faults, vec![]);
    }

    #[test]
    fn a_frame_after_any_other_is_as_if_it_were_the_first(
        requests in prop::collection::vec(any_request(), 1..3),
        frames in prop::collection::vec((any_event(), any_theme(), 8u16..=130, 1u16..=60, 0usize..6), 1..12),
    ) {
        let mut laid_out = LaidOut::default();
        for (i, (event, theme, columns, rows, key)) in frames.into_iter().enumerate() {
            let request = &requests[i % requests.len()];
            let mut prompt = Prompt::of(request, Duration::ZERO);
            let opens = ['o', 'v'].get(key).map(|key| Event::Key(KeyCode::Char(*key).into()));
            opens.into_iter().chain([event]).for_each(|event| _ = prompt.update(event, Duration::ZERO));
            let context = request.context();
            let fresh = View::new(&prompt, context, &theme, PromptPhase::Asking, columns, rows);
            let view = View::after(&mut laid_out, &prompt, context, &theme, PromptPhase::Asking, (columns, rows));
            prop_assert_eq!(&view.lines, &fresh.lines);
            prop_assert_eq!((view.viewport, view.caret, view.columns), (fresh.viewport, fresh.caret, fresh.columns));
        }
    }

    #[test]
    fn a_key_draws_what_a_first_frame_would(
        set in nasty_set(),
        events in prop::collection::vec(prop_oneof![any_event(), any_choice()], 0..25),
        (theme, size) in (any_theme(), (20u16..=130, 6u16..=60)),
    ) {
        let mut prompt = Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, deadline: None });
        let mut laid_out = LaidOut::default();
        live(&mut prompt, events, size, |prompt, event| {
            let fresh = View::new(prompt, None, &theme, PromptPhase::Asking, size.0, size.1);
            let view = View::after(&mut laid_out, prompt, None, &theme, PromptPhase::Asking, size);
            assert_eq!(view.lines, fresh.lines, "after {event:?}");
        });
    }

    #[test]
    fn no_row_of_a_list_stays_blank(
        items in prop::collection::vec(nasty_text(), 1..40),
        events in prop::collection::vec(any_event(), 0..15),
        size in (8u16..=100, 4u16..=20),
    ) {
        let start = QuestionInput::new("Which?", "Pick");
        let question = (0..).zip(&items).fold(start, |question, (i, item)| question.option(format!("{i} {item}"), ""));
        let set = QuestionSet::new([question], &Rules::pick()).unwrap();
        let mut prompt = Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, deadline: None });
        live(&mut prompt, events, size, |prompt, event| {
            let view = view(prompt, &Theme::default(), PromptPhase::Asking, size);
            assert!(view.lines.iter().all(|line| !line.spans.is_empty()), "after {event:?}");
        });
    }

    #[test]
    fn a_prompt_takes_no_more_room_than_it_is_given(
        set in nasty_set(),
        events in prop::collection::vec(any_event(), 0..15),
        (columns, rows) in (1u16..=120, 1u16..=60),
    ) {
        let mut prompt = Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, deadline: None });
        live(&mut prompt, events, (columns, rows), |prompt, _| {
            let view = View::new(prompt, None, &Theme::default(), PromptPhase::Asking, columns, rows);
            let width = view.columns;
            let height = view.lines.len() as u16;
            assert!(width <= columns && height <= rows, "{width}x{height} in {columns}x{rows}");
        });
    }

    #[test]
    fn after_a_key_the_caret_or_the_focused_row_is_on_the_screen(
        set in nasty_set(),
        events in prop::collection::vec(any_event(), 0..40),
        size in (10u16..=120, 3u16..=40),
    ) {
        let mut prompt = Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, deadline: None });
        live(&mut prompt, events, size, |prompt, event| {
            let view = view(prompt, &Theme::default(), PromptPhase::Asking, size);
            match (prompt.mode(), prompt.current(), prompt.scroll()) {
                (InputMode::Typing(_), _, Scroll::Reveal(_)) => assert!(view.caret.is_some(), "no caret after {event:?}"),
                (InputMode::Choosing, Some((_, entry)), Scroll::Reveal(_)) => {
                    assert!(view.viewport.shows(entry.focus), "row {} is hidden after {event:?}", entry.focus);
                }
                _ => {}
            }
        });
    }

    #[test]
    fn paging_down_leaves_no_line_out(set in nasty_set(), size in (10u16..=120, 3u16..=40), help in any::<bool>()) {
        let mut prompt = Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, deadline: None });
        look(&mut prompt, size);
        if help {
            press(&mut prompt, Event::Key(KeyCode::Char('?').into()), Duration::ZERO, size);
        }
        let mut next = 0;
        loop {
            let viewport = view(&prompt, &Theme::default(), PromptPhase::Asking, size).viewport.clone();
            prop_assert!(viewport.page.offset <= next, "lines {next} to {} were passed over", viewport.page.offset);
            let before = std::mem::replace(&mut next, viewport.page.offset + viewport.page.height);
            if next == viewport.page.total {
                break;
            }
            prop_assert!(before < next, "stuck at line {next} of {}", viewport.page.total);
            press(&mut prompt, Event::Key(KeyCode::PageDown.into()), Duration::ZERO, size);
        }
    }

    #[test]
    fn down_comes_to_every_option(set in nasty_set(), size in (20u16..=120, 5u16..=40)) {
        let mut prompt = Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, deadline: None });
        let all: Vec<usize> = (0..=prompt.draft(0).other_row()).collect();
        prop_assert_eq!(visited(&mut prompt, size), all);
    }

    #[test]
    fn no_text_is_cut_off_at_any_width(set in nasty_set(), typed in nasty_text(), columns in 20u16..=120) {
        let mut prompt = Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, deadline: None });
        let script = [Event::Key(KeyCode::Char('n').into()), Event::Paste(typed), Event::Key(KeyCode::Esc.into())];
        for event in script {
            prompt.update(event, Duration::ZERO);
        }
        let page = whole(&prompt, columns);
        let (question, entry) = prompt.current().expect("a question");
        let texts = question.options().iter().flat_map(|option| [option.name(), option.description()]);
        let texts = texts.chain([question.text(), entry.note(0).unwrap().as_str()]);
        // The marks of Markdown are not visible.
        let has_marks = |text: &str| crate::markdown::inline(text).is_some() || crate::markdown::has_blocks(text);
        for text in texts.filter(|text| !has_marks(text)) {
            prop_assert!(page.contains(&solid(text)), "{text:?} is not all in {page:?}");
        }
    }

    #[test]
    fn a_text_takes_the_columns_that_a_buffer_gives_it(text in nasty_text()) {
        let text = askuser::sanitize::line(&text);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 1_000, 1));
        let (end, _) = buffer.set_stringn(0, 0, &text, 1_000, ratatui_core::style::Style::new());
        prop_assert_eq!(width(&text), usize::from(end), "{:?}", text);
    }

    #[test]
    fn the_caret_stands_where_the_text_before_it_ends(text in nasty_text(), left in 0usize..10, columns in 30u16..=120) {
        let mut prompt = Prompt::new(features(), PromptOptions { key_delay: Duration::ZERO, deadline: None });
        prompt.update(Event::Key(KeyCode::Char('n').into()), Duration::ZERO);
        prompt.update(Event::Paste(text), Duration::ZERO);
        for _ in 0..left {
            prompt.update(Event::Key(KeyCode::Left.into()), Duration::ZERO);
        }
        let view = View::new(&prompt, None, &Theme::default(), PromptPhase::Asking, columns, u16::MAX);
        let caret = view.caret.expect("a caret");
        let buffer = drawn(&view);
        let text = prompt.field(TextField::Note(0));
        let (before, after) = text.as_str().split_at(text.caret());
        let under = &buffer[caret];
        match after.graphemes(true).next() {
            // At the end of a line, and over blanks at a break, the caret has a separate cell.
            None | Some("\n" | " ") => {}
            Some(grapheme) => prop_assert_eq!(under.symbol(), grapheme, "before it: {:?}", before),
        }
        if after.is_empty() && !before.ends_with(' ') {
            prop_assert_eq!(under.symbol(), " ", "before it: {:?}", before);
        }
    }
}

/// Returns all words that are visible while scrolling down by pages.
fn read(prompt: &mut Prompt, size: Size) -> BTreeSet<String> {
    read_with(KeyCode::PageDown, prompt, size)
}

/// Returns all words that are visible while moving down with this key.
fn read_with(key: KeyCode, prompt: &mut Prompt, size: Size) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut last = None;
    look(prompt, size);
    loop {
        let view = view(prompt, &Theme::default(), PromptPhase::Asking, size);
        words.extend(rows(&drawn(&view)).iter().flat_map(|row| row.split_whitespace().map(str::to_owned)));
        let place = Some((view.viewport.page.offset, prompt.focus()));
        if place == last {
            return words;
        }
        last = place;
        press(prompt, Event::Key(key.into()), Duration::ZERO, size);
    }
}

fn assert_all_seen<'a>(seen: &BTreeSet<String>, texts: impl IntoIterator<Item = &'a str>) {
    let missing: Vec<&str> =
        texts.into_iter().flat_map(str::split_whitespace).filter(|word| !seen.contains(*word)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn the_longest_question_is_read_to_its_last_word() {
    for size in [(80, 24), (40, 12)] {
        let mut prompt = Prompt::new(long(), PromptOptions { key_delay: Duration::ZERO, deadline: None });
        // A description is shown while the cursor is on its option.
        let seen = read_with(KeyCode::Down, &mut prompt, size);
        let question = &prompt.set().questions()[0];
        assert_eq!(question.text().chars().count(), 2_000);
        assert_all_seen(&seen, [question.text()]);
        assert_all_seen(&seen, question.options().iter().map(|option| option.name()));
        assert_all_seen(&seen, question.options().iter().map(|option| option.description()));
        assert_all_seen(&seen, ["Other Type something else…"]);
    }
}

/// Returns the rows that the cursor visits with Down, until it is on the last one.
fn visited(prompt: &mut Prompt, size: Size) -> Vec<usize> {
    look(prompt, size);
    let mut visited = vec![0];
    while prompt.draft(0).focus < prompt.draft(0).other_row() {
        let before =
            (prompt.draft(0).focus, view(prompt, &Theme::default(), PromptPhase::Asking, size).viewport.page.offset);
        press(prompt, Event::Key(KeyCode::Down.into()), Duration::ZERO, size);
        let view = view(prompt, &Theme::default(), PromptPhase::Asking, size);
        let after = (prompt.draft(0).focus, view.viewport.page.offset);
        assert!(after > before, "from {before:?} to {after:?}: neither the cursor nor the page went down");
        if after.0 != before.0 {
            assert!(view.viewport.shows(after.0), "row {} is not seen", after.0);
            visited.push(after.0);
        }
    }
    visited
}

#[test]
fn down_comes_to_every_option_of_the_longest_question() {
    for size in [(80, 24), (79, 23), (60, 20), (40, 12), (41, 13), (39, 11), (30, 8)] {
        let mut prompt = Prompt::new(long(), PromptOptions { key_delay: Duration::ZERO, deadline: None });
        assert_eq!(visited(&mut prompt, size), [0, 1, 2, 3, 4], "{size:?}");
    }
}

#[test]
fn down_reads_a_long_text_under_other_to_its_end() {
    let size = (40, 12);
    let mut prompt = Prompt::new(features(), PromptOptions { key_delay: Duration::ZERO, deadline: None });
    look(&mut prompt, size);
    let typed = crate::fixtures::numbered("w", 1_900);
    for event in events(&format!("<down><down><down><down><enter><paste:{typed}><esc>")) {
        press(&mut prompt, event, Duration::ZERO, size);
    }
    let mut seen = BTreeSet::new();
    for _ in 0..30 {
        let view = view(&prompt, &Theme::default(), PromptPhase::Asking, size);
        seen.extend(rows(&drawn(&view)).iter().flat_map(|row| row.split_whitespace().map(str::to_owned)));
        press(&mut prompt, Event::Key(KeyCode::Down.into()), Duration::ZERO, size);
    }
    assert_all_seen(&seen, [typed.as_str()]);
}

#[test]
fn the_longest_question_can_be_answered_with_arrows_alone() {
    for size in [(80, 24), (40, 12)] {
        let mut prompt = Prompt::new(long(), PromptOptions { key_delay: Duration::ZERO, deadline: None });
        look(&mut prompt, size);
        let mut key = |code: KeyCode| press(&mut prompt, Event::Key(Key::plain(code)), Duration::ZERO, size);
        (0..30).for_each(|_| _ = key(KeyCode::Down));
        key(KeyCode::Up);
        let effect = key(KeyCode::Enter);
        let Effect::Finish(outcome) = effect else { panic!("{effect:?} at {size:?}") };
        assert_eq!(outcome.answers()[0].selected_options, ["Fourth"]);
    }
}

#[test]
fn the_help_page_is_read_to_its_last_word() {
    for size in [(80, 24), (40, 12)] {
        for set in [features(), authentication()] {
            let mut prompt = Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, deadline: None });
            look(&mut prompt, size);
            for event in events("?") {
                press(&mut prompt, event, Duration::ZERO, size);
            }
            let seen = read(&mut prompt, size);
            let help: Vec<(&str, &str)> = prompt.help().collect();
            assert_all_seen(&seen, help.iter().flat_map(|(spelled, does)| [*spelled, *does]));
        }
    }
}

#[test]
fn long_answers_are_reviewed_to_their_last_word() {
    for size in [(80, 24), (40, 12)] {
        let typed = crate::fixtures::numbered("w", 1_900);
        let mut prompt = Prompt::new(authentication(), PromptOptions { key_delay: Duration::ZERO, deadline: None });
        look(&mut prompt, size);
        let script = format!("<down><down><down><enter><paste:{typed}><enter><enter><enter>");
        for event in events(&script) {
            press(&mut prompt, event, Duration::ZERO, size);
        }
        assert_eq!(prompt.current(), None, "this is the review");
        assert_all_seen(&read(&mut prompt, size), [typed.as_str()]);
    }
}
