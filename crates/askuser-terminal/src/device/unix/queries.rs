//! Queries to the terminal: its background colour and the cursor's position. Late, missing or odd replies do no harm,
//! and none reaches the next reader of the terminal.

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

/// The time in which a reply may arrive, even over a slow link. A terminal that is silent until then never replies.
const REPLY_PATIENCE: Duration = Duration::from_secs(2);
/// The time that the end waits for a missing reply.
const DRAIN_WAIT: Duration = Duration::from_millis(50);
/// The time that a resize waits for the cursor's position.
const CURSOR_WAIT: Duration = Duration::from_millis(500);

/// The queries sent to the terminal.
#[derive(Debug, Default)]
pub(super) struct Queries {
    /// The time of the last query.
    last: Option<Instant>,
    asked_background: bool,
    background: Option<Background>,
    /// Whether it has left a question for the cursor's position without a reply.
    hides_cursor: bool,
}

impl Device {
    /// Asks the terminal for its background colour, once. The reply ends a wait as [`DeviceEvent::Woken`], if it comes.
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

    /// The background, once the terminal has told it.
    pub(crate) fn background(&self) -> Option<Background> {
        self.queries.background
    }

    /// Takes in the background; says whether it has just been told.
    pub(super) fn learn_background(&mut self) -> bool {
        let told = self.decoder.replies.take_background();
        self.queries.background = told.or(self.queries.background);
        told.is_some()
    }

    /// Asks in which row of the screen the cursor is, from zero, and waits briefly for the reply. What is typed meanwhile
    /// comes with the next wait. A terminal that does not reply is not asked again, unless the reply was only late.
    pub(crate) fn cursor_row(&mut self) -> io::Result<Option<u16>> {
        let never_replies = self.queries.hides_cursor && self.decoder.replies.take_cursor_rows(1).is_none();
        if never_replies || self.state != TtyState::Held {
            return Ok(None);
        }
        self.write(ASK_CURSOR)?;
        Ok(self.await_cursor_rows(1)?.map(|rows| rows[0]))
    }

    /// Waits for rows of the cursor, after [`ASK_CURSOR`] was written so many times.
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

    /// Waits no longer for replies that should have come long ago.
    pub(super) fn give_up_replies(&mut self) {
        if self.queries.last.take_if(|last| last.elapsed() > REPLY_PATIENCE).is_some() {
            self.decoder.replies.give_up();
        }
    }

    /// Takes the replies that are still to come, so that they do not reach the next reader. Stops at the last byte of the
    /// last one: what was typed after it stays there. What was typed before it is lost, as the reply cannot be reached
    /// otherwise.
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

    /// Waits for input until a deadline; says whether there is some.
    pub(super) fn poll_input(&self, deadline: Instant) -> io::Result<bool> {
        let left = deadline.saturating_duration_since(Instant::now());
        ready([(self.tty.as_fd(), PollFlags::IN)], Some(left)).map(|[is_readable]| is_readable)
    }
}
