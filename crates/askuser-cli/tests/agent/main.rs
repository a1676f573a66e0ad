//! `askuser agent` from outside: scripts, front ends, crashes. It is started the way a user starts it, through `askuser`.
#![cfg(unix)]

mod crash;
mod front_end;
mod headless;
mod killed;
#[cfg(target_os = "linux")]
mod left_behind;
mod models;
mod place;
mod provider;
mod state;
