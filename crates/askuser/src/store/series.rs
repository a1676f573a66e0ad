//! Series of equal questions: the rules by which a call attaches to a stored question.

use super::Ending;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Questions that are the same to a person: the same content, from the same agent in the same place. A store finds the
/// open one among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The same for all of them.
    pub name: String,
    /// The current asker: a server process, or a session of a client. It is random, so that no two share a question by
    /// accident.
    pub conversation: String,
}

/// The lifetime of a permission. An agent that was told to try again has enough time. One that comes back tomorrow is
/// too late, because the action may not be right any more.
pub const PERMISSION_LASTS: Duration = Duration::from_secs(10 * 60);

/// Whether a permission with this ending may still be used. A clock that was set back makes no permission recent.
pub(super) fn lasts(ending: Option<&Ending>, now_ms: u64) -> bool {
    let age = ending.and_then(Ending::at_ms).and_then(|ended| now_ms.checked_sub(ended));
    age.is_some_and(|age| Duration::from_millis(age) <= PERMISSION_LASTS)
}
