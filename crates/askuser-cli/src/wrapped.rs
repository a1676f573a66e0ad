//! Wraps text at words for a terminal, which would break a line inside words.

use askuser_terminal::text::Line;
use askuser_terminal::{Theme, styled};
use std::borrow::Cow;
use std::io::IsTerminal;
use terminal_size::{Width, terminal_size_of};

#[cfg(unix)]
use std::os::fd::AsFd as Stream;
#[cfg(windows)]
use std::os::windows::io::AsHandle as Stream;

/// Returns the number of columns of a stream; `None` if it is no terminal.
pub(crate) fn columns(stream: impl Stream) -> Option<usize> {
    let size = terminal_size_of(stream).map(|(Width(columns), _)| usize::from(columns));
    size.filter(|columns| *columns > 0)
}

/// Formats lines for standard output. On a terminal they have colours.
pub(crate) fn for_stdout(lines: &[Line<'_>], theme: &Theme) -> String {
    if std::io::stdout().is_terminal() {
        return styled(lines, theme);
    }
    lines.iter().map(|line| format!("{}\n", line.to_string().trim_end())).collect()
}

/// Returns the text, wrapped at words if the stream is a terminal.
pub(crate) fn wrapped_for(stream: impl Stream, text: &str) -> Cow<'_, str> {
    columns(stream).map_or(Cow::Borrowed(text), |columns| Cow::Owned(wrapped(text, columns)))
}

/// Wraps each line at words. Indented lines stay indented, unless the indent leaves too little room.
fn wrapped(text: &str, columns: usize) -> String {
    let lines = text.split('\n').flat_map(|line| {
        let words = line.trim_start_matches(' ');
        let indent = Some(&line[..line.len() - words.len()]).filter(|indent| indent.len() <= columns / 2).unwrap_or("");
        let room = columns - indent.len();
        askuser_terminal::wrap(words, room, room)
            .into_iter()
            .map(move |range| format!("{indent}{}", &words[range]).trim_end().to_owned())
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_words_and_stay_indented() {
        let text = "User answered:\n\n   Note: only where nothing depends on it\nhttp://a.example/longer-than-it";
        let expected =
            "User answered:\n\n   Note: only where\n   nothing depends\n   on it\nhttp://a.example/\nlonger-than-it";
        assert_eq!(wrapped(text, 20), expected);
        assert_eq!(wrapped("          far in", 6), "far in");
    }
}
