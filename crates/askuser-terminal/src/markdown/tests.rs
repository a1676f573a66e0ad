//! The look of a document, complete and while it arrives.

use super::*;
use crate::view::{Signs, wrap};
use proptest::prelude::*;

/// Formats lines as text with each change of style marked: `{b}` bold, `{i}` italic, `{u}` underlined, `{d}` dim, with
/// the role.
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
            // A preview of an unfinished part changes no state.
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
    check(
        "snake_case_name and __init__ and _this_ and 2 * 3 * 4",
        "snake_case_name and __init__ and _this_ and 2 * 3 * 4",
    );
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
fn html_entities_and_paths_are_shown_as_they_were_written() {
    check("a <b>bold</b> &amp; &#27;[2J <!-- not hidden -->", "a <b>bold</b> &amp; &#27;[2J <!-- not hidden -->");
    check("<div>\n**x**\n</div>", "<div>\n**x**\n</div>");
    check("from ~/a to ~/b", "from ~/a to ~/b");
}

#[test]
fn a_definition_of_a_link_target_does_not_vanish() {
    check("See [it].\n\n[it]: https://evil.example", "See [{u|it}].\n\n[it]: https://evil.example");
    check("- [a]: https://evil.example", "{primary|• }[a]: https://evil.example");
    check(
        "[![alt](a.png)](https://b.example \"title\")",
        "{u|alt}{u muted| (a.png)}{muted| (https://b.example \"title\")}",
    );
}

#[test]
fn a_diff_is_coloured_in_a_prompt() {
    let rows = rows("```diff\n-a\n+b\n```\n~~~\nplain\n~~~");
    let lines = render_wrapped(&rows, &Theme::default(), 14, Style::new());
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    assert_eq!(text, ["  -a", "  +b", "", "  plain"]);
    let theme = Theme::default();
    assert_eq!(lines[1].spans.last().unwrap().style, theme.style(Role::Success));
}

#[test]
fn inline_text_has_bold_and_code_and_nothing_else() {
    let shown = |text: &str| {
        let pieces = inline(text).expect("something is marked");
        let words = words(&pieces, Style::new(), &Theme::default());
        marked(&[Line::from_iter(words.into_iter().map(|(text, style)| Span::styled(text, style)))])
    };
    assert_eq!(shown("Use **this** or `that`?"), "Use {b|this} or {primary|that}?\n");
    assert_eq!(shown("# **a** *b* [b](c) <i>d</i>  "), "# {b|a} *b* [b](c) <i>d</i>  \n");
    assert_eq!(shown(r"C:\*.* and `x` \`y\` 2*3*4 ~~z~~"), "C:\\*.* and {primary|x} \\`y\\` 2*3*4 ~~z~~\n");
    assert_eq!(shown("1. **a**\n    - `b`"), "1. {b|a}\n    - {primary|b}\n");
    assert_eq!(inline("no mark_up, [a](b), <i>"), None);
}

#[test]
fn code_is_marked_without_colours_too() {
    let theme = Theme { depth: ColorDepth::None, ..Theme::default() };
    let lines = render(&rows("Run `rm -r x` now"), &theme, 60);
    assert_eq!(lines[0].to_string(), "Run `rm -r x` now");
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
    for text in ["*a ".repeat(1_300), "[".repeat(20_000), "`".repeat(3_900), "_*".repeat(1_900), "**a*".repeat(10_000)]
    {
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

/// Streams a paragraph that is emitted row by row. Returns the number of rows that were emitted early, and the final
/// text.
fn streamed(text: &str, size: usize, columns: usize) -> (usize, String) {
    let mut stream = Stream::default();
    let mut all = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    for chunk in chars.chunks(size) {
        all.extend(stream.push(&chunk.iter().collect::<String>()));
        all.extend(stream.take_stable_rows(columns, |text| wrap(text, columns, columns)));
    }
    let emitted = all.len();
    all.extend(stream.finish());
    (emitted, marked(&render(&all, &Theme::default(), columns)))
}

/// Returns the lines that are not blank, without their styles.
fn solid(rows: &[Row], columns: usize) -> Vec<String> {
    let lines = render(rows, &Theme::default(), columns);
    lines
        .iter()
        .map(|line| line.to_string().trim_end().to_owned())
        .filter(|line| line.contains(|c: char| !c.is_whitespace() && c != '│'))
        .collect()
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
                // Inside a list or a quote, the preview shows the text until the item ends.
                assert!(
                    emitted > 1 || !lead.trim().is_empty(),
                    "{emitted} rows emitted early of {lead:?} in pieces of {size} at {columns}"
                );
            }
        }
    }
}

const TABLE: &str = "| Name | What it is | Stars |\n|:--|:-:|--:|\n| one | short | 1 |\n| **two** | `code` and 漢字 | 22 |\n| three |\n";

#[test]
fn a_table_is_as_wide_as_it_needs_to_be() {
    let plain = |columns| {
        render(&rows(TABLE), &Theme::default(), columns)
            .iter()
            .map(|l| format!("{}\n", l.to_string().trim_end()))
            .collect::<String>()
    };
    let wide = "\
Name  │  What it is   │ Stars
──────┼───────────────┼──────
one   │     short     │     1
two   │ code and 漢字 │    22
three │               │
";
    assert_eq!(plain(60), wide);
    let narrow = "\
Name  │ What it  │ Stars
      │    is    │
──────┼──────────┼──────
one   │  short   │     1
two   │ code and │    22
      │   漢字   │
three │          │
";
    assert_eq!(plain(24), narrow);
    let list = "\
• Name: one
  What it is:
    short
  Stars: 1
• Name: two
  What it is: code
    and 漢字
  Stars: 22
• Name: three
  What it is:
  Stars:
";
    assert_eq!(plain(18), list);
}

#[test]
fn a_table_in_a_quote_or_a_list_and_one_without_rows_are_tables_too() {
    let plain =
        |text: &str| render(&rows(text), &Theme::default(), 40).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(plain("> | a | b |\n> |---|---|\n> | 1 | 2 |"), ["│ a │ b", "│ ──┼──", "│ 1 │ 2"]);
    assert_eq!(plain("| a | b |\n|---|---|"), ["a │ b", "──┼──"]);
}

#[test]
fn no_cell_of_a_table_is_hidden() {
    let text = "| a | b |\n|---|---|\n| 1 | 2 | rm -rf |\n";
    let shown = show(text, 60);
    assert!(shown.contains("rm -rf"), "{shown}");
}

#[test]
fn code_without_colours_is_code_as_any_other() {
    let theme = Theme { depth: ColorDepth::None, ..Theme::default() };
    let lines = render(&rows("```rust\nfn main() {} // x\n```"), &theme, 60);
    assert!(lines[0].spans.iter().all(|span| span.style.add_modifier.is_empty()), "{lines:?}");
    assert_eq!(lines[0].to_string(), "  fn main() {} // x");
}

#[test]
fn tables_and_code_look_the_same_however_they_are_cut() {
    let text = format!("Before.\n\n{TABLE}\n```rust\nfn a() {{\n/* one\n\ntwo */ let b = 1;\n}}\n```\n{TABLE}after");
    let whole = rows(&text);
    for size in 1..12 {
        let chars: Vec<char> = text.chars().collect();
        let mut stream = Stream::default();
        let mut given = Vec::new();
        for part in chars.chunks(size) {
            given.extend(stream.push(&part.iter().collect::<String>()));
        }
        given.extend(stream.finish());
        assert_eq!(given, whole, "in pieces of {size}");
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
fn code_in_a_fence_is_given_line_by_line_and_items_of_a_list_one_by_one() {
    let mut stream = Stream::default();
    let given =
        |rows: Vec<Row>| render(&rows, &Theme::default(), 60).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(given(stream.push("```rust\n")), Vec::<String>::new());
    assert_eq!(given(stream.push("let x = 1;\nlet")), ["  let x = 1;"]);
    assert_eq!(given(stream.push(" y;\n```\n")), ["  let y;"]);
    assert_eq!(given(stream.push("1. one\n")), Vec::<String>::new());
    assert_eq!(given(stream.push("   - inner\n   - second\n")), ["", "1. one", "   • inner"]);
    assert_eq!(given(stream.push("2. two\n\nEnd\n")), ["   • second", "2. two"]);
    assert_eq!(given(stream.finish()), ["", "End"]);
}

#[test]
fn what_is_not_clean_and_no_paragraph_is_not_given_early() {
    let words = "word ".repeat(100);
    for text in [format!("~~~ {words}"), format!("a\u{1b}[1m {words}"), format!("# {words}")] {
        let emitted = streamed(&text, 10, 40).0;
        assert_eq!(emitted, 0, "{text}");
    }
}

#[test]
fn hostile_text_is_read_in_time() {
    // Each text would take minutes if parsing were quadratic in its length.
    let texts = ["*a ", "[", "`", "_*", "**a*", "> ", "- ", "<", "[a](", "![", "&", "~a~ ", "***a ", "]: [", "\\"];
    for text in texts {
        let text = text.repeat(100_000 / text.len());
        let _ = rows(&text);
        assert!(inline(&format!("**{text}")).is_some());
    }
}

#[test]
fn a_link_to_a_definition_is_shown_as_it_was_written_and_does_not_repeat_it() {
    check("[a][x] [x][] ![x]\n\n[x]: u", "[{u|a}][x] [{u|x}][] ![{u|x}]\n\n[x]: u");
}

#[test]
fn the_text_of_a_list_item_that_looks_like_a_definition_is_not_shown_twice() {
    check("- a\nb [x]: \nfoo", "{primary|• }a\n  b [x]:\n  foo");
    check("- a [x]: b\n- c", "{primary|• }a [x]: b\n{primary|• }c");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_not_matter_how_any_text_is_cut(
        text in "([-*#>`~_ \n\\[\\]()!<&]|[a-c] |1\\. |```\n|- |\n\n|    ){0,40}", size in 1usize..9, columns in 8usize..40,
    ) {
        let mut stream = Stream::default();
        let mut all = Vec::new();
        for chunk in text.chars().collect::<Vec<_>>().chunks(size) {
            let _ = stream.tail();
            all.extend(stream.push(&chunk.iter().collect::<String>()));
            all.extend(stream.take_stable_rows(columns, |text| wrap(text, columns, columns)));
        }
        all.extend(stream.finish());
        prop_assert_eq!(solid(&all, columns), solid(&rows(&text), columns), "{:?}", text);
    }

    #[test]
    fn no_letter_of_a_text_is_lost(text in "([-*#>`~_ \n\\[\\]()!<&|]|[a-c]|: |1\\. |```\n|- |\n\n|    |\\|--\\|--\\|\n|\\| a \\| b \\|\n){0,40}") {
        let shown: String = render_wrapped(&rows(&text), &Theme::default(), 60, Style::new()).iter().map(ToString::to_string).collect();
        let letters = |text: &str, c: char| text.chars().filter(|other| *other == c).count();
        for c in ['a', 'b', 'c', '_', '<', '&'] {
            prop_assert!(letters(&shown, c) >= letters(&text, c), "{:?} in {:?}", text, shown);
        }
    }

    #[test]
    fn a_text_is_shown_as_often_as_it_was_written(
        text in "([-*#>`~ \n\\[\\]()!<&|]|[a-c]|\\[a\\]: |\\]: |: |1\\. |```\n|- |> |\n\n|    |\\|--\\|--\\|\n|\\| a \\| b \\|\n){0,40}",
    ) {
        let shown: String = render_wrapped(&rows(&text), &Theme::default(), 60, Style::new()).iter().map(ToString::to_string).collect();
        let letters = |text: &str, c: char| text.chars().filter(|other| *other == c).count();
        for c in ['a', 'b', 'c', '<', '&'] {
            prop_assert_eq!(letters(&shown, c), letters(&text, c), "{:?} in {:?}", text, shown);
        }
    }
}
