//! The widget in another program: through the public interface, inside the program's own layout.

use askuser::prompt::{Effect, Event, PromptOptions};
use askuser::{Context, Key, KeyCode, Prompt, QuestionSet, Rules};
use askuser_terminal::{PromptPhase, PromptWidget};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::Paragraph;
use std::time::Duration;

fn prompt() -> Prompt {
    let json = include_str!("../examples/database.json");
    let set = QuestionSet::from_json(json, &Rules::default()).expect("a valid question");
    Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, deadline: None })
}

fn press(prompt: &mut Prompt, code: KeyCode) -> Effect {
    prompt.update(Event::Key(Key::plain(code)), Duration::ZERO)
}

/// Returns the screen of a program with its own column on the left and the prompt beside that column.
fn draw(prompt: &mut Prompt, columns: u16, rows: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
    let draw = |frame: &mut ratatui::Frame<'_>| {
        let widget = PromptWidget::default();
        let area = Rect::new(6, 1, frame.area().width.saturating_sub(6), frame.area().height.saturating_sub(1));
        frame.render_widget(Paragraph::new("mine\n".repeat(40)), Rect::new(0, 0, 5, rows));
        if let Some(cursor) = widget.render_with_cursor(area, frame.buffer_mut(), prompt) {
            frame.set_cursor_position(cursor);
        }
    };
    terminal.draw(draw).expect("a frame");
    terminal
}

#[test]
fn it_draws_where_it_is_told_to() {
    let terminal = draw(&mut prompt(), 66, 20);
    insta::assert_snapshot!(terminal.backend());
}

#[test]
fn it_scrolls_where_it_gets_too_few_rows() {
    let mut prompt = prompt();
    draw(&mut prompt, 66, 8);
    press(&mut prompt, KeyCode::PageDown);
    insta::assert_snapshot!(draw(&mut prompt, 66, 8).backend());
}

#[test]
fn the_cursor_is_at_the_caret_and_nowhere_else() {
    let mut prompt = prompt();
    assert!(!draw(&mut prompt, 66, 20).backend().cursor_visible());
    press(&mut prompt, KeyCode::Char('4'));
    "bun".chars().for_each(|c| _ = press(&mut prompt, KeyCode::Char(c)));
    let mut terminal = draw(&mut prompt, 66, 20);
    terminal.backend_mut().assert_cursor_position(Position::new(6 + 28, 1 + 15));
}

#[test]
fn its_height_is_what_it_takes_without_scrolling() {
    let prompt = prompt();
    assert_eq!(PromptWidget::default().height(&prompt, 80), 18);
    assert!(PromptWidget::default().height(&prompt, 30) > 18);
}

#[test]
fn an_area_without_cells_is_left_alone() {
    let mut prompt = prompt();
    press(&mut prompt, KeyCode::Char('4'));
    let whole = Rect::new(0, 0, 30, 10);
    let mut full = Buffer::empty(whole);
    full.content.iter_mut().for_each(|cell| _ = cell.set_char('x'));
    for area in [Rect::new(0, 0, 0, 0), Rect::new(3, 3, 0, 5), Rect::new(3, 3, 5, 0)] {
        let mut buffer = full.clone();
        let cursor = PromptWidget::default().render_with_cursor(area, &mut buffer, &mut prompt);
        assert_eq!((cursor, &buffer), (None, &full), "{area:?}");
    }
    // No option was visible, so Enter selects none.
    assert_eq!(press(&mut prompt, KeyCode::Enter), Effect::Continue);
}

#[test]
fn a_program_may_show_the_end_too() {
    let mut prompt = prompt();
    press(&mut prompt, KeyCode::Char(' '));
    let mut terminal = Terminal::new(TestBackend::new(60, 18)).expect("a terminal");
    let widget = PromptWidget { phase: PromptPhase::Expired, ..Default::default() };
    terminal.draw(|frame| frame.render_stateful_widget(widget, frame.area(), &mut prompt)).expect("a frame");
    assert!(terminal.backend().to_string().contains("Timed out"));
}

#[test]
fn an_area_that_leaves_the_buffer_is_clipped_and_does_not_panic() {
    let mut prompt = prompt();
    press(&mut prompt, KeyCode::Char('4'));
    "bun".chars().for_each(|c| _ = press(&mut prompt, KeyCode::Char(c)));
    let whole = Rect::new(0, 0, 30, 10);
    for area in [
        Rect::new(10, 2, 60, 40),
        Rect::new(29, 9, 2, 2),
        Rect::new(30, 10, 5, 5),
        Rect::new(u16::MAX - 1, u16::MAX - 1, 1, 1),
        Rect::new(0, 0, u16::MAX, u16::MAX),
    ] {
        let mut buffer = Buffer::empty(whole);
        let cursor = PromptWidget::default().render_with_cursor(area, &mut buffer, &mut prompt);
        assert!(cursor.is_none_or(|cursor| whole.contains(cursor)), "{area:?}: {cursor:?}");
        let clipped = area.intersection(whole);
        let drawn = |(x, y): (u16, u16)| buffer[(x, y)].symbol() != " ";
        let outside =
            (0..30).flat_map(|x| (0..10).map(move |y| (x, y))).filter(|&(x, y)| !clipped.contains((x, y).into()));
        assert_eq!(outside.filter(|&cell| drawn(cell)).count(), 0, "{area:?}");
    }
}

#[test]
fn a_context_longer_than_the_area_scrolls_by_itself_beside_the_options() {
    let mut prompt = prompt();
    let context = Context::Command((1..=30).map(|n| format!("step {n}\n")).collect());
    let widget = PromptWidget { context: Some(&context), ..Default::default() };
    let area = Rect::new(0, 0, 60, 12);
    let draw = |prompt: &mut Prompt| {
        let mut terminal = Terminal::new(TestBackend::new(60, 12)).expect("a terminal");
        terminal.draw(|frame| frame.render_stateful_widget(widget, area, prompt)).expect("a frame");
        terminal.backend().to_string()
    };
    let first = draw(&mut prompt);
    assert!(first.contains("┃ step 1 ") && first.contains("more lines, PgDn"), "{first}");
    for _ in 0..40 {
        press(&mut prompt, KeyCode::PageDown);
        draw(&mut prompt);
    }
    let last = draw(&mut prompt);
    assert!(last.contains("┃ step 30 ") && !last.contains("step 1 ") && last.contains("more lines, PgUp"), "{last}");
}
