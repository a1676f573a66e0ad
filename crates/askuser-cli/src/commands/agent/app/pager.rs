//! Reading an output in full, on a page over the whole screen. The agent keeps working; questions wait until the page is
//! closed, and it says so. No IO: the driver gives it the size before each key and each frame.

use super::outputs::{OutputId, Outputs};
use askuser::prompt::{Action, KeyContext, action};
use askuser::{Edit, Key, KeyCode, Text};
use askuser_terminal::{Role, wrap};
use std::ops::Range;

const MAX_PATTERN: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Pager {
    pub(crate) shown: OutputId,
    /// The lines of the output, safe to show, and the role of each.
    lines: Vec<(Role, String)>,
    rows: Vec<PageRow>,
    /// What the rows were made from: the output, how much of it there was, and the width.
    made_from: Option<(OutputId, usize, usize)>,
    height: usize,
    top: usize,
    pub(crate) search: Search,
    /// Where what is searched for stands: the line, and the bytes of it.
    found: Vec<(usize, Range<usize>)>,
}

/// A row: a part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PageRow {
    line: usize,
    range: Range<usize>,
}

#[derive(Clone, Debug, Default)]
pub(crate) enum Search {
    #[default]
    None,
    Typing(Text),
    For(String),
    NotFound(String),
}

/// A visible row: its text, and where what is searched for stands in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct VisibleRow<'a> {
    pub(crate) role: Role,
    pub(crate) text: &'a str,
    pub(crate) found: Vec<Range<usize>>,
}

impl Pager {
    /// Opens an output at its end, where the newest is.
    pub(crate) fn open(shown: OutputId) -> Pager {
        Pager { shown, top: usize::MAX, height: 1, ..Pager::default() }
    }

    pub(crate) fn at_top(self) -> Pager {
        Pager { top: 0, ..self }
    }

    /// Lays the output out for so many columns and rows of text. Who has seen its end goes on seeing it while it grows.
    pub(crate) fn fit(&mut self, outputs: &Outputs, columns: usize, height: usize) {
        let is_new = self.made_from.is_none();
        let at_end = self.top >= if is_new { usize::MAX } else { self.last_top() };
        self.height = height.max(1);
        if let Some(output) = outputs.get(self.shown) {
            let made_from = Some((self.shown, output.written(), columns));
            if self.made_from != made_from {
                self.made_from = made_from;
                self.lines = output.lines();
                self.rows = rows(&self.lines, columns);
                self.look_for();
            }
        }
        self.top = if at_end { self.last_top() } else { self.top.min(self.last_top()) };
    }

    fn last_top(&self) -> usize {
        self.rows.len().saturating_sub(self.height)
    }

    /// How far the visible part reaches, in percent.
    pub(crate) fn percent(&self) -> usize {
        ((self.top + self.height).min(self.rows.len()) * 100).checked_div(self.rows.len()).unwrap_or(100)
    }

    pub(crate) fn visible(&self) -> impl Iterator<Item = VisibleRow<'_>> {
        self.rows.iter().skip(self.top).take(self.height).map(|row| {
            let from = self.found.partition_point(|(line, found)| (*line, found.end) <= (row.line, row.range.start));
            let inside = |(_, found): &(usize, Range<usize>)| {
                let (start, end) = (found.start.max(row.range.start), found.end.min(row.range.end));
                start - row.range.start..end - row.range.start
            };
            let here = |(line, found): &&(usize, Range<usize>)| *line == row.line && found.start < row.range.end;
            let found = self.found[from..].iter().take_while(here).map(inside).collect();
            let (role, text) = &self.lines[row.line];
            VisibleRow { role: *role, text: &text[row.range.clone()], found }
        })
    }

    /// Finds all places of what is searched for.
    fn look_for(&mut self) {
        self.found = match &self.search {
            Search::For(pattern) | Search::NotFound(pattern) => {
                let of_line = |(line, (_, text)): (usize, &(Role, String))| {
                    matches(text, pattern).into_iter().map(move |found| (line, found)).collect::<Vec<_>>()
                };
                self.lines.iter().enumerate().flat_map(of_line).collect()
            }
            Search::None | Search::Typing(_) => Vec::new(),
        };
    }

    // ---- keys ----

    /// Does what a key asks for; whether the page stays open.
    pub(crate) fn key(&mut self, key: Key, outputs: &Outputs) -> bool {
        if self.is_typing() {
            self.search_key(key);
            return true;
        }
        let page = self.height.saturating_sub(1).max(1);
        let plain = !key.mods.ctrl && !key.mods.alt;
        match key.code {
            _ if key == Key::ctrl('c') || key == Key::ctrl('o') => return false,
            KeyCode::Esc => return false,
            KeyCode::Char('q') if plain => return false,
            KeyCode::Up => self.up(1),
            KeyCode::Down | KeyCode::Enter => self.down(1),
            KeyCode::PageUp => self.up(page),
            KeyCode::PageDown => self.down(page),
            KeyCode::Home => self.top = 0,
            KeyCode::End => self.top = self.last_top(),
            KeyCode::Left => self.show(outputs.before(self.shown)),
            KeyCode::Right => self.show(outputs.after(self.shown)),
            KeyCode::Char(c) if plain => match c {
                'k' => self.up(1),
                'j' => self.down(1),
                'b' => self.up(page),
                ' ' | 'f' => self.down(page),
                'g' => self.top = 0,
                'G' => self.top = self.last_top(),
                '/' => self.search = Search::Typing(Text::new(MAX_PATTERN)),
                'n' => self.find_from(self.top + 1, Direction::Down),
                'N' => self.find_from(self.top, Direction::Up),
                _ => {}
            },
            _ => {}
        }
        true
    }

    pub(crate) fn is_typing(&self) -> bool {
        matches!(self.search, Search::Typing(_))
    }

    /// Pasted text is searched for, where a text is being typed.
    pub(crate) fn paste(&mut self, text: String) {
        if let Search::Typing(field) = &mut self.search {
            let _ = field.apply(Edit::Paste(text.lines().next().unwrap_or_default().to_owned()));
        }
    }

    fn search_key(&mut self, key: Key) {
        let Search::Typing(text) = &mut self.search else { return };
        match key {
            Key { code: KeyCode::Enter, .. } => {
                let pattern = text.as_str().to_owned();
                self.search = if pattern.is_empty() { Search::None } else { Search::For(pattern) };
                self.look_for();
                // What is on the screen counts too.
                self.find_from(self.top, Direction::Down);
            }
            Key { code: KeyCode::Esc, .. } => self.search = Search::None,
            _ if key == Key::ctrl('c') => self.search = Search::None,
            Key { code: KeyCode::Backspace, .. } if text.is_empty() => self.search = Search::None,
            _ => {
                if let Some(Action::Edit(edit)) = action(key, KeyContext::Typing)
                    && edit != Edit::Newline
                {
                    let _ = text.apply(edit);
                }
            }
        }
    }

    fn up(&mut self, rows: usize) {
        self.top = self.top.saturating_sub(rows);
    }

    fn down(&mut self, rows: usize) {
        self.top = (self.top + rows).min(self.last_top());
    }

    fn show(&mut self, other: Option<OutputId>) {
        if let Some(other) = other {
            *self = Pager { search: self.search.clone(), height: self.height, ..Pager::open(other) };
        }
    }

    /// Goes to the next row with the text that is searched for, and on from the other end.
    fn find_from(&mut self, from: usize, direction: Direction) {
        let (Search::For(pattern) | Search::NotFound(pattern)) = &self.search else { return };
        let pattern = pattern.clone();
        let row = |(line, found): &(usize, Range<usize>)| {
            let begin = (*line, found.start);
            self.rows.partition_point(|row| (row.line, row.range.start) <= begin) - 1
        };
        let rows: Vec<usize> = self.found.iter().map(row).collect();
        let next = match direction {
            Direction::Down => rows.iter().find(|row| **row >= from).or(rows.first()),
            Direction::Up => rows.iter().rev().find(|row| **row < from).or(rows.last()),
        };
        self.search = match next {
            Some(row) => {
                self.top = (*row).min(self.last_top());
                Search::For(pattern)
            }
            None => Search::NotFound(pattern),
        };
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

fn rows(lines: &[(Role, String)], columns: usize) -> Vec<PageRow> {
    let of_line = |(line, (_, text)): (usize, &(Role, String))| {
        wrap(text, columns, columns).into_iter().map(move |range| PageRow { line, range }).collect::<Vec<_>>()
    };
    lines.iter().enumerate().flat_map(of_line).collect()
}

/// Where a text stands in a line. Small letters stand for both; a capital only for itself.
fn matches(line: &str, pattern: &str) -> Vec<Range<usize>> {
    if pattern.is_empty() {
        return Vec::new();
    }
    let exact = pattern.chars().any(char::is_uppercase);
    let same = |a: char, b: char| a == b || (!exact && a.to_lowercase().eq(b.to_lowercase()));
    let mut found: Vec<Range<usize>> = Vec::new();
    for (start, _) in line.char_indices() {
        if found.last().is_some_and(|last| start < last.end) {
            continue;
        }
        let mut rest = line[start..].char_indices();
        let mut end = start;
        let all = pattern.chars().all(|wanted| match rest.next() {
            Some((at, c)) if same(c, wanted) => {
                end = start + at + c.len_utf8();
                true
            }
            _ => false,
        });
        if all {
            found.push(start..end);
        }
    }
    found
}

#[cfg(test)]
#[path = "pager_tests.rs"]
mod tests;
