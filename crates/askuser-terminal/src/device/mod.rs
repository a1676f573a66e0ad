//! The terminal device: raw mode, waiting for input and signals, writing, and restoring the terminal.
//!
//! It does not know the painted content, and writes only the caller's bytes and its own queries. One device is in use
//! at a time. Every exit (stop, drop, panic, signal) restores the terminal. On Unix it works on file descriptors, on
//! Windows it reads console events with crossterm.

use crate::close_signal::CloseSignal;
use askuser::sanitize;
use askuser::store::Ending;
use std::io;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, ThreadId};

#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod tty_lock;
#[cfg(unix)]
mod unix;
mod waker;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::Device;
pub(crate) use waker::WakePipe;
pub use waker::Waker;
#[cfg(windows)]
pub(crate) use windows::Device;

/// The treatment of a lone escape byte: the Esc key, or the start of an arrow key split by a slow link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EscapeKey {
    /// The Esc key only after a pause: Esc or the other half of the key would end the prompt or send an answer.
    Held,
    /// At once: if it was no Esc, no harm is done.
    AtOnce,
}

/// The result of [`Device::wait`].
#[derive(Debug)]
#[cfg_attr(not(unix), allow(dead_code))]
pub(crate) enum DeviceEvent {
    Input,
    Resized,
    /// The timeout has passed.
    TimedOut,
    /// The process was stopped from outside and continued: the terminal modes are set again, the screen may have changed.
    Resumed,
    /// The process is asked to stop: clean up the screen, then call `suspend`.
    Suspend,
    /// This signal asks the process to end.
    Terminated(i32),
    Closed,
    /// Ctrl-D on an empty line; only in line mode.
    EndOfInput,
    /// The prompt is to close: the question ended, or the caller does not wait any more.
    CloseRequested(Option<Ending>),
    /// Another thread calls.
    Woken,
    /// A message of another thread to the person.
    Message(String),
}

/// A pipe that ends a wait.
#[derive(Debug)]
pub(crate) enum WakeSource {
    /// Ends when the prompt is to close.
    Close(CloseSignal),
    /// Has something in it when another thread calls.
    Waker(WakePipe),
}

/// The signal of Ctrl-C, the same number everywhere.
pub(crate) const SIGINT: i32 = 2;

/// Replaces an unknown size by `COLUMNS` and `LINES`, or by 80 × 24.
fn size_or_fallback(columns: u16, rows: u16) -> (u16, u16) {
    let known = |value: u16, variable: &str, classic: u16| match value {
        0 => std::env::var(variable).ok().and_then(|v| v.trim().parse().ok()).filter(|v| *v > 0).unwrap_or(classic),
        _ => value,
    };
    (known(columns, "COLUMNS", 80), known(rows, "LINES", 24))
}

/// The device in use, and the way to restore its terminal in a panic.
struct InUse {
    owner: ThreadId,
    /// The bytes to write in a panic.
    bytes: Vec<u8>,
    restore: Restore,
    /// Messages of other threads that are not shown yet.
    messages: Vec<String>,
}

/// Writes bytes to the terminal and gives its modes back.
type Restore = Box<dyn FnMut(&[u8]) + Send>;

static IN_USE: Mutex<Option<InUse>> = Mutex::new(None);

fn in_use() -> MutexGuard<'static, Option<InUse>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Claims the terminal for the calling thread. Until [`release`], a panic runs `restore` before its message is printed;
/// with `panic = "abort"` no destructor would.
fn claim(restore: Restore) -> io::Result<()> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore_on_panic();
            previous(info);
        }));
    });
    let mut in_use = in_use();
    if in_use.is_some() {
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another prompt is using the terminal"));
    }
    *in_use = Some(InUse { owner: thread::current().id(), bytes: Vec::new(), restore, messages: Vec::new() });
    Ok(())
}

/// Sets the bytes written to the terminal if the process panics while a device is in use.
pub(crate) fn on_panic(bytes: Vec<u8>) {
    if let Some(in_use) = in_use().as_mut() {
        in_use.bytes = bytes;
    }
}

#[cfg(all(test, unix))]
pub(crate) fn is_in_use() -> bool {
    in_use().is_some()
}

/// Releases the device that [`claim`] claimed. Returns the messages that were not shown, as lines.
fn release() -> String {
    let messages = in_use().take().map(|in_use| in_use.messages).unwrap_or_default();
    messages.iter().map(|words| format!("askuser: {words}\r\n")).collect()
}

/// Shows a message at this process's prompt or conversation. Returns `false` without one.
pub fn notify(words: &str) -> bool {
    let mut in_use = in_use();
    let Some(in_use) = in_use.as_mut() else { return false };
    in_use.messages.push(sanitize::line(words).into_owned());
    #[cfg(unix)]
    signals::wake();
    true
}

/// The next message to show.
#[cfg(unix)]
fn take_message() -> Option<String> {
    let mut in_use = in_use();
    let messages = &mut in_use.as_mut()?.messages;
    (!messages.is_empty()).then(|| messages.remove(0))
}

/// Set while a child process, such as an editor, has the terminal.
static IS_LENT: AtomicBool = AtomicBool::new(false);

/// Returns whether this process has lent its terminal to a child process, such as an editor. Ctrl-C is then for the child.
pub fn is_lent() -> bool {
    IS_LENT.load(Ordering::SeqCst)
}

/// Returns whether a signal that ends the process has come since the device was started. Ctrl-C alone may mean less.
pub(crate) fn is_told_to_end() -> bool {
    #[cfg(unix)]
    return signals::is_told_to_end();
    #[cfg(not(unix))]
    false
}

fn restore_on_panic() {
    // Never wait for the lock: the panic may have happened while it was held.
    let mut in_use = match IN_USE.try_lock() {
        Ok(in_use) => in_use,
        Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(std::sync::TryLockError::WouldBlock) => return,
    };
    let current = thread::current();
    if let Some(InUse { owner, bytes, restore, .. }) = in_use.as_mut() {
        // If panics unwind, one in another thread need not end the process, and the prompt continues.
        if cfg!(panic = "abort") || *owner == current.id() || current.name() == Some("main") {
            restore(bytes);
        }
    }
}
