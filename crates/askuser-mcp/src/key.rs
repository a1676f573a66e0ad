//! Which question a call is about: the same thing asked again is the same question only while nobody has its answer.

use askuser::store::{State, Store, StoreError, StoredQuestion};
use askuser::{Context, Origin, Purpose, QuestionSet, RequestKey};
use serde_json::json;
use sha2::{Digest, Sha256};

/// Whoever asks: one client in one folder, whichever of its processes.
pub(crate) fn session(origin: &Origin) -> String {
    json!(["mcp", origin.agent, origin.folder, origin.host]).to_string()
}

/// The key to ask under: that of the same question while it is pending, or while its answer has reached nobody; else a new
/// one. An answer that was delivered goes again only to its ticket: yesterday's answer is none to today's question.
pub(crate) fn key(
    store: &dyn Store,
    session: &str,
    set: &QuestionSet,
    context: Option<&Context>,
    purpose: Purpose,
) -> Result<RequestKey, StoreError> {
    let content = digest(set, context);
    let mut round: u64 = 1;
    loop {
        let key = RequestKey::new(session, format!("{content}-{round}")).for_purpose(purpose);
        match store.id_of(&key)? {
            None => return Ok(key),
            Some(id) if is_open(&store.get(&id)?) => return Ok(key),
            Some(_) => round += 1,
        }
    }
}

/// Whether a question still waits, or its answer does.
fn is_open(question: &StoredQuestion) -> bool {
    match question.state() {
        State::Pending => true,
        State::Answered | State::Cancelled | State::Declined | State::Discuss => question.delivered_ms.is_none(),
        State::TimedOut | State::Withdrawn => false,
    }
}

/// Names what is asked; the order in which a model writes fields does not matter.
fn digest(set: &QuestionSet, context: Option<&Context>) -> String {
    let mut asked = json!([set.input(), context]);
    asked.sort_all_objects();
    let digest = Sha256::digest(asked.to_string());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
