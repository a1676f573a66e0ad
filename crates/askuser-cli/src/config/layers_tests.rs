use super::*;
use std::time::Duration;

pub(crate) fn lay(
    user: Option<&str>,
    project: Option<&str>,
    environment: &[(&str, &str)],
    flags: &[(&str, &str)],
) -> Result<Layers, Failure> {
    lay_anyway(user, project, environment, flags).sound()
}

fn lay_anyway(
    user: Option<&str>,
    project: Option<&str>,
    environment: &[(&str, &str)],
    flags: &[(&str, &str)],
) -> Layers {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: Option<&str>| {
        text.map(|text| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        })
    };
    let find = |list: &[(&str, &str)], name: &str| {
        list.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    };
    Layers::lay(&Sources {
        user: write("user.toml", user),
        project: write("project.toml", project),
        environment: &|name| find(environment, name),
        flag: &|name| find(flags, name),
    })
}

fn check(layers: &Layers, name: &str, value: &str, origin: &str) {
    let row = layers.rows().find(|(setting, ..)| setting.name == name).unwrap();
    assert_eq!(row.1, value);
    assert!(row.2.to_string().contains(origin), "{}", row.2);
}

#[test]
fn later_layers_win_and_the_origin_is_known() {
    let user = Some("timeout = \"1m\"\nkey_delay = \"1s\"\ntheme = \"light\"\nconfirm = \"none\"");
    let project = Some("color = \"16\"\nrepair = true\ntheme = \"dark\"");
    let environment = [("ASKUSER_TIMEOUT", "3m"), ("ASKUSER_KEY_DELAY", "3s"), ("ASKUSER_COLOR", "256")];
    let layers = lay(user, project, &environment, &[("timeout", "4m")]).unwrap();
    check(&layers, "timeout", "4m", "flag, --timeout");
    check(&layers, "key_delay", "3s", "environment, ASKUSER_KEY_DELAY");
    check(&layers, "color", "256", "environment, ASKUSER_COLOR");
    check(&layers, "repair", "true", "project.toml");
    check(&layers, "theme", "dark", "project.toml");
    check(&layers, "confirm", "none", "user.toml");
    check(&layers, "format", "auto", "default");
    assert_eq!(layers.settings().unwrap().timeout, Some(Duration::from_secs(240)));
}

/// The settings that a project may set. A new one has to be added here deliberately. None of them determines who
/// answers, which programs run, or where a key is sent.
const OF_PROJECTS: [&str; 8] = ["plain", "repair", "confirm", "style", "theme", "color", "format", "max_tokens"];

#[test]
fn a_project_sets_nothing_that_says_who_answers_what_runs_or_where_a_key_goes() {
    for setting in SETTINGS {
        let line = format!("{} = {:?}", setting.name, setting.default);
        let origin = |layers: &Layers| layers.rows().find(|row| row.0.name == setting.name).unwrap().2.clone();
        let layers = lay(None, Some(&line), &[], &[]).unwrap();
        let is_set = origin(&layers) != Origin::Default;
        assert_eq!(is_set, OF_PROJECTS.contains(&setting.name), "{}", setting.name);
        let warned = layers.warnings.iter().any(|warning| warning.contains(&format!(": {} is ignored", setting.name)));
        assert_eq!(warned, !is_set, "{}: {:?}", setting.name, layers.warnings);
        let layers = lay(Some(&line), None, &[], &[]).unwrap();
        assert!(origin(&layers) != Origin::Default && layers.warnings.is_empty(), "{} is the user's", setting.name);
    }
}

#[test]
fn an_unknown_setting_is_an_error_and_the_one_that_may_be_meant_is_named() {
    let failure = lay(Some("timeot = \"1m\""), None, &[], &[]).unwrap_err();
    assert!(failure.message.ends_with("unknown setting timeot"), "{}", failure.message);
    assert_eq!(failure.hint.as_deref(), Some("did you mean timeout? `askuser config` lists them"));
}

#[test]
fn a_broken_file_hides_neither_the_rest_of_it_nor_what_comes_after() {
    let user = Some("nonsense = 1\ntimeout = \"1m\"\nvia = [1]");
    let layers = lay_anyway(user, Some("= 1"), &[("ASKUSER_COLOR", "16")], &[("theme", "dark")]);
    check(&layers, "timeout", "1m", "user.toml");
    check(&layers, "color", "16", "environment, ASKUSER_COLOR");
    check(&layers, "theme", "dark", "flag, --theme");
    let message = layers.sound().unwrap_err().message;
    for words in ["unknown setting nonsense", "via is a list or a table"] {
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn a_broken_project_file_is_a_warning_that_quotes_nothing_of_it() {
    let warnings = |project: &str| {
        let layers = lay(None, Some(project), &[], &[]).expect("it starts all the same");
        layers.settings().expect("a bad value does not count");
        check(&layers, "theme", "auto", "default");
        layers.warnings
    };
    let told = |project: &str, words: &str| {
        let warnings = warnings(project);
        assert!(warnings.len() == 1 && warnings[0].ends_with(words), "{project}: {warnings:?}");
        assert!(!warnings[0].contains("secret"), "{warnings:?}");
    };
    told("root:secret:19000:0:99999:7:::\n", "project.toml, line 1: not TOML: it is ignored");
    told("color = \"16\"\nbroken secret\n", "project.toml, line 2: not TOML: it is ignored");
    let unknown = "nonsense is ignored, there is no such setting; `askuser config` lists them";
    told("color = \"16\"\n\nnonsense = \"secret\"\n", &format!("project.toml, line 3: {unknown}"));
    let bad = "theme is ignored, its value is none that it can have; `askuser config` lists them";
    told("theme = \"secret\"\n", &format!("project.toml, line 1: {bad}"));
    told("theme = [\"secret\"]\n", &format!("project.toml, line 1: {bad}"));
    told(
        "[secret_section]\ntheme = \"dark\"\n".replace("secret", "other").as_str(),
        unknown.replace("nonsense", "other_section").as_str(),
    );
}

// Only an administrator can create links on Windows.
#[cfg(unix)]
#[test]
fn a_project_file_that_is_a_link_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("shadow");
    let project = folder.path().join("askuser.toml");
    std::fs::write(&secret, "theme = \"dark\"\nroot:secret").unwrap();
    std::os::unix::fs::symlink(&secret, &project).unwrap();
    let layers = of_files(None, Some(project));
    check(&layers, "theme", "auto", "default");
    let [warning] = &layers.warnings[..] else { panic!("{:?}", layers.warnings) };
    assert!(warning.ends_with("askuser.toml is a link, must be a regular file: it is ignored"), "{warning}");
}

// Windows has no file modes.
#[cfg(unix)]
#[test]
fn a_file_of_settings_that_others_can_write_is_not_taken_for_the_users() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("askuser");
    let file = own.join("askuser.toml");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(&file, "permissions = \"allow\"").unwrap();
    let set_mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    let laid = || of_files(Some(file.clone()), None).sound();
    assert_eq!(laid().unwrap().settings().unwrap().permissions, askuser_agent::PermissionMode::Allow);
    for path in [&*file, &own, folder.path()] {
        set_mode(path, 0o777);
        let failure = laid().unwrap_err();
        assert!(failure.message.contains("has mode 777, must not be writable"), "{}", failure.message);
        set_mode(path, 0o700);
        // Only root can change the owner of a file.
        if chown(path, Some(65534), None).is_ok() {
            let failure = laid().unwrap_err();
            assert!(failure.message.contains("is owned by user 65534"), "{}", failure.message);
            chown(path, Some(0), None).unwrap();
        }
    }
    assert!(laid().is_ok());
}

fn of_files(user: Option<PathBuf>, project: Option<PathBuf>) -> Layers {
    Layers::lay(&Sources { user, project, environment: &|_| None, flag: &|_| None })
}

#[test]
fn a_section_is_told_that_there_are_none() {
    let failure = lay(Some("[ask]\ntimeout = 5"), None, &[], &[]).unwrap_err();
    assert_eq!(
        failure.hint.as_deref(),
        Some("settings do not belong in a [section]: write them at the top of the file")
    );
}

#[test]
fn none_in_a_file_is_no_path_to_a_file_of_that_name() {
    let layers = lay(Some("answers = \"none\"\nstore = \"auto\""), None, &[], &[]).unwrap();
    check(&layers, "answers", "none", "user.toml");
    check(&layers, "store", "auto", "user.toml");
    let nothing = lay(Some("answers = \"\""), None, &[], &[]).unwrap().settings().unwrap_err();
    assert!(nothing.message.ends_with("must be a JSON or TOML file"), "{}", nothing.message);
}

#[test]
fn a_path_in_a_file_is_meant_from_there() {
    let layers = lay(Some("answers = \"a.json\"\nstore = \"kept/inbox\"\nmodel = \"a/b\""), None, &[], &[]).unwrap();
    for (name, path) in [("answers", "a.json"), ("store", "kept/inbox")] {
        let (_, value, origin) = layers.rows().find(|(setting, ..)| setting.name == name).unwrap();
        let Origin::File(file) = origin else { panic!("{name} is from {origin}") };
        assert_eq!(Path::new(value), file.parent().unwrap().join(path));
    }
    check(&layers, "model", "a/b", "user.toml");
    let elsewhere = lay(Some("store = \"/kept/inbox\""), None, &[], &[]).unwrap();
    check(&elsewhere, "store", "/kept/inbox", "user.toml");
}

#[test]
fn an_empty_variable_is_as_good_as_none() {
    let layers = lay(Some("theme = \"dark\""), None, &[("ASKUSER_THEME", ""), ("ASKUSER_COLOR", "")], &[]).unwrap();
    check(&layers, "theme", "dark", "user.toml");
    check(&layers, "color", "auto", "default");
}

#[test]
fn numbers_and_switches_need_no_quotes() {
    let layers = lay(Some("timeout = 5\nplain = true"), None, &[], &[]).unwrap();
    check(&layers, "timeout", "5", "user.toml");
    check(&layers, "plain", "true", "user.toml");
}

#[test]
fn an_unknown_setting_like_no_other_points_to_the_list() {
    let failure = lay(Some("xyzzy = 1"), None, &[], &[]).unwrap_err();
    assert_eq!(failure.hint.as_deref(), Some("`askuser config` lists the settings"));
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let missing = PathBuf::from("/nowhere/askuser.toml");
    let sources = Sources { user: Some(missing), project: None, environment: &|_| None, flag: &|_| None };
    let message = Layers::lay(&sources).sound().unwrap_err().message;
    assert_eq!(message, "cannot open /nowhere/askuser.toml: No such file or directory");
}
