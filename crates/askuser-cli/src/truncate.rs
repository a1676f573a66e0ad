//! Truncates lines to a width.

use askuser_terminal::{Theme, width};

pub(crate) fn truncate(text: &str, columns: usize, theme: &Theme) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let ellipsis = theme.signs.ellipsis;
    let room = columns.saturating_sub(width(ellipsis));
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    // Stops at the first character that does not fit, even if a narrower one follows. So many characters of one byte fit.
    let is_ascii = text.bytes().take(room).all(|byte| matches!(byte, b' '..=b'~'));
    let sure = if is_ascii { room } else { 0 };
    let end = ends.skip_while(|end| *end < sure).take_while(|end| width(&text[..*end]) <= room).last().unwrap_or(0);
    format!("{}{ellipsis}", text[..end].trim_end())
}
