//! Tests the data that outlives a session: its readers, its locks, and that only the user can change it.

use crate::place::{Driver, Place};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Returns a script in which the person permits a command permanently.
fn allowing(command: &str) -> Value {
    json!({"turns": [{"calls": [{"name": "Bash", "input": {"command": command}}]}, {"text": "Done."}]})
}

/// Formats the mode of a file without the file type.
fn mode(path: &Path) -> String {
    let metadata = fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    format!("{:o}", metadata.permissions().mode() & 0o777)
}

/// Returns the same command under a umask that removes no permission.
fn with_open_umask(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 0; exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(command.get_current_dir().unwrap());
    shell
}

#[test]
fn sessions_and_allowances_are_private_whatever_the_umask() {
    let place = Place::new();
    let command = place.agent(&allowing("true"), &["-p", "hi", "--output", "stream-json"]);
    let mut driver = Driver::start(&mut with_open_umask(&command));
    let id = driver.until("ask_user")["id"].clone();
    driver.pick(&id, "Always allow in this folder");
    driver.until("done");
    assert_eq!(driver.finish(), 0);
    let state = place.state();
    assert_eq!((mode(&state), mode(&state.join("sessions"))), ("700".into(), "700".into()));
    let [session] = &place.sessions()[..] else { panic!("{:?}", place.sessions()) };
    assert_eq!((mode(session), mode(&state.join("allowed.json"))), ("600".into(), "600".into()));
}

/// Returns whether a process waits for a lock on this file, according to `/proc/locks`.
#[cfg(target_os = "linux")]
fn is_waited_for(file: &fs::File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(":{} ", file.metadata().unwrap().ino());
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|line| line.contains("-> FLOCK") && line.contains(&inode))
}

#[cfg(target_os = "linux")]
#[test]
fn two_sessions_that_allow_something_at_once_lose_neither() {
    use std::time::{Duration, Instant};
    let place = Place::new();
    fs::create_dir_all(place.state()).unwrap();
    let lock = fs::File::create(place.state().join("allowed.lock")).unwrap();
    lock.lock().unwrap();
    let mut driver = Driver::start(place.agent(&allowing("true"), &["-p", "hi"]).args(["--output", "stream-json"]));
    let id = driver.until("ask_user")["id"].clone();
    driver.pick(&id, "Always allow in this folder");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_waited_for(&lock) {
        assert!(Instant::now() < deadline, "it does not wait for its turn to write");
        std::thread::sleep(Duration::from_millis(5));
    }
    // The other session writes its person's permission and releases the lock.
    let folder = place.folder().canonicalize().unwrap().display().to_string();
    let mut rules = json!({"/elsewhere": {"Bash": ["cargo test"]}});
    fs::write(place.state().join("allowed.json"), rules.to_string()).unwrap();
    lock.unlock().unwrap();
    driver.until("done");
    assert_eq!(driver.finish(), 0);
    rules[folder] = json!({"Bash": ["true"]});
    let kept = fs::read_to_string(place.state().join("allowed.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), rules);
}

#[test]
fn where_edits_are_accepted_the_state_and_the_settings_of_the_user_are_still_asked_about() {
    let place = Place::new();
    // The state is in the agent's working folder, under names that no list contains.
    let kept = place.folder().join("kept");
    let write = |path: &str| json!({"name": "Write", "input": {"path": path, "content": "{}"}});
    let paths = ["kept/state/askuser/allowed.json", "kept/settings/askuser/settings.json"];
    let script = json!({"turns": [{"calls": [write(paths[0])]}, {"calls": [write(paths[1])]}, {"calls": [write("kept/other.json")]}, {"text": "Done."}]});
    let mut command = place.agent(&script, &["-p", "hi", "--permissions", "accept-edits", "--output", "stream-json"]);
    // The list of names contains `state/askuser`, so the folders are links to others.
    for (link, target) in [("state", "s"), ("settings", "c")] {
        fs::create_dir_all(kept.join(target).join("askuser")).unwrap();
        std::os::unix::fs::symlink(target, kept.join(link)).unwrap();
    }
    command.env("XDG_STATE_HOME", kept.join("state")).env("XDG_CONFIG_HOME", kept.join("settings"));
    let mut driver = Driver::start(&mut command);
    for path in paths {
        let asked = driver.until("ask_user");
        let text = asked["questions"][0]["question"].as_str().unwrap();
        assert!(text.starts_with("Create "), "{path}: {text}");
        driver.pick(&asked["id"], "Don't run it");
    }
    loop {
        let event = driver.next().expect("an end");
        assert_ne!(event["type"], "ask_user", "{event}");
        if event["type"] == "done" {
            break;
        }
    }
    assert_eq!(driver.finish(), 0);
    assert!(kept.join("other.json").exists());
    assert!(!kept.join("s/askuser/allowed.json").exists() && !kept.join("c/askuser/settings.json").exists());
}

#[test]
fn a_recorded_allowance_counts_only_for_its_own_call() {
    let place = Place::new();
    fs::create_dir_all(place.state()).unwrap();
    let folder = place.folder().canonicalize().unwrap().display().to_string();
    let recorded = include_str!("../fixtures/settings/allowed.json").replace("WORK", &folder);
    fs::write(place.state().join("allowed.json"), &recorded).unwrap();
    let run = |command: &str| {
        let mut agent = place.agent(&allowing(command), &["-p", "hi", "--headless", "fail"]);
        agent.output().unwrap().status.code()
    };
    assert_eq!(run("echo ran >> log"), Some(0));
    assert_eq!(fs::read_to_string(place.folder().join("log")).unwrap(), "ran\n");
    assert_eq!(run("echo ran >> log; true"), Some(3));
    assert_eq!(fs::read_to_string(place.folder().join("log")).unwrap(), "ran\n");
    assert_eq!(fs::read_to_string(place.state().join("allowed.json")).unwrap(), recorded);
}

#[test]
fn every_setting_of_the_users_file_is_read() {
    let place = Place::new();
    let settings = place.state().parent().unwrap().parent().unwrap().join("config/askuser");
    fs::create_dir_all(&settings).unwrap();
    fs::write(settings.join("askuser.toml"), include_str!("../fixtures/settings/askuser.toml")).unwrap();
    let output = place.askuser(&["config"]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{stdout}");
    let file = settings.join("askuser.toml").display().to_string();
    let answers = settings.join("answers.toml").display().to_string();
    for line in include_str!("../fixtures/settings/askuser.toml").lines() {
        let (name, value) = line.split_once(" = ").unwrap();
        let value = value.trim_matches('"').replace("answers.toml", &answers);
        let is_it = |shown: &&str| shown.split_once(' ').is_some_and(|(first, _)| first == name);
        let shown = stdout.lines().find(is_it).unwrap_or_else(|| panic!("no {name} in {stdout}"));
        let words: Vec<&str> = shown.split_whitespace().collect();
        let expected: Vec<&str> = [name].into_iter().chain(value.split(' ')).chain([&*file]).collect();
        assert_eq!(words, expected, "{shown}");
    }
}

/// Another token in this file would let the agent ask under another name.
#[test]
fn the_file_that_holds_a_token_is_not_changed_without_asking_though_edits_are_accepted() {
    let script = json!({"turns": [{"calls": [{"name": "Read", "input": {"path": "token"}}]},
        {"calls": [{"name": "Write", "input": {"path": "token", "content": "au_another"}}]}, {"text": "Done."}]});
    for is_token in [false, true] {
        let place = Place::new();
        let file = place.write("work/token", "au_0123");
        let mut command = place.agent(&script, &["-p", "look", "--permissions", "accept-edits"]);
        if is_token {
            command.env("ASKUSER_TOKEN_FILE", &file);
        }
        command.output().unwrap();
        assert_eq!(fs::read_to_string(file).unwrap(), if is_token { "au_0123" } else { "au_another" });
    }
}
