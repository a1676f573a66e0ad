use super::*;
use crate::permission_rules::PermissionRule;
use crate::tool::Agreed;
use crate::tools::test_fixtures::{TestFolder, call, write};
use crate::tools::{Edit, Read};
#[cfg(unix)]
use std::os::unix::fs::{PermissionsExt, symlink};
use tokio_util::sync::CancellationToken;

async fn write_file(test: &TestFolder, path: &str, content: &str) -> ToolResult {
    test.run(&Write, json!({"path": path, "content": content})).await
}

/// Returns the names of the files in a folder. They show that no temporary file was left.
fn names(test: &TestFolder, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(test.path(folder)).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
#[cfg_attr(windows, ignore = "paths are shown with backslashes there")]
async fn a_new_file_is_written_with_its_folders() {
    let test = TestFolder::new();
    let diff = "--- /dev/null\n+++ b/src/deep/main.rs\n@@ -0,0 +1,2 @@\n+fn main() {\n+}\n";
    let expected = ToolResult::ok("Created src/deep/main.rs (2 lines).")
        .with_title("Write", "src/deep/main.rs")
        .with_details(json!({"diff": diff, "added": 2, "removed": 0}));
    assert_eq!(write_file(&test, "src/deep/main.rs", "fn main() {\n}\n").await, expected);
    assert_eq!(test.text("src/deep/main.rs"), "fn main() {\n}\n");
    assert_eq!(names(&test, "src/deep"), ["main.rs"]);
}

// Windows has no file modes.
#[cfg(unix)]
#[tokio::test]
async fn a_file_is_replaced_and_keeps_its_mode() {
    let test = TestFolder::new().with_file("run.sh", "old\n");
    std::fs::set_permissions(test.path("run.sh"), PermissionsExt::from_mode(0o4751)).unwrap();
    let result = write_file(&test, "run.sh", "new\n").await;
    assert_eq!(result.output, "Replaced run.sh (1 line).");
    assert_eq!(test.text("run.sh"), "new\n");
    assert_eq!(std::fs::metadata(test.path("run.sh")).unwrap().permissions().mode() & 0o7777, 0o751);
}

// On Windows, only an administrator can create links.
#[cfg(unix)]
#[tokio::test]
async fn a_link_inside_is_written_through() {
    let test = TestFolder::new().with_file("real/file", "old");
    symlink("real/file", test.path("link")).unwrap();
    write_file(&test, "link", "new").await;
    assert_eq!(test.text("real/file"), "new");
    assert!(test.path("link").is_symlink());
}

// On Windows, only an administrator can create links.
#[cfg(unix)]
#[tokio::test]
async fn a_dangling_link_inside_makes_the_file_it_names() {
    let test = TestFolder::new();
    symlink("real", test.path("link")).unwrap();
    write_file(&test, "link", "new").await;
    assert_eq!(test.text("real"), "new");
}

// On Windows, only an administrator can create links.
#[cfg(unix)]
#[tokio::test]
async fn nothing_is_written_outside() {
    let test = TestFolder::new();
    write(&test.outside("file"), "old");
    symlink("../file", test.path("link")).unwrap();
    symlink("..", test.path("up")).unwrap();
    for path in ["../file", "link", "up/file", "up/new/file"] {
        assert!(write_file(&test, path, "new").await.output.contains("is outside of the folder"), "{path}");
    }
    assert_eq!(std::fs::read_to_string(test.outside("file")).unwrap(), "old");
    assert!(!test.outside("new").exists());
}

#[tokio::test]
async fn what_is_not_a_file_is_not_replaced() {
    let test = TestFolder::new().with_file("folder/x", "").with_file("binary", b"a\0b");
    assert_eq!(write_file(&test, "folder", "x").await, ToolResult::error("folder is a folder; nothing was done."));
    assert_eq!(write_file(&test, "binary", "x").await, ToolResult::error("binary is a binary file; nothing was done."));
    assert!(write_file(&test, "folder/", "x").await.output.contains("path: ends with /, must name a file"));
    assert!(!write_file(&test, "folder/x/y", "x").await.success);
}

// Windows has no file modes.
#[cfg(unix)]
#[tokio::test]
async fn a_read_only_file_stays_as_it_is() {
    let test = TestFolder::new().with_file("file", "old");
    std::fs::set_permissions(test.path("file"), PermissionsExt::from_mode(0o444)).unwrap();
    assert_eq!(write_file(&test, "file", "new").await, ToolResult::error("file is read-only; nothing was done."));
    assert_eq!(test.text("file"), "old");
}

#[tokio::test]
async fn content_is_bounded() {
    let test = TestFolder::new();
    let result = write_file(&test, "file", &"x".repeat(1_000_001)).await;
    let expected = "Invalid Write input; nothing was done. content: 1000001 bytes, at most 1000000";
    assert_eq!(result, ToolResult::error(expected));
    assert!(write_file(&test, "file", &"x".repeat(1_000_000)).await.success);
}

#[tokio::test]
async fn the_result_repeats_the_beginning_of_a_large_diff() {
    let lines = |word: &str| (0..50_000).map(|n| format!("{word} {n}\n")).collect::<String>();
    let test = TestFolder::new().with_file("file", lines("old"));
    let details = write_file(&test, "file", &lines("new")).await.metadata.unwrap().details.unwrap();
    let diff = details["diff"].as_str().unwrap();
    assert_eq!((details["added"].as_u64(), details["removed"].as_u64()), (Some(50_000), Some(50_000)));
    let (shown, rest) = diff.split_once('…').unwrap();
    assert!((90_000..=100_000).contains(&shown.len()) && shown.ends_with('\n'), "{}", shown.len());
    let left_out = 100_003 - shown.lines().count();
    assert_eq!(rest, format!(" {left_out} more lines of this diff are not shown\n"));
}

#[tokio::test]
async fn consent_shows_what_would_be_written_and_writes_nothing() {
    let test = TestFolder::new().with_file("a.txt", "one\ntwo\n");
    let tool = Write;
    let consent = test.consent(&tool, json!({"path": "a.txt", "content": "one\n2\n3\n"})).unwrap();
    let expected = Consent {
        question: "Edit a.txt (+2 −1)?".into(),
        context: askuser::Context::Diff("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n".into()),
        rule: PermissionRule::Edits,
        always: "Change files in this folder without asking".into(),
        plain_words: Default::default(),
        always_ask: false,
        is_inside: false,
        because: None,
        agreed: Some(Agreed::Change(Some(b"one\ntwo\n".to_vec()))),
    };
    assert_eq!(consent, expected);
    let new = test.consent(&tool, json!({"path": "b.txt", "content": "x"})).unwrap();
    assert_eq!(new.question, "Create b.txt (+1)?");
    assert!(!test.path("b.txt").exists());
}

#[tokio::test]
async fn nobody_is_asked_about_what_is_there_already() {
    let test = TestFolder::new().with_file("file", "same");
    let result = test.consent(&Write, json!({"path": "file", "content": "same"}));
    let expected = "file already has exactly this content; nothing was written.";
    assert_eq!(result, Err(ToolResult::ok(expected).with_title("Write", "file")));
}

#[tokio::test]
async fn a_change_by_another_program_while_the_person_thought_is_not_replaced() {
    let test = TestFolder::new().with_file("file", "old");
    let tool = Write;
    let input = json!({"path": "file", "content": "new"});
    let test = test.agree(&tool, input.clone());
    let test = test.with_file("file", "theirs");
    let result = test.run(&tool, input).await;
    assert!(result.output.starts_with("file was changed by another program meanwhile; nothing was written"));
    assert!(!result.success);
    assert_eq!(test.text("file"), "theirs");
}

#[tokio::test]
async fn a_file_that_appeared_while_the_person_thought_is_not_replaced() {
    let test = TestFolder::new();
    let tool = Write;
    let input = json!({"path": "file", "content": "new"});
    let test = test.agree(&tool, input.clone());
    let test = test.with_file("file", "theirs");
    assert!(!test.run(&tool, input).await.success);
    assert_eq!(test.text("file"), "theirs");
}

#[tokio::test]
async fn an_agreed_write_is_made() {
    let test = TestFolder::new().with_file("file", "old");
    let tool = Write;
    let input = json!({"path": "file", "content": "new"});
    let test = test.agree(&tool, input.clone());
    assert!(test.run(&tool, input).await.success);
    assert_eq!(test.text("file"), "new");
}

#[tokio::test]
async fn write_does_not_replace_what_the_person_saved_since_the_model_read_it() {
    let test = TestFolder::new().with_file("file", "read");
    write(&test.path("file"), "saved since");
    let refused =
        ToolResult::error("file was changed since you read it; nothing was written. Read it first, or use Edit.");
    assert_eq!(write_file(&test, "file", "new").await, refused);
    assert_eq!(test.consent(&Write, json!({"path": "file", "content": "new"})), Err(refused));
    assert_eq!(test.text("file"), "saved since");
    assert!(test.run(&Read, json!({"path": "file"})).await.success);
    assert!(write_file(&test, "file", "new").await.success);
    // The model knows the content that it has written, but not a person's later changes.
    assert!(write_file(&test, "file", "newer").await.success);
    write(&test.path("file"), "theirs");
    assert!(!write_file(&test, "file", "newest").await.success);
    assert_eq!(test.text("file"), "theirs");
}

#[tokio::test]
async fn write_does_not_replace_a_file_that_the_model_has_never_read() {
    let test = TestFolder::new();
    write(&test.path("file"), "theirs");
    let refused = write_file(&test, "file", "new").await;
    assert!(refused.output.starts_with("file exists, and you have not read it in this session; nothing was written"));
    assert_eq!(test.text("file"), "theirs");
    // An edit of one part does not show the model the other parts.
    let edit = json!({"path": "file", "old_string": "the", "new_string": "THE"});
    assert!(test.run(&Edit, edit).await.success);
    assert!(!write_file(&test, "file", "new").await.success);
    assert_eq!(test.text("file"), "THEirs");
}

#[tokio::test]
async fn an_edit_of_a_file_that_was_read_leaves_it_known() {
    let test = TestFolder::new();
    write(&test.path("file"), "one two");
    assert!(test.run(&Read, json!({"path": "file", "limit": 1})).await.success);
    let edit = json!({"path": "file", "old_string": "one", "new_string": "1"});
    assert!(test.run(&Edit, edit).await.success);
    assert!(write_file(&test, "file", "new").await.success);
}

/// An editor saves repeatedly by renaming while the agent writes. Each save is still in place, or the agent read it
/// before replacing it.
#[tokio::test]
#[cfg_attr(windows, ignore = "Windows refuses to rename what is open at that moment")]
async fn of_100_saves_by_rename_none_is_lost() {
    let test = TestFolder::new().with_file("file", "save 0");
    let (path, temporary) = (test.path("file"), test.path("file.new"));
    let saving = std::thread::spawn(move || {
        for n in 1..=100 {
            std::fs::write(&temporary, format!("save {n}")).unwrap();
            std::fs::rename(&temporary, &path).unwrap();
            std::thread::sleep(std::time::Duration::from_micros(300));
        }
    });
    let mut replaced = 0;
    let mut refused = 0;
    loop {
        let is_over = saving.is_finished();
        let read = test.run(&Read, json!({"path": "file"})).await.output;
        let saved = test.text("file");
        let is_written = write_file(&test, "file", &format!("agent {replaced} {refused}")).await.success;
        if !is_written {
            refused += 1;
        } else if saved.starts_with("save") {
            // The replaced content is the content that was read before.
            assert!(read.contains(&saved), "{saved} was replaced, but {read} was read");
            replaced += 1;
            if saved == "save 100" {
                break;
            }
        } else {
            assert!(!is_over, "the last save is lost");
        }
    }
    saving.join().unwrap();
    assert!(replaced > 0 && refused > 0, "{replaced} replaced, {refused} refused");
    assert!(!test.path("file.new").exists());
}

#[tokio::test]
async fn writing_does_not_hold_up_the_runtime() {
    let test = TestFolder::new();
    let lock = file_change::change_lock();
    let tool = Write;
    let mut writing = Box::pin(test.run(&tool, json!({"path": "a", "content": "x"})));
    // Another process is changing a file. Waiting for it must not block this thread.
    assert!(futures_util::FutureExt::now_or_never(&mut writing).is_none());
    drop(lock);
    assert!(writing.await.success);
    assert_eq!(test.text("a"), "x");
}

#[tokio::test]
async fn what_was_stopped_before_it_was_written_is_not_written_later() {
    let test = TestFolder::new();
    let change = plan(&call(&Write, json!({"path": "a", "content": "x"})), &test.context).unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert!(change.apply(&test.context, &cancel).is_err() && !test.path("a").exists());
}

#[tokio::test]
async fn what_is_saved_while_a_file_is_written_is_not_replaced() {
    let test = TestFolder::new().with_file("old", "old");
    for (path, meanwhile) in [("old", "saved meanwhile"), ("new", "made meanwhile")] {
        let change = plan(&call(&Write, json!({"path": path, "content": "x"})), &test.context).unwrap();
        std::fs::write(test.path(path), meanwhile).unwrap();
        let refused = change.apply(&test.context, &CancellationToken::new()).unwrap_err();
        let expected =
            format!("{path} was changed by another program meanwhile; nothing was written. Read it again first.");
        assert_eq!((refused, test.text(path).as_str()), (ToolResult::error(expected), meanwhile));
    }
    assert_eq!(names(&test, "."), ["new", "old"]);
}
