//! Tool calls as the person sees them. A call is one line with its input, its ending and its duration.

use super::outputs::OutputId;
use askuser::{QuestionSet, sanitize, tool};
use askuser_agent::{ToolResult, USER_COMMAND};
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunningCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Value,
    /// The input in one line, see [`about`].
    pub(crate) about: String,
    pub(crate) task: Option<String>,
    /// The calls that started the subagent; empty for a call of the main agent.
    pub(crate) tasks: Vec<String>,
    pub(crate) since: Duration,
    /// The time since which the call waits for the person's decision; `None` if it does not wait. One question is asked
    /// at a time.
    pub(crate) waits_since: Option<Duration>,
    /// The time for which the call has waited for the person so far.
    pub(crate) waited: Duration,
    /// The output so far; `None` without output.
    pub(crate) output: Option<OutputId>,
    /// The person's choice about the call's permission; `None` if they were not asked.
    pub(crate) permission: Option<String>,
    /// The result of an ended call that still waits for an earlier call; `None` while the call runs.
    pub(crate) ended: Option<Box<EndedCall>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EndedCall {
    pub(crate) summary: CallSummary,
    pub(crate) result: ToolResult,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallSummary {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) task: Option<String>,
    pub(crate) status: CallStatus,
    /// The failure in a few words, such as an exit code. `None` without a failure.
    pub(crate) ending: Option<String>,
    /// The person's choice about the call's permission; `None` if they were not asked.
    pub(crate) permission: Option<String>,
    /// Whether the person was asked for permission.
    pub(crate) was_asked: bool,
    /// The duration of the call; `None` if it was less than a second.
    pub(crate) took: Option<Duration>,
    /// The size of the output, and its subtitle.
    pub(crate) facts: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CallStatus {
    #[default]
    Succeeded,
    Failed,
    /// The call is not finished, because the person is being asked first.
    Asking,
    Running,
}

/// Returns whether a tool needs no separate line, because the prompt and its confirmation show the call.
pub(crate) fn is_shown_by_prompt(name: &str) -> bool {
    matches!(name, tool::NAME | "ExitPlanMode")
}

/// Returns a tool's name for the beginning of an askuser line. A model can call an unknown tool by any name, with
/// blanks and signs. Such a name is shown in quotes.
pub(crate) fn shown_name(name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name == USER_COMMAND || (!name.is_empty() && name.chars().all(is_word)) {
        name.to_owned()
    } else {
        format!("unknown tool {:?}", without_signs(&sanitize::line(name)))
    }
}

/// Returns untrusted text for an askuser line, without the signs that mark results.
pub(crate) fn without_signs(text: &str) -> Cow<'_, str> {
    const OURS: [char; 19] =
        ['✔', '✓', '✅', '☑', '✘', '✗', '✖', '❌', '●', '⏺', '⬤', '⚫', '○', '•', '∙', '·', '⚠', '…', '→'];
    if text.contains(OURS) { text.replace(OURS, "\u{fffd}").into() } else { text.into() }
}

/// Returns a call's input in one line: its most descriptive field, or the whole input.
pub(crate) fn about(input: &Value) -> String {
    const DESCRIPTIVE_FIELDS: &[&str] =
        &["description", "command", "file_path", "pattern", "path", "url", "query", "name"];
    // The command itself is more reliable than the model's description of it.
    let order = if input.get("command").is_some() { &DESCRIPTIVE_FIELDS[1..] } else { DESCRIPTIVE_FIELDS };
    let field = order.iter().find_map(|field| Some((*field, input.get(field)?.as_str()?)));
    let text = match (field, input.get("path").and_then(Value::as_str)) {
        (Some(("pattern", pattern)), Some(path)) => format!("{} in {path}", pattern.trim()),
        (Some((_, text)), _) => text.trim().to_owned(),
        (None, _) if input.as_object().is_some_and(serde_json::Map::is_empty) || input.is_null() => String::new(),
        // The JSON is invalid or truncated. The model gets the error.
        (None, _) if input.is_string() => "with an input that is not whole".to_owned(),
        (None, _) => input.to_string(),
    };
    let mut lines = text.lines();
    let first = sanitize::line(lines.next().unwrap_or_default()).into_owned();
    if lines.next().is_some() { format!("{first} ...") } else { first }
}

impl RunningCall {
    pub(crate) fn new(id: String, name: String, input: &Value, task: Option<&str>, now: Duration) -> RunningCall {
        let about = about(input);
        let task = task.map(str::to_owned);
        RunningCall { id, name, input: input.clone(), about, task, since: now, ..RunningCall::default() }
    }

    /// Returns the running time without the waits for the call's own questions. Questions of other calls do not stop
    /// it.
    pub(crate) fn working_time(&self, now: Duration) -> Duration {
        self.waits_since.unwrap_or(now).saturating_sub(self.since + self.waited)
    }

    pub(crate) fn question_closed(&mut self, now: Duration) {
        if let Some(since) = self.waits_since.take() {
            self.waited += now.saturating_sub(since);
        }
    }

    fn says(&self, text: &str) -> bool {
        let mut texts = self.input.as_object().into_iter().flat_map(|fields| fields.values()).filter_map(Value::as_str);
        self.about.contains(text) || texts.any(|input| sanitize::line(input).contains(text))
    }

    /// Returns the line that is printed above the call's question, so that the answer below it has a context.
    pub(crate) fn asking(&self, set: &QuestionSet) -> CallSummary {
        let about = sanitize::line(set.questions()[0].text()).into_owned();
        let name = if is_shown_by_prompt(&self.name) { "Question".to_owned() } else { shown_name(&self.name) };
        CallSummary { name, about, status: CallStatus::Asking, ..self.running() }
    }

    pub(crate) fn running(&self) -> CallSummary {
        let name = shown_name(&self.name);
        let about = self.about.clone();
        let task = self.task.clone();
        CallSummary { name, about, task, status: CallStatus::Running, ..CallSummary::default() }
    }

    pub(crate) fn finish(&self, result: &ToolResult) -> CallSummary {
        let mut facts = Vec::new();
        let ending = ending(result);
        let lines = failure_output(result, ending.as_deref()).lines().count();
        let is_part = details(result)["output_file"].is_string();
        if let Some(files) = details(result)["files"].as_u64() {
            facts.push(counted(files as usize, "file"));
        } else if lines > 1 && !is_part {
            facts.push(format!("{lines} lines"));
        }
        // A command is shown itself, and its subtitle is only the model's description.
        let subtitle = result.metadata.as_ref().filter(|_| self.input.get("command").is_none());
        if let Some(subtitle) = subtitle.and_then(|metadata| metadata.subtitle.as_deref()) {
            let subtitle = sanitize::line(subtitle).into_owned();
            // The subtitle often repeats the input of the call. It is then the model's text and not a fact.
            let whole = subtitle.trim_end_matches('…').trim_end();
            if !self.says(whole) && !sanitize::is_blank(whole) {
                facts.push(without_signs(&subtitle).into_owned());
            }
        }
        let status = if result.success { CallStatus::Succeeded } else { CallStatus::Failed };
        let took = result.took_ms.map(Duration::from_millis);
        facts.retain(|fact| ending.as_ref().is_none_or(|ending| !fact.eq_ignore_ascii_case(ending)));
        let permission = self.permission.clone().filter(|_| refusal(result).is_none());
        let was_asked = self.permission.is_some();
        CallSummary { status, ending, permission, was_asked, took, facts, ..self.running() }
    }
}

/// Returns the details of a result, or null.
pub(crate) fn details(result: &ToolResult) -> &Value {
    static NULL: Value = Value::Null;
    result.metadata.as_ref().and_then(|metadata| metadata.details.as_ref()).unwrap_or(&NULL)
}

/// Returns the person's decision about a refused call; `None` if the call was not refused.
fn refusal(result: &ToolResult) -> Option<&Value> {
    details(result).get("permission")
}

/// Returns the failure of a call in a few words; `None` if the call succeeded.
fn ending(result: &ToolResult) -> Option<String> {
    if refusal(result).is_some() {
        let subtitle = result.metadata.as_ref().and_then(|metadata| metadata.subtitle.as_deref());
        return Some(sanitize::line(subtitle.unwrap_or("not allowed")).to_lowercase());
    }
    let details = details(result);
    match (details["exit_code"].as_i64(), details["signal"].as_i64()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, Some(signal)) => Some(format!("killed by signal {signal}")),
        (None, None) if details["stopped"] == true => Some("interrupted".to_owned()),
        (None, None) if details["ending"].is_string() => details["ending"].as_str().map(str::to_owned),
        (None, None) => (details["timed_out"] == true).then(|| "timed out".to_owned()),
    }
}

/// Returns the output of a failed call, without the words that [`ending`] replaces. For a refused call, returns only
/// the person's message.
pub(crate) fn failure_output<'a>(result: &'a ToolResult, ending: Option<&str>) -> Cow<'a, str> {
    let output = result.output.trim_end();
    if let Some(refusal) = refusal(result) {
        let answer = &refusal["answers"][0];
        let said = [&refusal["reason"], &refusal["message"], &answer["customInput"], &answer["note"]];
        return said.into_iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n").into();
    }
    // The rest of the output is meant for the model.
    if details(result)["ending"].is_string() {
        return "".into();
    }
    // The output of a command begins with a line about its end.
    if ending.is_none() || details(result).get("exit_code").is_none() {
        return output.into();
    }
    output.split_once('\n').map_or("", |(_, after)| after.trim_start_matches('\n')).into()
}

pub(crate) fn diff(result: &ToolResult) -> Option<&str> {
    details(result)["diff"].as_str().filter(|diff| !diff.trim().is_empty())
}

/// Formats a duration in a short form: `0.4s`, `12s`, `3m 5s`.
pub(crate) fn format_duration(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        seconds @ 10..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        seconds => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Formats a count with its noun: `1 line`, `2 lines`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Formats a count in a short form: `950`, `3.1k`, `1.2M`.
pub(crate) fn format_count(number: u64) -> String {
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
        check(json!({"path": "src", "pattern": "fn main"}), "fn main in src");
        check(json!({"description": "audit deps", "prompt": "…"}), "audit deps");
        check(json!({"x": 1}), "{\"x\":1}");
        check(json!("{\"path\":\"big.txt\",\"con"), "with an input that is not whole");
        check(json!({}), "");
    }

    #[test]
    fn what_a_model_writes_cannot_move_the_cursor() {
        assert_eq!(about(&json!({"command": "ls \u{1b}[2J\u{202e}x"})), "ls x");
    }

    fn call(name: &str, input: Value) -> RunningCall {
        RunningCall::new("1".into(), name.into(), &input, None, Duration::from_secs(1))
    }

    fn facts(call: &RunningCall, result: &ToolResult) -> Vec<String> {
        call.finish(result).facts
    }

    #[test]
    fn a_result_is_told_in_facts_and_none_twice() {
        let read = call("Read", json!({"path": "src/a.rs"}));
        let result = ToolResult::ok("a\nb\nc").with_title("Read", "src/a.rs");
        let ended = read.finish(&result);
        assert_eq!((ended.facts, ended.took), (vec!["3 lines".to_owned()], None));
        let refused = ToolResult::error("no").with_title("Read", "not allowed");
        let ended = read.finish(&refused);
        assert_eq!((ended.facts, ended.status), (vec!["not allowed".to_owned()], CallStatus::Failed));
    }

    #[test]
    fn what_the_model_says_about_a_command_does_not_take_the_commands_place() {
        let bash = call("Bash", json!({"command": "rm -r build", "description": "Look around"}));
        assert_eq!(bash.about, "rm -r build");
        assert_eq!(facts(&bash, &ToolResult::ok("").with_title("Bash", "Look around")), Vec::<String>::new());
    }

    #[test]
    fn a_subtitle_that_was_cut_is_not_told_beside_the_whole() {
        let task = call("Task", json!({"description": "audit all of the dependencies"}));
        assert_eq!(facts(&task, &ToolResult::ok("").with_title("Task", "audit all of…")), Vec::<String>::new());
    }

    #[test]
    fn a_pattern_of_the_model_is_not_told_as_a_fact_about_the_call() {
        let glob = call("Glob", json!({"pattern": "*\n✔ Bash: Allow once"}));
        assert_eq!(glob.about, "* ...");
        let result = ToolResult::ok("").with_title("Glob", "*\n✔ Bash: Allow once");
        assert_eq!(facts(&glob, &result), Vec::<String>::new());
    }

    #[test]
    fn a_tool_that_there_is_not_is_shown_as_a_text_and_with_none_of_our_signs() {
        assert_eq!(["Bash", "mcp__a-b", "!"].map(shown_name), ["Bash", "mcp__a-b", "!"]);
        assert_eq!(shown_name("Bash rm x  ✔ Allow once"), "unknown tool \"Bash rm x  \u{fffd} Allow once\"");
        assert_eq!(["", "/diff"].map(shown_name), ["unknown tool \"\"", "unknown tool \"/diff\""]);
    }

    #[test]
    fn time_spent_on_the_question_of_another_call_is_time_at_work() {
        let secs = Duration::from_secs;
        let mut own = call("Bash", json!({"command": "ls"}));
        own.waits_since = Some(secs(5));
        let other = call("Task", json!({"description": "audit"}));
        assert_eq!([&own, &other].map(|call| call.working_time(secs(61))), [secs(4), secs(60)]);
        own.question_closed(secs(55));
        assert_eq!(own.working_time(secs(71)), secs(20));
    }

    #[test]
    fn how_a_command_failed_is_said_once() {
        let check = |output: &str, shown: &str| {
            let result = ToolResult::error(output).with_details(json!({"exit_code": 2}));
            assert_eq!(failure_output(&result, ending(&result).as_deref()), shown);
        };
        check("Exit code 2\n\nno such file\n", "no such file");
        check("Exit code 2", "");
    }

    #[test]
    fn times_and_numbers_are_short() {
        let spans = [300, 12_000, 185_000, 3_700_000].map(|millis| format_duration(Duration::from_millis(millis)));
        assert_eq!(spans, ["0.3s", "12s", "3m 5s", "1h 1m"]);
        assert_eq!([950, 3_120, 1_200_000].map(format_count), ["950", "3.1k", "1.2M"]);
    }

    #[test]
    fn a_glob_is_shown_with_how_many_files_it_found() {
        let call = call("Glob", json!({"pattern": "*"}));
        for (files, expected) in [(0, "0 files"), (1, "1 file"), (3, "3 files")] {
            let result = ToolResult::ok("x").with_details(json!({"files": files})).with_title("Glob", "*");
            assert_eq!(call.finish(&result).facts, [expected]);
        }
    }
}
