//! Resolves one question of a tool. The resolution comes from the transcript, then from the policy, then from the
//! person.
//!
//! A question is on disk before a person sees it. Its outcome is on disk before it takes effect and before its surface
//! shows success. After a crash the same steps find the recorded resolution or ask again.

use crate::agent_context::Shared;
use crate::event::{AgentEvent, Failure, FailureKind, QuestionOutcome};
use crate::tool::{Stop, ToolContext};
use crate::transcript::{Entry, RecordedQuestion, TranscriptError};
use askuser::{AskError, Asker, Context, Decision, Delivery, Purpose, QuestionSet, Request, RequestKey, Resolution};
use futures_util::future::poll_immediate;

/// The maximum number of times that a question is asked. It is asked again if its outcome comes from the agent's own
/// credential.
const MOST_TIMES: u32 = 3;

/// The reason why a question has no answer in a run without an asker.
pub(crate) const NO_ASKER: &str = "no person can be asked in this run";

impl ToolContext {
    /// Asks the person on behalf of a call and returns the outcome. Both the question and the outcome are in the
    /// transcript first.
    ///
    /// After a crash, a question without a resolution is asked again.
    ///
    /// # Errors
    /// If the person interrupts, the process gets a termination signal, or the transcript cannot be written. Return the
    /// error unchanged.
    pub async fn ask(&self, call: &str, set: QuestionSet, context: Option<Context>) -> Result<Resolution, Stop> {
        self.ask_for(Purpose::Question, call, set, context).await.map(|asked| asked.resolution)
    }

    pub(crate) async fn ask_for(
        &self,
        purpose: Purpose,
        call: &str,
        set: QuestionSet,
        context: Option<Context>,
    ) -> Result<Asked, Stop> {
        let shared = &self.shared;
        let request = Request::new(shared.key(call, purpose), set)
            .with_origin(shared.origin.clone())
            .with_context(context)
            .with_why(self.said_before.as_deref().map(|said| shared.secrets.redact_text(said.to_owned())))
            .with_deadline(shared.deadline);
        let asked = self.settle(request).await?;
        self.emit_outcome(purpose, call, QuestionOutcome::new(&asked.resolution, asked.set.mended()));
        Ok(asked)
    }

    /// Emits the ending of a question. A question that could not be asked has one, too. Keys are redacted, as in the
    /// result of the call.
    pub(crate) fn emit_outcome(&self, purpose: Purpose, call: &str, outcome: QuestionOutcome) {
        let key = self.shared.key(call, purpose);
        let redacted = self.shared.secrets.redact_json(serde_json::json!(outcome));
        let outcome = serde_json::from_value(redacted).unwrap_or(outcome);
        self.emit(AgentEvent::QuestionEnded { id: key.id_in_session(), key, outcome: Box::new(outcome) });
    }

    async fn settle(&self, request: Request) -> Result<Asked, Stop> {
        let shared = &self.shared;
        if let Some(recorded) = shared.recorded_resolution(&request) {
            return Ok(recorded);
        }
        let Some(asker) = &self.asker else {
            self.keep_waiting(request.key().purpose, &request.key().call)?;
            let resolution = Resolution::unavailable(NO_ASKER);
            return Ok(Asked { set: request.set().clone(), resolution });
        };
        let _exclusive = if self.is_exclusive { None } else { Some(shared.exclusive.lock().await) };
        let known = match asker.decide(&request) {
            Decision::Settled(resolution) => {
                shared.record_question(&request)?;
                return shared.record_resolution(&request, resolution.into());
            }
            Decision::Ask(known) => known,
        };
        // Policy answers that do not fit the questions are discarded. The person then gets all questions.
        let mut request = request.clone().with_known(known).unwrap_or(request);
        let first = request.key().clone();
        let mut times = 1;
        let delivery = loop {
            match self.ask_once(asker, &request).await? {
                Err(error @ AskError::Reported(_)) if times < MOST_TIMES => {
                    self.emit(AgentEvent::Notice { message: format!("{error}: asking again") });
                    times += 1;
                    // The key gets another session, not another call, because front ends answer by the id in the
                    // session.
                    let session = format!("{}, asked {times} times", first.session);
                    request = request.with_key(RequestKey { session, ..first.clone() });
                }
                delivery => break delivery,
            }
        };
        shared.record_resolution(&request, delivery.or_else(|error| without_answer(&error))?)
    }

    /// Writes the question to disk, asks the person and returns the checked delivery.
    async fn ask_once(&self, asker: &dyn Asker, request: &Request) -> Result<Result<Delivery, AskError>, Stop> {
        self.shared.record_question(request)?;
        self.shared.transcript.sync()?;
        // The question must accept answers before its event is emitted, because an answer may follow immediately.
        let mut asking = asker.ask(request);
        let answered = poll_immediate(&mut asking).await;
        let id = request.key().id_in_session();
        let questions = request.set().questions_json();
        self.emit(AgentEvent::AskUser { id, questions, request: Box::new(request.clone()) });
        let delivery = match answered {
            Some(answered) => answered,
            None => asking.await,
        };
        Ok(delivery.and_then(|delivery| delivery.check(request)))
    }

    /// Withdraws the permission question of a call if it is still open.
    pub(crate) fn withdraw(&self, call: &str) {
        let recorded = self.shared.transcript.question(&self.shared.tasks, call, Purpose::Permission);
        if let (Some(asker), Some(RecordedQuestion { resolution: None, request })) = (&self.asker, recorded) {
            drop(asker.withdraw(&request));
        }
    }

    /// Withdraws the permission question that a call of an earlier process left open.
    ///
    /// Returns whether a person had answered it already. That answer is recorded, and its permission is used up.
    pub(crate) async fn take_back(&self, call: &str) -> Result<bool, Stop> {
        let recorded = self.shared.transcript.question(&self.shared.tasks, call, Purpose::Permission);
        let (Some(asker), Some(RecordedQuestion { resolution: None, request })) = (&self.asker, recorded) else {
            return Ok(false);
        };
        let delivery = asker.withdraw(&request).await;
        match delivery.and_then(|delivery| delivery.check(&request)) {
            Ok(delivery) => self.shared.record_resolution(&request, delivery).map(|_| true),
            Err(_) => Ok(false),
        }
    }

    /// Fails if a person has seen a question and this run has no asker. The question stays open for the next run.
    pub(crate) fn keep_waiting(&self, purpose: Purpose, call: &str) -> Result<(), Stop> {
        if self.asker.is_some() || self.shared.transcript.question(&self.shared.tasks, call, purpose).is_none() {
            return Ok(());
        }
        let message = "a question still waits for its answer, and no person can be asked in this run".to_owned();
        Err(Stop::failed(FailureKind::NobodyThere, message))
    }
}

/// The resolution of a question, with the questions as they were asked.
pub(crate) struct Asked {
    pub(crate) set: QuestionSet,
    pub(crate) resolution: Resolution,
}

impl Shared {
    fn record_question(&self, request: &Request) -> Result<(), Stop> {
        self.append(&Entry::Asked {
            id: request.key().call.clone(),
            purpose: request.key().purpose,
            request: Box::new(request.clone()),
        })
    }

    /// Records the resolution of a question and tells the surface whether that worked.
    fn record_resolution(&self, request: &Request, delivery: Delivery) -> Result<Asked, Stop> {
        let outcome = serde_json::to_value(delivery.resolution()).unwrap_or_default();
        let entry =
            Entry::Outcome { id: request.key().call.clone(), purpose: request.key().purpose, outcome: outcome.clone() };
        match self.append(&entry).and_then(|()| Ok(self.transcript.sync()?)) {
            Ok(()) => Ok(Asked { set: request.set().clone(), resolution: delivery.stored() }),
            Err(Stop::Failed(Failure { kind, message })) => {
                let _ = delivery.not_stored(&*message);
                // The error repeats the person's words, which would be lost with the entry.
                let message = format!("{message}; what came of asking: {outcome}");
                Err(Stop::Failed(Failure { kind, message }))
            }
            Err(Stop::Interrupted) => Err(Stop::Interrupted),
        }
    }

    /// Returns the recorded resolution of a question from before an interruption. `None` if there is none, or if it
    /// belongs to different questions.
    fn recorded_resolution(&self, request: &Request) -> Option<Asked> {
        let key = request.key();
        let recorded = self.transcript.question(&key.tasks, &key.call, key.purpose)?;
        let set = recorded.request.set().clone();
        recorded.is_about(request).then_some(Asked { set, resolution: recorded.resolution? })
    }

    /// Returns the recorded resolution of a call's question or plan; `None` if there is none.
    pub(crate) fn recorded_answer(&self, call: &str) -> Option<Resolution> {
        let purposes = [Purpose::Question, Purpose::Plan];
        purposes.iter().find_map(|purpose| self.transcript.question(&self.tasks, call, *purpose)?.resolution)
    }

    /// Returns the recorded questions of a call as they were asked before an interruption; `None` if there are none.
    pub(crate) fn recorded_set(&self, call: &str) -> Option<QuestionSet> {
        self.transcript.question(&self.tasks, call, Purpose::Question).map(|recorded| recorded.request.set().clone())
    }
}

/// Converts an error of asking. If the surface is broken, the outcome is that no person can be asked.
///
/// # Errors
/// If the turn must stop: the person interrupted, the question was put aside or withdrawn, or a termination signal
/// arrived.
fn without_answer(error: &AskError) -> Result<Delivery, Stop> {
    match error {
        AskError::Interrupted | AskError::Withdrawn => Err(Stop::Interrupted),
        AskError::PutAside(_) => {
            let message = "the question was put aside, and still waits for its answer".to_owned();
            Err(Stop::failed(FailureKind::NobodyThere, message))
        }
        AskError::Signal(signal) => {
            let message = format!("ended by signal {signal}");
            Err(Stop::failed(FailureKind::Signal, message))
        }
        error => Ok(Resolution::unavailable(error.chain()).into()),
    }
}

impl From<TranscriptError> for Stop {
    fn from(error: TranscriptError) -> Stop {
        let message = format!("the transcript cannot be written, so nothing more is done: {error}");
        Stop::failed(FailureKind::Transcript, message)
    }
}
