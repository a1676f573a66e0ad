//! A question as a record: the data to show it, answer it and identify it, on any machine at any time.
//!
//! It serialises with a version, round-trips, and rebuilds the same [`QuestionSet`]. A deadline is a duration, counted
//! from the time when the question is shown or stored.

use crate::exact::{self, Charset};
use crate::outcome::{Answer, Outcome, Status};
use crate::question::QuestionSet;
use crate::rules::Form;
use crate::sanitize;
use crate::tool_use::ToolUse;
use crate::violation::{Gathered, Violations};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// The version of stored requests.
const VERSION: u32 = 1;

/// The questions with their context, asker and audience.
///
/// ```
/// # use askuser::input::QuestionInput;
/// use askuser::{Context, QuestionSet, Request, RequestKey, Rules};
///
/// # let question = QuestionInput::new("Apply it?", "Apply").option("Yes", "now").option("No", "not now");
/// # let set = QuestionSet::new([question], &Rules::strict())?;
/// let request = Request::new(RequestKey::new("session-1", "call-7"), set).with_context(Context::Diff("-a\n+b\n".into()));
/// let stored = serde_json::to_string(&request)?;
/// assert_eq!(serde_json::from_str::<Request>(&stored)?, request);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Request {
    key: RequestKey,
    set: QuestionSet,
    origin: Origin,
    context: Option<Context>,
    known: Vec<Answer>,
    deadline: Option<Duration>,
    audience: Vec<String>,
    why: Option<String>,
    background: bool,
}

/// The maximum length of a stored reason. The last words of a model are the nearest to its question.
const MAX_WHY: usize = 1_500;

impl Request {
    /// A request with only its questions.
    pub fn new(key: RequestKey, set: QuestionSet) -> Request {
        Request {
            key,
            set,
            origin: Origin::default(),
            context: None,
            known: Vec::new(),
            deadline: None,
            audience: Vec::new(),
            why: None,
            background: false,
        }
    }

    /// The same request under another key, which a store keeps as a new question.
    pub fn with_key(self, key: RequestKey) -> Request {
        Request { key, ..self }
    }

    /// Sets the asker.
    pub fn with_origin(self, origin: Origin) -> Request {
        Request { origin, ..self }
    }

    /// Sets the context of the questions.
    pub fn with_context(self, context: impl Into<Option<Context>>) -> Request {
        Request { context: context.into(), ..self }
    }

    /// Sets the model's own text from just before its question. The last 1,500 characters are kept.
    pub fn with_why(self, why: impl Into<Option<String>>) -> Request {
        let why: Option<String> = why.into();
        let last = |why: String| {
            let why = why.trim();
            let (chars, kept) = (why.chars().count(), MAX_WHY - 1);
            if chars <= MAX_WHY {
                return why.to_owned();
            }
            format!("…{}", why.chars().skip(chars - kept).collect::<String>())
        };
        Request { why: why.map(last).filter(|why| !sanitize::is_blank(why)), ..self }
    }

    /// Says that the asker works on meanwhile: no process waits for the answer.
    pub fn in_background(self) -> Request {
        Request { background: true, ..self }
    }

    /// Gives up after this long.
    pub fn with_deadline(self, deadline: impl Into<Option<Duration>>) -> Request {
        Request { deadline: deadline.into(), ..self }
    }

    /// Sets the audience by name; empty means everybody.
    pub fn with_audience(self, audience: impl IntoIterator<Item = impl Into<String>>) -> Request {
        let names = audience.into_iter().map(Into::into).collect::<std::collections::BTreeSet<String>>();
        Request { audience: names.into_iter().collect(), ..self }
    }

    /// Adds known answers. The person sees them filled in and answers the rest.
    ///
    /// # Errors
    /// If one of them is invalid for its question, or if the question asks to agree: a yes is never prefilled.
    pub fn with_known(self, known: Vec<Answer>) -> Result<Request, Violations> {
        let mut bad = Gathered::default();
        if self.asks_to_agree() && !known.is_empty() {
            bad.add("known", "an answer to a question that asks to agree", "must be empty");
        }
        bad.into_result(Some(()))?;
        let checked = Outcome::new(&self.set, Status::Cancelled, known)?;
        Ok(Request { known: checked.answers().to_vec(), ..self })
    }

    /// The key of this asking. The same key is the same question asked again.
    pub fn key(&self) -> &RequestKey {
        &self.key
    }

    /// The questions.
    pub fn set(&self) -> &QuestionSet {
        &self.set
    }

    /// The asker.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The context of the questions. A surface shows it with them, unless it is on the screen already.
    pub fn context(&self) -> Option<&Context> {
        self.context.as_ref()
    }

    /// The model's own text from just before its question. It is untrusted and not part of the text to agree to.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// Whether the person must read a whole text before choosing: the subject of a permission or a plan, or a command,
    /// diff or input that a model asks about. The text is the context, or else the question.
    pub fn is_agreed_to(&self) -> bool {
        match self.key.purpose {
            Purpose::Permission | Purpose::Plan => true,
            Purpose::Question => self.context.as_ref().is_some_and(|context| !matches!(context, Context::Prose(_))),
            // Our own program asks.
            Purpose::Choice => false,
        }
    }

    /// Whether the answer is a person's consent: to a permission, to a plan, or to a `confirm`.
    pub fn asks_to_agree(&self) -> bool {
        matches!(self.key.purpose, Purpose::Permission | Purpose::Plan) || self.set.rules().form() == Form::Confirm
    }

    /// The known answers.
    pub fn known(&self) -> &[Answer] {
        &self.known
    }

    /// The time limit, counted from the time when it is shown or stored. A person may clear it.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Whether the asker works on and fetches the answer later.
    pub fn is_in_background(&self) -> bool {
        self.background
    }

    /// For whom it is, by their names, each once; for everybody if there are none. Nobody else answers it.
    pub fn audience(&self) -> &[String] {
        &self.audience
    }

    /// Whether the audience includes this name.
    pub fn is_for(&self, name: &str) -> bool {
        self.audience.is_empty() || self.audience.iter().any(|one| one == name)
    }

    /// The audience, safe to show: `ada, ops`; `None` for everybody.
    pub fn audience_words(&self) -> Option<String> {
        (!self.audience.is_empty()).then(|| sanitize::line(&self.audience.join(", ")).into_owned())
    }

    /// Whether two requests show the same people the same decision. Asker, reason and time limit may differ.
    pub fn asks_the_same(&self, other: &Request) -> bool {
        self.set.input() == other.set.input() && self.context == other.context && self.audience == other.audience
    }

    /// The title of the request: the question in one line, and the first line of a command.
    pub fn title(&self) -> String {
        let texts: Vec<_> = self.set.questions().iter().map(|question| sanitize::line(question.text())).collect();
        let command = self.context.as_ref().and_then(Context::command).filter(|_| self.is_agreed_to());
        let first_line = command.and_then(|command| command.trim().lines().next());
        let shown = first_line.map(|line| format!(" {}", exact::shown(line.trim_end(), Charset::Utf8)));
        texts.join(" · ") + &shown.unwrap_or_default()
    }

    /// The asker for a person at the asking program: its task and the model's source, safe to show.
    pub fn asked_by(&self) -> Option<String> {
        let task = self.origin.task.as_deref().map(|task| format!("task '{}'", sanitize::line(task).trim()));
        let source = self.set.source().map(|source| sanitize::line(source).trim().to_owned());
        joined(task, source.filter(|source| !sanitize::is_blank(source)))
    }

    /// The asker for a person elsewhere: with the agent and its folder.
    pub fn asked_from(&self) -> Option<String> {
        let place = match (self.origin.agent_name(), self.origin.folder.as_deref().and_then(shown)) {
            (Some(agent), Some(folder)) => Some(format!("{agent} in {folder}")),
            (Some(agent), None) => Some(agent),
            (None, folder) => folder,
        };
        joined(place, self.asked_by())
    }
}

fn shown(text: &str) -> Option<String> {
    Some(sanitize::line(text).trim().to_owned()).filter(|text| !text.is_empty())
}

fn joined(first: Option<String>, second: Option<String>) -> Option<String> {
    first.into_iter().chain(second).reduce(|first, second| format!("{first}, {second}"))
}

/// The identity of one asking among all sessions.
///
/// Its parts come from outside (a provider names calls) and may contain any characters. Two keys are equal only if
/// every part is. No part is ever parsed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestKey {
    /// The session in which it is asked.
    pub session: String,
    /// The calls that lead to the asking subagent, outermost first. Empty for the main agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// The call for which it is asked.
    pub call: String,
    /// The purpose for which it is asked.
    #[serde(default, skip_serializing_if = "Purpose::is_question")]
    pub purpose: Purpose,
}

/// The purpose of a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Purpose {
    /// The model asks.
    #[default]
    Question,
    /// A tool needs permission.
    Permission,
    /// A plan needs approval.
    Plan,
    /// The program itself offers a choice.
    Choice,
}

impl Purpose {
    fn is_question(&self) -> bool {
        *self == Purpose::Question
    }
}

impl RequestKey {
    /// The question of a call.
    pub fn new(session: impl Into<String>, call: impl Into<String>) -> RequestKey {
        RequestKey { session: session.into(), tasks: Vec::new(), call: call.into(), purpose: Purpose::Question }
    }

    /// Sets the calls that lead to the asking subagent, outermost first.
    pub fn in_tasks(self, tasks: impl IntoIterator<Item = impl Into<String>>) -> RequestKey {
        RequestKey { tasks: tasks.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets another purpose.
    pub fn for_purpose(self, purpose: Purpose) -> RequestKey {
        RequestKey { purpose, ..self }
    }

    /// The id of the question in its session: the call's id for a plain question of the main agent, an opaque text
    /// otherwise. It is unique in the session.
    pub fn id_in_session(&self) -> String {
        const OPAQUE: &str = "ask:";
        if self.tasks.is_empty() && self.purpose == Purpose::Question && !self.call.starts_with(OPAQUE) {
            return self.call.clone();
        }
        format!("{OPAQUE}{}", serde_json::json!([self.tasks, self.call, self.purpose]))
    }
}

/// An unambiguous text for a store or a log. It is not meant to be parsed.
impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", serde_json::json!([self.session, self.tasks, self.call, self.purpose]))
    }
}

/// The asker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Origin {
    /// The agent: `askuser agent`, `claude-code`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The task of the asking subagent; `None` for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The folder in which the agent works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The machine on which the agent runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The name of the credential. A server sets it, never the asker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
}

/// Agents by the name that they send and their display name.
const AGENT_NAMES: [(&str, &str); 5] = [
    ("claude-code", "Claude Code"),
    ("codex-mcp-client", "Codex"),
    ("gemini-cli-mcp-client", "Gemini CLI"),
    ("github-copilot-developer", "Copilot CLI"),
    ("qwen-cli-mcp-client-askuser", "Qwen Code"),
];

impl Origin {
    /// The display name of the agent: "Claude Code" for `claude-code`.
    pub fn agent_name(&self) -> Option<String> {
        let sent = self.agent.as_deref()?;
        let known = AGENT_NAMES.iter().find(|(id, _)| *id == sent);
        shown(known.map_or(sent, |(_, name)| name))
    }

    /// Sets the agent's name.
    pub fn with_agent(self, agent: impl Into<String>) -> Origin {
        Origin { agent: Some(agent.into()), ..self }
    }

    /// Sets the subagent's task.
    pub fn with_task(self, task: impl Into<String>) -> Origin {
        Origin { task: Some(task.into()), ..self }
    }

    /// Sets the folder.
    pub fn with_folder(self, folder: impl Into<String>) -> Origin {
        Origin { folder: Some(folder.into()), ..self }
    }

    /// Sets the machine.
    pub fn with_host(self, host: impl Into<String>) -> Origin {
        Origin { host: Some(host.into()), ..self }
    }

    /// Sets the name of the credential that a server has checked.
    pub fn with_credential(self, credential: impl Into<String>) -> Origin {
        Origin { credential: Some(credential.into()), ..self }
    }
}

/// The subject of questions. Text to agree to is shown verbatim; only prose is rendered as Markdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Context {
    /// A command that would run.
    #[serde(with = "text_field")]
    #[cfg_attr(feature = "schema", schemars(with = "text_field::Field"))]
    Command(String),
    /// A change that would be made, as a unified diff.
    #[serde(with = "text_field")]
    #[cfg_attr(feature = "schema", schemars(with = "text_field::Field"))]
    Diff(String),
    /// The input that a tool would get, shown as a table of its fields.
    #[serde(with = "text_field")]
    #[cfg_attr(feature = "schema", schemars(with = "text_field::Field"))]
    ToolInput(String),
    /// A plan, an explanation: Markdown.
    #[serde(with = "text_field")]
    #[cfg_attr(feature = "schema", schemars(with = "text_field::Field"))]
    Prose(String),
    /// A call of another agent's tool. Surfaces show its [parts](Context::parts).
    ToolUse(ToolUse),
}

impl Context {
    /// The texts that a surface draws, in order. None of them is a tool use.
    pub fn parts(&self) -> Vec<Cow<'_, Context>> {
        match self {
            Context::ToolUse(call) => call.parts().into_iter().map(Cow::Owned).collect(),
            basic => vec![Cow::Borrowed(basic)],
        }
    }

    /// The complete display of the text, because a person may agree to it. See [`exact`].
    pub fn shown(&self, charset: Charset) -> Cow<'_, str> {
        let text = match self {
            // Its last line end ends its last line.
            Context::Diff(text) => text.strip_suffix('\n').unwrap_or(text),
            Context::Command(text) | Context::ToolInput(text) | Context::Prose(text) => text,
            Context::ToolUse(call) => {
                let parts = call.parts();
                let shown: Vec<Cow<'_, str>> = parts.iter().map(|part| part.shown(charset)).collect();
                return Cow::Owned(shown.join("\n\n"));
            }
        };
        exact::shown(text, charset)
    }

    /// The text as given.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Context::Command(text) | Context::Diff(text) | Context::ToolInput(text) | Context::Prose(text) => {
                Cow::Borrowed(text)
            }
            Context::ToolUse(call) => {
                let parts = call.parts();
                let texts: Vec<Cow<'_, str>> = parts.iter().map(Context::text).collect();
                Cow::Owned(texts.join("\n"))
            }
        }
    }

    /// The command that would run, if the context is one.
    pub fn command(&self) -> Option<&str> {
        match self {
            Context::Command(command) => Some(command),
            Context::ToolUse(call) => call.command(),
            _ => None,
        }
    }

    /// The input of a tool as JSON, for a reader who wants the details.
    pub fn raw_input(&self) -> Option<String> {
        match self {
            Context::ToolUse(call) => Some(format!("{:#}", Value::Object(call.input().clone()))),
            _ => None,
        }
    }
}

/// Serialises a text as the field `text`, beside the kind of its context.
mod text_field {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub(super) struct Field {
        text: String,
    }

    pub(super) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        Field { text: text.to_owned() }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        Field::deserialize(deserializer).map(|field| field.text)
    }
}

/// A request in its stored form.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    key: RequestKey,
    #[serde(flatten)]
    set: QuestionSet,
    #[serde(default)]
    origin: Origin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<Context>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    known: Vec<Answer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    audience: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    background: bool,
}

impl From<Request> for Stored {
    fn from(Request { key, set, origin, context, known, deadline, audience, why, background }: Request) -> Stored {
        let deadline_ms = deadline.map(|deadline| u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX));
        Stored { version: VERSION, key, set, origin, context, known, deadline_ms, audience, why, background }
    }
}

impl TryFrom<Stored> for Request {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Request, String> {
        if !(1..=VERSION).contains(&stored.version) {
            return Err(format!("a request of version {}, this program knows 1 to {VERSION}", stored.version));
        }
        let request = Request::new(stored.key, stored.set)
            .with_origin(stored.origin)
            .with_context(stored.context)
            .with_why(stored.why)
            .with_deadline(stored.deadline_ms.map(Duration::from_millis))
            .with_audience(stored.audience);
        let request = Request { background: stored.background, ..request };
        request.with_known(stored.known).map_err(|violations| violations.to_string())
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
