//! Every setting, in one table: flags, variables, files and documentation follow from it.

/// A row of the table.
pub(crate) struct Setting {
    /// The key in `askuser.toml`; `--name` as a flag, with dashes, `ASKUSER_NAME` in the environment.
    pub(crate) name: &'static str,
    /// What stands for its value in help; empty for a switch.
    pub(crate) value: &'static str,
    pub(crate) default: &'static str,
    pub(crate) help: &'static str,
    /// Who may set it in a file.
    pub(crate) by: By,
    /// Whose flag it is.
    pub(crate) of: Of,
}

impl Setting {
    /// Its flag, without the dashes before it.
    pub(crate) fn flag(&self) -> &'static str {
        match self.name {
            "base_url" => "base-url",
            "context_window" => "context-window",
            "max_tokens" => "max-tokens",
            "on_question" => "on-question",
            "pass_env" => "pass-env",
            "mcp_limit" => "limit",
            "key_delay" => "key-delay",
            "success_flash" => "success-flash",
            name => name,
        }
    }

    /// The name it had in earlier versions, still read from files, variables and flags.
    pub(crate) fn old_name(&self) -> Option<&'static str> {
        match self.name {
            "key_delay" => Some("arm"),
            "success_flash" => Some("flash"),
            _ => None,
        }
    }
}

/// Which commands have a flag for a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// All that ask.
    Asking,
    /// Those that ask and print a result.
    Results,
    /// `askuser agent` alone.
    Agent,
    /// `askuser mcp` alone.
    Mcp,
}

/// Who may set something in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Anybody, a project's file included.
    Anybody,
    /// The user alone: whatever says who answers, what runs, or where a key goes. A repository, or an agent that can write
    /// to it, has no say in that.
    User,
}

const fn setting(
    name: &'static str,
    value: &'static str,
    default: &'static str,
    by: By,
    help: &'static str,
) -> Setting {
    Setting { name, value, default, by, help, of: Of::Asking }
}

const fn of(of: Of, setting: Setting) -> Setting {
    Setting { of, ..setting }
}

use By::{Anybody, User};

pub(crate) const SETTINGS: &[Setting] = &[
    setting("timeout", "DURATION", "none", User, "Give up after this long, such as 30s or 5m; any key stops the clock"),
    setting("answers", "FILE", "none", User, "Take answers from a JSON or TOML file, keyed by header or question text"),
    setting("headless", "fail|recommended", "none", User, "Ask nobody: fail, or take the options marked (Recommended)"),
    setting(
        "via",
        "SURFACES",
        "policy,terminal",
        User,
        "Who may answer, in order: policy (answers file, headless), terminal, inbox; with commas",
    ),
    setting("store", "FILE", "auto", User, "Where the inbox keeps questions; auto is a file in your state folder"),
    setting(
        "on_question",
        "COMMAND",
        "none",
        User,
        "Run this when the agent or the inbox has a question; it gets the question as JSON",
    ),
    setting(
        "popup",
        "auto|none",
        "auto",
        User,
        "Open a popup of tmux or zellij for a question in the inbox, where one of them runs",
    ),
    setting("notify", "", "true", User, "Ring and notify when a question waits and the terminal has no focus"),
    setting("plain", "", "false", Anybody, "Ask line by line, for screen readers and dumb terminals"),
    setting("repair", "", "false", Anybody, "Mend cosmetic faults of the input instead of rejecting it"),
    setting(
        "key_delay",
        "DURATION",
        "250ms",
        User,
        "Ignore keys that answer, cancel or open a text for this long after the first frame; 0 is off",
    ),
    setting(
        "success_flash",
        "DURATION",
        "80ms",
        User,
        "Show the answered prompt in the colour of success for this long; 0 is off",
    ),
    setting("confirm", "boxed|full|inline|none", "inline", Anybody, "What to leave in the scrollback"),
    setting(
        "theme",
        "auto|dark|light|contrast",
        "auto",
        Anybody,
        "Colours for a dark or a light background, or no colours but the terminal's own",
    ),
    setting("color", "auto|none|16|256|truecolor", "auto", Anybody, "How many colours to use"),
    of(
        Of::Results,
        setting(
            "format",
            "auto|text|json|record|value|claude",
            "auto",
            Anybody,
            "How to print the result; auto is text on a terminal, else json; value is the answer alone, claude is Claude Code's \
             updatedInput",
        ),
    ),
    // Requests carry a key: which provider gets them, and where they go, is the user's to say.
    of(
        Of::Agent,
        setting(
            "model",
            "PROVIDER/NAME",
            "none",
            User,
            "Which model answers: anthropic/…, openai/…, gemini/…, openrouter/…, ollama/…, llamacpp/…, vllm/…; a provider \
             alone is its default model, none is that of the first key in the environment",
        ),
    ),
    of(Of::Agent, setting("base_url", "URL", "none", User, "Where the provider is, instead of where it usually is")),
    of(
        Of::Agent,
        setting(
            "effort",
            "low|medium|high",
            "none",
            User,
            "How much the model thinks before it answers; none leaves that to the provider",
        ),
    ),
    of(
        Of::Agent,
        setting(
            "max_tokens",
            "N",
            "none",
            Anybody,
            "How long an answer of the model may get; none is the provider's own limit",
        ),
    ),
    of(
        Of::Agent,
        setting(
            "context_window",
            "N",
            "auto",
            User,
            "How many tokens the model takes before the conversation is summarised; auto is what is known of the model",
        ),
    ),
    of(
        Of::Agent,
        setting(
            "price",
            "IN/OUT",
            "none",
            User,
            "What a million tokens cost in dollars, read and written, such as 3/15; the conversation shows what it has cost",
        ),
    ),
    of(
        Of::Agent,
        setting(
            "permissions",
            "ask|accept-edits|allow",
            "ask",
            User,
            "What tools may do without asking; questions are always asked",
        ),
    ),
    of(
        Of::Agent,
        setting("pass_env", "NAMES", "none", User, "Key variables that commands get all the same; with commas"),
    ),
    of(
        Of::Mcp,
        setting(
            "mcp_limit",
            "DURATION",
            "auto",
            User,
            "How long a call waits before it says \"not answered yet\"; auto is what is known of the client, else 45s",
        ),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_the_name_of_its_setting_with_dashes() {
        for setting in SETTINGS {
            // `askuser mcp --limit`: the command says the rest.
            let expected = setting.name.trim_start_matches("mcp_").replace('_', "-");
            assert_eq!(setting.flag(), expected);
        }
    }

    #[test]
    fn names_of_earlier_versions_belong_to_the_same_settings() {
        let old: Vec<_> = SETTINGS.iter().filter_map(|setting| Some((setting.old_name()?, setting.name))).collect();
        assert_eq!(old, [("arm", "key_delay"), ("flash", "success_flash")]);
    }
}
