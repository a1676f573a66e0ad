//! Pictures of every screen as text, some of them with styles.

use super::*;
use askuser::verbatim::Charset;
use askuser::{Limits, QuestionSet, Rules};
use fixtures::{ARMED, authentication, database, events, features, long, package_manager, question, set_of};
use ratatui_core::buffer::Cell;
use ratatui_core::style::{Color, Modifier};
use std::fmt::Write;

const NORMAL: Size = (80, 24);
const SMALL: Size = (40, 12);
const LARGE: Size = (120, 40);
const TINY: Size = (20, 5);

/// Returns the screens after a script at each size.
fn pictures(set: &askuser::QuestionSet, script: &str, sizes: &[Size]) -> String {
    pictures_in(PromptStyle::Proposal, set, script, sizes)
}

fn pictures_in(prompt_style: PromptStyle, set: &askuser::QuestionSet, script: &str, sizes: &[Size]) -> String {
    let theme = Theme { prompt_style, ..DARK };
    let mut out = String::new();
    for &size in sizes {
        let prompt = played(set, ARMED, script, size);
        let _ = writeln!(out, "{}x{}\n{}", size.0, size.1, text(&prompt, &theme, PromptPhase::Asking, size));
    }
    out
}

fn played(set: &askuser::QuestionSet, settings: askuser::prompt::PromptOptions, script: &str, size: Size) -> Prompt {
    let mut prompt = Prompt::new(set.clone(), settings);
    look(&mut prompt, size);
    for event in events(script) {
        press(&mut prompt, event, Duration::ZERO, size);
    }
    prompt
}

fn text(prompt: &Prompt, theme: &Theme, phase: PromptPhase, size: Size) -> String {
    let view = view(prompt, theme, phase, size);
    let mut out: String = rows(&drawn(&view)).iter().map(|row| format!("{row}\n")).collect();
    if let Some(Position { x, y }) = view.caret {
        let _ = writeln!(out, "(cursor in column {x} of row {y})");
    }
    out
}

/// Returns a screen like [`text`], with the style before each run of cells: `‹#818CF8 bold›`.
fn styled(prompt: &Prompt, theme: &Theme, phase: PromptPhase, size: Size) -> String {
    let buffer = drawn(&view(prompt, theme, phase, size));
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut last = String::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let style = if cell.symbol() == " " && cell.bg == Color::Reset { last.clone() } else { style(cell) };
            if style != last {
                let _ = write!(line, "‹{style}›");
                last = style;
            }
            line.push_str(cell.symbol());
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

fn style(cell: &Cell) -> String {
    let colour = |colour: Color| match colour {
        Color::Rgb(r, g, b) => format!("#{r:02X}{g:02X}{b:02X}"),
        other => other.to_string().to_lowercase(),
    };
    let mut words = vec![colour(cell.fg)];
    if cell.bg != Color::Reset {
        words.push(format!("on {}", colour(cell.bg)));
    }
    let modifiers = [
        (Modifier::BOLD, "bold"),
        (Modifier::DIM, "dim"),
        (Modifier::UNDERLINED, "underlined"),
        (Modifier::REVERSED, "reversed"),
    ];
    for (modifier, word) in modifiers {
        if cell.modifier.contains(modifier) {
            words.push(word.to_owned());
        }
    }
    words.join(" ")
}

macro_rules! screen {
    ($name:ident, $set:expr, $script:expr) => {
        screen!($name, $set, $script, &[NORMAL, SMALL, LARGE]);
    };
    ($name:ident, $set:expr, $script:expr, $sizes:expr) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), pictures(&$set, $script, $sizes));
        }
    };
    ($name:ident, $set:expr, $script:expr, $style:ident, $sizes:expr) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), pictures_in(PromptStyle::$style, &$set, $script, $sizes));
        }
    };
}

screen!(a_yes, fixtures::confirm(), "", &[NORMAL, SMALL, TINY]);
screen!(a_text, fixtures::input(), "Ann", &[NORMAL, TINY]);
screen!(a_list, fixtures::pick(100, false), "<down>", &[NORMAL, SMALL, TINY]);
screen!(a_list_at_its_end, fixtures::pick(100, false), "<pgdn><pgdn><pgdn><pgdn><pgdn><pgdn><pgdn>", &[NORMAL]);
screen!(a_list_searched, fixtures::pick(100, true), "9 <down> ", &[NORMAL, SMALL]);
screen!(a_list_in_which_nothing_matches, fixtures::pick(100, true), "zz<enter>", &[NORMAL]);

#[test]
fn no_line_of_a_form_is_wider_than_its_terminal() {
    for columns in 20..=60 {
        for (set, script) in
            [(fixtures::confirm(), ""), (fixtures::input(), "a long name"), (fixtures::pick(100, true), "item 1")]
        {
            let size = (columns, 24);
            let prompt = played(&set, ARMED, script, size);
            let view = view(&prompt, &Theme::default(), PromptPhase::Asking, size);
            let widest = view.lines.iter().map(|line| wrap::spans_width(&line.spans)).max().unwrap();
            assert!(
                widest <= usize::from(view.columns),
                "{columns}: {}",
                text(&prompt, &Theme::default(), PromptPhase::Asking, size)
            );
        }
    }
}

screen!(single, database(), "", &[NORMAL, SMALL, LARGE, TINY]);
screen!(single_moved, database(), "<down>", &[NORMAL, SMALL, TINY]);
screen!(single_marked, database(), "<down><space>", &[NORMAL]);
screen!(multi, features(), "", &[NORMAL, SMALL, LARGE, TINY]);
screen!(multi_ticked, features(), "<space><down><space><down><down><space>");
screen!(first_of_two, authentication(), "", &[NORMAL, SMALL, LARGE, TINY]);
screen!(second_of_two, authentication(), "<enter>", &[NORMAL, SMALL, LARGE, TINY]);
screen!(back_at_the_first, authentication(), "<enter><left>", &[NORMAL]);
screen!(review, authentication(), "<enter>12<enter>", &[NORMAL, SMALL, LARGE, TINY]);
screen!(review_incomplete, authentication(), "<enter><right>");
screen!(
    review_of_long_answers,
    authentication(),
    "<down><down><down><enter>our own token service, which already knows every device and every tenant<enter>\
     <space>nfirst of all<enter><down><down><down><down><enter>Okta<a-enter>Auth0<enter>",
    &[NORMAL, SMALL]
);
screen!(other_empty, package_manager(), "<down><down><down><enter>");
screen!(other_short, package_manager(), "<down><down><down><enter>bun");
screen!(
    other_long,
    package_manager(),
    "<down><down><down><enter>bun, because its installs are fast and it runs TypeScript without a build step;\
     <a-enter><a-enter>but keep the npm lockfile until the release is out, so that nobody is surprised by it"
);
screen!(
    other_caret_in_the_middle,
    package_manager(),
    "<down><down><down><enter>bun or deno<left><left><left><left>",
    &[NORMAL, SMALL]
);
screen!(other_caret_on_a_wide_character, package_manager(), "4用哪个<left>", &[NORMAL]);
screen!(other_kept, package_manager(), "<down><down><down><enter>bun<esc>", &[NORMAL, SMALL]);
screen!(other_tiny, package_manager(), "4bun", &[TINY, (30, 8)]);
screen!(note, database(), "<down>n");
screen!(note_written, database(), "<down>nonly if we must<enter>");
screen!(discuss, database(), "c", &[NORMAL, SMALL, LARGE, TINY]);
screen!(discuss_on_review, authentication(), "<enter>1<enter>cWhat about passkeys?", &[NORMAL, SMALL]);
screen!(decline, database(), "dnot today", &[NORMAL, SMALL, LARGE, TINY]);
screen!(leaving, database(), "<space><esc>");
screen!(leaving_tiny, database(), "<space><space><esc>", &[TINY, (20, 3), (20, 2)]);
screen!(help_single, database(), "?", &[NORMAL, SMALL, LARGE, TINY]);
screen!(help_multi, features(), "?", &[NORMAL]);
screen!(help_review, authentication(), "<right><right>?", &[NORMAL]);
screen!(rejected_key, database(), "9", &[NORMAL, SMALL, TINY]);
screen!(rejected_paste, database(), "<paste:x>", &[NORMAL, SMALL, TINY]);
screen!(rejected_submit, authentication(), "<right><right><enter>", &[NORMAL, SMALL]);
screen!(rejected_empty_other, database(), "<down><down><down><enter><enter>", &[NORMAL, SMALL]);
screen!(long_start, long(), "", &[NORMAL, SMALL]);
screen!(long_middle, long(), "<pgdn>", &[NORMAL, SMALL]);
screen!(long_end, long(), "<pgdn><pgdn><pgdn><pgdn><pgdn><pgdn><pgdn><pgdn><pgdn><pgdn><pgdn><pgdn>", &[NORMAL, SMALL]);

#[test]
fn recommended_badges_wrap_with_their_labels() {
    let options = [
        ("Short (Recommended)", "A badge beside the label"),
        ("A label of exactly thirty chars (Recommended)", "A badge that may not fit"),
    ];
    let set = set_of(&[question("Which?", "Badges", false, &options)]);
    insta::assert_snapshot!("recommended", pictures(&set, "", &[NORMAL, SMALL, TINY]));
}

#[test]
fn empty_descriptions_take_no_line() {
    let set = set_of(&[question("Go on?", "Proceed", false, &[("Yes", ""), ("No", ""), ("Later", "In an hour")])]);
    insta::assert_snapshot!("empty_descriptions", pictures(&set, "<down>", &[NORMAL, SMALL]));
}

#[test]
fn four_questions_have_four_tabs_where_they_fit() {
    let names = ["Auth Method", "Data Storage", "Deploy Where", "Observe With"];
    let one = |name: &&str| question(&format!("{name}?"), name, false, &[("This", "one"), ("That", "one")]);
    let set = set_of(&names.iter().map(one).collect::<Vec<_>>());
    insta::assert_snapshot!("four_questions", pictures(&set, "1", &[NORMAL, SMALL, LARGE, TINY]));
}

#[test]
fn wide_joined_and_right_to_left_text_keeps_its_columns() {
    let options = [
        (
            "PostgreSQL 数据库 (Recommended)",
            "功能丰富的关系型数据库，适合复杂查询，也适合大多数项目，有活跃的社区和许多扩展",
        ),
        ("👨‍👩‍👧‍👦 Family 🇩🇪 e\u{301}", "Emoji, flags and combining marks"),
        ("מסד נתונים", "בסיס נתונים משובץ ללא תצורה"),
    ];
    let set = set_of(&[question("我们应该为这个项目使用哪个数据库？", "数据库", false, &options)]);
    insta::assert_snapshot!("wide_text", pictures(&set, "", &[NORMAL, SMALL]));
}

// ---- moods and time ----

fn moody(set: &askuser::QuestionSet, script: &str, phase: PromptPhase, sizes: &[Size]) -> String {
    let settings = askuser::prompt::PromptOptions { deadline: Some(Duration::ZERO), ..ARMED };
    let mut out = String::new();
    for &size in sizes {
        let prompt = played(set, settings, script, size);
        let _ = writeln!(out, "{}x{}\n{}", size.0, size.1, text(&prompt, &Theme::default(), phase, size));
    }
    out
}

#[test]
fn expired() {
    insta::assert_snapshot!("expired", moody(&database(), "", PromptPhase::Expired, &[NORMAL, SMALL, LARGE, TINY]));
}

#[test]
fn confirmed() {
    insta::assert_snapshot!("confirmed", moody(&database(), "<space>", PromptPhase::Confirmed, &[NORMAL, SMALL]));
}

#[test]
fn the_countdown_stands_in_the_border() {
    let mut out = String::new();
    let settings = askuser::prompt::PromptOptions { deadline: Some(Duration::from_secs(150)), ..ARMED };
    for (now, size) in [(0, NORMAL), (100, NORMAL), (145, SMALL), (149, (20, 8))] {
        let mut prompt = Prompt::new(long(), settings);
        press(&mut prompt, Event::Tick, Duration::from_secs(now), size);
        let picture = text(&prompt, &Theme::default(), PromptPhase::Asking, size);
        let footer: Vec<&str> = picture.lines().rev().take(2).collect();
        let _ = writeln!(out, "{}x{} after {now} s\n{}\n{}\n", size.0, size.1, footer[1], footer[0]);
    }
    insta::assert_snapshot!("countdown", out);
}

#[test]
fn the_countdown_goes_when_a_person_is_there() {
    let settings = askuser::prompt::PromptOptions { deadline: Some(Duration::from_secs(150)), ..ARMED };
    let prompt = played(&database(), settings, "<down>", NORMAL);
    assert!(!text(&prompt, &Theme::default(), PromptPhase::Asking, NORMAL).contains("left"));
}

#[test]
fn a_number_stands_before_an_option_only_where_it_wraps_no_label() {
    let shown = |columns| {
        let prompt = Prompt::new(database(), ARMED);
        text(&prompt, &Theme::default(), PromptPhase::Asking, (columns, 40))
    };
    // The width consists of the border, two blanks, the cursor and the mark, the label, and a free column.
    let fitting = 3 + 4 + "PostgreSQL (Recommended)".len() as u16 + 1;
    assert!(shown(fitting).contains("│  > ○ PostgreSQL (Recommended)\n"), "{}", shown(fitting));
    assert!(shown(fitting + 1).contains("│  > ○ PostgreSQL (Recommended)\n"), "{}", shown(fitting + 1));
    assert!(shown(fitting + 2).contains("│  1 > ○ PostgreSQL (Recommended)\n"), "{}", shown(fitting + 2));
}

#[test]
fn the_footer_has_one_grammar_and_always_offers_a_note() {
    let footer = |set: &askuser::QuestionSet, script: &str| {
        let prompt = played(set, ARMED, script, NORMAL);
        rows(&drawn(&view(&prompt, &Theme::default(), PromptPhase::Asking, NORMAL))).pop().unwrap_or_default()
    };
    let few = "d decline • esc cancel • ? keys";
    let rest = format!("c discuss • {few}");
    assert_eq!(footer(&database(), ""), format!("  enter select • n note • {rest}"));
    assert_eq!(footer(&features(), ""), format!("  space toggle • enter select • n note • {few}"));
    assert_eq!(footer(&features(), "1"), format!("  space toggle • enter send • n note • {few}"));
    assert_eq!(footer(&authentication(), "1"), format!("  space toggle • enter select • n note • {few}"));
    assert_eq!(footer(&authentication(), "11"), format!("  space toggle • enter review • n note • {few}"));
    assert_eq!(footer(&authentication(), "<right>1"), format!("  space toggle • enter next • n note • {few}"));
    assert_eq!(footer(&authentication(), "11<enter>"), format!("  enter send • 1-2 change • {rest}"));
    assert_eq!(footer(&database(), "<down><down><down>"), "  ↑↓ navigate • enter type • 1-4 choose • esc cancel");
    assert_eq!(footer(&database(), "4x"), "  enter send • esc back • ctrl-j new line • ctrl-g editor");
    assert_eq!(footer(&features(), "5x"), "  enter done • esc back • ctrl-j new line • ctrl-g editor");
    assert_eq!(footer(&authentication(), "4x"), "  enter next • esc back • ctrl-j new line • ctrl-g editor");
    assert_eq!(footer(&database(), "<space><esc>"), "  esc discard • any key keep");
    assert_eq!(footer(&fixtures::confirm(), ""), "╰ ↑↓ navigate · enter select · y/n answer · esc cancel · ? keys");
}

#[test]
fn a_compact_question_has_a_row_for_each_option_and_three_more() {
    let options = [
        ("Google", "Most widely used"),
        ("GitHub", "Popular for developer tools"),
        ("Microsoft", "Enterprise integration"),
        ("Apple", "Required for iOS apps"),
    ];
    let set = set_of(&[
        question("Which method?", "Auth Method", false, &[("A", "a"), ("B", "b")]),
        question("Which OAuth providers should we support?", "Providers", true, &options),
    ]);
    let mut prompt = Prompt::new(set, ARMED).from_whom(Some("Claude Code · shop".into()));
    for event in events("1<space><down><space>") {
        press(&mut prompt, event, Duration::ZERO, NORMAL);
    }
    let theme = Theme { prompt_style: PromptStyle::Compact, ..DARK };
    let shown = rows(&drawn(&view(&prompt, &theme, PromptPhase::Asking, NORMAL)));
    let expected = [
        "╭ ✔ Auth Method   ✔ Providers   Review                       Claude Code · shop",
        "│ Which OAuth providers should we support? (Select multiple with Space)",
        "│   1 ☑ Google      Most widely used",
        "│ > 2 ☑ GitHub      Popular for developer tools",
        "│   3 ☐ Microsoft   Enterprise integration",
        "│   4 ☐ Apple       Required for iOS apps",
        "│   5 ☐ Other       Type something else…",
        "╰ space toggle · enter review · n note · d decline · esc cancel · ? keys",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_prompt_is_compact_in_a_popup_and_where_the_proposals_form_does_not_fit() {
    use askuser::prompt::Trigger;
    let is_compact = |prompt: &Prompt, size| {
        let shown = rows(&drawn(&view(prompt, &DARK, PromptPhase::Asking, size)));
        shown.last().is_some_and(|row| row.starts_with('╰'))
    };
    let inline = Prompt::new(database(), ARMED);
    assert!(!is_compact(&inline, (80, 19)) && is_compact(&inline, (80, 18)));
    assert!(is_compact(&inline.clone().on(Trigger::Popup), LARGE));
}

screen!(compact_review, authentication(), "<enter>12<enter>", Compact, &[NORMAL, SMALL, LARGE]);
screen!(compact_note, database(), "nonly if we must", Compact, &[NORMAL, SMALL]);
screen!(compact_other, features(), "5bun", Compact, &[NORMAL, SMALL]);
screen!(compact_help, features(), "?", Compact, &[NORMAL]);
screen!(compact_long, long(), "<pgdn>", Compact, &[NORMAL, SMALL]);
screen!(compact_list, fixtures::pick(100, true), "9 ", Compact, &[NORMAL, SMALL]);

// ---- colours and signs ----

const DARK: Theme = Theme {
    background: Background::Dark,
    depth: ColorDepth::TrueColor,
    signs: Signs::UNICODE,
    charset: Charset::Utf8,
    dimmed: false,
    prompt_style: PromptStyle::Proposal,
};

#[track_caller]
fn check_styled(name: &str, prompt: &Prompt, theme: &Theme, phase: PromptPhase) {
    insta::assert_snapshot!(name, styled(prompt, theme, phase, (70, 24)));
}

#[test]
fn colours_by_role_on_a_dark_background() {
    check_styled("styles_dark", &played(&database(), ARMED, "<down>", NORMAL), &DARK, PromptPhase::Asking);
}

#[test]
fn colours_by_role_on_a_light_background() {
    let theme = Theme { background: Background::Light, ..DARK };
    check_styled("styles_light", &played(&authentication(), ARMED, "<enter>", NORMAL), &theme, PromptPhase::Asking);
}

#[test]
fn two_hundred_and_fifty_six_colours() {
    let theme = Theme { depth: ColorDepth::Ansi256, ..DARK };
    check_styled("styles_256", &played(&features(), ARMED, "1", NORMAL), &theme, PromptPhase::Asking);
}

#[test]
fn every_background_in_every_depth() {
    let mut out = String::new();
    for background in [Background::Dark, Background::Light, Background::Unknown, Background::Contrast] {
        for depth in [ColorDepth::None, ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::TrueColor] {
            let theme = Theme { background, depth, ..DARK };
            let prompt = played(&features(), ARMED, "1<down>", (50, 14));
            let picture = styled(&prompt, &theme, PromptPhase::Asking, (50, 14));
            let _ = writeln!(out, "{background:?} {depth:?}\n{picture}");
        }
    }
    insta::assert_snapshot!("styles_everywhere", out);
}

#[test]
fn sixteen_colours() {
    let theme = Theme { depth: ColorDepth::Ansi16, ..DARK };
    check_styled("styles_16", &played(&features(), ARMED, "1", NORMAL), &theme, PromptPhase::Asking);
    let light = Theme { background: Background::Light, ..theme };
    check_styled("styles_16_light", &played(&features(), ARMED, "1", NORMAL), &light, PromptPhase::Asking);
}

#[test]
fn no_colour_at_all() {
    let theme = Theme { depth: ColorDepth::None, ..DARK };
    check_styled("styles_none", &played(&features(), ARMED, "15bun<left>", NORMAL), &theme, PromptPhase::Asking);
}

#[test]
fn a_rejected_key_turns_the_border_red() {
    check_styled("styles_rejected", &played(&database(), ARMED, "9", NORMAL), &DARK, PromptPhase::Asking);
}

#[test]
fn the_red_border_passes_and_the_words_stay() {
    let mut prompt = played(&database(), ARMED, "9", NORMAL);
    press(&mut prompt, Event::Tick, Duration::from_secs(1), NORMAL);
    check_styled("styles_rejected_later", &prompt, &DARK, PromptPhase::Asking);
}

#[test]
fn confirming_flashes_in_the_colour_of_success() {
    check_styled("styles_confirmed", &played(&features(), ARMED, "13", NORMAL), &DARK, PromptPhase::Confirmed);
}

#[test]
fn an_expired_prompt_is_dimmed_with_a_warning() {
    check_styled("styles_expired", &played(&database(), ARMED, "", NORMAL), &DARK, PromptPhase::Expired);
}

#[test]
fn typing_shows_a_caret_in_the_primary_colour() {
    check_styled("styles_typing", &played(&package_manager(), ARMED, "4bun<left>", NORMAL), &DARK, PromptPhase::Asking);
}

#[test]
fn what_is_chosen_changes_colour_as_the_proposals_say() {
    let prompt = played(&features(), ARMED, "1<down>", NORMAL);
    let picture = styled(&prompt, &DARK, PromptPhase::Asking, NORMAL);
    let row = |label: &str| picture.lines().find(|line| line.contains(label)).expect("a row").to_owned();
    // The option is selected, but the cursor is on another one.
    assert!(row("TypeScript").contains("‹#818CF8 bold›☑ ‹#F1F5F9›TypeScript"), "{picture}");
    assert!(row("Tailwind").contains("‹#818CF8›☐ ‹#94A3B8›Tailwind"), "{picture}");
}

#[test]
fn an_answer_of_several_turns_the_border_green_for_a_moment() {
    let mut prompt = Prompt::new(authentication(), ARMED).flashing_success(Duration::from_millis(80));
    press(&mut prompt, Event::Key(askuser::KeyCode::Char('1').into()), Duration::from_secs(1), NORMAL);
    let shown = |prompt: &Prompt| styled(prompt, &DARK, PromptPhase::Asking, NORMAL);
    assert!(shown(&prompt).contains("‹#34D399›│") && shown(&prompt).contains("‹#34D399›╰"), "{}", shown(&prompt));
    press(&mut prompt, Event::Tick, Duration::from_millis(1_080), NORMAL);
    assert!(!shown(&prompt).contains("‹#34D399›│"), "{}", shown(&prompt));
}

#[test]
fn no_row_of_the_footer_ends_with_a_dangling_dot() {
    let scripts = ["", "<down>", "<space><esc>", "n", "c", "d", "?", "9", "<paste:x>", "4", "<pgdn>"];
    for set in [database(), features(), authentication(), long()] {
        for script in scripts {
            for columns in 10..100 {
                let size = (columns, 24);
                let picture = text(&played(&set, ARMED, script, size), &Theme::default(), PromptPhase::Asking, size);
                let dangling = picture.lines().find(|line| line.trim_end().ends_with(['•', '·']));
                assert_eq!(dangling, None, "{script} at {columns} in\n{picture}");
            }
        }
    }
}

#[test]
fn ascii_signs() {
    let theme = Theme { signs: Signs::ASCII, depth: ColorDepth::None, ..DARK };
    let mut out = String::new();
    for (set, script) in [
        (database(), "<space>"),
        (features(), "15bun"),
        (authentication(), "<enter>"),
        (authentication(), "<enter><right>"),
        (database(), "?"),
        (long(), "<pgdn>"),
    ] {
        let picture = text(&played(&set, ARMED, script, NORMAL), &theme, PromptPhase::Asking, NORMAL);
        assert!(picture.is_ascii(), "{picture}");
        let _ = writeln!(out, "{picture}");
    }
    insta::assert_snapshot!("ascii", out);
}

#[test]
fn the_footer_of_a_long_question_does_not_offer_to_cancel_what_is_only_put_aside() {
    use askuser::prompt::Trigger;
    for (trigger, footer) in [(Trigger::Inline, "esc cancel"), (Trigger::Opened, "esc later")] {
        let prompt = Prompt::new(long(), ARMED).on(trigger);
        let shown = rows(&drawn(&view(&prompt, &Theme::default(), PromptPhase::Asking, (80, 24))));
        let last = shown.last().expect("a footer");
        assert!(last.contains("read on") && last.contains(footer), "{last}");
    }
}

#[test]
fn declining_says_whether_it_is_about_one_question_or_all() {
    assert!(pictures(&database(), "d", &[NORMAL]).contains("│  Decline this question?"));
    assert!(pictures(&authentication(), "1d", &[NORMAL]).contains("│ Decline all of these questions?"));
}

#[test]
fn enter_is_not_offered_before_the_end_of_an_option_is_on_the_screen() {
    let description = "It has many words. ".repeat(10);
    let set = set_of(&[question(&"Which of them? ".repeat(15), "Plan", true, &[("One", &description), ("Two", "x")])]);
    let footer = |script: &str| pictures(&set, script, &[SMALL]).trim_end().lines().last().unwrap_or("").to_owned();
    assert!(footer("").contains(" · ↓ read on"), "{}", footer(""));
    // Space also scrolls the option into view first.
    assert_eq!(footer("<space>"), "╰ Press again to tick");
    assert!(footer("<space><space>").contains("enter send"), "{}", footer("<space><space>"));
}

#[test]
fn options_alone_are_shown() {
    let json = serde_json::json!({"questions": [question("Which?", "Pick one", false, &[("Red", ""), ("Blue", "")])]});
    let rules = Rules::strict().with_limits(Limits::WITH_BLANK_DESCRIPTIONS).expect("limits with room").options_only();
    let set = QuestionSet::from_json(&json.to_string(), &rules).expect("a valid input");
    let shown = rows(&drawn(&view(&Prompt::new(set, ARMED), &Theme::default(), PromptPhase::Asking, SMALL))).join("\n");
    assert!(shown.contains("○ Red") && shown.contains("○ Blue"), "{shown}");
}
