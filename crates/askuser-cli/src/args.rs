//! The command line. The build script compiles this file too, to make completions and manual pages from it.

use crate::settings::{SETTINGS, Setting};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command};

const EXIT_CODES: &str = "\
Exit codes:
  0    answered
  1    asked but not answered (cancelled, declined, discuss, timed out: the result says which)
  2    bad input or usage
  3    nobody can be asked
  130  interrupted";

pub(crate) const PROVIDERS: [&str; 5] = ["json-schema", "anthropic", "openai", "gemini", "mcp"];

/// The whole command. The arguments of a subcommand are made only once it is the one called: this is on the way to the
/// first frame.
pub(crate) fn command() -> Command {
    Command::new("askuser")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Lets an AI agent stop, put one to four structured questions to a person, and go on with the answer")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([ask(), check(), schema(), demo(), doctor(), config(), completions(), man()])
        .after_help(EXIT_CODES)
}

fn ask() -> Command {
    Command::new("ask")
        .about("Ask a person and print the answer")
        .long_about(
            "Ask a person and print the answer.\n\nReads one AskUserQuestion input from FILE, standard input or --json, or \
             makes one from -q. The prompt is drawn on the terminal itself, so standard input and output may be pipes.",
        )
        .after_help(EXIT_CODES)
        .defer(ask_arguments)
}

fn ask_arguments(command: Command) -> Command {
    command
        .args(input())
        .arg(Arg::new("question").short('q').long("question").value_name("TEXT").help("Ask this one question"))
        .arg(
            Arg::new("header")
                .short('H')
                .long("header")
                .value_name("TEXT")
                .requires("question")
                .help("Its short label [default: Question]"),
        )
        .arg(
            Arg::new("option")
                .short('o')
                .long("option")
                .value_name("LABEL: DESCRIPTION")
                .action(ArgAction::Append)
                .requires("question")
                .help("An option; give two to four"),
        )
        .arg(
            Arg::new("multi")
                .long("multi")
                .action(ArgAction::SetTrue)
                .requires("question")
                .help("Several options may be chosen"),
        )
        .args(settings())
}

fn check() -> Command {
    Command::new("check")
        .about("Say what is wrong with an input, or could be better; ask nobody")
        .after_help("Exit codes: 0 valid (with or without advice), 2 invalid")
        .defer(|command| {
            let some = settings().into_iter().filter(|arg| ["repair", "format"].contains(&arg.get_id().as_str()));
            command.args(input()).args(some)
        })
}

fn schema() -> Command {
    Command::new("schema").about("Print the tool definition to give to a model").arg(
        Arg::new("for")
            .long("for")
            .value_name("SHAPE")
            .value_parser(PossibleValuesParser::new(PROVIDERS))
            .default_value("json-schema")
            .help("Whose shape it takes"),
    )
}

fn demo() -> Command {
    Command::new("demo").about("Four example prompts, one after the other").defer(with_settings)
}

fn doctor() -> Command {
    Command::new("doctor")
        .about("Say how a question would be asked here, and why")
        .after_help("Exit codes: 0 somebody can be asked, 3 nobody can")
        .defer(with_settings)
}

fn config() -> Command {
    Command::new("config").about("Show every setting, its value and where it came from").defer(with_settings)
}

fn with_settings(command: Command) -> Command {
    command.args(settings())
}

fn completions() -> Command {
    let shells = PossibleValuesParser::new(["bash", "elvish", "fish", "powershell", "zsh"]);
    Command::new("completions")
        .about("Print a completion script for a shell")
        .arg(Arg::new("shell").value_name("SHELL").required(true).value_parser(shells).help("Which shell"))
}

fn man() -> Command {
    Command::new("man")
        .about("Print a manual page")
        .arg(Arg::new("command").value_name("COMMAND").help("Of a subcommand, instead of the whole"))
}

/// Where an input comes from.
fn input() -> [Arg; 2] {
    [
        Arg::new("file")
            .value_name("FILE")
            .conflicts_with_all(["json"])
            .help("A file with the input; - or nothing is standard input"),
        Arg::new("json").long("json").value_name("INPUT").help("The input itself"),
    ]
}

/// A flag for every setting.
fn settings() -> Vec<Arg> {
    let flag = |setting: &'static Setting| {
        let arg = Arg::new(setting.name).long(setting.name).help(setting.help).help_heading("Settings");
        match setting.value {
            "" => arg
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .value_name("BOOL")
                .hide_possible_values(true),
            name => arg.value_name(name),
        }
    };
    SETTINGS.iter().map(flag).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
