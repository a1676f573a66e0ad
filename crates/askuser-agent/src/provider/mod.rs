//! Models behind HTTP.
