//! Runs a [`LinePrompt`] on the terminal device: it prints text and reads lines until there is an outcome.

use super::LinePrompt;
use crate::Options;
use crate::ask::{Deliver, surface};
use crate::decode::TerminalInput;
use crate::device::{Device, DeviceEvent, SIGINT};
use crate::environment::encode;
use crate::finish::{ClosingOutput, End, Finish, closed, end_of, terminal_gone};
use crate::kept_question::KeptQuestion;
use crate::paint::Painter;
use crate::view::{Confirm, Signs, Theme, closing_lines, context_lines, side_text_lines};
use askuser::prompt::{Effect, Event, InputMode, SideText};
use askuser::verbatim::Charset;
use askuser::{AskError, Context, Key, KeyCode, Prompt, Resolution, Via};
use std::fmt::Write;
use std::io;
use std::time::Instant;

/// Asks on a started device, and leaves the device started. `context` is printed before the questions.
pub(crate) fn ask(
    prompt: Prompt,
    context: Option<&Context>,
    options: &Options,
    device: &mut Device,
    mut kept: KeptQuestion<'_>,
    deliver: Deliver<'_>,
) -> Result<Resolution, AskError> {
    let failed = surface("the terminal failed");
    let mut line_prompt = LinePrompt::from_prompt(prompt);
    let mut painter = Painter::plain(options.theme.charset);
    let columns = device.size().0.saturating_sub(1);
    line_prompt.set_columns(columns);
    let theme = Theme { signs: Signs::ASCII, ..options.theme };
    let side_text = |kind| Some(side_text_lines(kind, line_prompt.prompt.side_text(kind)?, &theme, columns.into()));
    let about = context.map(|context| context_lines(context, &theme, columns));
    for lines in [side_text(SideText::Why), about, side_text(SideText::Input)].into_iter().flatten() {
        painter.raw(b"\r\n");
        painter.print(&lines);
    }
    device.write(&painter.take()).map_err(&failed)?;
    // All lines are printed: those of the context above, and those of each question.
    line_prompt.prompt.show_all();
    let ended = run(device, &mut line_prompt, options.theme.charset, &mut kept);
    // The person may have begun a line, so the prompt always closes with an output.
    let finish = Finish { via: Via::Line, confirm: Confirm::Inline, theme: &options.theme, columns };
    let (output, result) = finish.settle(ended, &line_prompt.prompt, &mut kept, deliver);
    match output {
        ClosingOutput::Outcome(outcome) => {
            let set = line_prompt.prompt.set();
            painter.print(&closing_lines(set, &outcome, options.confirm, &options.theme, columns));
        }
        ClosingOutput::Lines(lines) => painter.print(&lines),
        ClosingOutput::Nothing => return result,
    }
    // The outcome stands, even if the terminal disappears before it is shown.
    let _ = device.write(&painter.take());
    result
}

fn run(
    device: &mut Device,
    line_prompt: &mut LinePrompt,
    charset: Charset,
    kept: &mut KeptQuestion<'_>,
) -> io::Result<End> {
    let started = Instant::now();
    let mut inputs = Vec::new();
    let mut line = String::new();
    device.write(&encode(&intro(line_prompt), charset))?;
    loop {
        let now = Instant::now();
        let mut effects = Vec::new();
        let offered = line_prompt.prompt.rival().cloned();
        let why = kept.look(&mut line_prompt.prompt, now);
        let is_offered = line_prompt.prompt.rival().is_some_and(|rival| Some(rival) != offered.as_ref());
        if why.is_some() || is_offered {
            why.into_iter().for_each(|why| line_prompt.prompt.warn(why));
            device.write(&encode(&format!("\r\n{}", line_prompt.text()), charset))?;
        }
        let deadline = line_prompt.prompt.time_left().map(|left| left.saturating_sub(started.elapsed()));
        let next_look = kept.next_look(now).map(|at| at.saturating_duration_since(now));
        let timeout = deadline.into_iter().chain(next_look).min();
        match device.wait(timeout, &mut inputs)? {
            DeviceEvent::Input => {
                for input in inputs.drain(..) {
                    match input {
                        TerminalInput::Key(key) if key == Key::ctrl('j') || key == Key::plain(KeyCode::Enter) => {
                            effects.push(line_prompt.submit_line(&std::mem::take(&mut line), started.elapsed()));
                        }
                        TerminalInput::Key(Key { code: KeyCode::Char(c), mods }) if !mods.ctrl => line.push(c),
                        TerminalInput::Key(Key { code: KeyCode::Tab, .. }) => line.push(' '),
                        TerminalInput::Key(_) | TerminalInput::Focus(_) => {}
                        TerminalInput::Paste(text) => line.push_str(&text),
                    }
                }
            }
            DeviceEvent::TimedOut => {
                let effect = line_prompt.tick(started.elapsed());
                if effect == Effect::Continue {
                    continue;
                }
                // The line end completes a line that the person may have begun.
                device.write(b"\r\n")?;
                effects.push(effect);
            }
            DeviceEvent::Resized => {
                line_prompt.set_columns(device.size().0.saturating_sub(1));
                continue;
            }
            DeviceEvent::Message(words) => {
                line_prompt.prompt.warn(words);
                device.write(b"\r\n")?;
                effects.push(Effect::Continue);
            }
            DeviceEvent::Woken => continue,
            DeviceEvent::Resumed => effects.push(Effect::Continue),
            DeviceEvent::Suspend => {
                device.suspend()?;
                effects.push(Effect::Continue);
            }
            // The person pressed Ctrl-C.
            DeviceEvent::Terminated(SIGINT) => {
                device.write(b"\r\n")?;
                effects.push(line_prompt.prompt.update(Event::Key(Key::ctrl('c')), started.elapsed()));
            }
            DeviceEvent::Terminated(signal) => {
                // The signal is reported even if the terminal cannot be written to.
                let _ = device.write(b"\r\n");
                return Ok(Err(AskError::Signal(signal)));
            }
            DeviceEvent::CloseRequested(ending) => {
                device.write(b"\r\n")?;
                return Ok(Err(closed(ending)));
            }
            // The user has not declined.
            DeviceEvent::Closed => return Ok(Ok(terminal_gone(&line_prompt.prompt))),
            // Ctrl-D means that the person wants to leave.
            DeviceEvent::EndOfInput => {
                device.write(b"\r\n")?;
                effects.push(line_prompt.prompt.leave());
            }
        }
        for effect in effects {
            if let Some(end) = end_of(effect, &mut line_prompt.prompt, kept) {
                return Ok(end);
            }
            device.write(&encode(&line_prompt.text(), charset))?;
            // The help closes without a line, before the next text.
            if line_prompt.prompt.mode() == InputMode::Help {
                let effect = line_prompt.submit_line("", started.elapsed());
                debug_assert_eq!(effect, Effect::Continue);
                device.write(&encode(&line_prompt.text(), charset))?;
            }
        }
    }
}

/// Returns the first text, on a new line: the deadline, the asker, and the question.
fn intro(line_prompt: &LinePrompt) -> String {
    let mut words = String::from("\r\n");
    if let Some(left) = line_prompt.prompt.time_left() {
        let _ = write!(words, "Time limit: {} s; press Enter to stop the clock.\r\n", left.as_secs());
    }
    if let Some(origin) = line_prompt.prompt.origin() {
        line_prompt.write_marked(&mut words, "Asked by: ", origin);
    }
    words + &line_prompt.text()
}
