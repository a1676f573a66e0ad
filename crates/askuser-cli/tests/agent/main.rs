//! Tests `askuser agent` from outside, with scripts, front ends and crashes. The agent is started through `askuser`, as
//! a user starts it.
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
