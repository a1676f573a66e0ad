use super::*;
use proptest::prelude::*;

fn offered(command: &str) -> Option<String> {
    prefixes(command).offered
}

fn is_let_through(command: &str, rule: &str) -> bool {
    prefixes(command).matching.iter().any(|prefix| prefix == rule)
}

#[test]
fn a_plain_command_is_let_through_by_its_beginnings() {
    for command in ["cargo test", "cargo test -p a", "cargo  test --  'a b' \"c; d\"", " cargo 'test' x"] {
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
        " a^b",
        " 'open",
        " \"open",
        " 'a\nb'",
        " $'x'",
        " $\"x\"",
        " \u{0}",
        " a\u{a0}b",
    ] {
        assert_eq!(prefixes(&format!("git status{rest}")), Prefixes::default(), "{rest:?}");
    }
    for command in ["X=1 git status", "A='git status'", "", " ", "''", "\tX= git status"] {
        assert!(!is_let_through(command, "git status"), "{command:?}");
    }
}

#[test]
fn a_program_that_runs_what_it_is_given_has_no_prefix() {
    for command in [
        "sh -c x",
        "bash x",
        "python3 x.py",
        "python3.12 -c x",
        "/usr/bin/python x",
        "node -e x",
        "sudo ls",
        "env ls",
        "xargs rm",
        "find . -exec rm",
        "eval ls",
        "exec ls",
        "time ls",
        "awk x",
        "sed x",
        "ssh h ls",
        "make x",
        ". x",
        "nice git status",
        "perl5.36 x",
        "npx x",
        "askuser answer 1",
        "BASH x",
        "Rscript x",
    ] {
        assert_eq!(prefixes(command), Prefixes::default(), "{command}");
    }
    let rule = |rule| parse_rule(rule).unwrap().unwrap_err().to_string();
    assert_eq!(
        rule("python3 *"),
        "python3 runs whatever it is given, so python3 * would allow everything; allow single commands instead"
    );
    let asked_for = "may name a program to run, a file to write or a file elsewhere, so it is asked for each time";
    assert_eq!(rule("cargo test --config *"), format!("--config {asked_for}"));
    assert_eq!(rule("git *"), "git does many things: say which, as in git status *");
    assert_eq!(rule("git -C x status *"), "git does many things: say which, as in git status *");
    assert_eq!(rule("cargo +nightly test *"), "cargo does many things: say which, as in cargo test *");
}

#[test]
fn options_before_a_subcommand_get_past_no_rule() {
    for command in ["git -c core.pager=x status", "git --exec-path=x status", "cargo --config x test", "cargo +x test"]
    {
        assert_eq!(prefixes(command), Prefixes::default(), "{command}");
    }
}

#[test]
fn further_words_that_name_a_program_or_a_file_elsewhere_are_asked_for() {
    for command in [
        "cargo test --config x",
        "cargo test --config=x",
        "cargo test --manifest-path x",
        "cargo build -Zx",
        "cargo build -vC x",
        "cargo clippy --fix",
        "git diff --output=x",
        "git diff --outp x",
        "git diff --no-index a b",
        "git diff /etc/passwd b",
        "git diff a ../b",
        "git log --ext-diff",
        "git blame --contents x",
        "git add ..",
        "git commit -F x",
        "go test -exec x",
        "go test --exec=x",
        "go build -o x",
        "go build -ldflags=x",
        "ls /",
        "ls --x=/etc",
        "ls '~'",
        "npm run lint --script-shell=x",
        "npm test --prefix x",
        "gh pr view -w",
        "wc -c/x",
    ] {
        assert_eq!(prefixes(command), Prefixes::default(), "{command}");
    }
    for command in ["git log origin/main..feature/x", "git diff --stat -- src/a.rs", "go test -count=1 ./..."] {
        assert!(offered(command).is_some(), "{command}");
    }
}

#[test]
fn a_rule_is_offered_where_it_makes_sense() {
    let check = |command: &str, expected: Option<&str>| assert_eq!(offered(command).as_deref(), expected, "{command}");
    check("cargo test -p askuser", Some("cargo test"));
    check("cargo nextest run -p askuser", Some("cargo nextest run"));
    check("cargo nextest list", None);
    check("git commit -m 'Fix it; really'", Some("git commit"));
    check("git push", None);
    check("npm run lint", Some("npm run lint"));
    check("npm run --silent lint", None);
    check("npm run", None);
    check("ls -la src", Some("ls"));
    check("rm -r build", None);
    check("cat x", None);
    check("./cargo test", None);
}

#[test]
fn a_rule_that_a_person_writes_is_read() {
    assert_eq!(parse_rule("cargo test *"), Some(Ok("cargo test".into())));
    assert_eq!(parse_rule(" terraform   plan * "), Some(Ok("terraform plan".into())));
    assert_eq!(parse_rule("git push *"), Some(Ok("git push".into())));
    assert_eq!(parse_rule("git status"), None);
    assert_eq!(parse_rule("ls*"), None);
    assert_eq!(parse_rule("*"), None);
    for rule in ["a; b *", "a $x *", "a 'b c' *", "a | b *", " *", "X=1 a *", "a * *"] {
        assert!(!matches!(parse_rule(rule), Some(Ok(_))), "{rule}");
    }
}

proptest! {
    /// What a shell makes of a plain command is what was read of it.
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
