//! A question as a record. It has all data to show, answer and identify the question on any machine at any time.
//!
//! A request serialises with a version and deserialises to an equal request. A deadline is a duration, counted from the
//! time when the question is shown or stored.

use crate::outcome::{Answer, Outcome, Status};
use crate::question::QuestionSet;
use crate::rules::Form;
use crate::sanitize;
use crate::tool_use::ToolUse;
use crate::verbatim::{self, Charset};
use crate::violation::{Gathered, Violations};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// The version of the stored form.
const VERSION: u32 = 1;

/// A question set with its context, asker and audience.
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

/// The maximum number of characters of a stored reason. The end is kept, because a model's last words are nearest to
/// its question.
const MAX_WHY: usize = 1_500;

impl Request {
    /// Creates a request with only a key and questions.
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

    /// Returns the same request under another key. A store keeps it as a new question.
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

    /// Sets the model's own text from just before its question. Only the last 1,500 characters are kept.
    pub fn with_why(self, why: impl Into<Option<String>>) -> Request {
        let why: Option<String> = why.into();
        let last = |why: String| {
            let why = why.trim();
            let chars = why.chars().count();
            let kept = MAX_WHY - 1;
            if chars <= MAX_WHY {
                return why.to_owned();
            }
            format!("…{}", why.chars().skip(chars - kept).collect::<String>())
        };
        Request { why: why.map(last).filter(|why| !sanitize::is_blank(why)), ..self }
    }

    /// Marks the question as one in the background: the asker continues its work, and no process waits for the answer.
    pub fn in_background(self) -> Request {
        Request { background: true, ..self }
    }

    /// Sets the time limit.
    pub fn with_deadline(self, deadline: impl Into<Option<Duration>>) -> Request {
        Request { deadline: deadline.into(), ..self }
    }

    /// Sets the names of the audience. An empty audience means everybody.
    pub fn with_audience(self, audience: impl IntoIterator<Item = impl Into<String>>) -> Request {
        let names = audience.into_iter().map(Into::into).collect::<std::collections::BTreeSet<String>>();
        Request { audience: names.into_iter().collect(), ..self }
    }

    /// Adds known answers. The person sees them filled in and answers the other questions.
    ///
    /// # Errors
    /// If an answer is invalid for its question, or if the request asks for consent: a yes is never prefilled.
    pub fn with_known(self, known: Vec<Answer>) -> Result<Request, Violations> {
        let mut bad = Gathered::default();
        if self.asks_to_agree() && !known.is_empty() {
            bad.add("known", "an answer to a question that asks to agree", "must be empty");
        }
        bad.into_result(Some(()))?;
        let checked = Outcome::new(&self.set, Status::Cancelled, known)?;
        Ok(Request { known: checked.answers().to_vec(), ..self })
    }

    /// The key of the request. A second request with the same key asks the same question again.
    pub fn key(&self) -> &RequestKey {
        &self.key
    }

    /// The questions of the request.
    pub fn set(&self) -> &QuestionSet {
        &self.set
    }

    /// The asker of the request.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The context of the questions, if any. A surface shows it with the questions, unless it is on the screen already.
    pub fn context(&self) -> Option<&Context> {
        self.context.as_ref()
    }

    /// The model's own text from just before its question, if any. This text is untrusted, and the person does not
    /// agree to it.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// Whether the person must read a whole text before choosing. This applies to a permission, to a plan, and to a
    /// command, diff or input that a model asks about. The text is the context, or else the question.
    pub fn is_agreed_to(&self) -> bool {
        match self.key.purpose {
            Purpose::Permission | Purpose::Plan => true,
            Purpose::Question => self.context.as_ref().is_some_and(|context| !matches!(context, Context::Prose(_))),
            // The program itself asks.
            Purpose::Choice => false,
        }
    }

    /// Whether the answer is a person's consent to a permission, a plan or a `confirm`.
    pub fn asks_to_agree(&self) -> bool {
        matches!(self.key.purpose, Purpose::Permission | Purpose::Plan) || self.set.rules().form() == Form::Confirm
    }

    /// The known answers, which the person sees filled in.
    pub fn known(&self) -> &[Answer] {
        &self.known
    }

    /// The time limit, counted from the time when the question is shown or stored; `None` without one. A person may
    /// clear it.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// Whether the asker continues its work and fetches the answer later.
    pub fn is_in_background(&self) -> bool {
        self.background
    }

    /// The names of the audience, without duplicates. Only the audience may answer. An empty audience means everybody.
    pub fn audience(&self) -> &[String] {
        &self.audience
    }

    /// Whether this name belongs to the audience.
    pub fn is_for(&self, name: &str) -> bool {
        self.audience.is_empty() || self.audience.iter().any(|one| one == name)
    }

    /// The names of the audience, safe to show: `ada, ops`; `None` for everybody.
    pub fn audience_words(&self) -> Option<String> {
        (!self.audience.is_empty()).then(|| sanitize::line(&self.audience.join(", ")).into_owned())
    }

    /// Whether two requests show the same decision to the same people. Asker, reason and time limit may differ.
    pub fn asks_the_same(&self, other: &Request) -> bool {
        self.set.input() == other.set.input() && self.context == other.context && self.audience == other.audience
    }

    /// The title of the request: the question in one line. If the person agrees to a command, its first line follows.
    pub fn title(&self) -> String {
        let texts: Vec<_> = self.set.questions().iter().map(|question| sanitize::line(question.text())).collect();
        let command = self.context.as_ref().and_then(Context::command).filter(|_| self.is_agreed_to());
        let first_line = command.and_then(|command| command.trim().lines().next());
        let shown = first_line.map(|line| format!(" {}", verbatim::shown(line.trim_end(), Charset::Utf8)));
        texts.join(" · ") + &shown.unwrap_or_default()
    }

    /// Describes the asker for a person at the asking program, by its task and the model's source. The text is safe to
    /// show. Returns `None` if both are unknown.
    pub fn asked_by(&self) -> Option<String> {
        let task = self.origin.task.as_deref().map(|task| format!("task '{}'", sanitize::line(task).trim()));
        let source = self.set.source().map(|source| sanitize::line(source).trim().to_owned());
        joined(task, source.filter(|source| !sanitize::is_blank(source)))
    }

    /// Describes the asker for a person elsewhere, also by its agent and folder. Returns `None` if all are unknown.
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

/// The identity of a request among all sessions.
///
/// The parts of a key come from outside (a provider names calls) and may contain any characters. Two keys are equal
/// only if all parts are equal. No part is ever parsed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestKey {
    /// The session of the question.
    pub session: String,
    /// The calls that lead to the asking subagent, outermost first. Empty for the main agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// The call that asks the question.
    pub call: String,
    /// The purpose of the question.
    #[serde(default, skip_serializing_if = "Purpose::is_question")]
    pub purpose: Purpose,
}

/// The purpose for which a question is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Purpose {
    /// A model asks a question.
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
    /// Creates the key of a call's question.
    pub fn new(session: impl Into<String>, call: impl Into<String>) -> RequestKey {
        RequestKey { session: session.into(), tasks: Vec::new(), call: call.into(), purpose: Purpose::Question }
    }

    /// Sets the calls that lead to the asking subagent, outermost first.
    pub fn in_tasks(self, tasks: impl IntoIterator<Item = impl Into<String>>) -> RequestKey {
        RequestKey { tasks: tasks.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets the purpose.
    pub fn for_purpose(self, purpose: Purpose) -> RequestKey {
        RequestKey { purpose, ..self }
    }

    /// The id of the question, which is unique in its session. A plain question of the main agent has the call's id.
    /// Any other question has an opaque text.
    pub fn id_in_session(&self) -> String {
        const OPAQUE: &str = "ask:";
        if self.tasks.is_empty() && self.purpose == Purpose::Question && !self.call.starts_with(OPAQUE) {
            return self.call.clone();
        }
        format!("{OPAQUE}{}", serde_json::json!([self.tasks, self.call, self.purpose]))
    }
}

/// Writes an unambiguous text for a store or a log. No program parses it.
impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", serde_json::json!([self.session, self.tasks, self.call, self.purpose]))
    }
}

/// The asker of a question, with its agent, task, folder and machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Origin {
    /// The name that the agent sends, such as `askuser agent` or `claude-code`; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The task of the asking subagent; `None` for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The folder in which the agent works; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The machine on which the agent runs; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The name of the asker's credential, if it has one. Only a server sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
}

/// The agents by the name that they send, with their display name.
const AGENT_NAMES: [(&str, &str); 5] = [
    ("claude-code", "Claude Code"),
    ("codex-mcp-client", "Codex"),
    ("gemini-cli-mcp-client", "Gemini CLI"),
    ("github-copilot-developer", "Copilot CLI"),
    ("qwen-cli-mcp-client-askuser", "Qwen Code"),
];

impl Origin {
    /// Returns the display name of the agent, such as "Claude Code" for `claude-code`; `None` if the agent is unknown.
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

    /// Sets the folder in which the agent works.
    pub fn with_folder(self, folder: impl Into<String>) -> Origin {
        Origin { folder: Some(folder.into()), ..self }
    }

    /// Sets the machine on which the agent runs.
    pub fn with_host(self, host: impl Into<String>) -> Origin {
        Origin { host: Some(host.into()), ..self }
    }

    /// Sets the name of the credential that a server has checked.
    pub fn with_credential(self, credential: impl Into<String>) -> Origin {
        Origin { credential: Some(credential.into()), ..self }
    }
}

/// The subject of a question. A text that the person agrees to is shown verbatim. Only prose is rendered as Markdown.
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
    /// A plan or an explanation in Markdown.
    #[serde(with = "text_field")]
    #[cfg_attr(feature = "schema", schemars(with = "text_field::Field"))]
    Prose(String),
    /// A call of another agent's tool. Surfaces show its [parts](Context::parts).
    ToolUse(ToolUse),
}

impl Context {
    /// Returns the basic contexts that a surface draws, in order. None of them is a tool use.
    pub fn parts(&self) -> Vec<Cow<'_, Context>> {
        match self {
            Context::ToolUse(call) => call.parts().into_iter().map(Cow::Owned).collect(),
            basic => vec![Cow::Borrowed(basic)],
        }
    }

    /// Returns the complete display of the text, because a person may agree to it. See [`verbatim`].
    pub fn shown(&self, charset: Charset) -> Cow<'_, str> {
        let text = match self {
            // The final line end of a diff would be shown as an empty line.
            Context::Diff(text) => text.strip_suffix('\n').unwrap_or(text),
            Context::Command(text) | Context::ToolInput(text) | Context::Prose(text) => text,
            Context::ToolUse(call) => {
                let parts = call.parts();
                let shown: Vec<Cow<'_, str>> = parts.iter().map(|part| part.shown(charset)).collect();
                return Cow::Owned(shown.join("\n\n"));
            }
        };
        verbatim::shown(text, charset)
    }

    /// Returns the text as given.
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

    /// Returns the command that would run; `None` if the context has none.
    pub fn command(&self) -> Option<&str> {
        match self {
            Context::Command(command) => Some(command),
            Context::ToolUse(call) => call.command(),
            _ => None,
        }
    }

    /// Returns the input of a tool as JSON, for a reader who wants the details; `None` for other contexts.
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

/// The stored form of a request.
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
