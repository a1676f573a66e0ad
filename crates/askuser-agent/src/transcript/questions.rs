//! What a transcript says about questions: which were asked for which call, and what came of them.
//!
//! Sessions written before requests were recorded name a permission `CALL:permission`, keep the questions alone, and tie an
//! outcome to a diff by a hash. They are made to look like today's here, once, when they are opened.

use super::{Entry, Halt, Line};
use crate::message::Block;
use askuser::permission::{MayPermit, Verdict, verdict};
use askuser::{Purpose, QuestionSet, Request, RequestKey, Resolution, Rules, Status, reply};
use serde::Deserialize;
use serde_json::json;
use std::collections::HashSet;

#[derive(Clone, Debug)]
pub(crate) struct RecordedQuestion {
    /// What was asked; unknown where the questions of an old session cannot be read any more.
    pub(crate) request: Option<Request>,
    /// Its outcome, if there is one that fits the questions.
    pub(crate) resolution: Option<Resolution>,
    /// Which diff it was about, in sessions of before 0.2.
    old_diff: Option<String>,
}

/// What sessions of before 0.2 have in an outcome besides.
#[derive(Deserialize)]
struct OldOutcome {
    /// A hash of the diff it is about.
    about: Option<String>,
}

impl RecordedQuestion {
    pub(super) fn find(lines: &[Line], tasks: &[String], call: &str, purpose: Purpose) -> Option<RecordedQuestion> {
        let mut found: Option<RecordedQuestion> = None;
        for line in lines.iter().filter(|line| line.tasks == tasks) {
            match &line.entry {
                Entry::Asked { id, purpose: Some(of), request, .. } if id == call && *of == purpose => {
                    let request = request.as_deref().cloned();
                    found = Some(RecordedQuestion { request, resolution: None, old_diff: None });
                }
                Entry::Outcome { id, purpose: Some(of), outcome } if id == call && *of == purpose => {
                    let Some(question) = &mut found else { continue };
                    let set = question.request.as_ref().map(Request::set);
                    question.resolution = set.and_then(|set| reply::resolution(set, outcome).ok());
                    question.old_diff = OldOutcome::deserialize(outcome).ok().and_then(|old| old.about);
                }
                _ => {}
            }
        }
        found
    }

    /// Why nothing may run beside it, if what came of it is neither an answer nor a permission.
    pub(super) fn halt(&self, purpose: Purpose) -> Option<Halt> {
        let (request, resolution) = (self.request.as_ref()?, self.resolution.as_ref()?);
        match purpose {
            Purpose::Permission => {
                let verdict = verdict(request.set(), resolution, MayPermit::PersonOrAnswers);
                (!matches!(verdict, Verdict::Agreed(_))).then_some(Halt::NotAllowed)
            }
            _ => (*resolution.outcome().status() != Status::Answered).then_some(Halt::NotAnswered),
        }
    }

    /// Whether it asked the same about the same. Options may have got other words since.
    pub(crate) fn is_about(&self, request: &Request) -> bool {
        let Some(asked) = &self.request else { return false };
        let texts = |request: &Request| -> Vec<String> {
            request.set().questions().iter().map(|question| question.text_verbatim().to_owned()).collect()
        };
        let same_context = match &self.old_diff {
            Some(hash) => request.context().is_some_and(|context| old_hash(&context.text()) == *hash),
            // Of a plain question it only says why it is asked.
            None => asked.context() == request.context() || request.key().purpose == Purpose::Question,
        };
        same_context && texts(asked) == texts(request)
    }
}

/// Gives the questions of an old session their purpose and a request, which then holds them alone.
pub(super) fn upgrade(session: &str, lines: &mut [Line]) {
    let mut plans: HashSet<(Vec<String>, String)> = HashSet::new();
    for line in lines.iter_mut() {
        let is_plan = |id: &str| plans.contains(&(line.tasks.clone(), id.to_owned()));
        match &mut line.entry {
            Entry::Assistant { content, .. } => {
                let calls = content.iter().filter_map(Block::as_call).filter(|call| call.name == "ExitPlanMode");
                plans.extend(calls.map(|call| (line.tasks.clone(), call.id.clone())));
            }
            Entry::Asked { purpose: Some(_), questions, .. } => drop(questions.take()),
            Entry::Asked { id, purpose: purpose @ None, questions, request } => {
                let (call, of) = old_purpose(id, is_plan);
                let key = RequestKey::new(session, &call).in_tasks(&line.tasks).for_purpose(of);
                let input = json!({ "questions": questions.take() });
                // Those were asked under the first version of the rules.
                let read = |rules: Rules| QuestionSet::parse(input.clone(), &rules.of_version(1)?).ok();
                let set = read(Rules::strict()).or_else(|| read(Rules::repair()));
                *request = set.map(|set| Box::new(Request::new(key, set)));
                (*id, *purpose) = (call, Some(of));
            }
            Entry::Outcome { id, purpose: purpose @ None, .. } => {
                let (call, of) = old_purpose(id, is_plan);
                (*id, *purpose) = (call, Some(of));
            }
            _ => {}
        }
    }
}

fn old_purpose(id: &str, is_plan: impl Fn(&str) -> bool) -> (String, Purpose) {
    match id.strip_suffix(":permission") {
        Some(call) => (call.to_owned(), Purpose::Permission),
        None if is_plan(id) => (id.to_owned(), Purpose::Plan),
        None => (id.to_owned(), Purpose::Question),
    }
}

/// How old sessions told one diff from another (FNV-1a).
fn old_hash(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::permission::Permission;
    use askuser::{Outcome, Via};

    #[test]
    fn a_permission_that_was_recorded_with_a_note_halts_what_is_beside_it_as_a_refusal_does() {
        let set =
            Permission::<std::convert::Infallible>::new("Act", "Run Act with this input?").question_set().unwrap();
        let halt = |option: usize, note: Option<&str>| {
            let answer = set.questions()[0].answer(&[option], None, note.map(str::to_owned)).unwrap();
            let given = Outcome::answered(&set, vec![answer]).unwrap().through(Via::Terminal);
            let key = RequestKey::new("s", "c").for_purpose(Purpose::Permission);
            let request = Some(Request::new(key, set.clone()));
            RecordedQuestion { request, resolution: Some(given), old_diff: None }.halt(Purpose::Permission)
        };
        assert_eq!(halt(0, None), None);
        assert_eq!([halt(0, Some("in a branch")), halt(1, None)], [Some(Halt::NotAllowed); 2]);
    }
}
