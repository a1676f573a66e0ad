//! Tests of the question for a permission, and of every way in which it can end.

use super::*;
use crate::outcome::Outcome;
use crate::store::Ending;

/// The permission of an agent that stores rules.
fn keeping() -> Permission<&'static str> {
    Permission::new("Bash", "Run this command?\n\n  ls -a")
        .or_always("exactly", "in this folder", "Run exactly this")
        .or_always("prefix", "ls *", "Plain commands")
}

fn labels(set: &QuestionSet) -> Vec<&str> {
    set.questions()[0].options().iter().map(|option| option.name()).collect()
}

fn call(tool: &str) -> ToolUse {
    ToolUse::new(tool, Default::default())
}

fn resolved(set: &QuestionSet, row: Option<usize>, typed: Option<&str>, note: Option<&str>, via: Via) -> Resolution {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let answer = set.questions()[0].answer(&Vec::from_iter(row), owned(typed), owned(note)).unwrap();
    Outcome::answered(set, vec![answer]).unwrap().through(via)
}

#[test]
fn what_an_asker_keeps_no_rules_for_is_offered_once_or_not_at_all() {
    assert_eq!(labels(&Permission::to_use(&call("Bash")).question_set().unwrap()), ["Allow once", "Don't run it"]);
    let offered = ["Allow once", "Always allow in this folder", "Always allow ls *", "Don't run it"];
    let set = keeping().question_set().unwrap();
    assert_eq!(labels(&set), offered);
    let meanings: Vec<&str> = set.questions()[0].options().iter().map(|option| option.description()).collect();
    let refusal = "A note or Other says what to do instead";
    assert_eq!(meanings, ["This time only", "Run exactly this", "Plain commands", refusal]);
}

#[test]
fn a_long_name_of_a_tool_is_shortened_above_the_question_and_whole_in_it() {
    let tool = "mcp__github__create_issue";
    let questions = [Permission::to_use(&call(tool)), Permission::new(tool, "Really?")];
    for (permission, text) in
        questions.iter().zip(["Run mcp__github__create_issue with this input?", "mcp__github__create_issue: Really?"])
    {
        let set = permission.question_set().unwrap();
        let question = &set.questions()[0];
        assert_eq!((question.header(), question.text()), ("mcp__github_", text));
    }
    assert_eq!(
        Permission::<Infallible>::new("Bash", "Really?").question_set().unwrap().questions()[0].text(),
        "Really?"
    );
}

#[test]
fn what_has_no_room_in_a_label_is_not_offered() {
    let long = Permission::new("Bash", "Run?").or_always((), format!("npm run {}", "x".repeat(40)), "m");
    assert_eq!(labels(&long.question_set().unwrap()), ["Allow once", "Don't run it"]);
    let wordy = Permission::new("Bash", "Run?").or_always((), "here", &"m".repeat(1_000));
    assert!(wordy.question_set().is_ok(), "what it means is cut");
}

#[test]
fn a_rule_counts_only_as_it_was_shown() {
    let now = keeping();
    let shown = now.question_set().unwrap();
    assert_eq!(
        [0, 1, 2, 3, 4].map(|option| now.rule(&shown, option).copied()),
        [None, Some("exactly"), Some("prefix"), None, None]
    );
    // The other permission has another offer in that place.
    let other = Permission::new("Bash", "Run?").or_always("a", "ls -a *", "m").or_always("b", "cat *", "m");
    assert_eq!([1, 2].map(|option| now.rule(&other.question_set().unwrap(), option)), [None, None]);
}

#[test]
fn nothing_but_a_plain_yes_of_a_person_agrees() {
    let set = keeping().question_set().unwrap();
    let refused = |words: Option<&str>| Verdict::Refused { words: words.map(str::to_owned) };
    let person = |row, typed, note| resolved(&set, row, typed, note, Via::Inbox);
    let ended = |outcome: Outcome| outcome.through(Via::Inbox);
    let asked = |resolution| verdict(&set, &resolution, MayPermit::Person);
    for (resolution, expected) in [
        (person(Some(0), None, None), Verdict::Agreed(0)),
        (person(Some(2), None, None), Verdict::Agreed(2)),
        (person(Some(0), None, Some("in a branch")), Verdict::Conditional { note: "in a branch".into() }),
        (person(Some(1), None, Some("today")), Verdict::Conditional { note: "today".into() }),
        (person(Some(3), None, None), refused(None)),
        (person(Some(3), None, Some("use git mv")), refused(Some("use git mv"))),
        (person(None, Some("Allow once"), None), refused(Some("Allow once"))),
        (person(None, Some("no"), Some("never")), refused(Some("no\nnever"))),
        (ended(Outcome::declined(Some("no".into()))), refused(Some("no"))),
        (ended(Outcome::discuss(Some("why?".into()))), Verdict::Discuss { words: Some("why?".into()) }),
        (ended(Outcome::cancelled()), Verdict::Dismissed),
        (ended(Outcome::timed_out()), Verdict::TimedOut),
        (Resolution::unavailable("no terminal"), Verdict::NotAsked { reason: "no terminal".into() }),
    ] {
        assert_eq!(asked(resolution), expected);
    }
    // A choice that was not sent is no yes.
    let unsent = |status: Outcome| {
        let ticked = set.questions()[0].answer(&[0], None, None).unwrap();
        asked(status.with_answers(&set, vec![ticked]).unwrap().through(Via::Inbox))
    };
    assert_eq!(unsent(Outcome::cancelled()), Verdict::Dismissed);
    assert_eq!(unsent(Outcome::timed_out()), Verdict::TimedOut);
    assert_eq!(unsent(Outcome::declined(None)), refused(None));
}

#[test]
fn every_surface_of_a_person_agrees_and_a_file_only_where_it_may_and_a_rule_never() {
    let set = keeping().question_set().unwrap();
    for via in Via::ALL {
        let agrees =
            |may_permit| verdict(&set, &resolved(&set, Some(0), None, None, via), may_permit) == Verdict::Agreed(0);
        let alone = agrees(MayPermit::Person);
        let with_answers = agrees(MayPermit::PersonOrAnswers);
        assert_eq!((alone, with_answers), (via.is_a_person(), via != Via::Policy), "{via:?}");
    }
}

#[test]
fn what_a_file_says_is_never_called_the_persons() {
    let set = keeping().question_set().unwrap();
    let file = |row, note, may_permit| {
        verdict(&set, &resolved(&set, Some(row), None, note, Via::AnswersFile), may_permit).refusal().unwrap()
    };
    let words = |why| {
        format!(
            "Not run: this needs the user's permission, and the user was not asked (answers that were written beforehand {why})."
        )
    };
    assert_eq!(file(3, None, MayPermit::PersonOrAnswers), words("do not agree"));
    assert_eq!(file(3, Some("n"), MayPermit::PersonOrAnswers), words("do not agree; their note: n"));
    assert_eq!(file(0, Some("n"), MayPermit::PersonOrAnswers), words("would agree; their note: n"));
    assert_eq!(file(0, None, MayPermit::Person), words("do not agree"));
}

#[test]
fn the_model_reads_what_was_said_and_that_nothing_ran() {
    let verdict = |verdict: Verdict<()>| verdict.refusal();
    let words = || Some("use git mv".to_owned());
    assert_eq!(verdict(Verdict::Agreed(())), None);
    for (given, expected) in [
        (
            Verdict::Conditional { note: "in a branch".into() },
            "Not run: the user would allow this, and noted: in a branch\nThe note may be a condition, so nothing has run yet. \
             Keep to it, and call again if you still need to: the user is asked again.",
        ),
        (Verdict::Refused { words: None }, "The user did not allow this."),
        (Verdict::Refused { words: words() }, "The user did not allow this. Their words: use git mv"),
        (
            Verdict::Discuss { words: words() },
            "Not run: the user wants to talk about it first. Their words: use git mv Reply to them before you go on.",
        ),
        (
            Verdict::Dismissed,
            "Not run: the user dismissed the request for permission. Wait for them to say how to go on.",
        ),
        (Verdict::TimedOut, "Not run: the time for permission ran out. Silence is not consent."),
        (
            Verdict::NotAsked { reason: "no terminal".into() },
            "Not run: this needs the user's permission, and the user was not asked (no terminal).",
        ),
    ] {
        assert_eq!(verdict(given).as_deref(), Some(expected));
    }
}

#[test]
fn a_report_of_the_asker_itself_never_agrees() {
    let set = keeping().question_set().unwrap();
    for via in Via::ALL {
        for (row, note) in [(Some(0), None), (Some(1), None), (Some(0), Some("in a branch")), (Some(3), None)] {
            let ending = Ending::settled("ci", resolved(&set, row, None, note, via));
            let reported = ending.recorded().unwrap();
            for may_permit in [MayPermit::Person, MayPermit::PersonOrAnswers] {
                let verdict = verdict(&set, reported, may_permit);
                let Verdict::NotAsked { reason } = &verdict else { panic!("{verdict:?}") };
                assert!(reason.contains("the asker (ci) reported"), "{reason}");
            }
        }
    }
}

#[test]
fn a_note_beside_a_yes_keeps_it_from_running() {
    let set = keeping().question_set().unwrap();
    let noted = |row, note, purpose| {
        let resolution = resolved(&set, Some(row), None, note, Via::Web);
        condition(purpose, &set, resolution.outcome()).map(str::to_owned)
    };
    let note = Some("in a branch");
    for purpose in [Purpose::Permission, Purpose::Plan] {
        assert_eq!(noted(0, note, purpose).as_deref(), note);
        assert_eq!([noted(0, None, purpose), noted(3, note, purpose)], [None, None], "nothing noted, or no yes");
    }
    assert_eq!(noted(0, note, Purpose::Question), None, "beside an answer it is part of it");
}
