use super::*;
use crate::tools::test_fixtures::{TestFolder, call};
use serde_json::Value;
use std::os::unix::fs::symlink;

async fn grep(test: &TestFolder, input: Value) -> String {
    test.run(&Grep, input).await.output
}

fn test() -> TestFolder {
    TestFolder::new()
        .with_file("a.rs", "fn one() {}\nfn two() {}\n// end\n")
        .with_file("src/b.rs", "use x;\n\nfn three() {}\n")
        .with_file("notes.md", "Fn is a word\n")
        .with_file(".hidden.rs", "fn hidden() {}\n")
        .with_file("target/t.rs", "fn ignored() {}\n")
        .with_file(".gitignore", "target\n")
}

#[tokio::test]
async fn matching_lines_are_shown_by_file_with_numbers() {
    let expected = ToolResult::ok("a.rs\n1:fn one() {}\n2:fn two() {}\n\nsrc/b.rs\n3:fn three() {}\n")
        .with_title("Grep", r"^fn \w+");
    assert_eq!(test().run(&Grep, json!({"pattern": r"^fn \w+"})).await, expected);
}

#[tokio::test]
async fn files_and_counts() {
    let test = test();
    assert_eq!(grep(&test, json!({"pattern": "fn ", "output": "files"})).await, "a.rs\nsrc/b.rs\n");
    let expected = "a.rs:2\nsrc/b.rs:1\n\n(3 matching lines in 2 files)\n";
    assert_eq!(grep(&test, json!({"pattern": "fn ", "output": "count"})).await, expected);
}

#[tokio::test]
async fn case_can_be_ignored_and_files_chosen() {
    let test = test();
    assert_eq!(grep(&test, json!({"pattern": "FN IS", "ignore_case": true})).await, "notes.md\n1:Fn is a word\n");
    let md = json!({"pattern": "fn", "ignore_case": true, "glob": "*.md", "output": "files"});
    assert_eq!(grep(&test, md).await, "notes.md\n");
    assert_eq!(grep(&test, json!({"pattern": "fn", "glob": ".*.rs", "output": "files"})).await, ".hidden.rs\n");
}

#[tokio::test]
async fn a_file_or_folder_can_be_searched_alone() {
    let test = test();
    assert_eq!(grep(&test, json!({"pattern": "fn", "path": "src"})).await, "src/b.rs\n3:fn three() {}\n");
    assert_eq!(grep(&test, json!({"pattern": "one", "path": "a.rs"})).await, "a.rs\n1:fn one() {}\n");
    assert_eq!(grep(&test, json!({"pattern": "fn", "path": ".hidden.rs"})).await, ".hidden.rs\n1:fn hidden() {}\n");
}

#[tokio::test]
async fn context_stands_around_matches() {
    let test = TestFolder::new().with_file("file", "1\n2\nx\n4\n5\n6\nx\n8\n");
    let expected = "file\n2-2\n3:x\n4-4\n--\n6-6\n7:x\n8-8\n";
    assert_eq!(grep(&test, json!({"pattern": "x", "context": 1})).await, expected);
}

#[tokio::test]
async fn the_end_of_a_crlf_line_is_its_end() {
    let test = TestFolder::new().with_file("file", "one\r\ntwo\r\n");
    assert_eq!(grep(&test, json!({"pattern": "^one$"})).await, "file\n1:one\n");
}

#[tokio::test]
async fn binary_files_are_skipped_even_after_a_match() {
    let test =
        TestFolder::new().with_file("early", b"x\0").with_file("late", format!("x\n{}\0", "y\n".repeat(200_000)));
    let expected = "(No matches. Binary and ignored files are not searched, hidden ones only if glob names them.)\n";
    assert_eq!(grep(&test, json!({"pattern": "x"})).await, expected);
}

#[tokio::test]
async fn at_most_200_matches_are_shown() {
    let test =
        TestFolder::new().with_file("a", "x\n".repeat(150)).with_file("b", "x\n".repeat(150)).with_file("c", "x");
    let text = grep(&test, json!({"pattern": "x"})).await;
    let expected = "50:x\n\n(Stopped after 200 matches; there are more. Narrow the pattern, path or glob.)\n";
    assert!(text.ends_with(expected), "{text}");
}

#[tokio::test]
async fn exactly_200_matches_are_all_there_are() {
    let test = TestFolder::new().with_file("a", "x\n".repeat(200)).with_file("b", "y\n");
    assert!(grep(&test, json!({"pattern": "x"})).await.ends_with("\n200:x\n"));
}

#[tokio::test]
async fn at_most_50000_characters_are_shown() {
    let test = TestFolder::new().with_file("a", format!("{}\n", "x".repeat(450)).repeat(180));
    let text = grep(&test, json!({"pattern": "x"})).await;
    assert!(text.chars().count() < MAX_CHARS + 200);
    assert!(text.contains("there are more"), "{text}");
}

#[tokio::test]
async fn at_most_200_files_are_listed() {
    let test = (0..201).fold(TestFolder::new(), |test, n| test.with_file(&format!("{n:03}"), "x"));
    let text = grep(&test, json!({"pattern": "x", "output": "files"})).await;
    assert!(text.ends_with("199\n\n(Stopped after 200 files; there are more. Narrow the pattern, path or glob.)\n"));
}

#[tokio::test]
async fn long_lines_are_cut() {
    let test = TestFolder::new().with_file("a", "ä".repeat(900));
    assert_eq!(grep(&test, json!({"pattern": "ä"})).await, format!("a\n1:{}… (cut)\n", "ä".repeat(500)));
}

#[tokio::test]
async fn a_line_too_long_to_search_is_reported() {
    let test = TestFolder::new().with_file("a", "y".repeat(LINE_BYTES + 100)).with_file("b", "x");
    let expected = "b\n1:x\n\n(1 file could not be read to the end.)\n";
    assert_eq!(grep(&test, json!({"pattern": "x"})).await, expected);
}

#[tokio::test]
async fn links_are_not_searched() {
    let test = TestFolder::new().with_file("a", "nothing");
    symlink("/etc/passwd", test.path("link")).unwrap();
    symlink("/etc", test.path("etc")).unwrap();
    assert!(grep(&test, json!({"pattern": "root"})).await.starts_with("(No matches."));
    assert!(grep(&test, json!({"pattern": "root", "path": "link"})).await.contains("is outside of the folder"));
}

#[tokio::test]
async fn wrong_inputs_are_explained() {
    let test = TestFolder::new();
    let cases = [
        (json!({"pattern": "("}), "pattern: regex parse error"),
        (json!({"pattern": "a\nb"}), "must be a regular expression for single lines"),
        (json!({"pattern": ""}), "pattern: empty, must be a regular expression"),
        (json!({"pattern": "x", "output": "lines"}), "output: lines, must be one of content, files, count"),
        (json!({"pattern": "x", "context": 21}), "context: 21, at most 20"),
        (json!({"pattern": "x", "glob": "["}), "glob: [, not a glob"),
        (json!({"pattern": "x", "path": "no"}), "path: no does not exist"),
    ];
    for (input, why) in cases {
        let result = test.run(&Grep, input).await;
        assert!(!result.success && result.output.contains(why), "{}", result.output);
    }
}

#[test]
fn a_stopped_search_ends_inside_a_file() {
    let test = TestFolder::new().with_file("a", "x\n".repeat(10));
    let cancel = CancellationToken::new();
    cancel.cancel();
    let mut reader = CancellableFile { file: File::open(test.path("a")).unwrap(), cancel: &cancel };
    assert!(io::Read::read(&mut reader, &mut [0; 8]).is_err());
}

#[test]
fn a_search_that_times_out_says_so() {
    let test = test();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let search = parse(&call(&Grep, json!({"pattern": "fn"})), &test.context).unwrap();
    let expected = "(Stopped after 60 s; the result is incomplete. Narrow the path or pattern.)\n";
    assert_eq!(search.run(&cancel), ToolResult::ok(expected));
}
