//! The emulated screen, and which option it shows as focused; works for any prompt that marks the focused row in front
//! of its label.

use std::num::NonZero;

pub const COLUMNS: NonZero<u16> = NonZero::new(80).unwrap();
pub const ROWS: NonZero<u16> = NonZero::new(24).unwrap();

/// The options in the order in which every program shows them.
pub const LABELS: [&str; 4] = ["PostgreSQL", "MongoDB", "SQLite", "Other"];

const MARKERS: [char; 3] = ['>', '❯', '›'];

/// Whether every option is there and the one at `index` is the focused one.
pub fn shows_focus(screen: &vt100::Screen, index: usize) -> bool {
    let rows: Vec<_> = screen.rows(0, COLUMNS.get()).collect();
    LABELS.iter().enumerate().all(|(i, label)| {
        let before_label = rows.iter().filter_map(|row| row.split_once(label)).map(|(before, _)| before);
        let mut option_rows = before_label.filter(|before| !before.contains(char::is_alphabetic));
        option_rows.next().is_some_and(|before| before.contains(MARKERS) == (i == index))
    })
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
    fn half_a_list_has_no_focus() {
        assert_eq!(focused("> PostgreSQL\n  MongoDB"), Vec::<usize>::new());
    }
}
