//! Keeps the providers' keys out of `/proc/PID/environ`, which exists only on Linux.
//!
//! This file shows a program's initial environment for as long as the program runs. Root can read it for every process.
//! A command of an agent that runs as root would therefore find the key. The program executes itself again without
//! these variables, and reads them from a pipe at once.
//! The reading end of that pipe stays open, because only `unsafe` code could close a descriptor by its number. Commands
//! therefore inherit a pipe that has ended. The memory is not protected from root.

use crate::environment;
use crate::failure::Failure;
use askuser_agent::Secrets;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The command word of a program that finds its keys in a pipe. The number of the pipe's descriptor and the actual
/// command follow.
pub(crate) const WITH_KEYS: &str = "with-keys";

/// Starts the program again without the variables that hold secrets, if any are set. `words` are the arguments of the
/// program.
pub(crate) fn take_out_of_environment(secrets: &Secrets, words: &[OsString]) -> Result<(), Failure> {
    const US: &str = "/proc/self/exe";
    let set = |name: &String| Some((name.clone(), std::env::var(name).ok()?));
    let variables: BTreeMap<String, String> = secrets.withheld().iter().filter_map(set).collect();
    // Without /proc the environment cannot be read there.
    if variables.is_empty() || !std::path::Path::new(US).exists() {
        return Ok(());
    }
    let again = || -> io::Result<io::Error> {
        let (reader, mut writer) = io::pipe()?;
        // The pipe has no reader yet, so text beyond its buffer would deadlock. An error is better.
        rustix::io::ioctl_fionbio(&writer, true)?;
        writer.write_all(&serde_json::to_vec(&variables)?)?;
        rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::empty())?;
        // The path keeps the name of the process. Another file may have replaced the program at that path meanwhile.
        let program = std::env::current_exe().ok().filter(|path| path.is_file()).unwrap_or_else(|| US.into());
        let mut command = Command::new(program);
        variables.keys().for_each(|name| _ = command.env_remove(name));
        Ok(command.arg(WITH_KEYS).arg(reader.as_raw_fd().to_string()).args(words).exec())
    };
    let error = again().unwrap_or_else(|error| error);
    Err(Failure::new(format!("cannot start without the keys in the environment: {error}")))
}

/// Reads the variables that were taken out of the environment from this descriptor.
pub(crate) fn take_up(descriptor: Option<OsString>) -> Result<(), Failure> {
    let read = || -> io::Result<Vec<u8>> {
        let number: Option<u32> = descriptor.as_ref().and_then(|word| word.to_str()).and_then(|word| word.parse().ok());
        let number = number.ok_or(io::ErrorKind::InvalidInput)?;
        std::fs::read(format!("/proc/self/fd/{number}"))
    };
    let failed = |error: &dyn std::fmt::Display| Failure::new(format!("{WITH_KEYS}: no keys are there: {error}"));
    let bytes = read().map_err(|error| failed(&error))?;
    environment::know_taken_out(serde_json::from_slice(&bytes).map_err(|error| failed(&error))?);
    Ok(())
}
