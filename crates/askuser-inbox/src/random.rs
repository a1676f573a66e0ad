//! Names that no two things have.

use askuser::store::Attempt;
use std::io;

/// An attempt that no other has the name of.
///
/// # Errors
/// If the system gives no random numbers.
pub fn new_attempt() -> io::Result<Attempt> {
    askuser_sys::random::id().map(Attempt::new)
}
