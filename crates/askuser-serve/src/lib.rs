//! Questions over HTTP: a server in front of a store, and the store as its clients see it.
//!
//! ```text
//! an agent elsewhere ──HttpStore──▶ /api/v1 ─┐
//! an MCP client ───────────────────▶ /mcp    ├─ Server ──▶ Store (a file, a database)
//! a browser ───────▶ / and /api/v1 ──────────┘
//! ```
//!
//! Every request shows a credential, which has one scope: who asks cannot answer. What a client says of itself decides nothing. A GET
//! never changes anything. There are no cookies, no CORS and no WebSockets.

mod admin;
mod client;
mod gate;
mod invitation;
mod kept;
mod page;
pub mod pairing;
pub mod people;
mod server;
pub mod tls;
pub mod token;
mod wire;

pub use admin::{Admin, Made};
pub use client::{HttpStore, OpenError, Patience, is_same_server};
pub use invitation::{Invitation, invite, public_url};
pub use kept::Kept;
pub use server::{Body, Caller, Mcp, Options, Reply, Written, serve, serve_mcp};
pub use wire::OPENAPI;
