//! A program that draws with ratatui and asks inside its own layout: the conversation above, the prompt below.
//!
//! `cargo run -p askuser-terminal --example embed --features crossterm`
#![allow(clippy::print_stdout, reason = "the answer belongs on stdout")]

use askuser::prompt::{Effect, Event, PromptOptions};
use askuser::{Outcome, Prompt, QuestionSet, Rules, Via, report};
use askuser_terminal::{Environment, Input, PromptWidget, from_crossterm};
use ratatui::crossterm::event;
use ratatui::layout::{Constraint, Layout};
use ratatui::widgets::{Block, Paragraph, Wrap};
use ratatui::{DefaultTerminal, Frame};
use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

const QUESTIONS: &str = include_str!("../../../examples/authentication.json");
const TRANSCRIPT: &str = "you: Add a login to the admin pages.\nagent: There are three ways to do that here.";

fn main() -> Result<(), Box<dyn Error>> {
    let set = QuestionSet::from_json(QUESTIONS, &Rules::default())?;
    let environment = Environment::read(|name| std::env::var(name).ok());
    let deadline = Some(Duration::from_secs(300));
    let mut app = App {
        prompt: Prompt::new(set.clone(), PromptOptions { deadline, ..PromptOptions::default() }),
        widget: PromptWidget::new(environment.theme),
        started: Instant::now(),
    };
    match ratatui::run(|terminal| app.run(terminal))? {
        Some(outcome) => println!("{:#}", report::json(&set, &outcome.through(Via::Terminal))),
        None => println!("interrupted"),
    }
    Ok(())
}

struct App {
    prompt: Prompt,
    widget: PromptWidget,
    started: Instant,
}

impl App {
    /// The outcome, or `None` if the person interrupted.
    fn run(&mut self, terminal: &mut DefaultTerminal) -> io::Result<Option<Outcome>> {
        loop {
            // Also after a resize: everything is laid out anew from the area.
            terminal.draw(|frame| self.draw(frame))?;
            let event = self.next_event()?;
            match self.prompt.update(event, self.started.elapsed()) {
                Effect::Continue => {}
                Effect::Edit(_) => self.prompt.warn("There is no editor in this example".into()),
                Effect::Finish(outcome) => return Ok(Some(outcome)),
                Effect::Interrupt => return Ok(None),
            }
        }
    }

    /// Waits for a key or a paste, and no longer than until the prompt changes by itself.
    fn next_event(&self) -> io::Result<Event> {
        if let Some(at) = self.prompt.next_change()
            && !event::poll(at.saturating_sub(self.started.elapsed()))?
        {
            return Ok(Event::Tick);
        }
        Ok(match from_crossterm(&event::read()?) {
            Some(Input::Key(key)) => Event::Key(key),
            Some(Input::Paste(text)) => Event::Paste(text),
            Some(Input::Focus(_)) | None => Event::Tick,
        })
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let wanted = self.widget.height(&self.prompt, frame.area().width);
        let [above, below] = Layout::vertical([Constraint::Min(3), Constraint::Max(wanted)]).areas(frame.area());
        let transcript = Paragraph::new(TRANSCRIPT).wrap(Wrap { trim: false });
        frame.render_widget(transcript.block(Block::bordered().title(" conversation ")), above);
        frame.render_stateful_widget(self.widget, below, &mut self.prompt);
        // Where an input method puts what is being composed; nowhere while nothing is typed.
        if let Some(caret) = self.widget.cursor(&self.prompt, below) {
            frame.set_cursor_position(caret);
        }
    }
}
