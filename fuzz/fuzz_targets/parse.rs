//! Bytes as JSON: no input breaks the reader, and what it accepts is sound and says the same when read again.
#![no_main]

use askuser::{QuestionSet, Rules, report, sanitize};
use libfuzzer_sys::{Corpus, fuzz_target};

const STRICT: Rules = Rules::strict();
const REPAIR: Rules = Rules::repair();

fuzz_target!(|text: &str| -> Corpus {
    let strict = QuestionSet::from_json(text, &STRICT);
    let repaired = QuestionSet::from_json(text, &REPAIR);
    if let Ok(set) = &strict {
        assert!(set.mended().is_empty());
        let repaired = repaired.as_ref().expect("a valid input needs no repair");
        assert_eq!(repaired.questions(), set.questions(), "repairing a valid input changes it");
        assert!(repaired.mended().is_empty());
        check(set);
    }
    match &repaired {
        Ok(set) => check(set),
        Err(bad) => assert!(bad.iter().next().is_some() && !report::rejection(bad).is_empty()),
    }
    Corpus::Keep
});

fn check(set: &QuestionSet) {
    let stored = serde_json::to_string(set).expect("a set is JSON");
    let rebuilt: QuestionSet = serde_json::from_str(&stored).expect("a stored set is rebuilt");
    assert_eq!(&rebuilt, set);
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
