//! Runs every command in the README and docs/ask.md as written, in a shell in a terminal.

use crate::terminal::Stage;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A command with a person's input, its screens, and its exit code.
struct Trial {
    command: &'static str,
    /// The texts to wait for on the screen, each with the keys to press then.
    steps: &'static [(&'static str, &'static str)],
    code: u32,
    /// A text on the final screen.
    shows: &'static str,
}

const fn trial(
    command: &'static str,
    steps: &'static [(&'static str, &'static str)],
    code: u32,
    shows: &'static str,
) -> Trial {
    Trial { command, steps, code, shows }
}

const TRIALS: &[Trial] = &[
    trial("askuser demo", &[("? keys", "\x03")], 130, ""),
    trial("askuser init", &[], 2, "no agent that askuser can set up is installed here"),
    trial("askuser inbox", &[("Inbox", "q")], 0, ""),
    trial("askuser ask examples/database.json --via inbox", &[("askuser inbox", "\x03")], 130, ""),
    trial("askuser ask examples/database.json --via terminal,inbox", &[("? keys", "2")], 0, "MongoDB"),
    trial("askuser log", &[], 0, "no questions to show"),
    trial("askuser serve", &[("Ctrl-C ends", "\x03")], 130, "/#pair="),
    trial("askuser token new ci --ask", &[], 0, "au_"),
    trial("askuser people add ada", &[], 0, "ada was added"),
    trial(r#"askuser confirm "Deploy to production?" && echo deploying"#, &[("Deploy", "y")], 0, "deploying"),
    trial(r#"name=$(askuser input "Name of the release?")"#, &[("Name of the release?", "1.0\r")], 0, "1.0"),
    trial("branch=$(git branch --format='%(refname:short)' | askuser pick)", &[("main", "\r")], 0, "main"),
    trial(
        r#"db=$(askuser ask --format value -q "Which database?" -o "PostgreSQL: rich features" -o "SQLite: embedded")"#,
        &[("? keys", "2")],
        0,
        "SQLite",
    ),
    trial("askuser schema --for anthropic", &[], 0, "multiSelect"),
    trial("askuser check examples/database.json", &[], 0, ""),
    trial("askuser ask --format text examples/database.json", &[("? keys", "2")], 0, "MongoDB"),
    trial("askuser ask examples/database.json", &[("? keys", "2")], 0, "MongoDB"),
    trial(
        "askuser ask --format record < examples/authentication.json",
        &[("Question 1 of 2", "1"), ("Question 2 of 2", "1\r"), ("Check your answers", "\r")],
        0,
        "",
    ),
    trial(
        r#"askuser ask --multi -q "Which checks?" -o "lint: clippy" -o "test: all of them" --timeout 5m"#,
        &[("? keys", "2\r")],
        0,
        "test",
    ),
    trial(
        "askuser ask --answers examples/answers.json examples/database.json",
        &[],
        0,
        "from the answers file: no person was asked",
    ),
    trial("askuser ask --headless recommended examples/database.json", &[], 0, "by the policy: no person was asked"),
    trial("askuser ask --headless fail examples/database.json", &[], 3, "no person can be asked"),
    trial(
        "askuser ask --via policy --answers examples/answers.json examples/database.json",
        &[],
        0,
        "✔ Database: PostgreSQL",
    ),
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Returns the lines of the shell blocks that run askuser, without comments.
fn commands(document: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(document)).expect("a document");
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines).map(|line| line.split("  #").next().unwrap_or_default().trim());
    let is_ours =
        |line: &&str| line.contains("askuser ") && !line.starts_with("cargo") && !line.starts_with("git clone");
    lines.filter(is_ours).map(str::to_owned).collect()
}

#[test]
fn every_documented_command_is_tried() {
    let documented: Vec<String> = ["README.md", "docs/ask.md"].iter().flat_map(|document| commands(document)).collect();
    let tried: Vec<&str> = TRIALS.iter().map(|trial| trial.command).collect();
    assert_eq!(documented, tried);
}

#[test]
fn every_example_that_the_readme_runs_is_there() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let runs = readme.lines().filter(|line| line.starts_with("cargo run -p") || line.starts_with("cargo install"));
    let missing: Vec<&str> = runs
        .filter(|line| {
            let after = |flag: &str| line.split(flag).nth(1).and_then(|rest| rest.split_whitespace().next());
            let file = match (after(" -p "), after(" --example ")) {
                (Some(package), Some(example)) => format!("crates/{package}/examples/{example}.rs"),
                _ => format!("{}/Cargo.toml", after(" --path ").unwrap_or("nowhere")),
            };
            !root().join(file).is_file()
        })
        .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_documented_command_does_what_it_says() {
    for trial in TRIALS {
        // No file of one command is left for the next.
        let stage = Stage::new().env("ASKUSER_KEY_DELAY", "0").env("ASKUSER_SUCCESS_FLASH", "0");
        std::os::unix::fs::symlink(root().join("examples"), stage.path("examples")).expect("a link");
        for args in [&["init", "-q", "-b", "main"][..], &["commit", "-q", "--allow-empty", "-m", "Begin"]] {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(args);
            assert!(git.current_dir(stage.path("")).status().expect("git").success());
        }
        let mut terminal = stage.shell(trial.command);
        for (shown, keys) in trial.steps {
            terminal.wait_for(shown);
            terminal.keys(keys);
        }
        let ended = terminal.finish();
        // A shell that a key interrupts ends by that signal itself.
        assert_eq!(ended.code.unwrap_or(130), trial.code, "{}\n{}", trial.command, ended.screen);
        assert!(ended.screen.contains(trial.shows), "{}\n{}", trial.command, ended.screen);
    }
}
