//! Every setting, in one table: flags, variables, files and documentation follow from it.

/// A row of the table.
pub(crate) struct Setting {
    /// The key in `askuser.toml`; `--name` as a flag, `ASKUSER_NAME` in the environment.
    pub(crate) name: &'static str,
    /// What stands for its value in help; empty for a switch.
    pub(crate) value: &'static str,
    pub(crate) default: &'static str,
    pub(crate) help: &'static str,
    /// Who may set it in a file.
    pub(crate) by: By,
}

/// Who may set something in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Anybody, a project's file included.
    Anybody,
    /// The user alone. Whether they are asked, how long, and who answers in their place is theirs to say: a repository,
    /// or an agent that can write to it, must not.
    User,
}

const fn setting(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    by: By,
    help: &'static str,
) -> Setting {
    Setting { name, value, default, by, help }
}

use By::{Anybody, User};

pub(crate) const SETTINGS: &[Setting] = &[
    setting("timeout", "DURATION", "none", User, "Give up after this long, such as 30s or 5m; any key holds it"),
    setting("answers", "FILE", "none", User, "Take answers from a JSON or TOML file, keyed by header or question text"),
    setting("headless", "fail|recommended", "none", User, "Ask nobody: fail, or take the options marked (Recommended)"),
    setting("plain", "", "false", Anybody, "Ask line by line, for screen readers and dumb terminals"),
    setting("repair", "", "false", Anybody, "Mend cosmetic faults of the input instead of rejecting it"),
    setting(
        "arm",
        "DURATION",
        "250ms",
        User,
        "Ignore Enter, Space and digits for this long after the first frame; 0 is off",
    ),
    setting(
        "flash",
        "DURATION",
        "80ms",
        User,
        "Show the answered prompt in the colour of success for this long; 0 is off",
    ),
    setting("confirm", "boxed|inline|none", "inline", Anybody, "What to leave in the scrollback"),
    setting("theme", "auto|dark|light", "auto", Anybody, "Colours for a dark or a light background"),
    setting("color", "auto|none|16|256|truecolor", "auto", Anybody, "How many colours to use"),
    setting(
        "format",
        "auto|text|json|record",
        "auto",
        Anybody,
        "How to print the result; auto is text on a terminal, else json",
    ),
];
