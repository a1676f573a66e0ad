//! Colours for code: keywords, strings, comments and numbers of common languages, line by line.
//!
//! A grammar is left out on purpose. A wrong colour does not hide a character.

use crate::inline::push;
use crate::{Look, Piece, Token};

/// The part of a language's lexical syntax that has colours.
#[derive(Debug, PartialEq, Eq)]
struct Language {
    names: &'static [&'static str],
    keywords: &'static str,
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static str,
    /// The quotes of strings that may span lines.
    long_quotes: &'static [&'static str],
}

/// The syntax of C: its comments, and strings in single or double quotes.
const LIKE_C: Language = Language {
    names: &[],
    keywords: "",
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    quotes: "\"'",
    long_quotes: &[],
};

/// The syntax of a shell: comments begin with `#`.
const LIKE_SHELL: Language = Language { line_comments: &["#"], block_comment: None, ..LIKE_C };

const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod \
                   move mut pub ref return self Self static struct super trait true type unsafe use where while",
        quotes: "\"",
        ..LIKE_C
    },
    Language {
        names: &["python", "py"],
        keywords: "and as assert async await break class continue def del elif else except False finally for from global if \
                   import in is lambda match None nonlocal not or pass raise return True try while with yield",
        long_quotes: &["\"\"\"", "'''"],
        ..LIKE_SHELL
    },
    Language {
        names: &["javascript", "js", "jsx", "typescript", "ts", "tsx"],
        keywords: "abstract as async await break case catch class const continue default delete do else enum export extends \
                   false finally for from function if implements import in instanceof interface let new null of private \
                   public readonly return static super switch this throw true try type typeof undefined var void while yield",
        long_quotes: &["`"],
        ..LIKE_C
    },
    Language {
        names: &["go", "golang"],
        keywords: "break case chan const continue default defer else fallthrough false for func go goto if import interface \
                   map nil package range return select struct switch true type var",
        long_quotes: &["`"],
        ..LIKE_C
    },
    Language {
        names: &["c", "h", "cpp", "c++", "cc", "hpp", "java", "csharp", "cs", "c#", "kotlin", "kt", "swift", "php"],
        keywords: "abstract auto bool boolean break case catch char class const continue default do double else enum extends \
                   extern false final finally float for fun func function if implements import include inline int interface \
                   let long namespace new null nullptr override package private protected public return short signed sizeof \
                   static struct super switch template this throw throws true try typedef union unsigned using val var \
                   virtual void volatile when while",
        ..LIKE_C
    },
    Language {
        names: &["bash", "sh", "shell", "zsh", "console", "fish"],
        keywords: "case do done elif else esac exit export fi for function if in local return set then until while",
        ..LIKE_SHELL
    },
    Language {
        names: &["ruby", "rb"],
        keywords: "begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue \
                   return self super then true unless until when while yield",
        ..LIKE_SHELL
    },
    Language {
        names: &["sql", "sqlite", "postgresql", "mysql"],
        keywords: "ADD ALL ALTER AND AS ASC BEGIN BETWEEN BY CASE COMMIT CREATE DEFAULT DELETE DESC DISTINCT DROP ELSE END \
                   EXISTS FOREIGN FROM FULL GROUP HAVING IF IN INDEX INNER INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON \
                   OR ORDER OUTER PRIMARY REFERENCES RETURNING RIGHT SELECT SET TABLE THEN UNION UNIQUE UPDATE VALUES VIEW \
                   WHEN WHERE WITH",
        line_comments: &["--"],
        quotes: "'\"",
        ..LIKE_C
    },
    Language {
        names: &["json", "jsonc", "toml", "yaml", "yml", "ini"],
        keywords: "true false null",
        line_comments: &["#", "//"],
        long_quotes: &["\"\"\""],
        ..LIKE_SHELL
    },
];

/// Highlights code line by line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Highlighter {
    language: Option<&'static Language>,
    inside: Inside,
}

/// The construct that the last line left open, with its terminator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Code,
    Comment(&'static str),
    Text(&'static str),
}

impl Highlighter {
    /// Creates a highlighter for the language of a fence. Code in an unknown language stays plain.
    pub(crate) fn new(fence: &str) -> Highlighter {
        let name = fence.split([' ', ',', '{']).next().unwrap_or_default().to_lowercase();
        let language = LANGUAGES.iter().find(|language| language.names.contains(&name.as_str()));
        Highlighter { language, inside: Inside::Code }
    }

    /// Returns the runs of the next line.
    pub(crate) fn line(&mut self, line: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let Some(language) = self.language else {
            return vec![Piece { text: line.to_owned(), look: Look::default() }];
        };
        let mut at = 0;
        while at < line.len() {
            let (length, token) = self.token(language, line, at);
            push(&mut pieces, &line[at..at + length], Look { token, ..Look::default() });
            at += length;
        }
        // An empty line also has one run.
        if pieces.is_empty() {
            pieces.push(Piece { text: String::new(), look: Look::default() });
        }
        pieces
    }

    /// Returns the length of the next run in bytes, and its kind.
    fn token(&mut self, language: &Language, line: &str, at: usize) -> (usize, Token) {
        let rest = &line[at..];
        let up_to = |end: &str| rest.find(end).map(|found| found + end.len());
        match self.inside {
            Inside::Code => {}
            Inside::Comment(end) | Inside::Text(end) => {
                let token = if matches!(self.inside, Inside::Text(_)) { Token::Text } else { Token::Comment };
                let length = up_to(end);
                if length.is_some() {
                    self.inside = Inside::Code;
                }
                return (length.unwrap_or(rest.len()), token);
            }
        }
        let first = rest.chars().next().unwrap_or(' ');
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let after_word = line[..at].chars().next_back().is_some_and(is_word);
        // `#` inside a word starts no comment in a shell.
        let begins = line[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || ";({[,".contains(c));
        if language.line_comments.iter().any(|mark| rest.starts_with(mark) && (*mark != "#" || begins)) {
            return (rest.len(), Token::Comment);
        }
        if let Some((begin, end)) = language.block_comment.filter(|(begin, _)| rest.starts_with(begin)) {
            let length = rest[begin.len()..].find(end).map(|found| begin.len() + found + end.len());
            if length.is_none() {
                self.inside = Inside::Comment(end);
            }
            return (length.unwrap_or(rest.len()), Token::Comment);
        }
        if let Some(quote) = language.long_quotes.iter().find(|quote| rest.starts_with(**quote)) {
            let length = rest[quote.len()..].find(quote).map(|found| 2 * quote.len() + found);
            if length.is_none() {
                self.inside = Inside::Text(quote);
            }
            return (length.unwrap_or(rest.len()), Token::Text);
        }
        if language.quotes.contains(first) {
            return (quoted(rest, first), Token::Text);
        }
        if is_word(first) {
            let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let word = &rest[..length];
            let same =
                |keyword: &str| keyword == word || (language.names[0] == "sql" && keyword.eq_ignore_ascii_case(word));
            let token = match first {
                _ if after_word => Token::Plain,
                '0'..='9' => Token::Number,
                _ if language.keywords.split_whitespace().any(same) => Token::Keyword,
                _ => Token::Plain,
            };
            return (length, token);
        }
        (first.len_utf8(), Token::Plain)
    }
}

/// Returns the length of a quoted text in bytes. The text ends at its closing quote or at the end of the line.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_colours_and_every_character_stays() {
        let highlighted = |language: &str, code: &str| {
            let mut highlighter = Highlighter::new(language);
            let runs = code.lines().flat_map(|line| highlighter.line(line));
            runs.filter(|piece| piece.look.token != Token::Plain)
                .map(|piece| (piece.look.token, piece.text))
                .collect::<Vec<_>>()
        };
        let text = |token: Token, text: &str| (token, text.to_owned());
        use Token::{Comment, Keyword, Number, Text};
        let rust = "let a = \"x \\\" y\"; // fn\n/* one\ntwo */ 0x1f fnord";
        let expected = [
            text(Keyword, "let"),
            text(Text, "\"x \\\" y\""),
            text(Comment, "// fn"),
            text(Comment, "/* one"),
            text(Comment, "two */"),
            text(Number, "0x1f"),
        ];
        assert_eq!(highlighted("rust", rust), expected);
        assert_eq!(highlighted("Python", "x = \"\"\"a\nb\"\"\" # c")[2], text(Comment, "# c"));
        assert_eq!(highlighted("sh", "echo a#b # c"), [text(Comment, "# c")]);
        assert_eq!(highlighted("sql", "select 1"), [text(Keyword, "select"), text(Number, "1")]);
        assert_eq!(highlighted("klingon", "let it be"), []);
    }
}
