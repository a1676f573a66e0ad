//! Functions of the operating system for askuser. All other crates may use this one.
//!
//! [`programs`] finds the programs that askuser starts. [`folders`] compares folders by device and inode.
//! [`regular_file`] opens only regular files, and creates private ones. [`random`] creates unique names.

pub mod folders;
pub mod programs;
pub mod random;
pub mod regular_file;
pub mod sse;
