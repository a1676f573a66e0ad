//! The store in a file keeps the contract of every store. Further tests concern files.

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
