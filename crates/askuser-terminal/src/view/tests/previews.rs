//! Previews of options, beside the options or below them.

use super::*;
use askuser::{Context, KeyCode};
use fixtures::{ARMED, events, layouts};
use std::fmt::Write;

fn at(script: &str, size: Size) -> Prompt {
    let mut prompt = Prompt::new(layouts(), ARMED);
    look(&mut prompt, size);
    for event in events(script) {
        press(&mut prompt, event, Duration::from_secs(1), size);
    }
    prompt
}

fn shown(prompt: &Prompt, size: Size) -> Vec<String> {
    rows(&drawn(&view(prompt, &Theme::default(), PromptPhase::Asking, size)))
}

#[test]
fn previews_at_every_size() {
    let mut out = String::new();
    for size in [(120, 40), (100, 14), (80, 24), (40, 12)] {
        for script in ["", "<down>", "<down><down>"] {
            let _ = writeln!(out, "{}x{} {script}\n{}\n", size.0, size.1, shown(&at(script, size), size).join("\n"));
        }
    }
    insta::assert_snapshot!("previews", out);
}

#[test]
fn a_preview_is_beside_the_options_from_100_columns() {
    let is_beside = |columns| {
        shown(&at("", (columns, 30)), (columns, 30)).iter().any(|row| row.contains("Grid") && row.contains('┃'))
    };
    assert_eq!([99, 100].map(is_beside), [false, true]);
}

#[test]
fn a_preview_is_read_to_its_end_and_the_frame_stays_as_high() {
    for size in [(120, 14), (80, 16), (40, 12)] {
        let mut prompt = at("<down>", size);
        let height = shown(&prompt, size).len();
        let mut seen = String::new();
        let before = prompt.scroll();
        for _ in 0..20 {
            let rows = shown(&prompt, size);
            assert_eq!(rows.len(), height, "{size:?}");
            seen.push_str(&rows.concat());
            // At the end of the preview, the key scrolls the page.
            if prompt.scroll() != before {
                break;
            }
            assert!(rows.iter().any(|row| row.contains("> 2 ○ Table")), "{rows:#?}");
            press(&mut prompt, Event::Key(KeyCode::PageDown.into()), Duration::ZERO, size);
        }
        for line in ["<main>", "<table>", "• sorts by column", "• and so on"] {
            assert!(seen.contains(line), "{line} at {size:?} in {seen}");
        }
    }
}

#[test]
fn a_preview_does_not_push_options_off_a_small_screen_until_it_is_read() {
    let size = (40, 12);
    for script in ["", "<down>", "<down><down>"] {
        let screen = shown(&at(script, size), size).join("\n");
        for label in ["Which layout", "○ Grid", "○ Table", "○ Plain", "○ Other"] {
            assert!(screen.contains(label), "{label} after {script} in\n{screen}");
        }
    }
    let screen = shown(&at("<down>", size), size).join("\n");
    assert!(screen.contains("--- a/list.html") && screen.contains("↓ 10 more lines, PgDn"), "{screen}");
    let screen = shown(&at("<down><pgdn>", size), size).join("\n");
    assert!(screen.contains("@@ -1,2 +1,2 @@") && screen.contains("> 2 ○ Table"), "{screen}");
}

#[test]
fn a_preview_leaves_the_context_and_the_question_on_the_screen() {
    let context = Context::Command("one\ntwo\nthree".into());
    for (columns, lines) in [(39, 13), (79, 23), (119, 20)] {
        let prompt = at("<down>", (columns, lines));
        let view = View::new(&prompt, Some(&context), &Theme::default(), PromptPhase::Asking, columns, lines);
        let text = rows(&drawn(&view)).join("\n");
        assert!(text.contains("┃ one") && text.contains("> 2 ○ Table"), "{text}");
        assert!(text.contains("list.html") || text.contains("lines, PgDn"), "{text}");
    }
}
