//! Requests and steps for the tests of the app.

use super::state::{Effect, Event, State};
use askuser::input::QuestionInput;
use askuser::{Context, Purpose, QuestionSet, Request, RequestKey, Rules};
use std::sync::Arc;
use std::time::Duration;

/// Returns a question of call "1" for a purpose.
pub(super) fn request(text: &str, purpose: Purpose, context: Option<Context>) -> Arc<Request> {
    let question = QuestionInput::new(text, "Database").option("A", "a").option("B", "b");
    let set = QuestionSet::new([question], &Rules::strict()).unwrap();
    Arc::new(Request::new(RequestKey::new("session", "1").for_purpose(purpose), set).with_context(context))
}

impl State {
    /// Applies an event and returns the tasks for the driver.
    pub(super) fn step(&mut self, event: Event, now: Duration) -> Vec<Effect> {
        self.update(event, now);
        self.effects.drain(..).collect()
    }
}
