use super::*;
use crate::tools::fixtures::{TestFolder, write};
use std::os::unix::fs::symlink;

/// What `git init` leaves.
const CONFIG: &str =
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

fn with_repository(folder: &Path, config: &str) {
    write(&folder.join(".git/HEAD"), "ref: refs/heads/main\n");
    write(&folder.join(".git/config"), config);
    std::fs::create_dir_all(folder.join(".git/objects")).unwrap();
    std::fs::create_dir_all(folder.join(".git/refs")).unwrap();
}

fn is_let_through(test: &TestFolder, command: &str) -> bool {
    !prefixes(command, &test.context).matching.is_empty()
}

#[test]
fn a_repository_whose_settings_run_a_program_gets_past_no_rule() {
    for (settings, harmless) in [
        ("", true),
        ("[remote \"origin\"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", true),
        ("[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\tvscode-merge-base = origin/main\n", true),
        ("; a word\n[User]\n\tname = A B # me\n\temail=a@b\n[pull]\nrebase\n", true),
        ("[core]\n\thooksPath = .husky/_\n", true),
        // Nothing that a rule lets through uses an alias or an editor.
        (
            "[alias]\n\tst = status\n\tdiff = !touch pwned\n[core]\n\teditor = touch pwned\n\tsparseCheckout = true\n",
            true,
        ),
        ("[diff]\n\texternal = touch pwned\n", false),
        ("[core]\n\tfsmonitor = ./x\n", false),
        ("[core]\n\tFSMonitor = ./x\n", false),
        ("[core]fsmonitor = ./x\n", false),
        ("[core]\rfsmonitor = ./x\n", false),
        ("[core]\n\tabbrev = 7\\\n[core]\n\tfsmonitor = ./x\n", false),
        ("[diff \"x\"]\n\ttextconv = touch pwned\n", false),
        ("[filter \"x\"]\n\tclean = touch pwned\n", false),
        ("[include]\n\tpath = x\n", false),
        ("[includeIf \"gitdir:/\"]\n\tpath = x\n", false),
        ("[diff \"a\"]\n\talgorithm = x\n", false),
        ("[pager]\n\tdiff = touch pwned\n", false),
        ("[remote \"origin\"]\n\tuploadpack = x\n", false),
        ("[remote \"origin\"]\n\tpromisor = true\n", false),
        ("[core]\n\thooksPath = ~/hooks\n", false),
        ("[core \"x]\n\tbare = y\n", false),
        ("[core.x]\n\tbare = y\n", false),
        ("\tbare = y\n\u{feff}\n", false),
        ("what is this\n", false),
    ] {
        let test = TestFolder::new();
        with_repository(&test.context.cwd, &format!("{CONFIG}{settings}"));
        for command in ["git diff", "git status -s", "gh pr view 1", "go list ./..."] {
            assert_eq!(is_let_through(&test, command), harmless, "{command} with {settings:?}");
        }
        assert!(is_let_through(&test, "ls -l"), "{settings:?}");
    }
}

#[test]
fn a_repository_made_by_git_is_harmless() {
    let test = TestFolder::new().with_file("a.txt", "x");
    let git = |words: &[&str]| {
        let ran = std::process::Command::new("git").args(words).current_dir(&test.context.cwd).output().unwrap();
        assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["remote", "add", "origin", "https://example.org/a.git"]);
    git(&["config", "user.name", "A"]);
    git(&["config", "user.email", "a@b"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "x"]);
    assert!(is_let_through(&test, "git diff --stat"));
    git(&["worktree", "add", "-q", "-b", "b", "further"]);
    let mut further = TestFolder::new();
    further.context.cwd = test.path("further");
    assert!(is_let_through(&further, "git diff --stat"));
    git(&["config", "core.fsmonitor", "./x"]);
    assert!(!is_let_through(&further, "git diff --stat"));
    git(&["config", "--unset", "core.fsmonitor"]);
    // A submodule has settings of its own, and git looks at it with the rest.
    git(&["update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,sub"]);
    assert!(!is_let_through(&test, "git status"));
}

#[test]
fn a_repository_that_cannot_be_read_or_has_a_hook_for_looking_gets_past_no_rule() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 9] = [
        ("a hook", |git| write(&git.join("hooks/post-index-change"), "x")),
        ("a link to a hook", |git| {
            std::fs::create_dir(git.join("hooks")).unwrap();
            symlink("nowhere", git.join("hooks/post-index-change")).unwrap();
        }),
        ("a hook elsewhere", |git| {
            write(&git.join("config"), "[core]\nhooksPath = hooks\n");
            write(&git.parent().unwrap().join("hooks/post-index-change"), "x");
        }),
        ("settings of the working folder", |git| write(&git.join("config.worktree"), "[core]\nfsmonitor = x\n")),
        ("a link for settings", |git| {
            std::fs::rename(git.join("config"), git.join("real")).unwrap();
            symlink("real", git.join("config")).unwrap();
        }),
        ("a pipe for settings", |git| {
            std::fs::remove_file(git.join("config")).unwrap();
            rustix::fs::mkfifoat(rustix::fs::CWD, git.join("config"), rustix::fs::Mode::RUSR).unwrap();
        }),
        ("settings elsewhere", |git| write(&git.join("commondir"), "../other\n")),
        ("no repository for git", |git| write(&git.join("HEAD"), "x")),
        ("an index in two parts", |git| write(&git.join("sharedindex.0123"), "x")),
    ];
    for (what, change) in changes {
        let test = TestFolder::new();
        with_repository(&test.context.cwd, CONFIG);
        assert!(is_let_through(&test, "git status"), "before {what}");
        change(&test.path(".git"));
        assert!(!is_let_through(&test, "git status"), "{what}");
    }
    let test = TestFolder::new().with_file("HEAD", "x").with_file("objects/x", "").with_file("refs/x", "");
    assert!(!is_let_through(&test, "git status"), "a bare one");
}

#[test]
fn in_a_subfolder_no_rule_reaches_what_is_above() {
    let mut test = TestFolder::new().with_file("sub/a.txt", "x").with_file("secret.txt", "x");
    with_repository(&test.context.cwd, CONFIG);
    for command in ["git show HEAD:a.txt", "git diff", "git log -p", "git add -A"] {
        assert!(is_let_through(&test, command), "{command} in the root");
    }
    test.context.cwd = test.path("sub");
    for command in [
        "git show HEAD:secret.txt",
        "git show HEAD",
        "git log -p",
        "git diff",
        "git diff ':(top)secret.txt'",
        "git grep TOP ':(top)'",
        "git grep TOP :/",
        "git blame HEAD:secret.txt",
        "git add ':(top)secret.txt'",
        "git add -A",
        "git status -v",
    ] {
        assert!(!is_let_through(&test, command), "{command}");
    }
    for command in ["git status -sb", "git grep -n x -- a.txt", "git blame a.txt", "git ls-files"] {
        assert!(is_let_through(&test, command), "{command}");
    }
    test.context.allowed = vec![test.context.cwd.parent().unwrap().to_owned()];
    assert!(is_let_through(&test, "git diff"));
}

#[test]
fn a_link_that_leads_out_of_the_folder_gets_past_no_rule() {
    let mut test = TestFolder::new().with_file("a.txt", "x").with_file("origin", "x");
    write(&test.outside("out/x"), "x");
    symlink(test.outside("out"), test.path("lnk")).unwrap();
    symlink("a.txt", test.path("inner")).unwrap();
    for command in [
        "git diff a.txt lnk/passwd",
        "wc lnk/passwd",
        "wc lnk",
        "cat lnk/x",
        "ls --color=lnk/x",
        "ls lnk",
        "git log -L 1,2:lnk/x",
    ] {
        assert!(!is_let_through(&test, command), "{command}");
    }
    for command in ["wc inner", "git log origin/main", "cat a.txt not-there/yet", "git grep -n ':'"] {
        assert!(is_let_through(&test, command), "{command}");
    }
    test.context.allowed = vec![test.outside("out")];
    assert!(is_let_through(&test, "wc lnk/x"));
}

#[test]
fn a_path_of_the_folder_is_let_through_however_it_is_written() {
    let test = TestFolder::new().with_file("src/a.rs", "x").with_file("b.rs", "x");
    let folder = std::path::absolute(&test.context.cwd).unwrap();
    let full = |command: &str| command.replace("FOLDER", &folder.display().to_string());
    for command in ["cat FOLDER/src/a.rs", "ls FOLDER", "cat src/../b.rs", "grep -rn main FOLDER/src"] {
        let found = prefixes(&full(command), &test.context);
        assert_eq!(found.offered.as_deref(), command.split(' ').next(), "{command}");
    }
    for command in
        ["cat FOLDER/../x", "cat /etc/passwd", "cat ../x", "cat src/../../x", "FOLDER/ls", "ls --x=FOLDER/a/../b"]
    {
        assert!(!is_let_through(&test, &full(command)), "{command}");
    }
    // What looks like a path is still an option.
    for command in ["sort --compress-program=./x/../y b.rs", "find . -exec/../x"] {
        assert!(!is_let_through(&test, command), "{command}");
    }
}

#[test]
fn a_folder_that_was_added_is_inside() {
    let mut test = TestFolder::new();
    let added = tempfile::tempdir().unwrap();
    write(&added.path().join("a.rs"), "x");
    let command = format!("cat {}/a.rs", added.path().display());
    assert!(!is_let_through(&test, &command));
    test.context.allowed = vec![added.path().to_owned()];
    assert!(is_let_through(&test, &command));
}
