//! Answers without a person, from prepared answers or by a stated rule.
//!
//! A policy never guesses. Other questions stay unanswered, and there is no "first option" fallback.

use crate::asker::Decision;
use crate::outcome::{Answer, Outcome, Status};
use crate::permission::{self, MayPermit};
use crate::question::{Question, QuestionSet};
use crate::request::Request;
use crate::resolution::{Resolution, Via};
use crate::rules::Form;
use crate::violation::{Gathered, Violations};
use regex_lite::{Regex, RegexBuilder};
use serde_json::Value;

/// The rule for questions that no person may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headless {
    /// Leave the questions unanswered.
    Fail,
    /// Take the options marked "(Recommended)", and leave other questions unanswered.
    Recommended,
}

/// The answers that apply before a person is asked, or instead.
///
/// ```
/// use askuser::input::QuestionInput;
/// use askuser::policy::{Headless, Policy};
/// use askuser::{Decision, QuestionSet, Request, RequestKey, Rules, Via};
///
/// let question = QuestionInput::new("Which database?", "Database")
///     .option("PostgreSQL (Recommended)", "Robust")
///     .option("SQLite", "Embedded");
/// let set = QuestionSet::new([question], &Rules::strict())?;
/// let policy = Policy { headless: Some(Headless::Recommended), ..Policy::default() };
/// let request = Request::new(RequestKey::new("session", "call"), set);
/// let Decision::Settled(resolution) = policy.apply_to(&request)? else { panic!("it needs no person") };
/// assert_eq!(resolution.via(), Some(Via::Policy));
/// # Ok::<(), askuser::Violations>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The prepared answers, if any.
    pub answers: Option<Answers>,
    /// The rule for the remaining questions. With a rule, no person is asked; with `None`, the person is asked.
    pub headless: Option<Headless>,
}

impl Policy {
    /// The decision about a request. Only answers that [may](Answers::permitting) give a permission, approve a plan or say yes to a
    /// `confirm`; no rule ever does. Only an option gives or refuses it: words in place of one were written for another question, and
    /// leave it unanswered.
    ///
    /// # Errors
    /// Every reason why answers do not fit the questions that they match.
    pub fn apply_to(&self, request: &Request) -> Result<Decision, Violations> {
        let set = request.set();
        let mut bad = Gathered::default();
        let mut via = Via::AnswersFile;
        let mut answers = Vec::new();
        for question in set.questions() {
            let mut answer = self.answers.as_ref().and_then(|file| file.answer(request, question, &mut bad));
            if answer.is_none() && self.headless == Some(Headless::Recommended) && !request.asks_to_agree() {
                answer = recommended(question);
                via = Via::Policy;
            }
            answers.extend(answer);
        }
        bad.into_result(Some(()))?;
        if answers.len() == set.questions().len() {
            return Ok(Decision::Settled(Outcome::answered(set, answers)?.through(via)));
        }
        match self.headless {
            None => Ok(Decision::Ask(answers)),
            Some(headless) => {
                unsettled(set, headless.reason(request.asks_to_agree()), answers, via).map(Decision::Settled)
            }
        }
    }
}

impl Headless {
    fn reason(self, asks_to_agree: bool) -> &'static str {
        match self {
            Headless::Fail => "the policy is to fail rather than to ask",
            Headless::Recommended if asks_to_agree => {
                "the policy is to take recommended options, which agrees to nothing"
            }
            Headless::Recommended => "the policy is to take recommended options, and not every question has one",
        }
    }
}

/// Returns the resolution if no person is asked and some questions have no answer.
fn unsettled(set: &QuestionSet, reason: &str, known: Vec<Answer>, via: Via) -> Result<Resolution, Violations> {
    if known.is_empty() {
        return Ok(Resolution::unavailable(reason));
    }
    Ok(Outcome::new(set, Status::Unavailable { reason: reason.into() }, known)?.through(via))
}

impl Policy {
    /// Returns the resolution of a policy without a person. A request that the policy does not settle is unavailable.
    pub(crate) fn alone(&self, request: &Request) -> Resolution {
        let settled = match self.apply_to(request) {
            Ok(Decision::Settled(resolution)) => Ok(resolution),
            Ok(Decision::Ask(known)) => {
                let reason = if request.asks_to_agree() {
                    "the answers written beforehand do not decide this"
                } else if known.is_empty() {
                    "the answers written beforehand do not cover this"
                } else {
                    "the answers written beforehand do not cover every question"
                };
                unsettled(request.set(), reason, known, Via::AnswersFile)
            }
            Err(violations) => Err(violations),
        };
        let misfit = |violations| format!("the answers written beforehand do not fit: {violations}");
        settled.unwrap_or_else(|violations| Resolution::unavailable(misfit(violations)))
    }
}

fn recommended(question: &Question) -> Option<Answer> {
    let options = question.options();
    let picks: Vec<usize> = (0..options.len()).filter(|&i| options[i].is_recommended()).collect();
    question.answer(&picks, None, None)
}

/// Prepared answers: an object that maps a header or a question's text to an answer.
///
/// A key is a literal text, or a regular expression between slashes (`/which .*database/i`). Literal keys are tried
/// first, then expressions in the order of the file. A value is a label, an array of labels, or `{"select": …, "other":
/// "typed text", "note": "…"}`. A label is a literal, with or without "(Recommended)", or an expression. If a question
/// asks for a text, a string is that text.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    rules: Vec<Rule>,
    may_permit: MayPermit,
}

#[derive(Clone, Debug)]
struct Rule {
    path: String,
    key: Matcher,
    select: Vec<Matcher>,
    /// The value if it is a string. It is the complete answer to a question that asks for a text.
    text: Option<String>,
    other: Option<String>,
    note: Option<String>,
}

#[derive(Clone, Debug)]
enum Matcher {
    Exact(String),
    Pattern(String, Regex),
}

impl Answers {
    /// Parses an answers file.
    ///
    /// # Errors
    /// Returns all errors, not only the first.
    pub fn parse(value: &Value) -> Result<Answers, Violations> {
        let mut bad = Gathered::default();
        let mut answers = Answers::default();
        match value.as_object() {
            None => bad.add("answers", "not an object", "must be an object from header or question to answer"),
            Some(object) => {
                for (key, value) in object {
                    answers.rules.extend(Rule::parse(key, value, &mut bad));
                }
            }
        }
        bad.into_result(Some(answers))
    }

    /// Allows the answers to agree to permissions, plans and `confirm`, because the command line names their file.
    #[must_use]
    pub fn permitting(self) -> Answers {
        Answers { may_permit: MayPermit::PersonOrAnswers, ..self }
    }

    /// The answer to a question: `None` where no rule matches it, or the one that does has no say in it.
    fn answer(&self, request: &Request, question: &Question, bad: &mut Gathered) -> Option<Answer> {
        let answer = self.rule(question)?.answer(question, request.set(), bad)?;
        let agrees = || permission::agreed(question, &answer).is_some();
        let counts =
            || !answer.selected_options.is_empty() && (self.may_permit.covers(Some(Via::AnswersFile)) || !agrees());
        (!request.asks_to_agree() || counts()).then_some(answer)
    }

    fn rule(&self, question: &Question) -> Option<&Rule> {
        let exact = |rule: &&Rule| matches!(rule.key, Matcher::Exact(_)) && rule.is_for(question);
        self.rules.iter().find(exact).or_else(|| self.rules.iter().find(|rule| rule.is_for(question)))
    }

    /// Returns the headers of unanswered questions and the keys that match no question; `None` if either list is empty.
    /// A file may contain answers to other questions, but a misspelt key is in this list, too.
    pub fn unmatched(&self, set: &QuestionSet) -> Option<Unmatched> {
        let headers: Vec<String> = set
            .questions()
            .iter()
            .filter(|question| self.rule(question).is_none())
            .map(|question| question.header().to_owned())
            .collect();
        let matches_none = |rule: &&Rule| !set.questions().iter().any(|question| rule.is_for(question));
        let keys: Vec<String> = self.rules.iter().filter(matches_none).map(|rule| rule.key.shown()).collect();
        (!headers.is_empty() && !keys.is_empty()).then_some(Unmatched { headers, keys })
    }
}

/// Questions without an answer, and answers without a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// The headers of the questions.
    pub headers: Vec<String>,
    /// The keys of the answers. Literal keys are quoted.
    pub keys: Vec<String>,
}

impl Rule {
    fn is_for(&self, question: &Question) -> bool {
        let names = [question.header_verbatim(), question.text_verbatim(), question.header(), question.text()];
        names.iter().any(|name| self.key.matches(name))
    }

    fn parse(key: &str, value: &Value, bad: &mut Gathered) -> Option<Rule> {
        let path = format!("answers[{key:?}]");
        let key = Matcher::parse(key, &path, bad);
        let (select, other, note) = match value {
            Value::Object(fields) => {
                for field in fields.keys().filter(|f| !["select", "other", "note"].contains(&f.as_str())) {
                    bad.add(format!("{path}.{field}"), "unknown", "must be select, other or note");
                }
                (fields.get("select"), fields.get("other"), fields.get("note"))
            }
            value => (Some(value), None, None),
        };
        let string = |value: Option<&Value>, field: &str, bad: &mut Gathered| match value {
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => {
                bad.add(format!("{path}.{field}"), "not a string", "must be a string");
                None
            }
            None => None,
        };
        let other = string(other, "other", bad);
        let note = string(note, "note", bad);
        let labels: Vec<&Value> = match select {
            None => Vec::new(),
            Some(Value::Array(labels)) => labels.iter().collect(),
            Some(label) => vec![label],
        };
        let mut select = Vec::new();
        for label in labels {
            match label.as_str() {
                Some(label) => select.extend(Matcher::parse(label, &path, bad)),
                None => bad.add(&path, "not a label", "must be a string, an array of strings or an object"),
            }
        }
        let text = value.as_str().map(str::to_owned);
        Some(Rule { path, key: key?, select, text, other, note })
    }

    fn answer(&self, question: &Question, set: &QuestionSet, bad: &mut Gathered) -> Option<Answer> {
        let labels = || question.options().iter().map(|o| format!("{:?}", o.name())).collect::<Vec<_>>().join(", ");
        let is_text = question.form() == Form::Input && self.text.is_some();
        let (select, other) = if is_text { (&[][..], &self.text) } else { (&self.select[..], &self.other) };
        let mut picks = Vec::new();
        for matcher in select {
            let matching: Vec<usize> = (0..question.options().len())
                .filter(|&i| {
                    let option = &question.options()[i];
                    matcher.matches(option.label_verbatim()) || matcher.matches(option.name())
                })
                .collect();
            match matching[..] {
                [] => bad.add(
                    &self.path,
                    format!("{} is not an option", matcher.shown()),
                    format!("must be one of {}", labels()),
                ),
                [_, _, ..] if !question.is_multi_select() => {
                    let fact = format!("{} matches {} options", matcher.shown(), matching.len());
                    bad.add(&self.path, fact, "must match one");
                }
                [..] => picks.extend(matching),
            }
        }
        let answer = question.answer(&picks, other.clone(), self.note.clone());
        let limits = set.limits();
        let legal = |answer: &Answer| question.check(answer, limits, &self.path, &mut Gathered::default()).is_some();
        // A note must fit into the text field in which a person may continue it.
        let short = self.note.as_ref().is_none_or(|note| note.chars().count() <= limits.typed_chars);
        let (fact, limit) = match answer {
            Some(answer) if short && legal(&answer) => return Some(answer),
            Some(_) => {
                let limit = format!("at most {} visible characters and newlines", limits.typed_chars);
                ("text too long, or with control or invisible characters", limit)
            }
            // An unknown label was reported already.
            None if picks.is_empty() && !self.select.is_empty() => return None,
            None if picks.is_empty() => ("no answer", "must select an option or give other".into()),
            None => ("several answers to a single-select question", "must be one".into()),
        };
        bad.add(&self.path, fact, limit);
        None
    }
}

impl Matcher {
    fn parse(text: &str, path: &str, bad: &mut Gathered) -> Option<Matcher> {
        let pattern = text.strip_prefix('/').and_then(|rest| {
            rest.strip_suffix("/i").map(|p| (p, true)).or_else(|| rest.strip_suffix('/').map(|p| (p, false)))
        });
        let Some((pattern, ignore_case)) = pattern else {
            // A text such as `/data/x` was meant as an expression. As a literal it would silently match no question.
            if let Some((_, flags)) = text.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'))
                && !flags.is_empty()
                && flags.len() <= 3
                && flags.bytes().all(|byte| byte.is_ascii_lowercase())
            {
                bad.add(path, format!("{text} has the flags {flags:?}"), "only i is known");
                return None;
            }
            return Some(Matcher::Exact(text.to_owned()));
        };
        match RegexBuilder::new(pattern).case_insensitive(ignore_case).build() {
            Ok(regex) => Some(Matcher::Pattern(text.to_owned(), regex)),
            Err(error) => {
                bad.add(path, format!("{text} is not a regular expression ({error})"), "must be one between slashes");
                None
            }
        }
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Matcher::Exact(exact) => exact == text,
            Matcher::Pattern(_, regex) => regex.is_match(text),
        }
    }

    fn shown(&self) -> String {
        match self {
            Matcher::Exact(text) => format!("{text:?}"),
            Matcher::Pattern(text, _) => text.clone(),
        }
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
