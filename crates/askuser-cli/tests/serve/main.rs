//! `askuser serve` and its commands, as real processes.

mod clients;
mod commands;
// Elsewhere the system alone says which authorities are trusted.
#[cfg(target_os = "linux")]
mod encrypted;
mod killed;
mod people;
mod postgres;
mod settled;
mod support;
