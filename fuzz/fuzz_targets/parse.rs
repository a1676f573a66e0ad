//! Bytes as JSON: no input breaks the reader, and what it accepts is sound and says the same when read again.
#![no_main]

use askuser::{Faults, Limits, QuestionSet, Rules, report, sanitize};
use libfuzzer_sys::{Corpus, fuzz_target};

const STRICT: Rules = Rules { limits: Limits::DEFAULT, faults: Faults::Reject };
const REPAIR: Rules = Rules { limits: Limits::DEFAULT, faults: Faults::Repair };

fuzz_target!(|text: &str| -> Corpus {
    let strict = QuestionSet::from_json(text, &STRICT);
    let repaired = QuestionSet::from_json(text, &REPAIR);
    if let Ok(set) = &strict {
        assert!(set.mended().is_empty());
        assert_eq!(repaired.as_ref(), Ok(set), "repairing a valid input changes it");
        check(set, &STRICT);
    }
    match &repaired {
        Ok(set) => check(set, &REPAIR),
        Err(bad) => assert!(bad.iter().next().is_some() && !report::rejection(bad).is_empty()),
    }
    Corpus::Keep
});

fn check(set: &QuestionSet, rules: &Rules) {
    let again = serde_json::to_string(set).expect("a set is JSON");
    let reread = QuestionSet::from_json(&again, rules).expect("an accepted set is accepted again");
    assert_eq!(reread.questions(), set.questions());
    for question in set.questions() {
        assert!((2..=4).contains(&question.options().len()));
        check_line(question.header());
        check_block(question.text());
        for option in question.options() {
            check_line(option.name());
            check_block(option.description());
        }
    }
}

fn check_line(shown: &str) {
    assert!(!sanitize::is_blank(shown));
    assert_eq!(sanitize::line(shown), shown);
}

fn check_block(shown: &str) {
    assert!(!sanitize::is_blank(shown));
    assert_eq!(sanitize::block(shown), shown);
}
