//! The store in a file: it does what every store must, and what is about files.

mod asker;
mod backup;
mod faults;
mod killed;
mod location;
mod noticing;
mod permissions;
mod purged;
mod schema;
mod support;
mod untrusted;
mod worker;

mod rules {
    use crate::support::Place;

    askuser_conformance::conformance!(Place::new());
    askuser_conformance::credentials_conformance!(Place::new());
}
