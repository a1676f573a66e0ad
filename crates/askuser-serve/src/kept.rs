//! The store behind a server.

use askuser::store::{Credentials, Store};

/// A store that also holds credentials.
pub trait Kept: Store + Credentials {}

impl<T: Store + Credentials> Kept for T {}
