//! Options leave room for a context, and the context scrolls separately.

use super::*;
use askuser::{Context, KeyCode};
use fixtures::{ARMED, database, question, set_of};
use std::fmt::Write;

fn permission() -> askuser::QuestionSet {
    let options = [
        ("Allow once", "Run it now and ask again the next time"),
        ("Always here", "Run exactly this command in this folder without asking"),
        ("Don't run it", "The agent is told that you said no"),
        ("Explain first", "The agent says what it does before it asks again"),
    ];
    set_of(&[question("Run this command?", "Bash", false, &options)])
}

fn command() -> Context {
    Context::Command("cd /srv/app\ngit pull --ff-only\nsystemctl restart app".into())
}

fn plan() -> Context {
    Context::Prose(
        "## The plan\n\n1. **Look** at `main.rs`\n2. Change it\n3. Run the tests\n4. Say what came of it".into(),
    )
}

fn diff() -> Context {
    Context::Diff("@@ -1 +1 @@\n-let x = 1;\n+let x = 2;".into())
}

/// Returns the driver's view of a context on a terminal of this size.
fn with(prompt: &Prompt, context: &Context, (columns, rows): Size) -> View {
    View::new(prompt, Some(context), &Theme::default(), PromptPhase::Asking, columns - 1, rows - 1)
}

fn picture(prompt: &Prompt, context: &Context, size: Size) -> String {
    let rows: String = rows(&drawn(&with(prompt, context, size))).iter().map(|row| format!("{row}\n")).collect();
    format!("{}x{}\n{rows}\n", size.0, size.1)
}

const SIZES: [Size; 3] = [(80, 24), (40, 12), (120, 40)];

#[test]
fn contexts_at_every_size() {
    for (name, context, set) in
        [("permission", command(), permission()), ("plan", plan(), permission()), ("diff", diff(), permission())]
    {
        let prompt = Prompt::new(set, ARMED);
        let mut out = String::new();
        for size in SIZES {
            let _ = write!(out, "{}", picture(&prompt, &context, size));
        }
        insta::assert_snapshot!(name, out);
    }
}

#[test]
fn a_permission_shows_what_it_permits_at_40_by_12() {
    let shown = picture(&Prompt::new(permission(), ARMED), &command(), (40, 12));
    for line in command().text().lines() {
        assert!(shown.contains(&format!("│ ┃ {line}")), "{shown}");
    }
    assert!(shown.contains("Run this command?") && shown.contains("> 1 ○ Allow once"), "{shown}");
}

#[test]
fn a_change_of_a_file_shows_what_it_changes_at_40_by_12_and_not_only_the_lines_that_say_where() {
    let headers = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,6 +1,6 @@";
    let change = Context::Diff(format!("{headers}\n one\n two\n three\n-let x = 1;\n+let x = 2;\n five\n six\n"));
    let created = Context::Diff("--- /dev/null\n+++ b/hello.txt\n@@ -0,0 +1,5 @@\n+a\n+b\n+c\n+d\n+e\n".into());
    let mut prompt = Prompt::new(permission(), ARMED);
    let shown = picture(&prompt, &change, (40, 12));
    assert!(shown.contains("-let x = 1;") && shown.contains("+let x = 2;"), "{shown}");
    assert!(shown.contains("↑ 5  ↓ 1 more line"), "{shown}");
    let shown = picture(&prompt, &created, (40, 12));
    assert!(shown.contains("┃ +a") && shown.contains("┃ +c"), "{shown}");
    // The whole text can be read, and so can its position and its file name.
    let size = (40, 12);
    for expected in ["│ 1 1 ┃  one", "│     ┃ --- a/src/main.rs"] {
        let mut read = String::new();
        for _ in 0..3 {
            let viewport = with(&prompt, &change, size).viewport.clone();
            prompt.look(viewport);
            prompt.update(Event::Key(KeyCode::PageUp.into()), Duration::ZERO);
            read.push_str(&picture(&prompt, &change, size));
        }
        assert!(read.contains(expected), "{read}");
    }
    // With enough room, the context begins at its first line.
    let shown = picture(&Prompt::new(permission(), ARMED), &change, (80, 24));
    assert!(shown.contains("--- a/src/main.rs") && shown.contains(" six"), "{shown}");
}

#[test]
fn a_plan_shows_its_title_and_a_diff_its_first_line_at_80_by_24() {
    let prompt = Prompt::new(permission(), ARMED);
    let shown = picture(&prompt, &plan(), (80, 24));
    assert!(shown.contains("The plan") && shown.contains("Say what came of it"), "{shown}");
    let shown = picture(&prompt, &diff(), (80, 24));
    assert!(shown.contains("1   ┃ -let x = 1;") && shown.contains("  1 ┃ +let x = 2;"), "{shown}");
}

#[test]
fn a_diff_has_line_numbers_before_the_bar_and_one_that_is_not_whole_is_shown_as_it_is() {
    let rows = |diff: &str| -> Vec<String> {
        context_lines(&Context::Diff(diff.into()), &Theme::default(), 30).iter().map(ToString::to_string).collect()
    };
    let diff = "--- a/x\n+++ b/x\n@@ -8,2 +8,2 @@\n eight\n-nine\n+9\u{202e}\n@@ -97,2 +97,3 @@ fn f()\n a\n+a very long line that is broken\n b\n";
    let expected = [
        "      ┃ --- a/x",
        "      ┃ +++ b/x",
        " 8  8 ┃  eight",
        " 9    ┃ -nine",
        "    9 ┃ +9<U+202E>",
        "    … ┃  fn f()",
        "97 97 ┃  a",
        "   98 ┃ +a very long line that",
        "      ╏  is broken",
        "98 99 ┃  b",
    ];
    assert_eq!(rows(diff), expected);
    // A number in the text itself stands after the bar.
    assert_eq!(rows("@@ -1 +1 @@\n 8 ┃ a\n+b"), ["┃ @@ -1 +1 @@", "┃  8 ┃ a", "┃ +b"]);
}

#[test]
fn blank_lines_go_before_options_and_descriptions_stay() {
    let prompt = Prompt::new(permission(), ARMED);
    let height = |rows| with(&prompt, &command(), (80, rows)).lines.len();
    let shown = |rows| picture(&prompt, &command(), (80, rows));
    let has_blank = |rows| shown(rows).lines().any(|row| row == "│");
    let has_others = |rows| shown(rows).contains("The agent is told");
    let least = |wanted: &dyn Fn(u16) -> bool| (10..60).find(|&rows| wanted(rows)).expect("a size");
    let airy = least(&has_blank);
    let described = least(&has_others);
    let whole = least(&|rows| {
        with(&prompt, &command(), (80, rows)).viewport.page.total
            == with(&prompt, &command(), (80, rows)).viewport.page.height
    });
    // Descriptions beside the labels take no rows.
    assert!(described < whole && whole < airy, "{whole} {described} {airy}");
    assert!(height(60) > height(whole));
}

#[test]
fn the_frame_keeps_its_height_while_the_cursor_moves_over_descriptions_of_other_lengths() {
    let long = "Runs it in this folder ".repeat(8);
    let options = [("One", "Short"), ("Two", long.trim_end()), ("Three", "Short"), ("Four", "Short")];
    let size = (60, 16);
    let mut prompt = Prompt::new(set_of(&[question("Which?", "Pick", false, &options)]), ARMED);
    let mut heights = Vec::new();
    for _ in 0..5 {
        let shown = view(&prompt, &Theme::default(), PromptPhase::Asking, size);
        heights.push(shown.lines.len());
        let viewport = shown.viewport.clone();
        prompt.look(viewport);
        press(&mut prompt, Event::Key(KeyCode::Down.into()), Duration::ZERO, size);
    }
    assert_eq!(heights, [heights[0]; 5]);
}

#[test]
fn a_long_context_is_read_to_its_last_line_and_the_options_stay() {
    let context = Context::Diff((1..=60).map(|n| format!("+line {n}.\n")).collect());
    for size in SIZES {
        let mut prompt = Prompt::new(database(), ARMED);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..30 {
            let shown = with(&prompt, &context, size);
            let text = rows(&drawn(&shown)).join("\n");
            seen.extend((1..=60).filter(|n| text.contains(&format!("+line {n}."))));
            assert!(text.contains("> 1 ○ PostgreSQL") && text.contains(" more line"), "{text}");
            let viewport = shown.viewport.clone();
            prompt.look(viewport);
            prompt.update(Event::Key(KeyCode::PageDown.into()), Duration::ZERO);
            if prompt.scroll() != askuser::prompt::Scroll::At(0) {
                break;
            }
        }
        assert_eq!(seen.len(), 60, "{size:?}");
    }
}

fn agreeing(context: &Context) -> Prompt {
    let key = askuser::RequestKey::new("s", "c").for_purpose(askuser::Purpose::Permission);
    let request = askuser::Request::new(key, permission()).with_context(context.clone());
    Prompt::of(&request, Duration::ZERO)
}

#[test]
fn the_footer_offers_to_read_on_and_not_to_choose_until_the_end_is_there() {
    let context = Context::Command((1..=60).map(|n| format!("step {n}\n")).collect());
    let mut prompt = agreeing(&context);
    let shown = picture(&prompt, &context, (80, 24));
    assert!(shown.contains("╰ space read on · d decline · esc cancel") && !shown.contains("enter select"), "{shown}");
    while prompt.is_unread() {
        let viewport = with(&prompt, &context, (80, 24)).viewport.clone();
        prompt.look(viewport);
        if prompt.is_unread() {
            prompt.update(Event::Key(KeyCode::Char(' ').into()), Duration::ZERO);
        }
    }
    let shown = picture(&prompt, &context, (80, 24));
    assert!(shown.contains("step 60") && shown.contains("enter select"), "{shown}");
}

#[test]
fn at_every_size_all_is_read_by_space_or_page_down_and_allowed() {
    let context = Context::Command((1..=30).map(|n| format!("step {n}\n")).collect());
    let sizes = [(80, 24), (40, 12), (20, 6), (200, 5), (20, 4)];
    for (size, key) in sizes.into_iter().flat_map(|size| [(size, KeyCode::PageDown), (size, KeyCode::Char(' '))]) {
        let mut prompt = agreeing(&context);
        let mut press = |key: KeyCode| {
            let viewport = with(&prompt, &context, size).viewport.clone();
            prompt.look(viewport);
            let effect = prompt.update(Event::Key(key.into()), Duration::ZERO);
            (prompt.is_unread(), effect)
        };
        let pages = (0..60).take_while(|_| press(key).0).count();
        assert!((1..60).contains(&pages), "{pages} at {size:?}");
        // The first key may only scroll the option onto the screen.
        let allowed = (0..2).any(|_| matches!(press(KeyCode::Char('1')).1, Effect::Finish(_)));
        assert!(allowed, "{size:?}");
    }
}

#[test]
fn a_plan_shows_what_it_hides_in_a_control_string_and_in_invisible_characters() {
    let plan = Context::Prose("1. Look\u{200b}\n2. Test\x1b]0;\n3. Delete the backups\x07\n".into());
    let shown = picture(&Prompt::new(permission(), ARMED), &plan, (80, 24));
    assert!(shown.contains("Look<U+200B>") && shown.contains("Delete the backups<U+0007>"), "{shown}");
}

#[test]
fn where_there_is_only_ascii_no_two_characters_look_the_same() {
    let theme = Theme { charset: askuser::verbatim::Charset::Ascii, ..Theme::default() };
    let rows = |command: &str| context_lines(&Context::Command(command.into()), &theme, 80)[0].to_string();
    assert_ne!(rows("rm \u{e9}"), rows("rm \u{ea}"));
}
