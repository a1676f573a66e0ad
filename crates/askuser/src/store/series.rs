//! Series of equal questions, and the lifetime of permissions.

use super::Ending;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The series of questions that are the same to a person: the same content, from the same agent in the same place. A
/// store attaches a new request to an open question of its series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The name of the series, which all of its questions share.
    pub name: String,
    /// The current asker: a server process, or a session of a client. The text is random, so that no two askers share a
    /// question by accident.
    pub conversation: String,
}

/// The lifetime of a permission. An agent that was told to try again has enough time. An agent that returns the next
/// day is too late, because the action may no longer be right.
pub const PERMISSION_LASTS: Duration = Duration::from_secs(10 * 60);

/// Whether a permission with this ending may still be used. A clock that was set back makes no permission recent.
pub(super) fn lasts(ending: Option<&Ending>, now_ms: u64) -> bool {
    let age = ending.and_then(Ending::at_ms).and_then(|ended| now_ms.checked_sub(ended));
    age.is_some_and(|age| Duration::from_millis(age) <= PERMISSION_LASTS)
}
