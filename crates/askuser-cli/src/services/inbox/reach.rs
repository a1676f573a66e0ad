//! Calling the person to a question that waits: their own command, and a popup where a terminal multiplexer runs.
//!
//! Whatever it does, it does beside the asking, which it neither delays nor fails.

use crate::hook;
use askuser::store::StoredQuestion;
use askuser_cli::config::Settings;

/// Calls the person as the settings say.
pub(super) fn reaching(settings: &Settings) -> impl Fn(&StoredQuestion) + Send + Sync + 'static {
    let command = settings.on_question.clone();
    move |question: &StoredQuestion| {
        if let Some(command) = &command {
            hook::run(command, &question.request);
        }
    }
}
