//! The parameters, bodies and replies of the API, for the server and its clients.
//!
//! A body with an unknown field is refused, so that no field is silently ignored. A reply may have new fields.

/// Declares the types of bodies and replies. A test generates the OpenAPI document from them.
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

/// The OpenAPI document of the API.
pub const OPENAPI: &str = include_str!("../../openapi.json");

/// The path prefix of the API.
pub(crate) const ROOT: &str = "/api/v1";
/// The header that names the surface at which a person answers.
pub(crate) const VIA: &str = "x-askuser-via";
/// The header that identifies a question or an attempt, so that a request can be repeated.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

#[cfg(test)]
pub(crate) use schemars::JsonSchema as Documented;
/// A type in the OpenAPI document.
#[cfg(not(test))]
pub(crate) trait Documented {}
#[cfg(not(test))]
impl<T> Documented for T {}

sent! {
    /// A body without fields.
    pub(crate) struct Empty {}

    /// A question to put, either as an input or as a whole request from an `HttpStore`.
    pub(crate) struct PutQuestion {
        /// The input of AskUserQuestion, unless `request` is given. Unknown fields of the input are ignored.
        pub(crate) input: Option<Value>,
        /// The text that the questions are about, if any.
        pub(crate) context: Option<ContextText>,
        /// The model's own words from just before it asked, if any.
        pub(crate) why: Option<String>,
        /// The names of the audience. Without names, the question is for everybody.
        #[serde(rename = "for")]
        pub(crate) audience: Option<Vec<String>>,
        /// The time limit in seconds. Missing for no limit.
        pub(crate) deadline: Option<Seconds>,
        /// The whole record of a question. If given, all other fields except `series` must be left out.
        #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, Value>>"))]
        pub(crate) request: Option<Request>,
        /// The series of questions that are the same to a person. Missing for a question without a series.
        pub(crate) series: Option<Series>,
    }

    /// An outcome. The default status is `answered`, which needs an answer to every question.
    pub(crate) struct End {
        /// The status: `answered`, `cancelled`, `declined`, `discuss`, `timed_out` or `unavailable`. If missing,
        /// `answered`.
        pub(crate) status: Option<String>,
        /// The answers in the order of the questions, unless they name their `question` or `header`. Missing for no
        /// answers.
        pub(crate) answers: Option<Vec<GivenAnswer>>,
        /// The reason of a refusal, or the reason why no person could be asked, if any.
        pub(crate) reason: Option<String>,
        /// The message to discuss first, if any.
        pub(crate) message: Option<String>,
        /// The provenance that the sender states, if any.
        pub(crate) reported: Option<Reported>,
    }

    /// A refusal, with its reason if given.
    pub(crate) struct Decline {
        pub(crate) reason: Option<String>,
    }

    /// A wish to discuss the questions first, with a message if given.
    pub(crate) struct Discuss {
        pub(crate) message: Option<String>,
    }

    /// The answer to one question, with the person's notes.
    #[serde(rename_all = "camelCase")]
    pub(crate) struct GivenAnswer {
        /// The question's text, if it identifies the question.
        question: Option<String>,
        /// The question's header, if it identifies the question.
        header: Option<String>,
        /// The labels of the chosen options.
        selected_options: Vec<String>,
        /// The text typed under Other, if any.
        custom_input: Option<String>,
        /// The person's notes as one text, if any.
        note: Option<String>,
        /// The person's notes, one for each option.
        notes: Vec<GivenNote>,
        /// The text in the Other field of a draft, if Other is not chosen.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) typed: Option<String>,
    }

    /// The person's note on one option.
    struct GivenNote {
        /// The label of the option. Missing for Other.
        option: Option<String>,
        text: String,
    }

    /// A draft to save. A draft without answers and texts removes the stored draft.
    pub(crate) struct SaveDraft {
        pub(crate) answers: Option<Vec<GivenAnswer>>,
        /// The unsent message to discuss first, if any.
        pub(crate) discuss: Option<String>,
        /// The unsent reason of a refusal, if any.
        pub(crate) decline: Option<String>,
        /// The version of this save. Without a version, the draft belongs to the credential.
        pub(crate) version: Option<GivenVersion>,
        /// The versions of other writers' drafts that this save replaces, because its writer has seen them.
        pub(crate) replaces: Vec<GivenVersion>,
    }

    /// Leases to renew.
    pub(crate) struct Renew {
        pub(crate) renew: Vec<String>,
    }

    /// The failure of the last notification to a person. Null clears it.
    pub(crate) struct NoteFailure {
        pub(crate) failure: Option<GivenFailure>,
    }

    /// A failed notification to a person.
    pub(crate) struct GivenFailure {
        pub(crate) what: String,
        pub(crate) why: String,
    }
}

/// The outcome that an `HttpStore` sends, in the form of an [`End`].
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

    /// The version of a draft.
    #[serde(deny_unknown_fields)]
    pub(crate) struct GivenVersion {
        /// The id of the writer, which is one opening of the question at one surface.
        writer: String,
        /// The number of the save. A later save of the same writer has a higher number.
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
        /// The position of the question in a list.
        pub(crate) cursor: Cursor,
        /// The time when the question was read. Ages are relative to this time.
        pub(crate) read_ms: u64,
        /// The whole record for an `HttpStore`, if the query has `whole=1`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, Value>>"))]
        pub(crate) request: Option<Request>,
        /// The right of the token's person to answer. Missing for a token that cannot answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) mine: Option<bool>,
        /// The question as askuser's own page draws it, if the query has `view=page`. Its format may change at any
        /// time.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) page: Option<Value>,
    }

    /// The result of putting a question.
    pub(crate) struct Put {
        #[serde(flatten)]
        pub(crate) question: Question,
        /// Whether the question is new.
        pub(crate) is_new: bool,
        #[serde(flatten)]
        pub(crate) lease: Lease,
    }

    /// A lease, which must be renewed before its time is over.
    pub(crate) struct Lease {
        pub(crate) lease: String,
        pub(crate) lasts_ms: u64,
    }

    /// A page of a list.
    pub(crate) struct Questions {
        pub(crate) questions: Vec<Question>,
        /// The ids of the questions on this page that are damaged or of a later version.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub(crate) unreadable: Vec<QuestionId>,
        /// The cursor of the next page. Missing at the end.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) next: Option<Cursor>,
    }

    /// The person's unsent text: all drafts, or the drafts that a save did not replace. The newest comes first.
    pub(crate) struct Drafts {
        pub(crate) drafts: Vec<SavedDraft>,
    }

    /// The record that the asker receives an answer.
    pub(crate) struct Sent {
        /// The time when the asker was told before. Null if this is the first time.
        pub(crate) earlier_ms: Option<u64>,
    }

    /// The acknowledgement of an answer. It is false for a question that has not ended.
    pub(crate) struct Delivered {
        pub(crate) delivered: bool,
    }

    /// The names of the leases that have expired.
    pub(crate) struct Gone {
        pub(crate) gone: Vec<String>,
    }

    /// The number of questions in a list.
    pub(crate) struct Count {
        pub(crate) count: u64,
    }

    /// The ids with a given beginning.
    pub(crate) struct Ids {
        pub(crate) ids: Vec<QuestionId>,
    }

    /// The visibility of lists of questions: shown to a person or not.
    pub(crate) struct Shown {
        pub(crate) shown: bool,
    }

    /// The last failed notification to a person. Null if the last one succeeded.
    pub(crate) struct LastFailure {
        pub(crate) failure: Option<NotifierFailure>,
    }

    /// A page of events.
    pub(crate) struct Events {
        pub(crate) events: Vec<StoreEvent>,
        /// Whether events before these are missing.
        pub(crate) gap: bool,
        /// The number after which the next page begins.
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

    /// Returns the stored question of a reply that has the whole record.
    pub(crate) fn stored(self) -> Result<StoredQuestion, String> {
        let request = self.request.ok_or("the question has no request")?;
        self.question.stored(request, self.cursor, self.read_ms).map_err(|violations| violations.to_string())
    }
}
