//! A question that nothing else shows is told on the desktop, where there is a session.

use crate::terminal::{Stage, wait_until};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A stage whose `notify-send` writes its words down.
fn stage() -> Stage {
    let stage = Stage::new().file("bin/notify-send", "#!/bin/sh\nprintf '%s|' \"$@\" >> \"$HOME/told\"\n");
    fs::set_permissions(stage.path("bin/notify-send"), fs::Permissions::from_mode(0o755)).unwrap();
    let binaries = std::path::Path::new(env!("CARGO_BIN_EXE_askuser")).parent().unwrap().display();
    let path = format!("{}:{binaries}:/usr/bin:/bin", stage.path("bin").display());
    stage.env("PATH", &path)
}

/// What `notify-send` was told, five words each with its end. The process that asks starts it and may end before it has written.
fn told(stage: &Stage) -> String {
    wait_until("notify-send was told five words", || stage.read("told").matches('|').count() >= 5);
    stage.read("told")
}

const ASK: &[&str] = &["confirm", "Deploy <b>now</b>?", "-H", "Deploy <b>", "--via", "inbox", "--detach"];

#[test]
fn a_question_without_a_terminal_is_told_once_with_its_header_and_project_and_no_more() {
    let stage = stage().env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    for _ in 0..2 {
        let ended = stage.run(&[ASK, &["--key", "deploy"]].concat());
        assert_eq!(ended.code, Some(75), "{}", ended.stderr);
    }
    let told = told(&stage);
    let project = stage.path("").file_name().unwrap().to_str().unwrap().to_owned();
    let project: String = project.chars().filter(|c| c.is_alphanumeric() || *c == '.').collect();
    assert_eq!(told, format!("--app-name|askuser|--|Deploy b|{project}|"));
}

#[test]
fn the_session_is_found_by_its_usual_socket_where_no_variable_names_it() {
    let stage = stage();
    assert_eq!(stage.run(ASK).code, Some(75));
    assert_eq!(stage.read("told"), "", "there is no session");
    let stage = stage.file("runtime/bus", "");
    assert_eq!(stage.run(ASK).code, Some(75));
    assert!(told(&stage).contains("Deploy b"));
}

#[test]
fn it_is_silent_if_told_so_and_where_the_user_has_a_command_or_a_terminal() {
    let stage = stage().env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    assert_eq!(stage.run(&[ASK, &["--notify=false"]].concat()).code, Some(75));
    assert_eq!(stage.run(&[ASK, &["--on-question", "true"]].concat()).code, Some(75));
    let words = ASK.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    assert_eq!(stage.shell(&format!("exec askuser {words} >out")).finish().code, Some(75));
    assert_eq!(stage.read("told"), "");
}
