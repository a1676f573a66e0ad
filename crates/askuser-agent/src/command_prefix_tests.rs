use super::*;
use proptest::prelude::*;

fn is_let_through(command: &str, rule: &str) -> bool {
    lets_through(rule, &plain_words(command).unwrap_or_default())
}

#[test]
fn a_plain_command_is_let_through_by_its_beginnings() {
    for command in
        ["cargo test", "cargo test -p a", "cargo  test --  'a b' \"c; d\"", " cargo 'test' x", "cargo test '$a`b\\!'"]
    {
        assert!(is_let_through(command, "cargo test"), "{command}");
    }
    for command in ["cargo build", "cargo testy", "cargo", "cargo -q test", "xcargo test", "./cargo test"] {
        assert!(!is_let_through(command, "cargo test"), "{command}");
    }
}

#[test]
fn a_command_composed_of_others_is_not_let_through_by_its_first_word() {
    for rest in [
        "; rm -rf x",
        ";rm x",
        " && rm x",
        " || rm x",
        " | sh",
        " & rm x",
        "&",
        "\nrm x",
        "\rrm x",
        " $(rm x)",
        " `rm x`",
        " \"$(rm x)\"",
        " \"`rm x`\"",
        " > x",
        " >> x",
        " < x",
        " 2>&1",
        " <(rm x)",
        " >(rm x)",
        " $X",
        " ${X}",
        " \"$X\"",
        " \\\nrm",
        " a\\ b",
        " \"a\\\"b\"",
        " *",
        " a?",
        " [ab]",
        " {a,b}",
        " ~",
        " ~/x",
        " # x",
        " !x",
        " \"!x\"",
        " (x)",
        " 'open",
        " \"open",
        " 'a\nb'",
        " $'x'",
        " $\"x\"",
        " \u{0}",
        " a\u{a0}b",
    ] {
        assert_eq!(plain_words(&format!("git status{rest}")), None, "{rest:?}");
    }
    for command in ["X=1 git status", "A='git status'", "", " ", "''", "\tX= git status"] {
        assert!(!is_let_through(command, "git status"), "{command:?}");
    }
}

#[test]
fn the_rule_that_is_offered_ends_with_the_subcommand() {
    for (command, expected) in [
        ("cargo test -p x", Some("cargo test")),
        ("npm run lint", Some("npm run")),
        ("ls -la", Some("ls")),
        ("python x.py", Some("python")),
        ("make", Some("make")),
        ("./check", Some("./check")),
        ("git 'a b'", Some("git")),
        ("'a b' c", None),
        ("cargo test; true", None),
    ] {
        assert_eq!(offered(&plain_words(command).unwrap_or_default()).as_deref(), expected, "{command}");
    }
}

#[test]
fn a_rule_that_a_person_writes_is_read() {
    assert_eq!(parse_rule("cargo test *"), Some(Ok("cargo test".into())));
    assert_eq!(parse_rule(" go   test * "), Some(Ok("go test".into())));
    assert_eq!(parse_rule("cargo test -p askuser -- *"), Some(Ok("cargo test -p askuser --".into())));
    assert_eq!(parse_rule("git status"), None);
    assert_eq!(parse_rule("ls*"), None);
    assert_eq!(parse_rule("*"), None);
    for rule in ["a; b *", "a $x *", "a 'b c' *", "a | b *", " *", "X=1 a *", "a * *"] {
        assert!(!matches!(parse_rule(rule), Some(Ok(_))), "{rule}");
    }
}

proptest! {
    /// A shell splits a plain command into the same words as `plain_words`.
    // Windows has no Bash for this test.
    #[cfg(unix)]
    #[test]
    fn a_shell_reads_the_same_words(command in "[a-c$`;&|<>(){}*?~#!\\\\ \t'\"=.\\-\n]{0,12}") {
        if let Some(words) = plain_words(&command) {
            let script = format!("printf '%s\\n' {command}");
            let ran = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
            prop_assert!(ran.status.success() && ran.stderr.is_empty(), "{command:?}");
            let expected: String = words.iter().map(|word| format!("{word}\n")).collect();
            prop_assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
        }
    }
}

#[test]
fn revisions_and_expressions_are_plain_words() {
    for command in [
        "git diff HEAD~1",
        "git diff HEAD^",
        "git diff HEAD~1..HEAD -- src/main.rs",
        "git show v1.0~2^2 --stat",
        "git show stash@{0}",
        "git show main@{2-days-ago}",
        "git log HEAD~3..HEAD",
        r#"grep -rn "a\.b" src"#,
        r#"grep -rn "foo\|bar" src"#,
    ] {
        assert!(plain_words(command).is_some(), "{command}");
    }
    for command in [
        "git diff ~",
        "git diff ~/x",
        "git diff x=~/y",
        "git diff x:~/y",
        "git show stash@{0,1}",
        "git show stash@{a..c}",
        "git show stash@{0",
        "git show {0}",
        "git diff ^HEAD;x",
        r#"grep "a\$(x)" src"#,
        r#"grep "a\`x" src"#,
        r#"grep "a\" src"#,
    ] {
        assert_eq!(plain_words(command), None, "{command}");
    }
}
