//! Markdown and diffs, parsed once into rows that every surface draws.
//!
//! Headings, lists, quotes, tables, fences, bold, italics and inline code are parsed. Code has colours. HTML, entities
//! and the targets of links stay as written. `_` has no effect, and a line end stays a line end. A text therefore
//! cannot hide a part of itself. The crate fetches and executes no content. All text goes through
//! [`askuser::sanitize`].
//!
//! ```
//! let rows = askuser_markdown::rows("Use **bold** and\n- a list");
//! let text: Vec<String> = rows.iter().map(|row| row.text()).collect();
//! assert_eq!(text, ["Use bold and", "a list"]);
//! ```

mod blocks;
mod bold_and_code;
mod file_change;
mod highlight;
mod inline;
mod numbered;
mod row;
mod stream;

pub use bold_and_code::inline;
pub use file_change::{MAX_DIFF, file_change, tool_use};
pub use numbered::{NumberedLine, numbered};
pub use row::{Align, Cell, DiffLine, Kind, Look, Marker, Piece, Row, Table, Token, has_blocks, rows};
pub use stream::Stream;
