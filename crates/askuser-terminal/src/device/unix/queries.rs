//! Queries to the terminal: its background colour and the cursor's position. Late, missing or invalid replies are
//! harmless, and no reply reaches the next reader of the terminal.

use super::Device;
use super::ready::ready;
use crate::decode::replies::{ASK_BACKGROUND, ASK_CURSOR};
use crate::device::signals::TtyState;
use crate::view::Background;
use rustix::event::PollFlags;
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The time in which a reply may arrive, even over a slow link. A terminal that sends no reply in this time never
/// replies.
const REPLY_PATIENCE: Duration = Duration::from_secs(2);
/// The time for which stopping the device waits for a missing reply.
const DRAIN_WAIT: Duration = Duration::from_millis(50);
/// The time for which a resize waits for the cursor's position.
const CURSOR_WAIT: Duration = Duration::from_millis(500);

/// The state of the queries that were sent to the terminal.
#[derive(Debug, Default)]
pub(super) struct Queries {
    /// The time of the last query; `None` if no reply is expected.
    last: Option<Instant>,
    asked_background: bool,
    background: Option<Background>,
    /// Whether the terminal has left a query for the cursor's position without a reply.
    hides_cursor: bool,
}

impl Device {
    /// Queries the terminal's background colour, once. The reply, if it arrives, ends a wait as [`DeviceEvent::Woken`].
    ///
    /// [`DeviceEvent::Woken`]: crate::device::DeviceEvent::Woken
    pub(crate) fn ask_background(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.queries.asked_background, true) {
            return Ok(());
        }
        self.decoder.replies.expect_background();
        self.queries.last = Some(Instant::now());
        self.write(ASK_BACKGROUND)
    }

    /// Returns the background; `None` until the terminal has reported it.
    pub(crate) fn background(&self) -> Option<Background> {
        self.queries.background
    }

    /// Stores a background that the terminal has reported. Returns whether there was a new report.
    pub(super) fn learn_background(&mut self) -> bool {
        let told = self.decoder.replies.take_background();
        self.queries.background = told.or(self.queries.background);
        told.is_some()
    }

    /// Queries the row of the cursor, counted from zero, and waits briefly for the reply. Input typed meanwhile is
    /// returned by the next wait.
    ///
    /// Returns `None` without a reply. A terminal that did not reply is not queried again, unless its reply was only
    /// late.
    pub(crate) fn cursor_row(&mut self) -> io::Result<Option<u16>> {
        let never_replies = self.queries.hides_cursor && self.decoder.replies.take_cursor_rows(1).is_none();
        if never_replies || self.state != TtyState::Held {
            return Ok(None);
        }
        self.write(ASK_CURSOR)?;
        Ok(self.await_cursor_rows(1)?.map(|rows| rows[0]))
    }

    /// Waits for rows of the cursor, after [`ASK_CURSOR`] was written this many times. Returns `None` if not all
    /// replies arrive in time.
    pub(crate) fn await_cursor_rows(&mut self, times: usize) -> io::Result<Option<Vec<u16>>> {
        self.give_up_replies();
        self.decoder.replies.expect_cursor(times);
        self.queries.last = Some(Instant::now());
        let deadline = Instant::now() + CURSOR_WAIT;
        let mut typed = std::mem::take(&mut self.typed_early);
        let mut rows = None;
        while rows.is_none() && self.poll_input(deadline)? && self.read(&mut typed)? {
            rows = self.decoder.replies.take_cursor_rows(times);
        }
        self.typed_early = typed;
        self.queries.hides_cursor = rows.is_none();
        Ok(rows)
    }

    /// Stops waiting for replies that are overdue.
    pub(super) fn give_up_replies(&mut self) {
        if self.queries.last.take_if(|last| last.elapsed() > REPLY_PATIENCE).is_some() {
            self.decoder.replies.give_up();
        }
    }

    /// Reads the replies that are still expected, so that they do not reach the next reader.
    ///
    /// ReadState stops at the last byte of the last reply, so input typed after it stays in the terminal. Input typed
    /// before it is lost, because the reply stands behind it.
    pub(super) fn drain_replies(&mut self) -> io::Result<()> {
        self.give_up_replies();
        if self.state != TtyState::Held || self.in_background() {
            return Ok(());
        }
        let deadline = Instant::now() + DRAIN_WAIT;
        let mut byte = [0];
        while self.decoder.replies.are_due() && self.poll_input(deadline)? {
            match rustix::io::read(&self.tty, &mut byte) {
                Ok(0) | Err(Errno::IO) => return Ok(()),
                Ok(_) => self.decoder.feed(&byte, &mut Vec::new()),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits for input until a deadline. Returns whether input is available.
    pub(super) fn poll_input(&self, deadline: Instant) -> io::Result<bool> {
        let left = deadline.saturating_duration_since(Instant::now());
        ready([(self.tty.as_fd(), PollFlags::IN)], Some(left)).map(|[is_readable]| is_readable)
    }
}
