//! The limits of questions and answers, for the validator and for the advertised schema.
//!
//! [`Rules`](crate::Rules) reject limits that leave no room for a question, even if they are stored. So every set has
//! at least one question.

use serde::{Deserialize, Serialize};

/// The limits of a question set and of the answers to it.
///
/// Lengths count Unicode scalar values, as JSON Schema does.
///
/// ```
/// use askuser::{Limits, Rules, Span};
///
/// let limits = Limits { options: Span { min: 2, max: 6 }, ..Limits::DEFAULT };
/// assert_eq!(Rules::strict().with_limits(limits)?.limits().options.max, 6);
/// let none = Limits { questions: Span { min: 0, max: 4 }, ..Limits::DEFAULT };
/// let error = Rules::strict().with_limits(none).unwrap_err();
/// assert_eq!(error.to_string(), "questions: from 0 to 4, must be from at least 1");
/// # Ok::<(), askuser::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The number of questions in one call (1 to 4).
    pub questions: Span,
    /// The number of options of one question (2 to 4), without the automatic Other.
    pub options: Span,
    /// The number of characters of a question's text (1 to 10,000). The proposals set no maximum; this one bounds the
    /// cost of a hostile call.
    pub question_chars: Span,
    /// The number of characters of a header (1 to 12).
    pub header_chars: Span,
    /// The number of characters of an option's label (1 to 50).
    pub label_chars: Span,
    /// The number of characters of an option's description (1 to 200). If the minimum is 0, a description may be blank.
    pub description_chars: Span,
    /// The maximum number of characters of an option's preview (4,000); 0 allows no preview. Requests stored before
    /// previews existed lack this field.
    #[serde(default = "default_preview_chars")]
    pub preview_chars: usize,
    /// The maximum number of characters of a typed text: Other, a note or a reason (16,000).
    pub typed_chars: usize,
}

fn default_preview_chars() -> usize {
    Limits::DEFAULT.preview_chars
}

/// A closed range of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The smallest size allowed.
    pub min: usize,
    /// The largest size allowed.
    pub max: usize,
}

/// The error of invalid limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{limit}: {fact}, {bound}")]
#[non_exhaustive]
pub struct LimitsError {
    /// The name of the invalid field, such as `questions`.
    pub limit: &'static str,
    /// The value of the field.
    pub fact: String,
    /// The rule that the value breaks.
    pub bound: String,
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
        preview_chars: 4_000,
        typed_chars: 16_000,
    };

    /// The default limits, except that a description may be blank.
    pub const WITH_BLANK_DESCRIPTIONS: Limits =
        Limits { description_chars: Span { min: 0, ..Limits::DEFAULT.description_chars }, ..Limits::DEFAULT };

    /// The limits of questions from askuser's own commands: one question, and options without descriptions.
    pub(crate) const CONFIRM: Limits = Limits {
        questions: Span { min: 1, max: 1 },
        options: Span { min: 2, max: 2 },
        description_chars: Span { min: 0, max: 0 },
        ..Limits::DEFAULT
    };

    /// The limits of `CONFIRM`, but with room for the lines of a list as options.
    pub(crate) const PICK: Limits =
        Limits { options: Span { min: 1, max: 10_000 }, label_chars: Span { min: 1, max: 500 }, ..Limits::CONFIRM };

    /// Returns the limits unless they leave no room for a question.
    pub(crate) fn checked(self) -> Result<Limits, LimitsError> {
        let spans = [
            ("questions", self.questions, 1),
            ("options", self.options, 1),
            ("questionChars", self.question_chars, 1),
            ("headerChars", self.header_chars, 1),
            ("labelChars", self.label_chars, 1),
            ("descriptionChars", self.description_chars, 0),
        ];
        for (limit, Span { min, max }, floor) in spans {
            let fact = format!("from {min} to {max}");
            if min < floor {
                return Err(LimitsError { limit, fact, bound: format!("must be from at least {floor}") });
            }
            if max < min {
                return Err(LimitsError { limit, fact, bound: "must not be empty".into() });
            }
        }
        match self.typed_chars {
            0 => Err(LimitsError { limit: "typedChars", fact: "0".into(), bound: "must be at least 1".into() }),
            _ => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;
    use serde_json::json;

    #[test]
    fn every_limit_can_be_changed_and_is_read_back() {
        let limits = Limits {
            questions: Span { min: 2, max: 2 },
            options: Span { min: 3, max: 6 },
            question_chars: Span { min: 4, max: 7 },
            header_chars: Span { min: 5, max: 8 },
            label_chars: Span { min: 6, max: 9 },
            description_chars: Span { min: 0, max: 10 },
            preview_chars: 11,
            typed_chars: 12,
        };
        let rules = Rules::strict().with_limits(limits).unwrap();
        let stored = serde_json::to_value(rules).unwrap();
        assert_eq!(*serde_json::from_value::<Rules>(stored).unwrap().limits(), limits);
    }

    #[test]
    fn limits_stored_before_there_were_previews_are_still_read() {
        let mut stored = serde_json::to_value(Limits::DEFAULT).unwrap();
        stored.as_object_mut().unwrap().remove("previewChars").expect("a limit of its own");
        assert_eq!(serde_json::from_value::<Limits>(stored).unwrap(), Limits::DEFAULT);
    }

    #[test]
    fn no_limits_leave_room_for_a_set_without_questions() {
        let mut stored = serde_json::to_value(Rules::strict()).unwrap();
        stored["limits"]["questions"] = json!({"min": 0, "max": 4});
        let error = serde_json::from_value::<Rules>(stored).unwrap_err().to_string();
        assert_eq!(error, "questions: from 0 to 4, must be from at least 1");
        let is_refused = |limits: Limits| Rules::strict().with_limits(limits).is_err();
        assert!(is_refused(Limits { questions: Span { min: 3, max: 2 }, ..Limits::DEFAULT }));
        assert!(is_refused(Limits { options: Span { min: 0, max: 2 }, ..Limits::DEFAULT }));
        assert!(is_refused(Limits { typed_chars: 0, ..Limits::DEFAULT }));
    }
}
