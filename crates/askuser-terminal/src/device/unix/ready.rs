//! Waits until a terminal or a pipe can be read or written.

use rustix::event::PollFlags;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// Waits until one of the descriptors is ready, or until the timeout. Returns which descriptors are ready. A signal
/// does not end the wait. A signal that matters makes its pipe readable.
pub(super) fn ready<const N: usize>(
    fds: [(BorrowedFd<'_>, PollFlags); N],
    timeout: Option<Duration>,
) -> io::Result<[bool; N]> {
    // A timeout that overflows counts as no timeout.
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        match poll(fds, left) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            polled => return polled,
        }
    }
}

#[cfg(not(target_vendor = "apple"))]
fn poll<const N: usize>(fds: [(BorrowedFd<'_>, PollFlags); N], left: Option<Duration>) -> io::Result<[bool; N]> {
    use rustix::event::{PollFd, Timespec};
    let mut fds = fds.map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags));
    rustix::event::poll(&mut fds, left.and_then(|left| Timespec::try_from(left).ok()).as_ref())?;
    Ok(fds.map(|fd| !fd.revents().is_empty()))
}

/// Polls with `select` on macOS, where `poll` and `kqueue` do not support `/dev/tty`. This function is compiled for
/// macOS, but was never run there.
#[cfg(target_vendor = "apple")]
fn poll<const N: usize>(fds: [(BorrowedFd<'_>, PollFlags); N], left: Option<Duration>) -> io::Result<[bool; N]> {
    use filedescriptor::{Error, pollfd};
    use std::os::fd::AsRawFd;
    let mut fds = fds.map(|(fd, flags)| pollfd { fd: fd.as_raw_fd(), events: flags.bits(), revents: 0 });
    // `select` accepts at most 100,000,000 s.
    let left = left.map(|left| left.min(Duration::from_secs(100_000_000)));
    filedescriptor::poll(&mut fds, left).map_err(|error| match error {
        Error::Io(error) | Error::Poll(error) => error,
        other => io::Error::other(other),
    })?;
    Ok(fds.map(|fd| fd.revents != 0))
}
