//! `askuser init` without a name: which clients are installed, and which of them to set up.

use super::clients::{CLIENTS, Client, Home};
use super::confirm;
use crate::config::Settings;
use crate::failure::Failure;
use askuser::input::QuestionInput;
use askuser::{Limits, QuestionSet, Rules, Status};

/// The most options that a question may have.
const OPTIONS: usize = 4;
/// In each of several questions: nothing else says that none of its clients is wanted.
const NONE: &str = "None of these";

/// The clients that seem to be installed here.
pub(super) fn installed(home: &Home<'_>, is_on_path: &dyn Fn(&str) -> bool) -> Vec<&'static Client> {
    CLIENTS.iter().filter(|client| client.is_installed(home, is_on_path)).collect()
}

/// Lets the person choose among clients. One alone needs no choice: its change is shown before it is made.
pub(super) fn choose(
    clients: &[&'static Client],
    home: &Home<'_>,
    settings: &Settings,
) -> Result<Vec<&'static Client>, Failure> {
    if clients.len() < 2 {
        return Ok(clients.to_vec());
    }
    let resolution = confirm::ask(questions(clients, home)?, None, settings)?;
    if *resolution.outcome().status() != Status::Answered {
        return Ok(Vec::new());
    }
    let labels = resolution.outcome().answers().iter().flat_map(|answer| &answer.selected_options);
    Ok(labels.filter_map(|label| clients.iter().find(|client| client.title == label).copied()).collect())
}

pub(super) fn questions(clients: &[&'static Client], home: &Home<'_>) -> Result<QuestionSet, Failure> {
    let count = if clients.len() <= OPTIONS { 1 } else { clients.len().div_ceil(OPTIONS - 1) };
    // As even as can be.
    let groups = (0..count).map(|i| &clients[clients.len() * i / count..clients.len() * (i + 1) / count]);
    let option = |question: QuestionInput, client: &&Client| {
        let tried = if client.is_measured { "" } else { "; by its documentation, not tried with it" };
        let text = format!("Changes {}{tried}", home.shown(&client.user_file(home)));
        question.option(client.title, text.chars().take(Limits::DEFAULT.description_chars().max).collect::<String>())
    };
    let question = |(i, group): (usize, &[&'static Client])| {
        let asked = "Which agents should be able to ask you?";
        match count {
            1 => group.iter().fold(QuestionInput::new(asked, "Set up").multi_select(), option),
            _ => {
                let question =
                    QuestionInput::new(format!("{asked} ({} of {count})", i + 1), format!("Set up {}", i + 1));
                group.iter().fold(question.multi_select(), option).option(NONE, "They stay as they are")
            }
        }
    };
    QuestionSet::new(groups.enumerate().map(question), &Rules::strict()).map_err(Failure::new)
}
