//! Signals that tell the process to stop or to end.

use crate::failure::{Failure, OrFail, exit};
use tokio_util::sync::CancellationToken;

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

/// What becomes of this, unless the process is told to end before.
pub(crate) async fn unless_told<T>(work: impl Future<Output = T>) -> Result<Option<T>, Failure> {
    let mut signals = Signals::listen()?;
    Ok(tokio::select! {
        done = work => Some(done),
        _ = signals.next() => None,
    })
}

/// Cancels this when the process is told to end.
pub(crate) fn cancel_when_told(end: &CancellationToken) -> Result<(), Failure> {
    let (mut signals, end) = (Signals::listen()?, end.clone());
    tokio::spawn(async move {
        signals.next().await;
        end.cancel();
    });
    Ok(())
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
