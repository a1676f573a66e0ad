//! Tests the four layers of settings: user file, project file, environment, flag. Later layers have priority, and
//! `config` shows the layer of each value.

use crate::terminal::{Stage, example};
use serde_json::json;

/// Returns the value and the origin of a setting.
#[track_caller]
fn row(stage: &Stage, args: &[&str], name: &str) -> (String, String) {
    let ended = stage.run(&[&["config"], args].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let line = ended.stdout.lines().find(|line| line.starts_with(name)).expect("a row").to_owned();
    let rest = line[name.len()..].trim();
    let (value, origin) = rest.split_once(' ').expect("a value and an origin");
    (value.to_owned(), origin.trim().to_owned())
}

fn user(stage: Stage, toml: &str) -> Stage {
    stage.file("config/askuser/askuser.toml", toml)
}

#[test]
fn without_anything_every_setting_has_its_default() {
    let expected = "\
timeout         none            default
answers         none            default
headless        none            default
via             policy,terminal default
store           auto            default
token_file      none            default
on_question     none            default
popup           auto            default
notify          true            default
plain           false           default
repair          false           default
key_delay       250ms           default
success_flash   80ms            default
confirm         inline          default
style           proposal        default
theme           auto            default
color           auto            default
format          auto            default
model           none            default
base_url        none            default
effort          none            default
max_tokens      none            default
context_window  auto            default
retry_for       auto            default
price           none            default
permissions     ask             default
sandbox_read    none            default
sandbox_write   none            default
pass_env        none            default
mcp_limit       auto            default
mcp_without     none            default
";
    let ended = Stage::new().run(&["config"]);
    assert_eq!((ended.stdout.as_str(), ended.code), (expected, Some(0)));
}

#[test]
fn the_users_file_is_under_xdg_config_home() {
    let stage = user(Stage::new(), "timeout = \"5m\"\n");
    let (value, origin) = row(&stage, &[], "timeout");
    assert_eq!((value.as_str(), origin), ("5m", stage.path("config/askuser/askuser.toml").display().to_string()));
}

#[test]
fn the_users_file_is_under_home_where_xdg_config_home_is_not_set() {
    let stage = Stage::new().env("XDG_CONFIG_HOME", "").file(".config/askuser/askuser.toml", "timeout = \"6m\"\n");
    assert_eq!(row(&stage, &[], "timeout").0, "6m");
}

#[test]
fn the_projects_file_wins_over_the_users() {
    let stage =
        user(Stage::new(), "theme = \"dark\"\nkey_delay = \"1s\"\n").file("askuser.toml", "theme = \"light\"\n");
    let (value, origin) = row(&stage, &[], "theme");
    assert_eq!(value, "light");
    assert!(origin.ends_with("/askuser.toml") && !origin.contains("config"), "{origin}");
    assert_eq!(row(&stage, &[], "key_delay").0, "1s");
}

#[test]
fn the_projects_file_is_found_from_a_folder_below() {
    let stage = Stage::new().file("askuser.toml", "theme = \"light\"\n").file("deep/er/x", "").file(".git/HEAD", "");
    stage.shell("cd deep/er && askuser config >../../config.txt").finish();
    assert!(stage.read("config.txt").contains("theme           light "), "{}", stage.read("config.txt"));
}

#[test]
fn the_environment_wins_over_files() {
    let stage = Stage::new().file("askuser.toml", "theme = \"light\"\n").env("ASKUSER_THEME", "dark");
    assert_eq!(row(&stage, &[], "theme"), ("dark".into(), "environment, ASKUSER_THEME".into()));
}

#[test]
fn a_flag_wins_over_everything() {
    let stage = Stage::new().env("ASKUSER_TIMEOUT", "8m");
    assert_eq!(row(&stage, &["--timeout", "9m"], "timeout"), ("9m".into(), "flag, --timeout".into()));
}

#[test]
fn an_empty_variable_is_as_good_as_none() {
    let stage = Stage::new().env("ASKUSER_TIMEOUT", "");
    assert_eq!(row(&stage, &[], "timeout"), ("none".into(), "default".into()));
}

#[test]
fn a_switch_needs_no_value_and_takes_one() {
    assert_eq!(row(&Stage::new(), &["--plain"], "plain").0, "true");
    let stage = Stage::new().env("ASKUSER_PLAIN", "1");
    assert_eq!(row(&stage, &["--plain=false"], "plain").0, "false");
}

#[test]
fn a_byte_order_mark_in_front_of_a_file_is_read_past() {
    let stage = user(Stage::new(), "\u{feff}theme = \"light\"\n");
    assert_eq!(row(&stage, &[], "theme").0, "light");
    let stage = stage.file("askuser.toml", "\u{feff}confirm = \"boxed\"\n");
    assert_eq!(row(&stage, &[], "confirm").0, "boxed");
    let questions = std::fs::read_to_string(example("database")).unwrap();
    let stage = stage.file("questions.json", format!("\u{feff}{questions}"));
    assert_eq!(stage.run(&["check", "questions.json"]).code, Some(0));
}

#[test]
fn a_setting_of_a_file_takes_effect() {
    let stage = user(Stage::new(), "confirm = \"boxed\"\nkey_delay = 0\nsuccess_flash = 0\n");
    let mut terminal = stage.askuser(&["ask", &example("database")], "");
    terminal.wait_for("? keys");
    terminal.keys("2");
    assert_eq!(terminal.finish().screen, "\n╭─ Database ─╮\n│ ✔ MongoDB\n╰────────────╯");
}

#[test]
fn a_setting_of_the_environment_takes_effect() {
    let stage = Stage::new().env("ASKUSER_HEADLESS", "recommended").env("ASKUSER_FORMAT", "record");
    let ended = stage.run(&["ask", &example("database")]);
    let expected = json!({"Which database should we use for this project?": "PostgreSQL (Recommended)"});
    assert_eq!(ended.json(), expected);
}

#[test]
fn a_project_cannot_answer_in_the_users_place() {
    for (name, line) in [("headless", "headless = \"recommended\""), ("answers", "answers = \"a.json\"")] {
        let stage = Stage::new().file("askuser.toml", line).file("a.json", r#"{"Database": "SQLite"}"#);
        let ended = stage.run(&["ask", &example("database")]);
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        let warning = format!("askuser.toml, line 1: {name} is ignored, a project's file cannot set it;");
        assert!(ended.stderr.contains(&warning), "{}", ended.stderr);
    }
}

#[test]
fn an_answers_file_in_the_users_file_is_meant_from_there() {
    let stage =
        user(Stage::new(), "answers = \"mine.json\"\n").file("config/askuser/mine.json", r#"{"Database": "SQLite"}"#);
    assert_eq!(stage.run(&["ask", &example("database")]).picks(), json!([["SQLite"]]));
}

#[test]
fn an_unknown_setting_is_named_with_its_file() {
    let stage = user(Stage::new(), "timeot = \"5m\"\n");
    let ended = stage.run(&["config"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended
            .stderr
            .contains("askuser.toml: unknown setting timeot\nhint: did you mean timeout? `askuser config` lists them"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_bad_value_is_named_with_its_origin() {
    let stage = Stage::new().env("ASKUSER_CONFIRM", "loud");
    let ended = stage.run(&["ask", &example("database")]);
    let expected = "askuser: confirm: \"loud\" (from environment, ASKUSER_CONFIRM), must be boxed|full|inline|none\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), expected));
}

#[test]
fn a_file_that_is_not_toml_is_named() {
    let stage = user(Stage::new(), "what is this");
    let ended = stage.run(&["config"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("askuser.toml: "), "{}", ended.stderr);
}

#[test]
fn a_broken_file_of_a_project_does_not_keep_anybody_from_being_asked() {
    for (contents, words) in [
        ("root:secret:1::", "askuser.toml, line 1: not TOML: it is ignored"),
        ("\ntimeot = \"secret\"", "askuser.toml, line 2: timeot is ignored, there is no such setting"),
        ("theme = \"secret\"", "askuser.toml, line 1: theme is ignored, its value is none that it can have"),
    ] {
        let stage = Stage::new().file("askuser.toml", contents).env("ASKUSER_HEADLESS", "recommended");
        let ended = stage.run(&["ask", &example("database")]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stderr.contains(words) && !ended.stderr.contains("secret"), "{}", ended.stderr);
    }
}

#[test]
fn a_projects_file_that_is_a_link_is_not_shown_to_anybody() {
    let stage = Stage::new().file("shadow", "root:secret:1::").env("ASKUSER_HEADLESS", "recommended");
    std::os::unix::fs::symlink(stage.path("shadow"), stage.path("askuser.toml")).unwrap();
    let ended = stage.run(&["ask", &example("database")]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let words = "askuser.toml is a link, must be a regular file: it is ignored";
    assert!(ended.stderr.contains(words) && !ended.stderr.contains("secret"), "{}", ended.stderr);
}

const FILE: &str = "config/askuser/askuser.toml";

#[test]
fn a_setting_is_set_in_place_and_comments_and_order_stay() {
    let before =
        "# mine\nconfirm = \"boxed\" # as in the picture\n\nkey_delay = \"1s\"  # slow hands\nnotify = false\n";
    let stage = Stage::new().file(FILE, before);
    let set = |key: &str, value: &str| {
        let ended = stage.run(&["config", "set", key, value]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended
    };
    let ended = set("confirm", "full");
    let shown = format!("confirm = full ({})\n", stage.path(FILE).canonicalize().unwrap().display());
    assert_eq!((ended.stdout, ended.stderr.as_str()), (shown, ""));
    set("key-delay", "0");
    set("notify", "true");
    set("theme", "dark");
    let after = "# mine\nconfirm = \"full\" # as in the picture\n\nkey_delay = 0  # slow hands\nnotify = true\ntheme = \"dark\"\n";
    assert_eq!(stage.read(FILE), after);
    let shown = stage.run(&["config"]).stdout;
    assert!(shown.contains("key_delay       0 ") && shown.contains("theme           dark "), "{shown}");
}

#[test]
fn the_first_setting_makes_the_file_and_a_path_is_meant_from_here() {
    let stage = Stage::new().file("sub/x", "");
    let ended = stage.run(&["config", "set", "store", "sub/inbox.sqlite"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(stage.read(FILE), format!("store = \"{}\"\n", stage.path("sub/inbox.sqlite").display()));
}

#[test]
fn what_cannot_be_set_is_refused_and_the_file_stays() {
    let refused = |before: &str, args: [&str; 2], message: &str| {
        let stage = Stage::new().file(FILE, before);
        let ended = stage.run(&["config", "set", args[0], args[1]]);
        assert!(ended.code == Some(2) && ended.stderr.starts_with(message), "{args:?}: {}", ended.stderr);
        assert_eq!(stage.read(FILE), before);
    };
    refused("", ["theme", "pink"], "askuser: theme: \"pink\" (from config set), must be auto|dark|light|contrast\n");
    refused("", ["thema", "dark"], "askuser: unknown setting thema\nhint: did you mean theme? ");
    let folder = Stage::new();
    assert!(folder.run(&["config", "set", "theme"]).stderr.starts_with("askuser: VALUE is missing\n"));
    assert!(folder.run(&["config", "set"]).stderr.starts_with("askuser: KEY, VALUE are missing\n"));
    let broken = "theme = \n";
    let stage = Stage::new().file(FILE, broken);
    let ended = stage.run(&["config", "set", "theme", "dark"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("TOML parse error"), "{}", ended.stderr);
    assert_eq!(stage.read(FILE), broken);
}

#[test]
fn a_command_that_an_agent_started_cannot_change_settings() {
    let stage = Stage::new().env("ASKUSER_STARTED_BY_AGENT", "1");
    let ended = stage.run(&["config", "set", "permissions", "allow"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("only a person can change settings"), "{}", ended.stderr);
    assert_eq!(stage.read(FILE), "");
}

#[test]
fn who_sets_what_is_overridden_here_is_told_by_what() {
    let stage = Stage::new().env("ASKUSER_THEME", "light");
    let ended = stage.run(&["config", "set", "theme", "dark"]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(0), "askuser: it is light here all the same (environment, ASKUSER_THEME)\n")
    );
}
