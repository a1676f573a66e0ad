//! Advice on a valid question set. A lint warns; it never rejects.

use crate::question::{Question, QuestionSet};
use crate::unknown_keys::{UnknownKey, unknown_keys};
use serde::Serialize;
use std::fmt;

/// A piece of advice on one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lint {
    /// The path of the field, such as `questions[0].options[1].label`.
    pub path: String,
    /// The text of the advice.
    pub advice: String,
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.advice)
    }
}

/// Returns the advice on a question set.
pub fn lint(set: &QuestionSet) -> Vec<Lint> {
    let questions = set.questions().iter().enumerate();
    let of_questions = questions.flat_map(|(i, question)| lint_question(question, &format!("questions[{i}]")));
    lint_keys(set).into_iter().chain(of_questions).collect()
}

fn lint_keys(set: &QuestionSet) -> Vec<Lint> {
    let lint = |unknown: UnknownKey<'_>| {
        let path = if unknown.object.is_empty() { "input".into() } else { unknown.object };
        let meant = unknown.meant.map_or(String::new(), |meant| format!("; did you mean {meant:?}?"));
        Lint { path, advice: format!("unknown key {:?} is ignored{meant}", unknown.key) }
    };
    unknown_keys(set.input()).into_iter().map(lint).collect()
}

/// The labels that mean Other in other words.
const LIKE_OTHER: [&str; 12] = [
    "something else",
    "something different",
    "anything else",
    "none of the above",
    "none of these",
    "none of them",
    "not listed",
    "another option",
    "type my own",
    "type your own",
    "let me specify",
    "please specify",
];

fn is_like_other(name: &str) -> bool {
    let name = name.to_lowercase();
    let word = name.split(['(', ':', ',']).next().unwrap_or_default();
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word == "other" || LIKE_OTHER.contains(&word)
}

fn lint_question(question: &Question, path: &str) -> Vec<Lint> {
    let mut lints = Vec::new();
    let mut add = |option: usize, advice: String| {
        lints.push(Lint { path: format!("{path}.options[{option}].label"), advice });
    };
    for (i, option) in question.options().iter().enumerate() {
        let words = option.name().split_whitespace().count();
        if words > 5 {
            add(i, format!("{words} words, better at most 5"));
        }
        if is_like_other(option.name()) {
            add(i, "reads like Other, which is always offered; better left out".into());
        }
    }
    let recommended: Vec<usize> =
        (0..question.options().len()).filter(|&i| question.options()[i].is_recommended()).collect();
    match recommended[..] {
        [] | [0] => {}
        [i] => add(i, "recommended but not first, better first".into()),
        [_, second, ..] if !question.is_multi_select() => {
            add(second, "a second recommended option, better only one".into());
        }
        // A multi-select question may recommend several options, if they lead the list.
        [..] => {
            if let Some((_, &i)) = recommended.iter().enumerate().find(|&(place, &i)| place != i) {
                add(i, "recommended but after one that is not, better first".into());
            }
        }
    }
    lints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rules;
    use serde_json::json;

    #[track_caller]
    fn check(labels: &[&str], multi_select: bool, lints: &[&str]) {
        let options: Vec<_> = labels.iter().map(|label| json!({"label": label, "description": "d"})).collect();
        let question = json!({"question": "Which?", "header": "H", "options": options, "multiSelect": multi_select});
        let set = QuestionSet::parse(json!({"questions": [question]}), &Rules::default()).expect("a valid input");
        let found: Vec<String> = lint(&set).iter().map(ToString::to_string).collect();
        assert_eq!(found, lints, "{labels:?}");
    }

    #[test]
    fn a_good_question_is_not_criticised() {
        check(&["PostgreSQL (Recommended)", "MongoDB", "SQLite"], false, &[]);
        check(&["TypeScript", "ESLint + Prettier"], true, &[]);
    }

    #[test]
    fn a_label_is_better_of_at_most_five_words() {
        check(&["one two three four five", "b"], false, &[]);
        check(
            &["a", "one two three four five six"],
            false,
            &["questions[0].options[1].label: 6 words, better at most 5"],
        );
    }

    #[test]
    fn recommended_is_not_counted_as_a_word() {
        check(&["one two three four five (Recommended)", "b"], false, &[]);
    }

    #[test]
    fn the_recommended_option_is_better_first() {
        check(
            &["npm", "pnpm (recommended)", "yarn"],
            false,
            &["questions[0].options[1].label: recommended but not first, better first"],
        );
        check(
            &["npm", "pnpm (recommended)"],
            true,
            &["questions[0].options[1].label: recommended but not first, better first"],
        );
    }

    #[test]
    fn only_one_of_exclusive_options_is_better_recommended() {
        check(
            &["npm (Recommended)", "pnpm (Recommended)", "yarn"],
            false,
            &["questions[0].options[1].label: a second recommended option, better only one"],
        );
    }

    #[test]
    fn several_recommended_options_of_a_multi_select_question_lead_the_list() {
        check(&["a (Recommended)", "b (Recommended)", "c"], true, &[]);
        check(
            &["a (Recommended)", "b", "c (Recommended)"],
            true,
            &["questions[0].options[2].label: recommended but after one that is not, better first"],
        );
    }

    #[test]
    fn an_option_that_reads_like_other_is_better_left_out() {
        for label in
            ["Something else", "None of the above", "none of these…", "Other: please specify", "Not listed (type it)"]
        {
            let advice = "questions[0].options[1].label: reads like Other, which is always offered; better left out";
            check(&["a", label], false, &[advice]);
        }
        check(&["None", "Neither", "Something", "Other vendors"], false, &[]);
    }

    #[test]
    fn a_key_that_nobody_reads_is_named() {
        let option = |label: &str| json!({"label": label, "description": "d", "labell": 1});
        let question = json!({
            "question": "Q?",
            "header": "H",
            "options": [option("a"), {"label": "b", "description": "d"}],
            "multiSelect": false,
            "heading": "H",
        });
        let input = json!({"questions": [question], "answers": {}, "metdata": {}});
        let set = QuestionSet::parse(input, &Rules::default()).unwrap();
        let found: Vec<String> = lint(&set).iter().map(ToString::to_string).collect();
        let expected = [
            "input: unknown key \"metdata\" is ignored; did you mean \"metadata\"?",
            "questions[0]: unknown key \"heading\" is ignored",
            "questions[0].options[0]: unknown key \"labell\" is ignored",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn every_piece_of_advice_is_given() {
        check(
            &["a b c d e f", "g h i j k l (Recommended)"],
            false,
            &[
                "questions[0].options[0].label: 6 words, better at most 5",
                "questions[0].options[1].label: 6 words, better at most 5",
                "questions[0].options[1].label: recommended but not first, better first",
            ],
        );
    }

    #[test]
    fn advice_names_the_question_it_is_about() {
        let question = |text: &str, label: &str| {
            let options = json!([{"label": "a", "description": "d"}, {"label": label, "description": "d"}]);
            json!({"question": text, "header": "H", "options": options, "multiSelect": false})
        };
        let input = json!({"questions": [question("One?", "b"), question("Two?", "b (Recommended)")]});
        let lints = lint(&QuestionSet::parse(input.clone(), &Rules::default()).unwrap());
        assert_eq!(
            serde_json::to_value(lints).unwrap(),
            json!([{"path": "questions[1].options[1].label", "advice": "recommended but not first, better first"}])
        );
    }
}
