//! Keeps questions until somebody answers them: a store, waiting, events.
