//! The question that lets the person choose a model.

use crate::commands::agent::models::{Offered, describe};
use askuser::input::QuestionInput;
use askuser::{QuestionSet, Rules, sanitize};
use askuser_agent::provider::{ModelInfo, default_model};

/// Builds the question. Returns the question, and the models in the order of its options. The current model comes
/// first. Returns `None` if there is no choice.
pub(super) fn question<'a>(offered: &'a Offered, current: &str) -> Option<(QuestionSet, Vec<&'a ModelInfo>)> {
    let Offered { provider, models } = offered;
    let is_current = |model: &&ModelInfo| format!("{}/{}", provider.name, model.name) == current;
    let default = default_model(provider, models);
    let (now, others): (Vec<&ModelInfo>, Vec<&ModelInfo>) =
        models.iter().filter(|model| sanitize::line(&model.name) == model.name).partition(is_current);
    let models = [now, others].concat();
    let text = format!("Which model of {} should answer from now on?", provider.name);
    let question = models.iter().fold(QuestionInput::new(text, "Model"), |question, model| {
        let kind = match (is_current(model), Some(*model) == default) {
            (true, _) => "in use now",
            (false, true) => "the provider's default",
            (false, false) => "",
        };
        let about = describe(model);
        let about = [about.as_str(), kind].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ");
        question.option(format!("{}  {about}", model.name).trim_end(), "")
    });
    let set = QuestionSet::new([question], &Rules::pick()).ok()?;
    (models.len() > 1).then_some((set, models))
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
        let (set, models) = question(offered, current)?;
        let names: Vec<String> = set.questions()[0].options().iter().map(|option| option.name().to_owned()).collect();
        assert!(names.iter().zip(models).all(|(shown, model)| shown.starts_with(&model.name)));
        Some(names)
    }

    #[test]
    fn the_model_in_use_comes_first_then_the_newest() {
        let offered = offered("openai", &["gpt-6-mini", "gpt-6", "gpt-5.9", "gpt-5", "o3"]);
        let expected = [
            "o3  8192 tokens; in use now",
            "gpt-6-mini  8192 tokens",
            "gpt-6  8192 tokens; the provider's default",
            "gpt-5.9  8192 tokens",
            "gpt-5  8192 tokens",
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
        let offered = offered("ollama", &["\u{1b}[2Ja", "b", "c"]);
        assert_eq!(options(&offered, "script").unwrap(), ["b  8192 tokens", "c  8192 tokens"]);
    }
}
