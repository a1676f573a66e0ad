//! Secrets of this user that outlive a process. A secret is created once, in a file that no other user can read or
//! replace.

use crate::failure::{Failure, reason};
use crate::state_folder::{check_state_folder, read_secret, state_folder};
use askuser_agent::regular_file::{self, Links};
use askuser_sys::random;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// The length of a secret in bytes.
const BYTES: usize = 32;

/// Returns the secret with this name in the state folder. A missing secret is created.
pub(super) fn of(name: &str) -> Result<String, Failure> {
    let state = state_folder()?;
    check_state_folder(&state)?;
    let path = state.join(name);
    let unusable = |error: io::Error| match error.kind() {
        // These errors are worded to follow the path of the file.
        io::ErrorKind::InvalidInput | io::ErrorKind::Other => Failure::new(format!("{} {error}", path.display()))
            .hint(format!("remove it and a new one is made: others may know this one (rm {})", path.display())),
        _ => Failure::new(format!("cannot use {}: {}", path.display(), reason(&error))),
    };
    if read(&path).map_err(unusable)?.is_none() {
        make(&path).map_err(unusable)?;
    }
    let secret = read(&path).map_err(unusable)?.unwrap_or_default();
    if secret.len() == 2 * BYTES {
        Ok(secret)
    } else {
        Err(Failure::new(format!("{} is damaged; remove it", path.display())))
    }
}

/// Reads a secret. Returns `None` if the secret does not exist.
fn read(path: &Path) -> io::Result<Option<String>> {
    match read_secret(path, Links::Refuse, 2 * BYTES as u64 + 1) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        secret => secret.map(Some),
    }
}

/// Creates a secret atomically. If several processes do so, the first one wins.
fn make(path: &Path) -> io::Result<()> {
    let mut ours = path.as_os_str().to_owned();
    ours.push(format!(".{}", std::process::id()));
    if let Some(folder) = path.parent() {
        regular_file::make_private_folder(folder)?;
    }
    let mut file = regular_file::private().write(true).create(true).truncate(true).open(&ours)?;
    file.write_all(random::hex(&random::bytes::<BYTES>()?).as_bytes())?;
    file.sync_all()?;
    let linked = fs::hard_link(&ours, path);
    fs::remove_file(&ours)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
