//! Parses bold and code in a line of text, for questions and descriptions.
//!
//! All other text stays as written. A Markdown parser would have to be stopped from reading every other mark.

use crate::inline::push;
use crate::{Look, Piece, Token};

/// Parses the bold and the code of a text. Returns `None` if the text contains neither mark.
pub fn inline(text: &str) -> Option<Vec<Piece>> {
    if !text.contains("**") && !text.contains('`') {
        return None;
    }
    let mut pieces = Vec::new();
    text.split_inclusive('\n').for_each(|line| read(line, &mut pieces));
    Some(pieces)
}

fn read(line: &str, pieces: &mut Vec<Piece>) {
    // The runs behind an open mark. They are bold if another mark closes it.
    let mut open: Option<Vec<Piece>> = None;
    let mut at = 0;
    while at < line.len() {
        let (before, rest) = line.split_at(at);
        let touches_word = |c: char| !c.is_whitespace() && c != '*';
        if open.is_none() && rest.strip_prefix("**").is_some_and(|inside| inside.starts_with(touches_word)) {
            open = Some(Vec::new());
            at += 2;
        } else if rest.starts_with("**")
            && let Some(bold) = open.take_if(|_| !before.ends_with(char::is_whitespace))
        {
            bold.iter().for_each(|piece| push(pieces, &piece.text, Look { bold: true, ..piece.look }));
            at += 2;
        } else {
            let (length, shown, token) = run(rest);
            push(open.as_mut().unwrap_or(pieces), shown, Look { token, ..Look::default() });
            at += length;
        }
    }
    if let Some(runs) = open {
        push(pieces, "**", Look::default());
        runs.iter().for_each(|piece| push(pieces, &piece.text, piece.look));
    }
}

/// Returns the first run of a text, and its length in bytes. A run is code, an escaped character with its backslash,
/// marks without effect, or text.
fn run(text: &str) -> (usize, &str, Token) {
    let repeated = |mark: char| text.len() - text.trim_start_matches(mark).len();
    let length = match text.as_bytes()[0] {
        b'`' => {
            let (ticks, inside) = text.split_at(repeated('`'));
            let is_whole = |at: usize| !inside[..at].ends_with('`') && !inside[at + ticks.len()..].starts_with('`');
            if let Some((end, _)) = inside.match_indices(ticks).find(|(at, _)| is_whole(*at)) {
                let code = &inside[..end];
                // A blank on either side separates a backtick in the code from the marks.
                let inner = code.strip_prefix(' ').and_then(|inner| inner.strip_suffix(' '));
                let code = inner.filter(|inner| !inner.trim().is_empty()).unwrap_or(code);
                return (end + 2 * ticks.len(), code, Token::Code);
            }
            ticks.len()
        }
        b'\\' => 1 + text[1..].chars().next().map_or(0, char::len_utf8),
        b'*' => repeated('*'),
        _ => text.find(['\\', '`', '*']).unwrap_or(text.len()),
    };
    (length, &text[..length], Token::Plain)
}
