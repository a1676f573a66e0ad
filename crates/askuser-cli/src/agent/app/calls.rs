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
    pub(crate) subtitle: Subtitle,
    pub(crate) since: Duration,
    pub(crate) asks: Asks,
    /// How long it has waited for the person.
    pub(crate) waited: Duration,
}

/// Whether the second half of a result's title can say something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subtitle {
    Telling,
    /// The command itself stands there, which says more than what the model says about it.
    Idle,
}

/// What the person is being asked for a call. One question is asked at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    Nothing,
    /// Since when.
    Question(Duration),
    Permission(Duration),
}

/// A call as it stands in the scrollback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) task: Option<String>,
    pub(crate) went: Went,
    /// Unknown of a call of an earlier process.
    pub(crate) took: Option<Duration>,
    /// How much it gave back, and what it says for itself.
    pub(crate) facts: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Went {
    Well,
    Wrong,
    /// It is not over: the person is asked first.
    Asking,
}

/// Calls that show themselves: the prompt and its confirmation say all there is to say.
pub(crate) fn shows_itself(name: &str) -> bool {
    matches!(name, tool::NAME | "ExitPlanMode")
}

/// What a call is about, in one line: the field that says it best, or all of its input.
pub(crate) fn about(input: &Value) -> String {
    const TELLING: &[&str] = &["description", "command", "file_path", "pattern", "path", "url", "query", "name"];
    // A command says more than what the model says about it.
    let order = if input.get("command").is_some() { &TELLING[1..] } else { TELLING };
    let field = order.iter().find_map(|field| Some((*field, input.get(field)?.as_str()?)));
    let text = match (field, input.get("path").and_then(Value::as_str)) {
        (Some(("pattern", pattern)), Some(path)) => format!("{} in {path}", pattern.trim()),
        (Some((_, text)), _) => text.trim().to_owned(),
        (None, _) if input.as_object().is_some_and(serde_json::Map::is_empty) || input.is_null() => String::new(),
        (None, _) => input.to_string(),
    };
    let mut lines = text.lines();
    let first = sanitize::line(lines.next().unwrap_or_default()).into_owned();
    if lines.next().is_some() { format!("{first} ...") } else { first }
}

impl Call {
    /// A call that begins at `now`.
    pub(crate) fn new(id: String, name: String, input: &Value, task: Option<&str>, now: Duration) -> Call {
        let subtitle = if input.get("command").is_some() { Subtitle::Idle } else { Subtitle::Telling };
        let (about, task) = (about(input), task.map(str::to_owned));
        Call { id, name, about, task, subtitle, since: now, asks: Asks::Nothing, waited: Duration::ZERO }
    }

    /// For how long it has been at work. Only its own question makes it wait: while another call's is open it goes on.
    pub(crate) fn worked(&self, now: Duration) -> Duration {
        let until = match self.asks {
            Asks::Nothing => now,
            Asks::Question(since) | Asks::Permission(since) => since,
        };
        until.saturating_sub(self.since + self.waited)
    }

    /// Its question is over.
    pub(crate) fn has_asked(&mut self, now: Duration) {
        if let Asks::Question(since) | Asks::Permission(since) = self.asks {
            self.waited += now.saturating_sub(since);
            self.asks = Asks::Nothing;
        }
    }

    /// What is said about it above a question, so that the answer under it is an answer to something.
    pub(crate) fn asking(&self, about: Option<String>) -> Ended {
        let name = if shows_itself(&self.name) { "Question".to_owned() } else { self.name.clone() };
        let about = about.unwrap_or_else(|| self.about.clone());
        Ended { name, about, task: self.task.clone(), went: Went::Asking, took: None, facts: Vec::new() }
    }

    pub(crate) fn ended(self, result: &ToolResult, now: Duration) -> Ended {
        let mut facts = Vec::new();
        let lines = result.output.lines().count();
        if lines > 1 {
            facts.push(format!("{lines} lines"));
        }
        let subtitle = result.metadata.as_ref().and_then(|metadata| metadata.subtitle.as_deref());
        if let (Some(subtitle), Subtitle::Telling) = (subtitle, self.subtitle) {
            let subtitle = sanitize::line(subtitle).into_owned();
            // The title's second half is often what the call is about, which stands there already.
            let whole = subtitle.trim_end_matches('…').trim_end();
            if !self.about.contains(whole) && !sanitize::is_blank(whole) {
                facts.push(subtitle);
            }
        }
        let went = if result.success { Went::Well } else { Went::Wrong };
        let took = Some(self.worked(now));
        Ended { name: self.name, about: self.about, task: self.task, went, took, facts }
    }
}

/// What a result changed, if it says so.
pub(crate) fn diff(result: &ToolResult) -> Option<&str> {
    result.metadata.as_ref()?.details.as_ref()?.get("diff")?.as_str().filter(|diff| !diff.trim().is_empty())
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
        check(json!({"path": "src", "pattern": "fn main"}), "fn main in src");
        check(json!({"description": "audit deps", "prompt": "…"}), "audit deps");
        check(json!({"x": 1}), "{\"x\":1}");
        check(json!({}), "");
    }

    #[test]
    fn what_a_model_writes_cannot_move_the_cursor() {
        assert_eq!(about(&json!({"command": "ls \u{1b}[2J\u{202e}x"})), "ls x");
    }

    fn call(name: &str, input: Value) -> Call {
        Call::new("1".into(), name.into(), &input, None, Duration::from_secs(1))
    }

    fn facts(call: &Call, result: &ToolResult) -> Vec<String> {
        call.clone().ended(result, Duration::from_secs(3)).facts
    }

    #[test]
    fn a_result_is_told_in_facts_and_none_twice() {
        let read = call("Read", json!({"path": "src/a.rs"}));
        let result = ToolResult::ok("a\nb\nc").titled("Read", "src/a.rs");
        let ended = read.clone().ended(&result, Duration::from_secs(3));
        assert_eq!((ended.facts, ended.took), (vec!["3 lines".to_owned()], Some(Duration::from_secs(2))));
        let refused = ToolResult::error("no").titled("Read", "not allowed");
        let ended = read.ended(&refused, Duration::from_secs(1));
        assert_eq!((ended.facts, ended.went), (vec!["not allowed".to_owned()], Went::Wrong));
    }

    #[test]
    fn what_the_model_says_about_a_command_does_not_take_the_commands_place() {
        let bash = call("Bash", json!({"command": "rm -r build", "description": "Look around"}));
        assert_eq!(bash.about, "rm -r build");
        assert_eq!(facts(&bash, &ToolResult::ok("").titled("Bash", "Look around")), Vec::<String>::new());
    }

    #[test]
    fn a_subtitle_that_was_cut_is_not_told_beside_the_whole() {
        let task = call("Task", json!({"description": "audit all of the dependencies"}));
        assert_eq!(facts(&task, &ToolResult::ok("").titled("Task", "audit all of…")), Vec::<String>::new());
    }

    #[test]
    fn time_spent_on_the_question_of_another_call_is_time_at_work() {
        let secs = Duration::from_secs;
        let mut own = call("Bash", json!({"command": "ls"}));
        own.asks = Asks::Permission(secs(5));
        let other = call("Task", json!({"description": "audit"}));
        assert_eq!([&own, &other].map(|call| call.worked(secs(61))), [secs(4), secs(60)]);
        own.has_asked(secs(55));
        assert_eq!(own.worked(secs(71)), secs(20));
    }

    #[test]
    fn times_and_numbers_are_short() {
        let spans = [300, 12_000, 185_000, 3_700_000].map(|millis| span(Duration::from_millis(millis)));
        assert_eq!(spans, ["0.3s", "12s", "3m 5s", "1h 1m"]);
        assert_eq!([950, 3_120, 1_200_000].map(count), ["950", "3.1k", "1.2M"]);
    }
}
