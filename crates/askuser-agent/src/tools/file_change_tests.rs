use super::*;
use crate::tools::Write;
use crate::tools::test_fixtures::TestFolder;
use askuser::verbatim::Charset;

fn consent(test: &TestFolder, path: &str, content: &str) -> Result<Consent, ToolResult> {
    test.consent(&Write, json!({"path": path, "content": content}))
}

// Windows has no file modes.
#[cfg(unix)]
#[test]
fn what_is_hidden_executable_version_controls_or_instructs_an_agent_is_asked_about_one_by_one() {
    use std::os::unix::fs::PermissionsExt;
    let test = TestFolder::new().with_file("tool", "x");
    std::fs::set_permissions(test.path("tool"), std::fs::Permissions::from_mode(0o755)).unwrap();
    for (path, why) in [
        (".git/hooks/pre-commit", "version control reads it"),
        ("sub/.git/config", "version control reads it"),
        (".hg/hgrc", "version control reads it"),
        ("HEAD", "version control reads it"),
        ("x/commondir", "version control reads it"),
        ("AGENTS.md", "it instructs agents"),
        ("docs/CLAUDE.md", "it instructs agents"),
        ("askuser.toml", "it instructs agents"),
        ("prompts/x.prompt.md", "it instructs agents"),
        (".claude/settings.json", "it instructs agents"),
        ("opencode.jsonc", "it instructs agents"),
        ("kilo.json", "it instructs agents"),
        ("knowledge.md", "it instructs agents"),
        ("AGENT.md", "it instructs agents"),
        ("WARP.md", "it instructs agents"),
        ("replit.md", "it instructs agents"),
        ("firebender.json", "it instructs agents"),
        ("kilo.jsonc", "it instructs agents"),
        (".kilo/command/x", "it instructs agents"),
        (".bashrc", "it is hidden"),
        (".github/workflows/ci.yml", "it is hidden"),
        ("a/.hidden/b", "it is hidden"),
        ("tool", "it is executable"),
    ] {
        let consent = consent(&test, path, "y").unwrap();
        assert_eq!((consent.rule, consent.because.as_deref()), (single(&test, path), Some(why)));
        assert_eq!(consent.always, format!("Write {path} without asking"));
        if path != "tool" {
            check_sensitive(&test, path);
        }
    }
}

/// Returns the rule that allows only this file.
#[cfg(unix)]
fn single(test: &TestFolder, path: &str) -> PermissionRule {
    PermissionRule::File { tool: "Write".into(), path: test.path(path).display().to_string() }
}

/// Asserts that an edit of this path needs its own permission. So does a path in a subfolder or in upper case, because
/// some file systems ignore case.
#[cfg(unix)]
#[track_caller]
fn check_sensitive(test: &TestFolder, path: &str) {
    for path in [path.to_owned(), format!("sub/folder/{path}"), path.to_uppercase()] {
        let consent = consent(test, &path, "x").unwrap();
        assert_eq!(consent.rule, single(test, &path));
    }
}

#[test]
fn where_permissions_are_kept_every_change_is_asked_for_wherever_that_is() {
    let mut test = TestFolder::new();
    test.context.protected = vec![test.path("somewhere/askuser")];
    assert!(!consent(&test, "somewhere/askuser/allowed.json", "{}").unwrap().rule.is_for_edits());
    assert!(consent(&test, "somewhere/else.json", "{}").unwrap().rule.is_for_edits());
}

#[test]
fn a_hook_in_a_bare_repository_is_asked_for() {
    let test = TestFolder::new().with_file("bare/HEAD", "ref: refs/heads/main").with_file("bare/objects/x", "");
    assert!(!consent(&test, "bare/hooks/common", "x").unwrap().rule.is_for_edits());
    assert!(consent(&test, "hooks/common", "x").unwrap().rule.is_for_edits());
}

#[test]
fn a_working_folder_below_a_hidden_one_is_an_ordinary_folder() {
    let mut test = TestFolder::new();
    test.context.cwd = test.path(".worktrees/one");
    std::fs::create_dir_all(&test.context.cwd).unwrap();
    assert!(consent(&test, "src/main.rs", "x").unwrap().rule.is_for_edits());
    assert!(!consent(&test, ".env", "x").unwrap().rule.is_for_edits());
}

#[test]
fn names_that_only_look_sensitive_are_not() {
    let test = TestFolder::new();
    for path in [
        "gitignore",
        "github/workflows/readme.md",
        "config/routes.rb",
        "docs/askuser.toml.md",
        "src/hooks/x.ts",
        "src/bin/main.rs",
        "src/file.rs",
        "src/profile.py",
        "data/users.json",
        "README.md",
        "docs/CHANGELOG.md",
        "src/config.rs",
        "notes.txt",
        "scripts/new.sh",
        "Cargo.toml",
        "package.json",
        "Makefile",
        "setup.py",
        "overhead",
    ] {
        assert!(consent(&test, path, "x").unwrap().rule.is_for_edits(), "{path}");
    }
}

#[test]
#[cfg_attr(windows, ignore = "the folder of the test is spelled in another way there")]
fn always_in_an_added_folder_is_for_that_folder() {
    let mut test = TestFolder::new();
    let other = test.outside("other");
    std::fs::create_dir(&other).unwrap();
    test.context.allowed = vec![other.clone()];
    let consent = consent(&test, other.join("x").to_str().unwrap(), "x").unwrap();
    assert_eq!(consent.rule, PermissionRule::EditsIn(other.display().to_string()));
    assert_eq!(consent.always, format!("Change files in {} without asking", other.display()));
}

#[test]
fn a_change_between_control_characters_is_seen() {
    let old = "one\u{9d}\ntwo\nthree\u{9c}\n";
    let test = TestFolder::new().with_file("a", old);
    let consent = consent(&test, "a", &old.replace("two", "2")).unwrap();
    let shown = consent.context.shown(Charset::Utf8).into_owned();
    assert!(shown.ends_with(" one<U+009D>\n-two\n+2\n three<U+009C>"), "{shown}");
}

#[test]
fn a_path_that_cannot_be_shown_is_refused() {
    let refused = consent(&TestFolder::new(), "main\u{200b}.rs", "x").unwrap_err();
    let expected = "Invalid Write input; nothing was done. path: has characters that cannot be shown, must be readable to \
                    the user";
    assert_eq!(refused, ToolResult::error(expected));
}

#[test]
fn a_file_that_is_too_large_is_not_changed() {
    let test = TestFolder::new().with_file("large", "x");
    std::fs::File::options().write(true).open(test.path("large")).unwrap().set_len(MAX_FILE + 1).unwrap();
    let expected = "large has 10000001 bytes, at most 10000000 can be changed; nothing was done.";
    assert_eq!(consent(&test, "large", "x"), Err(ToolResult::error(expected)));
}

/// Returns the question about a new file with this content, and the text that the person sees.
fn asked(content: &str) -> (String, String) {
    let consent = consent(&TestFolder::new(), "long.txt", content).unwrap();
    (consent.question, consent.context.text().into_owned())
}

#[test]
fn a_change_is_shown_whole_however_long_it_is() {
    let content = format!("{}\n{}end\n", "x".repeat(300_000), "line\n".repeat(100_000));
    let (question, context) = asked(&content);
    assert_eq!(question, "Create long.txt (+100002)?");
    let shown: String = context.lines().skip(3).map(|line| format!("{}\n", line.strip_prefix('+').unwrap())).collect();
    assert!(shown == content, "the diff is not the whole content");
}

#[test]
fn a_change_that_is_too_long_to_be_shown_is_made_in_no_mode() {
    let old: String = (0..900_000).map(|n| format!("{n:09}\n")).collect();
    let test = TestFolder::new().with_file("large", old);
    let refused = consent(&test, "large", "x").unwrap_err().output;
    let expected =
        "the diff of large has 9900074 bytes, at most 4000000 can be shown; nothing was done. Make smaller changes.";
    assert_eq!(refused, expected);
}
