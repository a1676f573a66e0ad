//! Who is asked, in layers: what the policy knows first, then the hook, then whoever is there.

use crate::hook;
use askuser::asker::Asking;
use askuser::policy::{Decision, Policy};
use askuser::{Asker, Outcome, Request, Via};
use askuser_cli::answering;
use askuser_cli::config::Settings;
use askuser_cli::failure::Failure;
use std::sync::Arc;

/// The settings around whoever is there. `None` if nobody ever answers: then the tool is not offered.
pub(crate) fn layered(settings: &Settings, person: Option<Arc<dyn Asker>>) -> Result<Option<Arc<dyn Asker>>, Failure> {
    let policy = answering::policy(settings)?;
    let person: Option<Arc<dyn Asker>> = match (&settings.on_question, person) {
        (Some(command), Some(person)) => Some(Arc::new(Announced { command: command.clone(), person })),
        (_, person) => person,
    };
    if policy.answers.is_none() && policy.headless.is_none() {
        return Ok(person);
    }
    Ok(Some(Arc::new(ByPolicy { policy, person })))
}

/// Runs a command when somebody is asked.
struct Announced {
    command: String,
    person: Arc<dyn Asker>,
}

impl Asker for Announced {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        hook::run(&self.command, request);
        self.person.ask(request)
    }
}

/// Answers by policy; asks for the rest if somebody is there.
struct ByPolicy {
    policy: Policy,
    person: Option<Arc<dyn Asker>>,
}

impl Asker for ByPolicy {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        let settled = match self.policy.decide(&request.set) {
            Ok(Decision::Settled(outcome)) => outcome,
            Ok(Decision::Ask(known)) => match &self.person {
                Some(person) => return person.ask(request),
                None => {
                    let outcome = Outcome::unavailable("the answers file does not cover every question", known);
                    if outcome.answers().is_empty() { outcome } else { outcome.with_via(Via::AnswersFile) }
                }
            },
            Err(violations) => {
                Outcome::unavailable(format!("the answers file does not fit the question: {violations}"), Vec::new())
            }
        };
        Box::pin(std::future::ready(Ok(settled)))
    }
}
