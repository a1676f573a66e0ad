//! The help page and the footer's key hints. Both are generated from the keymap.

use super::{Composer, LEGIBLE, MARGIN};
use crate::view::theme::{PromptStyle, Role, Theme};
use crate::view::wrap::{width, wrap};
use askuser::Prompt;
use askuser::prompt::InputMode;
use ratatui_core::text::{Line, Span};
use std::borrow::Cow;

/// Returns the keys for the current state. `read_on` is the key that shows more of the text to read before a choice.
pub(in crate::view) fn footer_hints(read_on: Option<&'static str>, prompt: &Prompt, is_why_whole: bool) -> Vec<Hint> {
    match (read_on, prompt.mode()) {
        (Some(key), _) => {
            let others = hints(prompt, is_why_whole).filter(|(key, _)| BESIDE_READ_ON.contains(&&**key));
            [(key.into(), "read on")].into_iter().chain(others).collect()
        }
        (None, InputMode::Leaving) => vec![("esc".into(), "discard"), ("any key".into(), "keep")],
        (None, InputMode::Help) => vec![("any key".into(), "close")],
        (None, InputMode::Choosing | InputMode::Typing(_)) => hints(prompt, is_why_whole).collect(),
    }
}

/// Formats as many of these hints as fit.
pub(in crate::view) fn footer(
    read_on: Option<&'static str>,
    hints: Vec<Hint>,
    theme: &Theme,
    columns: usize,
) -> Line<'static> {
    /// The hints to keep when room is short, the most important last. Digit keys are named by the word of their hint.
    #[rustfmt::skip]
    const ESSENTIAL: [&str; 17] = [
        "ctrl-j", "↑↓", "choose", "c", "v", "o", "d", "esc", "toggle", "?", "n", "change", "move", "answer", "enter", "keep it",
        "use mine",
    ];
    let essential = if read_on.is_some() { &BESIDE_READ_ON[..] } else { &ESSENTIAL };
    key_hints(hints, theme, columns, |(key, word)| match read_on {
        Some(read_on) if read_on == key => Some(essential.len()),
        _ => essential.iter().position(|name| name == key || (read_on.is_none() && name == word)),
    })
}

/// The hints that stay beside the key to read on, the most important last.
const BESIDE_READ_ON: [&str; 5] = ["?", "d", "v", "o", "esc"];

/// Returns the keys for the current state. The key for the model's reason is left out if the whole reason is visible.
fn hints(prompt: &Prompt, is_why_whole: bool) -> impl Iterator<Item = Hint> {
    prompt.hints().filter(move |(key, _)| key != "o" || !is_why_whole)
}

/// A key, and the word for its effect.
pub(in crate::view) type Hint = (Cow<'static, str>, &'static str);

/// Formats the keys at the foot of a prompt or a list, such as `enter select • esc cancel`. If not all keys fit, those
/// of the lowest `rank` are left out first.
pub fn key_hints<K: Ord>(
    mut hints: Vec<Hint>,
    theme: &Theme,
    columns: usize,
    rank: impl Fn(&Hint) -> K,
) -> Line<'static> {
    let is_compact = theme.prompt_style == PromptStyle::Compact;
    let gap = format!(" {} ", if is_compact { theme.signs.dot } else { theme.signs.bullet });
    hints.iter_mut().for_each(|(key, _)| *key = spell(std::mem::take(key), theme));
    let gap_columns = width(&gap);
    let wide = |(key, word): &Hint| width(key) + 1 + width(word) + gap_columns;
    let room = columns.saturating_add(gap_columns).saturating_sub(MARGIN.len());
    let mut taken = hints.iter().map(wide).sum::<usize>();
    let mut ranks: Vec<K> = if taken > room { hints.iter().map(rank).collect() } else { Vec::new() };
    while taken > room
        && let Some(least) = (0..hints.len()).rev().min_by_key(|i| &ranks[*i])
    {
        taken -= wide(&hints.remove(least));
        ranks.remove(least);
    }
    let detail = theme.style(Role::Detail);
    let bright = theme.key();
    let mut spans = Vec::with_capacity(1 + 3 * hints.len());
    spans.push(Span::raw(MARGIN));
    for (i, (key, word)) in hints.into_iter().enumerate() {
        spans.push(Span::styled(if i == 0 { String::new() } else { gap.clone() }, detail));
        spans.push(Span::styled(key, bright));
        spans.push(Span::styled([" ", word].concat(), detail));
    }
    Line::from(spans)
}

/// Returns key names in characters that this terminal can show.
fn spell<'a>(keys: Cow<'a, str>, theme: &Theme) -> Cow<'a, str> {
    if theme.signs.up == "↑" {
        return keys;
    }
    let arrows = [("↑ ↓", "Up Down"), ("← →", "Left Right"), ("↑↓", "up/down"), ("←→", "left/right"), ("–", "-")];
    arrows.iter().fold(keys, |keys, (arrow, word)| keys.replace(arrow, word).into())
}

/// The keys that the terminal's loop handles without the prompt.
const OF_THE_TERMINAL: (&str, &str) = ("Ctrl-Z  Ctrl-L", "suspend; redraw");

impl Composer<'_, '_> {
    pub(super) fn help(&mut self) {
        self.gap();
        let keys = self.prompt.help().chain([OF_THE_TERMINAL]);
        let keys: Vec<_> = keys.map(|(spelled, does)| (spell(spelled.into(), self.theme), does)).collect();
        let longest = keys.iter().map(|(spelled, _)| width(spelled)).max().unwrap_or(0) + 2;
        // If keys leave too little room for the text, they get a separate line.
        let fits = |column: &usize| column + 2 * LEGIBLE <= self.room(self.indent());
        let column = [longest, "PgUp PgDn  ".len()].into_iter().find(fits).unwrap_or(4);
        for (spelled, does) in keys {
            let style = self.style(Role::Primary);
            let mut beside = None;
            if width(&spelled) + 2 <= column {
                beside = Some(Span::styled(format!("{spelled}{:1$}", "", column - width(&spelled)), style));
            } else {
                for range in wrap(&spelled, self.room(self.indent()), self.room(self.indent())) {
                    self.row(self.indent(), vec![Span::styled(spelled[range].to_owned(), style)]);
                }
            }
            let room = self.room(self.indent() + column);
            for range in wrap(does, room, room) {
                let words = Span::styled(does[range].to_owned(), self.style(Role::Secondary));
                match beside.take() {
                    Some(keys) => self.row(self.indent(), vec![keys, words]),
                    None => self.row(self.indent() + column, vec![words]),
                }
            }
        }
    }
}
