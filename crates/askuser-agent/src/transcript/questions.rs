//! The recorded questions of calls and their outcomes.

use super::{Entry, Halt, Line};
use askuser::permission::{MayPermit, Verdict, verdict};
use askuser::{Purpose, Request, Resolution, Status, reply, report};

#[derive(Clone, Debug)]
pub(crate) struct RecordedQuestion {
    /// The request that was asked.
    pub(crate) request: Request,
    /// The outcome of the question; `None` if there is none, or if it does not fit the question.
    pub(crate) resolution: Option<Resolution>,
}

impl RecordedQuestion {
    pub(super) fn find(lines: &[Line], tasks: &[String], call: &str, purpose: Purpose) -> Option<RecordedQuestion> {
        let mut found: Option<RecordedQuestion> = None;
        for line in lines.iter().filter(|line| line.tasks == tasks) {
            match &line.entry {
                Entry::Asked { id, purpose: of, request } if id == call && *of == purpose => {
                    found = Some(RecordedQuestion { request: Request::clone(request), resolution: None });
                }
                Entry::Outcome { id, purpose: of, outcome } if id == call && *of == purpose => {
                    let Some(question) = &mut found else { continue };
                    question.resolution = reply::resolution(question.request.set(), outcome).ok();
                }
                _ => {}
            }
        }
        found
    }

    /// Returns the reason to skip later calls; `None` if the outcome is an answer or a permission.
    pub(super) fn halt(&self, purpose: Purpose) -> Option<Halt> {
        let request = &self.request;
        let resolution = self.resolution.as_ref()?;
        match purpose {
            Purpose::Permission => {
                let verdict = verdict(request.set(), resolution, MayPermit::PersonOrAnswers);
                (!matches!(verdict, Verdict::Agreed(_))).then_some(Halt::NotAllowed)
            }
            _ => (*resolution.outcome().status() != Status::Answered).then_some(Halt::NotAnswered),
        }
    }

    /// Returns the outcome as text for a model that has not read the call's result; `None` if a permission was given,
    /// or without an outcome.
    pub(super) fn words(&self, purpose: Purpose) -> Option<String> {
        let set = self.request.set();
        let resolution = self.resolution.as_ref()?;
        match purpose {
            Purpose::Permission => verdict(set, resolution, MayPermit::PersonOrAnswers).refusal(),
            _ => Some(report::prose(set, resolution)),
        }
    }

    /// Whether a request asks the same question about the same subject. Its options may have been reworded.
    pub(crate) fn is_about(&self, request: &Request) -> bool {
        let asked = &self.request;
        let texts = |request: &Request| -> Vec<String> {
            request.set().questions().iter().map(|question| question.text_verbatim().to_owned()).collect()
        };
        // The context of a plain question only tells why it is asked, so the context need not be the same.
        let same_context = asked.context() == request.context() || request.key().purpose == Purpose::Question;
        same_context && texts(asked) == texts(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::permission::Permission;
    use askuser::{Outcome, RequestKey, Via};

    #[test]
    fn a_permission_that_was_recorded_with_a_note_halts_what_is_beside_it_as_a_refusal_does() {
        let set =
            Permission::<std::convert::Infallible>::new("Act", "Run Act with this input?").question_set().unwrap();
        let halt = |option: usize, note: Option<&str>| {
            let answer = set.questions()[0].answer(&[option], None, note.map(str::to_owned)).unwrap();
            let given = Outcome::answered(&set, vec![answer]).unwrap().through(Via::Terminal);
            let key = RequestKey::new("s", "c").for_purpose(Purpose::Permission);
            let request = Request::new(key, set.clone());
            RecordedQuestion { request, resolution: Some(given) }.halt(Purpose::Permission)
        };
        assert_eq!(halt(0, None), None);
        assert_eq!([halt(0, Some("in a branch")), halt(1, None)], [Some(Halt::NotAllowed); 2]);
    }
}
