//! Questions over HTTP: a server in front of a store, and the store as its clients see it.
//!
//! ```text
//! an agent elsewhere ──HttpStore──▶ /api/v1 ─┐
//! an MCP client ───────────────────▶ /mcp    ├─ Server ──▶ Store (a file, a database)
//! a browser ───────▶ / and /api/v1 ──────────┘
//! ```
//!
//! Every request about questions carries a credential with one scope, so an asker cannot answer. A client's statements
//! about itself grant no rights. GET changes no state. There are no cookies, no CORS and no WebSockets.

mod api;
mod client;
mod invitation;
mod page;
pub mod pairing;
pub mod people;
mod request_guard;
mod server;
mod server_store;
pub mod tls;
pub mod token;

pub use api::OPENAPI;
pub use client::{HttpStore, OpenError, Patience, is_same_server};
pub use invitation::{Invitation, invite, public_url};
pub use server::{Body, Caller, Mcp, Options, Response, WriteReceipts, serve};
pub use server_store::ServerStore;
