//! `askuser serve` and its commands, as real processes.

mod commands;
#[cfg(target_os = "linux")]
mod encrypted;
mod killed;
mod postgres;
mod support;
