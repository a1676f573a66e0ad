//! Unique names for attempts.

use askuser::store::Attempt;
use std::io;

/// Returns an attempt with a random, unique name.
///
/// # Errors
/// If the system provides no random numbers.
pub fn new_attempt() -> io::Result<Attempt> {
    askuser_sys::random::id().map(Attempt::new)
}
