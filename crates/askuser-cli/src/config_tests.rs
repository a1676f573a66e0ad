use super::layers::tests::lay;
use super::*;
use crate::settings::{Of, SETTINGS};

#[test]
fn a_projects_model_does_not_send_a_key_to_the_users_address() {
    let user = Some("base_url = \"http://127.0.0.1:1/v1\"");
    let settings = lay(user, Some("model = \"anthropic/y\""), &[], &[]).unwrap().settings().unwrap();
    assert_eq!(settings.model, None);
}

#[test]
fn an_address_is_not_for_a_model_that_was_chosen_closer_by() {
    let user = Some("model = \"ollama/x\"\nbase_url = \"http://127.0.0.1:1/v1\"");
    let url = |flags: &[(&str, &str)]| {
        lay(user, None, &[], flags).unwrap().settings().unwrap().base_url.map(|base_url| base_url.url)
    };
    assert_eq!(url(&[]).as_deref(), Some("http://127.0.0.1:1/v1"));
    assert_eq!(url(&[("model", "anthropic/y")]), None);
    assert_eq!(url(&[("model", "anthropic/y"), ("base_url", "http://h/")]).as_deref(), Some("http://h/"));
    assert_eq!(url(&[("base_url", "http://h/")]).as_deref(), Some("http://h/"));
}

#[test]
fn an_address_is_for_another_model_only_if_nothing_else_was_said_of_it() {
    let address = |user: &str, flags: &[(&str, &str)], model: &str| {
        let settings = lay(Some(user), None, &[], flags).unwrap().settings().unwrap().with_model(model);
        assert_eq!(settings.model.as_deref(), Some(model));
        settings.base_url.map(|base_url| base_url.url)
    };
    let given = [("base_url", "http://h/")];
    let file = "model = \"ollama/x\"\nbase_url = \"http://f/\"";
    assert_eq!(address("", &given, "anthropic/y").as_deref(), Some("http://h/"));
    assert_eq!(address(file, &given, "anthropic/y").as_deref(), Some("http://h/"));
    assert_eq!(address(file, &[], "ollama/z").as_deref(), Some("http://f/"));
    assert_eq!(address(file, &[], "anthropic/y"), None);
    assert_eq!(address("base_url = \"http://f/\"", &[], "anthropic/y"), None);
    let beside = [("model", "ollama/x"), ("base_url", "http://h/")];
    assert_eq!(address("", &beside, "anthropic/y"), None);
}

#[test]
fn a_bad_value_is_named_with_its_origin_and_what_it_must_be() {
    let layers = lay(None, None, &[("ASKUSER_TIMEOUT", "5 parsecs")], &[]).unwrap();
    let message = layers.settings().unwrap_err().message;
    assert_eq!(
        message,
        "timeout: \"5 parsecs\" (from environment, ASKUSER_TIMEOUT), must be a duration above 0, such as 30s, 5m or 1h"
    );
}

#[test]
fn an_address_goes_by_the_layer_it_and_the_model_were_set_in() {
    let address = |user: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]| {
        let base_url = lay(Some(user), None, environment, flags).unwrap().settings().unwrap().base_url;
        base_url.map(|base_url| (base_url.url, base_url.origin.to_string(), base_url.is_for_any_model))
    };
    let file = "base_url = \"http://f/\"";
    let variable = ("ASKUSER_BASE_URL", "http://e/");
    let of_variable = |any| Some(("http://e/".to_owned(), "environment, ASKUSER_BASE_URL".to_owned(), any));
    // A model from a higher layer does not use that address.
    assert_eq!(address(file, &[("ASKUSER_MODEL", "anthropic/y")], &[]), None);
    assert_eq!(address("", &[variable], &[("model", "anthropic/y")]), None);
    // An address in a file belongs to the model of that file. A variable alone applies to any model.
    assert!(address(file, &[], &[]).is_some_and(|(.., any)| !any));
    assert_eq!(address("model = \"ollama/x\"", &[variable], &[]), of_variable(true));
    assert_eq!(address("", &[variable, ("ASKUSER_MODEL", "ollama/x")], &[]), of_variable(false));
}

#[test]
fn every_bad_value_is_told_what_it_must_be() {
    for (name, value, must) in [
        ("timeout", "0", "a duration above 0, such as 30s, 5m or 1h"),
        ("max_tokens", "0", "a whole number above 0"),
        ("context_window", "999", "a whole number of at least 1000, or auto"),
        ("price", "3", "two numbers with a slash between them, such as 3/15"),
        ("via", "letter", "policy, terminal or inbox, or several of them with commas"),
        ("success_flash", "2s", "a duration of at most 1s"),
        ("answers", "", "a JSON or TOML file"),
        ("notify", "maybe", "true or false"),
        ("key_delay", "soon", "a duration such as 250ms, 30s, 5m or 1h"),
        ("theme", "pink", "auto|dark|light|contrast"),
    ] {
        let refused = lay(None, None, &[], &[(name, value)]).unwrap().settings().unwrap_err().message;
        let flag = name.replace('_', "-");
        assert_eq!(refused, format!("{name}: {value:?} (from flag, --{flag}), must be {must}"));
    }
}

/// Returns the setting that is parsed from this value; `None` if the value is invalid.
fn read<T>(name: &str, value: &str, field: impl Fn(Settings) -> T) -> Option<T> {
    lay(None, None, &[], &[(name, value)]).unwrap().settings().ok().map(field)
}

#[test]
fn every_choice_that_the_help_names_is_read_and_no_other() {
    for setting in SETTINGS.iter().filter(|setting| setting.value.contains('|')) {
        for choice in setting.value.split('|').chain([setting.default]) {
            assert!(read(setting.name, choice, |_| ()).is_some(), "{} {choice}", setting.name);
        }
        assert!(read(setting.name, "xyzzy", |_| ()).is_none(), "{}", setting.name);
    }
}

#[test]
fn flags_of_results_of_the_agent_and_of_the_server_are_not_for_every_command() {
    let of = |wanted: Of| {
        SETTINGS.iter().filter(|setting| setting.of == wanted).map(|setting| setting.name).collect::<Vec<_>>()
    };
    assert!(of(Of::Asking).contains(&"timeout") && !of(Of::Asking).contains(&"model"));
    assert!(of(Of::Results).contains(&"format"));
    assert!(["model", "base_url", "permissions"].iter().all(|name| of(Of::Agent).contains(name)));
    assert!(of(Of::Mcp).contains(&"mcp_limit"));
}

#[test]
fn settings_mean_what_they_say() {
    let second = Duration::from_secs(1);
    assert_eq!(["none", "1s"].map(|v| read("timeout", v, |s| s.timeout)), [Some(None), Some(Some(second))]);
    assert_eq!(["0", "x"].map(|v| read("timeout", v, |s| s.timeout)), [None, None]);
    let file = || Some(Some(PathBuf::from("f")));
    assert_eq!(
        ["none", "f", ""].map(|v| read("answers", v, |s| s.answers.map(|file| file.path))),
        [Some(None), file(), None]
    );
    assert_eq!(["auto", "f"].map(|v| read("store", v, |s| s.store)), [Some(None), file()]);
    let headless = [Some(None), Some(Some(Headless::Fail)), Some(Some(Headless::Recommended))];
    assert_eq!(["none", "fail", "recommended"].map(|v| read("headless", v, |s| s.headless)), headless);
    assert_eq!(["auto", "none"].map(|v| read("popup", v, |s| s.popup)), [Some(true), Some(false)]);
    let switched = [Some(true), Some(true), Some(false), Some(false), None];
    let values = ["true", "1", "false", "0", "yes"];
    assert_eq!(values.map(|v| read("plain", v, |s| s.plain)), switched);
    assert_eq!(values.map(|v| read("repair", v, |s| s.repair)), switched);
    assert_eq!(values.map(|v| read("notify", v, |s| s.notify)), switched);
    assert_eq!(["1s", "2s"].map(|v| read("success_flash", v, |s| s.success_flash)), [Some(second), None]);
    let confirm = [Confirm::Boxed, Confirm::Full, Confirm::Inline, Confirm::None].map(Some);
    assert_eq!(["boxed", "full", "inline", "none"].map(|v| read("confirm", v, |s| s.confirm)), confirm);
    let themes = [None, Some(Background::Dark), Some(Background::Light), Some(Background::Contrast)].map(Some);
    assert_eq!(["auto", "dark", "light", "contrast"].map(|v| read("theme", v, |s| s.theme)), themes);
    let depths = [ColorDepth::None, ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::TrueColor];
    assert_eq!(
        ["none", "16", "256", "truecolor"].map(|v| read("color", v, |s| s.color)),
        depths.map(|d| Some(Some(d)))
    );
    assert_eq!(read("color", "auto", |s| s.color), Some(None));
    assert_eq!(["none", "a/b"].map(|v| read("model", v, |s| s.model)), [Some(None), Some(Some("a/b".to_owned()))]);
    assert_eq!(
        ["none", "u"].map(|v| read("base_url", v, |s| s.base_url.map(|base_url| base_url.url))),
        [Some(None), Some(Some("u".to_owned()))]
    );
    let commands = [Some(None), Some(Some("c".to_owned()))];
    assert_eq!(["none", "c"].map(|v| read("on_question", v, |s| s.on_question)), commands);
    assert_eq!(["none", "5", "0"].map(|v| read("max_tokens", v, |s| s.max_tokens)), [Some(None), Some(Some(5)), None]);
    let efforts =
        [None, Some(Effort::Low), Some(Effort::Medium), Some(Effort::High), Some(Effort::XHigh), Some(Effort::Max)]
            .map(Some);
    assert_eq!(["none", "low", "medium", "high", "xhigh", "max"].map(|v| read("effort", v, |s| s.effort)), efforts);
    let windows = [Some(None), Some(Some(1_000)), None, None];
    assert_eq!(["auto", "1000", "999", "many"].map(|v| read("context_window", v, |s| s.context_window)), windows);
    let prices = [Some(None), Some(Some(Price { input: 3.0, output: 15.0 })), None];
    assert_eq!(["none", "3/15", "3"].map(|v| read("price", v, |s| s.price)), prices);
    assert_eq!(
        ["0", "1s", "soon"].map(|v| read("key_delay", v, |s| s.key_delay)),
        [Some(Duration::ZERO), Some(second), None]
    );
    let permits =
        [PermissionMode::Ask, PermissionMode::AcceptEdits, PermissionMode::Sandbox, PermissionMode::Allow].map(Some);
    assert_eq!(["ask", "accept-edits", "sandbox", "allow"].map(|v| read("permissions", v, |s| s.permissions)), permits);
    let named = [Vec::new(), vec!["A".to_owned(), "B".to_owned()]].map(Some);
    assert_eq!(["none", "A, B,"].map(|v| read("pass_env", v, |s| s.pass_env)), named);
    assert_eq!(["none", "A, B,"].map(|v| read("sandbox_read", v, |s| s.sandbox_read)), named);
    assert_eq!(["none", "A, B,"].map(|v| read("sandbox_write", v, |s| s.sandbox_write)), named);
    assert_eq!(
        ["auto", "1s", "0"].map(|v| read("mcp_limit", v, |s| s.mcp_limit)),
        [Some(None), Some(Some(second)), None]
    );
    let formats = [Format::Text, Format::Json, Format::Record, Format::Value, Format::Claude];
    let read_formats = ["text", "json", "record", "value", "claude"].map(|v| read("format", v, |s| s.format));
    assert_eq!(read_formats, formats.map(|format| Some(Some(format))));
    assert_eq!(read("format", "auto", |s| s.format), Some(None));
    let policy = Surface::Policy;
    let terminal = Surface::Terminal;
    let inbox = Surface::Inbox;
    assert_eq!(read("via", "terminal,inbox", |s| s.via), Some(vec![terminal, inbox]));
    assert_eq!(read("via", "policy", |s| s.via), Some(vec![policy]));
    assert_eq!(read("via", "letter", |s| s.via), None);
}
