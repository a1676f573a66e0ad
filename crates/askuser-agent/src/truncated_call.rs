//! Results for tool calls that are incomplete because of the output limit. Such a call does not run. The result asks
//! the model to split it.

use crate::event::FailureKind;
use crate::tool::{Stop, ToolResult};

/// The number of consecutive truncated calls after which the turn fails. A further call would not succeed either.
const MAX_IN_A_ROW: usize = 3;

/// Returns the result of a truncated call. `tokens` is the size of the response, or 0 if it is unknown.
pub(crate) fn result(tokens: u64) -> ToolResult {
    let limit = if tokens > 0 { format!(" of {tokens} tokens") } else { String::new() };
    let words = format!(
        "Not run: this call was cut off at the output limit{limit}. Do it in parts: to write a long file, first Write its \
         beginning, then add to its end with Edit, a part in each call."
    );
    ToolResult::without_end("not run: cut off at the output limit", words)
}

/// Fails if the last calls were all truncated. `in_a_row` is their number.
pub(crate) fn check_progress(in_a_row: usize) -> Result<(), Stop> {
    if in_a_row < MAX_IN_A_ROW {
        return Ok(());
    }
    let message = format!(
        "the model's calls were cut off at the output limit {in_a_row} times in a row; none of them was run: raise \
         max_tokens, or ask for less at a time"
    );
    Err(Stop::failed(FailureKind::Rejected, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_told_where_it_is_known() {
        let begins =
            |tokens, begin: &str| assert!(result(tokens).output.starts_with(begin), "{}", result(tokens).output);
        begins(1, "Not run: this call was cut off at the output limit of 1 tokens. Do it in parts");
        begins(0, "Not run: this call was cut off at the output limit. Do it in parts");
    }
}
