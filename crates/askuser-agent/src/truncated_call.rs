//! A tool call that the output limit cut off: it does not run, and the model is told to do it in parts.

use crate::event::FailureKind;
use crate::message::Message;
use crate::tool::{Stop, ToolResult};

/// Begins the result of such a call.
const NOT_RUN: &str = "Not run: this call was cut off at the output limit";

/// A model that has not found a way around its limit by then will not find it.
const MAX_IN_A_ROW: usize = 3;

/// What the model reads of the call. `tokens` is how much it had written by then, if that is known.
pub(crate) fn result(tokens: u64) -> ToolResult {
    let limit = if tokens > 0 { format!(" of {tokens} tokens") } else { String::new() };
    let words = format!(
        "{NOT_RUN}{limit}. Do it in parts: to write a long file, first Write its beginning, then add to its end with Edit, \
         a part in each call."
    );
    ToolResult::without_end("not run: cut off at the output limit", words)
}

/// Gives up if the last calls were all cut off.
pub(crate) fn check_progress(messages: &[Message]) -> Result<(), Stop> {
    let is_cut = |message: &Message| match message {
        Message::Results { results } => results.iter().any(|result| result.output.starts_with(NOT_RUN)),
        Message::User { .. } | Message::Assistant { .. } => false,
    };
    let answered = messages.iter().rev().filter(|message| !matches!(message, Message::Assistant { .. }));
    let in_a_row = answered.take_while(|message| is_cut(message)).count();
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
