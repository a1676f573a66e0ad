//! A form of an MCP server as questions, where it is made of choices; any other form is Claude Code's to show.

use askuser::input::QuestionInput;
use askuser::{Context, Limits, QuestionSet, Resolution, Rules};
use serde_json::{Map, Value, json};

pub(super) struct Form {
    pub(super) set: QuestionSet,
    /// What the server says, where several questions follow from it.
    pub(super) context: Option<Context>,
    fields: Vec<Field>,
}

/// A field of the form, and what each label of its question stands for.
struct Field {
    name: String,
    is_list: bool,
    choices: Vec<(String, Value)>,
}

impl Form {
    /// The form of an event; `None` if a field is no choice, or does not fit a question.
    pub(super) fn of(event: &Value) -> Option<Form> {
        let message = event["message"].as_str()?;
        let properties = event["requested_schema"]["properties"].as_object()?;
        let fields = properties.iter().map(|(name, schema)| field(name, schema)).collect::<Option<Vec<Field>>>()?;
        let is_single = fields.len() == 1;
        let question = |(field, schema): (&Field, &Value)| {
            let label = ["description", "title"].iter().find_map(|name| schema[*name].as_str());
            let text = if is_single { message } else { label.unwrap_or(&field.name) };
            let header: String = schema["title"].as_str().unwrap_or(&field.name).chars().take(12).collect();
            let question = QuestionInput::new(text, header);
            let question = if field.is_list { question.multi_select() } else { question };
            field.choices.iter().fold(question, |question, (label, _)| question.option(label, ""))
        };
        let questions = fields.iter().zip(properties.values()).map(question);
        let rules = Rules::strict().with_limits(Limits::WITH_BLANK_DESCRIPTIONS).ok()?;
        let set = QuestionSet::new(questions, &rules).ok()?;
        let context = (!is_single).then(|| Context::Prose(message.into()));
        Some(Form { set, context, fields })
    }

    /// What was answered, as the form wants it; `None` if something was typed or noted that it has no place for: without it the
    /// server would take a plain yes for what may have been a condition.
    pub(super) fn content(&self, resolution: &Resolution) -> Option<Value> {
        let mut content = Map::new();
        for (field, question) in self.fields.iter().zip(self.set.questions()) {
            let mut answers = resolution.outcome().answers().iter();
            let answer = answers.find(|answer| answer.question == question.text_verbatim())?;
            if answer.custom_input.is_some() || answer.note.is_some() {
                return None;
            }
            let value =
                |label: &String| field.choices.iter().find(|(choice, _)| choice == label).map(|(_, value)| value);
            let values: Vec<Value> =
                answer.selected_options.iter().map(|label| value(label).cloned()).collect::<Option<_>>()?;
            content.insert(field.name.clone(), if field.is_list { json!(values) } else { values.first()?.clone() });
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

/// `enum` with or without names, or a list of `const` with titles.
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
