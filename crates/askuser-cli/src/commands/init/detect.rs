//! `askuser init` without a name: lets the person choose among the installed clients.

use super::confirm;
use crate::config::Settings;
use crate::failure::Failure;
use askuser::input::QuestionInput;
use askuser::{QuestionSet, Rules, Status};

/// The lines that are ticked at first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ticked {
    All,
    None,
}

/// Lets the person choose among these lines. Returns an empty list if the person cancels.
pub(super) fn choose<T: Copy>(
    question: &str,
    header: &str,
    lines: &[(String, T)],
    ticked: Ticked,
    settings: &Settings,
) -> Result<Vec<T>, Failure> {
    let question = lines.iter().fold(QuestionInput::new(question, header).multi_select(), |question, (line, _)| {
        question.option(line.chars().take(Rules::pick().limits().label_chars.max).collect::<String>(), "")
    });
    let set = QuestionSet::new([question], &Rules::pick()).map_err(Failure::new)?;
    let asked = &set.questions()[0];
    let all: Vec<usize> = (0..lines.len()).collect();
    let known = asked.answer(&all, None, None).filter(|_| ticked == Ticked::All);
    let labels: Vec<String> = asked.options().iter().map(|option| option.label_verbatim().to_owned()).collect();
    let resolution = confirm::ask(set, None, known.into_iter().collect(), settings)?;
    if *resolution.outcome().status() != Status::Answered {
        return Ok(Vec::new());
    }
    let chosen: Vec<&String> =
        resolution.outcome().answers().iter().flat_map(|answer| &answer.selected_options).collect();
    Ok(lines.iter().zip(labels).filter(|(_, label)| chosen.contains(&label)).map(|((_, item), _)| *item).collect())
}
