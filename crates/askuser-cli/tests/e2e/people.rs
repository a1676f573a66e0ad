//! Tests questions for some people only, in a file.

use crate::inbox::{detached, id, pending, run};
use crate::terminal::{Stage, Terminal, example, wait_until};

/// Returns Ada's home, in which bob is also known.
fn adas() -> Stage {
    let stage = Stage::new().env("USER", "ada");
    assert_eq!(run(&stage, &["people", "add", "bob"]).stdout, "bob was added\n");
    stage
}

fn asked_here(stage: &Stage, names: &str) -> Terminal {
    let args = [
        "ask",
        "--key-delay",
        "0",
        "--success-flash",
        "0",
        "--popup",
        "none",
        "--via",
        "terminal,inbox",
        "--for",
        names,
    ];
    stage.askuser(&[&args[..], &[&example("database")]].concat(), ">out 2>err")
}

#[test]
fn the_askers_own_terminal_answers_nothing_that_is_for_others() {
    let stage = adas();
    let mut terminal = asked_here(&stage, "bob");
    wait_until("it is said where it waits", || stage.read("err").contains("for bob; answer it with `askuser inbox`"));
    terminal.keys("1<enter>");
    assert!(!terminal.shows_within(std::time::Duration::from_millis(500), "? keys"), "{}", terminal.screen());
    let waiting = pending(&stage, 1).remove(0);
    assert_eq!((&waiting["for"], &waiting["state"]), (&serde_json::json!(["bob"]), &serde_json::json!("pending")));
    let withdrawn = run(&stage, &["withdraw", id(&waiting)]);
    assert_eq!(withdrawn.code, Some(0), "at a file its asker takes it back: {}", withdrawn.stderr);
    assert_eq!(terminal.finish().code, Some(4));
    let mut terminal = asked_here(&stage, "bob, ada");
    terminal.wait_for("? keys");
    terminal.keys("3");
    let ended = terminal.finish();
    assert_eq!(ended.picks(), serde_json::json!([["SQLite"]]), "who sits here is asked");
}

#[test]
fn what_is_for_others_is_listed_last_and_cannot_be_answered() {
    let stage = adas();
    let bobs = detached(&stage, "database", &["--for", "bob", "--from", "ci"]);
    let mine = detached(&stage, "features", &["--from", "codex"]);
    let listed: Vec<String> = pending(&stage, 2).iter().map(|question| id(question).to_owned()).collect();
    assert_eq!(listed, [mine.as_str(), bobs.as_str()], "mine first");
    let plain = run(&stage, &["inbox"]).stdout;
    assert!(plain.lines().nth(1).is_some_and(|line| line.starts_with(&bobs) && line.contains("[for bob]")), "{plain}");
    assert_eq!(run(&stage, &["inbox", "--count"]).stdout, "1\n", "what waits for ada");
    for words in [&["--select", "SQLite"][..], &["--decline"], &["--discuss", "why?"], &["--answers", "a.json"]] {
        std::fs::write(stage.path("a.json"), r#"{"Database": "SQLite"}"#).unwrap();
        let refused = run(&stage, &[&["answer", &bobs], words].concat());
        assert_eq!(refused.code, Some(2), "{words:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("for bob"), "{words:?}: {}", refused.stderr);
    }
    let mut terminal = stage.shell("exec askuser inbox --key-delay 0 --success-flash 0 2>err");
    terminal.wait_for("Inbox ─╮  2 waiting");
    terminal.wait_for("for bob");
    terminal.wait_for("1 > codex");
    terminal.keys("<down>");
    terminal.wait_for("From ci · ");
    terminal.wait_for(" · for bob · ");
    terminal.keys("<enter>");
    terminal.wait_for("It is for bob: only they can answer it");
    terminal.keys("q");
    assert_eq!(terminal.finish().code, Some(0));
    let lines = run(&stage, &["log"]).stdout;
    assert!(lines.contains("[for bob]"), "{lines}");
}

#[test]
fn a_name_that_nobody_has_is_refused_before_anything_is_asked() {
    let stage = adas();
    let refused = run(&stage, &["ask", &example("database"), "--via", "inbox", "--for", "bob,adda", "--detach"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--for: nobody has the name \"adda\", must be a person"), "{}", refused.stderr);
    pending(&stage, 0);
    let here = run(&stage, &["ask", &example("database"), "--for", "bob"]);
    assert!(here.stderr.contains("--for is for questions that are kept in the inbox"), "{}", here.stderr);
    assert_eq!(run(&stage, &["people"]).stdout.split("  ").next(), Some("bob"));
    let removed = run(&stage, &["people", "remove", "bob"]);
    assert_eq!(removed.stdout, "bob was removed, with 0 of their tokens and devices\n", "{}", removed.stderr);
    let gone = run(&stage, &["people", "remove", "bob"]);
    assert!(gone.code == Some(2) && gone.stderr.contains("there is no person \"bob\""), "{}", gone.stderr);
    let comma = run(&stage, &["people", "add", "a,b"]);
    assert!(comma.code == Some(2) && comma.stderr.contains("must have no comma"), "{}", comma.stderr);
}
