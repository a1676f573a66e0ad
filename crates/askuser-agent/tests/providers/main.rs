//! The providers against a real HTTP server that speaks their formats, byte by byte.

mod agent;
mod anthropic;
mod conversation;
mod errors;
mod gemini;
mod openai;
mod server;
