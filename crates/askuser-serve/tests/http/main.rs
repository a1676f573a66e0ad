//! A real server, real connections, a real file.

mod api;
mod away;
mod evidence;
mod later_version;
mod mcp;
mod pairing;
mod peers;
mod people;
mod routes;
mod stream;
mod support;
mod worker;

/// The store at an address does what every store must.
mod rules {
    use crate::support::Place;

    askuser_conformance::conformance!(Place::new());
}
