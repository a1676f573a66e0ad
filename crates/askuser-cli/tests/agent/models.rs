//! Tests the choice of the model and the list of models, with a provider on this machine.

use crate::place::{Driver, Place, output};
use crate::provider::Provider;
use serde_json::{Value, json};

#[test]
fn a_key_in_the_environment_is_enough() {
    let place = Place::new();
    let provider = Provider::start();
    let mut command = place.askuser(&["agent", "-p", "hello"]);
    command.env("ANTHROPIC_API_KEY", "sk-test-0123456789").env("ANTHROPIC_BASE_URL", &provider.url);
    let (code, stdout, stderr) = output(command.env("GEMINI_API_KEY", "another"));
    assert_eq!((code, stdout.as_str()), (0, "Hi.\n"), "{stderr}");
    let message =
        "askuser: the model is anthropic/claude-sonnet-9, since ANTHROPIC_API_KEY is set (and before GEMINI_API_KEY)";
    assert!(stderr.starts_with(message), "{stderr}");
    let requests = provider.requests();
    assert_eq!(requests[0].0, "GET /v1/models?limit=1000 HTTP/1.1");
    assert_eq!(requests[1].1["model"], "claude-sonnet-9");
}

#[test]
fn a_provider_alone_is_its_default_model_and_a_name_does_not_wait_for_the_list() {
    let place = Place::new();
    let provider = Provider::start();
    for (name, expected) in [("anthropic", "claude-sonnet-9"), ("anthropic/claude-opus-9", "claude-opus-9")] {
        let before = provider.requests().len();
        let mut command = place.askuser(&["agent", "-p", "hello", "--model", name, "--effort", "high"]);
        let (code, stdout, stderr) = output(command.args(["--base-url", &provider.url]));
        assert_eq!((code, stdout.as_str()), (0, "Hi.\n"), "{stderr}");
        let requests = provider.requests().split_off(before);
        let asked: Vec<&Value> = requests.iter().map(|(_, body)| body).filter(|body| !body.is_null()).collect();
        let [body] = asked[..] else { panic!("{requests:?}") };
        assert_eq!((&body["model"], &body["output_config"]), (&json!(expected), &json!({"effort": "high"})));
    }
}

#[test]
fn the_models_of_a_provider_are_listed() {
    let place = Place::new();
    let provider = Provider::start();
    let arguments = ["agent", "models", "anthropic", "--base-url", &provider.url];
    let (code, stdout, _) = output(&mut place.askuser(&arguments));
    let expected = "anthropic/claude-haiku-9   Claude Haiku 9, 200000 tokens\n\
                    anthropic/claude-sonnet-9  Claude Sonnet 9, 123456 tokens (default)\n";
    assert_eq!((code, stdout.as_str()), (0, expected));
    let (_, stdout, _) = output(place.askuser(&arguments).arg("--json"));
    let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = json!({"model": "anthropic/claude-haiku-9", "title": "Claude Haiku 9", "context_window": 200_000, "default": false});
    assert_eq!((lines.len(), &lines[0]), (2, &first));
    let mut all = place.askuser(&["agent", "models"]);
    all.env("ANTHROPIC_API_KEY", "sk-test-0123456789").env("ANTHROPIC_BASE_URL", &provider.url);
    assert_eq!(output(&mut all).1, expected, "without a name: of every provider whose key is set");
}

#[test]
fn a_provider_that_cannot_be_asked_says_why() {
    let place = Place::new();
    let (code, _, stderr) = output(&mut place.askuser(&["agent", "models", "anthropic"]));
    assert_eq!(code, 2);
    let message = "askuser: cannot tell which models anthropic has: anthropic needs a key: set ANTHROPIC_API_KEY\n";
    assert!(stderr.starts_with(message), "{stderr}");
    let (code, _, stderr) = output(&mut place.askuser(&["agent", "models", "nobody"]));
    assert_eq!(code, 2);
    assert!(stderr.starts_with("askuser: there is no provider \"nobody\""), "{stderr}");
    let (code, _, stderr) = output(&mut place.askuser(&["agent", "models"]));
    assert_eq!(code, 2);
    assert!(stderr.starts_with("askuser: no model is chosen, and no key is set\n"), "{stderr}");
}

#[test]
fn an_address_without_a_model_is_not_passed_over() {
    let place = Place::new();
    let provider = Provider::start();
    let elsewhere = Provider::start();
    let script = json!({"turns": [{"text": "One."}]});
    assert_eq!(output(&mut place.agent(&script, &["-p", "hi"])).0, 0);
    let needs_model = "askuser: base_url (from flag, --base-url) needs a model: the address does not name \
                       the provider\nhint: name it with --model, such as --model anthropic\n";
    let needs_provider = "askuser: base_url (from flag, --base-url) needs a provider: it does not say which one is \
                          reached there\nhint: name it: askuser agent models PROVIDER\n";
    for (args, message) in [
        (vec!["agent", "-p", "hi"], needs_model),
        (vec!["agent", "-p", "hi", "--continue"], needs_model),
        (vec!["agent", "models"], needs_provider),
    ] {
        let mut command = place.askuser(&args);
        command.env("ANTHROPIC_API_KEY", "sk-test-0123456789").env("ANTHROPIC_BASE_URL", &elsewhere.url);
        let (code, stdout, stderr) = output(command.args(["--base-url", &provider.url]));
        assert_eq!((code, stdout.as_str(), stderr.as_str()), (2, "", message), "{args:?}");
    }
    let mut command = place.askuser(&["agent", "models", "anthropic"]);
    command.env("ASKUSER_BASE_URL", &provider.url).env("ANTHROPIC_BASE_URL", &elsewhere.url);
    assert_eq!(output(&mut command).0, 0);
    assert_eq!((provider.requests().len(), elsewhere.requests()), (1, Vec::new()));
}

#[test]
fn a_session_is_taken_up_with_the_model_that_answered_before() {
    let place = Place::new();
    let provider = Provider::start();
    let elsewhere = Provider::start();
    let run = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = place.askuser(&["agent", "-p", "hello"]);
        command.env("OPENAI_API_KEY", "sk-test-0123456789").env("OPENAI_BASE_URL", &elsewhere.url);
        output(command.args(args).envs(variables.iter().copied()))
    };
    let here = [("ANTHROPIC_BASE_URL", provider.url.as_str())];
    assert_eq!(run(&["--model", "anthropic/claude-opus-9"], &here).0, 0);
    let (code, stdout, stderr) = run(&["--continue"], &here);
    assert_eq!((code, stdout.as_str()), (0, "Hi.\n"), "{stderr}");
    assert_eq!(stderr, "askuser: the model is anthropic/claude-opus-9, as before; --model chooses another\n");
    let (_, _, stderr) = run(&["--continue"], &[here[0], ("ASKUSER_MODEL", "anthropic/claude-opus-9")]);
    assert_eq!(stderr, "", "who set that model knows");
    assert_eq!(run(&["--continue", "--model", "anthropic/other"], &here).0, 0);
    assert_eq!(run(&["--continue"], &here).0, 0);
    let models = provider.requests().into_iter().filter_map(|(_, mut body)| Some(body.get_mut("model")?.take()));
    let models: Vec<Value> = models.collect();
    let opus = "claude-opus-9";
    assert_eq!(models, [opus, opus, opus, "other", "other"]);
    assert_eq!(elsewhere.requests(), Vec::new(), "the first key is not what decides");
}

#[test]
fn a_session_whose_address_is_not_known_any_more_says_what_is_missing() {
    let place = Place::new();
    let provider = Provider::start();
    let run = |args: &[&str]| {
        let mut command = place.askuser(&["agent", "-p", "hello"]);
        output(command.env("ANTHROPIC_API_KEY", "sk-test-0123456789").args(args))
    };
    assert_eq!(run(&["--model", "anthropic/m", "--base-url", &provider.url]).0, 0);
    let (code, _, stderr) = run(&["--continue"]);
    let message = "askuser: anthropic/m answered before in this session, at an address that was set then and is not now\n\
                hint: give --base-url again; or --model anthropic/m for the provider's own address, or another model\n";
    assert_eq!((code, stderr.as_str()), (2, message));
    assert_eq!(run(&["--continue", "--base-url", &provider.url]).0, 0);
    assert_eq!(provider.requests().iter().filter(|(line, _)| line.starts_with("POST")).count(), 2);
    let session = std::fs::read_to_string(place.sessions().pop().unwrap()).unwrap();
    assert!(!session.contains(&provider.url), "an address is not kept");
}

#[test]
fn examples_are_built_in_and_a_missing_script_names_them() {
    let place = Place::new();
    let (code, stdout, stderr) = output(&mut place.askuser(&["agent", "-p", "go", "--script", "demo"]));
    assert_eq!(code, 3, "it asks, and no person is there: {stdout}{stderr}");
    let (code, _, stderr) = output(&mut place.askuser(&["agent", "-p", "go", "--script", "nope.json"]));
    assert_eq!(code, 2);
    let message = "askuser: --script: cannot open nope.json: No such file or directory\nhint: a file, or one of the examples that \
                are built in: demo, plan\n";
    assert_eq!(stderr, message);
}

#[test]
fn the_window_that_a_list_of_models_states_is_the_one_that_counts() {
    let place = Place::new();
    let provider = Provider::start();
    let mut command = place.askuser(&["agent", "-p", "hello", "--output", "stream-json"]);
    command.env("ANTHROPIC_API_KEY", "sk-test-0123456789").env("ANTHROPIC_BASE_URL", &provider.url);
    let (code, stdout, stderr) = output(&mut command);
    let events: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let context = events.iter().find(|event| event["type"] == "context").unwrap_or_else(|| panic!("{stdout}{stderr}"));
    assert_eq!((code, &context["window"]), (0, &json!(123_456)));
}

#[test]
fn the_window_of_a_named_model_is_looked_for_in_the_list() {
    let place = Place::new();
    let provider = Provider::start();
    let mut command = place.askuser(&["agent", "--model", "anthropic/claude-sonnet-9", "--output", "stream-json"]);
    command.env("ANTHROPIC_API_KEY", "sk-test-0123456789").env("ANTHROPIC_BASE_URL", &provider.url);
    let mut driver = Driver::start(&mut command);
    // The list is requested concurrently with the first request.
    let window = loop {
        driver.send(&json!({"type": "user", "text": "hello"}));
        let context = driver.until("context");
        driver.until("done");
        if !context["window"].is_null() {
            break context["window"].clone();
        }
    };
    assert_eq!(window, 123_456);
    assert_eq!(driver.finish(), 0);
    assert_eq!(provider.requests().iter().filter(|(line, _)| line.starts_with("GET")).count(), 1);
}

#[test]
fn a_provider_that_is_away_is_asked_again_for_as_long_as_retry_for_says() {
    for (time, requests) in [("1s", 2), ("2s", 3)] {
        let (place, provider) = (Place::new(), Provider::answering(|_| Vec::new()));
        let mut command = place.askuser(&["agent", "-p", "hello", "--model", "anthropic/claude-sonnet-9"]);
        command.env("ANTHROPIC_API_KEY", "sk-test-0123456789").env("ANTHROPIC_BASE_URL", &provider.url);
        let (code, _, stderr) = output(command.env("ASKUSER_RETRY_FOR", time));
        let posted = provider.requests().iter().filter(|(line, _)| line.starts_with("POST")).count();
        assert_eq!((code, posted), (2, requests), "{stderr}");
        assert!(stderr.contains("trying again in"), "{stderr}");
    }
}
