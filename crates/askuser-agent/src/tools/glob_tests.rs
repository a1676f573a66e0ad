use super::*;
use crate::tools::test_fixtures::{TestFolder, call};
use serde_json::Value;
use std::os::unix::fs::symlink;

fn test() -> TestFolder {
    let files = ["b.rs", "a.rs", "src/main.rs", "src/lib.rs", "src/deep/x.rs", "README.md", "target/out.rs"];
    let hidden = [".env", ".git/config", ".github/workflows/ci.yml", ".github/.cache/x.yml", ".gitignore"];
    let test = files.iter().chain(&hidden).fold(TestFolder::new(), |test, name| test.with_file(name, ""));
    test.with_file(".gitignore", "target/\n")
}

async fn glob(test: &TestFolder, input: Value) -> String {
    test.run(&Glob, input).await.output
}

async fn found(pattern: &str) -> Vec<String> {
    glob(&test(), json!({"pattern": pattern})).await.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn files_are_found_in_path_order_without_ignored_ones() {
    assert_eq!(found("**/*.rs").await, ["a.rs", "b.rs", "src/deep/x.rs", "src/lib.rs", "src/main.rs"]);
}

#[tokio::test]
async fn a_pattern_without_a_slash_is_a_name_at_any_depth() {
    assert_eq!(found("x.rs").await, ["src/deep/x.rs"]);
}

#[tokio::test]
async fn a_star_does_not_cross_a_slash() {
    assert_eq!(found("src/*.rs").await, ["src/lib.rs", "src/main.rs"]);
}

#[tokio::test]
async fn alternatives_work() {
    assert_eq!(found("{README.md,src/lib.rs}").await, ["README.md", "src/lib.rs"]);
}

#[tokio::test]
async fn hidden_files_are_found_only_by_patterns_that_name_them() {
    assert_eq!(
        found("**/*.yml").await,
        ["No files match. Ignored files are not searched, hidden ones only if the pattern names them."]
    );
    assert_eq!(found(".github/**/*.yml").await, [".github/workflows/ci.yml"]);
    assert_eq!(found(".env").await, [".env"]);
    assert_eq!(found(".git/*").await, [".git/config"]);
}

#[tokio::test]
async fn a_path_says_where_to_search_and_results_are_from_the_working_folder() {
    assert_eq!(glob(&test(), json!({"pattern": "*.rs", "path": "src/deep"})).await, "src/deep/x.rs\n");
}

#[tokio::test]
async fn at_most_200_are_listed_and_the_rest_is_counted() {
    let test = (0..203).fold(TestFolder::new(), |test, n| test.with_file(&format!("{n:03}.txt"), ""));
    let text = glob(&test, json!({"pattern": "*.txt"})).await;
    assert!(text.ends_with("198.txt\n199.txt\n(3 more files; narrow the pattern or path)\n"), "{text}");
    assert_eq!(text.lines().count(), 201);
}

#[tokio::test]
async fn links_are_not_followed() {
    let test = TestFolder::new().with_file("real/x.rs", "");
    symlink("/etc", test.path("etc")).unwrap();
    symlink(".", test.path("real/loop")).unwrap();
    assert_eq!(
        glob(&test, json!({"pattern": "**/passwd"})).await.lines().next().unwrap().get(..15),
        Some("No files match.")
    );
    assert_eq!(glob(&test, json!({"pattern": "*.rs"})).await, "real/x.rs\n");
}

#[tokio::test]
async fn wrong_patterns_are_explained() {
    let test = TestFolder::new();
    let cases = [
        ("a[", "pattern: a[, not a glob (unclosed character class; missing ']'), must be one"),
        ("/etc/*", "pattern: /etc/*, absolute, must be relative; path says where to search"),
        ("../*", "pattern: ../*, has .., must stay below path"),
        (" ", "pattern:  , blank, must be a glob such as **/*.rs"),
        ("!*.rs", "pattern: !*.rs, starts with !, must not be negated"),
    ];
    for (pattern, why) in cases {
        let expected = format!("Invalid Glob input; nothing was done. {why}");
        assert_eq!(glob(&test, json!({"pattern": pattern})).await, expected);
    }
}

#[tokio::test]
async fn what_is_not_a_folder_is_an_error() {
    let test = test();
    assert_eq!(glob(&test, json!({"pattern": "*", "path": "a.rs"})).await, "path: a.rs is not a folder");
    assert_eq!(glob(&test, json!({"pattern": "*", "path": "no"})).await, "path: no does not exist");
    assert!(glob(&test, json!({"pattern": "*", "path": ".."})).await.contains("is outside of the folder"));
}

#[test]
fn a_search_that_times_out_says_so() {
    let test = test();
    let path = ConfinedPath::resolve(&call(&Glob, json!({})), ".", &test.context).unwrap();
    let stopped = CancellationToken::new();
    stopped.cancel();
    let expected = "(Stopped after 60 s; the result is incomplete. Narrow the path or pattern.)\n";
    assert_eq!(find(&path, &Pattern::parse("*").unwrap(), &stopped), ToolResult::ok(expected));
}

#[test]
fn a_search_stops_with_its_token() {
    let test = test();
    let path = ConfinedPath::resolve(&call(&Glob, json!({})), ".", &test.context).unwrap();
    let stopped = CancellationToken::new();
    let mut seen = 0;
    walk::files(&path.absolute(), None, &stopped, |_, _| {
        seen += 1;
        stopped.cancel();
        ControlFlow::Continue(())
    });
    assert_eq!(seen, 1);
}

#[tokio::test]
async fn an_ignore_file_above_a_folder_that_is_no_repository_does_not_count() {
    let test = test();
    crate::tools::test_fixtures::write(&test.outside(".gitignore"), "*");
    std::fs::remove_dir_all(test.path(".git")).unwrap();
    assert_eq!(glob(&test, json!({"pattern": "a.rs"})).await, "a.rs\n");
}

#[tokio::test]
async fn the_ignore_file_of_a_repository_counts_below_it() {
    let test = test().with_file("src/out/x.rs", "").with_file(".gitignore", "out\n");
    assert_eq!(glob(&test, json!({"pattern": "x.rs", "path": "src"})).await, "src/deep/x.rs\n");
}

/// Creates a named pipe, as a hostile project might.
fn pipe(test: &TestFolder, name: &str) {
    std::fs::create_dir_all(test.path(name).parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(test.path(name)).status().unwrap().success());
}

#[tokio::test]
async fn an_ignore_file_that_is_a_device_a_pipe_or_endless_neither_hangs_nor_fills_the_memory() {
    let all = json!({"pattern": "*"});
    for name in [".gitignore", ".ignore", "sub/.gitignore", "sub/.ignore", ".git/info/exclude", ".git"] {
        let test = TestFolder::new().with_file("sub/a", "").with_file("b", "");
        pipe(&test, name);
        assert_eq!(glob(&test, all.clone()).await, "b\nsub/a\n", "a pipe as {name}");
        std::fs::remove_file(test.path(name)).unwrap();
        symlink("/dev/zero", test.path(name)).unwrap();
        assert_eq!(glob(&test, all.clone()).await, "b\nsub/a\n", "a device as {name}");
        std::fs::remove_file(test.path(name)).unwrap();
        std::fs::File::create(test.path(name)).unwrap().set_len(1 << 36).unwrap();
        assert_eq!(glob(&test, all.clone()).await, "b\nsub/a\n", "an endless {name}");
    }
}

#[tokio::test]
async fn what_is_ignored_follows_the_nearest_rule_and_the_kinds_in_their_order() {
    let test = TestFolder::new()
        .with_file(".git/info/exclude", "*.excluded\n*.log\n")
        .with_file(".gitignore", "\u{feff}*.log\r\n/only-here\nbuild/\n\u{fffd}\n")
        .with_file("a/.gitignore", "!kept.log\n")
        .with_file("a/b/.ignore", "kept.log\n");
    let names = ["x.excluded", "x.log", "only-here", "build/x", "a/only-here", "a/build/x", "a/kept.log", "a/x.log"];
    let test = names.iter().chain(&["a/b/kept.log", "a/b/x"]).fold(test, |test, name| test.with_file(name, ""));
    assert_eq!(glob(&test, json!({"pattern": "*"})).await, "a/b/x\na/kept.log\na/only-here\n");
    // In a subfolder the same rules apply: those of all parent folders in the repository.
    assert_eq!(glob(&test, json!({"pattern": "*", "path": "a"})).await, "a/b/x\na/kept.log\na/only-here\n");
}

#[tokio::test]
async fn a_second_worktree_ignores_what_its_repository_excludes() {
    let test = TestFolder::new()
        .with_file("main/.git/info/exclude", "x\n")
        .with_file("main/.git/worktrees/second/commondir", "../..\n")
        .with_file("second/.git", "gitdir: ../main/.git/worktrees/second\n")
        .with_file("second/x", "")
        .with_file("second/y", "");
    assert_eq!(glob(&test, json!({"pattern": "*", "path": "second"})).await, "second/y\n");
}

#[tokio::test]
async fn ignore_files_that_are_too_long_together_do_not_count_and_those_beside_them_do() {
    let long = format!("b\n{}", "# comment\n".repeat(20_000));
    let test = TestFolder::new()
        .with_file(".gitignore", long.as_str())
        .with_file("a/.gitignore", long.replace('b', "c"))
        .with_file("d/.gitignore", "e\n");
    let test = ["b", "a/b", "a/c", "d/e", "d/f"].iter().fold(test, |test, name| test.with_file(name, ""));
    assert_eq!(glob(&test, json!({"pattern": "*"})).await, "a/c\nd/f\n");
}
