//! The table of all settings, with type, parser, flag, variable and documentation. A new setting is a new row.
//!
//! The build script reads the table for completions and manual pages, and ignores the types and parsers.

/// The definition of a setting.
pub(crate) struct Setting {
    /// The key in `askuser.toml`. The environment variable is `ASKUSER_NAME`.
    pub(crate) name: &'static str,
    /// The flag without its dashes.
    pub(crate) flag: &'static str,
    /// The placeholder of the value in help. It is empty for a switch.
    pub(crate) value: &'static str,
    /// The rule for the value, as errors state it.
    pub(crate) must_be: &'static str,
    pub(crate) default: &'static str,
    pub(crate) help: &'static str,
    /// The files that may contain the setting.
    pub(crate) by: By,
    /// The commands that have the setting's flag.
    pub(crate) of: Of,
}

/// A group of commands that have a setting's flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// All commands that ask.
    Asking,
    /// The commands that ask and print a result.
    Results,
    /// Only `askuser agent`.
    Agent,
    /// Only `askuser mcp`.
    Mcp,
}

/// The kinds of files that may contain a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Every settings file, with a project's file.
    Everyone,
    /// Only the user's files. Such settings determine who answers, which programs run, or where a key is sent. A
    /// repository, or an agent that can write to it, must not set them.
    User,
}

/// Passes the table of settings to another macro.
macro_rules! settings {
    ($then:ident) => {
        $then! {
            timeout: Option<Duration> = |v| unless(v, "none", positive) => {
                "Give up after this long, such as 30s or 5m; any key stops the clock",
                value: "DURATION", default: "none", by: User, of: Asking,
                must_be: "a duration above 0, such as 30s, 5m or 1h",
            }
            answers: Option<AnswersFile> = |v| unless(v, "none", |v| path(v).map(|path| AnswersFile { path, is_on_command_line: false })) => {
                "Take answers from a JSON or TOML file, keyed by header or question text",
                value: "FILE", default: "none", by: User, of: Asking,
                must_be: "a JSON or TOML file",
            }
            headless: Option<Headless> = |v| one_of(v, &[
                ("none", None), ("fail", Some(Headless::Fail)), ("recommended", Some(Headless::Recommended)),
            ]) => {
                "Ask no person: fail, or take the options marked (Recommended)",
                value: "fail|recommended", default: "none", by: User, of: Asking,
            }
            via: Vec<Surface> = surfaces => {
                "Who may answer, in order: policy (answers file, headless), terminal, inbox; separated by commas",
                value: "SURFACES", default: "policy,terminal", by: User, of: Asking,
                must_be: "policy, terminal or inbox, or several of them with commas",
            }
            store: Option<PathBuf> = |v| Some((v != "auto").then(|| v.into())) => {
                "Where the inbox keeps questions: a file, or the address of an `askuser serve`; auto is a file in your state folder",
                value: "FILE_OR_URL", default: "auto", by: User, of: Asking,
            }
            token_file: Option<TokenFile> = |v| unless(v, "none", |v| path(v).map(|path| TokenFile { path, server: None, is_in_file: false })) => {
                "A file with the token for a store at an address; ASKUSER_TOKEN is the token itself",
                value: "FILE", default: "none", by: User, of: Asking, flag: "token-file",
                must_be: "a file",
            }
            on_question: Option<String> = |v| Some(text(v)) => {
                "Run this when the agent or the inbox has a question; it gets the question as JSON",
                value: "COMMAND", default: "none", by: User, of: Asking, flag: "on-question",
            }
            popup: bool = |v| one_of(v, &[("auto", true), ("none", false)]) => {
                "Open a popup of tmux or zellij for a question in the inbox, where one of them runs",
                value: "auto|none", default: "auto", by: User, of: Asking,
            }
            notify: bool = switch => {
                "Ring and notify when a question waits and the terminal has no focus; without a terminal, on the desktop",
                value: "", default: "true", by: User, of: Asking,
                must_be: "true or false",
            }
            plain: bool = switch => {
                "Ask line by line, for screen readers and dumb terminals",
                value: "", default: "false", by: Everyone, of: Asking,
                must_be: "true or false",
            }
            repair: bool = switch => {
                "Fix cosmetic faults of the input instead of rejecting it",
                value: "", default: "false", by: Everyone, of: Asking,
                must_be: "true or false",
            }
            key_delay: Duration = duration => {
                "Ignore keys that answer, cancel or open a text field for this long after the first frame; 0 is off",
                value: "DURATION", default: "250ms", by: User, of: Asking, flag: "key-delay",
                must_be: "a duration such as 250ms, 30s, 5m or 1h",
            }
            success_flash: Duration = |v| duration(v).filter(|flash| *flash <= Duration::from_secs(1)) => {
                "Show the answered prompt in the success colour for this long; 0 is off",
                value: "DURATION", default: "80ms", by: User, of: Asking, flag: "success-flash",
                must_be: "a duration of at most 1s",
            }
            confirm: Confirm = |v| one_of(v, &[
                ("boxed", Confirm::Boxed), ("full", Confirm::Full), ("inline", Confirm::Inline),
                ("none", Confirm::None),
            ]) => {
                "How the answer stays in the scrollback",
                value: "boxed|full|inline|none", default: "inline", by: Everyone, of: Asking,
            }
            style: PromptStyle = |v| one_of(v, &[("proposal", PromptStyle::Proposal), ("compact", PromptStyle::Compact)]) => {
                "How a prompt is drawn where there is room; popups and small screens are always compact",
                value: "proposal|compact", default: "proposal", by: Everyone, of: Asking,
            }
            theme: Option<Background> = |v| one_of(v, &[
                ("auto", None), ("dark", Some(Background::Dark)), ("light", Some(Background::Light)),
                ("contrast", Some(Background::Contrast)),
            ]) => {
                "Colours for a dark or a light background; contrast uses the terminal's own and no grey",
                value: "auto|dark|light|contrast", default: "auto", by: Everyone, of: Asking,
            }
            color: Option<ColorDepth> = |v| one_of(v, &[
                ("auto", None), ("none", Some(ColorDepth::None)), ("16", Some(ColorDepth::Ansi16)),
                ("256", Some(ColorDepth::Ansi256)), ("truecolor", Some(ColorDepth::TrueColor)),
            ]) => {
                "How many colours to use",
                value: "auto|none|16|256|truecolor", default: "auto", by: Everyone, of: Asking,
            }
            format: Option<Format> = |v| one_of(v, &[
                ("auto", None), ("text", Some(Format::Text)), ("json", Some(Format::Json)),
                ("record", Some(Format::Record)), ("value", Some(Format::Value)), ("claude", Some(Format::Claude)),
            ]) => {
                "How to print the result: auto is json, and nothing more than the confirmation on a terminal; value is the \
                 answer alone; claude is Claude Code's updatedInput",
                value: "auto|text|json|record|value|claude", default: "auto", by: Everyone, of: Results,
            }
            // Requests contain a key, so only the user may determine their provider and their address.
            model: Option<String> = |v| Some(text(v)) => {
                "Which model answers: anthropic/…, openai/…, gemini/…, openrouter/…, ollama/…, llamacpp/…, vllm/…; a \
                 provider alone means its default model, none that of the first key in the environment",
                value: "PROVIDER/NAME", default: "none", by: User, of: Agent,
            }
            base_url: Option<BaseUrl> = |v| Some(text(v).map(|url| BaseUrl { url, origin: Origin::Default, is_for_any_model: false })) => {
                "The provider's address, if it is not the usual one",
                value: "URL", default: "none", by: User, of: Agent, flag: "base-url",
            }
            effort: Option<Effort> = |v| one_of(v, &[
                ("none", None), ("low", Some(Effort::Low)), ("medium", Some(Effort::Medium)),
                ("high", Some(Effort::High)), ("xhigh", Some(Effort::XHigh)), ("max", Some(Effort::Max)),
            ]) => {
                "How much the model thinks before it answers; none leaves that to the provider",
                value: "low|medium|high|xhigh|max", default: "none", by: User, of: Agent,
            }
            max_tokens: Option<u32> = |v| unless(v, "none", |v| v.parse().ok().filter(|max| *max > 0)) => {
                "The most tokens of one answer of the model; none is the provider's own limit",
                value: "N", default: "none", by: Everyone, of: Agent, flag: "max-tokens",
                must_be: "a whole number above 0",
            }
            context_window: Option<u64> = |v| unless(v, "auto", |v| v.parse().ok().filter(|tokens| *tokens >= 1_000)) => {
                "How many tokens the model takes before the conversation is summarised; auto is the known size of the model's context",
                value: "N", default: "auto", by: User, of: Agent, flag: "context-window",
                must_be: "a whole number of at least 1000, or auto",
            }
            retry_for: Option<Duration> = |v| unless(v, "auto", positive) => {
                "How long a request that fails for a while is made again with -p; auto is about half a minute",
                value: "DURATION", default: "auto", by: User, of: Agent, flag: "retry-for",
                must_be: "a duration such as 250ms, 30s, 5m or 1h",
            }
            price: Option<Price> = |v| unless(v, "none", Price::parse) => {
                "Dollars per million tokens, input and output, such as 3/15; the conversation then shows its cost",
                value: "IN/OUT", default: "none", by: User, of: Agent,
                must_be: "two numbers with a slash between them, such as 3/15",
            }
            permissions: PermissionMode = |v| one_of(v, &[
                ("ask", PermissionMode::Ask), ("accept-edits", PermissionMode::AcceptEdits),
                ("sandbox", PermissionMode::Sandbox), ("allow", PermissionMode::Allow),
            ]) => {
                "What tools may do without asking; questions are always asked",
                value: "ask|accept-edits|sandbox|allow", default: "ask", by: User, of: Agent,
            }
            sandbox_read: Vec<String> = |v| Some(names(v)) => {
                "Folders of your home that commands in the sandbox may read, beside toolchains, separated by commas",
                value: "FOLDERS", default: "none", by: User, of: Agent, flag: "sandbox-read",
            }
            sandbox_write: Vec<String> = |v| Some(names(v)) => {
                "Folders that commands in the sandbox may change, beside the working folder, separated by commas",
                value: "FOLDERS", default: "none", by: User, of: Agent, flag: "sandbox-write",
            }
            pass_env: Vec<String> = |v| Some(names(v)) => {
                "Variables with keys that commands may see after all, separated by commas",
                value: "NAMES", default: "none", by: User, of: Agent, flag: "pass-env",
            }
            mcp_limit: Option<Duration> = |v| unless(v, "auto", positive) => {
                "How long a call waits before it says \"not answered yet\"; auto is the known limit of the client, else 45s",
                value: "DURATION", default: "auto", by: User, of: Mcp, flag: "limit",
                must_be: "a duration such as 250ms, 30s, 5m or 1h",
            }
            mcp_without: bool = |v| one_of(v, &[("none", false), ("background", true)]) => {
                "What models are not offered: background is to ask and work on meanwhile",
                value: "background", default: "none", by: User, of: Mcp, flag: "without",
            }
        }
    };
}

macro_rules! describe {
    ($($name:ident: $kind:ty = $parse:expr => {
        $help:literal,
        value: $value:literal, default: $default:literal, by: $by:ident, of: $of:ident
            $(, flag: $flag:literal)?,
        $(must_be: $must_be:literal,)?
    })*) => {
        pub(crate) const SETTINGS: &[Setting] = &[$(Setting {
            name: stringify!($name),
            flag: [$($flag,)? stringify!($name)][0],
            value: $value,
            must_be: [$($must_be,)? $value][0],
            default: $default,
            help: $help,
            by: By::$by,
            of: Of::$of,
        }),*];
    };
}

settings!(describe);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_the_name_of_its_setting_with_dashes() {
        for setting in SETTINGS {
            // The flag of `askuser mcp` is `--limit`, because the command makes the prefix redundant.
            let expected = setting.name.trim_start_matches("mcp_").replace('_', "-");
            assert_eq!(setting.flag, expected);
        }
    }
}
