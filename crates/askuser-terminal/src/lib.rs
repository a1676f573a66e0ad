//! Shows a question to a person in a terminal.
//!
//! ```text
//! ask ──▶ screen: view ─▶ cells ─▶ paint ─▶ bytes ─▶ device      (the prompt, drawn inline)
//!    └──▶ line:   the same machine, spoken one line at a time     (screen readers, dumb terminals)
//! console: the same terminal for a whole session, with a scrollback and a live region; questions are asked in between
//! ```
//!
//! [`ask`] owns the terminal for the length of one question set and gives it back as it was. [`PromptWidget`] draws the
//! same prompt inside a program that owns the terminal itself. Nothing here writes to stdout.

mod ask;
mod asker;
#[doc(hidden)]
pub mod bench;
mod close_signal;
mod console;
#[cfg(any(not(unix), feature = "crossterm"))]
mod convert;
mod decode;
mod device;
mod editor;
mod environment;
#[cfg(test)]
mod fixtures;
#[cfg(all(test, unix))]
mod in_a_terminal;
mod inline_prompt;
mod line_prompt;
mod paint;
mod session;
mod view;

pub use ask::{Options, Store, ask, ask_request, has_terminal};
pub use asker::TerminalAsker;
pub use close_signal::{CloseSignal, Closer, close_signal};
pub use console::{Console, ConsoleEvent};
#[cfg(any(not(unix), feature = "crossterm"))]
pub use convert::from_crossterm;
pub use decode::{Decoder, Focus, Input};
pub use device::Waker;
pub use editor::{EditedText, open_editor};
pub use environment::{Charset, Environment, Presentation, Window};
pub use line_prompt::LinePrompt;
pub use session::PromptSession;
pub use view::{
    Background, ColorDepth, Confirm, PromptPhase, PromptWidget, Role, Signs, Theme, closing_lines, width, wrap,
};

/// What a [`Console`] is given to show.
pub mod text {
    pub use ratatui_core::layout::Position;
    pub use ratatui_core::style::{Modifier, Style};
    pub use ratatui_core::text::{Line, Span};
}
