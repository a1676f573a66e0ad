//! Unknown keys in an input, and the keys that they may stand for. Unknown keys are ignored, so a misspelt key counts
//! as missing.

use crate::input::{CALL_KEYS, OPTION_KEYS, QUESTION_KEYS};
use crate::violation::Violation;
use serde_json::Value;

/// A key that the parser does not know.
pub(crate) struct UnknownKey<'a> {
    /// The object that contains the key, such as `questions[0]`; empty for the whole input.
    pub(crate) object: String,
    pub(crate) key: &'a str,
    /// The missing key that the unknown key may stand for, if any.
    pub(crate) meant: Option<&'static str>,
}

/// Returns all unknown keys of an input, in order.
pub(crate) fn unknown_keys(input: &Value) -> Vec<UnknownKey<'_>> {
    let mut found = Vec::new();
    // The parser does not read `answers`, but the proposals contain it.
    find(input, String::new(), &[CALL_KEYS, &["answers"]].concat(), &mut found);
    for (i, question) in items(input, "questions") {
        let path = format!("questions[{i}]");
        find(question, path.clone(), QUESTION_KEYS, &mut found);
        for (j, option) in items(question, "options") {
            find(option, format!("{path}.options[{j}]"), OPTION_KEYS, &mut found);
        }
    }
    found
}

/// Adds the unknown key that may stand for a missing key to the violation of the missing key.
pub(crate) fn explain_missing(violation: Violation, unknown: &[UnknownKey<'_>]) -> Violation {
    let (object, key) = violation.path.rsplit_once('.').unwrap_or(("", &violation.path));
    let misspelt = unknown.iter().find(|unknown| unknown.object == object && unknown.meant == Some(key));
    match misspelt.filter(|_| violation.fact == "missing") {
        Some(UnknownKey { key, .. }) => Violation { fact: format!("missing, but there is {key:?}"), ..violation },
        None => violation,
    }
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    value.get(key).and_then(Value::as_array).into_iter().flatten().enumerate()
}

fn find<'a>(value: &'a Value, object: String, known: &[&'static str], found: &mut Vec<UnknownKey<'a>>) {
    for key in value.as_object().into_iter().flat_map(|fields| fields.keys()) {
        if !known.contains(&key.as_str()) {
            let absent = known.iter().copied().filter(|known| value.get(known).is_none());
            let meant = closest(key, absent);
            found.push(UnknownKey { object: object.clone(), key, meant });
        }
    }
}

/// Returns the most similar name, if one is similar enough. Case, dashes and underscores are ignored.
fn closest(word: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let plain = |text: &str| text.replace(['-', '_', ' '], "").to_lowercase();
    let likeness = |name: &'static str| (strsim::jaro(&plain(word), &plain(name)), name);
    let (most, name) = names.map(likeness).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (most > 0.7).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{QuestionSet, Rules};
    use serde_json::json;

    /// Checks the message about a question in which a key has another name.
    #[track_caller]
    fn check(from: &str, to: &str, message: &str) {
        let text = json!({"questions": [{
            "question": "Which?",
            "header": "Pick",
            "multiSelect": false,
            "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
        }]})
        .to_string()
        .replacen(&format!("\"{from}\":"), &format!("\"{to}\":"), 1);
        let violations = QuestionSet::from_json(&text, &Rules::strict()).unwrap_err();
        assert_eq!(violations.to_string(), message);
    }

    #[test]
    fn a_misspelt_key_is_named_where_the_right_one_is_missing() {
        check("header", "heading", "questions[0].header: missing, but there is \"heading\", must be a string");
        check("options", "option", "questions[0].options: missing, but there is \"option\", must be an array");
        check(
            "description",
            "desc",
            "questions[0].options[0].description: missing, but there is \"desc\", must be a string",
        );
        for name in ["multiselect", "multi_select", "multi-select", "MultiSelect"] {
            let message = format!("questions[0].multiSelect: missing, but there is \"{name}\", must be true or false");
            check("multiSelect", name, &message);
        }
        check("questions", "question", "questions: missing, but there is \"question\", must be an array");
    }

    #[test]
    fn a_key_that_is_like_none_is_not_taken_for_one() {
        check("header", "id", "questions[0].header: missing, must be a string");
    }

    #[test]
    fn a_key_is_not_meant_for_one_that_is_there() {
        let input = json!({"questions": [{"question": "Q?", "header": "H", "heading": "x"}]});
        let unknown = unknown_keys(&input);
        assert_eq!(unknown.iter().map(|key| (key.key, key.meant)).collect::<Vec<_>>(), [("heading", None)]);
    }
}
