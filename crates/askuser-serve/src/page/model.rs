//! A question as the page draws it. Every text has passed the gate for untrusted text, and Markdown is parsed into
//! rows. Text to agree to stays exactly as it is.

use askuser::permission::condition;
use askuser::store::{Ending, StoredQuestion};
use askuser::verbatim::{self, Charset};
use askuser::{Choice, Context, Purpose, Question, Request, sanitize};
use askuser_markdown::{DiffLine, Kind, Look, NumberedLine, Piece, Row, has_blocks, inline};
use serde_json::{Value, json};

/// Returns the data that the page needs beside the question's JSON.
pub(crate) fn model(question: &StoredQuestion) -> Value {
    let request = &question.request;
    let origin = request.origin();
    let purpose = request.key().purpose;
    let resolution = question.ending.as_ref().and_then(Ending::resolution);
    let line = |text: &Option<String>| text.as_deref().map(|text| sanitize::line(text).trim().to_owned());
    let folder = line(&origin.folder).map(|path| path.rsplit('/').next().unwrap_or_default().to_owned());
    json!({
        "by": origin.agent_name(),
        "from": folder.filter(|folder| !folder.is_empty()),
        "task": request.asked_by(),
        "host": line(&origin.host),
        "for": request.audience_words(),
        "agreed": request.is_agreed_to(),
        "not_run": resolution.and_then(|resolution| condition(purpose, request.set(), resolution.outcome())),
        "exact": purpose == Purpose::Permission,
        "takes_notes": request.set().rules().form().takes_notes(),
        "note_hint": purpose.note_hint(),
        "typed_max": request.set().limits().typed_chars,
        "title": request.title(),
        "why": request.why().map(|why| askuser_markdown::rows(&sanitize::block(why))),
        "context": request.context().map(|context| context.parts().iter().map(|part| shown(part)).collect::<Vec<_>>()),
        "input": request.context().and_then(Context::raw_input).map(|input| verbatim::shown(&input, Charset::Utf8).into_owned()),
        "questions": request.set().questions().iter().map(|question| asked(question, request)).collect::<Vec<_>>(),
    })
}

fn shown(context: &Context) -> Value {
    let text = context.shown(Charset::Utf8);
    match context {
        Context::Prose(_) => json!({"kind": "prose", "rows": askuser_markdown::rows(&text)}),
        Context::Diff(diff) => {
            let numbered = askuser_markdown::numbered(diff.strip_suffix('\n').unwrap_or(diff)).unwrap_or_default();
            let mut is_first = true;
            let line = |(at, line): (usize, &str)| match numbered.get(at) {
                Some(NumberedLine { says: DiffLine::Place, .. }) => {
                    let text = line.splitn(3, "@@").nth(2).unwrap_or_default();
                    // Before the first hunk of a file, this line carries no information.
                    let is_needed = !std::mem::take(&mut is_first) || !text.is_empty();
                    is_needed.then(|| json!({"text": text, "says": DiffLine::Place, "number": "⋮"}))
                }
                Some(numbered) => {
                    is_first |= numbered.says == DiffLine::File;
                    Some(json!({"text": line, "says": numbered.says, "number": numbered.number()}))
                }
                None => Some(json!({"text": line, "says": DiffLine::of(line)})),
            };
            json!({"kind": "diff", "lines": text.split('\n').enumerate().filter_map(line).collect::<Vec<_>>()})
        }
        _ => {
            let lines = text.split('\n').map(|line| json!({"text": line, "says": null}));
            json!({"kind": json!(context)["kind"], "lines": lines.collect::<Vec<_>>()})
        }
    }
}

fn asked(question: &Question, request: &Request) -> Value {
    json!({
        "header": question.header(),
        "header_verbatim": question.header_verbatim(),
        "text": question.text(),
        "verbatim": question.text_verbatim(),
        "rows": if request.key().purpose == Purpose::Permission { plain(question.text()) } else { rows(question.text()) },
        "multi": question.is_multi_select(),
        "other": request.set().rules().form().takes_text(),
        "options": question.options().iter().map(option).collect::<Vec<_>>(),
    })
}

fn option(option: &Choice) -> Value {
    json!({
        "label": option.label_verbatim(),
        "name": option.name(),
        "recommended": option.is_recommended(),
        "rows": (!option.description().is_empty()).then(|| rows(option.description())),
        "preview": option.preview().map(askuser_markdown::rows),
    })
}

/// Parses a text into rows as the prompt does. Without lists and code blocks, only bold text and inline code are
/// parsed.
fn rows(text: &str) -> Vec<Row> {
    if has_blocks(text) {
        askuser_markdown::rows(text)
    } else {
        text.lines().map(|line| row(inline(line).unwrap_or_else(|| pieces(line)))).collect()
    }
}

fn plain(text: &str) -> Vec<Row> {
    text.lines().map(|line| row(pieces(line))).collect()
}

fn pieces(line: &str) -> Vec<Piece> {
    vec![Piece { text: line.to_owned(), look: Look::default() }]
}

fn row(pieces: Vec<Piece>) -> Row {
    Row { quotes: 0, indent: 0, marker: None, kind: Kind::Prose, pieces }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::store::{Cursor, QuestionId};
    use askuser::{QuestionSet, RequestKey, Rules};
    use std::sync::Arc;

    fn shown(request: Request) -> Value {
        let id = QuestionId::parse("0123456789ab").unwrap();
        model(&StoredQuestion::new(id, Arc::new(request), 0, Cursor::default()))
    }

    fn request(text: &str, purpose: Purpose) -> Request {
        let input = json!({"questions": [{"question": text, "header": "Bash", "multiSelect": false, "options": [
            {"label": "A (Recommended)", "description": "**a**"}, {"label": "B", "description": "b"},
        ]}]});
        let set = QuestionSet::parse(input, &Rules::strict()).unwrap();
        Request::new(RequestKey::new("s", "c").for_purpose(purpose), set)
    }

    #[test]
    fn marks_are_read_in_a_question_and_not_in_what_is_agreed_to() {
        let pieces = |model: &Value| model["questions"][0]["rows"][0]["pieces"].clone();
        let question = shown(request("Use **it**?", Purpose::Question));
        assert_eq!(pieces(&question), json!([{"text": "Use "}, {"text": "it", "bold": true}, {"text": "?"}]));
        let permission = shown(request("Run **it**?", Purpose::Permission));
        assert_eq!(pieces(&permission), json!([{"text": "Run **it**?"}]));
        assert_eq!((&permission["exact"], &question["exact"]), (&json!(true), &json!(false)));
        let option = &question["questions"][0]["options"][0];
        assert_eq!((&option["name"], &option["label"]), (&json!("A"), &json!("A (Recommended)")));
    }

    #[test]
    fn what_is_agreed_to_is_shown_line_by_line_with_nothing_left_out() {
        let context = Context::Command("echo a\u{202e}\n\trm b ".into());
        let model = shown(request("Run it?", Purpose::Permission).with_context(context));
        assert_eq!(model["agreed"], json!(true));
        let lines = json!([{"text": "echo a<U+202E>", "says": null}, {"text": "→   rm b␣", "says": null}]);
        assert_eq!(model["context"], json!([{"kind": "command", "lines": lines}]));
        let model = shown(request("Write it?", Purpose::Permission).with_context(Context::Diff("-a\n+b\n".into())));
        let lines = json!([{"text": "-a", "says": "removed"}, {"text": "+b", "says": "added"}]);
        assert_eq!(model["context"][0]["lines"], lines);
        let whole = Context::Diff("--- x\n+++ x\n@@ -7 +7 @@\n-a\n+b\n@@ -20 +19,0 @@\n-c\n".into());
        let model = shown(request("Write it?", Purpose::Permission).with_context(whole));
        let lines = json!([
            {"text": "--- x", "says": "file", "number": null},
            {"text": "+++ x", "says": "file", "number": null},
            {"text": "-a", "says": "removed", "number": 7},
            {"text": "+b", "says": "added", "number": 7},
            {"text": "", "says": "place", "number": "⋮"},
            {"text": "-c", "says": "removed", "number": 20},
        ]);
        assert_eq!(model["context"][0]["lines"], lines);
    }

    #[test]
    fn no_escape_sequence_reaches_a_page() {
        let mut rude = request("Which\u{1b}]0;x\u{7}?", Purpose::Question);
        rude = rude.with_origin(askuser::Origin::default().with_agent("a\u{1b}[2J").with_folder("/srv/sh\u{202e}op"));
        let text = shown(rude).to_string();
        let verbatim = r#""verbatim":"Which\u001b]0;x\u0007?""#;
        assert!(text.contains(verbatim), "what is sent back is as it was: {text}");
        assert!(!text.replace(verbatim, "").contains(r"\u001b") && !text.contains('\u{202e}'), "{text}");
    }
}
