//! The providers against an HTTP server that sends their formats byte by byte.

#![cfg(feature = "providers")]

mod agent;
mod anthropic;
mod certificate;
mod conversation;
mod effort;
mod errors;
mod gemini;
mod limits;
mod model_list;
mod openai_chat;
mod openai_responses;
mod server;
