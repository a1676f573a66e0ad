use super::*;
use serde_json::json;

fn diff(old: &str, new: &str) -> String {
    file_change("a", Some(old.as_bytes()), Some(new.as_bytes())).diff
}

/// Returns the change by a call on the file `/p/a` with this content. `None` as content means that the file does not
/// exist.
fn change(tool: &str, input: Value, old: Option<&str>) -> Option<FileChange> {
    let read = |path: &Path| {
        assert_eq!(path, Path::new("/p/a"));
        Ok(old.map(|old| old.as_bytes().to_owned()))
    };
    let Value::Object(input) = input else { panic!("{input}") };
    let call = tool_use(tool, &input, Path::new("/p"), &read);
    serde_json::from_value(json!(call)["change"].clone()).ok()
}

fn edited(old: &str, old_string: &str, new_string: &str, all: bool) -> Option<String> {
    let input = json!({"file_path": "/p/a", "old_string": old_string, "new_string": new_string, "replace_all": all});
    let change = change("Edit", input, Some(old))?;
    Some(change.diff.split_once(" @@\n")?.1.to_owned())
}

#[test]
fn a_carriage_return_alone_puts_no_half_of_a_line_behind_another() {
    let shown = diff("one\rtwo\nend\r", "one\r2\nend\r\n");
    let (_, lines) = shown.split_once(" @@\n").unwrap();
    assert_eq!(lines, "-one\rtwo\n-end\r\n\\ No newline at end of file\n+one\r2\n+end\r\n");
    assert_eq!(diff("same\n", "same\n"), "");
}

#[test]
fn an_edit_changes_what_its_tool_changes() {
    assert_eq!(edited("x\ny\n", "y", "z", false).unwrap(), " x\n-y\n+z\n");
    assert_eq!(edited("x\nx\n", "x", "z", true).unwrap(), "-x\n-x\n+z\n+z\n");
    assert_eq!(edited("x\ny\n", "x", "", false).unwrap(), "-x\n y\n", "an empty text takes the line end along");
    let written = change("Write", json!({"file_path": "/p/a", "content": "n\n"}), None).unwrap();
    assert_eq!((written.is_new, written.added, written.title()), (true, 1, "Create a (+1)?".to_owned()));
    let created = change("Edit", json!({"file_path": "a", "old_string": "", "new_string": "n\n"}), None).unwrap();
    assert!(created.is_new);
    let edits = json!([{"old_string": "x", "new_string": "y"}, {"old_string": "y", "new_string": "z"}]);
    let several = change("MultiEdit", json!({"file_path": "/p/a", "edits": edits}), Some("x\n")).unwrap();
    assert!(several.diff.ends_with("-x\n+z\n"), "{}", several.diff);
}

#[test]
fn an_uncertain_edit_has_no_diff() {
    assert_eq!(edited("x\n", "y", "z", false), None, "not there");
    assert_eq!(edited("x\nx\n", "x", "z", false), None, "there twice");
    assert_eq!(edited("x\r\ny\r\n", "x", "z", false), None, "line ends that are converted");
    assert_eq!(edited("x\n", "", "z", false), None, "an empty text in a file that is not empty");
    assert!(change("Edit", json!({"file_path": "/p/a", "old_string": "x"}), Some("x\n")).is_none());
    let old = vec![0xff, b'\n'];
    let input = json!({"file_path": "/p/a", "content": "x"});
    let call = tool_use("Write", input.as_object().unwrap(), Path::new("/p"), &|_| Ok(Some(old.clone())));
    assert!(json!(call)["change"].is_null(), "no text");
    let failing = |_: &Path| Err(std::io::ErrorKind::PermissionDenied.into());
    let call = tool_use("Write", input.as_object().unwrap(), Path::new("/p"), &failing);
    assert!(json!(call)["change"].is_null(), "a file that cannot be read");
    let forged = json!({"file_path": "/p/a\n+++ b", "content": "x"});
    let call = tool_use("Write", forged.as_object().unwrap(), Path::new("/p"), &|_| Ok(None));
    assert!(json!(call)["change"].is_null(), "a name that would draw a line");
}

#[test]
fn a_cell_of_a_notebook_is_compared_by_its_lines() {
    let cells = json!([{"id": "c1", "source": ["a\n", "b"]}, {"source": "c"}]);
    let notebook = json!({"cells": cells}).to_string();
    let cell = |input: Value| change("NotebookEdit", input, Some(&notebook)).map(|change| change.diff);
    let by_id = json!({"notebook_path": "/p/a", "cell_id": "c1", "new_source": "a\nB"});
    assert!(cell(by_id).unwrap().contains("\n a\n-b\n\\ No newline at end of file\n+B\n"));
    let by_number = json!({"notebook_path": "/p/a", "cell_id": "cell-1", "new_source": "", "edit_mode": "delete"});
    assert!(cell(by_number).unwrap().contains("\n-c\n"));
    let inserted = json!({"notebook_path": "/p/a", "cell_id": "c1", "new_source": "n", "edit_mode": "insert"});
    assert!(cell(inserted).unwrap().ends_with("+n\n\\ No newline at end of file\n"));
    assert_eq!(cell(json!({"notebook_path": "/p/a", "cell_id": "no", "new_source": "n"})), None);
}
