//! Rules for commands by how they begin: `cargo test *` lets through `cargo test` with any plain words after it.
//!
//! Only a plain command matches: words of harmless characters, and quotes around anything that a shell takes as it stands. A
//! command that is composed of others, redirects, expands or assigns anything is not taken apart. It is asked for, whatever
//! it begins with.
//!
//! Only programs that are known have a prefix, since `python *` would be everything, and so would be `split *`. Of these, only
//! subcommands and options are let through that are known to be harmless, and nothing outside of the folder.

use crate::known_programs::known;

/// What a plain command can be let through by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    /// Its beginnings, each of which lets it through where it is allowed.
    pub matching: Vec<String>,
    /// The one that is offered to the person, where one makes sense.
    pub offered: Option<String>,
}

/// Why a rule cannot be a prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// It has more than plain words.
    #[error("a rule that ends in * has plain words before it, without quotes, variables, or signs that a shell reads")]
    NotPlain,
    /// Its program might do anything with what it is given.
    #[error(
        "what {0} does with any further words is not known, so {0} * might allow everything; allow single commands instead"
    )]
    UnknownProgram(String),
    /// It has an option that is not known.
    #[error("{0} is not among the options known to be harmless here, so it is asked for each time")]
    UnknownOption(String),
    /// It names something elsewhere.
    #[error("{0} may name something outside of the folder, so it is asked for each time")]
    LeadsOut(String),
    /// Its program does different things by its second word.
    #[error("{0} does many things: say which, as in {0} {1} *")]
    NoSubcommand(String, &'static str),
    /// What its program does then is not known to be harmless.
    #[error("of {program}, only these can have words after them: {known}; allow single commands instead")]
    UnknownSubcommand {
        /// The program.
        program: String,
        /// Its subcommands that are known.
        known: String,
    },
}

/// What a command can be let through by; nothing, if it is not a plain one.
#[cfg(test)]
pub(crate) fn prefixes(command: &str) -> Prefixes {
    plain_words(command).map_or_else(Prefixes::default, |words| prefixes_of(&words))
}

/// The same for its words.
pub(crate) fn prefixes_of(words: &[String]) -> Prefixes {
    if is_harmless(words).is_err() {
        return Prefixes::default();
    }
    let lets_through = |count: &usize| check(&words[..*count]).is_ok();
    let joined = |count: usize| words[..count].join(" ");
    let offered = offered(words).filter(lets_through);
    Prefixes { matching: (1..=words.len()).filter(lets_through).map(joined).collect(), offered: offered.map(joined) }
}

/// The prefix of a rule that a person wrote as `cargo test *`; `None` if it is not a prefix.
///
/// # Errors
/// Why it cannot be one.
pub(crate) fn parse_rule(rule: &str) -> Option<Result<String, PrefixError>> {
    let prefix = rule.trim().strip_suffix('*').filter(|prefix| prefix.ends_with([' ', '\t']))?;
    let words = plain_words(prefix).filter(|words| words.iter().all(|word| word.chars().all(is_plain)));
    let words = words.ok_or(PrefixError::NotPlain);
    Some(words.and_then(|words| check(&words).map(|()| words.join(" "))))
}

/// Whether a kept rule lets anything through.
///
/// # Errors
/// Why not: it was written into the file by hand, or by a version that took it for harmless.
pub(crate) fn check_kept(prefix: &str) -> Result<(), PrefixError> {
    check(&prefix.split(' ').map(str::to_owned).collect::<Vec<_>>())
}

/// Whether a rule can begin with these words.
fn check(words: &[String]) -> Result<(), PrefixError> {
    match words.iter().all(|word| word.chars().all(is_plain)) {
        true => is_harmless(words),
        false => Err(PrefixError::NotPlain),
    }
}

/// Whether these words are known to do no more than they seem to.
fn is_harmless(words: &[String]) -> Result<(), PrefixError> {
    let [first, rest @ ..] = words else { return Err(PrefixError::NotPlain) };
    let program = known(first).ok_or_else(|| PrefixError::UnknownProgram(first.clone()))?;
    let Some(command) = program.command(rest) else {
        return Err(match rest.first() {
            Some(word) if !word.starts_with(['-', '+']) => PrefixError::UnknownSubcommand {
                program: first.clone(),
                known: program.commands.iter().map(|command| command.words).collect::<Vec<_>>().join(", "),
            },
            _ => PrefixError::NoSubcommand(first.clone(), program.commands[0].words),
        });
    };
    let further = &rest[command.len()..];
    if let Some(option) = command.unknown_option(further) {
        return Err(PrefixError::UnknownOption(option.clone()));
    }
    match further.iter().find(|word| leads_out(word)) {
        Some(word) => Err(PrefixError::LeadsOut(word.clone())),
        None => Ok(()),
    }
}

/// How many words of a command a rule is offered for.
fn offered(words: &[String]) -> Option<usize> {
    let (first, rest) = words.split_first()?;
    known(first)?.command(rest).map(|command| 1 + command.len())
}

/// Whether a word may name something outside of the folder.
fn leads_out(word: &str) -> bool {
    let mut parts = word.split(['=', ':', ',', '@']);
    parts.any(|part| part.starts_with(['/', '~']) || part.split('/').any(|name| name == ".."))
}

/// Characters that no shell reads as anything but themselves.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_-./:=,@%+".contains(c)
}

/// The words of a plain command; `None` for any other.
pub(crate) fn plain_words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut chars = command.trim_matches([' ', '\t']).chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let text = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        // Between double quotes these are read by the shell, a backslash only before one of them.
                        '$' | '`' | '!' if c == '"' => return None,
                        '\\' if c == '"' => match chars.next()? {
                            '$' | '`' | '"' | '\\' | '!' | '\n' | '\r' => return None,
                            inner => text.extend(['\\', inner]),
                        },
                        '\n' | '\r' => return None,
                        inner => text.push(inner),
                    }
                }
            }
            c if is_plain(c) => word.get_or_insert_default().push(c),
            // `HEAD~1`, `v1^`, `stash@{0}`: a shell reads these signs elsewhere only.
            '~' | '^'
                if word
                    .as_ref()
                    .is_some_and(|word| word.ends_with(|c: char| c.is_alphanumeric() || "~^}".contains(c))) =>
            {
                word.get_or_insert_default().push(c);
            }
            '{' if word.as_ref().is_some_and(|word| word.ends_with(['@', '^'])) => {
                let (inside, rest) = chars.as_str().split_once('}')?;
                if !inside.chars().all(|c| c.is_alphanumeric() || c == '-') {
                    return None;
                }
                word.get_or_insert_default().extend(["{", inside, "}"]);
                chars = rest.chars();
            }
            _ => return None,
        }
    }
    words.extend(word);
    let first: &String = words.first()?;
    // It could assign a variable.
    (!first.is_empty() && !first.contains('=')).then_some(words)
}

#[cfg(test)]
#[path = "command_prefix_tests.rs"]
mod tests;
