//! Every limit of the input, in one place: the validator reads it, the advertised schema follows it.

/// How much a question set may hold. The defaults are what the tool advertises to models; an embedder may raise them
/// and both [`QuestionSet`](crate::QuestionSet) and [`tool::schema`](crate::tool::schema) follow.
///
/// Lengths count Unicode scalar values, as JSON Schema does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Questions in one call (1 to 4).
    pub questions: Span,
    /// Options of one question, not counting the automatic Other (2 to 4).
    pub options: Span,
    /// Characters of a question's text (1 to 10,000). The proposals leave it open; a bound keeps a hostile call cheap.
    pub question_chars: Span,
    /// Characters of a header (1 to 12).
    pub header_chars: Span,
    /// Characters of an option's label (1 to 50).
    pub label_chars: Span,
    /// Characters of an option's description (1 to 200).
    pub description_chars: Span,
    /// Characters of anything a person types: Other, a note, a reason (at most 2,000).
    pub typed_chars: usize,
}

/// A closed range of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The smallest size allowed.
    pub min: usize,
    /// The largest size allowed.
    pub max: usize,
}

impl Limits {
    /// The limits of the proposals.
    pub const DEFAULT: Limits = Limits {
        questions: Span { min: 1, max: 4 },
        options: Span { min: 2, max: 4 },
        question_chars: Span { min: 1, max: 10_000 },
        header_chars: Span { min: 1, max: 12 },
        label_chars: Span { min: 1, max: 50 },
        description_chars: Span { min: 1, max: 200 },
        typed_chars: 2_000,
    };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}
