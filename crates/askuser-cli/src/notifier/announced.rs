//! Runs the user's own command whenever a question is asked.

use super::command;
use askuser::{Asker, Asking, Closed, Decision, Request, RequestKey};
use std::sync::Arc;

/// An asker whose questions are announced by a command.
pub(crate) struct Announced {
    pub(crate) command: String,
    pub(crate) person: Arc<dyn Asker>,
}

impl Asker for Announced {
    fn decide(&self, request: &Request) -> Decision {
        self.person.decide(request)
    }

    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        // What becomes of it is of no interest here.
        let _ = command::run(&self.command, request, None);
        self.person.ask(request)
    }

    fn close(&self, key: &RequestKey, why: &Closed) {
        self.person.close(key, why);
    }

    fn take_back<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        self.person.take_back(request)
    }
}

/// Announces the questions of an asker, if the user wants that.
pub(crate) fn announced(command: Option<&str>, person: Option<Arc<dyn Asker>>) -> Option<Arc<dyn Asker>> {
    match (command, person) {
        (Some(command), Some(person)) => Some(Arc::new(Announced { command: command.to_owned(), person })),
        (_, person) => person,
    }
}
