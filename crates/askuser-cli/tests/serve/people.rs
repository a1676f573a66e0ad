//! Tests people at a server. An administrator adds them, and a token identifies who acts.

use crate::support::Home;
use std::process::Output;

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn a_question_is_answered_by_whom_it_is_for_and_whoever_is_removed_answers_nothing() {
    let home = Home::new();
    let ask = home.token("ci", "--ask");
    let admin = home.token("root", "--admin");
    let server = home.serve("127.0.0.1:0");
    let at = |token: &str, words: &[&str]| -> Output {
        let mut command = home.command(words);
        command.env("ASKUSER_STORE", server.url()).env("ASKUSER_TOKEN", token).env("USER", "nobody");
        command.output().unwrap()
    };
    assert_eq!(text(&at(&admin, &["people", "add", "bob"]).stdout), "bob was added\n");
    assert!(!at(&ask, &["people"]).status.success(), "an agent asks for whom it likes, and changes nobody");
    let names: Vec<String> = text(&at(&admin, &["people", "list"]).stdout).lines().map(str::to_owned).collect();
    assert!(names.len() == 2 && names[0].starts_with("ada  added") && names[1].starts_with("bob  added"), "{names:?}");
    let made = at(&admin, &["token", "new", "laptop", "--answer", "--person", "bob"]);
    let bob = text(&made.stdout).trim().to_owned();
    let ops = text(&at(&admin, &["token", "new", "ops", "--answer"]).stdout).trim().to_owned();
    let list = at(&admin, &["token", "list"]);
    assert!(
        text(&list.stdout).contains("laptop  answer as bob  made ")
            && text(&list.stdout).contains("ops  answer  made ")
    );
    let nobody = at(&admin, &["token", "new", "x", "--answer", "--person", "eve"]);
    assert!(text(&nobody.stderr).contains("there is no person eve"), "{nobody:?}");
    let asks = at(&admin, &["token", "new", "x", "--ask", "--person", "bob"]);
    assert_eq!(asks.status.code(), Some(2), "{asks:?}");
    let put = |names: &str| {
        let words = ["ask", "-q", "Which one?", "-H", "Pick", "-o", "A: 1", "-o", "B: 2", "--via", "inbox", "--detach"];
        at(&ask, &[&words[..], &["--for", names]].concat())
    };
    let unknown = put("bob,adda");
    assert!(text(&unknown.stderr).contains("nobody has the name \"adda\""), "{unknown:?}");
    let put = |names: &str| text(&put(names).stdout).trim().to_owned();
    let first = put("bob");
    let second = put("ops");
    let listed = at(&ops, &["inbox"]);
    let lines: Vec<&str> = text(&listed.stdout).lines().collect();
    assert!(lines[0].starts_with(&second) && lines[1].starts_with(&first), "mine first, whatever $USER is: {lines:?}");
    assert_eq!(text(&at(&ops, &["inbox", "--count"]).stdout), "1\n");
    let refused = at(&ops, &["answer", &first, "--select", "A"]);
    assert!(text(&refused.stderr).contains("the question is for bob"), "{refused:?}");
    let taken = at(&ops, &["withdraw", &first]);
    assert!(text(&taken.stderr).contains("for bob"), "nor does it take it back: {taken:?}");
    let settled = at(&ask, &["answer", &first, "--select", "A"]);
    assert!(!settled.status.success(), "nor does who asks: {settled:?}");
    let answered = at(&bob, &["answer", &first, "--select", "A"]);
    assert!(text(&answered.stdout).contains("was answered by bob on laptop from inbox"), "{answered:?}");
    let log = at(&ops, &["log"]);
    assert!(text(&log.stdout).contains("(bob on laptop from inbox, after"), "{log:?}");
    assert!(at(&ops, &["answer", &second, "--select", "B"]).status.success());
    let third = put("bob");
    let removed = at(&admin, &["people", "remove", "bob"]);
    assert_eq!(text(&removed.stdout), "bob was removed, with 1 of their tokens and devices\n");
    assert!(text(&removed.stderr).contains("questions that wait for bob alone: 1"), "{removed:?}");
    assert!(!at(&bob, &["answer", &third, "--select", "A"]).status.success());
    assert!(at(&ask, &["withdraw", &third]).status.success(), "its asker can");
}
