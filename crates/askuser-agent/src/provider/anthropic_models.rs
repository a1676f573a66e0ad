//! The output limits of Anthropic's models, and the way to set their thinking, by version.
//!
//! A name without a version counts as a current model. So does a name with a version later than the last one listed
//! here.

/// The way to set the thinking of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    /// The model cannot think.
    None,
    /// The request sets a maximum number of thinking tokens.
    Budget,
    /// The model decides how much to think. The request sets only the effort.
    Adaptive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModelFacts {
    /// The maximum number of output tokens. The protocol requires a limit in each request.
    pub(super) max_tokens: u32,
    pub(super) thinking: Thinking,
}

pub(super) fn facts(model: &str) -> ModelFacts {
    let Some(name) = model.rsplit('/').next().and_then(|name| name.strip_prefix("claude-")) else {
        // The model is from another maker. All models with this protocol accept this limit.
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

/// Returns the version in a name such as `3-5-sonnet-20241022` or `opus-4-1`; `None` if it has no version. A date does
/// not count.
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
