//! How many tokens a conversation may have with the models that are known by name. The error of a conversation that is too
//! long says it for all others, and corrects this table.

use super::anthropic_models;

/// How many tokens a conversation with this model may have.
pub(super) fn context_window(provider: &str, model: &str) -> Option<u64> {
    match provider {
        "anthropic" => anthropic_models::context_window(model),
        "openai" | "openai-chat" => first_match(OPENAI, model),
        "gemini" => first_match(GEMINI, model.rsplit('/').next().unwrap_or(model)),
        "openrouter" => match model.split_once('/')? {
            ("anthropic", model) => anthropic_models::context_window(model),
            ("openai", model) => first_match(OPENAI, model),
            ("google", model) => first_match(GEMINI, model),
            _ => None,
        },
        _ => None,
    }
}

fn first_match(table: &[(&str, u64)], model: &str) -> Option<u64> {
    table.iter().find(|(prefix, _)| model.starts_with(prefix)).map(|(_, window)| *window)
}

/// By the beginning of the name; the first that fits counts. What a response may take is subtracted where it is reserved.
const OPENAI: &[(&str, u64)] = &[
    ("gpt-3.5", 16_385),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4.", 128_000),
    ("gpt-4", 8_192),
    ("gpt-5-chat", 128_000),
    // Later generations take no less than this one.
    ("gpt-", 272_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
];

const GEMINI: &[(&str, u64)] = &[("gemini-", 1_048_576)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_of_models_has_one_context_window() {
        for (provider, model, window) in [
            ("anthropic", "claude-sonnet-4-5", Some(200_000)),
            ("anthropic", "claude-opus-4-7", Some(1_000_000)),
            ("anthropic", "somebody-else", None),
            ("openai", "gpt-5.2", Some(272_000)),
            ("openai", "gpt-6", Some(272_000)),
            ("openai", "gpt-6.1-mini-2027-01-01", Some(272_000)),
            ("openai", "gpt-4", Some(8_192)),
            ("openai-chat", "gpt-4.1-mini", Some(1_047_576)),
            ("openai", "something-new", None),
            ("gemini", "models/gemini-2.5-pro", Some(1_048_576)),
            ("openrouter", "anthropic/claude-sonnet-4.5", Some(200_000)),
            ("openrouter", "google/gemini-3-pro", Some(1_048_576)),
            ("openrouter", "auto", None),
            ("ollama", "gpt-5", None),
        ] {
            assert_eq!(context_window(provider, model), window, "{provider}/{model}");
        }
    }
}
