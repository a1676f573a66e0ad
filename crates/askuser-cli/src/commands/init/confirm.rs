//! Shows a change exactly, and asks the person to agree to it.

use crate::commands::ask::broken_off;
use crate::config::Settings;
use crate::failure::{Failure, exit};
use crate::store::only_a_person;
use crate::surfaces::terminal_options;
use askuser::input::QuestionInput;
use askuser::{Answer, Context, Purpose, QuestionSet, Request, RequestKey, Resolution, Rules, Status};
use askuser_terminal::ask_request;
use similar::TextDiff;

const YES: &str = "Yes";
const NO: &str = "No";

/// Returns a change in unified format.
pub(super) fn diff(name: &str, before: &str, after: &str) -> String {
    TextDiff::from_lines(before, after).unified_diff().context_radius(3).header(name, name).to_string()
}

pub(super) fn agrees(question: &str, header: &str, diff: &str, settings: &Settings) -> Result<bool, Failure> {
    let question = QuestionInput::new(question, header).option(YES, "").option(NO, "");
    let set = QuestionSet::new([question], &Rules::confirm()).map_err(Failure::new)?;
    Ok(is_answered_with(&ask(set, Some(Context::Diff(diff.into())), Vec::new(), settings)?, YES))
}

/// Returns whether the person chose exactly this option.
pub(in crate::commands) fn is_answered_with(resolution: &Resolution, label: &str) -> bool {
    let is_it = |answer: &Answer| answer.selected_options == [label] && answer.custom_input.is_none();
    *resolution.outcome().status() == Status::Answered && resolution.outcome().answers().iter().all(is_it)
}

/// Asks at the terminal and returns the resolution. Only a person at the terminal can agree to this.
pub(in crate::commands) fn ask(
    set: QuestionSet,
    context: Option<Context>,
    known: Vec<Answer>,
    settings: &Settings,
) -> Result<Resolution, Failure> {
    only_a_person("agree to this")?;
    let key = RequestKey::new("askuser init", "set up").for_purpose(Purpose::Choice);
    let request = Request::new(key, set).with_context(context).with_known(known).map_err(Failure::new)?;
    let options = terminal_options(settings);
    let resolution = ask_request(&request, &options).map_err(broken_off)?;
    match resolution.outcome().status() {
        Status::Unavailable { reason } => Err(Failure::new(format!("no person can be asked: {reason}"))
            .hint("name the clients and add --yes to write without asking, or --print to see the change")
            .code(exit::UNAVAILABLE)),
        _ => Ok(resolution),
    }
}
