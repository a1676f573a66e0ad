//! Slash commands. One table drives parsing, completion and help.

use super::agent_thread::AgentCommand;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SlashCommand {
    Help,
    Plan,
    Model(Option<String>),
    Compact(Option<String>),
    Status,
    Output,
    Resume(Option<String>),
    Quit,
    /// A command that is passed to the agent unchanged.
    Agent(AgentCommand),
}

pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The argument's placeholder, or an empty string without an argument. A placeholder with "…" stands for several
    /// words.
    pub(crate) argument: &'static str,
    pub(crate) about: &'static str,
    make: fn(Option<String>) -> SlashCommand,
}

#[rustfmt::skip]
pub(crate) const TABLE: &[Row] = &[
    row("help", "", "keys and commands", |_| SlashCommand::Help),
    row("plan", "", "plan mode on or off: look and ask, change nothing", |_| SlashCommand::Plan),
    row("model", "[provider/name]", "show or change the model", SlashCommand::Model),
    row("clear", "", "begin a new conversation; the record stays", |_| SlashCommand::Agent(AgentCommand::Clear)),
    row("compact", "[what to mind…]", "let the model summarise the conversation and continue from there", SlashCommand::Compact),
    row("status", "", "session, model, folder, sandbox, and how full the model's context is", |_| SlashCommand::Status),
    row("resume", "[ID]", "resume an earlier session", SlashCommand::Resume),
    row("permissions", "[add …]", "list, add or remove permissions", |words| SlashCommand::Agent(AgentCommand::Permissions(words.unwrap_or_default()))),
    row("undo", "", "take back the agent's last edit", |_| SlashCommand::Agent(AgentCommand::Undo)),
    row("diff", "", "what the agent's edits have changed", |_| SlashCommand::Agent(AgentCommand::Diff)),
    row("output", "", "read the last output in full, as Ctrl-O does", |_| SlashCommand::Output),
    row("quit", "", "leave; askuser agent --continue resumes", |_| SlashCommand::Quit),
];

const fn row(
    name: &'static str,
    argument: &'static str,
    about: &'static str,
    make: fn(Option<String>) -> SlashCommand,
) -> Row {
    Row { name, argument, about, make }
}

/// Parses a line. Returns `None` if the line is no command, such as one that begins with a path.
pub(crate) fn read(line: &str) -> Option<Result<SlashCommand, String>> {
    let words = line.trim().strip_prefix('/')?;
    let (name, argument) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let argument = argument.trim();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return None;
    }
    let Some(row) = TABLE.iter().find(|row| row.name == name) else {
        let names: Vec<String> = TABLE.iter().map(|row| format!("/{}", row.name)).collect();
        return Some(Err(format!("There is no command /{name}. The commands are {}.", names.join(" "))));
    };
    if row.argument.is_empty() && !argument.is_empty() {
        return Some(Err(format!("/{name} takes nothing after it.")));
    }
    if argument.contains(char::is_whitespace) && !row.argument.contains('…') {
        return Some(Err(format!("/{name} takes one word: {}.", row.argument)));
    }
    Some(Ok((row.make)((!argument.is_empty()).then(|| argument.to_owned()))))
}

/// Returns the commands to which a line may be completed.
pub(crate) fn matching(line: &str) -> impl Iterator<Item = &'static Row> {
    let start = line.strip_prefix('/').filter(|start| !start.contains(char::is_whitespace));
    TABLE.iter().filter(move |row| start.is_some_and(|start| row.name.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_have_an_argument() {
        assert_eq!(read("/model  a/b "), Some(Ok(SlashCommand::Model(Some("a/b".into())))));
        assert_eq!(read("/resume"), Some(Ok(SlashCommand::Resume(None))));
        assert_eq!(read(" /help"), Some(Ok(SlashCommand::Help)));
        assert_eq!(read("/compact the  tests"), Some(Ok(SlashCommand::Compact(Some("the  tests".into())))));
    }

    #[test]
    fn what_begins_with_a_path_is_no_command() {
        assert_eq!(read("/etc/hosts is odd"), None);
        assert_eq!(read("/"), None);
        assert_eq!(read("a /help"), None);
    }

    #[test]
    fn an_unknown_command_is_answered_with_those_there_are() {
        let names: Vec<String> = TABLE.iter().map(|row| format!("/{}", row.name)).collect();
        let message = format!("There is no command /hepl. The commands are {}.", names.join(" "));
        assert_eq!(read("/hepl me"), Some(Err(message)));
    }

    #[test]
    fn rules_are_written_in_several_words() {
        let expected = SlashCommand::Agent(AgentCommand::Permissions("add cargo test *".into()));
        assert_eq!(read("/permissions add cargo test *"), Some(Ok(expected)));
        assert_eq!(read("/permissions"), Some(Ok(SlashCommand::Agent(AgentCommand::Permissions(String::new())))));
    }

    #[test]
    fn too_much_after_a_command_is_an_error() {
        assert_eq!(read("/quit now"), Some(Err("/quit takes nothing after it.".into())));
        assert_eq!(read("/model a b"), Some(Err("/model takes one word: [provider/name].".into())));
    }
}
