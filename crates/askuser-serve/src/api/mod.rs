//! The parameters, bodies and replies of the API: what the server and its clients send each other.
//!
//! A body with an unknown field is refused, so that no word of it is lost. A reply may have new fields.

/// Declares types that go over the wire, and into the OpenAPI document, which is made in a test.
macro_rules! wire {
    ($($item:item)*) => {$(
        #[derive(Debug, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        $item
    )*};
}

/// Declares bodies and parameters. An unknown field is an error.
macro_rules! sent {
    ($($item:item)*) => { wire! {$(
        #[derive(Default)]
        #[serde(default, deny_unknown_fields)]
        $item
    )*} };
}

mod admin;
mod parameters;
mod problem;

pub(crate) use admin::*;
pub(crate) use parameters::*;
pub(crate) use problem::{Code, ErrorBody, Problem};

use askuser::store::{
    Cursor, DraftVersion, NotifierFailure, QuestionId, QuestionJson, SavedDraft, Series, StoreEvent, StoredQuestion,
};
use askuser::{Context, Outcome, Reported, Request};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// The API as an OpenAPI document.
pub const OPENAPI: &str = include_str!("../../openapi.json");

/// The address of the API.
pub(crate) const ROOT: &str = "/api/v1";
/// The header that names the surface at which a person answers.
pub(crate) const VIA: &str = "x-askuser-via";
/// The header that names a question, or an attempt.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

#[cfg(test)]
pub(crate) use schemars::JsonSchema as Documented;
/// A type of the OpenAPI document.
#[cfg(not(test))]
pub(crate) trait Documented {}
#[cfg(not(test))]
impl<T> Documented for T {}

sent! {
    /// A body without fields.
    pub(crate) struct Empty {}

    /// A question to put: an input, or a whole request of our own store.
    pub(crate) struct PutQuestion {
        /// The input of AskUserQuestion. Its unknown fields are ignored.
        pub(crate) input: Option<Value>,
        /// The text that the questions are about.
        pub(crate) context: Option<ContextText>,
        /// The model's own words from just before it asked.
        pub(crate) why: Option<String>,
        /// The names of those whom it is for. Without them it is for everybody.
        #[serde(rename = "for")]
        pub(crate) audience: Option<Vec<String>>,
        /// Seconds until it gives up.
        pub(crate) deadline: Option<Seconds>,
        /// The whole record of a question, instead of all the other fields but `series`.
        #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, Value>>"))]
        pub(crate) request: Option<Request>,
        /// The questions that are the same to a person.
        pub(crate) series: Option<Series>,
    }

    /// An outcome: by default `answered`, with an answer to every question.
    pub(crate) struct End {
        /// `answered`, `cancelled`, `declined`, `discuss`, `timed_out` or `unavailable`.
        pub(crate) status: Option<String>,
        /// In the order of the questions, or with `question` or `header` named.
        pub(crate) answers: Option<Vec<GivenAnswer>>,
        /// The reason of a refusal, or the reason why no person could be asked.
        pub(crate) reason: Option<String>,
        /// The words to discuss first.
        pub(crate) message: Option<String>,
        /// The provenance that the sender states.
        pub(crate) reported: Option<Reported>,
    }

    /// The reason of a refusal.
    pub(crate) struct Decline {
        pub(crate) reason: Option<String>,
    }

    /// The words to discuss before an answer.
    pub(crate) struct Discuss {
        pub(crate) message: Option<String>,
    }

    /// The answer to one question.
    #[serde(rename_all = "camelCase")]
    pub(crate) struct GivenAnswer {
        /// The question's text.
        question: Option<String>,
        /// The question's header.
        header: Option<String>,
        /// The labels picked.
        selected_options: Vec<String>,
        /// The text typed under Other.
        custom_input: Option<String>,
        /// The person's addition, as one text.
        note: Option<String>,
        /// The person's additions, a text for each option.
        notes: Vec<GivenNote>,
        /// In a draft: text under Other that is not chosen.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) typed: Option<String>,
    }

    /// The person's addition to one option.
    struct GivenNote {
        /// The label of the option. Missing for Other.
        option: Option<String>,
        text: String,
    }

    /// A draft to save. One without answers and words removes the draft.
    pub(crate) struct SaveDraft {
        pub(crate) answers: Option<Vec<GivenAnswer>>,
        /// The words to discuss first.
        pub(crate) discuss: Option<String>,
        /// The reason of a refusal.
        pub(crate) decline: Option<String>,
        /// The name of this save. Without it the draft is that of this credential.
        pub(crate) version: Option<GivenVersion>,
        /// The drafts of other writers that this writer has seen, and replaces.
        pub(crate) replaces: Vec<GivenVersion>,
    }

    /// Leases to renew.
    pub(crate) struct Renew {
        pub(crate) renew: Vec<String>,
    }

    /// The failure of a call to a person. Null forgets it.
    pub(crate) struct NoteFailure {
        pub(crate) failure: Option<GivenFailure>,
    }

    /// The failure of a call to a person.
    pub(crate) struct GivenFailure {
        pub(crate) what: String,
        pub(crate) why: String,
    }
}

/// The outcome that our own store sends: an [`End`].
#[derive(Serialize)]
pub(crate) struct Resolve<'a> {
    #[serde(flatten)]
    pub(crate) outcome: &'a Outcome,
    pub(crate) reported: &'a Option<Reported>,
}

wire! {
    /// A text that questions are about.
    #[serde(deny_unknown_fields)]
    pub(crate) struct ContextText {
        kind: ContextKind,
        text: String,
    }

    #[serde(rename_all = "snake_case")]
    enum ContextKind {
        Command,
        Diff,
        ToolInput,
        Prose,
    }

    /// The name of one save of a draft.
    #[serde(deny_unknown_fields)]
    pub(crate) struct GivenVersion {
        /// One opening of the question at one surface.
        writer: String,
        /// A later save of the same writer has a higher number.
        edit: u32,
    }

    /// A number of seconds above 0.
    #[derive(Clone, Copy)]
    #[serde(try_from = "f64", into = "f64")]
    pub(crate) struct Seconds(pub(crate) Duration);

    /// A reply without fields.
    pub(crate) struct Done {}

    /// A stored question.
    pub(crate) struct Question {
        #[serde(flatten)]
        pub(crate) question: QuestionJson,
        /// Its place in a list.
        pub(crate) cursor: Cursor,
        /// The time when it was read. Ages count from there.
        pub(crate) read_ms: u64,
        /// With `whole=1`: the whole record, which our own store reads.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, Value>>"))]
        pub(crate) request: Option<Request>,
        /// For a token that answers: whether its person may answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) mine: Option<bool>,
        /// With `view=page`: the question as our own page draws it. It may change at any time.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) page: Option<Value>,
    }

    /// A question that was put.
    pub(crate) struct Put {
        #[serde(flatten)]
        pub(crate) question: Question,
        /// Whether it was not there before.
        pub(crate) is_new: bool,
        #[serde(flatten)]
        pub(crate) lease: Lease,
    }

    /// A lease, to be renewed before its time is over.
    pub(crate) struct Lease {
        pub(crate) lease: String,
        pub(crate) lasts_ms: u64,
    }

    /// A page of a list.
    pub(crate) struct Questions {
        pub(crate) questions: Vec<Question>,
        /// The questions of this page that are damaged or of a later version.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub(crate) unreadable: Vec<QuestionId>,
        /// The place where the next page begins.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) next: Option<Cursor>,
    }

    /// Unsent text of the person: every draft, or those that a save did not replace. The newest is first.
    pub(crate) struct Drafts {
        pub(crate) drafts: Vec<SavedDraft>,
    }

    /// An answer that the asker is told of.
    pub(crate) struct Sent {
        /// The time when it was told before.
        pub(crate) earlier_ms: Option<u64>,
    }

    /// The acknowledgement of an answer. A question that has not ended has none.
    pub(crate) struct Delivered {
        pub(crate) delivered: bool,
    }

    /// The leases that have expired.
    pub(crate) struct Gone {
        pub(crate) gone: Vec<String>,
    }

    /// The number of questions in a list.
    pub(crate) struct Count {
        pub(crate) count: u64,
    }

    /// The ids that begin so.
    pub(crate) struct Ids {
        pub(crate) ids: Vec<QuestionId>,
    }

    /// The lease of a visible list, or its end.
    pub(crate) struct Shown {
        pub(crate) shown: bool,
    }

    /// The last failure of a call to a person.
    pub(crate) struct LastFailure {
        pub(crate) failure: Option<NotifierFailure>,
    }

    /// A stretch of events.
    pub(crate) struct Events {
        pub(crate) events: Vec<StoreEvent>,
        /// Whether events before these are missing.
        pub(crate) gap: bool,
        /// The number to continue after.
        pub(crate) next: u64,
        /// The number of the latest event.
        pub(crate) last: u64,
    }
}

impl From<ContextText> for Context {
    fn from(ContextText { kind, text }: ContextText) -> Context {
        match kind {
            ContextKind::Command => Context::Command(text),
            ContextKind::Diff => Context::Diff(text),
            ContextKind::ToolInput => Context::ToolInput(text),
            ContextKind::Prose => Context::Prose(text),
        }
    }
}

impl From<GivenVersion> for DraftVersion {
    fn from(GivenVersion { writer, edit }: GivenVersion) -> DraftVersion {
        DraftVersion { writer, edit }
    }
}

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Seconds, String> {
        let duration = Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero());
        duration.map(Seconds).ok_or_else(|| format!("{seconds}, expected a number of seconds above 0"))
    }
}

impl From<Seconds> for f64 {
    fn from(seconds: Seconds) -> f64 {
        seconds.0.as_secs_f64()
    }
}

impl Question {
    pub(crate) fn new(question: &StoredQuestion, is_whole: bool) -> Question {
        let request = is_whole.then(|| (*question.request).clone());
        let StoredQuestion { cursor, read_ms, .. } = *question;
        Question { question: question.into(), cursor, read_ms, request, mine: None, page: None }
    }

    /// The question of a reply that is whole.
    pub(crate) fn stored(self) -> Result<StoredQuestion, String> {
        let request = self.request.ok_or("the question has no request")?;
        self.question.stored(request, self.cursor, self.read_ms).map_err(|violations| violations.to_string())
    }
}
