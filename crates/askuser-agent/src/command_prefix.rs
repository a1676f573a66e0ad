//! Prefix rules for commands inside the sandbox: `cargo test *` allows `cargo test` with any plain words after it.
//!
//! Only a plain command matches: characters without a special meaning, and quoted text without expansion. A command
//! with lists, pipes, redirections, expansions or assignments is not parsed. Such a command needs permission even if it
//! begins like a rule. The rule does not inspect arguments: the sandbox is the barrier.

const NOT_PLAIN: &str =
    "a rule that ends in * has plain words before it, without quotes, variables, or signs that a shell reads";

/// Whether a prefix rule allows a command with these words.
pub(crate) fn lets_through(rule: &str, words: &[String]) -> bool {
    let rule: Vec<&str> = rule.split(' ').collect();
    words.len() >= rule.len() && rule.iter().zip(words).all(|(rule, word)| rule == word && is_plain(word))
}

/// Returns the rule to offer to the person; `None` if there is none.
///
/// A subcommand belongs to the rule, as in `cargo test`. Arguments do not, because they vary: a script's path leaves
/// `python`.
pub(crate) fn offered(words: &[String]) -> Option<String> {
    let is_subcommand =
        |word: &String| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-');
    let count = 1 + usize::from(words.get(1).is_some_and(is_subcommand));
    words.get(..count).filter(|rule| rule.iter().all(|word| is_plain(word))).map(|rule| rule.join(" "))
}

/// Parses a rule such as `cargo test *`. Returns `None` if the text is not a prefix rule, or the reason why the rule is
/// invalid.
pub(crate) fn parse_rule(rule: &str) -> Option<Result<String, &'static str>> {
    let prefix = rule.trim().strip_suffix('*').filter(|prefix| prefix.ends_with([' ', '\t']))?;
    let words = plain_words(prefix).filter(|words| words.iter().all(|word| is_plain(word)));
    Some(words.map(|words| words.join(" ")).ok_or(NOT_PLAIN))
}

fn is_plain(word: &str) -> bool {
    word.chars().all(is_plain_char)
}

/// Whether every shell takes this character literally.
fn is_plain_char(c: char) -> bool {
    c.is_alphanumeric() || "_-./:=,@%+".contains(c)
}

/// Returns the words of a plain command; `None` if the command is not plain.
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
                        // The shell expands these characters inside double quotes. A backslash has a meaning only
                        // before one of them.
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
            // After such a character, the sign has no special meaning, as in `HEAD~1`, `v1^` and `stash@{0}`.
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
    // A first word with `=` could assign a variable.
    (!first.is_empty() && !first.contains('=')).then_some(words)
}

#[cfg(test)]
#[path = "command_prefix_tests.rs"]
mod tests;
