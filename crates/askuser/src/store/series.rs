//! The same thing asked again: when a call attaches to a question that is there, and when it asks anew.

use super::Ending;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Questions that are the same to a person: what is asked, by which agent, where. A store finds the open one among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The same for all of them.
    pub name: String,
    /// Who asks now: a server process, a session of a client. Random, so that no two share a question by accident.
    pub conversation: String,
}

/// How long a permission may be used: long enough for an agent that tries again when it was told to, too short for one that
/// comes back tomorrow. What was right to run then need not be right now.
pub const PERMISSION_LASTS: Duration = Duration::from_secs(10 * 60);

/// Whether a permission that ended so may still be used. A clock that was set back makes nothing recent.
pub(super) fn lasts(ending: Option<&Ending>, now_ms: u64) -> bool {
    let age = ending.and_then(Ending::at_ms).and_then(|ended| now_ms.checked_sub(ended));
    age.is_some_and(|age| Duration::from_millis(age) <= PERMISSION_LASTS)
}
