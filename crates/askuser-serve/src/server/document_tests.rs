//! Generates the OpenAPI document from the table of routes and the types of bodies and replies.

use super::call::Scoped;
use super::routes;
use crate::api::{Documented, ErrorBody, ROOT};
use askuser::store::CredentialScope;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

pub(super) struct Document {
    schemas: SchemaGenerator,
    paths: Map<String, Value>,
}

impl Default for Document {
    fn default() -> Document {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.meta_schema = None;
            settings.definitions_path = "/components/schemas".into();
        });
        Document { schemas: settings.into_generator(), paths: Map::new() }
    }
}

impl Document {
    pub(super) fn with<S: Scoped, Q: Documented, B: Documented, T: Documented>(
        mut self,
        method: &str,
        path: &str,
        summary: &str,
    ) -> Document {
        let method = &method.to_lowercase();
        let mut content = json!({"application/json": {"schema": self.schemas.subschema_for::<T>()}});
        if path == "/events" {
            content["text/event-stream"] = json!({"schema": {"type": "string"}});
        }
        let responses = json!({
            "2XX": {"description": "It was done", "content": content},
            "default": {"$ref": "#/components/responses/Error"},
        });
        let scopes: Vec<&str> = S::SCOPES.iter().map(|scope| scope.name()).collect();
        let scopes = match scopes.len() {
            0 => "none".to_owned(),
            all if all == CredentialScope::ALL.len() => "any".to_owned(),
            _ => scopes.join(", "),
        };
        let mut operation =
            json!({"summary": summary, "description": format!("Scope: {scopes}"), "responses": responses});
        let named = path
            .split(['{', '}'])
            .nth(1)
            .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
        let headers = [
            ("/questions", "post"),
            ("claim", "post"),
            ("answer", "post"),
            ("decline", "post"),
            ("discuss", "post"),
            ("withdraw", "post"),
        ];
        let has_key = headers.iter().any(|(end, of)| path.ends_with(end) && of == method);
        let key = has_key.then(|| json!({"$ref": "#/components/parameters/Idempotency-Key"}));
        let parameters: Vec<Value> = named.into_iter().chain(key).chain(self.query::<Q>()).collect();
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        if matches!(method.as_str(), "post" | "put") {
            let content = json!({"application/json": {"schema": self.schemas.subschema_for::<B>()}});
            operation["requestBody"] = json!({"content": content});
        }
        if S::SCOPES.is_empty() {
            operation["security"] = json!([]);
        }
        let methods = self.paths.entry(path).or_insert_with(|| json!({}));
        methods[method] = operation;
        self
    }

    /// Returns the parameters of a query.
    fn query<Q: Documented>(&mut self) -> Vec<Value> {
        let schema = Q::json_schema(&mut self.schemas).to_value();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let fields = schema["properties"].as_object().cloned().unwrap_or_default();
        let parameter = |(name, mut schema): (String, Value)| {
            let words = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            let mut parameter =
                json!({"name": name, "in": "query", "required": required.contains(&json!(name)), "schema": schema});
            if let Some(words) = words {
                parameter["description"] = words;
            }
            parameter
        };
        fields.into_iter().map(parameter).collect()
    }

    fn finish(mut self) -> Value {
        let error = self.schemas.subschema_for::<ErrorBody>();
        let schemas = self.schemas.take_definitions(true);
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "askuser serve",
                "version": "1",
                "description": "Questions of agents, and what people answer. Every request has the header X-Askuser: 1. Every body is \
                                JSON. X-Askuser-Via may name the surface at which a person answers. See docs/serve.md.",
            },
            "servers": [{"url": ROOT}],
            "security": [{"token": []}],
            "paths": self.paths,
            "components": {
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
                "parameters": {"Idempotency-Key": {
                    "name": "Idempotency-Key", "in": "header", "required": false, "schema": {"type": "string"},
                    "description": "Names the question, or the attempt: the same again has the same result",
                }},
                "responses": {"Error": {
                    "description": "It was not done", "content": {"application/json": {"schema": error}},
                }},
                "schemas": schemas,
            },
        })
    }
}

/// Formats the JSON of a document with a line for each field of its outer objects.
fn lines(value: &Value, depth: usize) -> String {
    match value.as_object().filter(|fields| depth > 0 && !fields.is_empty()) {
        None => value.to_string(),
        Some(fields) => {
            let indent = " ".repeat(4 - depth);
            let field =
                |(name, value): (&String, &Value)| format!("{indent}{}: {}", json!(name), lines(value, depth - 1));
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{\n{}\n{}}}", fields.join(",\n"), " ".repeat(3 - depth))
        }
    }
}

#[test]
fn the_openapi_document_is_that_of_the_routes() {
    let made = lines(&routes::api().document.finish(), 3) + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(made == kept, "openapi.json differs: run this test with UPDATE_OPENAPI=1 and look at the difference");
}
