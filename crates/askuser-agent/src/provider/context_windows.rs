//! The context windows of OpenAI's models. OpenAI's list of models does not state them, unlike those of other
//! providers. The error of a too long conversation corrects this table.

/// Returns the maximum number of tokens of a conversation with this model; `None` if it is unknown.
pub(super) fn context_window(provider: &str, model: &str) -> Option<u64> {
    let is_openai = matches!(provider, "openai" | "openai-chat");
    let found = || OPENAI.iter().find(|(prefix, _)| model.starts_with(prefix));
    is_openai.then(found).flatten().map(|(_, window)| *window)
}

/// The windows by prefix of the model's name. The first match counts. If the model reserves room for the response, the
/// window excludes that room.
const OPENAI: &[(&str, u64)] = &[
    ("gpt-3.5", 16_385),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4.", 128_000),
    ("gpt-4", 8_192),
    ("gpt-5-chat", 128_000),
    // Later generations accept at least this many tokens.
    ("gpt-", 272_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_of_models_has_one_context_window() {
        for (provider, model, window) in [
            ("openai", "gpt-5.2", Some(272_000)),
            ("openai", "gpt-6", Some(272_000)),
            ("openai", "gpt-6.1-mini-2027-01-01", Some(272_000)),
            ("openai", "gpt-4", Some(8_192)),
            ("openai-chat", "gpt-4.1-mini", Some(1_047_576)),
            ("openai", "something-new", None),
            ("ollama", "gpt-5", None),
        ] {
            assert_eq!(context_window(provider, model), window, "{provider}/{model}");
        }
    }
}
