//! Who is asked, in layers: what the policy knows first, then the hook, then whoever is there.

use crate::hook;
use askuser::asker::Asking;
use askuser::policy::{Decision, Headless, Policy};
use askuser::{Asker, Request};
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
    match (&policy.answers, policy.headless) {
        (None, None) => return Ok(person),
        (None, Some(Headless::Fail)) => return Ok(None),
        _ => {}
    }
    Ok(Some(match person {
        Some(person) => Arc::new(PolicyFirst { policy, person }),
        None => Arc::new(policy),
    }))
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

/// Answers by policy, and asks a person where that does not settle it.
struct PolicyFirst {
    policy: Policy,
    person: Arc<dyn Asker>,
}

impl Asker for PolicyFirst {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        match self.policy.decide(&request.set) {
            Ok(Decision::Ask(_)) => self.person.ask(request),
            Ok(Decision::Settled(_)) | Err(_) => self.policy.ask(request),
        }
    }
}
