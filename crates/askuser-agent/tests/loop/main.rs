//! Tests of the loop through the public API. They use a scripted model, tools that write a log, and a person who
//! answers from a list.

mod asking;
mod compaction;
mod conversation;
mod crash;
mod events;
mod failing;
mod killed;
mod order;
mod permission;
mod plan;
mod record;
mod repetition;
mod sandbox;
mod sessions;
mod skipped_calls;
mod stopping;
mod subagent;
mod support;
mod user_command;
