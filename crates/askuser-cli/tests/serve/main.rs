//! `askuser serve` and its commands, as real processes.

mod commands;
mod killed;
mod postgres;
mod support;
