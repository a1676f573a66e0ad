//! The trait of tools, their context and their registry. Asking a person is an ordinary tool.

use crate::agent_context::Shared;
use crate::event::{AgentEvent, Failure, FailureKind};
use crate::event_channel::EventSender;
use crate::message::ToolCall;
use crate::permission::PermissionMode;
use crate::permission_rules::PermissionRule;
use crate::sandbox::Reach;
use askuser::{Asker, Context, ToolUse};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A function that a model can call.
///
/// ```
/// use askuser_agent::{Access, Agent, AgentEvent, Registry, Running, Script, Tool, ToolCall, ToolContext, ToolDefinition, ToolResult};
/// use futures_util::StreamExt;
/// use serde_json::json;
///
/// struct Count;
///
/// #[derive(serde::Deserialize)]
/// struct Input<'a> {
///     text: &'a str,
/// }
///
/// impl Tool for Count {
///     fn definition(&self) -> ToolDefinition {
///         let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
///         ToolDefinition::new("Count", "Counts the words of a text", schema)
///     }
///
///     fn access(&self) -> Access {
///         Access::Read
///     }
///
///     fn run<'a>(&'a self, call: &'a ToolCall, _: &'a ToolContext) -> Running<'a> {
///         Box::pin(async move {
///             Ok(match call.typed_input::<Input>() {
///                 Ok(input) => ToolResult::ok(input.text.split_whitespace().count().to_string()),
///                 Err(rejected) => rejected,
///             })
///         })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = Script::parse(r#"{"turns": [{"calls": [{"name": "Count", "input": {"text": "one two"}}]}, {"text": "Done."}]}"#)?;
/// let mut agent = Agent::new(model).with_tools(Registry::new().with(Count));
/// let events: Vec<AgentEvent> = agent.run("How many words?").collect().await;
/// assert!(events.iter().any(|event| matches!(event, AgentEvent::ToolResult { result, .. } if result.output == "2")));
/// # Ok(())
/// # }
/// ```
pub trait Tool: Send + Sync {
    /// The definition sent to models.
    fn definition(&self) -> ToolDefinition;

    /// The effect of the tool.
    fn access(&self) -> Access;

    /// Whether models are offered it.
    fn is_offered(&self, mode: PermissionMode, can_ask: bool) -> bool {
        match self.access() {
            Access::Read => true,
            Access::Ask => can_ask,
            Access::Act => mode != PermissionMode::Plan,
        }
    }

    /// The agreement that this call needs before it runs; only for tools that [act](Access::Act). It refuses an invalid
    /// input before the person is asked.
    ///
    /// # Errors
    /// The result for the model if the call cannot run.
    fn consent(&self, call: &ToolCall, _context: &ToolContext) -> Result<Consent, ToolResult> {
        let name = &call.name;
        let input = match &call.input {
            Value::Object(fields) => Context::ToolUse(ToolUse::new(name, fields.clone())),
            other => Context::ToolInput(other.to_string()),
        };
        let rule = PermissionRule::Tool(name.clone());
        let always = format!("Run {name} in this folder without asking");
        Ok(Consent::new(format!("Run {name} with this input?"), input, rule, always))
    }

    /// Runs the call. Dropping the future stops it and all of its processes.
    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a>;
}

/// A running tool.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<ToolResult, Stop>> + Send + 'a>>;

/// The effect of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only: needs no permission, may run concurrently, and again after a crash.
    Read,
    /// Asks the person, in every permission mode. No other call of the turn runs meanwhile.
    Ask,
    /// Changes something: needs permission, and is not run twice.
    Act,
}

/// The agreement that a call needs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consent {
    /// The question.
    pub question: String,
    /// The text that the person agrees to, in full: a command, a diff, an input. It must be read to its end before it
    /// can be allowed.
    pub context: Context,
    /// The rule that "always" adds, which allows every call with the same rule. Accept-edits mode also allows an edit
    /// inside the allowed folders.
    pub rule: PermissionRule,
    /// The rule in words.
    pub always: String,
    /// The words of a plain command. A prefix rule may allow it, too.
    pub plain_words: Vec<String>,
    /// Whether it is asked for in every mode and each time, because it could change future decisions.
    pub always_ask: bool,
    /// Whether it runs inside the sandbox.
    pub is_inside: bool,
    /// The reason why it is asked for although the mode would allow it.
    pub because: Option<String>,
    pub(crate) agreed: Option<Agreed>,
}

/// The agreed effect of a call. The state may have changed by the time it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Agreed {
    /// Changes a file that has this content, or creates one.
    Change(Option<Vec<u8>>),
    /// Runs with this access; `None` without a sandbox.
    Reach(Option<Reach>),
}

impl Consent {
    /// Creates a consent to the text in `context`. `always` describes the rule in words.
    pub fn new(
        question: impl Into<String>,
        context: Context,
        rule: PermissionRule,
        always: impl Into<String>,
    ) -> Consent {
        let question = question.into();
        let always = always.into();
        let (plain_words, always_ask, is_inside, because, agreed) = Default::default();
        Consent { question, context, rule, always, plain_words, always_ask, is_inside, because, agreed }
    }
}

/// A tool's definition for a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
}

impl ToolDefinition {
    /// A definition with this name. `schema` is the JSON Schema of its input.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: Value) -> ToolDefinition {
        ToolDefinition { name: name.into(), description: description.into(), schema }
    }
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// Whether the call succeeded.
    pub success: bool,
    /// The text for the model.
    pub output: String,
    /// The display for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<ResultMetadata>>,
    /// The time that the tool ran, in milliseconds, if that was a second or longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

/// The display of a result for people.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResultMetadata {
    /// The tool or its action.
    pub title: String,
    /// The object: `src/main.rs`, `2 question(s)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// Data for programs: a diff, an exit code, the outcome of a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl ToolResult {
    /// A successful result.
    pub fn ok(output: impl Into<String>) -> ToolResult {
        ToolResult { success: true, output: output.into(), metadata: None, took_ms: None }
    }

    /// A failed result with its reason.
    pub fn error(output: impl Into<String>) -> ToolResult {
        ToolResult { success: false, ..ToolResult::ok(output) }
    }

    /// The result of an interrupted call. People see `ending`; the model reads the output.
    pub(crate) fn without_end(ending: &str, output: impl Into<String>) -> ToolResult {
        ToolResult::error(output).with_details(json!({"ending": ending}))
    }

    /// Sets the display for people.
    pub fn with_title(self, title: impl Into<String>, subtitle: impl Into<String>) -> ToolResult {
        let details = self.metadata.and_then(|metadata| metadata.details);
        let metadata = ResultMetadata { title: title.into(), subtitle: Some(subtitle.into()), details };
        ToolResult { metadata: Some(Box::new(metadata)), ..self }
    }

    /// Adds data for programs.
    pub fn with_details(self, details: Value) -> ToolResult {
        let metadata =
            ResultMetadata { details: Some(details), ..self.metadata.map(|metadata| *metadata).unwrap_or_default() };
        ToolResult { metadata: Some(Box::new(metadata)), ..self }
    }

    /// Sets the running time.
    pub(crate) fn timed(self, took: Duration) -> ToolResult {
        let took_ms = (took >= Duration::from_secs(1)).then_some(took.as_millis() as u64);
        ToolResult { took_ms, ..self }
    }
}

/// The reason why a turn cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The person stopped it. All of its work has ended.
    Interrupted,
    /// It failed; it can be resumed at the same point.
    Failed(Failure),
}

impl From<Stop> for AgentEvent {
    fn from(stop: Stop) -> AgentEvent {
        match stop {
            Stop::Failed(error) => AgentEvent::Error { error },
            Stop::Interrupted => AgentEvent::Error { error: Failure::interrupted() },
        }
    }
}

impl Stop {
    pub(crate) fn failed(kind: FailureKind, message: impl Into<String>) -> Stop {
        Stop::Failed(Failure::new(kind, message))
    }
}

/// The context of a tool call.
#[derive(Clone)]
pub struct ToolContext {
    /// The working folder.
    pub cwd: PathBuf,
    /// Other allowed folders.
    pub allowed: Vec<PathBuf>,
    /// Folders in which every change is asked for.
    pub protected: Vec<PathBuf>,
    /// Cancelled when the turn is stopped. The future of the tool is dropped as well.
    pub abort: CancellationToken,
    /// The asker, if there is one.
    pub asker: Option<Arc<dyn Asker>>,
    /// The agreed effect, if the call acts.
    pub(crate) agreed: Option<Agreed>,
    /// The model's text before its calls.
    pub(crate) said_before: Option<Arc<str>>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) events: EventSender,
    /// Whether the call holds the session's lock for asking and acting.
    pub(crate) is_exclusive: bool,
    /// Cancelled when the person has spoken before an interrupted message was resumed. No further call of that message
    /// starts.
    pub(crate) user_returned: CancellationToken,
}

impl ToolContext {
    /// Emits an event.
    pub fn emit(&self, event: AgentEvent) {
        self.events.send(event);
    }

    /// Waits until the listener has taken all events. Text is then on the screen before a prompt is drawn under it, and
    /// a stop takes effect before the next call.
    pub(crate) async fn wait_until_taken(&self) -> Result<(), Stop> {
        self.events.wait_until_taken().await;
        if self.abort.is_cancelled() { Err(Stop::Interrupted) } else { Ok(()) }
    }
}

/// The tools of an agent, by name. Clones share them.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<Registered>>,
}

/// A tool with its definition at the time it was added. Every call and request reads it.
struct Registered {
    definition: ToolDefinition,
    tool: Arc<dyn Tool>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds a tool; one of the same name is replaced.
    pub fn with(self, tool: impl Tool + 'static) -> Registry {
        let definition = tool.definition();
        let mut registry = self.without(&definition.name);
        registry.tools.push(Arc::new(Registered { definition, tool: Arc::new(tool) }));
        registry
    }

    /// Removes the tool of this name.
    pub fn without(mut self, name: &str) -> Registry {
        self.tools.retain(|other| other.definition.name != name);
        self
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|other| other.definition.name == name).map(|found| &found.tool)
    }

    /// The registered name of the tool that a model calls. Gemini sometimes adds a prefix, as in `default_api:Read`,
    /// which is removed.
    pub(crate) fn meant<'a>(&self, name: &'a str) -> &'a str {
        let last = name.rsplit([':', '.']).next().unwrap_or(name);
        if self.get(name).is_none() && self.get(last).is_some() { last } else { name }
    }

    /// The names of the tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.definition.name.as_str())
    }

    /// The definitions for a model.
    pub fn offered(&self, mode: PermissionMode, can_ask: bool) -> Vec<ToolDefinition> {
        let offered = self.tools.iter().filter(|other| other.tool.is_offered(mode, can_ask));
        offered.map(|other| other.definition.clone()).collect()
    }
}
