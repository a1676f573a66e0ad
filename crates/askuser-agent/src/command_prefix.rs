//! Rules for commands by how they begin: inside the sandbox, `cargo test *` lets through `cargo test` with any plain words after
//! it.
//!
//! Only a plain command matches: words of harmless characters, and quotes around anything that a shell takes as it stands. A
//! command that is composed of others, redirects, expands or assigns anything is not taken apart. It is asked for, whatever
//! it begins with. What the words do is not looked at: the sandbox is the wall.

/// What a plain command can be let through by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    /// Its beginnings, each of which lets it through where it is allowed.
    pub matching: Vec<String>,
    /// The one that is offered to the person.
    pub offered: Option<String>,
}

/// A rule that cannot be a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rule that ends in * has plain words before it, without quotes, variables, or signs that a shell reads")]
pub struct NotPlain;

/// What a command can be let through by; nothing, if it is not a plain one.
pub(crate) fn prefixes(command: &str) -> Prefixes {
    let words = plain_words(command).unwrap_or_default();
    let plain = words.iter().take_while(|word| word.chars().all(is_plain)).count();
    let joined = |count: usize| words[..count].join(" ");
    // `cargo test`, but `python`: what follows a subcommand is what differs.
    let is_subcommand =
        |word: &String| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    let offered = 1 + usize::from(words.get(1).is_some_and(is_subcommand));
    Prefixes { matching: (1..=plain).map(joined).collect(), offered: (offered <= plain).then(|| joined(offered)) }
}

/// The prefix of a rule that a person wrote as `cargo test *`; `None` if it is not a prefix.
///
/// # Errors
/// Where it has more than plain words.
pub(crate) fn parse_rule(rule: &str) -> Option<Result<String, NotPlain>> {
    let prefix = rule.trim().strip_suffix('*').filter(|prefix| prefix.ends_with([' ', '\t']))?;
    let words = plain_words(prefix).filter(|words| words.iter().all(|word| word.chars().all(is_plain)));
    Some(words.map(|words| words.join(" ")).ok_or(NotPlain))
}

/// Characters that no shell reads as anything but themselves.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "_-./:=,@%+".contains(c)
}

/// The words of a plain command; `None` for any other.
fn plain_words(command: &str) -> Option<Vec<String>> {
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
