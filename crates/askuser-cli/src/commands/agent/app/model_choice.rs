//! The question which model is to answer.

use crate::commands::agent::models::{Offered, describe};
use askuser::input::QuestionInput;
use askuser::{QuestionSet, Rules};
use askuser_agent::provider::{ModelInfo, default_model};

/// As many as a question has options; any other can be typed.
const MAX_OPTIONS: usize = 4;

/// How many names are listed above the question.
const MAX_LISTED: usize = 30;

/// The names of all models, as far as they can be shown.
pub(super) fn listed(offered: &Offered) -> String {
    let Offered { provider, models } = offered;
    let names: Vec<String> = models.iter().take(MAX_LISTED).map(|model| clean(&model.name)).collect();
    let names = names.join(", ");
    match models.len().saturating_sub(MAX_LISTED) {
        0 => format!("{} has {names}.", provider.name),
        more => {
            let name = provider.name;
            format!("{name} has {names}, and {more} more: `askuser agent models {name}` lists them all.")
        }
    }
}

/// The question: the model in use, the provider's default, and the newest others. `None` if there is no choice.
pub(super) fn question(offered: &Offered, current: &str) -> Option<QuestionSet> {
    let Offered { provider, models } = offered;
    let is_current = |model: &&ModelInfo| format!("{}/{}", provider.name, model.name) == current;
    let default = default_model(provider, models);
    let mut options: Vec<&ModelInfo> = models.iter().filter(is_current).chain(default).collect();
    options.extend(models);
    let mut unique: Vec<&ModelInfo> = Vec::new();
    for model in options {
        // A label has a limit; longer names can be typed.
        let fits = model.name.chars().count() <= 50 && clean(&model.name) == model.name;
        if fits && unique.len() < MAX_OPTIONS && !unique.contains(&model) {
            unique.push(model);
        }
    }
    let text = format!("Which model of {} should answer from now on?", provider.name);
    let question = unique.iter().fold(QuestionInput::new(text, "Model"), |question, model| {
        let about = describe(model);
        let kind = match (is_current(model), Some(*model) == default) {
            (true, _) => "in use now",
            (false, true) => "the provider's default",
            (false, false) => "",
        };
        let about = [about.as_str(), kind].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ");
        question.option(&model.name, if about.is_empty() { format!("{}/{}", provider.name, model.name) } else { about })
    });
    QuestionSet::new([question], &Rules::strict()).ok()
}

/// The whole name of what was picked or typed.
pub(super) fn full_name(offered: &Offered, answer: &str) -> String {
    let answer = answer.trim();
    let is_whole =
        answer.split_once('/').is_some_and(|(provider, _)| askuser_agent::provider::provider(provider).is_some())
            && !offered.models.iter().any(|model| model.name == answer);
    if is_whole { answer.to_owned() } else { format!("{}/{answer}", offered.provider.name) }
}

fn clean(name: &str) -> String {
    askuser::sanitize::line(name).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser_agent::provider::provider;

    fn offered(name: &str, models: &[&str]) -> Offered {
        let model = |name: &&str| ModelInfo { name: (*name).into(), title: None, context_window: Some(8192) };
        Offered { provider: provider(name).unwrap(), models: models.iter().map(model).collect() }
    }

    fn options(offered: &Offered, current: &str) -> Option<Vec<String>> {
        let set = question(offered, current)?;
        let line = |option: &askuser::Choice| format!("{}: {}", option.name(), option.description());
        Some(set.questions()[0].options().iter().map(line).collect())
    }

    #[test]
    fn the_model_in_use_and_the_default_come_first_then_the_newest() {
        let offered = offered("openai", &["gpt-6-mini", "gpt-6", "gpt-5.9", "gpt-5", "o3"]);
        let expected = [
            "o3: 8192 tokens; in use now",
            "gpt-6: 8192 tokens; the provider's default",
            "gpt-6-mini: 8192 tokens",
            "gpt-5.9: 8192 tokens",
        ];
        assert_eq!(options(&offered, "openai/o3").unwrap(), expected);
    }

    #[test]
    fn one_model_is_no_choice() {
        assert_eq!(options(&offered("ollama", &["qwen3:8b"]), "ollama/qwen3:8b"), None);
        assert_eq!(options(&offered("ollama", &[]), "script"), None);
    }

    #[test]
    fn a_name_that_could_not_be_shown_is_not_offered() {
        let long = "x".repeat(60);
        let offered = offered("ollama", &[&long, "\u{1b}[2Ja", "b", "c"]);
        assert_eq!(options(&offered, "script").unwrap(), ["b: 8192 tokens", "c: 8192 tokens"]);
        assert!(!listed(&offered).contains('\u{1b}'));
    }

    #[test]
    fn what_was_typed_may_be_a_name_of_this_provider_or_of_another() {
        let offered = offered("openrouter", &["openai/gpt-5", "a/b"]);
        assert_eq!(full_name(&offered, "openai/gpt-5"), "openrouter/openai/gpt-5");
        assert_eq!(full_name(&offered, " ollama/qwen3 "), "ollama/qwen3");
        assert_eq!(full_name(&offered, "a/new"), "openrouter/a/new");
    }

    #[test]
    fn a_long_list_is_cut_and_says_where_the_rest_is() {
        let names: Vec<String> = (0..40).map(|i| format!("m{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let words = listed(&offered("openrouter", &names));
        assert!(words.ends_with("m29, and 10 more: `askuser agent models openrouter` lists them all."), "{words}");
    }
}
