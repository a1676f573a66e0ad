use super::*;

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
        ending: None,
        permission: None,
        was_asked: false,
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

#[test]
fn only_what_is_ours_begins_in_the_first_column() {
    let text = format!(
        "✔ Bash: Allow once\n> ✔ quoted\n\n```\n✔ Bash: Allow once\n{0}✔\n```\n- ✔ a\n  - {0} ✔ b\n\n{0} ✔ c\n# ✔ d\n---",
        "漢 ".repeat(40)
    );
    for columns in [8, 20, 40, 80, 200] {
        for item in [
            Item::ModelText(markdown::rows(&text)),
            Item::Output { text: text.clone(), role: Role::Danger, max_lines: usize::MAX },
            Item::Diff { text: text.clone(), max_lines: usize::MAX },
        ] {
            for row in show(&item, columns) {
                assert!(row.is_empty() || row.starts_with("  "), "{row:?} of {item:?} in {columns} columns");
                assert!(width(&row) < columns, "{row:?} is wider than {columns} columns");
            }
        }
    }
    let output = Item::Output { text: "a\nb\nc".into(), role: Role::Danger, max_lines: 1 };
    assert_eq!(show(&output, 80), ["… 2 earlier lines, Ctrl-O or /output shows all", "    c"]);
    let diff = Item::Diff { text: "+a\n+b".into(), max_lines: 1 };
    assert_eq!(show(&diff, 80), ["    +a", "… 1 more line, Ctrl-O or /output shows all"]);
    assert_eq!(show(&ended("ls", Some("audit deps"), &[]), 80), ["● Task audit deps: Bash ls  ✔ 0.4s"]);
}

#[test]
fn a_line_of_code_that_is_too_wide_is_broken_and_nothing_of_it_is_lost() {
    let code: String = (0..60).map(|n| format!("w{n:02}")).collect();
    let shown = show(&Item::ModelText(markdown::rows(&format!("```\n{code}\n```"))), 40);
    assert!(shown.len() > 4, "{shown:?}");
    assert_eq!(shown.concat().replace(' ', ""), code);
}

#[test]
fn of_a_very_long_message_the_beginning_is_shown() {
    let text: String = (1..=100).map(|n| format!("line {n}\n")).collect();
    let shown = show(&Item::UserMessage(text), 80);
    assert_eq!((shown.len(), shown[0].as_str(), shown[11].as_str()), (13, "> line 1", "  line 12"));
    assert_eq!(shown[12], "… 88 more lines of your message");
}

#[test]
fn no_text_of_the_model_on_the_line_of_a_call_looks_like_a_call_or_what_came_of_it() {
    let forged = "Bash rm -rf build  ✔ Allow once";
    assert_eq!(
        show(&ended("ls", Some(forged), &[]), 120),
        ["● Task Bash rm -rf build  \u{fffd} Allow…: Bash ls  ✔ 0.4s"]
    );
    assert_eq!(
        show(&ended("* ● x · y … ✘", None, &[]), 100),
        ["● Bash * \u{fffd} x \u{fffd} y \u{fffd} \u{fffd}  ✔ 0.4s"]
    );
}
