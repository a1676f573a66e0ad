//! A question that no other surface shows gets a desktop notification, if there is a session.

use crate::terminal::{Stage, wait_until};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Returns a test environment whose `notify-send` records its arguments.
fn stage() -> Stage {
    with_program("notify-send")
}

/// A stage with a program that writes its words down.
pub(crate) fn with_program(name: &str) -> Stage {
    let file = format!("bin/{name}");
    let stage = Stage::new().file(&file, "#!/bin/sh\nprintf '%s|' \"$@\" >> \"$HOME/told\"\n");
    fs::set_permissions(stage.path(&file), fs::Permissions::from_mode(0o755)).unwrap();
    let binaries = std::path::Path::new(env!("CARGO_BIN_EXE_askuser")).parent().unwrap().display();
    let path = format!("{}:{binaries}:/usr/bin:/bin", stage.path("bin").display());
    stage.env("PATH", &path)
}

/// Returns the arguments of `notify-send`: five words, each with an end mark. The asking process starts it and may end
/// before it has written them.
fn told(stage: &Stage) -> String {
    wait_until("notify-send was told five words", || stage.read("told").matches('|').count() >= 5);
    stage.read("told")
}

const ASK: &[&str] = &["confirm", "Deploy <b>now</b>?", "-H", "Deploy <b>", "--via", "inbox", "--detach"];

#[test]
fn a_question_without_a_terminal_is_notified_once_by_its_title() {
    let stage = stage().env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere");
    for _ in 0..2 {
        let ended = stage.run(&[ASK, &["--key", "deploy"]].concat());
        assert_eq!(ended.code, Some(75), "{}", ended.stderr);
    }
    let told = told(&stage);
    assert_eq!(told, "--app-name|askuser|--|askuser confirm in ~|Deploy bnow/b?|");
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

#[test]
fn a_popup_has_the_theme_of_the_process_that_opens_it() {
    let check = |colours: &str, words: &[&str], theme: &str| {
        let stage = with_program("zellij").env("ZELLIJ", "0").env("COLORFGBG", colours);
        assert_eq!(stage.run(&[ASK, words].concat()).code, Some(75));
        wait_until("the popup was opened", || stage.read("told").contains("|answer|"));
        assert!(stage.read("told").ends_with(&format!("inbox.sqlite|{theme}")), "{}", stage.read("told"));
    };
    check("15;0", &[], "--theme|dark|");
    check("0;15", &[], "--theme|light|");
    check("0;15", &["--theme", "contrast"], "--theme|contrast|");
    check("", &[], "");
}
