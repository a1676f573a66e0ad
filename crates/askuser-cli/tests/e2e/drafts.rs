//! Unsent text is saved within a second and on every signal, however the prompt ends.

use crate::inbox::{Printed, detached, id, pending, run};
use crate::terminal::{PATIENCE, RESTORED, Stage, Terminal, example, wait_until};
use askuser::Via;
use askuser::store::{Draft, DraftSave, DraftVersion, Handle, Principal, QuestionId};
use askuser_inbox::Location;
use rustix::process::Signal;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) fn stage() -> Stage {
    Stage::new().env("USER", "ada")
}

/// The store of a test environment, as another surface of the same person uses it.
pub(crate) struct Drafts(Handle);

impl Drafts {
    pub(crate) fn of(stage: &Stage) -> Drafts {
        let file = stage.path(".local/state/askuser/inbox/inbox.sqlite");
        Drafts(Handle::new(Location::File(file).open().unwrap(), Principal::person("ada", Via::Web)))
    }

    pub(crate) fn words(&self, id: &str) -> String {
        pollster::block_on(self.0.draft(&QuestionId::parse(id).unwrap())).unwrap().words().join("\n")
    }

    /// Returns every draft of this person.
    fn all(&self, id: &str) -> String {
        let drafts = pollster::block_on(self.0.drafts(&QuestionId::parse(id).unwrap())).unwrap();
        drafts.iter().flat_map(|saved| saved.draft.words()).collect::<Vec<_>>().join("\n")
    }

    /// Saves a draft of the same person at another surface.
    fn type_elsewhere(&self, id: &str, text: &str) {
        let draft = Draft { discuss: Some(text.to_owned()), ..Draft::default() };
        let save = DraftSave { draft, version: DraftVersion::of_new_writer(), replaces: Vec::new() };
        pollster::block_on(self.0.save_draft(&QuestionId::parse(id).unwrap(), &save)).unwrap();
    }

    /// Waits until this is the unsent text.
    #[track_caller]
    pub(crate) fn wait_for(&self, id: &str, words: &str) {
        self.wait_until(id, words, |found| found == words);
    }

    #[track_caller]
    fn wait_until(&self, id: &str, what: &str, holds: impl Fn(&str) -> bool) {
        wait_until(&format!("{what:?} is kept"), || holds(&self.words(id)));
    }
}

/// Opens the prompt of a question.
pub(crate) fn answer(stage: &Stage, id: &str, args: &[&str]) -> Terminal {
    stage.askuser(&[&["answer", id, "--key-delay", "0", "--success-flash", "0"], args].concat(), "")
}

/// Opens the prompt of the example with one question, and types a text.
fn typing(stage: &Stage, id: &str) -> Terminal {
    let mut terminal = answer(stage, id, &[]);
    terminal.wait_for("esc later");
    terminal.keys("4my own");
    terminal.wait_for("my own█");
    terminal
}

/// Checks that the unsent text is restored and can be sent.
#[track_caller]
fn check_offered_again(stage: &Stage, id: &str) {
    let mut terminal = answer(stage, id, &[]);
    terminal.wait_for("Please specify: my own");
    terminal.keys("<enter>");
    terminal.wait_for("my own█");
    terminal.keys(" words<enter>");
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.modes), (Some(0), RESTORED), "{}", ended.stderr);
    assert!(run(stage, &["wait", id, "--format", "text"]).stdout.contains("my own words"));
    assert_eq!(Drafts::of(stage).words(id), "", "what was sent is no draft");
}

#[test]
fn what_was_typed_is_saved_within_a_second_and_kill_9_loses_none_of_it() {
    let stage = stage();
    let id = detached(&stage, "database", &[]);
    let terminal = typing(&stage, &id);
    Drafts::of(&stage).wait_for(&id, "Database: my own");
    terminal.signal(Signal::KILL);
    terminal.finish();
    check_offered_again(&stage, &id);
}

#[test]
fn every_signal_that_ends_a_prompt_saves_what_was_typed() {
    for signal in [Signal::TERM, Signal::HUP, Signal::QUIT, Signal::INT, Signal::USR1, Signal::ALARM] {
        let stage = stage();
        let id = detached(&stage, "database", &[]);
        let terminal = typing(&stage, &id);
        terminal.signal(signal);
        assert_eq!(terminal.finish().modes, RESTORED, "{signal:?}");
        assert_eq!(Drafts::of(&stage).words(&id), "Database: my own", "{signal:?}");
        check_offered_again(&stage, &id);
    }
}

#[test]
fn in_line_mode_too_each_answer_is_saved_whatever_ends_the_prompt() {
    for signal in [Signal::KILL, Signal::TERM, Signal::HUP] {
        let stage = stage();
        let id = detached(&stage, "authentication", &[]);
        let mut terminal = answer(&stage, &id, &["--plain"]);
        terminal.wait_for("Question 1 of 2");
        terminal.keys("2<enter>");
        terminal.wait_for("Question 2 of 2");
        if signal == Signal::KILL {
            Drafts::of(&stage).wait_for(&id, "Auth Method: JWT");
        }
        terminal.signal(signal);
        terminal.finish();
        assert_eq!(Drafts::of(&stage).words(&id), "Auth Method: JWT", "{signal:?}");
        answer(&stage, &id, &["--plain"]).wait_for("Question 2 of 2");
    }
}

/// A separate tmux server, which ends with the test.
struct Tmux(Stage);

impl Tmux {
    /// Starts the server. Returns `None` if tmux is not installed.
    fn new() -> Option<Tmux> {
        if Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_err() {
            askuser_conformance::left_out_without("tmux");
            return None;
        }
        let stage = stage().size(100, 30);
        let folder = stage.path("").display().to_string();
        Some(Tmux(stage.env("TMUX_TMPDIR", &folder)))
    }

    /// Attaches a client that runs this script.
    fn person(&self, script: &str) -> Terminal {
        self.0.command(&["tmux", "-f", "/dev/null", "new-session", "sh", "-c", script])
    }

    fn tell(&self, words: &[&str]) -> std::process::Output {
        // The tests themselves may run in tmux.
        Command::new("tmux").env("TMUX_TMPDIR", self.0.path("")).env_remove("TMUX").args(words).output().unwrap()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.tell(&["kill-server"]);
    }
}

#[test]
fn what_was_typed_is_saved_when_the_terminal_is_closed() {
    // A signal reports the closed terminal. A process that ignores the signal detects it itself.
    for before in ["", "trap '' HUP; "] {
        let Some(tmux) = Tmux::new() else { return };
        let stage = &tmux.0;
        let id = detached(stage, "database", &[]);
        let mut terminal = tmux.person(&format!("{before}exec askuser answer {id} --key-delay 0 --success-flash 0"));
        terminal.wait_for("esc later");
        terminal.keys("4my own");
        terminal.wait_for("my own");
        tmux.tell(&["kill-server"]);
        Drafts::of(stage).wait_for(&id, "Database: my own");
        check_offered_again(stage, &id);
    }
}

#[test]
fn what_was_typed_in_a_popup_is_saved_when_it_is_closed_and_when_its_client_is_detached() {
    for closing in [&["display-popup", "-C"][..], &["detach-client"]] {
        let Some(tmux) = Tmux::new() else { return };
        let stage = &tmux.0;
        let mut person = tmux.person("echo at work; exec cat");
        person.wait_for("at work");
        let asked = ["ask", &example("database"), "--via", "inbox", "--from", "claude", "--detach"];
        assert_eq!(run(stage, &asked).code, Some(75));
        person.wait_for("esc later");
        let id = id(&pending(stage, 1)[0]).to_owned();
        person.keys("<up>");
        person.keys("<down><down><down>");
        person.wait_for("> 4 ○ Other");
        // No key types text before the keyboard was idle.
        let deadline = Instant::now() + PATIENCE;
        while !person.shows_within(Duration::from_millis(1_500), "Please specify: x") {
            assert!(Instant::now() < deadline, "{}", person.screen());
            person.keys("x");
        }
        let told = tmux.tell(closing);
        assert!(told.status.success(), "{closing:?}: {}", String::from_utf8_lossy(&told.stderr));
        Drafts::of(stage).wait_until(&id, "x", |words| words.starts_with("Database: x"));
    }
}

/// Opens the prompt of an asking process whose question is also in the inbox.
fn asking(stage: &Stage, args: &[&str]) -> Terminal {
    let asks = ["ask", "--key-delay", "0", "--success-flash", "0", "--popup", "none", "--via", "terminal,inbox"];
    stage.askuser(&[&asks[..], args, &[&example("database")]].concat(), "")
}

#[test]
fn a_prompt_beside_the_inbox_keeps_drafts_that_go_on_at_any_other() {
    for signal in [Signal::KILL, Signal::TERM, Signal::HUP] {
        let stage = stage();
        let mut terminal = asking(&stage, &[]);
        terminal.wait_for("? keys");
        let id = id(&pending(&stage, 1)[0]).to_owned();
        terminal.keys("4my own");
        terminal.wait_for("my own█");
        if signal == Signal::KILL {
            Drafts::of(&stage).wait_for(&id, "Database: my own");
        }
        terminal.signal(signal);
        terminal.finish();
        assert_eq!(Drafts::of(&stage).words(&id), "Database: my own", "{signal:?}");
        check_offered_again(&stage, &id);
    }
}

#[test]
fn asking_once_more_finds_what_was_typed_at_another_prompt() {
    let stage = stage();
    let id = detached(&stage, "database", &["--key", "k"]);
    let mut terminal = typing(&stage, &id);
    terminal.keys("<c-c>");
    assert_eq!(terminal.finish().code, Some(75));
    let mut terminal = asking(&stage, &["--key", "k"]);
    terminal.wait_for("Please specify: my own");
    terminal.keys("2");
    assert_eq!(terminal.finish().code, Some(0));
    assert_eq!(Drafts::of(&stage).words(&id), "", "what was sent is no draft");
}

#[test]
fn what_was_typed_when_another_surface_was_first_can_still_be_read() {
    let stage = stage();
    let ask = |args: &[&str]| {
        let mut terminal = asking(&stage, args);
        terminal.wait_for("? keys");
        let id = id(&pending(&stage, 1)[0]).to_owned();
        terminal.keys("4my own");
        terminal.wait_for("my own█");
        (terminal, id)
    };
    let answered = |terminal: Terminal, id: &str| {
        assert_eq!(run(&stage, &["answer", id, "--select", "SQLite"]).code, Some(0));
        terminal.wait_for("Answered by ada from inbox (Database: SQLite)");
        terminal.wait_for("Not sent: Database: my own");
        let ended = terminal.finish();
        // The message about the ending also contains the unsent text.
        let Printed { code, stderr, .. } = run(&stage, &["answer", id]);
        assert_eq!((code, stderr.contains("\nnot sent: Database: my own\n")), (Some(4), true), "{stderr}");
        ended
    };
    let (terminal, id) = ask(&[]);
    assert_eq!(answered(terminal, &id).code, Some(0));
    let id = detached(&stage, "database", &[]);
    let ended = answered(typing(&stage, &id), &id);
    assert_eq!(ended.code, Some(4));
    assert!(ended.stderr.contains(&format!("`askuser answer {id}` shows once more")), "{}", ended.stderr);
    let mut list = stage.shell("exec askuser inbox 2>err");
    list.wait_for("Nothing is waiting.");
    list.keys("h");
    list.wait_for("You had not sent: Database: my own");
}

#[test]
fn a_question_that_was_only_opened_keeps_its_draft() {
    let stage = stage();
    let id = detached(&stage, "database", &[]);
    let drafts = Drafts::of(&stage);
    let mut terminal = answer(&stage, &id, &[]);
    terminal.wait_for("esc later");
    drafts.type_elsewhere(&id, "at the phone");
    terminal.keys("<esc>");
    assert_eq!(terminal.finish().code, Some(75));
    assert_eq!(drafts.all(&id), "To talk about: at the phone");
}

#[test]
fn kill_9_between_any_two_steps_loses_no_saved_text() {
    for last in 0..5 {
        let stage = stage();
        let id = detached(&stage, "database", &[]);
        let drafts = Drafts::of(&stage);
        let mut terminal = answer(&stage, &id, &[]);
        terminal.wait_for("esc later");
        let desk = "Database: at the desk";
        let phone = "To talk about: at the phone";
        let mut saved = Vec::new();
        for step in 0..=last {
            match step {
                0 => terminal.keys("4at the desk"),
                1 => {
                    drafts.wait_for(&id, desk);
                    saved.push(desk);
                }
                2 => {
                    drafts.type_elsewhere(&id, "at the phone");
                    saved.push(phone);
                }
                3 => {
                    terminal.keys(", later");
                    terminal.wait_for("Typed on the page just now: To talk about: at the phone");
                }
                _ => {
                    terminal.keys("<c-t>");
                    drafts.wait_until(&id, "the other text alone", |_| drafts.all(&id) == phone);
                    saved.retain(|text| *text == phone);
                }
            }
        }
        terminal.signal(Signal::KILL);
        terminal.finish();
        let found = drafts.all(&id);
        assert!(saved.iter().all(|text| found.contains(text)), "after step {last}: {found}");
        // The next prompt shows both drafts.
        if saved.len() == 2 {
            let terminal = answer(&stage, &id, &[]);
            terminal.wait_for("ctrl-t keep it");
            let screen = terminal.screen();
            let is_phones_shown = ["at the phone", "What you had typed at c"].iter().any(|text| screen.contains(text));
            assert!(screen.contains("at the desk") && is_phones_shown, "{screen}");
        }
    }
}
