//! Converts a form of an MCP server to questions, one for each choice. Claude Code shows the forms that have other
//! required fields.

use askuser::{Context, Limits, QuestionSet, Resolution, Rules};
use serde_json::{Map, Value, json};

pub(super) struct Form {
    pub(super) set: QuestionSet,
    /// The message of the server, or the name of the text field, if the question does not contain it. `None` if neither
    /// is needed.
    pub(super) context: Option<Context>,
    fields: Vec<Field>,
    /// The text field that is filled in instead of the only choice, or in addition to it. `None` without such a field.
    words: Option<String>,
}

/// A choice of the form, with the value of each label.
struct Field {
    name: String,
    is_list: bool,
    choices: Vec<(String, Value)>,
}

impl Form {
    /// Parses the form of an event. Returns `None` if a required field is no choice, or if a choice does not fit a
    /// question.
    pub(super) fn of(event: &Value) -> Option<Form> {
        let message = event["message"].as_str()?;
        let schema = &event["requested_schema"];
        let properties = schema["properties"].as_object()?;
        let is_required = |name: &str| schema["required"].as_array().is_some_and(|names| names.contains(&name.into()));
        let fields: Vec<Field> = properties.iter().filter_map(|(name, schema)| field(name, schema)).collect();
        let is_other = |name: &&String| fields.iter().all(|field| field.name != **name);
        let others: Vec<&String> = properties.keys().filter(is_other).collect();
        let words = match (&fields[..], &others[..]) {
            _ if others.iter().any(|name| is_required(name)) => return None,
            // An answer with text only would leave a required choice open.
            ([choice], [name]) if properties[*name]["type"] == "string" && !is_required(&choice.name) => Some(*name),
            _ => None,
        };
        let question = |field: &Field| {
            let schema = &properties[&field.name];
            let title = schema["title"].as_str();
            let label = schema["description"].as_str().or(title).unwrap_or(&field.name);
            let options = field.choices.iter().map(|(label, _)| json!({"label": label, "description": ""}));
            json!({
                "question": if fields.len() == 1 { message } else { label },
                "header": title.unwrap_or(&field.name).chars().take(12).collect::<String>(),
                "multiSelect": field.is_list,
                "options": options.collect::<Vec<_>>(),
            })
        };
        let questions: Vec<Value> = fields.iter().map(question).collect();
        let source = event["mcp_server_name"].as_str().map(|server| format!("form of {server}"));
        let rules = Rules::strict().with_limits(Limits::WITH_BLANK_DESCRIPTIONS).ok()?;
        let rules = if words.is_some() { rules } else { rules.options_only() };
        let set = QuestionSet::parse(json!({"questions": questions, "metadata": {"source": source}}), &rules).ok()?;
        let context = match words {
            Some(name) => Some(format!("Other and a note fill in `{name}` of the form.")),
            None => (fields.len() > 1).then(|| message.to_owned()),
        };
        Some(Form { set, context: context.map(Context::Prose), fields, words: words.cloned() })
    }

    /// Returns the answers as the form's content; `None` if the form has no field for an answer.
    pub(super) fn content(&self, resolution: &Resolution) -> Option<Value> {
        let mut content = Map::new();
        for (field, question) in self.fields.iter().zip(self.set.questions()) {
            let mut answers = resolution.outcome().answers().iter();
            let answer = answers.find(|answer| answer.question == question.text_verbatim())?;
            let words: Vec<&str> = answer.custom_input.iter().chain(&answer.note).map(String::as_str).collect();
            if !words.is_empty() {
                content.insert(self.words.clone()?, words.join("\n").into());
            }
            let value =
                |label: &String| field.choices.iter().find(|(choice, _)| choice == label).map(|(_, value)| value);
            let values: Vec<Value> =
                answer.selected_options.iter().map(|label| value(label).cloned()).collect::<Option<_>>()?;
            let value = if field.is_list { Some(json!(values)) } else { values.first().cloned() };
            value.into_iter().for_each(|value| drop(content.insert(field.name.clone(), value)));
        }
        Some(content.into())
    }
}

fn field(name: &str, schema: &Value) -> Option<Field> {
    let field = |is_list, choices| Some(Field { name: name.to_owned(), is_list, choices });
    match schema["type"].as_str()? {
        "boolean" => field(false, vec![("Yes".to_owned(), json!(true)), ("No".to_owned(), json!(false))]),
        "string" => field(false, choices(schema)?),
        "array" => field(true, choices(&schema["items"])?),
        _ => None,
    }
}

/// Parses the choices of a schema: an `enum`, with or without names, or a list of `const` with titles. Returns `None`
/// for any other schema.
fn choices(schema: &Value) -> Option<Vec<(String, Value)>> {
    let titled = ["oneOf", "anyOf"].iter().find_map(|name| schema[*name].as_array());
    match (schema["enum"].as_array(), titled) {
        (Some(values), _) => {
            let label = |(i, value): (usize, &Value)| {
                let name = schema["enumNames"][i].as_str().or(value.as_str())?;
                Some((name.to_owned(), value.clone()))
            };
            values.iter().enumerate().map(label).collect()
        }
        (None, Some(options)) => {
            let label = |option: &Value| {
                let value = option.get("const")?;
                Some((option["title"].as_str().or(value.as_str())?.to_owned(), value.clone()))
            };
            options.iter().map(label).collect()
        }
        _ => None,
    }
}
