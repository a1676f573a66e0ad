//! The store in PostgreSQL keeps the contract of every store on a real server.
#![cfg(unix)]

mod encrypted;
mod lost_replies;
mod numbering;
mod schema;
mod stopped;
mod support;
mod unreadable;
mod worker;

mod rules {
    use crate::support::or_skip;

    askuser_conformance::conformance!(or_skip!());
    askuser_conformance::credentials_conformance!(or_skip!());
}
