//! The help page and the footer's key hints, both generated from the keymap.

use super::{Composer, INDENT, LEGIBLE};
use crate::view::theme::{Role, Theme};
use crate::view::wrap::{width, wrap};
use askuser::Prompt;
use ratatui_core::text::{Line, Span};
use std::borrow::Cow;

/// The footer while there is more to read before the focused row can be chosen.
pub(crate) fn read_on(key: &str, prompt: &Prompt, theme: &Theme, columns: usize) -> Line<'static> {
    let bullet = theme.signs.bullet;
    let mut words = format!("{key} read on");
    for (key, does) in prompt.hints().filter(|(key, _)| ["esc", "?"].contains(&&**key)) {
        let more = format!("  {bullet}  {key} {does}");
        if INDENT + width(&words) + width(&more) <= columns {
            words.push_str(&more);
        }
    }
    Line::from(vec![Span::raw("  "), Span::styled(words, theme.style(Role::Muted))])
}

/// What the terminal's loop does by itself, without the prompt.
const OF_THE_TERMINAL: (&str, &str) = ("Ctrl-Z  Ctrl-L", "suspend; redraw");

impl<'a> Composer<'a, '_> {
    pub(super) fn help(&mut self) {
        self.gap();
        let keys = self.prompt.help().chain([OF_THE_TERMINAL]);
        let keys: Vec<_> = keys.map(|(spelled, does)| (self.spell(spelled), does)).collect();
        let longest = keys.iter().map(|(spelled, _)| width(spelled)).max().unwrap_or(0) + 2;
        // Keys that leave too little room for the text get a line of their own.
        let fits = |column: &usize| column + 2 * LEGIBLE <= self.room(INDENT);
        let column = [longest, "PgUp PgDn  ".len()].into_iter().find(fits).unwrap_or(4);
        for (spelled, does) in keys {
            let style = self.style(Role::Primary);
            let mut beside = None;
            if width(&spelled) + 2 <= column {
                beside = Some(Span::styled(format!("{spelled}{:1$}", "", column - width(&spelled)), style));
            } else {
                for range in wrap(&spelled, self.room(INDENT), self.room(INDENT)) {
                    self.row(INDENT, vec![Span::styled(spelled[range].to_owned(), style)]);
                }
            }
            let room = self.room(INDENT + column);
            for range in wrap(does, room, room) {
                let words = Span::styled(&does[range], self.style(Role::Secondary));
                match beside.take() {
                    Some(keys) => self.row(INDENT, vec![keys, words]),
                    None => self.row(INDENT + column, vec![words]),
                }
            }
        }
    }

    /// Key names in characters that this terminal can show.
    fn spell(&self, keys: &str) -> String {
        if self.theme.signs.up == "↑" {
            return keys.to_owned();
        }
        let arrows = [("↑ ↓", "Up Down"), ("← →", "Left Right"), ("↑↓", "up/down"), ("←→", "left/right"), ("–", "-")];
        arrows.iter().fold(keys.to_owned(), |keys, (arrow, word)| keys.replace(arrow, word))
    }

    /// `↑↓ navigate  •  enter select  •  esc cancel`, as many as fit.
    pub(super) fn hints(&self) -> Line<'a> {
        /// Hints to keep when room is short, the most important one last: by their key, digits by what they do.
        const ESSENTIAL: [&str; 7] = ["alt-enter", "↑↓", "space", "esc", "?", "choose", "enter"];
        let rank = |(key, word): &(Cow<'_, str>, &str)| ESSENTIAL.iter().position(|name| [&**key, word].contains(name));
        let mut hints: Vec<_> = self.prompt.hints().collect();
        loop {
            let words: Vec<String> = hints.iter().map(|(key, word)| format!("{} {word}", self.spell(key))).collect();
            // Before a hint goes, the gaps get narrow.
            let lines = ["  ", " "].iter().map(|gap| words.join(&format!("{gap}{}{gap}", self.theme.signs.bullet)));
            let fitting = lines.into_iter().find(|line| width(line) + INDENT <= self.columns);
            match (fitting, (0..hints.len()).rev().min_by_key(|&i| rank(&hints[i]))) {
                (None, Some(least)) => _ = hints.remove(least),
                (line, _) => {
                    let line = Span::styled(line.unwrap_or_default(), self.style(Role::Muted));
                    return Line::from(vec![Span::raw("  "), line]);
                }
            }
        }
    }
}
