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
        assert_eq!(prefixes(&format!("git status{rest}")), Prefixes::default(), "{rest:?}");
    }
    for command in ["X=1 git status", "A='git status'", "", " ", "''", "\tX= git status"] {
        assert!(!is_let_through(command, "git status"), "{command:?}");
    }
}

#[test]
fn a_program_that_is_not_known_has_no_prefix() {
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
        "find . -name x -delete",
        "find -L . -name x",
        "find . -fprintf x y",
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
        "go1.22 run x",
        "npx x",
        "askuser answer 1",
        "BASH x",
        "Rscript x",
        "rbash -c x",
        "split --filter=x a",
        "sort --compress-program=x a",
        "sort --compress-prog x a",
        "sort -o x a",
        "rg --pre=x a",
        "rg -z a",
        "ocaml x",
        "ghci x",
        "iex x",
        "pry x",
        "bpython x",
        "m4 x",
        "dc x",
        "mamba run x",
        "pixi run x",
        "nerdctl run x",
        "hg --config x",
        "python3 -m pip",
        "python -c x",
        "pytest -p x",
        "pytest -vp x",
        "./git status",
        "/usr/bin/git status",
        "cp a b",
        "anything-else x",
    ] {
        assert_eq!(prefixes(command), Prefixes::default(), "{command}");
    }
    let rule = |rule| parse_rule(rule).unwrap().unwrap_err().to_string();
    assert_eq!(rule("python3 *"), "python3 does many things: say which, as in python3 -m pytest *");
    assert_eq!(
        rule("rbash *"),
        "what rbash does with any further words is not known, so rbash * might allow everything; allow single commands instead"
    );
    let unknown = "--config is not among the options known to be harmless here, so it is asked for each time";
    assert_eq!(rule("cargo test --config *"), unknown);
    assert_eq!(rule("ls /etc *"), "/etc may name something outside of the folder, so it is asked for each time");
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
}

#[test]
fn an_option_that_runs_a_program_or_writes_a_file_gets_past_no_rule() {
    for command in [
        "git grep -Osh pat",
        "git grep -nOsh pat",
        "git grep --open-files-in-pager=sh pat",
        "git grep -e -Osh",
        "git clone -u ./ev2 x",
        "git clone -ush x",
        "git clone -c k=v x",
        "git clone --config k=v x",
        "git rebase -x ls",
        "git rebase -xls",
        "git difftool -x sh",
        "git archive -o x.tar HEAD",
        "git format-patch -o d HEAD",
        "git bundle create f HEAD",
        "git log -S -- --output=x",
        "git commit -m x",
        "git fetch ext::sh",
        "cargo test -- --logfile=.git/config",
        "cargo test -- --logfile .git/config",
        "cargo bench -- --logfile=.git/config",
        "cargo test -p -- --config=x",
        "cargo build --target x.json",
        "cargo clippy -- --codegen=linker=evil",
        "cargo clippy -- -C linker=evil",
        "cargo clippy -- -Clinker=evil",
        "cargo clippy -- @options",
        "cargo fmt -- --config-path x",
        "go test -test.cpuprofile=a",
        "go test -args -test.trace=x",
        "go test ./... -args x",
        "npm test -- --output x",
        "pnpm run lint --output=x",
        "yarn test --output x",
        "gh pr view --web",
        "wc --files0-from=x",
        "GIT grep -Osh pat",
        "git.exe grep -Osh pat",
    ] {
        assert_eq!(prefixes(command), Prefixes::default(), "{command}");
    }
}

#[test]
fn an_option_is_known_by_its_whole_name_only() {
    for command in
        ["git diff --sta", "cargo test --no-def", "git status -unormal", "go test --run x", "ls -lZ", "git log -"]
    {
        assert_eq!(prefixes(command), Prefixes::default(), "{command}");
    }
}

#[test]
fn everyday_commands_are_let_through() {
    for command in [
        "git log origin/main..feature/x",
        "git log --oneline -5",
        "git log -n5 --since='2 days ago' --format='%h %s'",
        "git status -sb",
        "git diff --stat -- src/a.rs",
        "git diff -U10 HEAD",
        "git show HEAD:src/main.rs",
        "git grep -nE 'a|b' -- src",
        "git blame -L 1,20 src/main.rs",
        "git rev-parse --abbrev-ref HEAD",
        "git add -A",
        "cargo test -p askuser --lib some_test -- --nocapture --test-threads=1",
        "cargo clippy --all-targets --all-features -- -D warnings",
        "cargo clippy -- -Dwarnings -A clippy::all",
        "cargo build -r -j4",
        "cargo fmt --all -- --check",
        "cargo nextest run -p askuser-agent -E 'test(prefix)'",
        "go test -count=1 -run=TestA/sub ./...",
        "npm run lint -w packages/a --silent",
        "gh pr view 12 --comments",
        "ls -la src",
        "du -sh -d1 .",
        "wc -l src/main.rs",
        "cat src/main.rs",
        "head -20 README.md",
        "tail -n 5 log.txt",
        "grep -rn 'fn main' src --include='*.rs'",
        "rg -n main src -g '*.rs'",
        "find src -type f -name '*.rs'",
        "sort -rn -k2 x.txt",
        "pytest -q tests/test_a.py -k 'a and b' --tb=short",
    ] {
        assert!(offered(command).is_some(), "{command}");
    }
}

#[test]
fn a_subcommand_whose_effect_is_not_known_has_no_prefix() {
    for rule in [
        "git push *",
        "git submodule *",
        "git bisect *",
        "git config *",
        "git commit *",
        "git clone *",
        "git rebase *",
        "git branch *",
        "npm exec *",
        "npm run *",
        "npm install *",
        "yarn dlx *",
        "pnpm dlx *",
        "go run *",
        "go generate *",
        "cargo run *",
        "cargo install *",
        "cargo fix *",
        "gh api *",
        "gh pr checkout *",
    ] {
        assert!(matches!(parse_rule(rule), Some(Err(PrefixError::UnknownSubcommand { .. }))), "{rule}");
    }
    let refused = parse_rule("yarn dlx *").unwrap().unwrap_err().to_string();
    assert_eq!(refused, "of yarn, only these can have words after them: test, run NAME; allow single commands instead");
}

#[test]
fn a_program_that_starts_another_has_no_prefix() {
    for program in [
        "taskset",
        "chrt",
        "numactl",
        "bwrap",
        "proot",
        "firejail",
        "capsh",
        "ld.so",
        "/lib64/ld-linux-x86-64.so.2",
        "tmux",
        "screen",
        "nice",
        "time",
        "timeout",
        "stdbuf",
        "setsid",
        "watch",
        "entr",
        "parallel",
        "ssh",
        "bash.exe",
    ] {
        let rule = parse_rule(&format!("{program} *"));
        assert_eq!(rule, Some(Err(PrefixError::UnknownProgram(program.into()))));
    }
}

#[test]
fn a_kept_rule_that_lets_nothing_through_says_so() {
    use crate::{AllowedRule, PermissionRule, Scope};
    let shown = |words: &str| AllowedRule::new(PermissionRule::CommandPrefix(words.into()), Scope::Folder).to_string();
    assert_eq!(
        shown("yarn dlx"),
        "Bash: yarn dlx * (lets nothing through: of yarn, only these can have words after them: test, run NAME; allow single \
         commands instead)"
    );
    assert!(shown("python3").starts_with("Bash: python3 * (lets nothing through: "));
    assert!(shown("cp").starts_with("Bash: cp * (lets nothing through: what cp does "));
    assert_eq!(shown("cat"), "Bash: cat * (with plain words and harmless options)");
}

#[test]
fn a_rule_is_offered_where_it_makes_sense() {
    let check = |command: &str, expected: Option<&str>| assert_eq!(offered(command).as_deref(), expected, "{command}");
    check("cargo test -p askuser", Some("cargo test"));
    check("cargo nextest run -p askuser", Some("cargo nextest run"));
    check("cargo nextest list", None);
    check("git grep -n 'a; b'", Some("git grep"));
    check("git commit -m x", None);
    check("git push", None);
    check("npm run lint", Some("npm run lint"));
    check("npm run --silent lint", None);
    check("npm run", None);
    check("ls -la src", Some("ls"));
    check("rm -r build", None);
    check("cat x", Some("cat"));
    check("python3 -m pytest -q tests", Some("python3 -m pytest"));
    check("./cargo test", None);
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
        assert!(!prefixes(command).matching.is_empty(), "{command}");
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
        assert_eq!(plain_words(command).filter(|words| is_harmless(words).is_ok()), None, "{command}");
    }
}
