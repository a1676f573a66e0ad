//! How a prompt ends, drawn or as lines: what is stored, what stays on the screen, what the caller gets.

use crate::ask::{StoreAnswer, surface};
use crate::kept_question::KeptQuestion;
use crate::view::{Confirm, Theme, closed_lines, failed_lines, unsent_lines};
use askuser::prompt::Effect;
use askuser::{AskError, Closed, Outcome, Prompt, Resolution, Stored, Via};
use ratatui_core::text::Line;
use std::io;

/// How the loop of a prompt ended.
pub(crate) enum End {
    Outcome(Outcome),
    /// The question stays as it is.
    Left(AskError),
    TerminalGone,
    /// The prompt was closed from elsewhere.
    Closed(Closed),
}

/// What stays on the screen.
pub(crate) enum Remains {
    /// The outcome, which is stored.
    Outcome(Outcome),
    Lines(Vec<Line<'static>>),
    /// Nothing that could be shown: the terminal is gone, or has failed.
    Nothing,
}

/// Where and how a prompt ends.
pub(crate) struct Ending<'a> {
    pub(crate) via: Via,
    pub(crate) confirm: Confirm,
    pub(crate) theme: &'a Theme,
    pub(crate) columns: u16,
}

impl Ending<'_> {
    /// Stores the answer, or saves what was typed without one.
    pub(crate) fn settle(
        &self,
        ended: io::Result<End>,
        prompt: &Prompt,
        kept: &mut KeptQuestion<'_>,
        store: StoreAnswer<'_>,
    ) -> (Remains, Result<Resolution, AskError>) {
        match ended {
            Ok(End::Outcome(outcome)) => {
                let resolution = outcome.through(self.via);
                // Success is shown once the answer is stored. An answer counts even if the terminal goes away before that.
                let remains = match store(&resolution) {
                    Ok(Stored::Done) => {
                        kept.sent(resolution.outcome());
                        Remains::Outcome(resolution.outcome().clone())
                    }
                    Ok(Stored::Pending) => Remains::Lines(failed_lines(
                        "Not stored yet: no reply from the inbox",
                        self.theme,
                        self.columns,
                    )),
                    Err(why) => self.failed(&format!("Your answer was not stored: {why}"), prompt, kept),
                };
                (remains, Ok(resolution))
            }
            // The question waits on, with what was typed here; where that cannot be saved it stays here, to be copied.
            Ok(End::Left(error)) => match kept.save_now(prompt) {
                Ok(()) => (Remains::Lines(Vec::new()), Err(error)),
                Err(why) => (self.failed(&why, prompt, kept), Err(error)),
            },
            Ok(End::Closed(why)) => {
                let mut lines = match self.confirm {
                    Confirm::None => Vec::new(),
                    _ => closed_lines(&why, self.theme, self.columns),
                };
                lines.extend(self.unsent(prompt, kept));
                (Remains::Lines(lines), result_of(Some(why)))
            }
            Ok(End::TerminalGone) => {
                let _ = kept.save_now(prompt);
                (Remains::Nothing, Ok(terminal_gone(prompt, self.via)))
            }
            Err(error) => {
                let _ = kept.save_now(prompt);
                (Remains::Nothing, Err(surface("the terminal failed")(error)))
            }
        }
    }

    fn failed(&self, why: &str, prompt: &Prompt, kept: &mut KeptQuestion<'_>) -> Remains {
        let mut lines = failed_lines(why, self.theme, self.columns);
        lines.extend(self.unsent(prompt, kept));
        Remains::Lines(lines)
    }

    /// What was typed here and is not what the question ended with.
    fn unsent(&self, prompt: &Prompt, kept: &mut KeptQuestion<'_>) -> Vec<Line<'static>> {
        kept.end(prompt).map(|draft| unsent_lines(draft, self.theme, self.columns)).unwrap_or_default()
    }
}

/// What an effect ends a prompt with. Where what was typed would be lost by that, the prompt says so and stays.
pub(crate) fn end_of(effect: Effect, prompt: &mut Prompt, kept: &mut KeptQuestion<'_>) -> Option<End> {
    let left = match effect {
        Effect::Finish(outcome) => return Some(End::Outcome(outcome)),
        Effect::PutAside(draft) => AskError::PutAside(draft),
        Effect::Interrupt => AskError::Interrupted,
        Effect::Continue | Effect::Edit(_) => return None,
    };
    match kept.leave(prompt) {
        Ok(()) => Some(End::Left(left)),
        Err(why) => {
            prompt.warn(why);
            None
        }
    }
}

/// What the caller gets of a prompt that was closed for a reason, or for none because the caller does not wait any more.
pub(crate) fn result_of(why: Option<Closed>) -> Result<Resolution, AskError> {
    match why {
        Some(Closed::AnsweredElsewhere(resolution)) => Ok(resolution),
        _ => Err(AskError::Withdrawn),
    }
}

/// The terminal went away. The user has not said no, and what they had answered is kept.
fn terminal_gone(prompt: &Prompt, via: Via) -> Resolution {
    let gone = Outcome::unavailable("the terminal was closed");
    gone.clone().with_answers(prompt.set(), prompt.so_far()).unwrap_or(gone).through(via)
}
