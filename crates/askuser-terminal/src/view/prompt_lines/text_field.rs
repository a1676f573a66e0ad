//! Text fields: the typed text, wrapped, with the caret.

use super::{Composer, LEGIBLE};
use crate::view::theme::Role;
use crate::view::wrap::{width, wrap};
use askuser::Text;
use ratatui_core::text::Span;

impl Composer<'_, '_> {
    pub(super) fn closing_field(&mut self, title: &'static str, name: &'static str) {
        self.gap();
        self.paragraph(self.indent(), title, self.theme.strong(Role::Text));
        if let Some(text) = self.prompt.text() {
            self.field(self.indent(), name, text, true);
        }
    }

    /// Adds a field such as `Please specify: bun`, with the caret after the text.
    pub(super) fn field(&mut self, indent: usize, name: &'static str, text: &Text, typing: bool) {
        let whole = text.as_str();
        let (name_role, text_role) = if typing { (Role::Primary, Role::Text) } else { (Role::Detail, Role::Secondary) };
        let mut name = name;
        if self.room(indent + width(name) + 1) < LEGIBLE {
            self.paragraph(indent, name.trim_end(), self.style(name_role));
            name = "";
        }
        // After a mark such as "> ", continuations are indented to the text. After words, that would leave too little
        // room.
        let further = if width(name) <= "> ".len() { indent + width(name) } else { indent };
        // The last column is reserved for the caret.
        let lines = wrap(whole, self.room(indent + width(name) + 1), self.room(further + 1));
        let caret = text.caret();
        let caret_line = lines.iter().rposition(|range| range.start <= caret).unwrap_or(0);
        for (i, range) in lines.into_iter().enumerate() {
            let mut spans = Vec::new();
            let (start, column) = if i == 0 { (indent, indent + width(name)) } else { (further, further) };
            if i == 0 {
                spans.push(Span::styled(name, self.style(name_role)));
            }
            if typing && i == caret_line {
                let limit = indent + self.room(indent);
                let before = &whole[range.start..caret.min(range.end)];
                self.lines.caret = Some((self.lines.height(), (column + width(before) + 1).min(limit)));
            }
            // The terminal's own cursor is the caret. A drawn cell would be inverted twice, and become invisible.
            spans.push(Span::styled(whole[range].to_owned(), self.style(text_role)));
            self.row(start, spans);
        }
    }
}
