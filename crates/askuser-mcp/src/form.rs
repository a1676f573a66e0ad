//! Questions as forms of a client, and the answers in such forms.
//!
//! A form has one question, which every client with forms can show. No field is required, because typed text may
//! replace an option. The rules of the question apply to the result.

use crate::client::Dialogs;
use askuser::input::QuestionInput;
use askuser::store::QuestionId;
use askuser::verbatim::{self, Charset};
use askuser::{Answer, Context, Question, QuestionSet, Request, Rules, Violations, reply, sanitize};
use rmcp::model::{ClientCapabilities, ElicitRequestParams, ProtocolVersion};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// The maximum number of rows of a text to agree to in a client's dialog. A dialog may cut off a longer text, so the
/// person reads it in the inbox.
const MOST_ROWS: usize = 20;
const COLUMNS: usize = 78;

/// Whether a client's dialog can be expected to show the whole request.
pub(crate) fn is_short(request: &Request) -> bool {
    request.context().is_none_or(|context| verbatim::rows(&context.shown(Charset::Utf8), COLUMNS) <= MOST_ROWS)
}

/// Whether a client can show forms. An older client that declares dialogs of no kind can.
pub(crate) fn has_forms(capabilities: &ClientCapabilities) -> bool {
    capabilities.elicitation.as_ref().is_some_and(|dialogs| dialogs.form.is_some() || dialogs.url.is_none())
}

/// The style of the choices in a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choices {
    /// Several choices are a list of which any may be chosen.
    List,
    /// Several choices are one switch for each option, because lists came with protocol 2025-11-25.
    Switches,
    /// The form shows only the options.
    OptionsOnly,
    /// The form shows no question. The person chooses to answer in the inbox, or declines.
    Elsewhere,
}

impl Choices {
    /// Returns the style in which a client can show these questions; `None` if it cannot.
    pub(crate) fn of(
        dialogs: Dialogs,
        capabilities: Option<&ClientCapabilities>,
        version: Option<&ProtocolVersion>,
        set: &QuestionSet,
    ) -> Option<Choices> {
        if !has_forms(capabilities?) {
            return None;
        }
        let has_lists = version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2025_11_25.as_str());
        match dialogs {
            Dialogs::Fatal => None,
            Dialogs::OneChoice => {
                let has_several = set.questions().iter().any(Question::is_multi_select);
                Some(if has_several { Choices::Elsewhere } else { Choices::OptionsOnly })
            }
            Dialogs::Declared => Some(if has_lists { Choices::List } else { Choices::Switches }),
        }
    }
}

/// A submitted form that has no valid answer.
pub(crate) struct Rejected {
    why: Violations,
    is_note_alone: bool,
    content: Value,
}

/// Formats violations without their field names, which a person does not know.
fn said_plainly(why: &Violations) -> String {
    why.iter().map(|violation| format!("{}, {}", violation.fact, violation.limit)).collect::<Vec<_>>().join("; ")
}

/// The option to decline in the form that refers the person to the inbox.
pub(crate) const DECLINE: &str = "Decline";

/// Returns the request that refers the person to the inbox, for a question that the dialog cannot show. Returns `None`
/// if the title of the question does not fit.
pub(crate) fn elsewhere(request: &Request, id: &QuestionId) -> Option<Request> {
    let question = QuestionInput::new(request.title(), "Answer")
        .option("Answer in the inbox (`askuser inbox`)", "the agent waits for it")
        .option(DECLINE, "the agent goes on without an answer");
    let set = QuestionSet::new([question], &Rules::strict()).ok()?;
    let about = format!("This dialog cannot show question {id}. Answer it in another terminal: `askuser answer {id}`");
    Some(Request::new(request.key().clone(), set).with_context(Context::Prose(about)))
}

/// Returns the form of a question; `None` if this style cannot show it. A rejected form is shown again with the reason
/// and with the submitted fields.
pub(crate) fn form(
    request: &Request,
    question: &Question,
    choices: Choices,
    rejected: Option<&Rejected>,
) -> Option<ElicitRequestParams> {
    let names: Vec<&str> = question.options().iter().map(|option| option.name()).collect();
    let mut fields = Map::new();
    match (question.is_multi_select(), choices) {
        (true, Choices::OptionsOnly | Choices::Elsewhere) => return None,
        (false, _) => {
            fields.insert("answer".into(), json!({"type": "string", "title": question.header(), "enum": names}));
        }
        (true, Choices::List) => {
            let items = json!({"type": "string", "enum": names});
            fields.insert("answer".into(), json!({"type": "array", "title": question.header(), "items": items}));
        }
        (true, Choices::Switches) => {
            for (i, name) in names.iter().enumerate() {
                fields.insert(switch(i), json!({"type": "boolean", "title": name, "default": false}));
            }
        }
    }
    let mut message = message(request, question, rejected);
    if matches!(choices, Choices::OptionsOnly | Choices::Elsewhere) {
        message.push_str("\n\nTo say something else, or to add a note: `askuser inbox` in another terminal");
    } else {
        let typed = request.set().limits().typed_chars;
        let instead =
            if question.is_multi_select() { "Something else" } else { "Something else, instead of an option" };
        fields.insert(
            "other".into(),
            json!({"type": "string", "title": "Other", "description": instead, "maxLength": typed}),
        );
        let mut note = json!({"type": "string", "title": "Note", "maxLength": typed});
        if let Some(hint) = request.key().purpose.note_hint() {
            note["description"] = hint.into();
        }
        fields.insert("note".into(), note);
    }
    for (name, field) in &mut fields {
        if let Some(filled_in) =
            rejected.map(|rejected| &rejected.content[name]).filter(|value| may_stand(field, value))
        {
            field["default"] = filled_in.clone();
        }
    }
    let schema = json!({"type": "object", "properties": fields});
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    serde_json::from_value(params).ok()
}

/// Whether a field can hold this value.
fn may_stand(field: &Value, value: &Value) -> bool {
    match value {
        Value::Bool(_) => field["type"] == "boolean",
        Value::String(text) => match field["enum"].as_array() {
            Some(options) => options.contains(value),
            None => field["maxLength"].as_u64().is_some_and(|most| text.chars().count() as u64 <= most),
        },
        Value::Array(chosen) => {
            field["items"]["enum"].as_array().is_some_and(|options| chosen.iter().all(|label| options.contains(label)))
        }
        _ => false,
    }
}

fn message(request: &Request, question: &Question, rejected: Option<&Rejected>) -> String {
    let mut out = String::new();
    match rejected {
        Some(Rejected { is_note_alone: true, .. }) => {
            out.push_str("Choose an option, or type your answer at Other: a note alone is no answer.\n\n");
        }
        Some(Rejected { why, .. }) => _ = writeln!(out, "That is no answer: {}\n", said_plainly(why)),
        None => {}
    }
    let questions = request.set().questions();
    if questions.len() > 1
        && let Some(i) = questions.iter().position(|other| std::ptr::eq(other, question))
    {
        let _ = write!(out, "({} of {}) ", i + 1, questions.len());
    }
    match question.text() {
        text if text.contains('\n') => _ = writeln!(out, "\n{}\n", verbatim::barred(text)),
        text => _ = writeln!(out, "{text}"),
    }
    for part in request.context().map(Context::parts).unwrap_or_default() {
        let _ = writeln!(out, "\n{}\n", verbatim::barred(&part.shown(Charset::Utf8)));
    }
    for option in question.options() {
        let recommended = if option.is_recommended() { " (recommended)" } else { "" };
        let _ = writeln!(out, "- {}{recommended}: {}", option.name(), sanitize::line(option.description()));
    }
    out.truncate(out.trim_end().len());
    out
}

/// Returns the answer in a submitted form; `None` if the form is empty. Some clients add their own Other, whose text
/// comes back as an option.
///
/// # Errors
/// If the form has no valid answer to its question.
pub(crate) fn answer(
    set: &QuestionSet,
    question: &Question,
    content: Option<&Value>,
) -> Option<Result<Answer, Rejected>> {
    let content = content?;
    let typed = |name: &str| {
        let text = content[name].as_str().map(str::to_owned);
        text.filter(|text| !sanitize::is_blank(text))
    };
    let chosen: Vec<&str> = match &content["answer"] {
        Value::Array(chosen) => chosen.iter().filter_map(Value::as_str).collect(),
        Value::String(chosen) => vec![chosen],
        _ => {
            let options = question.options().iter().enumerate();
            let is_on = |(i, _): &(usize, &askuser::Choice)| content[switch(*i)] == true;
            options.filter(is_on).map(|(_, option)| option.name()).collect()
        }
    };
    let is_option =
        |text: &str| question.options().iter().any(|option| option.name() == text || option.label_verbatim() == text);
    let (chosen, theirs): (Vec<&str>, Vec<&str>) =
        chosen.into_iter().filter(|text| !sanitize::is_blank(text)).partition(|text| is_option(text));
    let others: Vec<String> = theirs.into_iter().map(str::to_owned).chain(typed("other")).collect();
    let (other, note) = ((!others.is_empty()).then(|| others.join("\n")), typed("note"));
    let is_note_alone = chosen.is_empty() && other.is_none();
    if is_note_alone && note.is_none() {
        return None;
    }
    let reply = json!({
        "status": "cancelled",
        "answers": [{
            "question": question.text_verbatim(),
            "selectedOptions": chosen,
            "customInput": other,
            "note": note,
        }],
    });
    let answer = reply::outcome(set, &reply).map(|outcome| outcome.answers()[0].clone());
    Some(answer.map_err(|why| Rejected { why, is_note_alone, content: content.clone() }))
}

/// Returns the name of an option's field.
fn switch(i: usize) -> String {
    format!("option{}", i + 1)
}
