//! Queries to the terminal and its replies.
//!
//! Some terminals do not report their background colour, but nearly all report their device attributes (DA1), in order.
//! So the attributes are queried right after the background. Their reply means that no background will follow.

use crate::view::Background;

/// Queries the background colour (OSC 11), then the device attributes.
pub(crate) const ASK_BACKGROUND: &[u8] = b"\x1b]11;?\x1b\\\x1b[c";
/// Queries the position of the cursor (CPR).
pub(crate) const ASK_CURSOR: &[u8] = b"\x1b[6n";

#[derive(Debug, Default)]
pub(crate) struct Replies {
    background: BackgroundReply,
    /// Whether the reply with the device attributes is still expected.
    attributes_due: bool,
    /// The number of cursor positions that are still expected.
    cursors_due: usize,
    /// The cursor rows in the replies so far, counted from zero.
    cursor_rows: Vec<u16>,
}

/// The state of the query for the background colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BackgroundReply {
    #[default]
    NotAsked,
    Asked,
    Told(Background),
}

impl Replies {
    /// Records that [`ASK_BACKGROUND`] is sent.
    pub(crate) fn expect_background(&mut self) {
        self.background = BackgroundReply::Asked;
        self.attributes_due = true;
    }

    /// Records that [`ASK_CURSOR`] is sent this many times.
    pub(crate) fn expect_cursor(&mut self, times: usize) {
        if self.cursors_due == 0 {
            self.cursor_rows.clear();
        }
        self.cursors_due += times;
    }

    /// Stops waiting for missing replies. A late background is still read.
    pub(crate) fn give_up(&mut self) {
        self.cursors_due = 0;
        self.attributes_due = false;
    }

    /// Returns whether a reply is still expected.
    pub(crate) fn are_due(&self) -> bool {
        self.attributes_due || self.cursors_due > 0
    }

    /// Returns whether a reply that is a control string is still expected.
    pub(super) fn expect_string(&self) -> bool {
        self.attributes_due && self.background == BackgroundReply::Asked
    }

    /// Removes and returns the background; `None` without a reply.
    pub(crate) fn take_background(&mut self) -> Option<Background> {
        let BackgroundReply::Told(background) = self.background else { return None };
        self.background = BackgroundReply::NotAsked;
        Some(background)
    }

    /// Removes and returns the last `times` rows of the cursor. `None` until the reply to the last query has arrived.
    pub(crate) fn take_cursor_rows(&mut self, times: usize) -> Option<Vec<u16>> {
        let first = self.cursor_rows.len().checked_sub(times).filter(|_| self.cursors_due == 0 && times > 0)?;
        Some(std::mem::take(&mut self.cursor_rows).split_off(first))
    }

    /// Reads the background from a control string, if the string is the expected reply.
    pub(super) fn string(&mut self, content: &[u8]) {
        if self.background == BackgroundReply::Asked
            && let Some(background) = background_of(content)
        {
            self.background = BackgroundReply::Told(background);
        }
    }

    /// Reads a reply from a CSI sequence that is no key.
    pub(super) fn sequence(&mut self, params: &[u8], end: u8) {
        match end {
            b'c' if params.starts_with(b"?") => self.attributes_due = false,
            b'R' if self.cursors_due > 0 => {
                let Some(row) = cursor_row(params) else { return };
                self.cursors_due -= 1;
                self.cursor_rows.push(row);
                // The cursor was queried after the attributes, so the attributes will not follow.
                self.attributes_due = false;
            }
            _ => {}
        }
    }
}

/// Returns whether a byte may continue a reply that is a control string. The content of an unusual reply is unknown,
/// but it has no control characters.
pub(super) fn may_follow(beginning: &[u8], byte: u8) -> bool {
    let is_colour = beginning.starts_with(b"11;rgb:") || beginning.starts_with(b"11;rgba:");
    if is_colour { byte.is_ascii_hexdigit() || byte == b'/' } else { !byte.is_ascii_control() }
}

/// Parses a cursor position such as `12;40`. Returns the row, counted from zero; `None` if the text is invalid.
fn cursor_row(params: &[u8]) -> Option<u16> {
    let (row, column) = std::str::from_utf8(params).ok()?.split_once(';')?;
    column.parse::<u16>().ok()?;
    row.parse::<u16>().ok()?.checked_sub(1)
}

/// Parses a background such as `11;rgb:ffff/ffff/ffff`, with one to four digits for each colour. Returns `None` if the
/// text is invalid.
fn background_of(reply: &[u8]) -> Option<Background> {
    let colours = std::str::from_utf8(reply).ok()?.strip_prefix("11;rgb:")?;
    let channel = |digits: &str| {
        let most = 16u32.pow(u32::try_from(digits.len()).ok().filter(|count| (1..=4).contains(count))?) - 1;
        u8::try_from(u32::from(u16::from_str_radix(digits, 16).ok()?) * 255 / most).ok()
    };
    let colours = colours.split('/').map(channel).collect::<Option<Vec<_>>>()?;
    <[u8; 3]>::try_from(colours).ok().map(Background::Told)
}
