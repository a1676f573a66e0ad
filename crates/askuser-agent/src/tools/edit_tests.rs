use super::*;
use crate::permission_rules::PermissionRule;
use crate::tool::Agreed;
use crate::tools::test_fixtures::TestFolder;
use proptest::prelude::*;
use serde_json::Value;

fn input(old: &str, new: &str) -> Value {
    json!({"path": "file", "old_string": old, "new_string": new})
}

async fn edit_text(text: &str, old: &str, new: &str) -> (ToolResult, String) {
    let test = TestFolder::new().with_file("file", text);
    let result = test.run(&Edit, input(old, new)).await;
    (result, test.text("file"))
}

fn only(text: &str, old: &str, new: &str) -> Result<String, EditError> {
    replace(text, old, new, Occurrences::Unique).map(|(after, _)| after)
}

#[tokio::test]
async fn the_only_match_is_replaced() {
    let (result, after) = edit_text("one\ntwo\nthree\n", "two", "2").await;
    let diff = "--- a/file\n+++ b/file\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    let expected = ToolResult::ok("Edited file (1 replacement).")
        .with_title("Edit", "file")
        .with_details(json!({"diff": diff, "added": 1, "removed": 1}));
    assert_eq!((result, after.as_str()), (expected, "one\n2\nthree\n"));
}

#[tokio::test]
async fn replace_all_replaces_every_match() {
    let test = TestFolder::new().with_file("file", "a b a b a");
    let input = json!({"path": "file", "old_string": "a", "new_string": "aa", "replace_all": true});
    assert_eq!(test.run(&Edit, input).await.output, "Edited file (3 replacements).");
    assert_eq!(test.text("file"), "aa b aa b aa");
}

#[tokio::test]
async fn several_matches_are_an_error_that_says_how_many_and_what_to_do() {
    let (result, after) = edit_text("a b a", "a", "c").await;
    let expected = "file was not changed: old_string is in it 2 times, must be there once. Add lines around it until it is \
                    unique, or set replace_all to change every one.";
    assert_eq!(result, ToolResult::error(expected).with_title("Edit", "file"));
    assert_eq!(after, "a b a");
}

#[test]
fn matches_that_overlap_are_several() {
    assert_eq!(only("aaa", "aa", "b"), Err(EditError::Ambiguous(2)));
}

#[test]
fn what_is_not_there_is_an_error() {
    assert_eq!(only("abc", "x", "y"), Err(EditError::NotFound));
}

#[test]
fn different_whitespace_is_named_as_the_reason() {
    assert_eq!(only("fn x() {\n    y();\n}", "fn x() {\n\ty();", "z"), Err(EditError::WhitespaceDiffers));
}

#[test]
fn a_crlf_file_stays_crlf() {
    assert_eq!(only("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz").unwrap(), "x\r\ny\r\nz\r\nc\r\n");
    assert_eq!(only("a\r\nb\r\n", "b", "b\nc").unwrap(), "a\r\nb\r\nc\r\n");
    assert_eq!(only("a\r\nb\r\n", "a\r\nb", "x\r\ny").unwrap(), "x\r\ny\r\n");
}

#[test]
fn no_edit_comes_between_cr_and_lf() {
    assert_eq!(only("a\r\nb", "a\n", "a ").unwrap(), "a b");
}

#[test]
fn a_file_with_mixed_line_endings_is_changed_where_it_matches() {
    assert_eq!(only("a\nb\r\nc\r\n", "b\nc", "x\ny").unwrap(), "a\nx\r\ny\r\n");
    assert_eq!(only("a\nb\nc\r\n", "a\nb", "x\ny").unwrap(), "x\ny\nc\r\n");
}

#[test]
fn an_lf_file_is_matched_by_crlf_and_stays_lf() {
    assert_eq!(only("a\nb\n", "a\r\nb", "x\r\ny").unwrap(), "x\ny\n");
}

#[test]
fn what_matches_as_it_stands_is_replaced_by_what_was_given_as_it_stands() {
    assert_eq!(only("a\nb\n", "a", "x\r\ny").unwrap(), "x\r\ny\nb\n");
}

#[test]
fn the_byte_order_mark_stays() {
    assert_eq!(only("\u{feff}a b", "a", "c").unwrap(), "\u{feff}c b");
    assert_eq!(only("\u{feff}a b", "\u{feff}a", "c").unwrap(), "\u{feff}c b");
}

#[test]
fn an_edit_that_changes_nothing_is_refused() {
    assert_eq!(only("a\r\nb", "a\nb", "a\r\nb"), Err(EditError::NoChange));
}

#[test]
fn an_edit_cannot_exceed_the_size_limit() {
    let result = replace(&"a".repeat(1_000), "a", &"b".repeat(1_000_000), Occurrences::All);
    assert_eq!(result, Err(EditError::TooLarge(1_000_000_000)));
    let part = "a".repeat(1_000);
    let count = file_change::MAX_FILE as usize / 1_000;
    let after = replace(&part.repeat(count), &part, &"b".repeat(1_000), Occurrences::All);
    assert!(after.is_ok_and(|(after, replaced)| (after.len(), replaced) == (count * 1_000, count)));
}

#[tokio::test]
async fn inputs_that_make_no_sense_are_refused() {
    let (result, _) = edit_text("a", "", "b").await;
    let expected =
        "Invalid Edit input; nothing was done. old_string: empty, must be text of the file; Write makes new files";
    assert_eq!(result, ToolResult::error(expected));
    let (result, _) = edit_text("a", "a", "a").await;
    let expected = "Invalid Edit input; nothing was done. new_string: the same as old_string, must differ";
    assert_eq!(result, ToolResult::error(expected));
    let longest = "b".repeat(file_change::MAX_CONTENT);
    let (result, _) = edit_text("a", "a", &format!("{longest}b")).await;
    let max = file_change::MAX_CONTENT;
    let more = file_change::MAX_CONTENT + 1;
    let expected = format!("Invalid Edit input; nothing was done. new_string: {more} bytes, at most {max}");
    assert_eq!(result, ToolResult::error(expected));
    assert!(edit_text("a", "a", &longest).await.0.success);
}

#[tokio::test]
async fn a_missing_file_is_an_error() {
    let expected = "file does not exist; nothing was done. Write makes new files.";
    assert_eq!(TestFolder::new().run(&Edit, input("a", "b")).await, ToolResult::error(expected));
}

#[tokio::test]
async fn a_file_in_another_encoding_is_left_alone() {
    let test = TestFolder::new().with_file("file", b"caf\xe9 a");
    let expected = "file is not UTF-8 text, which Edit cannot change; nothing was done.";
    assert_eq!(test.run(&Edit, input("a", "b")).await, ToolResult::error(expected));
}

#[test]
fn an_edit_is_shown_before_it_is_made() {
    let test = TestFolder::new().with_file("file", "one\ntwo\n");
    let expected = Consent {
        question: "Edit file (+1 −1)?".into(),
        context: askuser::Context::Diff("--- a/file\n+++ b/file\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n".into()),
        rule: PermissionRule::Edits,
        always: "Change files in this folder without asking".into(),
        plain_words: Default::default(),
        always_ask: false,
        is_inside: false,
        because: None,
        agreed: Some(Agreed::Change(Some(b"one\ntwo\n".to_vec()))),
    };
    assert_eq!(test.consent(&Edit, input("two", "2")), Ok(expected));
    assert_eq!(test.text("file"), "one\ntwo\n");
}

#[test]
fn nobody_is_asked_about_an_edit_that_does_not_apply() {
    let test = TestFolder::new().with_file("file", "one");
    assert!(test.consent(&Edit, input("two", "2")).is_err());
}

/// A person agrees to the diff that they saw. So the file must be the one from which the diff was made.
#[tokio::test]
async fn an_edit_of_a_file_that_has_changed_since_it_was_shown_changes_nothing() {
    let once = input("one", "1");
    let all = json!({"path": "file", "old_string": "one", "new_string": "1", "replace_all": true});
    for (input, meanwhile) in [
        // The changes: elsewhere in the file, in the edited place, with more matches, with as many other matches, and
        // without a match.
        (&once, "one\ntwo\nthree changed\n"),
        (&once, "(one)\ntwo\nthree\n"),
        (&once, "one\none\n"),
        (&all, "two\nthree\none\n"),
        (&all, "two\nthree\n"),
    ] {
        let test = TestFolder::new().with_file("file", "one\ntwo\nthree\n").agree(&Edit, input.clone());
        let test = test.with_file("file", meanwhile);
        let expected = "file was changed by another program meanwhile; nothing was written. Read it again first.";
        assert_eq!(test.run(&Edit, input.clone()).await, ToolResult::error(expected), "{meanwhile:?}");
        assert_eq!(test.text("file"), meanwhile);
    }
}

#[tokio::test]
async fn an_agreed_edit_is_made() {
    let test = TestFolder::new().with_file("file", "one two").agree(&Edit, input("one", "1"));
    assert!(test.run(&Edit, input("one", "1")).await.success);
    assert_eq!(test.text("file"), "1 two");
}

#[tokio::test]
async fn edits_at_the_same_time_are_all_made() {
    let text: String = (0..40).map(|n| format!("<{n}>\n")).collect();
    let test = TestFolder::new().with_file("file", text);
    let edits = (0..40).map(|n| test.run(&Edit, input(&format!("<{n}>"), &format!("[{n}]"))));
    assert!(futures_util::future::join_all(edits).await.iter().all(|edited| edited.success));
    assert_eq!(test.text("file"), (0..40).map(|n| format!("[{n}]\n")).collect::<String>());
}

proptest! {
    #[test]
    fn an_edit_is_exact(before in "[^\r]*", old in "[^\r]+", after in "[^\r]*", new in "[^\r]*") {
        let text = format!("{before}{old}{after}");
        let positions = (0..text.len()).filter(|at| text.is_char_boundary(*at) && text[*at..].starts_with(&old)).count();
        prop_assume!(!text.starts_with(BOM));
        match only(&text, &old, &new) {
            Ok(edited) => prop_assert_eq!(edited, format!("{before}{new}{after}")),
            Err(EditError::Ambiguous(_)) => prop_assert!(positions > 1),
            Err(EditError::NoChange) => prop_assert_eq!(old, new),
            Err(other) => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn in_a_file_of_crlf_an_edit_is_that_of_lf(lines in prop::collection::vec("[ab ]{0,3}", 2..9), old in "[ab\n]{1,4}", new in "[xy\n]{0,4}") {
        let text = lines.join("\n");
        let crlf = text.replace('\n', "\r\n");
        let expected = only(&text, &old, &new).map(|after| after.replace('\n', "\r\n"));
        prop_assert_eq!(only(&crlf, &old, &new), expected);
    }

    #[test]
    fn replacing_all_leaves_the_rest(parts in prop::collection::vec("[^#\r\u{feff}]{0,5}", 2..6), new in "[^\r]{0,3}") {
        prop_assume!(new != "#");
        let (after, count) = replace(&parts.join("#"), "#", &new, Occurrences::All).unwrap();
        prop_assert_eq!((after, count), (parts.join(&new), parts.len() - 1));
    }
}
