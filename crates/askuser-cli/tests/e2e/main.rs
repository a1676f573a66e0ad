//! Tests the `askuser` command from outside: with a person at a real terminal, with a script and pipes, and without a
//! person.
//!
//! Code that needs no terminal device is tested in its own module. Each file tests one kind of failure.
#![cfg(unix)]

mod terminal;

mod agent_app;
mod agent_commands;
mod agreed;
mod answer_command;
mod answering;
#[cfg(target_os = "linux")]
mod at_rest;
mod away;
mod background;
mod colours;
mod commands;
mod desktop;
mod documented;
mod drafts;
mod editor;
mod ending;
mod forms;
mod hook;
mod hostile;
mod inbox;
mod inbox_list;
mod input;
mod line_mode;
mod live_requests;
mod long;
mod mcp;
mod mcp_killed;
mod multiplexer;
mod no_person;
#[cfg(target_os = "linux")]
mod no_room;
mod people;
mod pictures;
mod popups;
mod resizing;
mod settings;
mod setup;
mod sharing;
mod streams;
mod suspending;
mod type_ahead;
mod typing;
mod usage;
mod waiting;
