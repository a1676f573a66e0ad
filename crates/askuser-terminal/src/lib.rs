//! Shows a question to a person in a terminal.
//!
//! ```text
//! ask ──▶ inline_prompt: view ─▶ lines ─▶ paint ─▶ bytes ─▶ device   (drawn inline)
//!    └──▶ line_prompt: the same state machine, as lines of text       (screen readers, dumb terminals)
//! ```
//!
//! - [`ask`] and [`TerminalAsker`] use the terminal for one question set and restore it afterwards.
//! - [`PromptSession`] is the same prompt inside a ratatui program that owns the terminal. [`PromptWidget`] only draws
//!   the prompt.
//! - [`Console`] is a terminal for a whole session: a scrollback, a live region below it, and questions in between.
//! - [`LinePrompt`] is the prompt as plain lines, without a terminal.
//!
//! The crate never writes to stdout.
//!
//! # Features
//!
//! `crossterm` adds `from_crossterm`, for programs that read events with crossterm.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod ask;
mod asker;
#[doc(hidden)]
pub mod bench;
#[cfg_attr(windows, allow(dead_code))]
mod close_signal;
mod console;
#[cfg(any(not(unix), feature = "crossterm"))]
mod convert;
// Only a terminal sends bytes. A Windows console reports keys.
#[cfg_attr(windows, allow(dead_code))]
mod decode;
mod device;
mod editor;
mod environment;
mod finish;
mod inline_prompt;
mod kept_question;
mod line_prompt;
pub mod markdown;
mod paint;
mod patience;
mod popup;
mod session;
mod view;

#[cfg(test)]
#[path = "tests/fixtures.rs"]
mod fixtures;
// Pseudo-terminals exist only on Unix.
#[cfg(all(test, unix))]
#[path = "tests/in_a_terminal.rs"]
mod in_a_terminal;

pub use ask::{Deliver, Options, ask, ask_request, has_terminal};
pub use asker::TerminalAsker;
pub use askuser::verbatim::Charset;
pub use close_signal::{CloseSignal, Closer, close_signal};
pub use console::{Console, ConsoleEvent};
#[cfg(any(not(unix), feature = "crossterm"))]
#[cfg_attr(docsrs, doc(cfg(feature = "crossterm")))]
pub use convert::from_crossterm;
pub use decode::{Decoder, Focus, TerminalInput};
pub use device::{Waker, is_lent, notify};
pub use editor::{EditedText, FALLBACK_EDITOR, open_editor};
pub use environment::Presentation;
pub use kept_question::DraftStore;
pub use line_prompt::LinePrompt;
pub use paint::styled;
pub use popup::popup_size;
pub use session::PromptSession;
pub use view::{
    Background, ColorDepth, Confirm, PromptPhase, PromptStyle, PromptWidget, Role, ShownDiffLine, Signs, Theme,
    closing_lines, context_lines, diff_lines, first_rows, key_hints, side_text_lines, width, wrap, wrap_styled,
};

/// The ratatui types in the interface of a [`Console`].
pub mod text {
    pub use ratatui_core::layout::Position;
    pub use ratatui_core::style::{Modifier, Style};
    pub use ratatui_core::text::{Line, Span};
}
