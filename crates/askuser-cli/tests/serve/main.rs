//! Tests `askuser serve` and its commands as real processes.

mod clients;
mod commands;
// On other systems only the system determines the trusted authorities.
#[cfg(target_os = "linux")]
mod encrypted;
mod killed;
mod people;
mod postgres;
mod settled;
mod support;
