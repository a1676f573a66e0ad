//! `askuser confirm`: asks a yes-or-no question. Only an explicit yes exits with 0.

use super::ask;
use crate::config::{Format, Settings};
use crate::failure::Failure;
use crate::source;
use askuser::input::QuestionInput;
use askuser::{Form, QuestionSet, Rules, Violation};
use clap::ArgMatches;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    // The cursor starts at the recommended option.
    let no = if args.get_one::<String>("default").is_some_and(|default| default == "no") {
        "No (Recommended)"
    } else {
        "No"
    };
    let question = question(args, Form::Confirm).option("Yes", "").option(no, "");
    put(question, &Rules::confirm(), Format::Nothing, args, settings)
}

/// Returns the question of a command, without its options.
pub(super) fn question(args: &ArgMatches, form: Form) -> QuestionInput {
    let given = |name: &str| args.get_one::<String>(name).map(String::as_str);
    let header = given("header").unwrap_or(form.default_header());
    QuestionInput::new(given("question").unwrap_or("Choose from the list"), header)
}

/// Asks a question by rules that are not used for a model's input.
pub(super) fn put(
    question: QuestionInput,
    rules: &Rules,
    format: Format,
    args: &ArgMatches,
    settings: &Settings,
) -> Result<u8, Failure> {
    let shortened = |text: String| text.replace("questions[0].", "");
    let named = |bad: Violation| Violation { path: shortened(bad.path), fact: shortened(bad.fact), ..bad };
    let set = QuestionSet::new([question], rules).map_err(|bad| source::invalid(bad.map(named)))?;
    ask::put(set, args, &Settings { format: Some(format), ..settings.clone() })
}
