//! Tests two prompts on one terminal.

use crate::terminal::{RESTORED, Stage, example};
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn of_two_prompts_on_one_terminal_neither_gets_the_others_answer() {
    let stage = Stage::new().env("PS1", "ready$ ");
    let mut terminal = stage.command(&["bash", "--norc", "--noprofile", "--noediting", "-i"]);
    terminal.wait_behind("ready$ ");
    let ask = "askuser ask --key-delay 0 --success-flash 0";
    // In a shell with job control, the second prompt is stopped in the background until it gets the foreground.
    let first = example("database");
    let second = example("package-manager");
    terminal.keys(&format!("{ask} {second} >two & {ask} {first} >one<enter>"));
    terminal.wait_for("Which database");
    terminal.wait_for("? keys");
    assert!(!terminal.shows_within(Duration::from_millis(300), "Which package manager"), "{}", terminal.screen());
    terminal.keys("2");
    terminal.wait_for("✔ Database: MongoDB");
    terminal.wait_behind("ready$ ");
    terminal.keys("fg<enter>");
    terminal.wait_for("Which package manager");
    terminal.wait_for("? keys");
    terminal.keys("3");
    terminal.wait_for("✔ Package Mgr: yarn");
    terminal.wait_behind("ready$ ");
    let pick = |name: &str| {
        serde_json::from_str::<Value>(&stage.read(name)).unwrap()["answers"][0]["selectedOptions"][0].clone()
    };
    assert_eq!((pick("one"), pick("two")), ("MongoDB".into(), "yarn".into()));
}

#[test]
fn two_prompts_in_one_pipeline_are_asked_one_after_the_other_and_each_gets_its_own_answer() {
    let stage = Stage::new();
    let ask = "askuser ask --key-delay 0 --success-flash 0";
    let first = example("database");
    let second = example("package-manager");
    let script =
        format!("({ask} {first} >one 2>err1; echo $? >code1) & ({ask} {second} >two 2>err2; echo $? >code2) & wait");
    let mut terminal = stage.shell(&script);
    terminal.wait_for("? keys");
    let two = |screen: &str| ["? keys", "╭─"].iter().any(|part| screen.matches(part).count() > 1);
    let screen = terminal.screen_within(Duration::from_millis(500), two);
    assert!(!two(&screen), "two prompts at once:\n{screen}");
    // Either prompt may come first. The other one follows when it is done.
    let questions = [("Which database", "✔ Database: MongoDB"), ("Which package manager", "✔ Package Mgr: pnpm")];
    let came_first = usize::from(!screen.contains(questions[0].0));
    for i in [came_first, 1 - came_first] {
        let (question, answered) = questions[i];
        terminal.wait_for(question);
        terminal.wait_for("? keys");
        terminal.keys("2");
        terminal.wait_for(answered);
    }
    assert_eq!(terminal.finish().modes, RESTORED);
    let read = |name: &str| stage.read(name);
    assert_eq!([read("code1"), read("code2"), read("err1"), read("err2")], ["0\n", "0\n", "", ""]);
    let picks =
        |name: &str| serde_json::from_str::<Value>(&read(name)).unwrap()["answers"][0]["selectedOptions"].clone();
    assert_eq!((picks("one"), picks("two")), (json!(["MongoDB"]), json!(["pnpm (Recommended)"])));
}
