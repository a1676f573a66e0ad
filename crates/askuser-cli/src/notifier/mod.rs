//! Calling the person to a question that waits: a popup where a terminal multiplexer runs, their own command, and a notification on the
//! terminal of the process that asks or else on the desktop.
//!
//! It runs beside the asking, and neither delays it nor makes it fail; errors are written down for
//! `askuser doctor`. One question is announced once, and not at all while a live list that shows it has the focus.

pub(crate) mod announced;
mod command;
mod desktop;

use crate::config::Settings;
use crate::signals;
use crate::store::words;
use crate::surfaces::terminal_options;
use askuser::sanitize;
use askuser::store::{Handle, NotifierFailure, Principal, StoredQuestion};
use askuser::{Inbox, Via};
use askuser_inbox::{InboxAsker, Location};
use askuser_sys::programs;
use askuser_terminal::Background;
use std::io::{IsTerminal, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long the person is not called elsewhere while a prompt of the asking process shows the question.
const SHOWN_HERE: Duration = Duration::from_secs(30);

/// How many calls have not left yet.
static LEAVING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

pub(crate) fn notifier(
    settings: &Settings,
    location: &Location,
    asker: &InboxAsker,
    is_shown_here: bool,
) -> impl Fn(&StoredQuestion) + Send + Sync + use<> {
    let call = Call {
        command: settings.on_question.clone(),
        // A prompt of its own could not open the database.
        popup: settings.popup && !matches!(location, Location::Postgres(_)),
        notify: settings.notify,
        location: location.to_string(),
        theme: match terminal_options(settings).theme.background {
            Background::Dark => Some("dark"),
            Background::Light => Some("light"),
            Background::Contrast => Some("contrast"),
            Background::Told(_) | Background::Unknown => None,
        },
        // As the person would see it.
        person: asker.handle(Principal::person(asker.person(), Via::Inbox)),
        is_shown_here,
    };
    let call = Arc::new(call);
    move |question: &StoredQuestion| {
        let (call, question) = (call.clone(), question.clone());
        *lock() += 1;
        let started = std::thread::Builder::new().name("askuser-reach".into()).spawn(move || call.out(&question));
        if started.is_err() {
            *lock() -= 1;
        }
    }
}

/// What calls the person, from here, to a question of a process that has no terminal.
pub(crate) fn ways(settings: &Settings) -> Vec<&'static str> {
    let command = settings.on_question.is_some();
    let popup = settings.popup && (std::env::var_os("ZELLIJ").is_some() || last_active_client().is_some());
    let desktop = settings.notify && !command && !popup && desktop::is_there();
    let ways = [(command, "your on_question command"), (popup, "a popup"), (desktop, "a desktop notification")];
    ways.into_iter().filter(|(is_used, _)| *is_used).map(|(_, way)| way).collect()
}

/// Waits until every call is on its way, so that a process may end; not for long.
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
    popup: bool,
    notify: bool,
    location: String,
    /// The theme, where it is known here: in a popup the terminal does not tell it.
    theme: Option<&'static str>,
    person: Handle,
    /// Whether a prompt of the asking process shows it.
    is_shown_here: bool,
}

impl Call {
    fn out(&self, question: &StoredQuestion) {
        if self.is_list_shown() {
            return self.left();
        }
        let announced =
            self.command.as_ref().map(|command| command::run(command, &question.request, Some(question.id.as_str())));
        if self.is_shown_here {
            self.left();
            std::thread::sleep(SHOWN_HERE);
            let question = pollster::block_on(self.person.get(&question.id));
            let is_over = question.is_ok_and(|question| question.ending.is_some());
            if is_over || self.is_list_shown() {
                return;
            }
            *lock() += 1;
        }
        // Only the command is called for others: it may know how to reach them.
        let is_asked = self.person.principal().is_asked(&question.request);
        let popup = if self.popup && is_asked { self.popup(question) } else { None };
        let popup = popup.and_then(|opened| opened.inspect_err(|error| self.failed("popup", error)).ok());
        let mut desktop = None;
        if popup.is_none() && self.notify && is_asked && !self.is_shown_here {
            // A person at the terminal of the process that asks needs no other call, nor one who has a command for it.
            match std::io::stderr().is_terminal() {
                true => self.say_here(question),
                false if announced.is_none() => desktop = desktop::notify(question),
                false => {}
            }
        }
        self.left();
        // From here on no process waits for us; only what became of it is of interest.
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

    /// Writes down what became of a call: how it failed, or that what failed before works now.
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

    /// Opens the prompt in a popup of the multiplexer that the person used last; `None` where there is none.
    fn popup(&self, question: &StoredQuestion) -> Option<Result<Child, String>> {
        // By its name: Linux adds " (deleted)" to the path of a program that an upgrade has replaced.
        let program = std::env::current_exe().ok()?.with_file_name(format!("askuser{}", std::env::consts::EXE_SUFFIX));
        let id = question.id.as_str();
        let mut prompt = vec![program.as_os_str().to_str()?, "answer", id, "--unbidden", "--store", &self.location];
        prompt.extend(self.theme.into_iter().flat_map(|theme| ["--theme", theme]));
        let mut command = if std::env::var_os("ZELLIJ").is_some() {
            let mut command = programs::command("zellij").ok()?;
            command.args(["run", "--floating", "--close-on-exit", "--name", "askuser", "--"]).args(prompt);
            command
        } else {
            let client = last_active_client()?;
            let mut command = programs::command("tmux").ok()?;
            let prompt: Vec<String> = prompt.iter().map(|word| shell_quoted(word)).collect();
            command
                // Not who asks: the question of another may follow in it.
                .args(["display-popup", "-c", &client, "-E", "-w", "90%", "-h", "90%", "-T", " askuser "])
                .arg(prompt.join(" "));
            command
        };
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Some(quiet.spawn().map_err(|error| error.to_string()))
    }

    /// Rings and notifies through the terminal of the process that asks.
    fn say_here(&self, question: &StoredQuestion) {
        let mut stderr = std::io::stderr();
        let text = plain(&format!("{} asks: {}", words::who(question), question.request.title()));
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

fn last_active_client() -> Option<String> {
    let output = programs::command("tmux")
        .ok()?
        .args(["list-clients", "-F", "#{client_activity} #{client_name}"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let clients = text.lines().filter_map(|line| {
        let (activity, name) = line.split_once(' ')?;
        Some((activity.parse::<u64>().ok()?, name.to_owned()))
    });
    clients.max().map(|(_, name)| name)
}

/// Nothing that a terminal or a multiplexer could take for more than text: tmux runs `#(…)` in a title.
fn plain(text: &str) -> String {
    let plain = |c: &char| c.is_alphanumeric() || " .,:?!'()/_-".contains(*c);
    sanitize::line(text).chars().filter(plain).take(120).collect()
}

fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_holds_nothing_that_a_multiplexer_would_run() {
        assert_eq!(plain("#(touch /tmp/x) a\u{1b}]0;b `c` $(d)"), "(touch /tmp/x) a0b c (d)");
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
    }
}
