//! What any store has to do, tried on the one there is.

mod asker;
mod faults;
mod model;
mod races;
mod rules;
mod support;
mod waiting;
mod worker;
