//! Which question a call is about: the same thing asked again is the same question only while nobody has its answer.

use askuser::store::{Ending, State, Store, StoreError, StoredQuestion};
use askuser::{Context, Origin, Purpose, QuestionSet, RequestKey};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// Whoever asks: one client in one folder, whichever of its processes.
pub(crate) fn session(origin: &Origin) -> String {
    json!(["mcp", origin.agent, origin.folder, origin.host]).to_string()
}

/// How long a permission that has reached nobody may be used: long enough for an agent that tries again when it was told to,
/// too short for one that comes back tomorrow. What was right to run then need not be right now.
const PERMISSION_LASTS: Duration = Duration::from_secs(10 * 60);

/// The key to ask under: that of the same question while it is pending, or while its answer has reached nobody; else a new
/// one. An answer that was delivered goes again only to its ticket: yesterday's answer is none to today's question.
pub(crate) fn key(
    store: &dyn Store,
    session: &str,
    set: &QuestionSet,
    context: Option<&Context>,
    purpose: Purpose,
    now_ms: u64,
) -> Result<RequestKey, StoreError> {
    let content = digest(set, context);
    let mut round: u64 = 1;
    loop {
        let key = RequestKey::new(session, format!("{content}-{round}")).for_purpose(purpose);
        match store.id_of(&key)? {
            None => return Ok(key),
            Some(id) if is_open(&store.get(&id)?, purpose, now_ms) => return Ok(key),
            Some(_) => round += 1,
        }
    }
}

/// Whether a question still waits, or its answer does.
fn is_open(question: &StoredQuestion, purpose: Purpose, now_ms: u64) -> bool {
    match question.state() {
        State::Pending => true,
        State::Answered | State::Cancelled | State::Declined | State::Discuss => {
            question.delivered_ms.is_none() && (purpose != Purpose::Permission || is_recent(question, now_ms))
        }
        State::TimedOut | State::Withdrawn => false,
    }
}

/// A clock that was set back makes nothing recent.
fn is_recent(question: &StoredQuestion, now_ms: u64) -> bool {
    let ended = question.ending.as_ref().and_then(Ending::at_ms);
    let age = ended.and_then(|ended| now_ms.checked_sub(ended));
    age.is_some_and(|age| u128::from(age) <= PERMISSION_LASTS.as_millis())
}

/// Names what is asked; the order in which a model writes fields does not matter.
fn digest(set: &QuestionSet, context: Option<&Context>) -> String {
    let mut asked = json!([set.input(), context]);
    asked.sort_all_objects();
    let digest = Sha256::digest(asked.to_string());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
