use super::*;

fn with<'a>(variables: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
    move |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
}

#[track_caller]
fn fails(spec: &str, variables: &[(&str, &str)], base_url: Option<&str>, message: &str) {
    let environment = with(variables);
    let config = ProviderConfig { base_url: base_url.map(str::to_owned), ..ProviderConfig::new(&environment) };
    assert_eq!(connect(spec, &config).map(|model| model.name()).unwrap_err().to_string(), message);
}

#[track_caller]
fn goes_to(provider: &str, model: &str, variables: &[(&str, &str)], base_url: Option<&str>, url: &str) {
    let provider = PROVIDERS.iter().find(|known| known.name == provider).unwrap();
    let environment = with(variables);
    let config = ProviderConfig { base_url: base_url.map(str::to_owned), ..ProviderConfig::new(&environment) };
    let (base, _) = self::base_url(provider, &config).unwrap();
    assert_eq!(request_url(base, provider.protocol, model).as_str(), url);
}

const KEY: &[(&str, &str)] = &[("ANTHROPIC_API_KEY", "sk-ant-secret")];

#[test]
fn the_name_may_have_slashes_of_its_own() {
    let environment = with(&[("OPENROUTER_API_KEY", "k")]);
    let model = connect("openrouter/anthropic/claude-x", &ProviderConfig::new(&environment)).map(|model| model.name());
    assert_eq!(model, Ok("openrouter/anthropic/claude-x".into()));
}

#[test]
fn an_unknown_provider_error_lists_the_known_ones() {
    fails(
        "gpt-5",
        KEY,
        None,
        "there is no provider \"gpt-5\"; write provider/name, with one of: anthropic, openai, openai-chat, gemini, openrouter, \
         ollama, llamacpp, vllm",
    );
}

#[test]
fn a_provider_without_a_model_is_not_enough() {
    fails("anthropic/", KEY, None, "anthropic: which model? write anthropic/name");
    fails("anthropic", KEY, None, "anthropic: which model? write anthropic/name");
}

#[test]
fn a_missing_key_is_named() {
    fails("anthropic/claude", &[], None, "anthropic needs a key: set ANTHROPIC_API_KEY");
    fails("gemini/x", &[("GEMINI_API_KEY", " ")], None, "gemini needs a key: set GEMINI_API_KEY");
}

#[test]
fn a_key_that_cannot_be_sent_is_not_repeated() {
    fails(
        "anthropic/claude",
        &[("ANTHROPIC_API_KEY", "sk\nsecret")],
        None,
        "the key in ANTHROPIC_API_KEY has characters that cannot be sent in an HTTP header",
    );
}

#[test]
fn only_http_and_https_are_accepted() {
    fails(
        "anthropic/claude",
        KEY,
        Some("ftp://host"),
        "the base URL of anthropic: scheme is ftp, must be http or https",
    );
    fails(
        "openai/gpt",
        &[("OPENAI_BASE_URL", "nonsense")],
        None,
        "the base URL of openai in OPENAI_BASE_URL: not a URL (relative URL without a base), must be one such as https://host/v1",
    );
}

#[test]
fn a_base_url_holds_no_secrets() {
    fails(
        "openai/gpt",
        &[],
        Some("https://me:secret@host/v1"),
        "the base URL of openai: contains a user name or password; put keys in an environment variable",
    );
}

#[test]
fn a_given_base_url_overrides_the_variable() {
    let variables = [("OPENAI_BASE_URL", "http://variable/v1")];
    goes_to("openai", "gpt", &variables, Some("http://given/v1/"), "http://given/v1/responses");
    goes_to("openai", "gpt", &variables, None, "http://variable/v1/responses");
    goes_to("openai", "gpt", &[], None, "https://api.openai.com/v1/responses");
    goes_to("openai-chat", "gpt", &variables, None, "http://variable/v1/chat/completions");
}

#[test]
fn a_version_in_the_base_url_is_not_repeated() {
    for base in ["https://api.anthropic.com", "https://api.anthropic.com/", "https://api.anthropic.com/v1"] {
        goes_to("anthropic", "claude", &[], Some(base), "https://api.anthropic.com/v1/messages");
    }
    for base in ["https://g.example", "https://g.example/v1beta/"] {
        let url = "https://g.example/v1beta/models/gemini-x:streamGenerateContent?alt=sse";
        goes_to("gemini", "gemini-x", &[], Some(base), url);
        goes_to("gemini", "models/gemini-x", &[], Some(base), url);
    }
}

#[test]
fn a_name_cannot_lead_to_another_path() {
    goes_to(
        "gemini",
        "models/../../evil?x#y",
        &[],
        Some("https://g.example"),
        "https://g.example/v1beta/models/..%2F..%2Fevil%3Fx%23y:streamGenerateContent?alt=sse",
    );
}

#[test]
fn the_address_of_a_local_server_is_completed() {
    for (written, url) in [
        ("", "http://127.0.0.1:11434/v1/chat/completions"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1/chat/completions"),
        (":1234", "http://127.0.0.1:1234/v1/chat/completions"),
        ("box", "http://box:11434/v1/chat/completions"),
        ("box:80", "http://box/v1/chat/completions"),
        ("https://box", "https://box/v1/chat/completions"),
        ("http://box:9/api/v1", "http://box:9/api/v1/chat/completions"),
    ] {
        goes_to("ollama", "qwen", &[("OLLAMA_HOST", written)], None, url);
    }
}

#[test]
fn a_custom_base_url_needs_no_key() {
    let environment = with(&[]);
    let config = ProviderConfig { base_url: Some("http://127.0.0.1:1/v1".into()), ..ProviderConfig::new(&environment) };
    assert_eq!(connect("openai/gpt", &config).map(|model| model.name()), Ok("openai/gpt".into()));
}

#[test]
fn the_table_names_each_provider_and_variable_once() {
    // The provider `openai-chat` has the same variables as `openai`.
    let own = || PROVIDERS.iter().filter(|provider| provider.name != "openai-chat");
    let mut names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name).collect();
    names.extend(own().map(|provider| provider.base_url_variable));
    names.extend(own().flat_map(|provider| provider.key_variables));
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}
