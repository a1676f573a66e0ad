use super::*;
use askuser_terminal::Signs;

/// Lines as text, each change of look marked: `{b}` bold, `{i}` italic, `{u}` underlined, `{d}` dim, with the role.
fn marked(lines: &[Line<'_>]) -> String {
    let mut out = String::new();
    for line in lines {
        for span in &line.spans {
            let modifier = span.style.add_modifier;
            let letters =
                [(Modifier::BOLD, 'b'), (Modifier::ITALIC, 'i'), (Modifier::UNDERLINED, 'u'), (Modifier::DIM, 'd')];
            let mut marks: String =
                letters.iter().filter(|(m, _)| modifier.contains(*m)).map(|(_, letter)| *letter).collect();
            let roles = [(Role::Primary, "primary"), (Role::Muted, "muted"), (Role::Secondary, "secondary")];
            let theme = Theme::default();
            if let Some((_, name)) =
                roles.iter().find(|(role, _)| span.style.fg.is_some() && theme.style(*role).fg == span.style.fg)
            {
                marks = [marks.as_str(), name].join(" ").trim().to_owned();
            }
            match marks.as_str() {
                "" => out.push_str(&span.content),
                marks => out.push_str(&format!("{{{marks}|{}}}", span.content)),
            }
        }
        out.push('\n');
    }
    out
}

fn show(text: &str, columns: usize) -> String {
    marked(&render(&rows(text), &Theme::default(), columns))
}

fn check(text: &str, expected: &str) {
    assert_eq!(show(text, 60).trim_end_matches('\n'), expected);
}

const DOCUMENT: &str = "\n\n# Plan\n\nWe use **PostgreSQL** because it is *robust*; see [the docs](https://postgresql.org) \
and `psql --help`. This sentence goes on until it has to be wrapped.\n\n\n## Steps\n1. Install it, which takes a while \
on slow machines\n2. Configure\n   - `port = 5432`, which is what everybody expects it to be\n   - [x] done\n   - [ ] not done\n\n> \
Be careful,\n> it is a **server**.\n\n---\n```sql\nselect *\n\n  from notes where title like '%a very long line that is not \
wrapped at all%';\n```\n| a | b |\n|---|---|\nEnd.";

#[test]
fn a_document() {
    insta::assert_snapshot!(show(DOCUMENT, 60));
}

#[test]
fn a_document_in_a_narrow_terminal() {
    insta::assert_snapshot!(show(DOCUMENT, 28));
}

#[test]
fn a_document_in_ascii() {
    let theme = Theme { signs: Signs::ASCII, ..Theme::default() };
    insta::assert_snapshot!(marked(&render(&rows(DOCUMENT), &theme, 60)));
}

#[test]
fn it_does_not_matter_how_text_is_cut() {
    let whole = rows(DOCUMENT);
    for size in [1, 2, 3, 7, 50] {
        let mut stream = Stream::default();
        let mut pieces = Vec::new();
        let chars: Vec<char> = DOCUMENT.chars().collect();
        for chunk in chars.chunks(size) {
            // Looking at what is not whole yet changes nothing.
            let _ = stream.tail();
            pieces.extend(stream.push(&chunk.iter().collect::<String>()));
        }
        pieces.extend(stream.finish());
        assert_eq!(pieces, whole, "in pieces of {size}");
    }
}

#[test]
fn an_unfinished_line_is_seen_as_far_as_it_has_come() {
    let mut stream = Stream::default();
    assert_eq!(stream.push("Hello **wor"), []);
    assert_eq!(marked(&render(&stream.tail(), &Theme::default(), 60)), "Hello **wor\n");
    assert_eq!(stream.push("ld**"), []);
    assert_eq!(marked(&render(&stream.tail(), &Theme::default(), 60)), "Hello {b|world}\n");
}

#[test]
fn marks_inside_words_are_words() {
    check("snake_case_name and __init__ and 2 * 3 * 4", "snake_case_name and {b|init} and 2 * 3 * 4");
    check("a ** b ** c and **", "a ** b ** c and **");
}

#[test]
fn code_keeps_its_marks() {
    check("`**not bold**` and ``a ` b``", "{primary|**not bold**} and {primary|a ` b}");
    check("an open ` stays", "an open ` stays");
}

#[test]
fn emphasis_goes_inside_emphasis() {
    check("**bold and *both* so**", "{b|bold and }{bi|both}{b| so}");
    check("***all***", "{bi|all}");
    check("~~gone~~", "{d|gone}");
}

#[test]
fn a_link_says_where_it_leads() {
    check("[click](https://evil.example)", "{u|click}{muted| (https://evil.example)}");
    check("<https://a.example>", "{u|https://a.example}");
    check("[not a link] (x)", "[not a link] (x)");
}

#[test]
fn a_backslash_takes_a_marks_meaning() {
    check(r"\*not italic\* \[x\](y)", "*not italic* [x](y)");
}

#[test]
fn nothing_a_model_writes_moves_the_cursor() {
    check("a\u{1b}[2Jb\u{1b}]0;title\u{7}c\u{202e}d", "abcd");
    check("```\n\u{1b}[31mred\n```", "  {secondary|red}");
}

#[test]
fn a_carriage_return_ends_a_line_and_hides_none() {
    check("safe\rrm -rf", "safe\nrm -rf");
    check("one\r\ntwo", "one\ntwo");
}

#[test]
fn a_fence_ends_with_marks_of_its_own_kind() {
    check("~~~\n```\n~~~\nafter", "  {secondary|```}\n\nafter");
}

#[test]
fn hostile_lines_are_shown_and_nothing_in_them_is_lost() {
    for text in ["*a ".repeat(1_300), "[".repeat(3_900), "`".repeat(3_900), "_*".repeat(1_900), "**a*".repeat(10_000)] {
        let shown = show(&format!("x {text}"), 80);
        let letters = |text: &str| text.chars().filter(|c| matches!(c, 'a' | '[' | '`')).count();
        assert_eq!(letters(&shown), letters(&text), "{}", &text[..20]);
    }
}

#[test]
fn quotes_inside_quotes_end_somewhere() {
    let text = format!("{}{}", "> ".repeat(1_000), "abc ".repeat(500));
    let shown = render(&rows(&text), &Theme::default(), 60);
    let length: usize = shown.iter().flat_map(|line| &line.spans).map(|span| span.content.len()).sum();
    assert!(length < 10_000, "{length} bytes");
}

/// A paragraph as it comes in, given row by row: what was given, and what it looks like in the end.
fn streamed(text: &str, size: usize, columns: usize) -> (usize, String) {
    let mut stream = Stream::default();
    let mut all = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    for chunk in chars.chunks(size) {
        all.extend(stream.push(&chunk.iter().collect::<String>()));
        all.extend(stream.take_stable_rows(columns));
    }
    let emitted = all.len();
    all.extend(stream.finish());
    (emitted, marked(&render(&all, &Theme::default(), columns)))
}

const LONG: &str = "It is **bold and goes on for a while, so that it has to be wrapped somewhere** and then *not*, with \
`code in it` and snake_case_names and _emphasis_ and 2 * 3 * 4, see [the docs](https://docs.example) or [none] or \
<https://a.example>, a \\* too. The rest of it is plain and long enough to fill another few rows of the screen, 使用哪个数据库使\
用哪个数据库使用哪个数据库使用哪个数据库使用哪个数据库使用哪个数据库. ~~Gone~~ and ``a ` b`` and a__b__c and **x `y** z` end.";

#[test]
fn a_long_paragraph_is_given_before_it_ends_and_looks_the_same() {
    for lead in ["", "- ", "12. ", "> ", "> > * ", "  "] {
        let text = format!("{lead}{LONG}");
        for size in [1, 3, 10, 200, 1_000] {
            for columns in [20, 33, 60] {
                let (emitted, shown) = streamed(&text, size, columns);
                assert_eq!(shown, show(&text, columns), "{lead:?} in pieces of {size} at {columns}");
                assert!(emitted > 3, "{emitted} rows emitted early");
            }
        }
    }
}

#[test]
fn what_may_still_change_is_not_given() {
    for text in ["**open and ", "`open and ", "[open and ", "see <https://a"] {
        let (emitted, _) = streamed(&format!("{text}{}", "x".repeat(400)), 7, 40);
        assert_eq!(emitted, 0, "{text}");
    }
}

#[test]
fn a_line_too_long_for_marks_is_given_as_it_was_written() {
    let text = format!("**x {}** end", "word ".repeat(2_000));
    let (emitted, shown) = streamed(&text, 100, 60);
    assert!(emitted > 100, "{emitted} rows emitted early");
    assert_eq!(shown, show(&text, 60));
}

#[test]
fn code_and_what_is_not_clean_is_not_given_early() {
    let words = "word ".repeat(100);
    for text in [format!("```\n{words}"), format!("~~~ {words}"), format!("a\u{1b}[1m {words}"), format!("# {words}")] {
        let emitted = streamed(&text, 10, 40).0;
        assert_eq!(emitted, 0, "{text}");
    }
}
