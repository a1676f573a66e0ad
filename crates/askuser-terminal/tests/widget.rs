//! The widget as another program uses it: through the public interface, inside a layout of its own.

use askuser::prompt::{Effect, Event, PromptOptions};
use askuser::{Key, KeyCode, Prompt, QuestionSet, Rules};
use askuser_terminal::{PromptPhase, PromptWidget, Theme};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::Paragraph;
use std::time::Duration;

fn prompt() -> Prompt {
    let json = include_str!("../../../examples/database.json");
    let set = QuestionSet::from_json(json, &Rules::default()).expect("a valid question");
    Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, deadline: None })
}

fn press(prompt: &mut Prompt, code: KeyCode) -> Effect {
    prompt.update(Event::Key(Key::plain(code)), Duration::ZERO)
}

/// A program with a column of its own on the left and the prompt beside it.
fn draw(prompt: &mut Prompt, columns: u16, rows: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
    let draw = |frame: &mut ratatui::Frame<'_>| {
        let widget = PromptWidget::new(Theme::default());
        let area = Rect::new(6, 1, frame.area().width.saturating_sub(6), frame.area().height.saturating_sub(1));
        frame.render_widget(Paragraph::new("mine\n".repeat(40)), Rect::new(0, 0, 5, rows));
        frame.render_stateful_widget(widget, area, prompt);
        if let Some(caret) = widget.cursor(prompt, area) {
            frame.set_cursor_position(caret);
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
    assert_eq!(PromptWidget::default().cursor(&prompt, Rect::new(6, 1, 60, 19)), None);
    press(&mut prompt, KeyCode::Char('4'));
    "bun".chars().for_each(|c| _ = press(&mut prompt, KeyCode::Char(c)));
    let mut terminal = draw(&mut prompt, 66, 20);
    terminal.backend_mut().assert_cursor_position(Position::new(6 + 26, 1 + 14));
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
    draw(&mut prompt, 6, 1);
}

#[test]
fn a_program_may_show_the_end_too() {
    let mut prompt = prompt();
    press(&mut prompt, KeyCode::Char(' '));
    let mut terminal = Terminal::new(TestBackend::new(60, 18)).expect("a terminal");
    let widget = PromptWidget::new(Theme::default()).phase(PromptPhase::Expired);
    terminal.draw(|frame| frame.render_stateful_widget(widget, frame.area(), &mut prompt)).expect("a frame");
    assert!(terminal.backend().to_string().contains("Time ran out"));
}
