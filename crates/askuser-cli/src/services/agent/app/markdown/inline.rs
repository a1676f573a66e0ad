//! Inline markup: emphasis, code, links. A delimiter without its counterpart is shown as text.

use super::{Look, Piece};
use askuser_terminal::Role;
use askuser_terminal::text::Modifier;

/// Longer lines are shown as written: matching delimiters in them would take too long.
pub(super) const MAX_INLINE_BYTES: usize = 4_000;
/// How deeply markup may be nested.
const MAX_DEPTH: usize = 6;

/// Parses the text of a line.
pub(super) fn read_inline(text: &str, look: Look) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if text.len() > MAX_INLINE_BYTES {
        pieces.push(Piece { text: text.to_owned(), look });
    } else {
        inline(text, look, 0, &mut pieces);
    }
    pieces
}

/// Positions in an unfinished text before which the rendering can no longer change, whatever follows: as offsets into the
/// source and into the rendered text.
pub(super) fn stable_positions(text: &str) -> Vec<(usize, usize)> {
    let mut positions = vec![(0, 0)];
    let (mut at, mut shown) = (0, 0);
    let mut out = Vec::new();
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let look = Look::default();
        out.clear();
        let taken = match c {
            '\\' if rest.len() == 1 => break,
            '\\' => escaped(rest, look, &mut out),
            '`' => code(rest, look, &mut out),
            '*' | '_' | '~' => emphasis(text, at, c, look, 0, &mut out),
            '!' if rest.len() == 1 => break,
            '!' if rest.starts_with("![") => link(&rest[1..], look, 0, &mut out).map(|taken| taken + 1),
            '[' => link(rest, look, 0, &mut out),
            '<' => address(rest, look, &mut out),
            _ => None,
        };
        let end = match taken {
            // An unmatched code delimiter inside may still take the closing delimiter away.
            Some(taken) if taken == rest.len() || has_open_code(&rest[..taken]) => break,
            Some(taken) => taken,
            None if may_still_match(text, at, c) => break,
            None => {
                let run = match c {
                    '*' | '_' | '~' | '`' => rest.len() - rest.trim_start_matches(c).len(),
                    _ => c.len_utf8(),
                };
                add(&mut out, &rest[..run], look);
                run
            }
        };
        at += end;
        shown += out.iter().map(|piece| piece.text.len()).sum::<usize>();
        // Whether an underscore opens emphasis depends on the character before it, so it cannot start a row.
        if !text[at..].starts_with('_') {
            positions.push((at, shown));
        }
    }
    positions
}

/// Whether there are unmatched code delimiters.
fn has_open_code(text: &str) -> bool {
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        match code_span(&rest[start..]) {
            Some((_, end)) => rest = &rest[start + end..],
            None => return true,
        }
    }
    false
}

/// Whether a delimiter that is unmatched so far could still be matched.
fn may_still_match(text: &str, at: usize, mark: char) -> bool {
    let rest = &text[at..];
    let inside = rest.trim_start_matches(mark);
    match mark {
        '`' => true,
        '*' | '_' | '~' => {
            let run = rest.len() - inside.len();
            let in_a_word = mark == '_' && text[..at].chars().next_back().is_some_and(char::is_alphanumeric);
            let can_open = if mark == '~' { run == 2 } else { run <= 3 };
            inside.is_empty() || (can_open && !in_a_word && !inside.starts_with(' '))
        }
        '[' | '!' => match rest.split_once(']') {
            Some((_, after)) => after.is_empty() || (after.starts_with('(') && !after.contains(')')),
            None => mark == '[' || rest.starts_with("!["),
        },
        '<' => !rest.contains(['>', ' ']),
        _ => false,
    }
}

fn add(pieces: &mut Vec<Piece>, text: &str, look: Look) {
    match pieces.last_mut() {
        Some(last) if last.look == look => last.text.push_str(text),
        _ if text.is_empty() => {}
        _ => pieces.push(Piece { text: text.to_owned(), look }),
    }
}

fn inline(text: &str, look: Look, depth: usize, out: &mut Vec<Piece>) {
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let taken = match c {
            _ if depth >= MAX_DEPTH => None,
            '\\' => escaped(rest, look, out),
            '`' => code(rest, look, out),
            '*' | '_' | '~' => emphasis(text, at, c, look, depth, out),
            '!' if rest.starts_with("![") => link(&rest[1..], look, depth, out).map(|taken| taken + 1),
            '[' => link(rest, look, depth, out),
            '<' => address(rest, look, out),
            _ => None,
        };
        at += taken.unwrap_or_else(|| {
            // A run of unmatched delimiters is taken as one.
            let run = match c {
                '*' | '_' | '~' | '`' => rest.len() - rest.trim_start_matches(c).len(),
                _ => c.len_utf8(),
            };
            add(out, &rest[..run], look);
            run
        });
    }
}

fn escaped(rest: &str, look: Look, out: &mut Vec<Piece>) -> Option<usize> {
    let c = rest[1..].chars().next().filter(char::is_ascii_punctuation)?;
    add(out, &rest[1..=c.len_utf8()], look);
    Some(1 + c.len_utf8())
}

fn code(rest: &str, look: Look, out: &mut Vec<Piece>) -> Option<usize> {
    let (run, end) = code_span(rest)?;
    let inside = &rest[run..end - run];
    let trimmed = inside.strip_prefix(' ').and_then(|inside| inside.strip_suffix(' ')).filter(|t| !t.trim().is_empty());
    add(out, trimmed.unwrap_or(inside), Look { role: Some(Role::Primary), ..look });
    Some(end)
}

/// The length of the delimiter, and of the whole code span.
fn code_span(rest: &str) -> Option<(usize, usize)> {
    let run = rest.len() - rest.trim_start_matches('`').len();
    let mut at = run;
    while let Some(found) = rest[at..].find('`') {
        at += found;
        let length = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        if length == run {
            return Some((run, at + length));
        }
        at += length;
    }
    None
}

fn emphasis(text: &str, at: usize, mark: char, look: Look, depth: usize, out: &mut Vec<Piece>) -> Option<usize> {
    let rest = &text[at..];
    let run = rest.len() - rest.trim_start_matches(mark).len();
    let modifier = match (mark, run) {
        ('~', 2) => Modifier::DIM,
        ('~', _) => return None,
        (_, 1) => Modifier::ITALIC,
        (_, 2) => Modifier::BOLD,
        (_, 3) => Modifier::BOLD | Modifier::ITALIC,
        _ => return None,
    };
    let inside = &rest[run..];
    let before = text[..at].chars().next_back();
    // Underscores inside a word are no emphasis.
    if inside.starts_with([' ']) || inside.is_empty() || (mark == '_' && before.is_some_and(char::is_alphanumeric)) {
        return None;
    }
    let end = closing(inside, mark, run)?;
    inline(&inside[..end], look.with(modifier), depth + 1, out);
    Some(run + end + run)
}

/// The offset of the closing delimiter.
fn closing(inside: &str, mark: char, run: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(c) = inside[at..].chars().next() {
        let rest = &inside[at..];
        match c {
            '\\' => at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '`' => {
                at += code_span(rest).map_or_else(|| rest.len() - rest.trim_start_matches('`').len(), |(_, end)| end)
            }
            c if c == mark => {
                let length = rest.len() - rest.trim_start_matches(mark).len();
                let after = rest[length..].chars().next();
                let word_goes_on = mark == '_' && after.is_some_and(char::is_alphanumeric);
                if length == run && at > 0 && !inside[..at].ends_with(' ') && !word_goes_on {
                    return Some(at);
                }
                at += length;
            }
            c => at += c.len_utf8(),
        }
    }
    None
}

/// The target is always shown: a link text must not hide it.
fn link(rest: &str, look: Look, depth: usize, out: &mut Vec<Piece>) -> Option<usize> {
    let name_end = rest.find(']')?;
    let target = rest[name_end + 1..].strip_prefix('(')?;
    let target_end = target.find(')')?;
    let (name, target) = (&rest[1..name_end], &target[..target_end]);
    if name.is_empty() || name.contains('[') || target.is_empty() || target.contains(char::is_whitespace) {
        return None;
    }
    inline(name, look.with(Modifier::UNDERLINED), depth + 1, out);
    if name != target {
        add(out, &format!(" ({target})"), Look { role: Some(Role::Muted), ..look });
    }
    Some(name_end + 1 + 1 + target_end + 1)
}

fn address(rest: &str, look: Look, out: &mut Vec<Piece>) -> Option<usize> {
    let end = rest.find('>')?;
    let address = &rest[1..end];
    let is_one = ["http://", "https://", "mailto:"].iter().any(|scheme| address.starts_with(scheme));
    (is_one && !address.contains(char::is_whitespace)).then(|| {
        add(out, address, look.with(Modifier::UNDERLINED));
        end + 1
    })
}
