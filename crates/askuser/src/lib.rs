//! What a question is and how it gets answered.
//!
//! ```text
//! JSON ──input──▶ Input ──question──▶ QuestionSet ──prompt──▶ Outcome ──report──▶ what the model reads
//! ```
//!
//! This crate does no IO, reads no clock, needs no async runtime and knows no terminal library.

pub mod asker;
pub mod input;
mod key;
mod limits;
pub mod lint;
mod outcome;
pub mod policy;
pub mod prompt;
mod question;
mod repair;
pub mod reply;
pub mod report;
pub mod sanitize;
mod text;
pub mod tool;
mod violation;

pub use asker::{AskError, Asker, Request};
pub use key::{Key, KeyCode, Mods};
pub use limits::{Limits, Span};
pub use outcome::{Answer, Outcome, Status, Via};
pub use prompt::Prompt;
pub use question::{Choice, Faults, Question, QuestionSet, Rules};
pub use text::{Edit, Fit, Text};
pub use violation::{Violation, Violations};
