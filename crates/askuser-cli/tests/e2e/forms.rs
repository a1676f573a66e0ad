//! Tests `confirm`, `input` and `pick`: the prompt for the user, and the output for the script.

use crate::terminal::{Ended, Stage, Terminal};
use serde_json::{Value, json};

/// Runs a script whose `askuser` has neither a key delay nor a flash.
fn run(stage: &Stage, script: &str) -> Terminal {
    stage.shell(&format!(
        "ASKUSER_KEY_DELAY=0 ASKUSER_SUCCESS_FLASH=0; export ASKUSER_KEY_DELAY ASKUSER_SUCCESS_FLASH\n{script}"
    ))
}

fn confirm(args: &str, keys: &str) -> Ended {
    let mut terminal = run(&Stage::new(), &format!("askuser confirm 'Deploy?' {args} >out 2>err"));
    terminal.wait_for("Deploy?");
    terminal.keys(keys);
    terminal.finish()
}

#[test]
fn nothing_but_a_yes_is_a_yes() {
    for (args, keys, code, left) in [
        ("", "y", 0, "✔ Deploy? Yes"),
        ("", "<enter>", 0, "✔ Deploy? Yes"),
        ("", "n", 1, "✔ Deploy? No"),
        ("", "<esc>", 1, "✘ Cancelled: Deploy?"),
        ("", "dcn", 1, "✔ Deploy? No"),
        ("--timeout 1ms", "", 1, "⚠ Timed out, no answer sent"),
        ("--plain", "yes<enter>", 0, "✔ Deploy? Yes"),
        ("--plain", "n<enter>", 1, "✔ Deploy? No"),
        ("--plain", "\x04", 1, "✘ Cancelled: Deploy?"),
        ("", "<c-c>", 130, ""),
    ] {
        let ended = confirm(args, keys);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{args} {keys}: {}", ended.stderr);
        assert!(ended.screen.ends_with(left), "{args} {keys}: {}", ended.screen);
    }
}

#[test]
fn without_a_person_nothing_is_confirmed() {
    let stage = Stage::new();
    for args in [&["confirm", "Deploy?"][..], &["confirm", "Deploy?", "--headless", "recommended"]] {
        let ended = stage.run(args);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), ""), "{}", ended.stderr);
    }
    let stage =
        stage.file("yes.json", r#"{"Deploy?": "Yes"}"#).file("other.json", r#"{"Deploy?": {"other": "later"}}"#);
    assert_eq!(stage.run(&["confirm", "Deploy?", "--answers", "yes.json"]).code, Some(0));
    let other = stage.run(&["confirm", "Deploy?", "--answers", "other.json"]);
    assert!(other.code == Some(2) && other.stderr.contains("does not fit"), "{:?}: {}", other.code, other.stderr);
}

#[test]
fn a_file_that_a_setting_names_never_says_yes() {
    let stage = Stage::new().file("yes.json", r#"{"Deploy?": "Yes"}"#).file("no.json", r#"{"Deploy?": "No"}"#);
    assert_eq!(stage.run(&["confirm", "Deploy?", "--answers", "yes.json"]).code, Some(0));
    for via in ["policy,terminal", "policy"] {
        let stage = stage.clone().env("ASKUSER_ANSWERS", "yes.json").env("ASKUSER_VIA", via);
        let ended = stage.run(&["confirm", "Deploy?"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), ""), "{via}: {}", ended.stderr);
    }
    assert_eq!(stage.env("ASKUSER_ANSWERS", "no.json").run(&["confirm", "Deploy?"]).code, Some(1));
}

#[test]
fn a_terminal_of_a_command_that_an_agent_started_is_no_persons() {
    let stage = Stage::new().env("ASKUSER_STARTED_BY_AGENT", "1");
    for args in ["", "--plain", "--via terminal,inbox --timeout 1s"] {
        let mut terminal = run(&stage, &format!("askuser confirm 'Deploy?' {args} >out 2>err </dev/tty"));
        terminal.keys("y<enter>");
        let ended = terminal.finish();
        let code = if args.contains("inbox") { 1 } else { 3 };
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{args}: {}", ended.stderr);
        assert!(!ended.screen.contains("✔"), "{args}: {}", ended.screen);
    }
    let refused = stage.run(&["confirm", "Deploy?"]);
    assert!(refused.stderr.contains("an agent started this command"), "{}", refused.stderr);
}

#[test]
fn a_text_is_printed_as_it_was_typed() {
    for (args, keys, code, out) in [
        ("", "Ann (Recommended)<enter>", 0, "Ann (Recommended)\n"),
        ("", "<enter>5 days<enter>", 0, "5 days\n"),
        ("--plain", "<enter>Ann<enter>", 0, "Ann\n"),
        ("", "<esc>", 1, ""),
        ("", "Ann<esc><esc>", 1, ""),
    ] {
        let mut terminal = run(&Stage::new(), &format!("askuser input 'Name?' {args} >out 2>err"));
        terminal.wait_for("Name?");
        terminal.keys(keys);
        let ended = terminal.finish();
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), out), "{args} {keys}: {}", ended.stderr);
    }
}

#[test]
fn a_value_stands_once_on_the_terminal() {
    for (script, keys) in [
        ("askuser input 'Name?'", "Ann<enter>"),
        ("printf 'Ann\\nBob\\n' | askuser pick -q 'Name?'", "<enter>"),
        ("askuser input 'Name?' --via terminal,inbox", "Ann<enter>"),
        ("askuser input 'Name?' --plain", "Ann<enter>"),
    ] {
        let mut terminal = run(&Stage::new(), &format!("{script} 2>err"));
        terminal.wait_for("Name?");
        terminal.keys(keys);
        let ended = terminal.finish();
        let rows: Vec<&str> = ended.screen.lines().filter(|row| row.contains("Ann")).collect();
        // In line mode the terminal echoes the typed text.
        let rows = &rows[usize::from(script.contains("--plain"))..];
        assert_eq!((ended.code, rows), (Some(0), &["Ann"][..]), "{script}: {}", ended.screen);
    }
}

#[test]
fn items_given_as_arguments_are_picked_from_without_reading_the_input() {
    let mut terminal = run(&Stage::new(), "askuser pick -q 'Which?' dev prod dev >out 2>err </dev/tty");
    terminal.wait_for("2 of 2");
    terminal.keys("<down><enter>");
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "prod\n"), "{}", ended.stderr);
    let one = Stage::new().run(&["pick", "Which branch?"]);
    assert!(one.code == Some(2) && one.stderr.contains("one item, needs at least two"), "{}", one.stderr);
    assert!(one.stderr.contains("pick -q \"Which branch?\""), "{}", one.stderr);
}

#[test]
fn enter_says_no_where_that_is_the_default() {
    for (args, keys, code, left) in [
        ("--default no", "<enter>", 1, "✔ Deploy? No"),
        ("--default no", "y", 0, "✔ Deploy? Yes"),
        ("--default yes", "<enter>", 0, "✔ Deploy? Yes"),
        ("--default no --plain", "<enter>y<enter>", 0, "✔ Deploy? Yes"),
    ] {
        let ended = confirm(args, keys);
        assert_eq!(ended.code, Some(code), "{args} {keys}: {}", ended.screen);
        assert!(ended.screen.ends_with(left), "{args} {keys}: {}", ended.screen);
    }
    let bad = Stage::new().run(&["confirm", "Deploy?", "--default", "maybe"]);
    assert!(bad.code == Some(2) && bad.stderr.contains("--default: \"maybe\", must be yes|no"), "{}", bad.stderr);
}

#[test]
fn a_default_of_no_is_chosen_by_no_rule_for_a_yes() {
    let stage = Stage::new();
    assert_eq!(stage.run(&["confirm", "Deploy?", "--default", "no", "--headless", "recommended"]).code, Some(3));
    let id = detached(&stage, &["confirm", "Deploy?", "--default", "no"], b"");
    assert_eq!(stage.run(&["answer", &id, "--select", "No"]).code, Some(0));
    let waited = stage.run(&["wait", &id, "--format", "value"]);
    assert_eq!((waited.code, waited.stdout.as_str()), (Some(1), "No\n"), "{}", waited.stderr);
}

#[test]
fn a_text_that_is_filled_in_can_be_sent_or_changed() {
    for (args, keys, out) in [
        ("", "<enter>", "shop\n"),
        ("", "-2<enter>", "shop-2\n"),
        ("--via terminal,inbox", "<enter>", "shop\n"),
        ("--plain", "<enter>", "shop\n"),
        ("--plain", "store<enter>", "store\n"),
    ] {
        let mut terminal = run(&Stage::new(), &format!("askuser input 'Name?' --value shop {args} >out 2>err"));
        terminal.wait_for("shop");
        terminal.keys(keys);
        let ended = terminal.finish();
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), out), "{args} {keys}: {}", ended.stderr);
    }
}

#[test]
fn a_placeholder_is_shown_until_something_is_typed_and_never_sent() {
    for (args, shown) in [("", "> such as shop"), ("--plain", "Your answer (such as shop; Ctrl-D cancels)")] {
        let script = format!("askuser input 'Name?' --placeholder 'such as shop' {args} >out 2>err");
        let mut terminal = run(&Stage::new(), &script);
        terminal.wait_for(shown);
        terminal.keys("<enter>");
        terminal.keys("x<enter>");
        let ended = terminal.finish();
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "x\n"), "{args}: {}", ended.screen);
    }
}

#[test]
fn a_prompt_of_a_script_begins_on_the_next_row() {
    for (before, above) in
        [("", ""), ("printf 'one\\ntwo\\n'; ", "one\ntwo\n"), ("printf unfinished; ", "unfinished\n")]
    {
        let mut terminal = run(&Stage::new(), &format!("{before}exec askuser confirm 'Deploy?' 2>err"));
        terminal.wait_for("Deploy?");
        assert!(terminal.screen().starts_with(&format!("{above}╭")), "{}", terminal.screen());
        terminal.keys("y");
        assert_eq!(terminal.finish().screen, format!("{above}✔ Deploy? Yes"));
    }
}

#[test]
fn only_a_header_that_was_given_is_shown() {
    for (command, name) in [("confirm Deploy?", "Confirm"), ("input Deploy?", "Input"), ("pick a b -q Deploy?", "Pick")]
    {
        for (args, is_there) in [("", false), ("-H Shop", true)] {
            let mut terminal = run(&Stage::new(), &format!("askuser {command} {args} >out 2>err"));
            terminal.wait_for("Deploy?");
            let screen = terminal.screen();
            assert_eq!((screen.contains("Shop"), screen.contains(name)), (is_there, false), "{command}: {screen}");
            terminal.keys("<c-c>");
            terminal.finish();
        }
    }
}

#[test]
fn the_second_line_of_a_text_stands_under_the_first() {
    let mut terminal = run(&Stage::new(), "askuser input 'Name?' >out 2>err");
    terminal.wait_for("Name?");
    terminal.keys("Ann<c-j>of Kent");
    terminal.wait_for("│ > Ann\n│   of Kent");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().stdout, "Ann\nof Kent\n");
}

#[test]
fn a_long_list_from_a_pipe_is_searched_and_the_line_is_printed_as_it_was() {
    let mut terminal = run(&Stage::new(), "seq 1 10000 | sed 's/^/  item /' | askuser pick -q 'Which?' >out 2>err");
    terminal.wait_for("10000 of 10000");
    terminal.keys("9876");
    terminal.wait_for("Search: 9876  1 of 10000");
    terminal.keys("<enter>");
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "  item 9876\n"), "{}", ended.stderr);
    assert!(ended.screen.ends_with("✔ Which? item 9876"), "{}", ended.screen);
}

#[test]
fn several_lines_are_picked_and_printed_in_the_order_of_the_list() {
    let list = "printf 'one\\ntwo\\n\\none\\nthree\\nx (Recommended)\\n'";
    let mut terminal = run(&Stage::new(), &format!("{list} | askuser pick --multi >out 2>err"));
    terminal.wait_for("4 of 4, 0 ticked");
    terminal.keys("rec ");
    terminal.wait_for("1 of 4, 1 ticked");
    terminal.keys("<esc>");
    terminal.wait_for("4 of 4, 1 ticked");
    terminal.keys("<up><up><up> ");
    terminal.wait_for("2 ticked");
    terminal.keys("<enter>");
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "one\nx (Recommended)\n"), "{}", ended.stderr);
}

#[test]
fn a_list_is_searched_line_by_line_too() {
    let mut terminal = run(&Stage::new(), "seq -f 'item %g' 1 300 | TERM=dumb askuser pick -q 'Which?' >out 2>err");
    terminal.wait_for("280 more; type part of a name");
    terminal.keys("299<enter>");
    terminal.wait_for("Type a number that is listed, or part of a name");
    terminal.keys("/299<enter>");
    terminal.wait_for("299. item 299");
    terminal.keys("299<enter>");
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "item 299\n"), "a number is one of the whole list");
    let mut terminal = run(&Stage::new(), "seq -f 'item %g' 1 300 | askuser pick --plain -q 'Which?' >out 2>err");
    terminal.wait_for("280 more");
    terminal.keys("m 25<enter>");
    terminal.wait_for("255. item 255");
    terminal.keys("/zz<enter>");
    terminal.wait_for("Nothing matches");
    terminal.keys("q<enter>");
    assert_eq!(terminal.finish().code, Some(1));
}

#[test]
fn lines_that_cannot_be_picked_from_are_named() {
    let stage = Stage::new();
    for (lines, why) in [
        (String::new(), "standard input: no lines, needs at least one to pick from"),
        ("\n \n".into(), "standard input: no lines, needs at least one to pick from"),
        ((0..10_001).map(|i| format!("{i}\n")).collect(), "standard input: 10001 lines, at most 10000"),
        (format!("a\n\n{}\n", "x".repeat(501)), "line 3: 501 characters, at most 500"),
        ("a\na\u{200b}\n".into(), "options[1].label: looks the same as options[0].label, labels must differ"),
    ] {
        let ended = stage.run_with(&["pick"], lines.as_bytes());
        assert!(ended.code == Some(2) && ended.stderr.contains(why), "{why}: {}", ended.stderr);
    }
    let header = stage.run_with(&["pick", "-H", "far too long a header"], b"a\n");
    assert!(header.stderr.contains("header: 21 characters, at most 12"), "{}", header.stderr);
    let ended = run(&stage, "exec askuser pick 2>err").finish();
    assert!(ended.code == Some(2) && ended.stderr.contains("standard input is a terminal"), "{}", ended.stderr);
}

/// Stores a question in the inbox and returns its id.
fn detached(stage: &Stage, args: &[&str], stdin: &[u8]) -> String {
    let ended = stage.run_with(&[args, &["--via", "inbox", "--detach"]].concat(), stdin);
    assert_eq!(ended.code, Some(75), "{}", ended.stderr);
    ended.stdout.trim().to_owned()
}

#[test]
fn questions_of_scripts_wait_in_the_inbox_and_are_answered_there() {
    let stage = Stage::new();
    let yes = detached(&stage, &["confirm", "Deploy?"], b"");
    let no = detached(&stage, &["confirm", "Really?"], b"");
    let text = detached(&stage, &["input", "Name?"], b"");
    let line = detached(&stage, &["pick", "-q", "Which?"], b"one\ntwo (Recommended)\n");
    let listed = stage.run(&["inbox", "--json"]).stdout;
    let shown = ["Deploy?", "Really?", "Name?", "Which?", "askuser confirm", "askuser input", "askuser pick"];
    assert!(shown.iter().all(|words| listed.contains(words)), "{listed}");
    for (id, flag, value) in [(&yes, "--select", "Yes"), (&no, "--select", "No"), (&text, "--other", "Ann")] {
        assert_eq!(stage.run(&["answer", id, flag, value]).code, Some(0), "{value}");
    }
    for (id, flag, value) in [(&line, "--other", "three"), (&line, "--select", "two")] {
        let refused = stage.run(&["answer", id, flag, value]);
        assert_eq!(refused.code, Some(2), "{value}: {}", refused.stderr);
    }
    let mut prompt = run(&stage, &format!("askuser answer {line} 2>err"));
    prompt.wait_for("2 of 2");
    prompt.keys("two<enter>");
    assert_eq!(prompt.finish().code, Some(0));
    let codes = [&yes, &no, &text, &line].map(|id| stage.run(&["wait", id, "--format", "value"]));
    assert_eq!(codes.each_ref().map(|ended| ended.code), [Some(0), Some(1), Some(0), Some(0)]);
    assert_eq!(codes.map(|ended| ended.stdout), ["Yes\n", "No\n", "Ann\n", "two (Recommended)\n"]);
}

#[test]
fn a_note_is_no_part_of_a_yes() {
    let stage = Stage::new();
    let id = detached(&stage, &["confirm", "Deploy?"], b"");
    let stage = stage.file("note.json", r#"{"Deploy?": {"select": "Yes", "note": "only to staging"}}"#);
    let ended = stage.run(&["answer", &id, "--answers", "note.json"]);
    assert!(ended.code != Some(0), "{}", ended.stdout);
    let asked: Value = serde_json::from_str(&stage.run(&["inbox", "--json"]).stdout).unwrap();
    assert_eq!(asked["state"], json!("pending"), "{asked}");
}

#[test]
fn the_examples_of_the_documentation_run() {
    let docs = include_str!("../../../../docs/scripts.md");
    let examples: Vec<&str> = docs.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 5);
    for example in examples {
        let mut terminal = run(&Stage::new(), &format!("set -e\n{example}"));
        let (shown, keys) = match example {
            _ if example.contains("confirm") => ("Deploy to production?", "y"),
            _ if example.contains("input") => ("Name of the project?", "demo<enter>"),
            _ if example.contains("--multi") => ("0 ticked", "<space>"),
            _ => ("3 of 3", "<enter>"),
        };
        terminal.wait_for(shown);
        terminal.keys(keys);
        if example.contains("--multi") {
            terminal.wait_for("1 ticked");
            terminal.keys("<enter>");
        }
        let ended = terminal.finish();
        assert_eq!(ended.code, Some(0), "{example}: {}", ended.screen);
        let left = ["deploying", "Name of the project? demo", "development", "main", "file: "];
        assert!(left.iter().any(|words| ended.screen.contains(words)), "{example}: {}", ended.screen);
    }
}
