//! Every limit there is. The validator and the advertised schema both read them from here.
//!
//! A value of [`Limits`] always leaves room for a question: every constructor checks it, deserialising included, so no set
//! without questions and no question without options can be built under any of them.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a question set may hold.
///
/// Lengths count Unicode scalar values, as JSON Schema does.
///
/// ```
/// use askuser::Limits;
///
/// let limits = Limits::DEFAULT.with_options(2, 6)?.with_header_chars(1, 20)?;
/// assert_eq!(limits.options().max, 6);
/// assert_eq!(limits.with_questions(0, 4).unwrap_err().to_string(), "questions: from 0 to 4, must be from at least 1");
/// # Ok::<(), askuser::LimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Limits", rename_all = "camelCase")]
pub struct Limits {
    questions: Span,
    options: Span,
    question_chars: Span,
    header_chars: Span,
    label_chars: Span,
    description_chars: Span,
    /// Absent from what was stored before there were previews.
    #[serde(default = "default_preview_chars")]
    preview_chars: usize,
    typed_chars: usize,
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

/// Limits under which nothing could be asked: which one, what it was to be, and what it has to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{limit}: {fact}, {bound}")]
#[non_exhaustive]
pub struct LimitsError {
    /// Which limit: `questions`.
    pub limit: &'static str,
    /// What it was to be.
    pub fact: String,
    /// What it has to be.
    pub bound: String,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
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
        typed_chars: 2_000,
    };

    /// Of a question that our own commands ask: one at a time, and nothing is said beside its options.
    pub(crate) const CONFIRM: Limits = Limits {
        questions: Span { min: 1, max: 1 },
        options: Span { min: 2, max: 2 },
        description_chars: Span { min: 0, max: 0 },
        ..Limits::DEFAULT
    };

    /// The same with the lines of a list as options.
    pub(crate) const PICK: Limits =
        Limits { options: Span { min: 1, max: 10_000 }, label_chars: Span { min: 1, max: 500 }, ..Limits::CONFIRM };

    /// Characters of an option's preview (at most 4,000).
    pub fn preview_chars(&self) -> usize {
        self.preview_chars
    }

    /// Characters of anything a person types: Other, a note, a reason (at most 2,000).
    pub fn typed_chars(&self) -> usize {
        self.typed_chars
    }

    /// Changes how long a preview may be; 0 allows none.
    pub fn with_preview_chars(self, max: usize) -> Limits {
        Limits { preview_chars: max, ..self }
    }

    /// Changes how much a person may type; at least one character.
    ///
    /// # Errors
    /// Where it is 0.
    pub fn with_typed_chars(self, max: usize) -> Result<Limits, LimitsError> {
        match max {
            0 => Err(LimitsError { limit: "typedChars", fact: "0".into(), bound: "must be at least 1".into() }),
            typed_chars => Ok(Limits { typed_chars, ..self }),
        }
    }
}

/// A limit with both ends: how it is read, and how it is changed.
macro_rules! spans {
    ($($(#[$doc:meta])* $field:ident, $with:ident, $name:literal, from $floor:literal;)*) => {
        impl Limits {
            $(
                $(#[$doc])*
                pub fn $field(&self) -> Span {
                    self.$field
                }

                #[doc = concat!("Changes [`Limits::", stringify!($field), "`]; from at least ", $floor, ".")]
                ///
                /// # Errors
                /// Where the range is empty or begins lower.
                pub fn $with(self, min: usize, max: usize) -> Result<Limits, LimitsError> {
                    Ok(Limits { $field: span($name, min, max, $floor)?, ..self })
                }
            )*

            fn checked(self) -> Result<Limits, LimitsError> {
                let limits = self$(.$with(self.$field.min, self.$field.max)?)*;
                limits.with_typed_chars(self.typed_chars)
            }
        }
    };
}

spans! {
    /// Questions in one call (1 to 4).
    questions, with_questions, "questions", from 1;
    /// Options of one question, not counting the automatic Other (2 to 4).
    options, with_options, "options", from 1;
    /// Characters of a question's text (1 to 10,000). The proposals leave it open; a bound keeps a hostile call cheap.
    question_chars, with_question_chars, "questionChars", from 1;
    /// Characters of a header (1 to 12).
    header_chars, with_header_chars, "headerChars", from 1;
    /// Characters of an option's label (1 to 50).
    label_chars, with_label_chars, "labelChars", from 1;
    /// Characters of an option's description (1 to 200); from 0 on it may be left blank.
    description_chars, with_description_chars, "descriptionChars", from 0;
}

fn span(limit: &'static str, min: usize, max: usize, floor: usize) -> Result<Span, LimitsError> {
    let fact = format!("from {min} to {max}");
    if min < floor {
        return Err(LimitsError { limit, fact, bound: format!("must be from at least {floor}") });
    }
    if max < min {
        return Err(LimitsError { limit, fact, bound: "must not be empty".into() });
    }
    Ok(Span { min, max })
}

impl Serialize for Limits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Limits::serialize(self, serializer)
    }
}

/// What was stored is checked as what is built is.
impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Limits, D::Error> {
        Limits::deserialize(deserializer)?.checked().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn limits_are_read_back_as_they_were_stored() {
        let limits = Limits::DEFAULT.with_options(1, 9).unwrap().with_description_chars(0, 300).unwrap();
        let stored = serde_json::to_value(limits).unwrap();
        assert_eq!(serde_json::from_value::<Limits>(stored).unwrap(), limits);
    }

    #[test]
    fn every_limit_can_be_changed_and_is_read_back() {
        let spans = || -> Result<Limits, LimitsError> {
            Limits::DEFAULT
                .with_questions(2, 2)?
                .with_options(3, 6)?
                .with_question_chars(4, 7)?
                .with_header_chars(5, 8)?
                .with_label_chars(6, 9)?
                .with_description_chars(0, 10)?
                .with_preview_chars(11)
                .with_typed_chars(12)
        };
        let limits = spans().unwrap();
        let found = [
            limits.questions(),
            limits.options(),
            limits.question_chars(),
            limits.header_chars(),
            limits.label_chars(),
            limits.description_chars(),
        ];
        assert_eq!(found.map(|span| (span.min, span.max)), [(2, 2), (3, 6), (4, 7), (5, 8), (6, 9), (0, 10)]);
        assert_eq!((limits.preview_chars(), limits.typed_chars()), (11, 12));
        let stored = serde_json::to_value(limits).unwrap();
        assert_eq!(serde_json::from_value::<Limits>(stored).unwrap(), limits);
    }

    #[test]
    fn limits_stored_before_there_were_previews_are_still_read() {
        let mut stored = serde_json::to_value(Limits::DEFAULT).unwrap();
        stored.as_object_mut().unwrap().remove("previewChars").expect("a limit of its own");
        assert_eq!(serde_json::from_value::<Limits>(stored).unwrap(), Limits::DEFAULT);
    }

    #[test]
    fn no_limits_leave_room_for_a_set_without_questions() {
        let mut stored = serde_json::to_value(Limits::DEFAULT).unwrap();
        stored["questions"] = json!({"min": 0, "max": 4});
        let error = serde_json::from_value::<Limits>(stored).unwrap_err().to_string();
        assert_eq!(error, "questions: from 0 to 4, must be from at least 1");
        assert!(Limits::DEFAULT.with_questions(3, 2).is_err());
        assert!(Limits::DEFAULT.with_options(0, 2).is_err());
        assert!(Limits::DEFAULT.with_typed_chars(0).is_err());
    }
}
