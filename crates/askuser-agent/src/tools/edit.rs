//! Edit: one piece of a text for another, exactly. It never guesses which piece is meant; only line ends and the byte
//! order mark, which models do not see, are taken from the file.

use super::change::{self, Change};
use super::input::{Fields, refuse};
use super::s;
use crate::message::ToolCall;
use crate::tool::{Access, Consent, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use serde_json::json;

/// Replaces a piece of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edit;

const NAME: &str = "Edit";
const BOM: char = '\u{feff}';

impl Tool for Edit {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: NAME.into(),
            description: include_str!("../../prompts/tools/edit.txt").trim_ascii_end().into(),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "old_string": {"type": "string"},
                    "new_string": {"type": "string"},
                    "replace_all": {"type": "boolean", "description": "Every match; default false"},
                },
                "required": ["path", "old_string", "new_string"],
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Act
    }

    fn consent(&self, call: &ToolCall, context: &ToolContext) -> Result<Consent, ToolResult> {
        let plan = plan(call, context)?;
        Ok(plan.change.consent(NAME, plan.new, context))
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move { Ok(edit(call, context).unwrap_or_else(|refused| refused)) })
    }
}

fn edit(call: &ToolCall, context: &ToolContext) -> Result<ToolResult, ToolResult> {
    let _turn = change::turn();
    let Plan { change, count, .. } = plan(call, context)?;
    change.apply()?;
    let output = format!("Edited {} ({count} replacement{}).", change.place.shown(), s(count));
    Ok(change.result(NAME, output))
}

struct Plan<'a> {
    change: Change,
    new: &'a str,
    count: usize,
}

fn plan<'a>(call: &'a ToolCall, context: &ToolContext) -> Result<Plan<'a>, ToolResult> {
    let fields = Fields::of(call)?;
    let place = change::place(call, fields.text("path")?, context)?;
    let (old, new) = (fields.text("old_string")?, fields.text("new_string")?);
    let which = if fields.flag("replace_all")? { Which::All } else { Which::Only };
    if old.is_empty() {
        return Err(refuse(call, "old_string", "empty", "must be text of the file; Write makes new files"));
    }
    if old == new {
        return Err(refuse(call, "new_string", "the same as old_string", "must differ"));
    }
    for (field, text) in [("old_string", old), ("new_string", new)] {
        if text.len() > change::MOST_CONTENT {
            let (fact, limit) = (format!("{} bytes", text.len()), format!("at most {}", change::MOST_CONTENT));
            return Err(refuse(call, field, &fact, &limit));
        }
    }
    let shown = place.shown();
    let Some(before) = change::load(&place)? else {
        return Err(ToolResult::error(format!("{shown} does not exist; nothing was done. Write makes new files.")));
    };
    let Ok(text) = std::str::from_utf8(&before.bytes) else {
        return Err(ToolResult::error(format!(
            "{shown} is not UTF-8 text, which Edit cannot change; nothing was done."
        )));
    };
    let (after, count) = replaced(text, old, new, which).map_err(|why| {
        let says = format!("{shown} was not changed: {}", why.says());
        ToolResult::error(says).titled(NAME, shown)
    })?;
    Ok(Plan { change: Change { place, before: Some(before), after }, new, count })
}

/// Which matches are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// The only one there is.
    Only,
    All,
}

/// Why an edit does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Misfit {
    NotFound,
    /// It would be there if blanks did not count.
    OnlyBlanksDiffer,
    Ambiguous(usize),
    NoChange,
    TooLarge(usize),
}

impl Misfit {
    fn says(&self) -> String {
        match self {
            Misfit::NotFound => "old_string is not in it. It must match exactly; Read the file again and copy it, \
                                 without the line numbers."
                .into(),
            Misfit::OnlyBlanksDiffer => {
                "old_string is in it only with other spaces, tabs or blank lines. It must match \
                                         exactly; Read the file again and copy it."
                    .into()
            }
            Misfit::Ambiguous(count) => format!(
                "old_string is in it {count} times, must be there once. Add lines around it until it is unique, or set \
                 replace_all to change every one."
            ),
            Misfit::NoChange => "the edit would leave it as it is.".into(),
            Misfit::TooLarge(bytes) => {
                format!("it would have {bytes} bytes, at most {} are written.", change::MOST_FILE)
            }
        }
    }
}

/// `text` after the edit, and how many matches were replaced.
fn replaced(text: &str, old: &str, new: &str, which: Which) -> Result<(String, usize), Misfit> {
    // Read does not show the mark, so it belongs to none of the strings.
    let (mark, body) = match text.strip_prefix(BOM) {
        Some(body) => (&text[..BOM.len_utf8()], body),
        None => ("", text),
    };
    let without_mark = |string: &str| -> String { string.strip_prefix(BOM).unwrap_or(string).to_owned() };
    let (old, new) = if mark.is_empty() { (old.into(), new.into()) } else { (without_mark(old), without_mark(new)) };
    let (after, count) = match LineEnds::of(body) {
        // Seen as LF throughout, and back: a file of CRLF stays one, and no edit comes between a CR and its LF.
        LineEnds::Crlf => {
            let (after, count) = exact(&to_lf(body), &to_lf(&old), &to_lf(&new), which)?;
            (after.replace('\n', "\r\n"), count)
        }
        LineEnds::Lf if !body.contains(&*old) => exact(body, &to_lf(&old), &to_lf(&new), which)?,
        LineEnds::Mixed if !body.contains(&*old) => exact(body, &to_crlf(&old), &to_crlf(&new), which)?,
        LineEnds::Lf | LineEnds::Mixed => exact(body, &old, &new, which)?,
    };
    let after = format!("{mark}{after}");
    if after == text { Err(Misfit::NoChange) } else { Ok((after, count)) }
}

fn exact(body: &str, old: &str, new: &str, which: Which) -> Result<(String, usize), Misfit> {
    if old.is_empty() || !body.contains(old) {
        return Err(if differs_in_blanks_only(body, old) { Misfit::OnlyBlanksDiffer } else { Misfit::NotFound });
    }
    let count = match which {
        Which::All => body.matches(old).count(),
        Which::Only => only_match(body, old)?,
    };
    let bytes = (body.len() - count * old.len()).saturating_add(count.saturating_mul(new.len()));
    if bytes as u64 > change::MOST_FILE {
        return Err(Misfit::TooLarge(bytes));
    }
    Ok((body.replace(old, new), count))
}

/// One, if the match is the only one; matches may overlap.
fn only_match(body: &str, old: &str) -> Result<usize, Misfit> {
    let first = body.find(old).ok_or(Misfit::NotFound)?;
    let next = first + body[first..].chars().next().map_or(1, char::len_utf8);
    match body[next..].contains(old) {
        false => Ok(1),
        true => Err(Misfit::Ambiguous(body.matches(old).count().max(2))),
    }
}

/// How the lines of a text end.
enum LineEnds {
    Lf,
    Crlf,
    Mixed,
}

impl LineEnds {
    fn of(body: &str) -> LineEnds {
        let (ends, crlf_ends) = (body.matches('\n').count(), body.matches("\r\n").count());
        match crlf_ends {
            0 => LineEnds::Lf,
            _ if crlf_ends == ends => LineEnds::Crlf,
            _ => LineEnds::Mixed,
        }
    }
}

fn to_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn to_crlf(text: &str) -> String {
    to_lf(text).replace('\n', "\r\n")
}

fn differs_in_blanks_only(body: &str, old: &str) -> bool {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let old = squeezed(old);
    !old.is_empty() && squeezed(body).contains(&old)
}

#[cfg(all(test, unix))]
#[path = "edit_tests.rs"]
mod tests;
