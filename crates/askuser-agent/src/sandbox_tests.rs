use super::*;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

/// A home with a project in it, and a sandbox that has not been tried.
struct Test {
    outer: tempfile::TempDir,
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
            settings: SandboxSettings { hidden: vec![home.join("state")], ..SandboxSettings::default() },
            home: Some(home),
            is_root: false,
            private: None,
            identity: vec![("user.name".into(), "Me".into())],
        };
        Test { outer, sandbox }
    }

    fn home(&self, name: &str) -> PathBuf {
        self.outer.path().canonicalize().unwrap().join("home").join(name)
    }

    fn mounts(&self, reach: Reach) -> Vec<Mount> {
        self.sandbox.mounts(reach, &self.home("project"), &[])
    }

    fn words(&self, reach: Reach) -> String {
        let words = self.sandbox.words(reach, &self.home("project"), &[]);
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn each_reach_has_the_namespaces_and_capabilities_that_it_says() {
    let test = Test::new(&[]);
    for (reach, has, lacks) in [
        (
            Reach::Look,
            "--unshare-net --unshare-user --unshare-pid --cap-drop~ALL --ro-bind~/",
            "CAP_SYS_ADMIN --dev-bind",
        ),
        (
            Reach::Folder,
            "--unshare-net --unshare-user --unshare-pid --cap-drop~ALL --ro-bind~/",
            "CAP_SYS_ADMIN --dev-bind",
        ),
        (Reach::Network, "--unshare-user --unshare-pid --cap-drop~ALL --ro-bind~/", "--unshare-net --dev-bind"),
        (
            Reach::Outside,
            "--unshare-pid --dev-bind~/~/ --die-with-parent",
            "--unshare-net --unshare-user --ro-bind~/~/",
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
fn root_can_write_no_setting_of_the_kernel_and_uncover_nothing() {
    let mut test = Test::new(&[]);
    assert!(!test.words(Reach::Folder).contains("--remount-ro"));
    test.sandbox.is_root = true;
    assert!(test.words(Reach::Folder).contains("--proc /proc --remount-ro /proc"));
    assert!(test.words(Reach::Outside).contains("--cap-drop CAP_SYS_ADMIN"));
    assert!(test.mounts(Reach::Folder).contains(&Mount::Empty("/etc/shadow".into())));
}

#[test]
fn the_folder_can_be_written_and_what_instructs_git_in_it_cannot() {
    let test = Test::new(&["project/.git/config", "project/.git/hooks/x", "project/.git/HEAD"]);
    let mounts = test.mounts(Reach::Folder);
    let git = test.home("project/.git");
    let end: Vec<Mount> = mounts[mounts.len() - 4..].to_vec();
    let expected = [
        Mount::Write(test.home("project")),
        Mount::Write(git.clone()),
        Mount::Read(git.join("config")),
        Mount::Read(git.join("hooks")),
    ];
    assert_eq!(end, expected);
    let looking = test.mounts(Reach::Look);
    assert!(!looking.iter().any(|mount| matches!(mount, Mount::Write(_))), "{looking:?}");
}

#[test]
fn nothing_is_mounted_through_a_link_of_the_project() {
    let test = Test::new(&["project/.git/HEAD", ".ssh/id_rsa"]);
    for name in INSTRUCT_GIT {
        symlink(test.home(".ssh"), test.home("project/.git").join(name)).unwrap();
    }
    let shown = format!("{:?}", test.mounts(Reach::Folder));
    assert!(!shown.contains("worktrees") && !shown.contains("config"), "{shown}");
    let linked = Test::new(&[".ssh/id_rsa"]);
    symlink(linked.home(".ssh"), linked.home("project/.git")).unwrap();
    assert!(!format!("{:?}", linked.mounts(Reach::Folder)).contains(".git"));
}

#[test]
fn of_the_home_there_are_toolchains_without_their_credentials() {
    let test = Test::new(&[".cargo/bin/cargo", ".cargo/credentials.toml", ".ssh/id_rsa", ".local/bin/x"]);
    let mounts = test.mounts(Reach::Folder);
    let at = |mount: Mount| {
        mounts.iter().position(|other| *other == mount).unwrap_or_else(|| panic!("{mount:?}: {mounts:?}"))
    };
    let (home, cargo) =
        (at(Mount::Empty(test.home("").join(".").canonicalize().unwrap())), at(Mount::Read(test.home(".cargo"))));
    let (keys, project) =
        (at(Mount::Empty(test.home(".cargo/credentials.toml"))), at(Mount::Write(test.home("project"))));
    assert!(home < cargo && cargo < keys && keys < project, "{mounts:?}");
    assert!(!format!("{mounts:?}").contains(".ssh"));
}

#[test]
fn what_askuser_keeps_is_not_there_outside_either() {
    let test = Test::new(&["state/allowed.json"]);
    for reach in [Reach::Look, Reach::Folder, Reach::Network, Reach::Outside] {
        assert_eq!(test.mounts(reach).last(), Some(&Mount::Empty(test.home("state"))), "{reach:?}");
    }
    assert_eq!(test.mounts(Reach::Outside).len(), 1);
}

#[test]
fn a_folder_that_would_open_the_wall_is_refused() {
    let (home, kept) = (Path::new("/home/me"), [PathBuf::from("/home/me/.local/state/askuser")]);
    let check = |folder: &str| check_folders(&[Path::new(folder)], Some(home), &kept);
    for folder in ["/", "/home", "/home/me"] {
        assert_eq!(check(folder), Err(format!("{folder} is or contains your home; begin in a folder of the project")));
    }
    for folder in ["/home/me/.local", "/home/me/.local/state/askuser", "/home/me/.local/state/askuser/x"] {
        assert_eq!(check(folder), Err(format!("what askuser keeps is in {folder}")));
    }
    assert_eq!(check("/home/me/project"), Ok(()));
    assert!(check_folders(&[Path::new("/")], None, &[]).is_err());
}

#[test]
fn git_reads_the_repository_around_the_folder_and_the_one_it_is_a_tree_of_and_no_other() {
    let test = Test::new(&["project/.git/HEAD", "project/sub/x", "main/.git/worktrees/tree/HEAD", "tree/x", "lie/x"]);
    let home = test.sandbox.home.as_deref();
    let repository = |folder: &Path, home: Option<&Path>| super::repository(folder, home, &[folder]);
    assert_eq!(repository(&test.home("project/sub"), home), Some(test.home("project")));
    assert_eq!(repository(&test.home("project"), home), None);
    let tree = test.home("main/.git/worktrees/tree");
    fs::write(tree.join("gitdir"), format!("{}\n", test.home("tree/.git").display())).unwrap();
    for (folder, expected) in [("tree", Some(test.home("main/.git"))), ("lie", None)] {
        fs::write(test.home(folder).join(".git"), format!("gitdir: {}\n", tree.display())).unwrap();
        assert_eq!(repository(&test.home(folder), home), expected, "{folder}");
    }
    // A project that says of itself that the home is its repository.
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
    let (left, cached) = (private.folder.join("tmp/x"), private.folder.join("cache/x"));
    [&left, &cached].into_iter().for_each(|file| fs::write(file, "").unwrap());
    let beside = Private::of(caches.path(), Path::new("/project")).unwrap();
    assert!(left.exists(), "another session uses it");
    drop((private, beside));
    Private::of(caches.path(), Path::new("/project")).unwrap();
    assert!(!left.exists() && cached.exists());
}
