//! A program that draws with ratatui and asks inside its own layout: the conversation above, the prompt below.
//!
//! `cargo run -p askuser-terminal --example embed --features crossterm`
#![allow(clippy::print_stdout, reason = "the answer belongs on stdout")]

use askuser::prompt::Effect;
use askuser::{Outcome, QuestionSet, Request, RequestKey, Rules, Via, report};
use askuser_terminal::{Options, PromptSession, from_crossterm, open_editor};
use ratatui::crossterm::event;
use ratatui::layout::{Constraint, Layout};
use ratatui::widgets::{Block, Paragraph, Wrap};
use ratatui::{DefaultTerminal, Frame};
use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

const QUESTIONS: &str = include_str!("authentication.json");
const TRANSCRIPT: &str = "you: Add a login to the admin pages.\nagent: There are three ways to do that here.";

fn main() -> Result<(), Box<dyn Error>> {
    let set = QuestionSet::from_json(QUESTIONS, &Rules::default())?;
    let request = Request::new(RequestKey::new("embed", "1"), set).with_deadline(Duration::from_secs(300));
    let theme = Options::detect().theme;
    let mut session = PromptSession::new(&request, theme);
    match ratatui::run(|terminal| run(terminal, &mut session))? {
        Some(outcome) => println!("{:#}", report::json(request.set(), &outcome.through(Via::Terminal))),
        None => println!("interrupted"),
    }
    Ok(())
}

/// Runs the prompt. Returns its outcome; `None` if the person interrupted.
fn run(terminal: &mut DefaultTerminal, session: &mut PromptSession) -> io::Result<Option<Outcome>> {
    loop {
        // The whole frame is laid out again from its area, also after a resize.
        terminal.draw(|frame| draw(frame, session))?;
        match next_effect(session)? {
            Effect::Continue => {}
            Effect::Edit(text) => {
                ratatui::restore();
                let edited = open_editor(&text);
                *terminal = ratatui::init();
                session.finish_edit(edited, Instant::now());
            }
            Effect::Finish(outcome) => return Ok(Some(outcome)),
            Effect::PutAside(_) | Effect::Interrupt => return Ok(None),
        }
    }
}

/// Waits for input until the prompt changes by itself, and returns the effect.
fn next_effect(session: &mut PromptSession) -> io::Result<Effect> {
    if let Some(at) = session.next_wake()
        && !event::poll(at.saturating_duration_since(Instant::now()))?
    {
        return Ok(session.tick(Instant::now()));
    }
    let input = from_crossterm(&event::read()?);
    Ok(input.map_or(Effect::Continue, |input| session.handle(input, Instant::now())))
}

fn draw(frame: &mut Frame<'_>, session: &mut PromptSession) {
    let wanted = session.height(frame.area().width);
    let [above, below] = Layout::vertical([Constraint::Min(3), Constraint::Max(wanted)]).areas(frame.area());
    let transcript = Paragraph::new(TRANSCRIPT).wrap(Wrap { trim: false });
    frame.render_widget(transcript.block(Block::bordered().title(" conversation ")), above);
    // An input method shows its composed text at the cursor. There is no cursor unless text is typed.
    if let Some(cursor) = session.render(below, frame.buffer_mut(), Instant::now()) {
        frame.set_cursor_position(cursor);
    }
}
