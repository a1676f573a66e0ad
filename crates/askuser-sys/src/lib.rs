//! The operating system for askuser, below every other crate.
//!
//! [`programs`] finds the programs that askuser starts. [`folders`] compares folders by device and inode. [`regular_file`] opens
//! regular files alone, and makes private ones. [`random`] names things that no two may share.
//! [`sse`] reads event streams.

pub mod folders;
pub mod programs;
pub mod random;
pub mod regular_file;
pub mod sse;
