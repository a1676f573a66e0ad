//! Edit, the tool that replaces one string in a file by another. The match must be exact and unique. Line endings and
//! the byte order mark, which models do not see, are adapted to the file.

use super::file_change::{self, Change};
use super::s;
use crate::message::ToolCall;
use crate::tool::{Access, Consent, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use crate::tool_input;
use serde::Deserialize;
use serde_json::json;

/// A tool that replaces a string in a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edit;

const NAME: &str = "Edit";
const BOM: char = '\u{feff}';

impl Tool for Edit {
    fn definition(&self) -> ToolDefinition {
        super::built_in(
            NAME,
            include_str!("../../prompts/tools/edit.txt"),
            json!({
                "path": {"type": "string"},
                "old_string": {"type": "string"},
                "new_string": {"type": "string"},
                "replace_all": {"type": "boolean", "description": "Every match; default false"},
            }),
            &["path", "old_string", "new_string"],
        )
    }

    fn access(&self) -> Access {
        Access::Act
    }

    fn consent(&self, call: &ToolCall, context: &ToolContext) -> Result<Consent, ToolResult> {
        plan(call, context)?.consent(NAME, context)
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(file_change::run(NAME, plan, call, context))
    }
}

#[derive(Deserialize)]
struct Input<'a> {
    path: &'a str,
    old_string: &'a str,
    new_string: &'a str,
    #[serde(default, deserialize_with = "tool_input::flag")]
    replace_all: Option<bool>,
}

fn plan(call: &ToolCall, context: &ToolContext) -> Result<Change, ToolResult> {
    let Input { path, old_string: old, new_string: new, replace_all } = call.typed_input()?;
    let path = file_change::target_path(call, path, context)?;
    let occurrences = if replace_all == Some(true) { Occurrences::All } else { Occurrences::Unique };
    if old.is_empty() {
        return Err(call.invalid_input("old_string", "empty", "must be text of the file; Write makes new files"));
    }
    if old == new {
        return Err(call.invalid_input("new_string", "the same as old_string", "must differ"));
    }
    for (field, text) in [("old_string", old), ("new_string", new)] {
        if text.len() > file_change::MAX_CONTENT {
            let fact = format!("{} bytes", text.len());
            let limit = format!("at most {}", file_change::MAX_CONTENT);
            return Err(call.invalid_input(field, &fact, &limit));
        }
    }
    let shown = path.display();
    let Some(original) = file_change::load_as_agreed(&path, context)? else {
        return Err(ToolResult::error(format!("{shown} does not exist; nothing was done. Write makes new files.")));
    };
    let Ok(text) = std::str::from_utf8(&original.bytes) else {
        return Err(ToolResult::error(format!(
            "{shown} is not UTF-8 text, which Edit cannot change; nothing was done."
        )));
    };
    let (new_content, count) = replace(text, old, new, occurrences)
        .map_err(|error| ToolResult::error(format!("{shown} was not changed: {error}")).with_title(NAME, &shown))?;
    let done = format!("Edited {shown} ({count} replacement{}).", s(count));
    Ok(Change { path, original: Some(original), new_content, done })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occurrences {
    /// The string must match exactly once.
    Unique,
    All,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum EditError {
    #[error(
        "old_string is not in it. It must match exactly; Read the file again and copy it, without the line numbers."
    )]
    NotFound,
    #[error(
        "old_string is in it only with other spaces, tabs or blank lines. It must match exactly; Read the file again \
         and copy it."
    )]
    WhitespaceDiffers,
    #[error(
        "old_string is in it {0} times, must be there once. Add lines around it until it is unique, or set replace_all \
         to change every one."
    )]
    Ambiguous(usize),
    #[error("the edit would leave it as it is.")]
    NoChange,
    #[error("it would have {0} bytes, at most {max} are written.", max = file_change::MAX_FILE)]
    TooLarge(usize),
}

/// Returns the text after the edit and the number of replacements.
fn replace(text: &str, old: &str, new: &str, occurrences: Occurrences) -> Result<(String, usize), EditError> {
    // Read hides the byte order mark, so the model's strings lack it.
    let (mark, body) = match text.strip_prefix(BOM) {
        Some(body) => (&text[..BOM.len_utf8()], body),
        None => ("", text),
    };
    let without_mark = |string: &str| -> String { string.strip_prefix(BOM).unwrap_or(string).to_owned() };
    let (old, new) = if mark.is_empty() { (old.into(), new.into()) } else { (without_mark(old), without_mark(new)) };
    let all = body.matches('\n').count();
    let crlf = body.matches("\r\n").count();
    let as_in_file: fn(&str) -> String = if crlf == 0 { to_lf } else { to_crlf };
    let (after, count) = if crlf > 0 && crlf == all {
        // The text is edited with LF and converted back. So the file keeps CRLF, and no edit splits a CR from its LF.
        let (after, count) = replace_exact(&to_lf(body), &to_lf(&old), &to_lf(&new), occurrences)?;
        (after.replace('\n', "\r\n"), count)
    } else if body.contains(&*old) {
        replace_exact(body, &old, &new, occurrences)?
    } else {
        replace_exact(body, &as_in_file(&old), &as_in_file(&new), occurrences)?
    };
    let after = format!("{mark}{after}");
    if after == text { Err(EditError::NoChange) } else { Ok((after, count)) }
}

fn replace_exact(body: &str, old: &str, new: &str, occurrences: Occurrences) -> Result<(String, usize), EditError> {
    if old.is_empty() || !body.contains(old) {
        return Err(if differs_in_whitespace_only(body, old) {
            EditError::WhitespaceDiffers
        } else {
            EditError::NotFound
        });
    }
    let count = match occurrences {
        Occurrences::All => body.matches(old).count(),
        Occurrences::Unique => check_unique(body, old)?,
    };
    let bytes = (body.len() - count * old.len()).saturating_add(count.saturating_mul(new.len()));
    if bytes as u64 > file_change::MAX_FILE {
        return Err(EditError::TooLarge(bytes));
    }
    Ok((body.replace(old, new), count))
}

/// Returns 1 if `old` matches exactly once. Overlapping matches count.
fn check_unique(body: &str, old: &str) -> Result<usize, EditError> {
    let first = body.find(old).ok_or(EditError::NotFound)?;
    let next = first + body[first..].chars().next().map_or(1, char::len_utf8);
    if body[next..].contains(old) { Err(EditError::Ambiguous(body.matches(old).count().max(2))) } else { Ok(1) }
}

fn to_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn to_crlf(text: &str) -> String {
    to_lf(text).replace('\n', "\r\n")
}

fn differs_in_whitespace_only(body: &str, old: &str) -> bool {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let old = squeezed(old);
    !old.is_empty() && squeezed(body).contains(&old)
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
