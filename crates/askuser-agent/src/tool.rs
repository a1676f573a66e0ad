//! The trait of tools, their context and their registry. The tool that asks a person is a tool like any other.

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

/// A tool that a model can call.
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
    /// Returns the definition of the tool for models.
    fn definition(&self) -> ToolDefinition;

    /// Returns the kind of effect that the tool has.
    fn access(&self) -> Access;

    /// Whether the tool is offered to models in this mode. `can_ask` tells whether the agent has an asker.
    fn is_offered(&self, mode: PermissionMode, can_ask: bool) -> bool {
        match self.access() {
            Access::Read => true,
            Access::Ask => can_ask,
            Access::Act => mode != PermissionMode::Plan,
        }
    }

    /// Returns the agreement that the call needs before it runs. The agent asks for it only if the tool
    /// [acts](Access::Act).
    ///
    /// An invalid input should fail here, before the person is asked.
    ///
    /// # Errors
    /// Returns the result for the model if the call cannot run.
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

    /// Runs the call. Dropping the future stops the call and all of its processes.
    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a>;
}

/// The future of a running tool.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<ToolResult, Stop>> + Send + 'a>>;

/// The kind of effect that a tool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The tool only reads. It needs no permission, may run concurrently, and may run again after a crash.
    Read,
    /// The tool asks the person, in every permission mode. No other call of the turn runs meanwhile.
    Ask,
    /// The tool changes something. It needs permission and does not run twice.
    Act,
}

/// The agreement of the person that a call needs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consent {
    /// The question that the person answers.
    pub question: String,
    /// The full text that the person agrees to, such as a command, a diff or an input. The person must read it to its
    /// end before allowing it.
    pub context: Context,
    /// The rule that "always" adds. It allows every call with the same rule. Accept-edits mode also allows an edit
    /// inside the allowed folders.
    pub rule: PermissionRule,
    /// The description of the rule for the person.
    pub always: String,
    /// The words of a plain command, which a prefix rule may also allow. Empty for other calls.
    pub plain_words: Vec<String>,
    /// Whether the agreement is asked for in every mode and each time, because the call could change future decisions.
    pub always_ask: bool,
    /// Whether the call runs inside the sandbox.
    pub is_inside: bool,
    /// The reason why the agreement is asked for although the mode would allow the call; `None` if there is none.
    pub because: Option<String>,
    pub(crate) agreed: Option<Agreed>,
}

/// The effect that the person agreed to. The state may have changed by the time the call runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Agreed {
    /// The call changes a file that has this content. `None` means that the call creates a file.
    Change(Option<Vec<u8>>),
    /// The command runs with this access; `None` if there is no sandbox.
    Reach(Option<Reach>),
}

impl Consent {
    /// Creates a consent to the text in `context`. `always` describes the rule to the person.
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

/// The definition of a tool for a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The name of the tool.
    pub name: String,
    /// The description of the tool for the model.
    pub description: String,
    /// The JSON Schema of the tool's input.
    pub schema: Value,
}

impl ToolDefinition {
    /// Creates a definition. `schema` is the JSON Schema of the tool's input.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: Value) -> ToolDefinition {
        ToolDefinition { name: name.into(), description: description.into(), schema }
    }
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// Whether the call succeeded.
    pub success: bool,
    /// The text that the model reads.
    pub output: String,
    /// The display of the result for people; `None` if there is only the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<ResultMetadata>>,
    /// The time that the tool ran, in milliseconds; `None` if it ran for less than a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

/// The display of a result for people.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResultMetadata {
    /// The name of the tool or of its action.
    pub title: String,
    /// The object of the action, such as `src/main.rs` or `2 question(s)`; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// Data for programs, such as a diff, an exit code or the outcome of a question; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl ToolResult {
    /// Creates a successful result with this output.
    pub fn ok(output: impl Into<String>) -> ToolResult {
        ToolResult { success: true, output: output.into(), metadata: None, took_ms: None }
    }

    /// Creates a failed result. `output` states the reason.
    pub fn error(output: impl Into<String>) -> ToolResult {
        ToolResult { success: false, ..ToolResult::ok(output) }
    }

    /// Creates the result of an interrupted call. People see `ending`, and the model reads `output`.
    pub(crate) fn without_end(ending: &str, output: impl Into<String>) -> ToolResult {
        ToolResult::error(output).with_details(json!({"ending": ending}))
    }

    /// Sets the title and the subtitle that people see.
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

    /// Sets the time that the tool ran, if it is at least a second.
    pub(crate) fn timed(self, took: Duration) -> ToolResult {
        let took_ms = (took >= Duration::from_secs(1)).then_some(took.as_millis() as u64);
        ToolResult { took_ms, ..self }
    }
}

/// The reason why a turn stops before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The person stopped the turn. All of its work has ended.
    Interrupted,
    /// The turn failed. It can be resumed at the same point.
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

/// The data that a tool gets with a call.
#[derive(Clone)]
pub struct ToolContext {
    /// The working folder of the agent.
    pub cwd: PathBuf,
    /// The other folders that tools may access.
    pub allowed: Vec<PathBuf>,
    /// The folders in which every change needs permission.
    pub protected: Vec<PathBuf>,
    /// A token that is cancelled when the turn is stopped. The future of the tool is then dropped, too.
    pub abort: CancellationToken,
    /// The asker of the agent; `None` if no person can be asked.
    pub asker: Option<Arc<dyn Asker>>,
    /// The effect that the person agreed to; `None` if the call does not act.
    pub(crate) agreed: Option<Agreed>,
    /// The model's text before its calls; `None` if there is none.
    pub(crate) said_before: Option<Arc<str>>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) events: EventSender,
    /// Whether the call holds the session's lock for asking and acting.
    pub(crate) is_exclusive: bool,
    /// A token that is cancelled when the person sends a message before an interrupted turn is over. No further call of
    /// that turn starts.
    pub(crate) user_returned: CancellationToken,
}

impl ToolContext {
    /// Emits an event of the agent.
    pub fn emit(&self, event: AgentEvent) {
        self.events.send(event);
    }

    /// Waits until the reader has taken all events. So text is on the screen before a prompt appears below it.
    ///
    /// # Errors
    /// Returns [`Stop::Interrupted`] if the turn was stopped meanwhile.
    pub(crate) async fn wait_until_taken(&self) -> Result<(), Stop> {
        self.events.wait_until_taken().await;
        if self.abort.is_cancelled() { Err(Stop::Interrupted) } else { Ok(()) }
    }
}

/// The tools of an agent by name. Clones refer to the same tools.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<Registered>>,
}

/// A tool with its definition. The definition is stored because every call and every request reads it.
struct Registered {
    definition: ToolDefinition,
    tool: Arc<dyn Tool>,
}

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds a tool. It replaces a tool of the same name.
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

    /// Returns the tool of this name; `None` if there is none.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|other| other.definition.name == name).map(|found| &found.tool)
    }

    /// Returns the registered name of the tool that a model means. Gemini sometimes adds a prefix, as in
    /// `default_api:Read`, which is removed.
    pub(crate) fn meant<'a>(&self, name: &'a str) -> &'a str {
        let last = name.rsplit([':', '.']).next().unwrap_or(name);
        if self.get(name).is_none() && self.get(last).is_some() { last } else { name }
    }

    /// Returns the names of all tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.definition.name.as_str())
    }

    /// Returns the definitions of the tools that are offered to a model in this mode.
    pub fn offered(&self, mode: PermissionMode, can_ask: bool) -> Vec<ToolDefinition> {
        let offered = self.tools.iter().filter(|other| other.tool.is_offered(mode, can_ask));
        offered.map(|other| other.definition.clone()).collect()
    }
}
