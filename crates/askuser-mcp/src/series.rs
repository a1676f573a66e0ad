//! The series of a question. Repeated questions of one client in one folder belong to one series, in which the store
//! finds the open question. Without a folder, two projects cannot be distinguished, so a series covers only one
//! conversation.

use askuser::store::Series;
use askuser::{Origin, Request};
use askuser_sys::random::hex;
use serde_json::json;
use sha2::{Digest, Sha256};

/// Returns the session of a client in a folder, which all processes of the client share.
pub(crate) fn session(origin: &Origin) -> String {
    json!(["mcp", origin.agent, origin.folder, origin.host]).to_string()
}

/// Returns the series of a request.
pub(crate) fn series(origin: &Origin, conversation: &str, request: &Request) -> Series {
    // The order in which a model writes fields is irrelevant.
    let mut asked = json!([request.set().input(), request.context()]);
    asked.sort_all_objects();
    let digest = hex(&Sha256::digest(asked.to_string())[..16]);
    // An answer that no process waits for goes to no other conversation.
    let is_own = origin.folder.is_none() || request.is_in_background();
    let stranger = is_own.then_some(conversation);
    let asker =
        stranger.map_or_else(|| session(origin), |conversation| json!([session(origin), conversation]).to_string());
    let kind = if request.is_in_background() { json!("background") } else { json!(request.key().purpose) };
    Series { name: json!([asker, digest, kind]).to_string(), conversation: conversation.to_owned() }
}
