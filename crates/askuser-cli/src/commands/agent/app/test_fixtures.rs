//! Requests for the tests of the app.

use askuser::input::QuestionInput;
use askuser::{Context, Purpose, QuestionSet, Request, RequestKey, Rules};
use std::sync::Arc;

/// A question of call "1" for a purpose.
pub(super) fn request(text: &str, purpose: Purpose, context: Option<Context>) -> Arc<Request> {
    let question = QuestionInput::new(text, "Database").option("A", "a").option("B", "b");
    let set = QuestionSet::new([question], &Rules::strict()).unwrap();
    Arc::new(Request::new(RequestKey::new("session", "1").for_purpose(purpose), set).with_context(context))
}
