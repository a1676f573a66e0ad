//! What a server stands before.

use askuser::store::{Archive, Credentials, Store};

/// A store that keeps credentials too, and can be copied.
pub trait Kept: Store + Credentials + Archive {}

impl<T: Store + Credentials + Archive> Kept for T {}
