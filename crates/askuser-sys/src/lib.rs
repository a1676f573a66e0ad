//! The operating system for askuser, below every other crate.
//!
//! [`programs`] finds the programs that askuser starts. [`folders`] compares folders by device and inode. [`regular_file`] opens
//! regular files alone.

pub mod folders;
pub mod programs;
pub mod regular_file;
