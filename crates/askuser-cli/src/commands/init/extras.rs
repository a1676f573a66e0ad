//! What `askuser init` offers beside the server: Claude Code's hooks, a key of tmux, a line of instructions.

use super::clients::Home;
use super::jsonc;
use super::server_command::Programs;
use std::path::PathBuf;

/// Something that is added to a file of another program and removed again.
pub(super) struct Extra {
    /// As a sentence goes on: "Add … to the file?"
    pub(super) title: &'static str,
    /// What it is good for.
    pub(super) offer: &'static str,
    pub(super) file: fn(&Home<'_>) -> PathBuf,
    kind: Kind,
    /// What is on the PATH where it is of use.
    program: &'static str,
}

enum Kind {
    Line(&'static str),
    Hooks,
}

pub(super) static EXTRAS: [Extra; 3] = [
    Extra {
        title: "Claude Code's hooks",
        offer: "Claude Code's own questions and permissions in the inbox too (hooks)",
        file: |home| home.claude().join("settings.json"),
        kind: Kind::Hooks,
        program: "claude",
    },
    Extra {
        title: "a line for Claude Code",
        offer: "A line in CLAUDE.md that tells Claude Code to ask instead of guessing",
        file: |home| home.claude().join("CLAUDE.md"),
        kind: Kind::Line(
            "When a decision is mine to make, ask me with the AskUserQuestion tool of askuser instead of guessing.",
        ),
        program: "claude",
    },
    Extra {
        title: "a key of tmux",
        offer: "A key of tmux, prefix a, that answers the next question in a popup",
        file: |home| {
            let [old, new] = [home.folder.join(".tmux.conf"), home.config().join("tmux/tmux.conf")];
            if new.exists() && !old.exists() { new } else { old }
        },
        kind: Kind::Line("bind-key a display-popup -E -w 90% -h 90% 'askuser inbox --next'"),
        program: "tmux",
    },
];

impl Extra {
    /// Whether it is of use here.
    pub(super) fn is_useful(&self, programs: &Programs) -> bool {
        programs.find(self.program).is_some()
    }

    pub(super) fn is_in(&self, text: &str) -> Result<bool, String> {
        match self.kind {
            Kind::Line(line) => Ok(text.lines().any(|other| other == line)),
            Kind::Hooks => jsonc::has_hooks(text),
        }
    }

    /// The file with it; `askuser` is what starts this program.
    pub(super) fn add(&self, text: &str, askuser: &str) -> Result<String, String> {
        match self.kind {
            _ if self.is_in(text)? => Ok(text.to_owned()),
            Kind::Line(line) => {
                let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                Ok(format!("{text}{end}{line}\n"))
            }
            Kind::Hooks => jsonc::add_hooks(text, askuser),
        }
    }

    /// The file without it, where what undoes the change does not fit any more.
    pub(super) fn remove(&self, text: &str) -> Result<String, String> {
        match self.kind {
            Kind::Line(line) => {
                let is_other = |other: &&str| other.trim_end_matches(['\r', '\n']) != line;
                Ok(text.split_inclusive('\n').filter(is_other).collect())
            }
            Kind::Hooks => jsonc::remove_hooks(text),
        }
    }
}
