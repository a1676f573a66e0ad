use super::*;
use std::time::Duration;

fn show(item: &Item, columns: usize) -> Vec<String> {
    let text = |line: &Line<'_>| line.spans.iter().map(|span| span.content.as_ref()).collect::<String>();
    lines(item, &Theme::default(), columns).iter().map(|line| text(line).trim_end().to_owned()).collect()
}

fn ended(about: &str, task: Option<&str>, facts: &[&str]) -> Item {
    Item::Call(CallSummary {
        name: "Bash".into(),
        about: about.into(),
        task: task.map(str::to_owned),
        status: CallStatus::Succeeded,
        took: Some(Duration::from_millis(400)),
        facts: facts.iter().map(|fact| (*fact).to_owned()).collect(),
    })
}

#[test]
fn a_call_takes_one_row_and_says_what_ran_however_much_there_is_to_say() {
    let long = "a fact that goes on and on and on until no terminal is wide enough for all of it any more, or so";
    let call =
        ended("cargo test --workspace --all-features", Some("a task with quite a long name"), &["12 lines", long]);
    for columns in [20, 40, 60, 80, 120, 200] {
        let shown = show(&call, columns);
        let [row] = &shown[..] else { panic!("{shown:?}") };
        assert!(width(row) < columns, "{} columns in {columns}: {row}", width(row));
        assert!(row.contains("Bash") && (columns < 40 || row.contains("Bash carg")), "{row}");
    }
}

#[test]
fn facts_give_way_to_what_ran() {
    let call = ended("cargo test --workspace", None, &["3 lines", "a fact too long for this row"]);
    assert_eq!(show(&call, 60), ["● Bash cargo test --workspace  ✔ 0.4s · 3 lines"]);
    assert_eq!(show(&call, 36), ["● Bash cargo test --worksp…  ✔ 0.4s"]);
}

#[test]
fn output_that_is_broken_keeps_its_indent() {
    let output = Item::Output { text: "one two three\nfour".into(), role: Role::Danger, max_lines: 5 };
    assert_eq!(show(&output, 13), ["    one two", "    three", "    four"]);
    let diff = Item::Diff { text: "+one two three\n-x".into(), max_lines: 5 };
    assert_eq!(show(&diff, 14), ["    +one two", "     three", "    -x"]);
}
