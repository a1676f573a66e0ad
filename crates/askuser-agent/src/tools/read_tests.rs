use super::*;
use crate::tools::test_fixtures::TestFolder;
use serde_json::Value;
use std::fs::File;
#[cfg(unix)]
use std::os::unix::fs::symlink;

async fn read(test: &TestFolder, input: Value) -> String {
    test.run(&Read, input).await.output
}

async fn read_file(content: impl AsRef<[u8]>) -> String {
    read(&TestFolder::new().with_file("file", content), json!({"path": "file"})).await
}

#[tokio::test]
#[cfg_attr(windows, ignore = "paths are shown with backslashes there")]
async fn lines_are_numbered() {
    let test = TestFolder::new().with_file("src/a.txt", "one\n\tzwei\n\nvier");
    let expected = ToolResult::ok("1\tone\n2\t\tzwei\n3\t\n4\tvier\n").with_title("Read", "src/a.txt");
    assert_eq!(test.run(&Read, json!({"path": "src/a.txt"})).await, expected);
}

#[tokio::test]
async fn a_page_starts_at_the_offset_and_says_how_to_continue() {
    let test = TestFolder::new().with_file("file", "a\nb\nc\nd\ne\n");
    let page = read(&test, json!({"path": "file", "offset": 2, "limit": 2})).await;
    assert_eq!(page, "2\tb\n3\tc\n\n(Lines 2-3 of 5. Read on with offset 4.)\n");
}

#[tokio::test]
async fn the_last_page_says_nothing_more() {
    let test = TestFolder::new().with_file("file", "a\nb\nc\n");
    assert_eq!(read(&test, json!({"path": "file", "offset": 3, "limit": 9})).await, "3\tc\n");
}

#[tokio::test]
async fn a_page_has_at_most_2000_lines() {
    let text = read_file("x\n".repeat(5_000)).await;
    assert!(text.ends_with("2000\tx\n\n(Lines 1-2000 of 5000. Read on with offset 2001.)\n"), "{text}");
}

#[tokio::test]
async fn a_page_has_at_most_50000_characters() {
    let text = read_file(format!("{}\n", "é".repeat(998)).repeat(200)).await;
    assert!(text.ends_with("(Lines 1-49 of 200. Read on with offset 50.)\n"), "{}", &text[text.len() - 200..]);
    assert!(text.chars().count() < MAX_CHARS + 100);
}

#[tokio::test]
async fn pages_put_together_are_the_whole_file() {
    let lines: Vec<String> = (1..=4_321).map(|n| format!("line {n} {}", "x".repeat(n % 90))).collect();
    let test = TestFolder::new().with_file("file", lines.join("\n"));
    let mut found = Vec::new();
    while found.len() < lines.len() {
        let page = read(&test, json!({"path": "file", "offset": found.len() + 1})).await;
        let shown = page.lines().take_while(|line| !line.is_empty());
        found.extend(shown.map(|line| line.split_once('\t').unwrap().1.to_owned()));
    }
    assert_eq!(found, lines);
}

#[tokio::test]
async fn a_long_line_is_cut_with_a_mark() {
    let expected = format!("1\t{}… (cut: the line has 300000 characters)\n2\tend\n", "ä".repeat(LINE_CHARS));
    assert_eq!(read_file(format!("{}\nend", "ä".repeat(300_000))).await, expected);
}

#[tokio::test]
async fn a_binary_file_is_refused() {
    let expected = "file is a binary file of 4 bytes; Read shows text only.";
    assert_eq!(read_file(b"ab\0c").await, expected);
}

#[tokio::test]
async fn utf16_is_named() {
    assert!(read_file(b"\xff\xfea\0b\0").await.contains("is UTF-16 text"));
}

#[tokio::test]
async fn an_empty_file_is_said_to_be_empty() {
    assert_eq!(read_file("").await, "(file is empty.)");
}

#[tokio::test]
async fn what_is_not_utf8_is_marked_and_said() {
    let expected = "1\tcaf\u{fffd}\n\n(Not all of it is UTF-8; invalid bytes are shown as \u{fffd}.)\n";
    assert_eq!(read_file(b"caf\xe9\n").await, expected);
}

#[tokio::test]
async fn crlf_and_the_byte_order_mark_are_not_shown() {
    let expected = "1\ta\n2\tb\n\n(Lines end with CRLF; Edit keeps that.)\n";
    assert_eq!(read_file("\u{feff}a\r\nb\r\n").await, expected);
}

#[tokio::test]
async fn an_offset_beyond_the_end_is_an_error_that_says_where_the_end_is() {
    let test = TestFolder::new().with_file("file", "a\nb\n");
    let result = test.run(&Read, json!({"path": "file", "offset": 3})).await;
    assert_eq!(result, ToolResult::error("offset: 3, but file has 2 lines").with_title("Read", "file"));
}

#[tokio::test]
async fn line_numbers_begin_at_one() {
    let test = TestFolder::new().with_file("file", "a");
    let whole = read(&test, json!({"path": "file"})).await;
    assert_eq!(read(&test, json!({"path": "file", "offset": 0, "limit": ""})).await, whole);
}

#[tokio::test]
async fn a_folder_is_listed() {
    let test = TestFolder::new().with_file("src/b", "").with_file("src/a/x", "").with_file("src/.c", "");
    assert_eq!(read(&test, json!({"path": "src"})).await, "src is a folder with 3 entries:\n.c\na/\nb\n");
}

#[tokio::test]
async fn a_long_listing_is_cut() {
    let test = (0..MAX_ENTRIES + 7).fold(TestFolder::new(), |test, n| test.with_file(&format!("{n:04}"), ""));
    let text = read(&test, json!({"path": "."})).await;
    assert!(text.ends_with("\n0499\n(7 more; Glob narrows it down)\n"), "{text}");
}

#[tokio::test]
#[cfg_attr(windows, ignore = "paths are shown with backslashes there")]
async fn a_missing_file_is_an_error() {
    let test = TestFolder::new();
    assert!(read(&test, json!({"path": "x/y"})).await.starts_with("x/y does not exist."));
}

// Windows has no named pipes in folders.
#[cfg(unix)]
#[tokio::test]
async fn a_pipe_is_refused_and_does_not_hang() {
    let test = TestFolder::new();
    assert!(std::process::Command::new("mkfifo").arg(test.path("pipe")).status().unwrap().success());
    assert!(read(&test, json!({"path": "pipe"})).await.starts_with("pipe is a pipe, socket, device or link"));
}

// Windows has no device files.
#[cfg(unix)]
#[tokio::test]
async fn a_device_is_refused_even_where_it_is_allowed() {
    let mut test = TestFolder::new();
    test.context.allowed = vec!["/dev".into()];
    let result = test.run(&Read, json!({"path": "/dev/zero"})).await;
    assert!(!result.success && result.output.starts_with("/dev/zero is a pipe, socket, device or link"));
}

// On Windows, only an administrator can create links.
#[cfg(unix)]
#[tokio::test]
async fn a_link_out_is_not_read() {
    let test = TestFolder::new();
    symlink("/etc/passwd", test.path("link")).unwrap();
    assert!(read(&test, json!({"path": "link"})).await.contains("is outside of the folder"));
}

#[tokio::test]
async fn a_huge_file_is_not_loaded_and_its_lines_are_counted_only_so_far() {
    // The file begins with as much text as the check for binary files reads. A sparse part of 8 GB without a line end
    // follows.
    let lines = BUFFER / 5 + 1;
    let test = TestFolder::new().with_file("huge", "line\n".repeat(lines));
    File::options().write(true).open(test.path("huge")).unwrap().set_len(8 << 30).unwrap();
    let page = read(&test, json!({"path": "huge", "limit": 1})).await;
    assert_eq!(page, format!("1\tline\n\n(Lines 1-1 of more than {lines}. Read on with offset 2.)\n"));
}

#[tokio::test]
async fn reading_stops_with_the_turn() {
    let test = TestFolder::new().with_file("file", "a");
    test.context.abort.cancel();
    let cancel = test.try_run(&Read, json!({"path": "file"})).await;
    assert_eq!(cancel, Err(crate::tool::Stop::Interrupted));
}
