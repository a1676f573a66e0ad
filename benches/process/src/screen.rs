//! The emulated screen, and which option it shows as focused; works for any prompt that marks the focused row in front
//! of its label, or else by colours that no other option has.

use std::num::NonZero;

pub const COLUMNS: NonZero<u16> = NonZero::new(80).unwrap();
pub const ROWS: NonZero<u16> = NonZero::new(24).unwrap();

/// The options in the order in which every program shows them.
pub const LABELS: [&str; 4] = ["PostgreSQL", "MongoDB", "SQLite", "Other"];

const MARKERS: [char; 3] = ['>', '❯', '›'];

/// Whether every option is there and the one at `index` is the focused one.
pub fn shows_focus(screen: &vt100::Screen, index: usize) -> bool {
    let rows: Vec<_> = screen.rows(0, COLUMNS.get()).collect();
    // What stands before each label, and the colours of its first cell.
    let found = LABELS.iter().map(|label| {
        let before_label = (0..).zip(&rows).filter_map(|(y, row)| Some((y, row.split_once(label)?.0)));
        let (y, before) = before_label.clone().find(|(_, before)| !before.contains(char::is_alphabetic))?;
        let cell = screen.cell(y, before.chars().count().try_into().ok()?)?;
        Some((before.contains(MARKERS), (cell.fgcolor(), cell.bgcolor(), cell.inverse())))
    });
    let Some(options) = found.collect::<Option<Vec<_>>>() else { return false };
    let is_marked = options.iter().any(|(is_marked, _)| *is_marked);
    options.iter().enumerate().all(|(i, (has_marker, colours))| {
        let stands_out = options.iter().filter(|(_, other)| other == colours).count() == 1;
        (i == index) == if is_marked { *has_marker } else { stands_out }
    })
}

/// Whether the live list shows its cursor in this row.
pub fn shows_row(screen: &vt100::Screen, row: usize) -> bool {
    let cursor = format!("{} > ", row + 1);
    screen.rows(0, COLUMNS.get()).any(|line| line.starts_with(&cursor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn focused(rows: &str) -> Vec<usize> {
        let mut parser = vt100::Parser::new(ROWS, COLUMNS, 0);
        parser.process(rows.replace('\n', "\r\n").as_bytes());
        (0..LABELS.len()).filter(|&index| shows_focus(parser.screen(), index)).collect()
    }

    #[test]
    fn the_marked_row_is_focused() {
        assert_eq!(focused("? Which one? ›\n  PostgreSQL\n❯ MongoDB\n  SQLite\n  Other"), [1]);
    }

    #[test]
    fn borders_and_bullets_may_stand_before_the_label() {
        let rows = "│   ○ PostgreSQL\n│     faster than SQLite\n│   ○ MongoDB\n│ > ○ SQLite\n│   ○ Other / Type…";
        assert_eq!(focused(rows), [2]);
    }

    #[test]
    fn without_a_marker_the_row_of_another_colour_is_focused() {
        assert_eq!(focused("│ PostgreSQL │\n│ MongoDB │\n│ \x1b[37;41mSQLite\x1b[m │\n│ Other │"), [2]);
        assert_eq!(focused("PostgreSQL\nMongoDB\nSQLite\nOther"), Vec::<usize>::new());
    }

    #[test]
    fn half_a_list_has_no_focus() {
        assert_eq!(focused("> PostgreSQL\n  MongoDB"), Vec::<usize>::new());
    }
}
