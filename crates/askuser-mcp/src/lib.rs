//! An MCP server that offers the question tool to other agents.
//!
//! ```text
//! client ──tools/call──▶ Server ──▶ Request ──Inbox──▶ the person: the client's own dialog, a popup, the inbox
//!        ◀──result────── answered, or "not answered yet" with a ticket that AskUserQuestionResult redeems
//! ```
//!
//! Every question is stored in the [`Inbox`](askuser::Inbox) before a person sees it, and stays there when the client
//! stops waiting. A client gives up after a minute, but a person may return only hours later. No answer is ever made
//! up: a client whose dialog refuses by itself has asked no person.

mod approve;
mod background;
mod call;
mod client;
mod dialog;
mod exchange;
mod form;
mod http;
mod http_delivery;
mod ids_from_one;
mod long_line;
mod null_id;
mod results;
mod rounds;
mod series;
mod server;
mod sessions;
mod stdio;
mod tools;

pub use http::{HTTP_PATH, HttpService, Reply};
pub use http_delivery::Acknowledge;
pub use rmcp::transport::stdio_pipes as stdio_streams;
pub use server::{Options, PROBE_CLIENT, Server};
pub use stdio::{ServeError, serve};
