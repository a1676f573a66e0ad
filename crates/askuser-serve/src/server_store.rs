//! The trait of a store that can be behind a server.

use askuser::store::{Credentials, Store};

/// A store that also holds credentials.
pub trait ServerStore: Store + Credentials {}

impl<T: Store + Credentials> ServerStore for T {}
