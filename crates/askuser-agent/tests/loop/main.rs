//! The loop, through its public face: a scripted model, tools that keep a log, and a person who answers from a list.

mod asking;
mod crash;
mod events;
mod failing;
mod halting;
mod order;
mod permission;
mod plan;
mod record;
mod stopping;
mod subagent;
mod support;
