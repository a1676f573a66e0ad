use super::*;
use crate::tools::Read;
use crate::tools::test_fixtures::{TestFolder, call, write};
use serde_json::json;
use std::os::unix::fs::symlink;

fn resolve(test: &TestFolder, given: &str) -> Result<ConfinedPath, ToolResult> {
    ConfinedPath::resolve(&call(&Read, json!({})), given, &test.context)
}

/// Returns the resolved path in its displayed form, or the error.
fn shown(test: &TestFolder, given: &str) -> String {
    resolve(test, given).map_or_else(|refused| refused.output, |path| path.display())
}

fn is_outside(test: &TestFolder, given: &str) -> bool {
    resolve(test, given).is_err_and(|refused| refused.output.contains("is outside of the folder this agent may use"))
}

#[test]
fn a_relative_path_is_in_the_working_folder() {
    let test = TestFolder::new();
    let expected =
        ConfinedPath { root: test.context.cwd.clone(), relative: "src/main.rs".into(), root_kind: RootKind::Cwd };
    assert_eq!(resolve(&test, "src/main.rs").unwrap(), expected);
}

#[test]
fn an_absolute_path_inside_is_shown_relative() {
    let test = TestFolder::new().with_file("src/x/file", "");
    assert_eq!(shown(&test, test.path("src/./x/../main.rs").to_str().unwrap()), "src/main.rs");
}

#[test]
fn the_working_folder_itself_is_inside() {
    assert_eq!(shown(&TestFolder::new(), "."), ".");
}

#[test]
fn dots_do_not_lead_out() {
    let test = TestFolder::new();
    assert!(is_outside(&test, "../secret"));
    assert!(is_outside(&test, ".."));
    assert!(is_outside(&test, "/etc/passwd"));
}

#[test]
fn a_sibling_with_the_same_name_prefix_is_outside() {
    let test = TestFolder::new();
    assert!(is_outside(&test, test.outside("workshop/file").to_str().unwrap()));
}

#[test]
fn the_error_names_the_path_the_folder_and_the_way_to_allow_more() {
    let test = TestFolder::new();
    let cwd = test.context.cwd.display();
    assert_eq!(
        shown(&test, "/etc/passwd"),
        format!(
            "/etc/passwd is outside of the folder this agent may use ({cwd}). Nothing was done. The user can allow more \
             folders with --add-dir."
        )
    );
}

#[test]
fn a_link_out_is_outside_and_the_error_says_where_it_leads() {
    let test = TestFolder::new();
    symlink("/etc", test.path("link")).unwrap();
    assert!(shown(&test, "link/passwd").starts_with("link/passwd leads to /etc/passwd and is outside"));
}

#[test]
fn a_dangling_link_out_is_outside() {
    let test = TestFolder::new();
    symlink(test.outside("nowhere"), test.path("link")).unwrap();
    assert!(is_outside(&test, "link"));
}

#[test]
fn dots_after_a_link_count_from_where_it_leads() {
    let test = TestFolder::new();
    std::fs::create_dir(test.outside("other")).unwrap();
    symlink(test.outside("other"), test.path("link")).unwrap();
    assert!(is_outside(&test, "link/../x"));
}

#[test]
fn dots_after_what_does_not_exist_are_refused() {
    assert!(
        shown(&TestFolder::new(), "missing/../x")
            .starts_with("missing/../x: cannot be resolved: the folder before .. does not exist")
    );
}

#[test]
fn a_link_inside_leads_to_the_real_file() {
    let test = TestFolder::new().with_file("real/file", "");
    symlink("real", test.path("link")).unwrap();
    assert_eq!(shown(&test, "link/file"), "real/file");
}

#[test]
fn a_circle_of_links_is_an_error() {
    let test = TestFolder::new();
    symlink("b", test.path("a")).unwrap();
    symlink("a", test.path("b")).unwrap();
    assert_eq!(shown(&test, "a"), "a: cannot be resolved: too many symbolic links");
}

#[test]
fn a_chain_of_links_may_be_as_long_as_the_system_takes_it() {
    let test = TestFolder::new().with_file("0", "");
    for link in 1..=MAX_LINKS + 1 {
        symlink((link - 1).to_string(), test.path(&link.to_string())).unwrap();
    }
    assert_eq!(shown(&test, &MAX_LINKS.to_string()), "0");
    let longer = shown(&test, &(MAX_LINKS + 1).to_string());
    assert!(longer.ends_with("cannot be resolved: too many symbolic links"), "{longer}");
}

#[test]
fn a_file_is_no_folder() {
    let test = TestFolder::new().with_file("file", "");
    let refused = shown(&test, "file/inside");
    assert!(refused.starts_with("file/inside: cannot be resolved: "), "{refused}");
}

#[test]
fn what_cannot_be_looked_at_is_not_taken_for_missing() {
    let test = TestFolder::new();
    assert!(matches!(ConfinedPath::inside(&test.context.cwd, "x").open(), Ok(Opened::Missing)));
    assert!(ConfinedPath::inside(&test.context.cwd, &"x".repeat(300)).open().is_err());
}

#[test]
fn a_working_folder_that_is_a_link_holds_what_is_in_it() {
    let mut test = TestFolder::new().with_file("file", "");
    symlink(&test.context.cwd, test.outside("door")).unwrap();
    test.context.cwd = test.outside("door");
    assert_eq!(shown(&test, "file"), "file");
}

#[test]
fn an_added_folder_is_inside_and_shown_in_full() {
    let mut test = TestFolder::new();
    let other = test.outside("other");
    write(&other.join("file"), "");
    test.context.allowed = vec![other.clone()];
    assert_eq!(shown(&test, "../other/file"), other.join("file").display().to_string());
}

#[test]
fn a_tilde_is_not_a_folder() {
    assert!(shown(&TestFolder::new(), "~/x").contains("path: starts with ~"));
}

#[test]
fn a_link_swapped_in_after_the_check_is_not_followed() {
    let test = TestFolder::new().with_file("folder/file", "inside");
    write(&test.outside("elsewhere/file"), "outside");
    let path = resolve(&test, "folder/file").unwrap();
    std::fs::remove_dir_all(test.path("folder")).unwrap();
    symlink(test.outside("elsewhere"), test.path("folder")).unwrap();
    assert!(path.open().is_err());
}

#[test]
fn a_file_swapped_for_a_link_is_not_opened() {
    let test = TestFolder::new().with_file("file", "inside");
    let path = resolve(&test, "file").unwrap();
    std::fs::remove_file(test.path("file")).unwrap();
    symlink("/etc/passwd", test.path("file")).unwrap();
    assert!(matches!(path.open(), Ok(Opened::Other)));
}
