//! The state machine of a prompt: event → action → effect, for every surface.
//!
//! ```text
//! Event ──keymap──▶ Action ──update──▶ new state + Effect
//! ```
//!
//! It reads no clock (time is passed in, counted from the first frame), measures no screen (a surface that scrolls
//! reports what it shows through [`Prompt::look`]) and draws nothing. A view reads it through `&Prompt`.

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

/// What happens at a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// A surface without keys, such as line mode, asks for this by name.
    Act(Action),
    /// The external editor came back with this text.
    Edited(String),
    /// Time has passed.
    Tick,
}

/// What the surface has to do after an event, besides showing the new state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Continue,
    /// Let the person edit this text elsewhere; answer with [`Event::Edited`].
    Edit(String),
    /// Close the prompt: there is an outcome.
    Finish(Outcome),
    /// Close the prompt: the person put the question aside. It waits on, and the draft is to be filled in when it is opened
    /// again.
    PutAside(Draft),
    /// Close the prompt: the person interrupted the turn.
    Interrupt,
}

#[cfg(test)]
mod tests;
