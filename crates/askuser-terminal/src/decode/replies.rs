//! Queries to the terminal and its replies.
//!
//! Some terminals do not report their background colour, but nearly all report their device attributes (DA1), in order.
//! So the attributes are queried right after the background. Their reply means that no background will follow.

use crate::view::Background;

/// Asks for the background colour (OSC 11), and behind it for the device attributes.
pub(crate) const ASK_BACKGROUND: &[u8] = b"\x1b]11;?\x1b\\\x1b[c";
/// Asks where the cursor is (CPR).
pub(crate) const ASK_CURSOR: &[u8] = b"\x1b[6n";

#[derive(Debug, Default)]
pub(crate) struct Replies {
    background: BackgroundReply,
    /// Whether the device attributes are still to come.
    attributes_due: bool,
    /// The number of cursor positions still expected.
    cursors_due: usize,
    /// The rows of the cursor, from zero, in the replies that have come.
    cursor_rows: Vec<u16>,
}

/// The reply about the background colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BackgroundReply {
    #[default]
    NotAsked,
    Asked,
    Told(Background),
}

impl Replies {
    /// Tells that [`ASK_BACKGROUND`] is sent.
    pub(crate) fn expect_background(&mut self) {
        self.background = BackgroundReply::Asked;
        self.attributes_due = true;
    }

    /// Tells that [`ASK_CURSOR`] is sent so many times.
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

    /// Whether a reply may still come.
    pub(crate) fn are_due(&self) -> bool {
        self.attributes_due || self.cursors_due > 0
    }

    /// Whether a reply that is a control string may still come.
    pub(super) fn expect_string(&self) -> bool {
        self.attributes_due && self.background == BackgroundReply::Asked
    }

    /// Takes the background, once the reply is there.
    pub(crate) fn take_background(&mut self) -> Option<Background> {
        let BackgroundReply::Told(background) = self.background else { return None };
        self.background = BackgroundReply::NotAsked;
        Some(background)
    }

    /// Takes the last rows of the cursor, so many, once the reply to the last question for it is there.
    pub(crate) fn take_cursor_rows(&mut self, times: usize) -> Option<Vec<u16>> {
        let first = self.cursor_rows.len().checked_sub(times).filter(|_| self.cursors_due == 0 && times > 0)?;
        Some(std::mem::take(&mut self.cursor_rows).split_off(first))
    }

    /// Takes in a control string.
    pub(super) fn string(&mut self, content: &[u8]) {
        if self.background == BackgroundReply::Asked
            && let Some(background) = background_of(content)
        {
            self.background = BackgroundReply::Told(background);
        }
    }

    /// Takes in a CSI sequence that is no key.
    pub(super) fn sequence(&mut self, params: &[u8], end: u8) {
        match end {
            b'c' if params.starts_with(b"?") => self.attributes_due = false,
            b'R' if self.cursors_due > 0 => {
                let Some(row) = cursor_row(params) else { return };
                self.cursors_due -= 1;
                self.cursor_rows.push(row);
                // It was asked for later, so the attributes will not come either.
                self.attributes_due = false;
            }
            _ => {}
        }
    }
}

/// Whether a byte may continue a reply that is a control string. The content of an unusual reply is unknown, but it has
/// no control characters.
pub(super) fn may_follow(beginning: &[u8], byte: u8) -> bool {
    let is_colour = beginning.starts_with(b"11;rgb:") || beginning.starts_with(b"11;rgba:");
    if is_colour { byte.is_ascii_hexdigit() || byte == b'/' } else { !byte.is_ascii_control() }
}

/// The row of `12;40`, from zero.
fn cursor_row(params: &[u8]) -> Option<u16> {
    let (row, column) = std::str::from_utf8(params).ok()?.split_once(';')?;
    column.parse::<u16>().ok()?;
    row.parse::<u16>().ok()?.checked_sub(1)
}

/// The background of `11;rgb:ffff/ffff/ffff`, in one to four digits a colour.
fn background_of(reply: &[u8]) -> Option<Background> {
    let colours = std::str::from_utf8(reply).ok()?.strip_prefix("11;rgb:")?;
    let channel = |digits: &str| {
        let most = 16u32.pow(u32::try_from(digits.len()).ok().filter(|count| (1..=4).contains(count))?) - 1;
        u8::try_from(u32::from(u16::from_str_radix(digits, 16).ok()?) * 255 / most).ok()
    };
    let colours = colours.split('/').map(channel).collect::<Option<Vec<_>>>()?;
    <[u8; 3]>::try_from(colours).ok().map(Background::Told)
}
