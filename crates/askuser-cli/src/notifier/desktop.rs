//! A notification on the desktop, where there is a session: for a question that nothing else shows.

use super::plain;
use askuser::store::StoredQuestion;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";
const PROGRAM: &str = "notify-send";

/// Whether there is a session and a program for it.
pub(super) fn is_there() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    bus().is_some() && std::env::split_paths(&path).any(|folder| folder.join(PROGRAM).is_file())
}

/// Starts what shows it, if there is a session and a program for it. It says the header and the project, and no more: others may
/// see the screen.
pub(super) fn notify(question: &StoredQuestion) -> Option<Result<Child, String>> {
    let bus = bus()?;
    let header = question.request.set().questions().first().map_or("", |asked| asked.header());
    let folder = question.request.origin().folder.as_deref();
    let project = folder.and_then(|folder| Path::new(folder).file_name()?.to_str()).unwrap_or_default();
    let mut command = Command::new(PROGRAM);
    command.args(["--app-name", "askuser", "--", &plain(header), &plain(project)]).env(BUS, bus);
    match command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        started => Some(started.map_err(|error| error.to_string())),
    }
}

fn bus() -> Option<OsString> {
    std::env::var_os(BUS).or_else(usual_bus)
}

/// Where the bus of a session is: many clients hand on no variable that would say so.
fn usual_bus() -> Option<OsString> {
    #[cfg(unix)]
    {
        let usual = || PathBuf::from(format!("/run/user/{}", rustix::process::getuid().as_raw()));
        let socket = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(usual, PathBuf::from).join("bus");
        socket.exists().then(|| OsString::from(format!("unix:path={}", socket.display())))
    }
    #[cfg(not(unix))]
    None
}
