use super::*;
use crate::tools::Read;
use crate::tools::fixtures::{Desk, call, write};
use serde_json::json;
use std::os::unix::fs::symlink;

fn place(desk: &Desk, given: &str) -> Result<Place, ToolResult> {
    Place::of(&call(&Read, json!({})), given, &desk.context)
}

/// What a path leads to, as it is shown.
fn shown(desk: &Desk, given: &str) -> String {
    place(desk, given).map_or_else(|refused| refused.output, |place| place.shown())
}

fn is_outside(desk: &Desk, given: &str) -> bool {
    place(desk, given).is_err_and(|refused| refused.output.contains("is outside of the folder this agent may use"))
}

#[test]
fn a_relative_path_is_in_the_working_folder() {
    let desk = Desk::new();
    let expected = Place { root: desk.context.cwd.clone(), inner: "src/main.rs".into(), home: Home::Here };
    assert_eq!(place(&desk, "src/main.rs").unwrap(), expected);
}

#[test]
fn an_absolute_path_inside_is_shown_relative() {
    let desk = Desk::new().with_file("src/x/file", "");
    assert_eq!(shown(&desk, desk.path("src/./x/../main.rs").to_str().unwrap()), "src/main.rs");
}

#[test]
fn the_working_folder_is_a_place() {
    assert_eq!(shown(&Desk::new(), "."), ".");
}

#[test]
fn dots_do_not_lead_out() {
    let desk = Desk::new();
    assert!(is_outside(&desk, "../secret"));
    assert!(is_outside(&desk, ".."));
    assert!(is_outside(&desk, "/etc/passwd"));
}

#[test]
fn a_neighbour_whose_name_begins_alike_is_outside() {
    let desk = Desk::new();
    assert!(is_outside(&desk, desk.outside("workshop/file").to_str().unwrap()));
}

#[test]
fn the_error_names_the_path_the_folder_and_the_way_to_allow_more() {
    let desk = Desk::new();
    let cwd = desk.context.cwd.display();
    assert_eq!(
        shown(&desk, "/etc/passwd"),
        format!(
            "/etc/passwd is outside of the folder this agent may use ({cwd}). Nothing was done. The user can allow more \
             folders with --add-dir."
        )
    );
}

#[test]
fn a_link_out_is_outside_and_the_error_says_where_it_leads() {
    let desk = Desk::new();
    symlink("/etc", desk.path("link")).unwrap();
    assert!(shown(&desk, "link/passwd").starts_with("link/passwd leads to /etc/passwd and is outside"));
}

#[test]
fn a_dangling_link_out_is_outside() {
    let desk = Desk::new();
    symlink(desk.outside("nowhere"), desk.path("link")).unwrap();
    assert!(is_outside(&desk, "link"));
}

#[test]
fn dots_after_a_link_count_from_where_it_leads() {
    let desk = Desk::new();
    std::fs::create_dir(desk.outside("other")).unwrap();
    symlink(desk.outside("other"), desk.path("link")).unwrap();
    assert!(is_outside(&desk, "link/../x"));
}

#[test]
fn dots_after_what_does_not_exist_are_refused() {
    assert!(
        shown(&Desk::new(), "missing/../x")
            .starts_with("missing/../x: cannot be resolved: a folder before .. does not exist")
    );
}

#[test]
fn a_link_inside_leads_to_the_real_file() {
    let desk = Desk::new().with_file("real/file", "");
    symlink("real", desk.path("link")).unwrap();
    assert_eq!(shown(&desk, "link/file"), "real/file");
}

#[test]
fn a_circle_of_links_is_an_error() {
    let desk = Desk::new();
    symlink("b", desk.path("a")).unwrap();
    symlink("a", desk.path("b")).unwrap();
    assert_eq!(shown(&desk, "a"), "a: cannot be resolved: too many links");
}

#[test]
fn a_working_folder_that_is_a_link_holds_what_is_in_it() {
    let mut desk = Desk::new().with_file("file", "");
    symlink(&desk.context.cwd, desk.outside("door")).unwrap();
    desk.context.cwd = desk.outside("door");
    assert_eq!(shown(&desk, "file"), "file");
}

#[test]
fn an_added_folder_is_inside_and_shown_in_full() {
    let mut desk = Desk::new();
    let other = desk.outside("other");
    write(&other.join("file"), "");
    desk.context.allowed = vec![other.clone()];
    assert_eq!(shown(&desk, "../other/file"), other.join("file").display().to_string());
}

#[test]
fn a_tilde_is_not_a_folder() {
    assert!(shown(&Desk::new(), "~/x").contains("path: starts with ~"));
}

#[test]
fn a_link_swapped_in_after_the_check_is_not_followed() {
    let desk = Desk::new().with_file("folder/file", "inside");
    write(&desk.outside("elsewhere/file"), "outside");
    let place = place(&desk, "folder/file").unwrap();
    std::fs::remove_dir_all(desk.path("folder")).unwrap();
    symlink(desk.outside("elsewhere"), desk.path("folder")).unwrap();
    assert!(place.thing().is_err());
}

#[test]
fn a_file_swapped_for_a_link_is_not_opened() {
    let desk = Desk::new().with_file("file", "inside");
    let place = place(&desk, "file").unwrap();
    std::fs::remove_file(desk.path("file")).unwrap();
    symlink("/etc/passwd", desk.path("file")).unwrap();
    assert!(matches!(place.thing(), Ok(Thing::Other)));
}
