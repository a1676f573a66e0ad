//! The tool as it is offered to a model: name, description, schema, in each provider's shape.
//!
//! Every request of every turn pays for this text, so it is kept small; a test holds the budget.

use crate::input::Input;
use crate::limits::{Limits, Span};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Value, json};

/// The name models call it by.
pub const NAME: &str = "AskUserQuestion";

/// What models are told about it.
pub const DESCRIPTION: &str = include_str!("../prompts/tools/ask-user-question.txt").trim_ascii_end();

/// Whose shape a definition takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Provider {
    /// The bare schema of the input.
    JsonSchema,
    Anthropic,
    /// Chat Completions and everything compatible with it.
    OpenAi,
    Gemini,
    Mcp,
}

/// The JSON Schema of the input under these limits.
pub fn schema(limits: &Limits) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<Input>();
    Bare.transform(&mut schema);
    let mut schema = schema.to_value();
    let questions = &mut schema["properties"]["questions"];
    bound(questions, "Items", limits.questions());
    let question = &mut questions["items"]["properties"];
    bound(&mut question["question"], "Length", limits.question_chars());
    bound(&mut question["header"], "Length", limits.header_chars());
    let options = &mut question["options"];
    bound(options, "Items", limits.options());
    let option = &mut options["items"]["properties"];
    bound(&mut option["label"], "Length", limits.label_chars());
    bound(&mut option["description"], "Length", limits.description_chars());
    schema
}

/// The definition in a provider's shape.
pub fn definition(provider: Provider, limits: &Limits) -> Value {
    let schema = schema(limits);
    match provider {
        Provider::JsonSchema => schema,
        Provider::Anthropic => json!({"name": NAME, "description": DESCRIPTION, "input_schema": schema}),
        Provider::OpenAi => json!({
            "type": "function",
            "function": {"name": NAME, "description": DESCRIPTION, "parameters": schema},
        }),
        Provider::Gemini => json!({"name": NAME, "description": DESCRIPTION, "parameters": schema}),
        // Without the hint some clients refuse the tool when headless; without the mark one hides it behind a search.
        Provider::Mcp => json!({
            "name": NAME,
            "description": DESCRIPTION,
            "inputSchema": schema,
            "title": "Ask the user",
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
            "_meta": {"anthropic/alwaysLoad": true},
        }),
    }
}

/// Leaves out titles and descriptions: the tool's own description says it once.
struct Bare;

impl Transform for Bare {
    fn transform(&mut self, schema: &mut Schema) {
        schema.remove("title");
        schema.remove("description");
        transform_subschemas(self, schema);
    }
}

fn bound(schema: &mut Value, what: &str, span: Span) {
    schema[format!("min{what}")] = span.min.into();
    schema[format!("max{what}")] = span.max.into();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_anthropic_definition_costs_at_most_1400_characters() {
        let minified = definition(Provider::Anthropic, &Limits::DEFAULT).to_string();
        assert!(minified.chars().count() <= 1400, "{} characters: {minified}", minified.chars().count());
    }

    #[test]
    fn the_description_says_what_the_proposals_want_a_model_to_know() {
        for fact in [
            "preferences",
            "ambiguous",
            "never ask whether a plan is ready",
            "ExitPlanMode",
            "recommended option first",
            "\"(Recommended)\"",
            "\"Other\"",
            "multiSelect: true",
            "not mutually exclusive",
            "header: very short",
            "1-5 words",
        ] {
            assert!(DESCRIPTION.contains(fact), "{fact}");
        }
    }

    #[test]
    fn the_schema_follows_the_limits() {
        let limits = Limits::DEFAULT.with_options(2, 8).unwrap().with_header_chars(1, 20).unwrap();
        let question = &schema(&limits)["properties"]["questions"]["items"]["properties"];
        assert_eq!(question["options"]["maxItems"], 8);
        assert_eq!(question["header"]["maxLength"], 20);
    }

    #[test]
    fn the_schema_requires_what_the_proposals_require() {
        let schema = schema(&Limits::DEFAULT);
        let question = &schema["properties"]["questions"]["items"];
        assert_eq!(schema["required"], json!(["questions"]));
        assert_eq!(question["required"], json!(["question", "header", "options", "multiSelect"]));
        assert_eq!(question["properties"]["options"]["items"]["required"], json!(["label", "description"]));
    }

    #[test]
    fn each_provider_gets_its_shape() {
        let shapes = [Provider::JsonSchema, Provider::Anthropic, Provider::OpenAi, Provider::Gemini, Provider::Mcp]
            .map(|provider| definition(provider, &Limits::DEFAULT));
        insta::assert_snapshot!("definitions", serde_json::to_string_pretty(&shapes).unwrap());
    }
}
