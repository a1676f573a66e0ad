//! The data types and rules for questions that an agent asks a person, and for their answers.
//!
//! ```text
//! JSON ──input──▶ QuestionSet ──▶ Request ──Asker──▶ Resolution ──report──▶ what the model reads
//!                                          └ a surface drives Prompt until it has an Outcome
//! ```
//!
//! This crate does no IO and reads no clock. The crate needs neither an async runtime nor a terminal library.
//!
//! ```
//! use askuser::prompt::{Effect, Event};
//! use askuser::{Key, KeyCode, Prompt, QuestionSet, Rules, Via, report};
//! use std::time::Duration;
//!
//! // What a model sent …
//! let input = r#"{"questions": [{"question": "Which database?", "header": "Database", "multiSelect": false, "options": [
//!     {"label": "PostgreSQL", "description": "A server"}, {"label": "SQLite", "description": "A file"}]}]}"#;
//! let set = QuestionSet::from_json(input, &Rules::strict())?;
//! // … is put to a person by a surface that turns keys into events …
//! let mut prompt = Prompt::new(set.clone(), Default::default());
//! let effect = prompt.update(Event::Key(Key::plain(KeyCode::Char('2'))), Duration::from_secs(1));
//! let Effect::Finish(outcome) = effect else { panic!("one key answers a single-select question") };
//! // … and the answer goes back to the model.
//! let words = report::prose(&set, &outcome.through(Via::Terminal));
//! assert!(words.starts_with("User answered the following questions:\n\n1. Database (Which database?)\n   Selected: SQLite"));
//! # Ok::<(), askuser::Violations>(())
//! ```

#[macro_use]
mod string_enum;
mod asker;
mod chain;
mod draft;
mod error_chain;
mod inbox;
pub mod input;
mod key;
mod limits;
pub mod lint;
mod lookalikes;
mod outcome;
pub mod permission;
pub mod policy;
pub mod prompt;
mod question;
mod queue;
mod repair;
pub mod reply;
pub mod report;
mod request;
mod resolution;
mod rules;
pub mod sanitize;
pub mod store;
mod text;
pub mod tool;
mod tool_use;
mod unknown_keys;
pub mod verbatim;
mod violation;

pub use asker::{AskError, Asker, Asking, Decision, Delivery};
pub use chain::Chain;
pub use error_chain::error_chain;
pub use inbox::{Inbox, Keeping};
pub use key::{Key, KeyCode, Mods};
pub use limits::{Limits, LimitsError, Span};
pub use outcome::{Answer, Note, Outcome, Status};
pub use prompt::Prompt;
pub use question::{Choice, Question, QuestionSet};
pub use queue::{NotPending, QuestionQueue, QueueEvent};
pub use request::{Context, Origin, Purpose, Request, RequestKey};
pub use resolution::{Reported, Resolution, Via};
pub use rules::{Faults, Form, Rules};
pub use text::{Edit, Fit, Text};
pub use tool_use::{FileChange, ToolUse};
pub use violation::{Violation, Violations};
