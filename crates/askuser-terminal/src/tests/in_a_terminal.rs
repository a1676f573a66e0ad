//! Runs one of this binary's own tests again in a PTY, for tests that need a controlling terminal.

use portable_pty::{CommandBuilder, NativePtySystem, PtySize, PtySystem};
use std::io::{Read, Write};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// The variable that is set in the process inside the terminal.
const INSIDE: &str = "ASKUSER_TEST_INSIDE";

/// Returns whether this is the process inside the terminal.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs the test `name` in a terminal, through a shell that prints the terminal's modes before and after. Each entry of
/// `keys` is a text to wait for, and the keys to type then. Returns the whole output.
pub(crate) fn run(name: &str, keys: &[(&str, &str)]) -> String {
    let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
    let pty = NativePtySystem::default().openpty(size).expect("a PTY");
    let mut command = CommandBuilder::new("sh");
    let script = "stty -g; \"$0\" --exact \"$1\" --nocapture --test-threads 1; stty -g; echo THE END";
    command.args(["-c", script, &std::env::current_exe().expect("a path").display().to_string(), name]);
    command.env(INSIDE, "1");
    command.env("TERM", "xterm-256color");
    let mut child = pty.slave.spawn_command(command).expect("a shell");
    drop(pty.slave);
    let (mut reader, mut writer) =
        (pty.master.try_clone_reader().expect("a reader"), pty.master.take_writer().expect("a writer"));
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    let mut seen = Vec::new();
    let mut keys = keys.iter();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut next = keys.next();
    while let Ok(bytes) = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        seen.extend(bytes);
        let text = String::from_utf8_lossy(&seen);
        if let Some((awaited, typed)) = next
            && text.contains(awaited)
        {
            writer.write_all(typed.as_bytes()).expect("a keyboard");
            next = keys.next();
        }
        if text.contains("THE END") {
            break;
        }
    }
    let text = String::from_utf8_lossy(&seen).into_owned();
    assert!(text.contains("THE END"), "it did not end:\n{text}");
    let _ = child.wait();
    text
}

/// Returns the terminal's modes before and after, as the shell has printed them.
pub(crate) fn modes(output: &str) -> (&str, &str) {
    let is_modes = |line: &&str| line.matches(':').count() > 10;
    let mut lines = output.lines().map(|line| line.trim_end_matches('\r')).filter(is_modes);
    let first = lines.next().expect("the modes before");
    (first, lines.next_back().expect("the modes after"))
}
