//! What the two executables share: the command line, the settings, and who answers. Not for other crates.
//!
//! `askuser` is a process that lives for one question and has to start in a millisecond; `askuser-services` has every other
//! command, and Markdown. The first becomes the second when one of those is called.

#[doc(hidden)]
pub mod args;
#[doc(hidden)]
pub mod ask_here;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod environment;
#[doc(hidden)]
pub mod failure;
#[doc(hidden)]
pub mod hook_event;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod ownership;
#[doc(hidden)]
pub mod result;
#[doc(hidden)]
pub mod settings;
#[doc(hidden)]
pub mod source;
#[doc(hidden)]
pub mod state_folder;
#[doc(hidden)]
pub mod surfaces;
#[doc(hidden)]
pub mod usage;
#[doc(hidden)]
pub mod wrapped;
