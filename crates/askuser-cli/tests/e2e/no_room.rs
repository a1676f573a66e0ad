//! Tests a full disk, with a limit that the kernel sets for a running process.

use crate::drafts::{Drafts, answer, stage};
use crate::inbox::detached;
use crate::terminal::{RESTORED, Terminal};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// Sets whether the files that a process writes may grow.
fn set_room(terminal: &Terminal, has_room: bool) {
    let current = if has_room { None } else { Some(0) };
    prlimit(Pid::from_raw(terminal.pid()), Resource::Fsize, Rlimit { current, maximum: None }).unwrap();
}

#[test]
fn a_prompt_stays_open_where_what_was_typed_cannot_be_saved_and_who_insists_leaves() {
    for (args, keys, leave) in [(&[][..], "4my own", "<c-c>"), (&["--plain"], "4<enter>my own", "<c-d>")] {
        let stage = stage();
        let id = detached(&stage, "authentication", &[]);
        let open = || {
            let mut terminal = answer(&stage, &id, args);
            terminal.wait_for("Question 1 of 2");
            set_room(&terminal, false);
            terminal.keys(keys);
            terminal.wait_for("my own");
            if !args.is_empty() {
                terminal.keys("<enter>");
            }
            // The message appears within a second, without a key.
            terminal.wait_for("What you typed is not saved: disk I/O error");
            terminal.keys(leave);
            terminal.wait_for("leave again to give it up");
            terminal
        };
        let mut terminal = open();
        terminal.keys(leave);
        let ended = terminal.finish();
        assert_eq!((ended.code, ended.modes), (Some(2), RESTORED));
        assert!(ended.screen.contains("Not sent: Auth Method: my own"), "it can be copied:\n{}", ended.screen);
        assert_eq!(Drafts::of(&stage).words(&id), "");
        // Once there is room, leaving saves the text.
        let mut terminal = open();
        set_room(&terminal, true);
        terminal.keys(leave);
        assert_eq!(terminal.finish().code, Some(75));
        assert_eq!(Drafts::of(&stage).words(&id), "Auth Method: my own");
    }
}
