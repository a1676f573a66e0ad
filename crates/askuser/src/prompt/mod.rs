//! The state machine of a prompt: event → action → effect, for every surface.
//!
//! ```text
//! Event ──keymap──▶ Action ──update──▶ new state + Effect
//! ```
//!
//! It reads no clock: time is passed in, counted from the first frame. It measures no screen: a scrolling surface
//! reports its viewport through [`Prompt::look`]. It draws no frame: a view reads `&Prompt`.

mod answer_draft;
mod hints;
mod keymap;
mod state;
mod update;
mod viewport;

pub use answer_draft::AnswerDraft;
pub use keymap::{Action, Binding, KeyContext, SideText, TABLE, action};
pub use state::{
    InputMode, Notice, NoticeKind, Page, Prefilled, Prompt, PromptOptions, Rival, TextField, Trigger, Wording,
};
pub use viewport::{Scroll, Viewport, Window};

use crate::draft::Draft;
use crate::key::Key;
use crate::outcome::Outcome;

/// An input of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// An action by name, from a surface without keys, such as line mode.
    Act(Action),
    /// The text from the external editor.
    Edited(String),
    /// Time has passed.
    Tick,
}

/// The task of the surface after an event, besides drawing the new state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// No task.
    Continue,
    /// Let the person edit this text elsewhere; answer with [`Event::Edited`].
    Edit(String),
    /// Close the prompt: there is an outcome.
    Finish(Outcome),
    /// Close the prompt: the person chose Later. The question stays open, and its draft is filled in when it is opened
    /// again.
    PutAside(Draft),
    /// Close the prompt: the person interrupted the turn.
    Interrupt,
}

#[cfg(test)]
mod tests;
