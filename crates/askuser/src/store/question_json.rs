//! The JSON of a stored question, for scripts, the log, the API and its clients.

use super::{AskerPresence, Cursor, Ending, QuestionId, State, StoredQuestion, UnsentWords};
use crate::reply;
use crate::request::{Context, Origin, Purpose, Request};
#[cfg(feature = "schema")]
use crate::resolution::Resolution;
use crate::violation::Violations;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// A stored question as JSON. Times are the store's, in milliseconds since 1970.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionJson {
    /// The id of the question.
    pub id: QuestionId,
    /// The state of the question.
    pub state: State,
    /// The purpose of the question.
    pub purpose: Purpose,
    /// The time when the question was asked.
    pub asked_ms: u64,
    /// The asker of the question.
    pub origin: Origin,
    /// The questions as the model sent them.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<schema::Question>"))]
    pub questions: Value,
    /// The presence of the asker.
    pub asker: AskerJson,
    /// The text or the call that the questions are about, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// The model's own words from just before it asked, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The time of the deadline; missing without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
    /// Whether the asker continues its work and fetches the answer later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// The time when the asker was first told of the answer. Missing before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_ms: Option<u64>,
    /// The time when the asker received the answer. Missing before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_ms: Option<u64>,
    /// The time when the question ended. Missing while the question is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
    /// The names of the audience. Missing if the question is for everybody.
    #[serde(default, rename = "for", skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<String>,
    /// The name of the principal that withdrew the question. Missing if the question was not withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn_by: Option<String>,
    /// The outcome that the question's own asker reported. Missing without such a report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<SettledJson>,
    /// The text that the reader has typed and not sent, at most 500 characters. Only lists contain it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsent: Vec<UnsentWords>,
    /// The outcome with its author, surface and time. Missing if the question has not been resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Resolution>"))]
    pub resolution: Option<Value>,
}

/// The presence of an asker, as JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskerJson {
    /// Whether a process waits for the answer.
    pub waits: bool,
    /// The time when the asker stopped waiting. Missing while it waits, and if it died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<u64>,
    /// The time when the asker's death was noticed. Missing if it did not die.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone_ms: Option<u64>,
}

/// The outcome that an asker reported, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettledJson {
    /// The name of the asker's credential.
    pub by: String,
    /// The outcome.
    #[cfg_attr(feature = "schema", schemars(with = "Resolution"))]
    pub reported: Value,
}

impl From<&StoredQuestion> for QuestionJson {
    fn from(question: &StoredQuestion) -> QuestionJson {
        let request = &question.request;
        let ending = question.ending.as_ref();
        let (withdrawn_by, settled) = match ending {
            Some(Ending::Withdrawn { by, .. }) => (Some(by.clone()), None),
            Some(Ending::Settled { reported }) => {
                let by = reported.reported_by().unwrap_or_default().to_owned();
                (None, Some(SettledJson { by, reported: json!(reported) }))
            }
            _ => (None, None),
        };
        QuestionJson {
            id: question.id.clone(),
            state: question.state(),
            purpose: request.key().purpose,
            asked_ms: question.asked_ms,
            origin: request.origin().clone(),
            questions: request.set().questions_json(),
            asker: question.asker.into(),
            context: request.context().cloned(),
            why: request.why().map(str::to_owned),
            expires_ms: question.expires_ms,
            background: request.is_in_background(),
            sent_ms: question.sent_ms,
            delivered_ms: question.delivered_ms,
            ended_ms: ending.and_then(Ending::at_ms),
            audience: request.audience().to_vec(),
            withdrawn_by,
            settled,
            unsent: question.unsent.clone(),
            resolution: ending.and_then(Ending::resolution).map(|resolution| json!(resolution)),
        }
    }
}

impl QuestionJson {
    /// Rebuilds the stored question from its request, its position in a list and the time when it was read.
    ///
    /// # Errors
    /// Returns every part of the ending that does not fit the request.
    pub fn stored(self, request: Request, cursor: Cursor, read_ms: u64) -> Result<StoredQuestion, Violations> {
        let resolution = |value| reply::resolution(request.set(), value);
        let ending = match (self.state, self.settled, self.resolution) {
            (State::Pending, ..) => None,
            (State::Withdrawn, ..) => Some(Ending::Withdrawn {
                by: self.withdrawn_by.unwrap_or_default(),
                at_ms: self.ended_ms.unwrap_or_default(),
            }),
            (State::Settled, Some(settled), _) => Some(Ending::settled(settled.by, resolution(&settled.reported)?)),
            (.., ended) => Some(Ending::Resolved(resolution(&ended.unwrap_or_default())?)),
        };
        let mut question = StoredQuestion::new(self.id, Arc::new(request), self.asked_ms, cursor);
        question.read_ms = read_ms;
        question.unsent = self.unsent;
        question.expires_ms = self.expires_ms;
        question.sent_ms = self.sent_ms;
        question.delivered_ms = self.delivered_ms;
        question.asker = self.asker.into();
        question.ending = ending;
        Ok(question)
    }
}

impl From<AskerPresence> for AskerJson {
    fn from(asker: AskerPresence) -> AskerJson {
        match asker {
            AskerPresence::Waits => AskerJson { waits: true, ..AskerJson::default() },
            AskerPresence::Left(at) => AskerJson { left_ms: Some(at), ..AskerJson::default() },
            AskerPresence::Died(at) => AskerJson { gone_ms: Some(at), ..AskerJson::default() },
        }
    }
}

impl From<AskerJson> for AskerPresence {
    fn from(asker: AskerJson) -> AskerPresence {
        match (asker.left_ms, asker.gone_ms) {
            (Some(at), _) => AskerPresence::Left(at),
            (None, Some(at)) => AskerPresence::Died(at),
            (None, None) => AskerPresence::Waits,
        }
    }
}

/// The schemas of fields that are untyped JSON in `QuestionJson`.
#[cfg(feature = "schema")]
mod schema {
    use schemars::JsonSchema;

    #[derive(JsonSchema)]
    #[schemars(rename = "QuestionText", rename_all = "camelCase")]
    #[expect(dead_code, reason = "only its schema is used")]
    pub(super) struct Question {
        question: String,
        header: String,
        #[serde(default)]
        multi_select: bool,
        options: Vec<Choice>,
    }

    #[derive(JsonSchema)]
    #[schemars(rename = "Option")]
    #[expect(dead_code, reason = "only its schema is used")]
    pub(super) struct Choice {
        label: String,
        description: String,
        preview: Option<String>,
    }
}
