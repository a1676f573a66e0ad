//! The texts beside a question: the model's words before it asked, and the input of a tool as JSON.
//!
//! The first rows of the model's words stand above the question. A key shows either text completely, in place of the
//! context.

use super::quoted;
use super::theme::{Role, Theme};
use super::wrap::{Start, wrap};
use crate::markdown;
use askuser::prompt::SideText;
use askuser::{sanitize, verbatim};
use ratatui_core::text::{Line, Span};

/// The words before the model's text.
const SAID: &str = "The agent said: ";

/// Returns at most `most` rows from the beginning of the model's words, and whether these are all.
pub fn first_rows(why: &str, theme: &Theme, columns: usize, most: usize) -> (Vec<Line<'static>>, bool) {
    let text = format!("{SAID}{}", markdown::unstyled(&sanitize::line(why)));
    let bar = quoted::bar(theme);
    let room = columns.saturating_sub(bar.width());
    let rows = wrap(&text, room, room);
    let is_whole = rows.len() <= most;
    let line = |(i, range): (usize, std::ops::Range<usize>)| {
        let mut words = text[range].trim_end().to_owned();
        if i + 1 == most && !is_whole {
            let fits = wrap(&words, room.saturating_sub(2), room).into_iter().next().map_or(0, |first| first.end);
            words = format!("{} {}", words[..fits].trim_end(), theme.signs.ellipsis);
        }
        let (mark, said) = if i == 0 { words.split_at(SAID.len().min(words.len())) } else { ("", &*words) };
        let mark = Span::styled(mark.to_owned(), theme.style(Role::Muted));
        Line::from(vec![bar.clone(), mark, Span::styled(said.to_owned(), theme.style(Role::Secondary))])
    };
    (rows.into_iter().take(most).enumerate().map(line).collect(), is_whole)
}

/// Returns the rows of a whole text below its title.
pub fn side_text_lines(kind: SideText, text: &str, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let style = theme.style(Role::Secondary);
    let (name, rows) = match kind {
        SideText::Why => {
            let rows = markdown::rows(&sanitize::block(text));
            ("The agent said before it asked:", quoted::prose(&rows, theme, columns, style))
        }
        SideText::Input => {
            let text = verbatim::shown(text, theme.charset);
            ("The input as JSON:", quoted::exactly(&text, &[], theme, columns, |_, _: Start| theme.style(Role::Text)))
        }
    };
    [Line::styled(name, theme.style(Role::Muted))].into_iter().chain(rows).collect()
}
