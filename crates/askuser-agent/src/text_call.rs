//! Detects a tool call that a model wrote as text because its server does not parse calls. Such a call does not run.

use crate::tool::Registry;
use serde_json::Value;

/// The message that tells the model about the mistake.
pub(crate) const HINT: &str = "[Not from the user: your last message holds a tool call as text. It was not run. Call tools only \
                               through the tool interface, or answer in words.]";

/// The notice that tells the person about the mistake.
pub(crate) const NOTICE: &str = "the model wrote a tool call as text, which was not run; it was told so";

/// The error if the model repeats the mistake.
pub(crate) const FAILURE: &str = "the model writes its tool calls as text, and none was run: start its server with tool calls \
                                  (llama.cpp: --jinja, vLLM: --enable-auto-tool-choice), or choose another model";

/// The marks that servers leave in the text before a call.
const MARKS: [&str; 4] = ["<tool_call>", "<function_call>", "<|tool_call|>", "[TOOL_CALLS]"];

/// Whether a text is a call of one of these tools, or ends with one.
pub(crate) fn is_call(text: &str, tools: &Registry) -> bool {
    let text = text.trim();
    let marked = MARKS.iter().filter_map(|mark| text.split_once(mark)).map(|(_, after)| after);
    let fenced = text.strip_suffix("```").and_then(|text| text.rsplit_once("```")).map(|(_, inside)| inside);
    let has_function = |text: &str| {
        let names = text.split("<function=").skip(1).filter_map(|after| after.split(['>', '\n']).next());
        names.into_iter().any(|name| tools.get(tools.meant(name.trim())).is_some())
    };
    marked.chain(fenced).chain([text]).any(|part| begins_with_call(part, tools)) || has_function(text)
}

/// Whether a text begins with a call in JSON. The name of a language may precede the JSON.
fn begins_with_call(text: &str, tools: &Registry) -> bool {
    let json = text.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c.is_whitespace());
    let first = serde_json::Deserializer::from_str(json).into_iter::<Value>().next();
    match first {
        Some(Ok(Value::Array(calls))) => !calls.is_empty() && calls.iter().all(|call| is_call_value(call, tools)),
        Some(Ok(call)) => is_call_value(&call, tools),
        _ => false,
    }
}

fn is_call_value(value: &Value, tools: &Registry) -> bool {
    let call = if value["function"].is_object() { &value["function"] } else { value };
    let name = ["name", "tool", "function"].iter().find_map(|key| call[*key].as_str());
    let has_input = ["arguments", "parameters", "input"].iter().any(|key| !call[*key].is_null());
    has_input && name.is_some_and(|name| tools.get(tools.meant(name)).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    #[test]
    fn a_call_is_known_by_a_tool_that_there_is_and_its_input() {
        let read = r#"{"name": "Read", "arguments": {"path": "a"}}"#;
        for text in [
            read.to_owned(),
            format!("I look.\n```json\n{read}\n```"),
            format!("```\n[{read}]\n```\n"),
            format!("I look.\n<tool_call>\n{read}\n</tool_call>"),
            format!("[TOOL_CALLS][{read}]"),
            r#"{"type": "function", "function": {"name": "Read", "parameters": {}}}"#.to_owned(),
            r#"{"tool": "default_api:Read", "input": {}}"#.to_owned(),
            "<tool_call>\n<function=Read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>".to_owned(),
        ] {
            assert!(is_call(&text, &tools::all()), "{text}");
        }
        for text in [
            String::new(),
            "I read it.".to_owned(),
            r#"{"name": "Read"}"#.to_owned(),
            r#"{"name": "Elsewhere", "arguments": {}}"#.to_owned(),
            format!("```json\n{read}\n```\nis how a call looks."),
            "[1, 2]".to_owned(),
            "[]".to_owned(),
            "<function=Elsewhere>".to_owned(),
        ] {
            assert!(!is_call(&text, &tools::all()), "{text}");
        }
    }
}
