//! What any store has to do, tried on the one there is.
#![allow(clippy::print_stdout, reason = "counts of a long run are of interest")]

mod asker;
mod faults;
mod model;
mod races;
mod rules;
mod support;
mod waiting;
mod worker;
