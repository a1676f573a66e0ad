//! Checks the rules of ARCHITECTURE.md: the dependencies between crates, and forbidden code.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// Returns the names of all crates.
fn crates() -> Vec<String> {
    modules("crates")
}

/// Returns the names of all crates except the executable.
fn libraries() -> Vec<String> {
    crates().into_iter().filter(|krate| krate != "askuser-cli").collect()
}

/// Returns the dependencies of a crate, without those of its tests.
fn dependencies(krate: &str) -> Vec<String> {
    let manifest: toml::Table = read(root().join("crates").join(krate).join("Cargo.toml")).parse().unwrap();
    let mut names = Vec::new();
    let mut take = |table: Option<&toml::Value>| {
        names.extend(table.and_then(toml::Value::as_table).into_iter().flat_map(|table| table.keys().cloned()));
    };
    take(manifest.get("dependencies"));
    take(manifest.get("build-dependencies"));
    for (_, target) in manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten() {
        take(target.get("dependencies"));
    }
    names
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns a source file without its tests and comments.
fn code(path: &Path) -> String {
    let text = read(path);
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn is_test(path: &Path) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with("tests") || name == "fixtures" || path.components().any(|part| part.as_os_str() == "tests")
}

fn forbid(krate: &str, words: &[&str]) {
    for path in sources(&root().join("crates").join(krate).join("src")).into_iter().filter(|path| !is_test(path)) {
        let code = code(&path);
        for word in words {
            assert!(!code.contains(word), "{} has {word}", path.display());
        }
    }
}

#[test]
fn the_core_depends_on_no_other_crate_of_ours_and_on_no_terminal_clock_or_runtime() {
    let names = dependencies("askuser");
    // The list names the permitted crates instead of forbidden ones, because a new runtime may have any name.
    let allowed = [
        "futures-channel",
        "regex-lite",
        // This crate is used only with the feature `schema`.
        "schemars",
        "serde",
        "serde_json",
        "strsim",
        "thiserror",
        "unicode-normalization",
        "unicode-segmentation",
        "unicode-width",
    ];
    assert_eq!(names, allowed);
}

#[test]
fn the_core_does_no_io_and_reads_no_clock() {
    forbid(
        "askuser",
        &[
            "std::fs",
            "std::net",
            "std::process",
            "std::thread",
            "std::env",
            "Instant",
            "SystemTime",
            "println!",
            "io::stdin",
            "io::stdout",
        ],
    );
}

/// Returns every package that is linked with a library of askuser, directly or indirectly.
fn linked(krate: &str, features: &[&str]) -> Vec<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let args = ["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--package", krate];
    let listed = std::process::Command::new(cargo).args(args).args(features).current_dir(root()).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let text = String::from_utf8(listed.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn what_a_library_is_said_to_do_without_is_not_linked_with_it() {
    let runtime = ["tokio", "mio", "async-std", "smol"];
    let network = ["reqwest", "hyper", "rustls", "ring", "socket2"];
    let terminal = ["crossterm", "ratatui-core", "signal-hook"];
    let database = ["rusqlite", "libsqlite3-sys"];
    let system = ["rustix", "libc", "getrandom"];
    for (krate, features, absent) in [
        ("askuser", &[][..], &[&runtime[..], &network, &terminal, &database, &system][..]),
        ("askuser-terminal", &[], &[&runtime, &network, &database]),
        // The crate's file watcher uses `mio` for its own thread.
        ("askuser-inbox", &[], &[&runtime[..1], &network, &terminal]),
        ("askuser-mcp", &[], &[&network[2..4], &terminal, &database]),
        ("askuser-agent", &[], &[&terminal, &database]),
        ("askuser-agent", &["--no-default-features"], &[&network[..4]]),
    ] {
        let linked = linked(krate, features);
        assert!(linked.contains(&"askuser".to_owned()), "{krate}: {linked:?}");
        for name in absent.iter().copied().flatten() {
            assert!(!linked.iter().any(|other| other == name), "{krate} {features:?} is linked with {name}");
        }
    }
}

/// Returns the parts of the standard library that a library of askuser uses, by the names in its symbols.
#[cfg(unix)]
fn symbols(krate: &str) -> String {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_it = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_prefix(&format!("lib{krate}-")).is_some_and(|rest| rest.ends_with(".rlib") && !rest.contains('-'))
    };
    let newest = files.filter(is_it).max_by_key(|path| path.metadata().unwrap().modified().unwrap()).unwrap();
    let listed = std::process::Command::new("nm").arg("--undefined-only").arg(newest).output().unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    String::from_utf8(listed.stdout).unwrap()
}

#[test]
#[cfg(unix)]
fn the_core_refers_to_nothing_that_touches_the_system() {
    // These parts are the same in both ways to mangle a symbol.
    let system = [
        "3std2fs",
        "3std3net",
        "3std3env",
        "7process7Command",
        "7process4exit",
        "3std2io5stdio",
        "3std6thread5spawn",
        "7Builder5spawn",
    ];
    let core = symbols("askuser");
    for part in system {
        assert!(!core.contains(part), "{part}");
    }
    // These crates use the file system, so the check detects its use.
    assert!(symbols("askuser_terminal").contains(system[0]) && symbols("askuser_inbox").contains(system[0]));
}

#[test]
fn surfaces_depend_on_the_core_and_never_on_each_other() {
    let is_below = |krate: &String| ["askuser", "askuser-markdown", "askuser-sys"].contains(&krate.as_str());
    for surface in libraries().iter().filter(|krate| !is_below(krate)) {
        let ours: Vec<String> = dependencies(surface).into_iter().filter(|name| name.starts_with("askuser")).collect();
        assert!(ours.iter().all(is_below) && ours.contains(&"askuser".to_owned()), "{surface}: {ours:?}");
    }
    let below: Vec<String> =
        dependencies("askuser-markdown").into_iter().filter(|name| name.starts_with("askuser")).collect();
    assert_eq!(below, ["askuser"]);
    assert!(!dependencies("askuser-sys").iter().any(|name| name.starts_with("askuser")));
}

#[test]
fn libraries_never_print() {
    // The conformance crate is a library of tests, one of which prints that it was skipped.
    for krate in libraries().iter().filter(|krate| *krate != "askuser-conformance") {
        forbid(krate, &["println!", "eprintln!", "print!(", "stdout().write", "stdout().lock"]);
    }
}

#[test]
fn each_test_that_the_architecture_names_exists() {
    let text = read(root().join("ARCHITECTURE.md"));
    assert!(text.len() <= 12 * 1024, "{} bytes", text.len());
    let code: String = sources(&root().join("crates")).iter().map(read).collect();
    let is_test = |name: &&str| name.contains('_') && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    let names: Vec<&str> = text.split('`').skip(1).step_by(2).filter(is_test).collect();
    assert!(names.len() > 20, "{names:?}");
    let missing: Vec<&str> = names.into_iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn each_module_says_what_it_owns() {
    let files =
        crates().iter().flat_map(|krate| sources(&root().join("crates").join(krate).join("src"))).collect::<Vec<_>>();
    let silent: Vec<_> = files.iter().filter(|path| !is_test(path) && !read(path).starts_with("//! ")).collect();
    assert_eq!(silent, Vec::<&PathBuf>::new());
}

#[test]
fn the_view_changes_no_state() {
    for path in sources(&root().join("crates/askuser-terminal/src/view")).into_iter().filter(|path| !is_test(path)) {
        // Only the widget reports its visible lines, because its trait requires that.
        if path.file_name().is_some_and(|name| name != "widget.rs") {
            assert!(!code(&path).contains("&mut Prompt"), "{}", path.display());
        }
    }
}

#[test]
fn unsafe_stands_in_two_places_only() {
    let mut places: Vec<String> = crates()
        .iter()
        .flat_map(|krate| sources(&root().join("crates").join(krate).join("src")))
        .filter(|path| code(path).contains("unsafe {"))
        .filter_map(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()))
        .collect();
    places.sort();
    assert_eq!(places, ["signals.rs", "tty_lock.rs"]);
}

#[test]
fn crates_say_what_they_are_and_hold_no_logic_in_lib_rs() {
    for krate in libraries() {
        let lib = read(root().join("crates").join(&krate).join("src/lib.rs"));
        assert!(lib.starts_with("//! "), "{krate}");
        // The file may contain only its module map and its exports.
        let logic = lib.lines().filter(|line| ["fn ", "impl", "pub fn "].iter().any(|word| line.starts_with(word)));
        assert_eq!(logic.collect::<Vec<_>>(), [""; 0], "{krate}/src/lib.rs");
    }
}

#[test]
fn the_readme_names_the_commands_that_exist() {
    let readme = read(root().join("README.md"));
    for line in readme.lines().filter_map(|line| line.trim().strip_prefix("askuser ")) {
        let name = line.split_whitespace().next().unwrap_or_default();
        assert!(commands().contains(&name.to_owned()), "README shows `askuser {line}`");
    }
}

#[test]
fn the_readme_is_short_and_its_test_command_is_the_gate() {
    let readme = read(root().join("README.md"));
    assert!(readme.lines().count() <= 120, "{} lines, at most 120", readme.lines().count());
    for command in ["cargo run --release -- ask examples/database.json\n", "./check\n"] {
        assert!(readme.contains(command), "{command}");
    }
    assert!(read(root().join(".ci/run")).trim_end().ends_with("exec ./check"));
    assert!(read(root().join("CONTRIBUTING.md")).contains("./check"));
}

#[test]
fn every_picture_and_page_that_a_document_shows_is_there() {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let documents = docs.chain([root().join("README.md")]).filter(|path| path.extension().is_some_and(|e| e == "md"));
    for document in documents {
        let text = read(&document);
        let linked = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for file in linked.filter(|file| !file.is_empty() && !file.contains("://")) {
            assert!(document.with_file_name(file).exists(), "{}: {file}", document.display());
        }
    }
}

/// Returns the names of the modules in a folder, as files or folders.
fn modules(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> =
        entries.filter_map(|path| path.file_stem()?.to_str().map(str::to_owned)).filter(|name| name != "mod").collect();
    names.sort();
    names.dedup();
    names
}

/// Returns the commands that a user can type.
fn commands() -> Vec<String> {
    let names = modules("crates/askuser-cli/src/commands");
    names.into_iter().filter(|name| name != "supervise").collect()
}

#[test]
fn there_is_one_executable_and_a_module_for_each_of_its_commands() {
    let manifest: toml::Table = read(root().join("crates/askuser-cli/Cargo.toml")).parse().unwrap();
    let programs = manifest["bin"].as_array().unwrap();
    assert_eq!((programs.len(), programs[0]["name"].as_str()), (1, Some("askuser")));
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_askuser")).arg("--help").output().unwrap().stdout;
    let help = String::from_utf8(help).unwrap();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let listed = listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let mut listed: Vec<String> = listed.map(str::to_owned).collect();
    listed.sort();
    assert_eq!(commands(), listed);
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn the_executable_loads_no_shared_library_but_the_c_library() {
    let listed = std::process::Command::new("ldd").arg(env!("CARGO_BIN_EXE_askuser")).output().unwrap().stdout;
    let listed = String::from_utf8(listed).unwrap();
    let names = listed.lines().filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.filter(|name| !name.contains("vdso") && !name.contains("/ld-linux")).collect();
    assert_eq!(names, ["libc.so.6"]);
}

#[test]
fn the_demo_asks_the_examples() {
    // These are copies, because a package contains only its own folder and a symbolic link breaks a checkout on
    // Windows.
    let copies = root().join("crates/askuser-cli/demo");
    for folder in ["", "agent"] {
        let entries = fs::read_dir(copies.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        for copy in entries.filter(|path| path.is_file()) {
            let original = root().join("examples").join(copy.strip_prefix(&copies).unwrap());
            assert_eq!(read(copy), read(&original), "{}", original.display());
        }
    }
}

#[test]
fn no_symbolic_links_are_checked_in() {
    let listed = std::process::Command::new("git").args(["ls-files", "-s"]).current_dir(root()).output();
    // Without git, as in an unpacked archive, the list is empty.
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let links: Vec<&str> = listed.lines().filter(|line| line.starts_with("120000 ")).collect();
    assert!(links.is_empty(), "{links:#?}");
}

#[test]
fn the_docs_list_every_setting() {
    let readme = read(root().join("docs/settings.md"));
    let config = read(root().join("crates/askuser-cli/src/settings.rs"));
    let table = config.split("        $then! {").nth(1).and_then(|rest| rest.split("\n        }").next()).unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("            "));
    let rows = rows.filter(|row| row.starts_with(|c: char| c.is_ascii_lowercase()));
    let names: Vec<&str> = rows.filter_map(|row| row.split(':').next()).collect();
    assert!(names.len() >= 25, "{names:?}");
    for name in names {
        assert!(readme.contains(&format!("| `{name}`")), "{name}");
    }
}

#[test]
fn a_package_carries_the_same_example_questions_as_the_repository() {
    let folder = root().join("crates/askuser-terminal/examples");
    let files = std::fs::read_dir(&folder).expect("examples").map(|entry| entry.expect("an entry").path());
    let questions: Vec<_> = files.filter(|path| path.extension().is_some_and(|ext| ext == "json")).collect();
    assert!(!questions.is_empty(), "{}", folder.display());
    for path in questions {
        let name = path.file_name().expect("a name");
        assert_eq!(read(path.clone()), read(root().join("examples").join(name)), "{}", path.display());
    }
}

#[test]
fn what_people_install_unwinds_so_that_a_panic_in_a_tool_does_not_end_the_agent() {
    let manifest = read(root().join("Cargo.toml"));
    let aborts = manifest.lines().any(|line| line.trim_start().starts_with("panic") && line.contains("abort"));
    assert!(!aborts, "a profile aborts on panics");
    // The check runs the example, instead of only claiming the behaviour.
    assert!(read(root().join("check")).contains("cargo run --release --locked --quiet --example panicking_tool"));
}
