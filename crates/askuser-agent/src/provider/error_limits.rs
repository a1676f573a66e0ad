//! Reads limits from error messages, because providers state them only as text.

pub(super) fn context_window(message: &str) -> Option<u64> {
    let message = message.to_lowercase();
    let too_long = ["prompt is too long", "exceed context limit"];
    if let Some(rest) = too_long.iter().find_map(|phrase| after(&message, phrase)) {
        return first_number(after(rest, ">")?);
    }
    let phrases = ["maximum context length is", "maximum number of tokens allowed", "available context size"];
    first_number(phrases.iter().find_map(|phrase| after(&message, phrase))?)
}

/// Returns the maximum number of tokens of a response, if the error says that the request asked for more.
pub(super) fn max_tokens(message: &str) -> Option<u32> {
    let message = message.to_lowercase();
    let limit = if message.contains("maximum allowed number of output tokens") {
        first_number(after(&message, ">")?)?
    } else {
        // OpenAI writes "max_tokens is too large: 99999. This model supports at most 16384 completion tokens".
        first_number(after(after(&message, "tokens is too large")?, "at most")?)?
    };
    u32::try_from(limit).ok().filter(|limit| *limit > 0)
}

/// Returns the number of tokens that the conversation leaves for a response, if the error says that the request asked
/// for more.
pub(super) fn remaining_tokens(message: &str) -> Option<u32> {
    let message = message.to_lowercase();
    // Anthropic writes "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000".
    let rest = after(&message, "exceed context limit")?;
    let input = first_number(rest)?;
    let window = first_number(after(rest, ">")?)?;
    u32::try_from(window.checked_sub(input)?).ok()
}

fn after<'a>(text: &'a str, phrase: &str) -> Option<&'a str> {
    text.split_once(phrase).map(|(_, rest)| rest)
}

/// Returns the first number in a text. Commas may separate thousands.
fn first_number(text: &str) -> Option<u64> {
    let text = &text[text.find(|c: char| c.is_ascii_digit())?..];
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(text.len());
    text[..end].replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_context_window_is_read_from_every_providers_words() {
        for (message, window) in [
            ("prompt is too long: 208310 tokens > 200000 maximum", Some(200_000)),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
                Some(200_000),
            ),
            ("This model's maximum context length is 128,000 tokens. However, you requested 150000", Some(128_000)),
            ("This endpoint's maximum context length is 131072 tokens.", Some(131_072)),
            (
                "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_048_576),
            ),
            ("the request exceeds the available context size (8192 tokens), try increasing it", Some(8192)),
            ("Your input exceeds the context window of this model.", None),
            ("prompt is too long", None),
            ("Rate limit: 30000 tokens per minute", None),
        ] {
            assert_eq!(context_window(message), window, "{message}");
        }
    }

    #[test]
    fn the_output_limit_is_read_from_the_error() {
        for (message, limit) in [
            (
                "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-x",
                Some(64_000),
            ),
            (
                "max_tokens is too large: 99999. This model supports at most 16384 completion tokens, whereas you provided 99999.",
                Some(16_384),
            ),
            ("max_tokens: must be greater than 0", None),
            ("prompt is too long: 208310 tokens > 200000 maximum", None),
        ] {
            assert_eq!(max_tokens(message), limit, "{message}");
        }
    }

    #[test]
    fn what_the_conversation_leaves_is_the_window_less_the_input() {
        let message = "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease it";
        assert_eq!(remaining_tokens(message), Some(11_760));
        assert_eq!(remaining_tokens("input length and `max_tokens` exceed context limit: 210000 + 1 > 200000"), None);
        assert_eq!(remaining_tokens("prompt is too long: 208310 tokens > 200000 maximum"), None);
    }
}
