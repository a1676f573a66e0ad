//! Every setting, in one table: flags, variables, files and documentation follow from it.

/// A row of the table.
pub(crate) struct Setting {
    /// The key in `askuser.toml`; `--name` as a flag, `ASKUSER_NAME` in the environment.
    pub(crate) name: &'static str,
    /// What stands for its value in help; empty for a switch.
    pub(crate) value: &'static str,
    pub(crate) default: &'static str,
    pub(crate) help: &'static str,
    /// Whether a project's file may set it. What answers in a person's place is theirs alone to say: a repository, or
    /// an agent that can write to it, must not.
    pub(crate) by_project: bool,
}

const fn setting(name: &'static str, value: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting { name, value, default, help, by_project: true }
}

pub(crate) const SETTINGS: &[Setting] = &[
    setting(
        "timeout",
        "DURATION",
        "none",
        "Give up after this long, such as 30s or 5m; any key holds it [default: none]",
    ),
    Setting {
        by_project: false,
        ..setting("answers", "FILE", "none", "Take answers from a JSON or TOML file, keyed by header or question text")
    },
    Setting {
        by_project: false,
        ..setting("headless", "fail|recommended", "none", "Ask nobody: fail, or take the options marked (Recommended)")
    },
    setting("plain", "", "false", "Ask line by line, for screen readers and dumb terminals"),
    setting("repair", "", "false", "Mend cosmetic faults of the input instead of rejecting it"),
    setting("arm", "DURATION", "250ms", "Ignore Enter, Space and digits for this long after the first frame; 0 is off"),
    setting("flash", "DURATION", "80ms", "Show the answered prompt in the colour of success for this long; 0 is off"),
    setting("confirm", "boxed|inline|none", "inline", "What to leave in the scrollback"),
    setting("theme", "auto|dark|light", "auto", "Colours for a dark or a light background"),
    setting("color", "auto|none|16|256|truecolor", "auto", "How many colours to use"),
    setting(
        "format",
        "auto|text|json|record",
        "auto",
        "How to print the result; auto is text on a terminal, else json",
    ),
];
