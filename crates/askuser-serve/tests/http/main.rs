//! Tests with a real server, real connections and a real file.

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

/// The conformance tests, applied to the store at an address.
mod rules {
    use crate::support::Place;

    askuser_conformance::conformance!(Place::new());
}
