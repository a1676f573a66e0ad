//! The terminal device: raw mode, waiting for input and signals, writing, and restoring the terminal.
//!
//! The device writes only the caller's bytes and its own queries, and does not know the painted content. One device is
//! in use at a time. Every exit (stop, drop, panic, signal) restores the terminal. On Unix the device uses file
//! descriptors. On Windows it reads console events with crossterm.

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

/// The treatment of a lone escape byte. The byte is the Esc key, or the start of an arrow key that a slow link has
/// split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EscapeKey {
    /// A lone escape byte is the Esc key only after a pause. Esc or the rest of a split key would end the prompt or
    /// send an answer.
    Held,
    /// A lone escape byte is the Esc key at once. A mistake does no harm here.
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
    /// The process was stopped from outside and continued. The terminal modes are set again, but the screen may have
    /// changed.
    Resumed,
    /// The process has to stop. The caller cleans up the screen and calls `suspend`.
    Suspend,
    /// The process received this signal, which asks it to end.
    Terminated(i32),
    Closed,
    /// Ctrl-D was pressed on an empty line in line mode.
    EndOfInput,
    /// The prompt has to close. `None` if the caller does not wait any more, otherwise the question has ended.
    CloseRequested(Option<Ending>),
    /// Another thread used a [`Waker`].
    Woken,
    /// Another thread has sent the person a message.
    Message(String),
}

/// A pipe that ends a wait.
#[derive(Debug)]
pub(crate) enum WakeSource {
    /// The pipe ends when the prompt has to close.
    Close(CloseSignal),
    /// The pipe becomes readable when another thread wakes the waiter.
    Waker(WakePipe),
}

/// The signal of Ctrl-C, which has the same number on every system.
pub(crate) const SIGINT: i32 = 2;

/// Returns the size of the terminal. An unknown size is replaced by `COLUMNS` and `LINES`, or by 80 × 24.
fn size_or_fallback(columns: u16, rows: u16) -> (u16, u16) {
    let known = |value: u16, variable: &str, classic: u16| match value {
        0 => std::env::var(variable).ok().and_then(|v| v.trim().parse().ok()).filter(|v| *v > 0).unwrap_or(classic),
        _ => value,
    };
    (known(columns, "COLUMNS", 80), known(rows, "LINES", 24))
}

/// The device in use, and the function that restores its terminal in a panic.
struct InUse {
    owner: ThreadId,
    /// The bytes to write in a panic.
    bytes: Vec<u8>,
    restore: Restore,
    /// The messages of other threads that are not shown yet.
    messages: Vec<String>,
}

/// A function that writes bytes to the terminal and restores its modes.
type Restore = Box<dyn FnMut(&[u8]) + Send>;

static IN_USE: Mutex<Option<InUse>> = Mutex::new(None);

fn in_use() -> MutexGuard<'static, Option<InUse>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Claims the terminal for the calling thread. Until [`release`], a panic runs `restore` before its message is printed.
/// With `panic = "abort"` no destructor would restore the terminal.
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

/// Shows a message at this process's prompt or conversation. Returns `false` if the process has neither.
pub fn notify(words: &str) -> bool {
    let mut in_use = in_use();
    let Some(in_use) = in_use.as_mut() else { return false };
    in_use.messages.push(sanitize::line(words).into_owned());
    #[cfg(unix)]
    signals::wake();
    true
}

/// Removes and returns the next message to show; `None` if there is none.
#[cfg(unix)]
fn take_message() -> Option<String> {
    let mut in_use = in_use();
    let messages = &mut in_use.as_mut()?.messages;
    (!messages.is_empty()).then(|| messages.remove(0))
}

/// Set while a child process, such as an editor, has the terminal.
static IS_LENT: AtomicBool = AtomicBool::new(false);

/// Returns whether this process has lent its terminal to a child process, such as an editor. Ctrl-C is then meant for
/// the child.
pub fn is_lent() -> bool {
    IS_LENT.load(Ordering::SeqCst)
}

/// Returns whether a signal that ends the process has arrived since the device was started. A reported Ctrl-C does not
/// count, because it may only end a prompt.
pub(crate) fn is_told_to_end() -> bool {
    #[cfg(unix)]
    return signals::is_told_to_end();
    #[cfg(not(unix))]
    false
}

fn restore_on_panic() {
    // A wait for the lock could block for ever, because this thread may have panicked while it held the lock.
    let mut in_use = match IN_USE.try_lock() {
        Ok(in_use) => in_use,
        Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(std::sync::TryLockError::WouldBlock) => return,
    };
    let current = thread::current();
    if let Some(InUse { owner, bytes, restore, .. }) = in_use.as_mut() {
        // If panics unwind, a panic in another thread may leave the process alive, and the prompt continues.
        if cfg!(panic = "abort") || *owner == current.id() || current.name() == Some("main") {
            restore(bytes);
        }
    }
}
