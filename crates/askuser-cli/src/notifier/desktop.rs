//! Shows a desktop notification for a question that no other surface shows. The code for macOS and Windows follows
//! their documentation and was never run there.

use super::plain;
use crate::store::display;
use askuser::store::StoredQuestion;
use askuser_sys::programs;
use std::io;
#[cfg(not(any(windows, target_os = "macos")))]
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Returns whether there is a desktop that can show a notification.
pub(super) fn is_there() -> bool {
    matches!(command("", ""), Some(Ok(_)))
}

/// Starts the program that shows the asker and the title of the question. Returns `None` without a desktop.
pub(super) fn notify(question: &StoredQuestion) -> Option<Result<Child, String>> {
    let title = question.request.title();
    let mut command = command(&plain(&display::who_and_where(question)), &plain(&title))?.ok()?;
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Some(quiet.spawn().map_err(|error| error.to_string()))
}

/// Returns the command for Linux and similar systems, which uses the bus of the session. `None` without a bus.
#[cfg(not(any(windows, target_os = "macos")))]
fn command(title: &str, text: &str) -> Option<io::Result<Command>> {
    const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";
    // Many clients do not pass on the variable, so the usual bus of a session is tried.
    let usual_bus = || {
        let usual = || PathBuf::from(format!("/run/user/{}", rustix::process::getuid().as_raw()));
        let socket = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(usual, PathBuf::from).join("bus");
        socket.exists().then(|| format!("unix:path={}", socket.display()).into())
    };
    let bus = std::env::var_os(BUS).or_else(usual_bus)?;
    let command = programs::command("notify-send");
    Some(command.map(|mut command| {
        command.args(["--app-name", "askuser", "--", title, text]).env(BUS, bus);
        command
    }))
}

/// Returns the command for macOS. The text consists of arguments, and is never a part of the script.
#[cfg(target_os = "macos")]
fn command(title: &str, text: &str) -> Option<io::Result<Command>> {
    let script = ["on run words", "display notification (item 2 of words) with title (item 1 of words)", "end run"];
    let command = programs::command("osascript");
    Some(command.map(|mut command| {
        command.args(script.iter().flat_map(|line| ["-e", line])).args([title, text]);
        command
    }))
}

/// Returns the command for Windows. The notification has the name of PowerShell, which every Windows knows, because an
/// uninstalled program has no name. The text is in the environment, and never a part of the script.
#[cfg(windows)]
fn command(title: &str, text: &str) -> Option<io::Result<Command>> {
    const SCRIPT: &str = "\
        $manager = [Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime];\
        $toast = $manager::GetTemplateContent([Windows.UI.Notifications.ToastTemplateType]::ToastText02);\
        $lines = $toast.GetElementsByTagName('text');\
        $null = $lines.Item(0).AppendChild($toast.CreateTextNode($env:ASKUSER_TITLE));\
        $null = $lines.Item(1).AppendChild($toast.CreateTextNode($env:ASKUSER_TEXT));\
        $shown = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe';\
        $manager::CreateToastNotifier($shown).Show([Windows.UI.Notifications.ToastNotification]::new($toast))";
    let command = programs::command("powershell");
    Some(command.map(|mut command| {
        command.args(["-NoProfile", "-NonInteractive", "-Command", SCRIPT]);
        command.env("ASKUSER_TITLE", title).env("ASKUSER_TEXT", text);
        command
    }))
}
