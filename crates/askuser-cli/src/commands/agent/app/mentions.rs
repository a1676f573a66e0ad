//! Files named in a message: `@src/main.rs`, or `@"my notes.txt"`.
//!
//! This module does no IO. The file names are passed in, and the files are read when the message is sent.

use std::ops::Range;

const MAX_OFFERED: usize = 20;
/// The characters that may end a sentence after a path.
const PUNCTUATION: &[char] = &[',', '.', ';', ':', '!', '?', ')'];

/// Returns the paths named in a text, each once.
pub(crate) fn paths(text: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    let mut rest = 0;
    while let Some(at) = text[rest..].find('@').map(|at| rest + at) {
        rest = at + 1;
        if !begins_word(text, at) {
            continue;
        }
        let after = &text[at + 1..];
        let path = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').map(|(path, _)| path).filter(|path| !path.contains('\n')),
            None => after.split(char::is_whitespace).next(),
        };
        if let Some(path) = path.filter(|path| !path.is_empty())
            && !paths.iter().any(|known| known == path)
        {
            paths.push(path.to_owned());
        }
    }
    paths
}

/// Returns a path without punctuation at its end, which may belong to the sentence.
pub(crate) fn without_punctuation(path: &str) -> &str {
    path.trim_end_matches(PUNCTUATION)
}

/// Returns the path that is being typed before the caret: its range, which begins at the `@`, and the typed part of the
/// path. `None` if no path is being typed.
pub(crate) fn being_typed(text: &str, caret: usize) -> Option<(Range<usize>, &str)> {
    let before = &text[..caret];
    let at = before.rfind('@').filter(|at| begins_word(text, *at))?;
    let typed = &before[at + 1..];
    let path = match typed.strip_prefix('"') {
        Some(quoted) => Some(quoted).filter(|path| !path.contains(['"', '\n'])),
        None => Some(typed).filter(|path| !path.contains(char::is_whitespace)),
    };
    path.map(|path| (at..caret, path))
}

/// Returns a path in the spelling of a message.
pub(crate) fn spelled(path: &str) -> String {
    if path.contains(char::is_whitespace) { format!("@\"{path}\"") } else { format!("@{path}") }
}

/// Returns the files that match the typed text, the best match first. A match at the beginning of the path precedes a
/// match at the beginning of the name. A match elsewhere in the path comes last.
pub(crate) fn matching<'a>(files: &'a [String], typed: &str) -> Vec<&'a str> {
    let wanted = typed.to_lowercase();
    let rank = |file: &str| {
        let file = file.to_lowercase();
        let name = file.rsplit('/').next().unwrap_or(&file);
        match () {
            () if file.starts_with(&wanted) => Some(0),
            () if name.starts_with(&wanted) => Some(1),
            () if file.contains(&wanted) => Some(2),
            () => None,
        }
    };
    let mut found: Vec<(usize, &str)> = files.iter().filter_map(|file| Some((rank(file)?, file.as_str()))).collect();
    found.sort_by_key(|(rank, file)| (*rank, file.matches('/').count()));
    found.into_iter().map(|(_, file)| file).take(MAX_OFFERED).collect()
}

fn begins_word(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_none_or(|before| before.is_whitespace() || "([{\"'".contains(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_at_the_beginning_of_a_word() {
        let check = |text: &str, expected: &[&str]| assert_eq!(paths(text), expected, "{text}");
        check("look at @src/main.rs and @a.txt", &["src/main.rs", "a.txt"]);
        check("mail ada@example.org", &[]);
        check("@\"my notes.txt\" (@x)", &["my notes.txt", "x)"]);
        check("@a @a @", &["a"]);
        assert_eq!(without_punctuation("src/main.rs)."), "src/main.rs");
    }

    #[test]
    fn what_is_typed_of_a_path_ends_at_the_caret() {
        assert_eq!(being_typed("see @src/m now", 10), Some((4..10, "src/m")));
        assert_eq!(being_typed("see @src/m now", 14), None);
        assert_eq!(being_typed("@\"my no", 7), Some((0..7, "my no")));
        assert_eq!(being_typed("a@b", 3), None);
        assert_eq!(being_typed("@", 1), Some((0..1, "")));
    }

    #[test]
    fn the_likeliest_file_comes_first() {
        let files = ["docs/main.md", "src/domain.rs", "src/main.rs", "main.c"].map(str::to_owned);
        assert_eq!(matching(&files, "main"), ["main.c", "docs/main.md", "src/main.rs", "src/domain.rs"]);
        assert_eq!(matching(&files, "SRC/"), ["src/domain.rs", "src/main.rs"]);
        assert_eq!(matching(&files, "x"), [""; 0]);
    }
}
