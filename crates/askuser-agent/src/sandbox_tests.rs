use super::*;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

/// A home with a project in it, and a sandbox that was not tested on this machine.
struct Test {
    _outer: tempfile::TempDir,
    home: PathBuf,
    sandbox: Sandbox,
}

impl Test {
    fn new(files: &[&str]) -> Test {
        let outer = tempfile::tempdir().unwrap();
        let home = outer.path().canonicalize().unwrap().join("home");
        fs::create_dir_all(home.join("project")).unwrap();
        for file in files {
            fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            fs::write(home.join(file), "").unwrap();
        }
        let sandbox = Sandbox {
            bwrap: "/usr/bin/bwrap".into(),
            settings: SandboxSettings::default(),
            home: Some(home.clone()),
            is_root: false,
            roots: vec![home.join("project")],
            private: None,
            warning: None,
            identity: vec![("user.name".into(), "Me".into())],
        };
        Test { _outer: outer, home, sandbox }
    }

    fn home(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    fn mounts(&self, reach: Reach) -> Vec<Mount> {
        self.sandbox.mounts(reach).unwrap()
    }

    fn words(&self, reach: Reach) -> String {
        let words = self.sandbox.build(reach).unwrap().spawn(Ok).unwrap();
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the mounts that keep commands from changing git's files.
    fn read_only(&self) -> Result<Vec<Mount>, String> {
        git::read_only(&self.sandbox.roots, Some(&self.home))
    }

    fn git(&self, words: &[&str]) {
        let mut git = programs::command("git").unwrap();
        git.current_dir(self.home("project")).env("HOME", &self.home).args(words);
        assert!(git.output().unwrap().status.success(), "{words:?}");
    }
}

#[test]
fn each_reach_has_the_namespaces_and_capabilities_that_it_says() {
    let test = Test::new(&[]);
    for (reach, has, lacks) in [
        (
            Reach::Look,
            "--unshare-net --unshare-user --unshare-pid --cap-drop~ALL --ro-bind~/ --seccomp",
            "CAP_SYS_ADMIN --dev-bind",
        ),
        (
            Reach::Folder,
            "--unshare-net --unshare-user --unshare-pid --cap-drop~ALL --ro-bind~/ --seccomp",
            "CAP_SYS_ADMIN --dev-bind",
        ),
        (
            Reach::Network,
            "--unshare-user --unshare-pid --cap-drop~ALL --ro-bind~/ --seccomp",
            "--unshare-net --dev-bind",
        ),
        (
            Reach::Outside,
            "--unshare-pid --dev-bind~/~/ --die-with-parent",
            "--unshare-net --unshare-user --ro-bind~/~/ --cap-drop --tmpfs --seccomp",
        ),
    ] {
        let words = test.words(reach);
        has.split(' ')
            .for_each(|word| assert!(words.contains(&word.replace('~', " ")), "{reach:?}: {word} in {words}"));
        lacks
            .split(' ')
            .for_each(|word| assert!(!words.contains(&word.replace('~', " ")), "{reach:?}: {word} in {words}"));
    }
}

#[test]
fn root_can_write_no_setting_of_the_kernel() {
    let mut test = Test::new(&[]);
    assert!(!test.words(Reach::Folder).contains("--remount-ro"));
    test.sandbox.is_root = true;
    assert!(test.words(Reach::Folder).contains("--proc /proc --remount-ro /proc"));
    assert!(test.mounts(Reach::Folder).contains(&Mount::EmptyFile("/etc/shadow".into())));
}

#[test]
fn git_is_read_only_as_a_whole_in_a_folder_to_write() {
    let test = Test::new(&["project/.git/config", "project/.git/hooks/x", "project/.git/HEAD"]);
    let mounts = test.mounts(Reach::Folder);
    let expected = [Mount::write(test.home("project")), Mount::read(test.home("project/.git"))];
    assert_eq!(mounts[mounts.len() - 2..], expected);
    let looking = test.mounts(Reach::Look);
    assert_eq!(looking.last(), Some(&Mount::read(test.home("project"))));
    assert!(!format!("{looking:?}").contains("Write"), "{looking:?}");
}

#[test]
fn what_a_link_of_git_leads_to_is_read_only() {
    let test =
        Test::new(&["project/.git/HEAD", "project/.git/hooks/x", "project/tools/git/hook", "project/config", "x/y"]);
    symlink("../../tools/git/hook", test.home("project/.git/hooks/pre-commit")).unwrap();
    symlink("../config", test.home("project/.git/config")).unwrap();
    symlink(test.home("x"), test.home("project/.git/info")).unwrap();
    let expected = [
        Mount::read(test.home("project/.git")),
        Mount::read(test.home("project/config")),
        Mount::write(test.home("project/tools")),
        Mount::write(test.home("project/tools/git")),
        Mount::read(test.home("project/tools/git/hook")),
    ];
    assert_eq!(test.read_only().unwrap(), expected);
}

#[test]
fn a_link_that_a_command_could_change_is_refused() {
    let test = Test::new(&["project/real/config", "project/a/hooks/x"]);
    symlink("real", test.home("project/.git")).unwrap();
    let refused = test.read_only().unwrap_err();
    assert!(refused.ends_with("project/.git is a link, which a command could change"), "{refused}");
    fs::remove_file(test.home("project/.git")).unwrap();
    fs::create_dir(test.home("project/.git")).unwrap();
    symlink("a", test.home("project/b")).unwrap();
    symlink("../b/hooks", test.home("project/.git/hooks")).unwrap();
    let refused = test.read_only().unwrap_err();
    assert!(refused.ends_with("project/b is a link, which a command could change"), "{refused}");
    fs::remove_file(test.home("project/.git/hooks")).unwrap();
    symlink("../absent", test.home("project/.git/hooks")).unwrap();
    let refused = test.read_only().unwrap_err();
    assert!(refused.ends_with("hooks leads to what is not there: a command could make it"), "{refused}");
}

#[test]
fn what_the_configuration_of_git_names_is_read_only() {
    let test =
        Test::new(&["project/.husky/_/pre-commit", "project/team.gitconfig", "project/bin/filter", "project/README"]);
    test.git(&["init", "-q"]);
    let set = |key: &str, value: &str| test.git(&["config", key, value]);
    set("core.hooksPath", ".husky/_");
    set("include.path", "../team.gitconfig");
    set("filter.x.clean", "python3 'bin/filter' %f");
    set("alias.x", "!git log origin/main");
    let expected = [
        Mount::read(test.home("project/.git")),
        Mount::write(test.home("project/.husky")),
        Mount::read(test.home("project/.husky/_")),
        Mount::write(test.home("project/bin")),
        Mount::read(test.home("project/bin/filter")),
        Mount::read(test.home("project/team.gitconfig")),
    ];
    assert_eq!(test.read_only().unwrap(), expected);
    set("core.hooksPath", "new/hooks");
    set("include.path", "../absent");
    let mounts = test.read_only().unwrap();
    assert!(mounts.contains(&Mount::EmptyFolder(test.home("project/new"))), "{mounts:?}");
    assert!(mounts.contains(&Mount::EmptyFile(test.home("project/absent"))), "{mounts:?}");
    set("core.hooksPath", ".");
    let refused = test.read_only().unwrap_err();
    assert!(refused.ends_with("home/project, which commands can write"), "{refused}");
}

#[test]
fn a_repository_that_a_file_names_is_read_only() {
    let test = Test::new(&["project/.bare/HEAD", "project/.bare/hooks/x"]);
    fs::write(test.home("project/.git"), "gitdir: .bare\n").unwrap();
    let expected = [Mount::read(test.home("project/.bare")), Mount::read(test.home("project/.git"))];
    assert_eq!(test.read_only().unwrap(), expected);
}

#[test]
fn of_a_toolchain_only_the_parts_that_run_are_there() {
    let test = Test::new(&[
        ".cargo/bin/cargo",
        ".cargo/registry/x",
        ".cargo/credentials.toml",
        ".local/share/uv/credentials/credentials.toml",
        ".local/share/uv/tools/x",
        ".local/bin/x",
        ".ssh/id_rsa",
    ]);
    symlink(test.home(".ssh/id_rsa"), test.home(".cargo/credentials")).unwrap();
    let mounts = test.mounts(Reach::Folder);
    let at = |mount: Mount| {
        mounts.iter().position(|other| *other == mount).unwrap_or_else(|| panic!("{mount:?}: {mounts:?}"))
    };
    let home = at(Mount::EmptyFolder(test.home.clone()));
    let project = at(Mount::write(test.home("project")));
    for part in [".cargo/bin", ".cargo/registry", ".local/share/uv/tools", ".local/bin"] {
        assert!((home..project).contains(&at(Mount::read(test.home(part)))), "{part}");
    }
    let all = format!("{mounts:?}");
    assert!(!all.contains(".ssh") && !all.contains("credentials"), "{all}");
}

#[test]
fn a_linked_toolchain_is_there_in_parts_at_both_places() {
    let outer = tempfile::tempdir_in("/dev/shm").unwrap();
    let test = Test::new(&[]);
    let real = outer.path().canonicalize().unwrap();
    fs::create_dir(real.join("bin")).unwrap();
    symlink(&real, test.home(".cargo")).unwrap();
    let mounts = test.mounts(Reach::Folder);
    let bin = real.join("bin");
    let linked = Mount::Bind { source: bin.clone(), at: test.home(".cargo/bin"), access: Access::Read };
    for expected in [Mount::EmptyFolder(real.clone()), Mount::read(bin), linked] {
        assert!(mounts.contains(&expected), "{expected:?}: {mounts:?}");
    }
}

#[test]
fn outside_the_sandbox_nothing_is_hidden() {
    let mut test = Test::new(&[]);
    test.sandbox.settings.kept = vec!["/etc/hostname".into(), test.home("state")];
    assert!(test.words(Reach::Folder).contains(" /etc/hostname "));
    let words = test.words(Reach::Outside);
    assert!(!words.contains("hostname") && !words.contains("state"), "{words}");
}

#[test]
fn a_folder_with_what_askuser_keeps_is_refused() {
    let test = Test::new(&[".local/state/askuser/x/y", ".config/askuser/askuser.toml"]);
    let kept = [test.home(".local/state/askuser"), test.home(".config/askuser/askuser.toml")];
    let all = kept.clone();
    let check = |folder: &Path| check_folders(&[folder.to_owned()], Some(&test.home), &kept);
    for folder in [Path::new("/"), test.home.parent().unwrap(), &test.home] {
        let shown = folder.display();
        let expected = format!("{shown} is or contains your home; begin in a folder of the project");
        assert_eq!(check(folder), Err(expected));
    }
    symlink(test.home(".local"), test.home("linked")).unwrap();
    for (folder, kept) in
        [(".local", 0), (".local/state/askuser", 0), (".local/state/askuser/x", 0), ("linked", 0), (".config", 1)]
    {
        let refused = check(&test.home(folder)).unwrap_err();
        let expected = format!("{} of askuser in it, which commands must not reach", all[kept].display());
        assert!(refused.ends_with(&expected), "{refused}");
    }
    assert_eq!(check(&test.home("project")), Ok(()));
    assert!(check_folders(&["/".into()], None, &[]).is_err());
}

#[test]
fn git_reads_the_repository_around_the_folder_and_the_one_it_is_a_tree_of_and_no_other() {
    let test = Test::new(&["project/.git/HEAD", "project/sub/x", "main/.git/worktrees/tree/HEAD", "tree/x", "lie/x"]);
    let home = test.sandbox.home.as_deref();
    let repository = |folder: &Path, home: Option<&Path>| git::around(&[folder.to_owned()], home);
    assert_eq!(repository(&test.home("project/sub"), home), Some(test.home("project")));
    assert_eq!(repository(&test.home("project"), home), None);
    let tree = test.home("main/.git/worktrees/tree");
    fs::write(tree.join("gitdir"), format!("{}\n", test.home("tree/.git").display())).unwrap();
    for (folder, expected) in [("tree", Some(test.home("main/.git"))), ("lie", None)] {
        fs::write(test.home(folder).join(".git"), format!("gitdir: {}\n", tree.display())).unwrap();
        assert_eq!(repository(&test.home(folder), home), expected, "{folder}");
    }
    // The project `liar` claims that the home is its repository.
    let liar = test.home("worktrees/liar");
    fs::create_dir_all(&liar).unwrap();
    fs::write(liar.join("gitdir"), liar.join(".git").display().to_string()).unwrap();
    fs::write(liar.join(".git"), format!("gitdir: {}", liar.display())).unwrap();
    assert_eq!(repository(&liar, home), None);
    fs::write(test.home(".git"), "").unwrap();
    assert_eq!(repository(&test.home("main"), home), None, "a repository around the home would bring the home");
}

#[test]
fn a_socket_is_found_however_a_variable_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let shown = path.display();
    for value in
        [format!("{shown}"), format!("unix:path={shown},guid=1"), format!("unix://{shown}"), format!("{shown},1,0")]
    {
        assert_eq!(socket(OsStr::new(&value)), Some(path.clone()), "{value}");
    }
    assert_eq!(socket(folder.path().as_os_str()), None);
    assert_eq!(socket(OsStr::new("no path")), None);
}

#[test]
fn what_earlier_sessions_left_in_tmp_goes_once_nobody_uses_it() {
    let caches = tempfile::tempdir().unwrap();
    let private = Private::of(caches.path(), Path::new("/project")).unwrap();
    let left = private.folder.join("tmp/x");
    let cached = private.folder.join("cache/x");
    [&left, &cached].into_iter().for_each(|file| fs::write(file, "").unwrap());
    let beside = Private::of(caches.path(), Path::new("/project")).unwrap();
    assert!(left.exists(), "another session uses it");
    drop((private, beside));
    Private::of(caches.path(), Path::new("/project")).unwrap();
    assert!(!left.exists() && cached.exists());
}

#[test]
fn caches_that_commands_can_write_are_not_used() {
    let outer = tempfile::tempdir_in("/dev/shm").unwrap();
    let settings = SandboxSettings { caches: Some(outer.path().join("cache")), ..SandboxSettings::default() };
    // On a machine without bubblewrap there is no sandbox to test.
    let Ok(sandbox) = Sandbox::new(settings, outer.path(), &[]) else { return };
    assert!(sandbox.private.is_none() && sandbox.warning().unwrap().contains("each gets an empty /tmp and no caches"));
    assert!(sandbox.mounts(Reach::Folder).unwrap().contains(&Mount::EmptyFolder("/tmp".into())));
    assert!(!outer.path().join("cache").exists());
}

#[test]
fn what_became_a_link_after_it_was_checked_is_not_mounted() {
    let test = Test::new(&["other/x"]);
    assert!(test.sandbox.build(Reach::Folder).is_ok());
    fs::rename(test.home("project"), test.home("moved")).unwrap();
    symlink("other", test.home("project")).unwrap();
    let refused = test.sandbox.build(Reach::Folder).unwrap_err();
    assert!(refused.contains("home/project cannot be mounted: Too many levels of symbolic links"), "{refused}");
}
