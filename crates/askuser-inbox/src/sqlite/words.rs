//! What SQLite cannot do itself: lower case beyond ASCII, and the words of a stored request.

use askuser::Request;
use askuser::store::words;
use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};

/// Adds `lower_case(text)` and `words_of(request)`. Both make NULL of what they cannot read.
pub(super) fn add_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    fn text<'a>(context: &'a Context<'_>) -> Option<&'a str> {
        context.get_raw(0).as_str().ok()
    }
    connection.create_scalar_function("lower_case", 1, flags, |context| Ok(text(context).map(str::to_lowercase)))?;
    connection.create_scalar_function("words_of", 1, flags, |context| {
        let request = text(context).and_then(|text| serde_json::from_str::<Request>(text).ok());
        Ok(request.as_ref().map(words))
    })
}
