//! What a tool is, what it gets, and the registry it stands in. Asking a person is a tool like any other.

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

/// Something a model can call.
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
    /// What models are told about it.
    fn definition(&self) -> ToolDefinition;

    /// What it does to the world.
    fn access(&self) -> Access;

    /// Whether models are offered it.
    fn is_offered(&self, mode: PermissionMode, can_ask: bool) -> bool {
        match self.access() {
            Access::Read => true,
            Access::Ask => can_ask,
            Access::Act => mode != PermissionMode::Plan,
        }
    }

    /// What a person has to agree to before this call runs; asked of tools that [act](Access::Act). An input that could
    /// not run anyway is refused here, before anybody is bothered.
    ///
    /// # Errors
    /// The result that the model reads instead, where the call cannot run.
    fn consent(&self, call: &ToolCall, _context: &ToolContext) -> Result<Consent, ToolResult> {
        let name = &call.name;
        let input = match &call.input {
            Value::Object(fields) => Context::ToolUse(ToolUse::new(name, fields.clone())),
            other => Context::ToolInput(other.to_string()),
        };
        let (rule, always) = (PermissionRule::Tool(name.clone()), format!("Run {name} in this folder without asking"));
        Ok(Consent::new(format!("Run {name} with this input?"), input, rule, always))
    }

    /// Runs. Dropping the future stops it and whatever it has started.
    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a>;
}

/// A tool at work.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<ToolResult, Stop>> + Send + 'a>>;

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Looks only: needs no permission, may run beside others, and again after a crash.
    Read,
    /// Talks to the person: nothing else of the turn runs meanwhile, and no permission mode answers or skips it.
    Ask,
    /// Changes something: needs permission, and is not run twice.
    Act,
}

/// What a person has to agree to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consent {
    /// The question.
    pub question: String,
    /// The text that the person agrees to, whole: a command, a diff, an input. It is read to its end before anything is allowed.
    pub context: Context,
    /// What "always" would allow from then on: whatever has the same rule. An edit inside the allowed folders is let through by
    /// the mode that accepts edits as well.
    pub rule: PermissionRule,
    /// The same in words.
    pub always: String,
    /// The words of a plain command: a rule for how it begins lets it through too.
    pub plain_words: Vec<String>,
    /// Whether it is asked for in every mode, each time: it could decide in the person's place from then on.
    pub always_ask: bool,
    /// Whether it acts inside the sandbox.
    pub is_inside: bool,
    /// Why it is asked for where the mode would let it through: what is special about it.
    pub because: Option<String>,
    pub(crate) agreed: Option<Agreed>,
}

/// What a call was agreed to do: when it runs, the world may be another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Agreed {
    /// To change a file that has this content, or none.
    Change(Option<Vec<u8>>),
    /// To reach this far; `None` where there is no sandbox.
    Reach(Option<Reach>),
}

impl Consent {
    /// To agree to what the context holds; `always` says in words what the rule would allow from then on.
    pub fn new(
        question: impl Into<String>,
        context: Context,
        rule: PermissionRule,
        always: impl Into<String>,
    ) -> Consent {
        let (question, always) = (question.into(), always.into());
        let (plain_words, always_ask, is_inside, because, agreed) = Default::default();
        Consent { question, context, rule, always, plain_words, always_ask, is_inside, because, agreed }
    }
}

/// A tool as it is offered to a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// What models call it.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its input.
    pub schema: Value,
}

impl ToolDefinition {
    /// A tool of this name. `schema` is the JSON Schema of its input.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: Value) -> ToolDefinition {
        ToolDefinition { name: name.into(), description: description.into(), schema }
    }
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// Whether it did what it was called for.
    pub success: bool,
    /// What the model reads.
    pub output: String,
    /// What people see of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<ResultMetadata>>,
    /// The time that the tool ran, in milliseconds, if that was a second or longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

/// What people see of a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResultMetadata {
    /// The tool, or what it did.
    pub title: String,
    /// To what: `src/main.rs`, `2 question(s)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// More for machines: a diff, an exit code, the outcome of a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl ToolResult {
    /// It worked.
    pub fn ok(output: impl Into<String>) -> ToolResult {
        ToolResult { success: true, output: output.into(), metadata: None, took_ms: None }
    }

    /// It did not, and this is why.
    pub fn error(output: impl Into<String>) -> ToolResult {
        ToolResult { success: false, ..ToolResult::ok(output) }
    }

    /// The result of a call that did not run to its end. People see `ending`; the model reads the output.
    pub(crate) fn without_end(ending: &str, output: impl Into<String>) -> ToolResult {
        ToolResult::error(output).with_details(json!({"ending": ending}))
    }

    /// Says what people see of it.
    pub fn with_title(self, title: impl Into<String>, subtitle: impl Into<String>) -> ToolResult {
        let details = self.metadata.and_then(|metadata| metadata.details);
        let metadata = ResultMetadata { title: title.into(), subtitle: Some(subtitle.into()), details };
        ToolResult { metadata: Some(Box::new(metadata)), ..self }
    }

    /// Adds something for machines.
    pub fn with_details(self, details: Value) -> ToolResult {
        let metadata =
            ResultMetadata { details: Some(details), ..self.metadata.map(|metadata| *metadata).unwrap_or_default() };
        ToolResult { metadata: Some(Box::new(metadata)), ..self }
    }

    /// Notes how long the tool has run.
    pub(crate) fn timed(self, took: Duration) -> ToolResult {
        let took_ms = (took >= Duration::from_secs(1)).then_some(took.as_millis() as u64);
        ToolResult { took_ms, ..self }
    }
}

/// Why a turn cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The person stopped it. Nothing is running any more.
    Interrupted,
    /// It failed; it can be resumed where it was.
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

/// What a tool gets beside its input.
#[derive(Clone)]
pub struct ToolContext {
    /// Where the agent works.
    pub cwd: PathBuf,
    /// Folders outside of it that are allowed too.
    pub allowed: Vec<PathBuf>,
    /// Folders in which a change is asked for, also where edits are accepted.
    pub protected: Vec<PathBuf>,
    /// Cancelled when the turn is stopped. The future of the tool is dropped as well.
    pub abort: CancellationToken,
    /// Who can be asked, if anybody.
    pub asker: Option<Arc<dyn Asker>>,
    /// What the call was agreed to do, if it acts.
    pub(crate) agreed: Option<Agreed>,
    /// What the model said just before its calls.
    pub(crate) said_before: Option<Arc<str>>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) events: EventSender,
    /// Whether the call already holds the lock under which the session asks and acts.
    pub(crate) is_exclusive: bool,
    /// Cancelled when the person has said something before a message that was cut off was taken up again: none of its calls
    /// begins any more.
    pub(crate) user_returned: CancellationToken,
}

impl ToolContext {
    /// Tells the front end.
    pub fn emit(&self, event: AgentEvent) {
        self.events.send(event);
    }

    /// Lets the listener take in what has been emitted before anything else happens: text is on the screen before a
    /// prompt is drawn under it, and what they stop now does not begin.
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

/// A tool, and what it said of itself when it was added: that is looked at for every call and every request.
struct Registered {
    definition: ToolDefinition,
    tool: Arc<dyn Tool>,
}

impl Registry {
    /// No tools.
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

    /// Without the tool of this name.
    pub fn without(mut self, name: &str) -> Registry {
        self.tools.retain(|other| other.definition.name != name);
        self
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|other| other.definition.name == name).map(|found| &found.tool)
    }

    /// The name of the tool that a model means: Gemini sometimes puts a name of its own before it, as in `default_api:Read`.
    pub(crate) fn meant<'a>(&self, name: &'a str) -> &'a str {
        let last = name.rsplit([':', '.']).next().unwrap_or(name);
        if self.get(name).is_none() && self.get(last).is_some() { last } else { name }
    }

    /// What the tools are called.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.definition.name.as_str())
    }

    /// What a model is offered.
    pub fn offered(&self, mode: PermissionMode, can_ask: bool) -> Vec<ToolDefinition> {
        let offered = self.tools.iter().filter(|other| other.tool.is_offered(mode, can_ask));
        offered.map(|other| other.definition.clone()).collect()
    }
}
