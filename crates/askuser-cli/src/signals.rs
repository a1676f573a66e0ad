//! The signals that end the process, observed through one source by every wait.
//!
//! [`end`] cancels two tokens. The first token ends every wait for a person. The second token ends every call to a
//! store, a moment later. In that time the store can still save a draft and record which process has left.

use crate::failure::{Failure, OrFail, exit};
use crate::store::runtime;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The time that calls to a store have after a signal.
pub(crate) const GRACE: Duration = Duration::from_millis(100);

static WAITS: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);
static RECEIVED: OnceLock<Signal> = OnceLock::new();
static CALLS: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// Returns the token whose cancellation ends every call to a store.
pub(crate) fn calls() -> CancellationToken {
    CALLS.clone()
}

/// Returns the signal that ends the process; `None` before a signal.
pub(crate) fn received() -> Option<Signal> {
    RECEIVED.get().copied()
}

/// Ends every wait now, and every call to a store a moment later.
pub(crate) fn end(signal: Signal) {
    let _ = RECEIVED.set(signal);
    WAITS.cancel();
    thread::spawn(|| {
        thread::sleep(GRACE);
        CALLS.cancel();
    });
}

/// Starts to handle signals. Returns the token that a signal cancels.
pub(crate) fn listen() -> Result<CancellationToken, Failure> {
    static IS_LISTENING: Mutex<bool> = Mutex::new(false);
    let mut is_listening = IS_LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
    if !*is_listening {
        let (runtime, (ready, is_ready)) = (runtime()?, mpsc::channel());
        let work = move || {
            runtime.block_on(async {
                let signals = Signals::listen();
                let _ = ready.send(signals.as_ref().map(drop).map_err(Failure::clone));
                let Ok(mut signals) = signals else { return };
                // Ctrl-C during an editor is meant for the editor.
                let mut signal = signals.next().await;
                while signal == Signal::Interrupt && askuser_terminal::is_lent() {
                    signal = signals.next().await;
                }
                end(signal);
            });
        };
        thread::Builder::new().name("askuser-signals".into()).spawn(work).or_fail("cannot start")?;
        is_ready.recv().or_fail("cannot start")??;
        *is_listening = true;
    }
    Ok(WAITS.child_token())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Interrupt,
    End,
}

impl Signal {
    pub(crate) fn failure(self) -> Failure {
        match self {
            Signal::Interrupt => Failure::new("interrupted").code(exit::INTERRUPTED),
            Signal::End => Failure::new("terminated").code(143),
        }
    }
}

/// Runs work until it completes or a signal ends the process. Returns `None` after a signal.
pub(crate) async fn until_signal<T>(work: impl Future<Output = T>) -> Result<Option<T>, Failure> {
    Ok(listen()?.run_until_cancelled(work).await)
}

#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> Result<Signals, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).or_fail("cannot start");
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::End,
            _ = self.hangup.recv() => Signal::End,
        }
    }
}

#[cfg(windows)]
pub(crate) struct Signals {
    interrupt: tokio::signal::windows::CtrlC,
    close: tokio::signal::windows::CtrlClose,
}

#[cfg(windows)]
impl Signals {
    pub(crate) fn listen() -> Result<Signals, Failure> {
        use tokio::signal::windows::{ctrl_c, ctrl_close};
        Ok(Signals { interrupt: ctrl_c().or_fail("cannot start")?, close: ctrl_close().or_fail("cannot start")? })
    }

    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.close.recv() => Signal::End,
        }
    }
}
