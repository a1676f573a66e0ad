//! Tests popups in a real tmux: their place, their size, and the step after an answer.

use crate::inbox::{pending, run, until};
use crate::terminal::{Stage, Terminal, example, wait_until};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A tmux server with a person at its only pane, which runs a shell.
struct Tmux {
    stage: Stage,
    person: Terminal,
}

impl Tmux {
    /// Starts the server. Returns `None` if tmux is not installed.
    fn start(columns: u16, rows: u16) -> Option<Tmux> {
        if Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_err() {
            askuser_conformance::left_out_without("tmux");
            return None;
        }
        let stage = Stage::new().size(columns, rows);
        let folder = stage.path("").display().to_string();
        let stage = stage.env("TMUX_TMPDIR", &folder).env("ASKUSER_KEY_DELAY", "0");
        let person = stage.command(&["tmux", "-f", "/dev/null", "new-session", "sh", "-c", "echo at work; exec sh"]);
        person.wait_for("at work");
        Some(Tmux { stage, person })
    }

    fn tell(&self, words: &[&str]) {
        let tmux = Command::new("tmux").env("TMUX_TMPDIR", self.stage.path("")).env_remove("TMUX").args(words).output();
        assert!(tmux.unwrap().status.success(), "{words:?}");
    }

    /// Starts an asking process outside of tmux.
    fn ask(&self, name: &str) -> std::process::Child {
        self.stage.spawn(&["ask", "--via", "inbox", &example(name)])
    }

    fn wait_for_popup(&self) {
        self.person.wait_for(" askuser ─");
    }

    /// Returns the columns and rows of the popup on the screen.
    fn popup(&self) -> (usize, usize) {
        let screen = self.person.screen();
        let rows: Vec<&str> = screen.lines().skip_while(|row| !row.contains(" askuser ─")).collect();
        let top = rows[0].trim();
        (top.chars().count(), rows.iter().position(|row| row.contains('┘')).map_or(0, |last| last + 1))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let tmux =
            Command::new("tmux").env("TMUX_TMPDIR", self.stage.path("")).env_remove("TMUX").arg("kill-server").output();
        let _ = tmux;
    }
}

#[test]
fn no_popup_covers_the_askers_pane_while_the_person_types_there() {
    let Some(mut tmux) = Tmux::start(100, 30) else { return };
    let binaries = std::path::Path::new(env!("CARGO_BIN_EXE_askuser")).parent().unwrap().display();
    tmux.person.keys(&format!("PATH={binaries}:$PATH askuser ask --via inbox {}<enter>", example("database")));
    pending(&tmux.stage, 1);
    let asked = Instant::now();
    while asked.elapsed() < Duration::from_secs(5) {
        assert!(
            !tmux
                .person
                .screen_within(Duration::from_millis(500), |screen| screen.contains(" askuser ─"))
                .contains(" askuser ─")
        );
        tmux.person.keys("<space>");
    }
    // In another pane the person may not see the prompt.
    tmux.tell(&["split-window", "-h", "cat"]);
    tmux.wait_for_popup();
}

#[test]
fn a_popup_is_as_large_as_its_question() {
    let Some(tmux) = Tmux::start(160, 50) else { return };
    let mut asker = tmux.ask("database");
    tmux.wait_for_popup();
    tmux.person.wait_for("PostgreSQL");
    let (columns, rows) = tmux.popup();
    assert!((50..=105).contains(&columns) && (8..=24).contains(&rows), "{columns}x{rows}:\n{}", tmux.person.screen());
    asker.kill().unwrap();
    asker.wait().unwrap();
}

#[test]
fn after_an_answer_the_popup_says_what_waits_and_closes() {
    let Some(mut tmux) = Tmux::start(100, 30) else { return };
    let mut first = tmux.ask("database");
    tmux.wait_for_popup();
    tmux.person.wait_for("PostgreSQL");
    let mut second = tmux.ask("package-manager");
    pending(&tmux.stage, 2);
    // Keys count only after the keyboard was idle.
    until("the answer", || {
        tmux.person.keys("<enter>");
        tmux.person.shows_within(Duration::from_millis(2_000), "1 more waiting · enter next").then_some(())
    });
    let said = Instant::now();
    tmux.person.wait_gone(" askuser ─");
    assert!(said.elapsed() < Duration::from_secs(10), "{:?}", said.elapsed());
    assert_eq!(pending(&tmux.stage, 1).len(), 1);
    let log = run(&tmux.stage, &["log"]);
    assert!(log.stdout.contains("PostgreSQL"), "{}", log.stdout);
    wait_until("the first asker ended", || first.try_wait().unwrap().is_some());
    second.kill().unwrap();
    second.wait().unwrap();
}
