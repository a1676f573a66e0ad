//! Tests that the advertised schema and the validator agree, except on the few rules that no schema can state.

use askuser::tool::{Extra, Provider};
use askuser::{Limits, QuestionSet, Rules, Span, tool};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::cell::Cell;

/// The limits of violations that no schema can state.
const BEYOND_A_SCHEMA: &[&str] = &[
    "must have visible text",
    "must name the option",
    "labels must differ",
    "question texts must differ",
    "must be left out: Other is always offered",
];

/// A change at some place in a valid input.
#[derive(Clone, Debug)]
enum Mutation {
    Put(Value),
    Remove,
    Repeat(usize),
    AddField(&'static str, Value),
}

fn valid(questions: usize, options: usize, multi_select: bool) -> Value {
    let option = |i| json!({"label": format!("Option {i}"), "description": "What it means"});
    let options: Vec<Value> = (0..options).map(option).collect();
    let question = |i| {
        let text = format!("Which one for {i}?");
        json!({"question": text, "header": "Header", "options": options, "multiSelect": multi_select})
    };
    json!({"questions": (0..questions).map(question).collect::<Vec<_>>()})
}

fn text() -> impl Strategy<Value = String> {
    let lengths = [0, 1, 2, 11, 12, 13, 17, 18, 49, 50, 51, 199, 200, 201, 9_999, 10_000, 10_001];
    let scalar = prop::sample::select(vec!["a", "語", "🐘", "\u{301}", "\u{200b}", " "]);
    let sized = (prop::sample::select(lengths.to_vec()), scalar).prop_map(|(length, scalar)| scalar.repeat(length));
    let special = prop::sample::select(vec![
        "Other",
        "other…",
        "(Recommended)",
        "A (recommended)",
        "Option 0",
        "Which one for 0?",
    ]);
    prop_oneof![2 => sized, 2 => special.prop_map(str::to_owned), 1 => any::<String>()]
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let kinds = vec![json!(null), json!(true), json!(false), json!(0), json!(1.5), json!([]), json!({}), json!([{}])];
    let value = prop_oneof![3 => text().prop_map(Value::from), 2 => prop::sample::select(kinds)];
    let name = prop::sample::select(vec!["answers", "metadata", "multiselect", "id", "question"]);
    prop_oneof![
        4 => value.clone().prop_map(Mutation::Put),
        1 => Just(Mutation::Remove),
        1 => (1usize..4).prop_map(Mutation::Repeat),
        1 => (name, value).prop_map(|(name, value)| Mutation::AddField(name, value)),
    ]
}

/// Collects every place in a value, as JSON pointers.
fn places(value: &Value, here: String, found: &mut Vec<String>) {
    found.push(here.clone());
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                places(value, format!("{here}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                places(item, format!("{here}/{i}"), found);
            }
        }
        _ => {}
    }
}

fn mutate(value: &mut Value, at: prop::sample::Index, mutation: Mutation) {
    let mut found = Vec::new();
    places(value, String::new(), &mut found);
    let place = at.get(&found).as_str();
    let (parent, key) = place.rsplit_once('/').unwrap_or(("", ""));
    match mutation {
        Mutation::Put(new) => *value.pointer_mut(place).unwrap() = new,
        Mutation::AddField(name, new) => {
            if let Value::Object(fields) = value.pointer_mut(place).unwrap() {
                fields.insert(name.into(), new);
            }
        }
        Mutation::Remove => match value.pointer_mut(parent) {
            Some(Value::Object(fields)) => _ = fields.remove(key),
            Some(Value::Array(items)) if !place.is_empty() => _ = items.remove(key.parse().unwrap()),
            _ => {}
        },
        Mutation::Repeat(times) => {
            let item = value.pointer(place).cloned();
            if let (Some(Value::Array(items)), Some(item)) = (value.pointer_mut(parent), item) {
                items.extend(vec![item; times]);
            }
        }
    }
}

fn input() -> impl Strategy<Value = Value> {
    let mutations = prop::collection::vec((any::<prop::sample::Index>(), mutation()), 0..4);
    (1usize..=4, 2usize..=4, any::<bool>(), mutations).prop_map(|(questions, options, multi_select, mutations)| {
        let mut value = valid(questions, options, multi_select);
        for (at, mutation) in mutations {
            mutate(&mut value, at, mutation);
        }
        value
    })
}

/// Checks that the schema and the validator agree on random inputs, and that each allowed pair of verdicts occurs.
#[track_caller]
fn check(limits: Limits) {
    let rules = Rules::strict().with_limits(limits).unwrap();
    let schema = jsonschema::validator_for(&tool::schema(&limits, &[])).expect("a valid schema");
    let both_accept = Cell::new(0);
    let both_reject = Cell::new(0);
    let beyond = Cell::new(0);
    let count = |counter: &Cell<u32>| counter.set(counter.get() + 1);
    let config = ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() };
    let verdict = TestRunner::new(config).run(&input(), |value| {
        match (schema.is_valid(&value), QuestionSet::parse(value.clone(), &rules)) {
            (true, Ok(_)) => count(&both_accept),
            (false, Err(_)) => count(&both_reject),
            (false, Ok(_)) => prop_assert!(false, "only the validator accepts {}", value),
            (true, Err(bad)) => {
                count(&beyond);
                let known = bad.iter().all(|violation| BEYOND_A_SCHEMA.contains(&violation.limit.as_str()));
                prop_assert!(known, "only the schema accepts {}: {}", value, bad);
            }
        }
        Ok(())
    });
    verdict.unwrap_or_else(|error| panic!("{error}"));
    let counts = [both_accept, both_reject, beyond].map(Cell::into_inner);
    assert!(counts.iter().all(|&count| count >= 20), "accepted, rejected, beyond a schema: {counts:?}");
}

#[test]
fn schema_and_validator_agree() {
    check(Limits::DEFAULT);
}

#[test]
fn schema_and_validator_agree_on_other_limits() {
    check(Limits {
        header_chars: Span { min: 1, max: 17 },
        questions: Span { min: 1, max: 3 },
        options: Span { min: 2, max: 8 },
        label_chars: Span { min: 2, max: 50 },
        ..Limits::DEFAULT
    });
}

#[test]
fn every_advertised_schema_is_a_schema() {
    for extras in [&[][..], &[Extra::Plan, Extra::Preview]] {
        assert!(jsonschema::meta::is_valid(&tool::schema(&Limits::DEFAULT, extras)));
        let strict = tool::definition(Provider::OpenAiResponses, &Limits::DEFAULT, extras);
        assert!(jsonschema::meta::is_valid(&strict["parameters"]));
    }
}
