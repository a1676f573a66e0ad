use super::*;
use crate::commands::agent::app::outputs::{Heading, OutputKind};
use std::time::Duration;

fn heading() -> Heading {
    Heading::Thoughts(Duration::ZERO)
}

fn outputs(texts: &[&str]) -> Outputs {
    let mut outputs = Outputs::default();
    texts.iter().for_each(|text| outputs.add(heading(), OutputKind::Text, text));
    outputs
}

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

/// A page of ten rows.
fn open(outputs: &Outputs) -> Pager {
    let mut pager = Pager::open(outputs.last().unwrap());
    pager.fit(outputs, 40, 10);
    pager
}

fn press(pager: &mut Pager, outputs: &Outputs, keys: &str) {
    for c in keys.chars() {
        let code = if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
        assert!(pager.key(code.into(), outputs));
        pager.fit(outputs, 40, 10);
    }
}

fn shown(pager: &Pager) -> Vec<&str> {
    pager.visible().map(|row| row.text).collect()
}

#[test]
fn all_of_a_long_output_can_be_reached() {
    let outputs = outputs(&[&numbered(5_000)]);
    let mut pager = open(&outputs);
    assert_eq!((shown(&pager)[9], pager.percent()), ("line 5000", 100));
    press(&mut pager, &outputs, "g");
    assert_eq!(shown(&pager)[0], "line 1");
    let mut seen = vec![shown(&pager)[0].to_owned()];
    for _ in 0..4_999 {
        press(&mut pager, &outputs, "j");
        seen.push(shown(&pager)[0].to_owned());
    }
    assert_eq!((seen[4_990].as_str(), shown(&pager)[9]), ("line 4991", "line 5000"));
    press(&mut pager, &outputs, "b");
    assert_eq!(shown(&pager)[0], "line 4982");
}

#[test]
fn a_line_that_is_too_wide_goes_on_in_the_next_row() {
    let outputs = outputs(&[&"word ".repeat(20)]);
    let pager = open(&outputs);
    assert_eq!(shown(&pager).len(), 3);
    assert_eq!(shown(&pager).concat().trim_end(), "word ".repeat(20).trim_end());
}

#[test]
fn a_text_is_found_wherever_it_is_and_again_from_the_other_end() {
    let outputs = outputs(&[&format!("{}a Needle here\n{}", numbered(100), numbered(100))]);
    let mut pager = open(&outputs);
    press(&mut pager, &outputs, "/needle\n");
    assert_eq!(shown(&pager)[0], "a Needle here");
    assert_eq!(pager.visible().next().map(|row| format!("{:?}", row.found)).as_deref(), Some("[2..8]"));
    press(&mut pager, &outputs, "gnn");
    assert_eq!(shown(&pager)[0], "a Needle here");
    press(&mut pager, &outputs, "/nEedle\n");
    assert!(matches!(&pager.search, Search::NotFound(pattern) if pattern == "nEedle"));
}

#[test]
fn a_text_across_two_rows_is_found_and_marked_in_both() {
    let outputs = outputs(&[&format!("{}wwwwwwwwww", "x".repeat(35))]);
    let mut pager = open(&outputs);
    press(&mut pager, &outputs, "/wwwwwwwwww\n");
    let found: Vec<_> = pager.visible().map(|row| format!("{:?}", row.found)).collect();
    assert_eq!(found, ["[35..40]", "[0..5]"]);
}

#[test]
fn who_has_seen_the_end_follows_it_and_who_reads_above_stays() {
    let mut outputs = Outputs::default();
    let id = outputs.begin(heading());
    outputs.append(id, &numbered(50));
    let mut pager = open(&outputs);
    outputs.append(id, "new\n");
    pager.fit(&outputs, 40, 10);
    assert_eq!(shown(&pager)[9], "new");
    press(&mut pager, &outputs, "k");
    let before = shown(&pager)[0].to_owned();
    outputs.append(id, "newer\n");
    pager.fit(&outputs, 40, 10);
    assert_eq!(shown(&pager)[0], before);
}

#[test]
fn other_outputs_are_to_the_left_and_the_right() {
    let outputs = outputs(&["first", "second"]);
    let mut pager = open(&outputs);
    for (key, expected) in [(KeyCode::Left, "first"), (KeyCode::Left, "first"), (KeyCode::Right, "second")] {
        pager.key(key.into(), &outputs);
        pager.fit(&outputs, 40, 10);
        assert_eq!(shown(&pager), [expected]);
    }
}

#[test]
fn escape_ends_a_search_first_and_then_the_page() {
    let outputs = outputs(&["x"]);
    let mut pager = open(&outputs);
    press(&mut pager, &outputs, "/q");
    assert!(pager.key(KeyCode::Esc.into(), &outputs));
    assert!(!pager.key(KeyCode::Esc.into(), &outputs));
    assert!(!open(&outputs).key(KeyCode::Char('q').into(), &outputs));
}
