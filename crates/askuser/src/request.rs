//! A question as a record: everything needed to show it, answer it and tell it from every other, anywhere and later.
//!
//! It serialises with a version, round-trips, and rebuilds the very same [`QuestionSet`]. No clock: a deadline is a length
//! of time, counted from when the question is shown or stored.

use crate::exact::{self, Charset};
use crate::outcome::{Answer, Outcome, Status};
use crate::question::QuestionSet;
use crate::sanitize;
use crate::tool_use::ToolUse;
use crate::violation::{Gathered, Violations};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// The version written into stored requests.
const VERSION: u32 = 1;

/// What is asked, and for whom.
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

/// The most characters of a reason that are kept. The last words of a model are the nearest to its question.
const MAX_WHY: usize = 1_500;

impl Request {
    /// A request that needs nothing but its questions.
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

    /// The same request under another key, so that a store keeps it as a new question.
    pub fn with_key(self, key: RequestKey) -> Request {
        Request { key, ..self }
    }

    /// Says who asks.
    pub fn with_origin(self, origin: Origin) -> Request {
        Request { origin, ..self }
    }

    /// Says what the questions are about.
    pub fn with_context(self, context: impl Into<Option<Context>>) -> Request {
        Request { context: context.into(), ..self }
    }

    /// Adds the model's own words from just before it asked. The last 1,500 characters are kept.
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

    /// Says for whom it is, by their names; for everybody if there are none.
    pub fn with_audience(self, audience: impl IntoIterator<Item = impl Into<String>>) -> Request {
        let names = audience.into_iter().map(Into::into).collect::<std::collections::BTreeSet<String>>();
        Request { audience: names.into_iter().collect(), ..self }
    }

    /// Adds answers that are known already: the person is asked the rest, and sees these filled in.
    ///
    /// # Errors
    /// Where one of them is not a legal answer to its question, or the question asks to agree: no yes is chosen beforehand.
    pub fn with_known(self, known: Vec<Answer>) -> Result<Request, Violations> {
        let mut bad = Gathered::default();
        if self.asks_to_agree() && !known.is_empty() {
            bad.add("known", "an answer to a question that asks to agree", "must be empty");
        }
        bad.into_result(Some(()))?;
        let checked = Outcome::new(&self.set, Status::Cancelled, known)?;
        Ok(Request { known: checked.answers().to_vec(), ..self })
    }

    /// Names this asking: the same key is the same question, asked again.
    pub fn key(&self) -> &RequestKey {
        &self.key
    }

    /// The questions.
    pub fn set(&self) -> &QuestionSet {
        &self.set
    }

    /// Who asks.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What the questions are about, where they do not say it themselves. A surface that has not shown it already shows it
    /// with them.
    pub fn context(&self) -> Option<&Context> {
        self.context.as_ref()
    }

    /// The model's own words from just before it asked: its reason. Untrusted, and no part of what a person agrees to.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// Whether the person has to read all of a text before they can choose: what a permission or a plan is about, or a command,
    /// a diff or an input that a model asks about. The text is the context, or the question where there is no context.
    pub fn is_agreed_to(&self) -> bool {
        match self.key.purpose {
            Purpose::Permission | Purpose::Plan => true,
            Purpose::Question => self.context.as_ref().is_some_and(|context| !matches!(context, Context::Prose(_))),
            // Our own program asks.
            Purpose::Choice => false,
        }
    }

    /// Whether the answer is a person's consent to a permission, to a plan or to a question for a yes.
    pub fn asks_to_agree(&self) -> bool {
        self.key.purpose.asks_to_agree(&self.set)
    }

    /// Answers that are known already.
    pub fn known(&self) -> &[Answer] {
        &self.known
    }

    /// When to give up, counted from when it is shown or stored. A person who holds the clock clears it.
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

    /// Whether it is for whoever has this name.
    pub fn is_for(&self, name: &str) -> bool {
        self.audience.is_empty() || self.audience.iter().any(|one| one == name)
    }

    /// For whom it is, safe to show: `ada, ops`; nothing where it is for everybody.
    pub fn audience_words(&self) -> Option<String> {
        (!self.audience.is_empty()).then(|| sanitize::line(&self.audience.join(", ")).into_owned())
    }

    /// Whether the same people read and decide the same. Who asks, why, and for how long, may differ.
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

    /// Who asks, as a person at the asking program reads it: its task and the source the model gave, safe to show.
    pub fn asked_by(&self) -> Option<String> {
        let task = self.origin.task.as_deref().map(|task| format!("task '{}'", sanitize::line(task).trim()));
        let source = self.set.source().map(|source| sanitize::line(source).trim().to_owned());
        joined(task, source.filter(|source| !sanitize::is_blank(source)))
    }

    /// Who asks, as a person anywhere else reads it: the agent and where it works too.
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

/// Names one asking among those of all sessions.
///
/// Its parts are chosen by others (a provider names calls) and may hold any characters; two keys are equal only if every
/// part is. No text of it is ever taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestKey {
    /// The session it is asked in.
    pub session: String,
    /// The calls that lead to the subagent that asks, the outermost first; none for the agent the person talks to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// The call it is asked for.
    pub call: String,
    /// What it is asked for.
    #[serde(default, skip_serializing_if = "Purpose::is_question")]
    pub purpose: Purpose,
}

/// What a question is asked for.
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
    /// The program itself lets the person choose.
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

    /// Asked by the subagent that these calls lead to, the outermost first.
    pub fn in_tasks(self, tasks: impl IntoIterator<Item = impl Into<String>>) -> RequestKey {
        RequestKey { tasks: tasks.into_iter().map(Into::into).collect(), ..self }
    }

    /// Asked for another purpose.
    pub fn for_purpose(self, purpose: Purpose) -> RequestKey {
        RequestKey { purpose, ..self }
    }

    /// Names it among the questions of its session: the call's id for a plain question of the main agent, an opaque text
    /// for any other. No two keys of a session have the same.
    pub fn id_in_session(&self) -> String {
        const OPAQUE: &str = "ask:";
        if self.tasks.is_empty() && self.purpose == Purpose::Question && !self.call.starts_with(OPAQUE) {
            return self.call.clone();
        }
        format!("{OPAQUE}{}", serde_json::json!([self.tasks, self.call, self.purpose]))
    }
}

/// An unambiguous text, for a store or a log; not meant to be parsed.
impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", serde_json::json!([self.session, self.tasks, self.call, self.purpose]))
    }
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Origin {
    /// The agent: `askuser agent`, `claude-code`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What the subagent that asks is about; none for the agent the person talks to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The folder it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The machine it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The name of the credential it asked with; set by a server, never by who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
}

/// Agents by the name that they send and by the name that people know.
const AGENT_NAMES: [(&str, &str); 5] = [
    ("claude-code", "Claude Code"),
    ("codex-mcp-client", "Codex"),
    ("gemini-cli-mcp-client", "Gemini CLI"),
    ("github-copilot-developer", "Copilot CLI"),
    ("qwen-cli-mcp-client-askuser", "Qwen Code"),
];

impl Origin {
    /// The agent as a person reads it: "Claude Code" for `claude-code`.
    pub fn agent_name(&self) -> Option<String> {
        let sent = self.agent.as_deref()?;
        let known = AGENT_NAMES.iter().find(|(id, _)| *id == sent);
        shown(known.map_or(sent, |(_, name)| name))
    }

    /// The same with an agent's name.
    pub fn with_agent(self, agent: impl Into<String>) -> Origin {
        Origin { agent: Some(agent.into()), ..self }
    }

    /// The same with what a subagent is about.
    pub fn with_task(self, task: impl Into<String>) -> Origin {
        Origin { task: Some(task.into()), ..self }
    }

    /// The same with a folder.
    pub fn with_folder(self, folder: impl Into<String>) -> Origin {
        Origin { folder: Some(folder.into()), ..self }
    }

    /// The same with a machine.
    pub fn with_host(self, host: impl Into<String>) -> Origin {
        Origin { host: Some(host.into()), ..self }
    }

    /// The same with the name of the credential that a server has checked.
    pub fn with_credential(self, credential: impl Into<String>) -> Origin {
        Origin { credential: Some(credential.into()), ..self }
    }
}

/// What questions are about. Text that a person agrees to is shown exactly as it is; only prose is rendered as Markdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Context {
    /// A command that would run.
    #[serde(with = "text_field")]
    #[cfg_attr(feature = "schema", schemars(with = "text_field::Field"))]
    Command(String),
    /// A difference that would be made, in unified form.
    #[serde(with = "text_field")]
    #[cfg_attr(feature = "schema", schemars(with = "text_field::Field"))]
    Diff(String),
    /// The input that a tool would get, as a table of its fields.
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
    /// The texts that a surface draws, in their order. None of them is a tool use.
    pub fn parts(&self) -> Vec<Cow<'_, Context>> {
        match self {
            Context::ToolUse(call) => call.parts().into_iter().map(Cow::Owned).collect(),
            basic => vec![Cow::Borrowed(basic)],
        }
    }

    /// The text as it is shown, whole: whatever it is, a person agrees to it. See [`exact`].
    pub fn shown(&self, charset: Charset) -> Cow<'_, str> {
        let text = match self {
            // Its last line end is the end of its last line.
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

    /// The text, as it was given.
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

    /// The command that would run, if the person decides on one.
    pub fn command(&self) -> Option<&str> {
        match self {
            Context::Command(command) => Some(command),
            Context::ToolUse(call) => call.command(),
            _ => None,
        }
    }

    /// The input of a tool as JSON, for a reader who wants more than the rendering.
    pub fn raw_input(&self) -> Option<String> {
        match self {
            Context::ToolUse(call) => Some(format!("{:#}", Value::Object(call.input().clone()))),
            _ => None,
        }
    }
}

/// Stores a text as the field `text`, beside the kind of its context.
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

/// A request as it is stored.
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
