//! Facts about Anthropic's models by version: the output limit and the way to set thinking.
//!
//! A name without a version, or with a later one than the last listed here, is taken for a current model.

/// The way to set a model's thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    /// The model has no thinking.
    None,
    /// A number of tokens.
    Budget,
    /// The model decides, guided by the effort.
    Adaptive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModelFacts {
    /// The output limit in tokens. The protocol requires one.
    pub(super) max_tokens: u32,
    pub(super) thinking: Thinking,
}

pub(super) fn facts(model: &str) -> ModelFacts {
    let Some(name) = model.rsplit('/').next().and_then(|name| name.strip_prefix("claude-")) else {
        // Another maker's model with this protocol: a limit that all of them accept.
        return ModelFacts { max_tokens: 8192, thinking: Thinking::None };
    };
    let is_opus = name.contains("opus");
    let (max_tokens, thinking) = match version(name) {
        Some((..=2, _) | (3, ..=4)) => (4096, Thinking::None),
        Some((3, ..=6)) => (8192, Thinking::None),
        Some((4, ..=4)) if is_opus => (32_000, Thinking::Budget),
        Some((3, _) | (4, ..=5)) => (64_000, Thinking::Budget),
        Some(_) | None => (128_000, Thinking::Adaptive),
    };
    ModelFacts { max_tokens, thinking }
}

/// The version in a name such as `3-5-sonnet-20241022` or `opus-4-1`. A date is no version.
fn version(name: &str) -> Option<(u32, u32)> {
    let mut numbers = name.split(['-', '.']).map(|part| part.parse::<u32>().ok().filter(|number| *number < 100));
    let major = numbers.by_ref().flatten().next()?;
    Some((major, numbers.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_and_the_thinking_follow_from_the_version() {
        for (model, max_tokens, thinking) in [
            ("claude-2.1", 4096, Thinking::None),
            ("claude-3-haiku-20240307", 4096, Thinking::None),
            ("claude-3-5-sonnet-20241022", 8192, Thinking::None),
            ("claude-3-7-sonnet-latest", 64_000, Thinking::Budget),
            ("claude-opus-4-20250514", 32_000, Thinking::Budget),
            ("claude-opus-4-1", 32_000, Thinking::Budget),
            ("claude-sonnet-4-20250514", 64_000, Thinking::Budget),
            ("claude-opus-4-5-20251101", 64_000, Thinking::Budget),
            ("claude-haiku-4-5", 64_000, Thinking::Budget),
            ("claude-sonnet-4-6", 128_000, Thinking::Adaptive),
            ("claude-opus-5", 128_000, Thinking::Adaptive),
            ("claude-mythos-preview", 128_000, Thinking::Adaptive),
            ("somebody-else-4", 8192, Thinking::None),
        ] {
            assert_eq!(facts(model), ModelFacts { max_tokens, thinking }, "{model}");
        }
    }
}
