//! Notifies the person of a waiting question: by a popup in a terminal multiplexer, by their own command, and by a
//! notification. The notification is on the asking process's terminal, or else on the desktop.
//!
//! The notifier runs concurrently, so it can neither delay nor fail the question. Errors are stored for `askuser
//! doctor`. Each question is announced once, unless a visible list already shows it.

mod command;
mod desktop;
pub(crate) mod popup;

use crate::config::Settings;
use crate::signals;
use crate::store::display;
use askuser::sanitize;
use askuser::store::{Handle, NotifierFailure, Principal, StoredQuestion};
use askuser::{Inbox, Via};
use askuser_inbox::{InboxAsker, Location};
pub(crate) use command::run;
use popup::Popups;
use std::io::{IsTerminal, Write};
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// The time for which a prompt at the asking process delays other calls.
const SHOWN_HERE: Duration = Duration::from_secs(30);

/// The number of calls that have not left this process, with a condition variable for its change.
static LEAVING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

pub(crate) fn notifier(
    settings: &Settings,
    location: &Location,
    asker: &InboxAsker,
    is_shown_here: bool,
) -> impl Fn(&StoredQuestion) + Send + Sync + use<> {
    let call = Call {
        command: settings.on_question.clone(),
        popups: Popups::of(settings, location),
        notify: settings.notify,
        // The store is used as the person, because the person's view determines whom to call.
        person: asker.handle(Principal::person(asker.person(), Via::Inbox)),
        is_shown_here,
    };
    let call = Arc::new(call);
    move |question: &StoredQuestion| {
        let call = call.clone();
        let question = question.clone();
        *lock() += 1;
        let started = std::thread::Builder::new().name("askuser-reach".into()).spawn(move || call.out(&question));
        if started.is_err() {
            *lock() -= 1;
        }
    }
}

/// Returns the ways to call the person to a question if the asking process has no terminal.
pub(crate) fn ways(settings: &Settings) -> Vec<&'static str> {
    let command = settings.on_question.is_some();
    let popup = settings.popup && Popups::are_there();
    let desktop = settings.notify && !command && !popup && desktop::is_there();
    let ways = [(command, "your on_question command"), (popup, "a popup"), (desktop, "a desktop notification")];
    ways.into_iter().filter(|(is_used, _)| *is_used).map(|(_, way)| way).collect()
}

/// Waits for a limited time until every call was made, so that the process may end.
pub(crate) fn wait_until_called() {
    let waits = |leaving: &mut usize| *leaving > 0;
    let limit = if signals::received().is_some() { signals::GRACE } else { Duration::from_secs(2) };
    drop(LEAVING.1.wait_timeout_while(lock(), limit, waits));
}

fn lock() -> std::sync::MutexGuard<'static, usize> {
    LEAVING.0.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Call {
    command: Option<String>,
    popups: Option<Popups>,
    notify: bool,
    person: Handle,
    /// Whether a prompt of the asking process shows the question.
    is_shown_here: bool,
}

impl Call {
    fn out(&self, question: &StoredQuestion) {
        if self.is_list_shown() {
            return self.left();
        }
        let announced =
            self.command.as_ref().map(|command| command::run(command, &question.request, Some(question.id.as_str())));
        // For other people's questions only the command is called, because it may be able to reach them.
        let is_asked = self.person.principal().is_asked(&question.request);
        let popups = self.popups.as_ref().filter(|_| is_asked);
        let mut pause = if self.is_shown_here { Some(SHOWN_HERE) } else { popups.and_then(|_| popup::pause()) };
        while let Some(wait) = pause {
            self.left();
            std::thread::sleep(wait);
            let question = pollster::block_on(self.person.get(&question.id));
            let is_over = question.is_ok_and(|question| question.ending.is_some());
            if is_over || self.is_list_shown() {
                return;
            }
            *lock() += 1;
            pause = popups.and_then(|_| popup::pause());
        }
        let popup = popups.and_then(|popups| popups.open(question));
        let popup = popup.and_then(|opened| opened.inspect_err(|error| self.failed("popup", error)).ok());
        let mut desktop = None;
        if popup.is_none() && self.notify && is_asked && !self.is_shown_here {
            // A person at the asking process's terminal needs no other call. A command replaces the desktop
            // notification.
            if std::io::stderr().is_terminal() {
                self.say_here(question);
            } else if announced.is_none() {
                desktop = desktop::notify(question);
            }
        }
        self.left();
        // The process no longer waits for this call. Only its result is recorded.
        if let Some(Ok(status)) = popup.map(|mut popup| popup.wait())
            && !status.success()
            && status.code() != Some(1)
        {
            self.failed("popup", &status.to_string());
        }
        let ended = |mut child: Child| match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(status.to_string()),
            Err(error) => Err(error.to_string()),
        };
        self.note("notify-send", desktop.map(|started| started.and_then(ended)));
        self.note("on_question", announced.map(|announced| announced.and_then(|announced| announced.wait())));
    }

    fn left(&self) {
        *lock() -= 1;
        LEAVING.1.notify_all();
    }

    fn failed(&self, what: &str, why: &str) {
        let failure = NotifierFailure { at_ms: 0, what: what.to_owned(), why: why.to_owned() };
        let _ = pollster::block_on(self.person.note_failure(Some(&failure)));
    }

    /// Records the result of a call: its failure, or that a call that had failed now works.
    fn note(&self, what: &str, outcome: Option<Result<(), String>>) {
        match outcome {
            Some(Err(why)) => self.failed(what, &why),
            Some(Ok(())) => {
                let last = pollster::block_on(self.person.last_failure()).ok().flatten();
                if last.is_some_and(|last| last.what == what) {
                    let _ = pollster::block_on(self.person.note_failure(None));
                }
            }
            None => {}
        }
    }

    fn is_list_shown(&self) -> bool {
        pollster::block_on(self.person.is_list_shown()).unwrap_or(false)
    }

    /// Rings the bell and notifies through the terminal of the asking process.
    fn say_here(&self, question: &StoredQuestion) {
        let mut stderr = std::io::stderr();
        let text = plain(&format!("{} asks: {}", display::who(question), question.request.title()));
        let term = std::env::var("TERM").unwrap_or_default();
        let notification = if term.contains("kitty") {
            format!("\x1b]99;;{text}\x1b\\")
        } else if term.starts_with("rxvt") || term.contains("ghostty") {
            format!("\x1b]777;notify;askuser;{text}\x1b\\")
        } else if term == "dumb" || term.is_empty() {
            String::new()
        } else {
            format!("\x1b]9;{text}\x1b\\")
        };
        let _ = write!(stderr, "\x07{notification}").and_then(|()| stderr.flush());
    }
}

/// Returns a text without any characters that a terminal or multiplexer interprets. For example, tmux runs `#(…)` in a
/// title.
fn plain(text: &str) -> String {
    let plain = |c: &char| c.is_alphanumeric() || " .,:?!'()/_-~".contains(*c);
    sanitize::line(text).chars().filter(plain).take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_holds_nothing_that_a_multiplexer_would_run() {
        assert_eq!(plain("#(touch /tmp/x) a\u{1b}]0;b `c` $(d)"), "(touch /tmp/x) a0b c (d)");
    }
}
