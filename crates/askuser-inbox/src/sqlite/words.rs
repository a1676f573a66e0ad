//! Lower case beyond ASCII, which SQLite lacks.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

/// Adds `lower_case(text)`, which makes NULL of what is no text.
pub(super) fn add_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("lower_case", 1, flags, |context| {
        Ok(context.get_raw(0).as_str().ok().map(str::to_lowercase))
    })
}
