use super::*;
use crate::tools::test_fixtures::{TestFolder, write};
use std::time::Duration;

#[test]
fn a_folder_that_only_looks_a_little_like_a_repository_is_none() {
    let is_asked_for = |files: &[&str]| {
        let test = files.iter().fold(TestFolder::new(), |test, file| test.with_file(file, ""));
        why_sensitive(&ConfinedPath::inside(&test.context.cwd, "src/a.rs"), &test.context).is_some()
    };
    assert!(is_asked_for(&["HEAD", "objects/x"]));
    assert!(is_asked_for(&["src/HEAD", "src/refs/x"]));
    assert!(!is_asked_for(&["objects/x", "refs/x"]));
    assert!(!is_asked_for(&["HEAD"]));
    assert!(!is_asked_for(&["HEAD", "src/objects/x"]));
}

/// Creates these files beside older ones. Returns the files that are then reported.
fn named(made: &[&str]) -> Vec<String> {
    let test = TestFolder::new().with_file("AGENTS.md", "x").with_file(".git/HEAD", "x").with_file("src/a.rs", "x");
    let before = test.path("AGENTS.md").metadata().unwrap();
    // The loop waits until the clock of the file system has advanced.
    while !has_changed_since(&write_and_look(&test.path("clock")), changed(&before) + Duration::from_nanos(1)) {}
    let then = changed(&test.path("clock").metadata().unwrap());
    made.iter().for_each(|name| write(&test.path(name), "y"));
    let named = instructing_since(&test.context.cwd, then).into_iter();
    let mut named: Vec<String> = named.map(|name| name.replace(std::path::MAIN_SEPARATOR, "/")).collect();
    named.sort();
    named
}

fn write_and_look(path: &Path) -> std::fs::Metadata {
    write(path, "x");
    path.metadata().unwrap()
}

#[cfg(windows)]
fn changed(metadata: &std::fs::Metadata) -> SystemTime {
    metadata.modified().unwrap()
}

#[cfg(unix)]
fn changed(metadata: &std::fs::Metadata) -> SystemTime {
    use std::os::unix::fs::MetadataExt;
    let seconds = metadata.ctime().unsigned_abs();
    let nanos = metadata.ctime_nsec().unsigned_abs();
    std::time::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanos)
}

#[test]
fn what_was_made_or_changed_and_instructs_is_named_and_nothing_else_is() {
    let plain = ["src/a.rs", "Cargo.toml", ".git/index", ".git/refs/heads/x", ".git/hooks/x.sample", "x/HEAD"];
    assert_eq!(named(&plain), Vec::<String>::new());
    for name in [
        "AGENTS.md",
        "docs/CLAUDE.md",
        ".claude/commands/x",
        ".git/commondir",
        ".git/hooks/pre-commit",
        "sub/.git/hooks/pre-commit",
        "sub/.git/config",
        "sub/.git",
        "x.instructions.md",
    ] {
        assert_eq!(named(&[name]), [name]);
    }
    assert_eq!(
        named(&["x/HEAD", "x/refs/y", "x/config", "x/sub/AGENTS.md"]),
        ["x/HEAD", "x/config", "x/sub/AGENTS.md"]
    );
}

// On Windows, only an administrator can create links.
#[cfg(unix)]
#[test]
fn a_file_that_a_link_leads_to_is_what_the_link_is() {
    use std::os::unix::fs::symlink;
    let test = TestFolder::new().with_file("docs/rules.md", "").with_file("prompts/a.md", "").with_file(".x/y", "");
    symlink("docs/rules.md", test.path("CLAUDE.md")).unwrap();
    symlink("../prompts", test.path(".x/commands")).unwrap();
    symlink("docs", test.path("manual")).unwrap();
    let why = |file: &str| why_sensitive(&ConfinedPath::inside(&test.context.cwd, file), &test.context);
    assert_eq!(why("docs/rules.md"), Some("it instructs agents"));
    assert_eq!(why("prompts/a.md"), Some("it is hidden"));
    assert_eq!(why("prompts/new.md"), Some("it is hidden"));
    assert_eq!(why("docs/other.md"), None);
}
