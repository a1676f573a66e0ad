//! Rules for commands by how they begin: inside the sandbox, `cargo test *` lets through `cargo test` with any plain words after
//! it.
//!
//! Only a plain command matches: words of harmless characters, and quotes around anything that a shell takes as it stands. A
//! command that is composed of others, redirects, expands or assigns anything is not taken apart. It is asked for, whatever
//! it begins with. What the words do is not looked at: the sandbox is the wall.

const NOT_PLAIN: &str =
    "a rule that ends in * has plain words before it, without quotes, variables, or signs that a shell reads";

/// Whether a rule lets a command of these words through.
pub(crate) fn lets_through(rule: &str, words: &[String]) -> bool {
    let rule: Vec<&str> = rule.split(' ').collect();
    words.len() >= rule.len() && rule.iter().zip(words).all(|(rule, word)| rule == word && is_plain(word))
}

/// The rule that is offered to the person: `cargo test`, but `python`, since what follows a subcommand is what differs.
pub(crate) fn offered(words: &[String]) -> Option<String> {
    let is_subcommand =
        |word: &String| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    let count = 1 + usize::from(words.get(1).is_some_and(is_subcommand));
    words.get(..count).filter(|rule| rule.iter().all(|word| is_plain(word))).map(|rule| rule.join(" "))
}

/// The prefix of a rule that a person wrote as `cargo test *`, or why it cannot be one; `None` if it is not a prefix.
pub(crate) fn parse_rule(rule: &str) -> Option<Result<String, &'static str>> {
    let prefix = rule.trim().strip_suffix('*').filter(|prefix| prefix.ends_with([' ', '\t']))?;
    let words = plain_words(prefix).filter(|words| words.iter().all(|word| is_plain(word)));
    Some(words.map(|words| words.join(" ")).ok_or(NOT_PLAIN))
}

fn is_plain(word: &str) -> bool {
    word.chars().all(is_plain_char)
}

/// Characters that no shell reads as anything but themselves.
fn is_plain_char(c: char) -> bool {
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
            c if is_plain_char(c) => word.get_or_insert_default().push(c),
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
