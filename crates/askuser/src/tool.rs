//! The tool's definition for models: name, description and schema, in each provider's format.
//!
//! Every request includes the definition, so it is small. A test limits its size.

use crate::limits::{Limits, Span};
use serde_json::{Value, json};

/// The name of the tool.
pub const NAME: &str = "AskUserQuestion";

/// The provider that determines the format of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Provider {
    /// The schema of the input alone.
    JsonSchema,
    Anthropic,
    /// Chat Completions in strict mode, also for compatible servers.
    OpenAi,
    /// The Responses API in strict mode: the format of Chat Completions without the object around the function.
    OpenAiResponses,
    /// One function declaration. A request holds the declarations in `tools: [{"functionDeclarations": […]}]`.
    Gemini,
    Mcp,
}

/// An optional part of a definition. It is left out where it is useless, because every request pays for its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// The relation of the tool to plan mode and ExitPlanMode.
    Plan,
    /// The `preview` of an option.
    Preview,
}

/// Returns the description for models. The description repeats the limits, because several providers drop them from the
/// schema.
pub fn description(limits: &Limits, extras: &[Extra]) -> String {
    let mut text = String::from(include_str!("../prompts/tools/ask-user-question.txt"));
    if extras.contains(&Extra::Plan) {
        text.push_str(include_str!("../prompts/tools/ask-user-question-plan.txt"));
    }
    if extras.contains(&Extra::Preview) {
        text.push_str(include_str!("../prompts/tools/ask-user-question-preview.txt"));
    }
    let range = |span: Span| format!("{}-{}", span.min, span.max);
    for (name, value) in [
        ("{questions}", range(limits.questions)),
        ("{options}", range(limits.options)),
        ("{header}", limits.header_chars.max.to_string()),
        ("{label}", limits.label_chars.max.to_string()),
        ("{description}", limits.description_chars.max.to_string()),
        ("{preview}", limits.preview_chars.to_string()),
    ] {
        text = text.replace(name, &value);
    }
    text.truncate(text.trim_end().len());
    text
}

/// Returns the JSON Schema of an input with these limits.
pub fn schema(limits: &Limits, extras: &[Extra]) -> Value {
    let text = |span: Span| json!({"type": "string", "minLength": span.min, "maxLength": span.max});
    let list =
        |span: Span, items: Value| json!({"type": "array", "items": items, "minItems": span.min, "maxItems": span.max});
    let mut option = json!({
        "type": "object",
        "properties": {"label": text(limits.label_chars), "description": text(limits.description_chars)},
        "required": ["label", "description"],
    });
    if extras.contains(&Extra::Preview) {
        option["properties"]["preview"] = json!({"type": "string", "maxLength": limits.preview_chars});
    }
    let question = json!({
        "type": "object",
        "properties": {
            "question": text(limits.question_chars),
            "header": text(limits.header_chars),
            "options": list(limits.options, option),
            "multiSelect": {"type": "boolean"},
        },
        "required": ["question", "header", "options", "multiSelect"],
    });
    let questions = list(limits.questions, question);
    json!({"type": "object", "properties": {"questions": questions}, "required": ["questions"]})
}

/// Returns the definition in a provider's format.
pub fn definition(provider: Provider, limits: &Limits, extras: &[Extra]) -> Value {
    let schema = schema(limits, extras);
    let description = description(limits, extras);
    match provider {
        Provider::JsonSchema => schema,
        Provider::Anthropic => json!({"name": NAME, "description": description, "input_schema": schema}),
        Provider::OpenAi => json!({
            "type": "function",
            "function": {"name": NAME, "description": description, "strict": true, "parameters": strict(schema)},
        }),
        Provider::OpenAiResponses => json!({
            "type": "function",
            "name": NAME,
            "description": description,
            "strict": true,
            "parameters": strict(schema),
        }),
        Provider::Gemini => json!({"name": NAME, "description": description, "parameters": schema}),
        // Without the hint, some clients refuse the tool when headless. Without the mark, one client hides the tool
        // behind a search.
        Provider::Mcp => json!({
            "name": NAME,
            "description": description,
            "inputSchema": schema,
            "title": "Ask the user",
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
            "_meta": {"anthropic/alwaysLoad": true},
        }),
    }
}

/// Converts a schema to OpenAI's strict mode: objects are closed, every property is required, and an optional one may
/// be null. String lengths are left out, because some models reject them.
fn strict(mut schema: Value) -> Value {
    let Some(keywords) = schema.as_object_mut() else { return schema };
    keywords.retain(|keyword, _| !matches!(keyword.as_str(), "minLength" | "maxLength"));
    if let Some(items) = keywords.get_mut("items") {
        *items = strict(items.take());
    }
    let required = keywords.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| required.as_array().is_some_and(|names| names.iter().any(|known| known == name));
    if let Some(Value::Object(properties)) = keywords.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            *property = strict(property.take());
            if !is_required(name) {
                property["type"] = json!([property["type"], "null"]);
            }
        }
        let names: Vec<&String> = properties.keys().collect();
        let names = json!(names);
        keywords.insert("required".into(), names);
        keywords.insert("additionalProperties".into(), false.into());
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROVIDERS: [Provider; 6] = [
        Provider::JsonSchema,
        Provider::Anthropic,
        Provider::OpenAi,
        Provider::OpenAiResponses,
        Provider::Gemini,
        Provider::Mcp,
    ];

    #[track_caller]
    fn check_cost(extras: &[Extra], most: usize) {
        let minified = definition(Provider::Anthropic, &Limits::DEFAULT, extras).to_string();
        assert!(minified.chars().count() <= most, "{} characters: {minified}", minified.chars().count());
    }

    #[test]
    fn the_whole_anthropic_definition_costs_at_most_1400_characters() {
        check_cost(&[], 1_400);
    }

    #[test]
    fn with_a_plan_mode_the_anthropic_definition_costs_at_most_1550_characters() {
        check_cost(&[Extra::Plan], 1_550);
    }

    #[test]
    fn the_description_says_what_the_proposals_want_a_model_to_know() {
        let description = description(&Limits::DEFAULT, &[]);
        for fact in [
            "preferences",
            "ambiguous",
            "Decide small things yourself",
            "clear, specific, ends with \"?\"",
            "recommended option comes first",
            "\"(Recommended)\"",
            "\"Other\"",
            "multiSelect: true",
            "not mutually exclusive",
            "header: very short",
            "1-5 words",
        ] {
            assert!(description.contains(fact), "{fact}");
        }
    }

    #[test]
    fn the_description_says_the_limits_in_words() {
        let words = description(&Limits::DEFAULT, &[]);
        for fact in [
            "1-4 multiple-choice questions",
            "at most 12 characters",
            "options: 2-4, distinct",
            "at most 50 characters",
            "at most 200 characters",
        ] {
            assert!(words.contains(fact), "{fact}: {words}");
        }
        let limits = wider();
        let words = description(&limits, &[]);
        assert!(words.contains("options: 2-8") && words.contains("at most 20 characters"), "{words}");
        assert!(!words.contains(['{', '}']), "{words}");
    }

    #[test]
    fn a_plan_mode_is_mentioned_only_where_there_is_one() {
        assert!(!description(&Limits::DEFAULT, &[Extra::Preview]).contains("plan"));
        let with = description(&Limits::DEFAULT, &[Extra::Plan]);
        assert!(with.contains("never ask whether a plan is ready or approved (use ExitPlanMode)"), "{with}");
    }

    #[test]
    fn a_preview_is_mentioned_only_if_asked_for_and_is_never_required() {
        let option = "/properties/questions/items/properties/options/items";
        for provider in PROVIDERS {
            assert!(!definition(provider, &Limits::DEFAULT, &[Extra::Plan]).to_string().contains("preview"));
        }
        assert!(description(&Limits::DEFAULT, &[Extra::Preview]).contains("at most 4000 characters"));
        let schema = schema(&Limits::DEFAULT, &[Extra::Preview]);
        let option = schema.pointer(option).unwrap();
        assert_eq!(option["properties"]["preview"], json!({"type": "string", "maxLength": 4_000}));
        assert_eq!(option["required"], json!(["label", "description"]));
    }

    fn wider() -> Limits {
        Limits { options: Span { min: 2, max: 8 }, header_chars: Span { min: 1, max: 20 }, ..Limits::DEFAULT }
    }

    #[test]
    fn the_schema_follows_the_limits() {
        let limits = wider();
        let question = &schema(&limits, &[])["properties"]["questions"]["items"]["properties"];
        assert_eq!(question["options"]["maxItems"], 8);
        assert_eq!(question["header"]["maxLength"], 20);
    }

    #[test]
    fn the_schema_offers_what_is_read_and_nothing_else() {
        use crate::input::{CALL_KEYS, OPTION_KEYS, QUESTION_KEYS};
        let schema = schema(&Limits::DEFAULT, &[Extra::Preview]);
        let questions = &schema["properties"]["questions"];
        let option = &questions["items"]["properties"]["options"]["items"];
        for (object, keys) in [(&schema, CALL_KEYS), (&questions["items"], QUESTION_KEYS), (option, OPTION_KEYS)] {
            let offered: Vec<&String> = object["properties"].as_object().unwrap().keys().collect();
            // `metadata` is for programs, not for models.
            assert_eq!(offered, keys.iter().filter(|key| **key != "metadata").collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_schema_requires_what_the_proposals_require() {
        let schema = schema(&Limits::DEFAULT, &[]);
        let question = &schema["properties"]["questions"]["items"];
        assert_eq!(schema["required"], json!(["questions"]));
        assert_eq!(question["required"], json!(["question", "header", "options", "multiSelect"]));
        assert_eq!(question["properties"]["options"]["items"]["required"], json!(["label", "description"]));
    }

    /// Checks that a schema and its parts meet the requirements of strict mode.
    #[track_caller]
    fn check_strict(schema: &Value) {
        let known = ["type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems"];
        let keywords = schema.as_object().unwrap();
        assert!(keywords.keys().all(|keyword| known.contains(&keyword.as_str())), "{schema}");
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            assert_eq!(schema["additionalProperties"], false, "{schema}");
            assert_eq!(schema["required"], json!(properties.keys().collect::<Vec<_>>()), "{schema}");
            properties.values().for_each(check_strict);
        }
        schema.get("items").into_iter().for_each(check_strict);
    }

    #[test]
    fn openai_gets_schemas_that_pass_its_strict_mode() {
        for extras in [&[][..], &[Extra::Preview]] {
            let chat = definition(Provider::OpenAi, &Limits::DEFAULT, extras);
            let responses = definition(Provider::OpenAiResponses, &Limits::DEFAULT, extras);
            check_strict(&chat["function"]["parameters"]);
            for field in ["name", "description", "strict", "parameters"] {
                assert_eq!(responses[field], chat["function"][field], "{field}");
            }
            assert_eq!((&chat["function"]["strict"], &responses["type"]), (&json!(true), &json!("function")));
        }
    }

    #[test]
    fn each_provider_gets_its_shape() {
        let shapes = PROVIDERS.map(|provider| definition(provider, &Limits::DEFAULT, &[]));
        insta::assert_snapshot!("definitions", serde_json::to_string_pretty(&shapes).unwrap());
    }
}
