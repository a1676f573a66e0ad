//! A tool's call in a few words: what it is about, how it went, what changed.

use askuser::{sanitize, tool};
use askuser_agent::ToolResult;
use serde_json::Value;
use std::time::Duration;

/// A call that is running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// What it is about.
    pub(crate) about: String,
    /// Whose it is, if a subagent's.
    pub(crate) task: Option<String>,
    /// When it began, not counting the time that the person was asked.
    pub(crate) since: Duration,
}

/// A call that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) task: Option<String>,
    pub(crate) went: Went,
    /// Unknown of a call of an earlier process.
    pub(crate) took: Option<Duration>,
    /// What it says for itself, and how much it gave back.
    pub(crate) facts: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Went {
    Well,
    Wrong,
}

/// Calls that show themselves: the prompt and its confirmation say all there is to say.
pub(crate) fn shows_itself(name: &str) -> bool {
    matches!(name, tool::NAME | "ExitPlanMode")
}

/// What a call is about, in one line: the field that says it best, or all of its input.
pub(crate) fn about(input: &Value) -> String {
    const TELLING: &[&str] = &["description", "command", "file_path", "path", "pattern", "url", "query", "name"];
    // A command says more than what the model says about it.
    let order = if input.get("command").is_some() { &TELLING[1..] } else { TELLING };
    let field = order.iter().find_map(|field| input.get(field)?.as_str());
    let text = match field {
        Some(text) => text.trim().to_owned(),
        None if input.as_object().is_some_and(serde_json::Map::is_empty) || input.is_null() => String::new(),
        None => input.to_string(),
    };
    let mut lines = text.lines();
    let first = sanitize::line(lines.next().unwrap_or_default()).into_owned();
    if lines.next().is_some() { format!("{first} ...") } else { first }
}

impl Call {
    pub(crate) fn ended(self, result: &ToolResult, now: Duration) -> Ended {
        let mut facts = Vec::new();
        if let Some(subtitle) = result.metadata.as_ref().and_then(|metadata| metadata.subtitle.as_deref()) {
            let subtitle = sanitize::line(subtitle).into_owned();
            // The title's second half is often what the call is about, which stands there already.
            if !self.about.contains(&subtitle) && !sanitize::is_blank(&subtitle) {
                facts.push(subtitle);
            }
        }
        let lines = result.output.lines().count();
        if lines > 1 {
            facts.push(format!("{lines} lines"));
        }
        let went = if result.success { Went::Well } else { Went::Wrong };
        let took = Some(now.saturating_sub(self.since));
        Ended { name: self.name, about: self.about, task: self.task, went, took, facts }
    }
}

/// What a result changed, if it says so.
pub(crate) fn diff(result: &ToolResult) -> Option<&str> {
    result.metadata.as_ref()?.details.as_ref()?.get("diff")?.as_str().filter(|diff| !diff.trim().is_empty())
}

/// Whether a text is a diff rather than words.
pub(crate) fn is_diff(text: &str) -> bool {
    let begins = ["--- ", "diff ", "@@ ", "Index: "].iter().any(|start| text.trim_start().starts_with(start));
    begins || (text.contains("\n@@ ") && text.contains("\n+++ "))
}

/// A time as people say it: `0.4s`, `12s`, `3m 5s`.
pub(crate) fn span(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        seconds @ 10..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        seconds => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A number as people say it: `950`, `3.1k`, `1.2M`.
pub(crate) fn count(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_about_the_field_that_says_it_best() {
        let check = |input: Value, expected: &str| assert_eq!(about(&input), expected);
        check(json!({"command": "cargo test", "description": "Run the tests"}), "cargo test");
        check(json!({"command": "a\nb"}), "a ...");
        check(json!({"path": "src/main.rs", "content": "…"}), "src/main.rs");
        check(json!({"description": "audit deps", "prompt": "…"}), "audit deps");
        check(json!({"x": 1}), "{\"x\":1}");
        check(json!({}), "");
    }

    #[test]
    fn what_a_model_writes_cannot_move_the_cursor() {
        assert_eq!(about(&json!({"command": "ls \u{1b}[2J\u{202e}x"})), "ls x");
    }

    #[test]
    fn a_result_is_told_in_facts_and_none_twice() {
        let call = Call {
            id: "1".into(),
            name: "Bash".into(),
            about: "ls -l".into(),
            task: None,
            since: Duration::from_secs(1),
        };
        let result = ToolResult::ok("a\nb\nc").titled("Bash", "ls -l");
        let ended = call.clone().ended(&result, Duration::from_secs(3));
        assert_eq!((ended.facts, ended.took), (vec!["3 lines".to_owned()], Some(Duration::from_secs(2))));
        let refused = ToolResult::error("no").titled("Bash", "not allowed");
        let ended = call.ended(&refused, Duration::from_secs(1));
        assert_eq!((ended.facts, ended.went), (vec!["not allowed".to_owned()], Went::Wrong));
    }

    #[test]
    fn times_and_numbers_are_short() {
        let spans = [300, 12_000, 185_000, 3_700_000].map(|millis| span(Duration::from_millis(millis)));
        assert_eq!(spans, ["0.3s", "12s", "3m 5s", "1h 1m"]);
        assert_eq!([950, 3_120, 1_200_000].map(count), ["950", "3.1k", "1.2M"]);
    }
}
