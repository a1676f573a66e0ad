//! The definition of the command line. The build script also compiles this file, to generate completions and manual
//! pages.

use crate::settings::{Of, SETTINGS, Setting};
use clap::builder::PossibleValuesParser;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Arg, ArgAction, Command, value_parser};

const EXIT_CODES: &str = include_str!("help/exit-codes.txt").trim_ascii_end();

pub(crate) const PROVIDERS: [&str; 6] = ["json-schema", "anthropic", "openai", "openai-responses", "gemini", "mcp"];

/// The maximum width of help. Help uses the terminal's width, but longer lines are hard to read.
pub(crate) const MAX_WIDTH: usize = 100;

/// The styles of help on a terminal, in the terminal's own colours.
pub(crate) const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Green.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// Returns the whole command. The arguments of a subcommand are defined only when it is called, because this code runs
/// before the first frame.
pub(crate) fn command() -> Command {
    Command::new("askuser")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Lets an AI agent stop, put one to four structured questions to a person, and continue with the answer")
        .max_term_width(MAX_WIDTH)
        .styles(STYLES)
        .subcommand_required(true)
        .subcommands([
            ask(),
            confirm(),
            input(),
            pick(),
            inbox(),
            wait(),
            watch(),
            answer(),
            withdraw(),
            log(),
            mcp(),
            agent(),
        ])
        .subcommands([serve(), token(), devices(), pair(), people()])
        .subcommands([init(), uninstall(), hook(), check(), schema(), demo(), doctor(), config(), completions(), man()])
        .after_help(EXIT_CODES)
}

pub(crate) fn ask() -> Command {
    let more = "Reads one AskUserQuestion input from FILE, standard input or --json, or makes one from -q. The prompt is \
                drawn on the terminal itself, so standard input and output may be pipes.";
    described("ask", "Ask a person and print the answer", more).after_help(EXIT_CODES).defer(ask_arguments)
}

fn ask_arguments(command: Command) -> Command {
    let option = value("option", "LABEL: DESCRIPTION", "An option; give two to four").short('o');
    command
        .args(input_source())
        .args([
            value("question", "TEXT", "Ask this one question").short('q'),
            value("header", "TEXT", "Its short label [default: Question]").short('H').requires("question"),
            option.action(ArgAction::Append).requires("question"),
            switch("multi", "Allow several options to be chosen").requires("question"),
        ])
        .args(in_the_inbox())
        .args(settings(&[Of::Asking, Of::Results]))
}

fn in_the_inbox() -> [Arg; 4] {
    let key = "In the inbox: asking again with the same key attaches to the same question and answer";
    [
        value("key", "TEXT", key).value_parser(not_blank),
        value("from", "NAME", "In the inbox: who asks").value_parser(not_blank),
        value("for", "NAMES", "In the inbox: who may answer, with commas between them [default: everybody]")
            .value_delimiter(',')
            .value_parser(not_blank),
        switch("detach", "In the inbox: print the question's id and do not wait"),
    ]
}

pub(crate) fn confirm() -> Command {
    Command::new("confirm")
        .about("Ask for a yes or no; the exit code is the answer")
        .after_help(CONFIRM_EXIT_CODES)
        .defer(|command| {
            let default = value("default", "ANSWER", "Where the cursor starts [default: yes]");
            let default = default.value_parser(PossibleValuesParser::new(["yes", "no"])).hide_possible_values(true);
            command.arg(asked("QUESTION").required(true)).arg(default.value_name("yes|no")).args(of_a_form())
        })
}

const CONFIRM_EXIT_CODES: &str = include_str!("help/exit-codes-of-confirm.txt").trim_ascii_end();

pub(crate) fn input() -> Command {
    Command::new("input").about("Ask for a text and print it").after_help(EXIT_CODES).defer(|command| {
        let filled_in = value("value", "TEXT", "Fill in this text; it can be changed").value_parser(not_blank);
        let placeholder = value("placeholder", "TEXT", "Show this text while nothing is typed");
        let command = command.arg(asked("QUESTION").required(true));
        command.args([filled_in, placeholder.value_parser(not_blank)]).args(of_a_form())
    })
}

pub(crate) fn pick() -> Command {
    let more = "Takes up to 10,000 items of up to 500 characters; blank ones and repeated ones are left out. Type to \
                search. The prompt is drawn on the terminal itself.";
    described("pick", "Pick from ITEMs, or from the lines on standard input, and print the choice", more)
        .after_help(EXIT_CODES)
        .defer(|command| {
            let asked = value("question", "TEXT", "What to ask [default: Choose from the list]").short('q');
            let multi = switch("multi", "Allow several items to be picked; each is printed on a line of its own");
            command
                .arg(word("item", "ITEM", "What to pick from; without any, the lines on standard input").num_args(1..))
                .args([asked.value_parser(not_blank), multi])
                .args(of_a_form())
        })
}

fn asked(name: &'static str) -> Arg {
    word("question", name, "What to ask").value_parser(not_blank)
}

/// Returns the arguments that `confirm`, `input` and `pick` share.
fn of_a_form() -> Vec<Arg> {
    let header = value("header", "TEXT", "A short label for the question").short('H');
    let settings = settings(&[Of::Asking]).into_iter().filter(|arg| arg.get_id() != "repair");
    [header].into_iter().chain(in_the_inbox()).chain(settings).collect()
}

fn not_blank(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("must not be blank") } else { Ok(text.to_owned()) }
}

pub(crate) fn inbox() -> Command {
    let more = "In a terminal it is a live list; --json, --count and --follow are for scripts and status bars, --next \
                for a key binding.";
    described("inbox", "Show the questions that are waiting for an answer, and answer them", more)
        .after_help(EXIT_CODES)
        .subcommand(inbox_backup())
        .disable_help_subcommand(true)
        .args_conflicts_with_subcommands(true)
        .defer(|command| {
            let next = switch("next", "Answer the oldest question and exit");
            command
                .args([
                    switch("json", "Print the waiting questions, one JSON object per line"),
                    switch("count", "Print how many questions are waiting").conflicts_with("json"),
                    switch("follow", "Keep running and print every change"),
                    next.conflicts_with_all(["json", "count", "follow"]),
                ])
                .args(inbox_settings())
        })
}

fn inbox_backup() -> Command {
    Command::new("backup")
        .about("Write one consistent file of an inbox in use")
        .arg(word("file", "FILE", "The file to write, must be new").required(true))
        .args(of_the_store())
}

pub(crate) fn wait() -> Command {
    Command::new("wait")
        .about("Wait for the answer to a question in the inbox, and print it")
        .after_help(EXIT_CODES)
        .defer(|command| {
            command
                .arg(question_id())
                .arg(value("for", "DURATION", "Stop waiting after this long, with exit code 75; the question stays"))
                .args(settings(&[Of::Results]))
                .args(of_the_store())
        })
}

pub(crate) fn watch() -> Command {
    let more = "Prints one line for each question that is asked or ends, until it is interrupted. Each event has a number: \
                --after continues behind it.";
    described("watch", "Print what happens to questions, for scripts", more).defer(|command| {
        let after = value("after", "NUMBER", "Begin with the event behind this one, instead of now");
        command
            .arg(switch(
                "json",
                "Print one JSON object per line: seq, id, state and at_ms; or gap, where events are gone",
            ))
            .arg(after.value_parser(value_parser!(u64)))
            .args(of_the_store())
    })
}

pub(crate) fn answer() -> Command {
    let more = "Opens its prompt, unless the answer is given here. The first answer counts; a later one is refused and \
                told who was first.";
    described("answer", "Answer a question in the inbox", more).after_help(EXIT_CODES).defer(|command| {
        let decline = value("decline", "REASON", "Decline to answer, with this reason if you like").num_args(0..=1);
        let reply = value("reply", "FILE", "Read the reply as JSON from this file, or from standard input if it is -");
        command
            .args([
                question_id(),
                value("select", "HEADER=LABEL", "Choose this option; repeat for several choices")
                    .action(ArgAction::Append),
                value("other", "HEADER=TEXT", "Answer in these words instead of choosing an option")
                    .action(ArgAction::Append),
                value("note", "HEADER=TEXT", "Add this note to the answer").action(ArgAction::Append),
                decline.default_missing_value("").conflicts_with_all(["select", "other", "note"]),
                value("discuss", "TEXT", "Talk about it first, with this message")
                    .value_parser(not_blank)
                    .conflicts_with("decline"),
                reply.conflicts_with_all(["select", "other", "note", "decline", "discuss"]),
                // A popup opens the list without a key press, so stray keys must not answer.
                switch("unbidden", "").hide(true),
            ])
            .args(inbox_settings())
            .args(some_settings(&["answers"]))
            .mut_arg("answers", |answers| {
                answers.conflicts_with_all(["select", "other", "note", "decline", "discuss", "reply"])
            })
    })
}

pub(crate) fn withdraw() -> Command {
    Command::new("withdraw")
        .about("Withdraw a question from the inbox; it can no longer be answered")
        .after_help(EXIT_CODES)
        .defer(|command| command.arg(question_id()).args(of_the_store()))
}

pub(crate) fn log() -> Command {
    Command::new("log").about("Show past and pending questions of the inbox, and the decisions").defer(|command| {
        let purge = switch("purge", "Remove what ended before a date, for good").requires("before");
        command
            .args([
                switch("json", "Print one JSON object per line"),
                switch("reverse", "Show the oldest first, instead of the newest"),
                value("since", "WHEN", "Only questions asked since then: 2h, 3d, 2026-11-15 or 2026-11-15T12:00"),
                value("from", "NAME", "Only questions of agents whose name contains this"),
                purge.conflicts_with_all(["since", "from"]),
                value("before", "DATE", "With --purge: 90d, 2026-11-15 or 2026-11-15T12:00").requires("purge"),
            ])
            .args(of_the_store())
    })
}

pub(crate) fn mcp() -> Command {
    Command::new("mcp")
        .about("Give the question tool to an agent, as an MCP server")
        .long_about(
            "Give the question tool to an agent, as an MCP server on standard input and output.\n\nQuestions wait in the \
             inbox, and in the dialog of the agent's own client where it has one; the first answer counts. The server never \
             opens a terminal. A question that is not answered when the client stops waiting stays in the inbox.",
        )
        .defer(|command| {
            command
                .args(of_mcp_clients())
                // The flag was removed. The command names its successor.
                .arg(value("http", "ADDR", "").hide(true).num_args(0..=1))
                .args(settings(&[Of::Mcp]))
                .args(some_settings(&["store", "token_file", "popup", "notify", "on_question", "timeout", "repair", "answers", "headless"]))
        })
}

/// Returns the flags for servers of MCP clients.
fn of_mcp_clients() -> [Arg; 3] {
    let levels = PossibleValuesParser::new(["error", "warn", "info", "debug", "trace"]);
    let file = clap::value_parser!(std::path::PathBuf);
    [
        switch(
            "approve",
            "Offer the tool `approve` too, for `claude -p --permission-prompt-tool mcp__askuser__approve`",
        ),
        value("log", "LEVEL", "Log to standard error. From debug on the log contains questions and answers")
            .value_parser(levels),
        value("log-file", "FILE", "Append the log to this file instead, at level info unless --log is given")
            .value_parser(file),
    ]
}

pub(crate) fn serve() -> Command {
    Command::new("serve")
        .about("Serve the inbox over HTTP, for people and agents elsewhere")
        .long_about(
            "Serve the inbox over HTTP: a page to answer from anywhere, an address for agents elsewhere.\n\nPrints a link that \
             lets one browser in, for five minutes. Every request needs a credential, on this machine too. Beyond this machine \
             it listens only once a device is paired or a token made, or with --tls.",
        )
        .defer(|command| {
            let address = clap::value_parser!(std::net::SocketAddr);
            let tls = value("tls", "CERT", "Encrypt with this certificate and key, as PEM files");
            let listen = value("listen", "ADDR", "The address to listen on; 0.0.0.0:7420 for every network");
            command
                .args([
                    listen.default_value("127.0.0.1:7420").value_parser(address),
                    value("public-url", "URL", "The address of a proxy in front of it, such as https://ask.example.org"),
                    tls.value_names(["CERT", "KEY"]).num_args(2).value_parser(clap::value_parser!(std::path::PathBuf)),
                ])
                .args(of_mcp_clients())
                .args(settings(&[Of::Mcp]))
                .args(some_settings(&["store", "popup", "notify", "on_question", "timeout", "repair", "answers", "headless"]))
        })
}

pub(crate) fn token() -> Command {
    let name = |help| word("name", "NAME", help).required(true).value_parser(not_blank);
    let scope = |scope, help| switch(scope, help).group("scope");
    let client = |name, help| value(name, "CLIENT", help).value_parser(PossibleValuesParser::new(CLIENTS));
    let new = Command::new("new")
        .about("Make a token and print it, this once")
        .arg(name("Its name: questions belong to it, also with a later token of the same name"))
        .arg(scope("ask", "It puts questions, and waits for its own"))
        .arg(scope("answer", "It lists and answers questions"))
        .arg(scope("admin", "It lists, makes and revokes tokens, and lets devices in"))
        .group(clap::ArgGroup::new("scope").required(true))
        .arg(of_person("Whose answers it gives [default: it acts under its own name]").requires("answer"))
        .arg(
            client("mcp-config", "Print the ready configuration of this MCP client instead, with the token in it")
                .conflicts_with_all(["answer", "admin"]),
        )
        .arg(
            value("server", "URL", "With --mcp-config: where the client reaches `askuser serve`")
                .requires("mcp-config"),
        );
    Command::new("token")
        .about("Make, list and revoke credentials for `askuser serve`")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(new.args(of_the_store()))
        .subcommand(Command::new("list").about("List the tokens").args(of_the_store()))
        .subcommand(Command::new("revoke").about("Revoke a token at once").arg(name("Its name")).args(of_the_store()))
}

pub(crate) fn devices() -> Command {
    let name = word("name", "NAME", "Its name").required(true);
    Command::new("devices")
        .about("List the devices that may answer through `askuser serve`, and revoke them")
        .disable_help_subcommand(true)
        .args(of_the_store())
        .subcommand(Command::new("revoke").about("Revoke a device at once").arg(name).args(of_the_store()))
}

pub(crate) fn pair() -> Command {
    Command::new("pair").about("Let in the browser that shows this code").defer(|command| {
        command
            .arg(word("code", "CODE", "The code on the page: ABCD-EFGH").required(true))
            .arg(of_person("Whose browser it is [default: yours]"))
            .args(inbox_settings())
    })
}

fn of_person(help: &'static str) -> Arg {
    value("person", "NAME", help).value_parser(not_blank)
}

pub(crate) fn people() -> Command {
    let named = |command, about, help| {
        Command::new(command).about(about).arg(word("name", "NAME", help).required(true)).args(of_the_store())
    };
    Command::new("people")
        .about("List the people whom questions can be for, add and remove them")
        .disable_help_subcommand(true)
        .args(of_the_store())
        .subcommand(Command::new("list").about("List them").args(of_the_store()))
        .subcommand(named("add", "Add a person", "Their name, as in `ask --for NAME`"))
        .subcommand(named("remove", "Remove a person, and revoke their tokens and devices at once", "Their name"))
}

fn question_id() -> Arg {
    word("id", "ID", "The question's id, or the start of it if that is unique").required(true)
}

/// Returns the settings of a prompt for a question from the inbox.
fn inbox_settings() -> Vec<Arg> {
    some_settings(&["store", "token_file", "plain", "key_delay", "success_flash", "confirm", "theme", "color"])
}

fn of_the_store() -> Vec<Arg> {
    some_settings(&["store", "token_file"])
}

fn some_settings(names: &[&str]) -> Vec<Arg> {
    let all = settings(&[Of::Asking]);
    all.into_iter().filter(|arg| names.contains(&arg.get_id().as_str())).collect()
}

pub(crate) const CLIENTS: [&str; 12] = [
    "claude", "codex", "gemini", "copilot", "qwen", "opencode", "kilo", "cursor", "vscode", "zed", "cline", "continue",
];

const INIT_EXIT_CODES: &str = "Exit codes: 0 done, or nothing to do; 1 you did not agree; 2 a file is broken or cannot be written; 3 no person can be asked";

pub(crate) fn init() -> Command {
    let more = "Shows the change and makes it if you agree; the rest of the file stays byte for byte as it is. Without a \
                name it finds the installed agents and asks which to set up; then it starts the server once to see that \
                it works. The entries for cursor, vscode and zed follow their documentation and are untested.";
    described("init", "Add askuser to the configuration of an agent that you use", more)
        .after_help(INIT_EXIT_CODES)
        .defer(|command| {
            let client = word("client", "CLIENT", "Which agents to set up").num_args(0..);
            let all = switch("all", "All agents found here; with --remove everything that was added");
            command
                .args([
                    client.value_parser(PossibleValuesParser::new(CLIENTS)),
                    switch("project", "Change the project's file, which others may share, instead of yours"),
                    all.conflicts_with_all(["client", "project"]),
                    switch("mcp-only", "Add the server alone, without the hooks and permissions of Claude Code"),
                    value("http", "URL", "Reach `askuser serve` at this address, with a token of its own [default: http://127.0.0.1:7420]")
                        .num_args(0..=1)
                        .require_equals(true)
                        .default_missing_value("")
                        .conflicts_with_all(["project", "remove"]),
                    switch("yes", "Make the change without asking"),
                    switch("print", "Print the change without making it").conflicts_with("yes"),
                    switch("remove", "Remove askuser again and restore the file byte for byte"),
                ])
                .args(some_settings(&["plain", "key_delay", "success_flash", "confirm", "theme", "color"]))
        })
}

pub(crate) fn uninstall() -> Command {
    let more = "Shows each change and makes it if you agree; a file becomes what it was, byte for byte. Sessions, \
                questions, answers and settings are kept; it says where they are and how to delete them.";
    described("uninstall", "Undo every `askuser init`, in your files and in those of projects", more)
        .after_help(INIT_EXIT_CODES)
        .defer(|command| {
            command
                .arg(switch("yes", "Make the changes without asking"))
                .arg(switch("print", "Print the changes without making them").conflicts_with("yes"))
                .args(some_settings(&["plain", "key_delay", "success_flash", "confirm", "theme", "color"]))
        })
}

pub(crate) fn hook() -> Command {
    let more = "Reads a PreToolUse, PermissionRequest, PostToolUse or Elicitation event from standard input and prints \
                the decision of the person who answers in the inbox. Without a decision, or if anything fails, it prints \
                nothing and Claude Code continues as if there were no hook. At a Stop or SessionStart event it says which \
                background questions were answered.";
    described("hook", "Answer a hook of Claude Code or Codex from the inbox", more)
        .after_help("Exit code: 0; with --answers 2 to wake Claude Code")
        .arg(switch("answers", "Wait for the answer to the background question of the event"))
        .arg(switch("codex", "The event is one of Codex"))
}

pub(crate) fn agent() -> Command {
    let more = "In a terminal it is a conversation; with -p it runs one turn, prints the result and exits. Every session \
                is kept and can be resumed.";
    described("agent", "Run a model with tools that asks you when it is in doubt", more)
        .after_help(AGENT_EXIT_CODES)
        .subcommands([sessions(), models(), export()])
        .disable_help_subcommand(true)
        .args_conflicts_with_subcommands(true)
        .defer(agent_arguments)
}

fn sessions() -> Command {
    Command::new("sessions")
        .about("List the sessions of this folder, newest first; with TEXT, those that mention it")
        .arg(word("text", "TEXT", "Only sessions with this text in a message or an answer"))
        .arg(switch("all", "List the sessions of every folder"))
        .arg(switch("json", "Print one JSON object per line"))
}

fn models() -> Command {
    Command::new("models")
        .about("List the models of a provider, newest first; without PROVIDER, of all providers whose key is set")
        .arg(word("provider", "PROVIDER", "anthropic, openai, gemini, openrouter, ollama, …"))
        .arg(switch("json", "Print one JSON object per line"))
        .args(settings(&[Of::Agent]).into_iter().filter(|arg| arg.get_id() == "base_url"))
}

fn export() -> Command {
    let session = word("session", "SESSION", "Its id, as askuser agent sessions lists it").required(true);
    Command::new("export").about("Print a session as Markdown").arg(session)
}

const AGENT_EXIT_CODES: &str = include_str!("help/exit-codes-of-agent.txt").trim_ascii_end();

fn agent_arguments(command: Command) -> Command {
    let outputs = PossibleValuesParser::new(["text", "json", "stream-json"]);
    command
        .args([
            word("message", "MESSAGE", "The first prompt"),
            value("prompt", "TEXT", "Run one turn with this prompt, print the result and exit; - reads it from standard input").short('p').conflicts_with("message"),
            value("output", "FORMAT", "With -p: text (the final message), json (one object), stream-json (events, and answers on standard input)").value_parser(outputs),
            value("script", "FILE", "Follow a script instead of a model: no key, no network; demo and plan are built in").conflicts_with("model"),
            switch("continue", "Resume the last session of this folder").conflicts_with("resume"),
            value("resume", "ID", "Resume this session"),
            switch("plan", "Only read and ask until a plan is approved"),
            value("add-dir", "FOLDER", "Let tools use this folder too, besides the working folder").action(ArgAction::Append),
            value("max-requests", "N", "Stop a turn after this many requests to the model; subagents count separately").value_parser(count),
        ])
        .args(settings(&[Of::Agent, Of::Asking]))
}

fn count(text: &str) -> Result<u32, &'static str> {
    text.parse().ok().filter(|count| *count > 0).ok_or("must be a whole number above 0")
}

pub(crate) fn check() -> Command {
    Command::new("check")
        .about("Check an input without asking: what is wrong with it, and what could be better")
        .after_help("Exit codes: 0 valid (with or without advice), 2 invalid")
        .defer(|command| {
            let some = settings(&[Of::Asking, Of::Results]).into_iter();
            let some = some.filter(|arg| ["repair", "format"].contains(&arg.get_id().as_str()));
            command.args(input_source()).args(some)
        })
}

pub(crate) fn schema() -> Command {
    let shape = value("for", "SHAPE", "The format of this provider or protocol").default_value("json-schema");
    let extras = "Also mention: plan (a plan mode with ExitPlanMode), preview (a preview of each option)";
    let with = value("with", "EXTRA", extras).value_delimiter(',').action(ArgAction::Append);
    Command::new("schema")
        .about("Print the tool definition to give to a model")
        .arg(shape.value_parser(PossibleValuesParser::new(PROVIDERS)))
        .arg(with.value_parser(PossibleValuesParser::new(["plan", "preview"])))
}

pub(crate) fn demo() -> Command {
    let settings = |command: Command| command.args(settings(&[Of::Asking]));
    Command::new("demo").about("Show what a question can be: seven examples, one after the other").defer(settings)
}

pub(crate) fn doctor() -> Command {
    Command::new("doctor")
        .about("Say whether questions reach you here, how, and what to fix")
        .after_help("Exit codes: 0 questions can be answered, 3 no person can be asked")
        .defer(with_settings)
}

pub(crate) fn config() -> Command {
    let set = Command::new("set")
        .about("Set a setting in your own askuser.toml; the rest of the file stays as it is, comments included")
        .arg(word("key", "KEY", "The setting, such as theme").required(true))
        .arg(word("value", "VALUE", "Its value").required(true).allow_hyphen_values(true));
    Command::new("config")
        .about("Show every setting, its value and where it came from; or set one")
        .subcommand(set)
        .disable_help_subcommand(true)
        .args_conflicts_with_subcommands(true)
        .defer(with_settings)
}

fn with_settings(command: Command) -> Command {
    command.args(settings(&[Of::Asking, Of::Results, Of::Agent, Of::Mcp]))
}

pub(crate) fn completions() -> Command {
    let shells = PossibleValuesParser::new(["bash", "elvish", "fish", "powershell", "zsh"]);
    Command::new("completions")
        .about("Print a completion script for a shell")
        .arg(word("shell", "SHELL", "Which shell").required(true).value_parser(shells))
}

pub(crate) fn man() -> Command {
    Command::new("man").about("Print a manual page").arg(word(
        "command",
        "COMMAND",
        "The page of this subcommand instead of the main page",
    ))
}

/// Returns a command with a one-sentence description and further explanations.
fn described(name: &'static str, about: &'static str, more: &str) -> Command {
    Command::new(name).about(about).long_about(format!("{about}.\n\n{more}"))
}

fn word(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).value_name(value).help(help)
}

fn value(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn input_source() -> [Arg; 2] {
    let file = word("file", "FILE", "A file with the input; standard input if it is - or left out");
    [file.conflicts_with("json"), value("json", "INPUT", "The input itself")]
}

/// Returns a flag for every setting of these kinds.
fn settings(of: &[Of]) -> Vec<Arg> {
    let flag = |setting: &'static Setting| {
        let arg = Arg::new(setting.name).long(setting.flag).help(setting.help).help_heading("Settings");
        match setting.value {
            "" => arg
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .value_name("BOOL")
                .hide_possible_values(true),
            // A number below 0 is an invalid value, not an unknown option.
            name => arg.value_name(name).allow_negative_numbers(true),
        }
    };
    SETTINGS.iter().filter(|setting| of.contains(&setting.of)).map(flag).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
