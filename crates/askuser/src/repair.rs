//! Repairs cosmetic faults if the rules allow it. Every repair is reported, so that the model learns and no reader is
//! misled.
//!
//! Faults of meaning are never repaired, because a repair would be a guess. Such faults are a missing question, a
//! single option, and a missing `multiSelect`.

use crate::lookalikes::is_other;
use crate::question::name_of;
use crate::sanitize;
use serde_json::{Map, Value};
use unicode_segmentation::UnicodeSegmentation;

/// Parses JSON that was sent as a string: the whole input, `questions`, a question, its `options`, an option, or
/// `multiSelect`.
pub(crate) fn unquote(value: &mut Value, mended: &mut Vec<String>) {
    let mut parsed = |value: &mut Value, path: &str| {
        if let Value::String(text) = value
            && let Ok(inner) = serde_json::from_str::<Value>(text)
            && (inner.is_object() || inner.is_array() || inner.is_boolean())
        {
            *value = inner;
            mended.push(format!("{path}: JSON sent as a string, parsed"));
        }
    };
    parsed(value, "input");
    let Some(questions) = value.get_mut("questions") else { return };
    parsed(questions, "questions");
    for (i, question) in questions.as_array_mut().into_iter().flatten().enumerate() {
        let path = format!("questions[{i}]");
        parsed(question, &path);
        if let Some(multi_select) = question.get_mut("multiSelect") {
            parsed(multi_select, &format!("{path}.multiSelect"));
        }
        let Some(options) = question.get_mut("options") else { continue };
        parsed(options, &format!("{path}.options"));
        for (j, option) in options.as_array_mut().into_iter().flatten().enumerate() {
            parsed(option, &format!("{path}.options[{j}]"));
        }
    }
}

/// Drops the options that mean Other, because Other is always offered.
pub(crate) fn drop_other(question: &mut Map<String, Value>, path: &str, mended: &mut Vec<String>) {
    let Some(Value::Array(options)) = question.get_mut("options") else { return };
    let mut index = 0;
    options.retain(|option| {
        let other = option["label"].as_str().is_some_and(|label| is_other(&name_of(label).0));
        if other {
            mended.push(format!("{path}.options[{index}]: dropped, Other is always offered"));
        }
        index += 1;
        !other
    });
}

/// Returns a header shortened for display; `None` if the header is short enough.
pub(crate) fn shorten(header: &str, max: usize, path: &str, mended: &mut Vec<String>) -> Option<String> {
    let chars = header.chars().count();
    if chars <= max {
        return None;
    }
    let safe = sanitize::line(header);
    let mut short = sanitize::trim(&safe).to_owned();
    if short.chars().count() > max {
        short.clear();
        for grapheme in sanitize::trim(&safe).graphemes(true) {
            if short.chars().count() + grapheme.chars().count() + 1 > max {
                break;
            }
            short.push_str(grapheme);
        }
        short.truncate(short.trim_end().len());
        short.push('…');
    }
    mended.push(format!("{path}: {chars} characters, at most {max}, shown as \"{short}\""));
    Some(short)
}
