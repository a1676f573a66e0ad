//! Names that no two things have.

use askuser::store::Attempt;
use std::io;

/// 128 random bits, spelled out: the name of an attempt, a conversation, a process. No two are the same.
///
/// # Errors
/// Where the system gives no random numbers.
pub fn random_id() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// An attempt that no other has the name of.
///
/// # Errors
/// As for [`random_id`].
pub fn new_attempt() -> io::Result<Attempt> {
    random_id().map(Attempt::new)
}
