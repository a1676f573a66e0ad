//! Ends a prompt, drawn or as lines: delivers the answer, saves a draft, and chooses the closing output.

use crate::ask::{Deliver, surface};
use crate::kept_question::KeptQuestion;
use crate::patience::patience;
use crate::view::{Confirm, Theme, closed_lines, failed_lines, unsent_lines};
use askuser::prompt::Effect;
use askuser::store::Ending;
use askuser::{AskError, Delivery, Outcome, Prompt, Resolution, Status, Via};
use ratatui_core::text::Line;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The interval at which a prompt checks whether to stop waiting until its answer is stored.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The result of a prompt's loop.
pub(crate) type End = Result<Outcome, AskError>;

/// The output that stays on the screen after a prompt.
pub(crate) enum ClosingOutput {
    /// The outcome of the prompt, which is stored.
    Outcome(Outcome),
    Lines(Vec<Line<'static>>),
    /// No output, because the terminal is gone or has failed.
    Nothing,
}

/// The presentation of a closing prompt.
pub(crate) struct Finish<'a> {
    pub(crate) via: Via,
    pub(crate) confirm: Confirm,
    pub(crate) theme: &'a Theme,
    pub(crate) columns: u16,
}

impl Finish<'_> {
    /// Delivers the answer, or saves the unsent text if there is no answer. Returns the closing output and the result.
    pub(crate) fn settle(
        &self,
        ended: io::Result<End>,
        prompt: &Prompt,
        kept: &mut KeptQuestion<'_>,
        deliver: Deliver<'_>,
    ) -> (ClosingOutput, Result<Resolution, AskError>) {
        match ended {
            // The terminal is gone.
            Ok(Ok(outcome)) if matches!(outcome.status(), Status::Unavailable { .. }) => {
                let _ = kept.save_now(prompt);
                (ClosingOutput::Nothing, Ok(outcome.through(self.via)))
            }
            Ok(Ok(outcome)) => {
                let resolution = outcome.through(self.via);
                // Success is shown once the answer is stored. An answer counts even if the terminal goes away earlier.
                let output = match hand_over(&resolution, deliver, patience()) {
                    Some(Ok(())) => {
                        kept.sent(resolution.outcome());
                        ClosingOutput::Outcome(resolution.outcome().clone())
                    }
                    None => ClosingOutput::Lines(failed_lines(
                        "Not stored yet: no reply from the inbox",
                        self.theme,
                        self.columns,
                    )),
                    Some(Err(why)) => self.failed(&format!("Your answer was not stored: {why}"), prompt, kept),
                };
                (output, Ok(resolution))
            }
            Ok(Err(AskError::Ended(ending))) => {
                let mut lines = match self.confirm {
                    Confirm::None => Vec::new(),
                    _ => closed_lines(&ending, self.theme, self.columns),
                };
                lines.extend(self.unsent(prompt, kept));
                (ClosingOutput::Lines(lines), result_of(Some(*ending)))
            }
            // The question stays open, and the text typed here is saved. If saving fails, the text stays on the screen
            // to be copied.
            Ok(Err(error)) => match kept.save_now(prompt) {
                Ok(()) => (ClosingOutput::Lines(Vec::new()), Err(error)),
                Err(why) => (self.failed(&why, prompt, kept), Err(error)),
            },
            Err(error) => {
                let _ = kept.save_now(prompt);
                (ClosingOutput::Nothing, Err(surface("the terminal failed")(error)))
            }
        }
    }

    fn failed(&self, why: &str, prompt: &Prompt, kept: &mut KeptQuestion<'_>) -> ClosingOutput {
        let mut lines = failed_lines(why, self.theme, self.columns);
        lines.extend(self.unsent(prompt, kept));
        ClosingOutput::Lines(lines)
    }

    /// Returns the lines that show the text typed here and not sent.
    fn unsent(&self, prompt: &Prompt, kept: &mut KeptQuestion<'_>) -> Vec<Line<'static>> {
        kept.end(prompt).map(|draft| unsent_lines(draft, self.theme, self.columns)).unwrap_or_default()
    }
}

/// Delivers an answer, and waits until it is stored. Returns `None` if the wait ends earlier; the caller still stores
/// the answer.
fn hand_over(
    resolution: &Resolution,
    deliver: Deliver<'_>,
    mut is_over: impl FnMut() -> bool,
) -> Option<Result<(), String>> {
    let (sender, told) = channel();
    deliver(Delivery::new(resolution.clone(), move |stored| drop(sender.send(stored))));
    loop {
        match told.recv_timeout(LOOK_AGAIN) {
            Ok(stored) => return Some(stored),
            Err(RecvTimeoutError::Timeout) if !is_over() => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Returns the end that an effect brings to a prompt; `None` if the prompt continues. If the end would lose typed text,
/// the prompt shows a warning and stays.
pub(crate) fn end_of(effect: Effect, prompt: &mut Prompt, kept: &mut KeptQuestion<'_>) -> Option<End> {
    let left = match effect {
        Effect::Finish(outcome) => return Some(Ok(outcome)),
        Effect::PutAside(draft) => AskError::PutAside(draft),
        Effect::Interrupt => AskError::Interrupted,
        Effect::Continue | Effect::Edit(_) => return None,
    };
    match kept.leave(prompt) {
        Ok(()) => Some(Err(left)),
        Err(why) => {
            prompt.warn(why);
            None
        }
    }
}

/// Returns the error of a prompt that is closed. Without an ending, the caller does not wait any more.
pub(crate) fn closed(ending: Option<Ending>) -> AskError {
    ending.map_or(AskError::Withdrawn, |ending| AskError::Ended(Box::new(ending)))
}

/// Returns the result of a prompt that was closed. Without a resolution, the question was withdrawn.
pub(crate) fn result_of(ending: Option<Ending>) -> Result<Resolution, AskError> {
    ending.as_ref().and_then(Ending::resolution).cloned().ok_or(AskError::Withdrawn)
}

/// Returns the outcome of a prompt whose terminal went away. The user has not declined, and the answers so far are
/// kept.
pub(crate) fn terminal_gone(prompt: &Prompt) -> Outcome {
    let gone = Outcome::unavailable("the terminal was closed");
    gone.clone().with_answers(prompt.set(), prompt.partial_answers()).unwrap_or(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_waits_until_its_answer_is_stored() {
        let answer = Outcome::cancelled().through(Via::Terminal);
        let stored = |deliver: Deliver<'_>| hand_over(&answer, deliver, || false);
        assert_eq!(stored(&mut |delivery| drop(delivery.stored())), Some(Ok(())));
        assert_eq!(stored(&mut |delivery| drop(delivery.not_stored("disk full"))), Some(Err("disk full".into())));
        assert_eq!(stored(&mut drop), Some(Err("the caller did not take the answer".into())));
        let later = |delivery: Delivery| drop(std::thread::spawn(move || delivery.stored()));
        assert_eq!(stored(&mut { later }), Some(Ok(())));
    }

    #[test]
    fn a_prompt_is_let_go_while_its_answer_is_being_stored() {
        let answer = Outcome::cancelled().through(Via::Terminal);
        let mut storing = None;
        assert_eq!(hand_over(&answer, &mut |delivery| storing = Some(delivery), || true), None);
        assert_eq!(storing.unwrap().stored(), answer, "the caller has the answer");
    }
}
