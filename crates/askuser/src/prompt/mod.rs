//! The state machine of a prompt: event → action → effect, for every surface.
//!
//! ```text
//! Event ──keymap──▶ Action ──update──▶ new state + Effect
//! ```
//!
//! The state machine reads no clock: the time is passed in, counted from the first frame. It measures no screen: a
//! scrolling surface reports its viewport through [`Prompt::look`]. It draws no frame: a view reads `&Prompt`.

mod answer_draft;
mod hints;
mod keymap;
mod state;
mod update;
mod viewport;

pub use answer_draft::AnswerDraft;
pub use keymap::{Action, Binding, KeyContext, SideText, TABLE, action};
pub use state::{
    InputMode, Notice, NoticeKind, Page, Prefilled, Prompt, PromptOptions, Rival, TextField, TextMode, Trigger,
};
pub use viewport::{Scroll, Viewport, Window};

use crate::draft::Draft;
use crate::key::Key;
use crate::outcome::Outcome;

/// An input of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A key press.
    Key(Key),
    /// A pasted text.
    Paste(String),
    /// An action by name, from a surface without keys, such as line mode.
    Act(Action),
    /// The text from the external editor.
    Edited(String),
    /// The passage of time.
    Tick,
}

/// The task of the surface after an event, besides drawing the new state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The surface has no task.
    Continue,
    /// Open this text in an editor. The surface reports the result as [`Event::Edited`].
    Edit(String),
    /// Close the prompt with this outcome.
    Finish(Outcome),
    /// Close the prompt, because the person chose Later. The question stays open. The draft is filled in when the
    /// question is opened again.
    PutAside(Draft),
    /// Close the prompt, because the person interrupted the turn.
    Interrupt,
}

#[cfg(test)]
mod tests;
