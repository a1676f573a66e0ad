//! The MCP server: its tools, and the handling of calls.

use crate::background::Asked;
use crate::call::{Call, Unanswered, client_name, is_stateless};
use crate::form::has_forms;
use crate::{results, tools};
use askuser::policy::Policy;
use askuser::store::{Attachment, QuestionId};
use askuser::{AskError, Chain, Inbox, Origin, Rules, sanitize};
use hyper::http::request::Parts;
use percent_encoding::percent_decode_str;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, DiscoverRequestMethod, DiscoverResult, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, RequestStateCodec, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer, ServerHandler};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The time limit for a client's list of roots.
const ROOTS: Duration = Duration::from_secs(2);
const MOST_FOLDER_CHARS: usize = 1_000;

/// The time in which no person can read a question and refuse it.
const INSTANT: Duration = Duration::from_millis(500);
const INSTANT_WHERE_HEADLESS: Duration = Duration::from_secs(1);
/// The time after a client's timeout within which its model is expected to repeat the question.
const ASKS_AGAIN: Duration = Duration::from_secs(60);

/// The settings of an MCP server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The folder and machine of the asker. The name of the agent comes from the calling client.
    pub origin: Origin,
    /// The rules by which inputs are parsed.
    pub rules: Rules,
    /// The maximum waiting time of a call; `None` for the client's known limit.
    pub limit: Option<Duration>,
    /// The time limit of a question; `None` without one.
    pub deadline: Option<Duration>,
    /// The key that signs the state that a client of protocol 2026-07-28 carries while its dialog is open. It has at
    /// least 32 bytes, is private, and stays the same after a restart. Without a key, such clients show no dialog.
    pub state_key: Option<Vec<u8>>,
    /// Whether a person may sit at the client's own dialog. If an agent's command started the client, no person does.
    pub dialogs: bool,
    /// The policy that settles questions before a person is asked.
    pub chain: Chain,
    /// Whether a model may ask in the background.
    pub background: bool,
    /// Whether `approve` is listed, which is for Claude Code's `--permission-prompt-tool`.
    pub approve: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            origin: Origin::default(),
            rules: Rules::strict(),
            limit: None,
            deadline: None,
            state_key: None,
            dialogs: true,
            chain: Chain::new(Policy::default()),
            background: true,
            approve: false,
        }
    }
}

/// An MCP server. Clones share all state.
#[derive(Clone)]
pub struct Server {
    pub(crate) inbox: Arc<dyn Inbox>,
    pub(crate) options: Arc<Options>,
    pub(crate) codec: Option<Arc<RequestStateCodec>>,
    /// The attachments of questions whose forms a client of protocol 2026-07-28 shows between two calls.
    pub(crate) shown: Arc<Mutex<HashMap<QuestionId, Attachment>>>,
    pub(crate) conversation: Arc<Conversation>,
    /// Whether the client has started this process and works in its folder.
    is_started_by_client: bool,
    /// The token that is cancelled when the connection is gone. Calls that wait for a person stop then.
    pub(crate) closed: CancellationToken,
}

/// The state of one client process. It separates the calls of the process from all others.
pub(crate) struct Conversation {
    pub(crate) id: String,
    pub(crate) began: Instant,
    /// The working folder of a client that has not started this process, once known.
    folder: OnceCell<Option<String>>,
    /// A flag that is set once a dialog of the client has refused without a person.
    is_headless: AtomicBool,
    /// The answers that the client may have missed, because it gave up the call without cancelling it. They are kept by
    /// series, with the question and the time.
    perhaps_missed: Mutex<HashMap<String, (QuestionId, Instant)>>,
    /// The questions of this conversation.
    pub(crate) asked: Asked,
}

impl Conversation {
    fn new() -> Arc<Conversation> {
        let id = random_id();
        let began = Instant::now();
        Arc::new(Conversation {
            id,
            began,
            folder: OnceCell::new(),
            is_headless: AtomicBool::default(),
            perhaps_missed: Mutex::default(),
            asked: Asked::default(),
        })
    }

    /// Whether a refusal after this time was the client's own. A client that has refused by itself may take longer,
    /// because its machine may be busy.
    pub(crate) fn is_refused_by_itself(&self, after: Duration) -> bool {
        let is_instant = after < INSTANT;
        is_instant || self.is_headless.load(Ordering::Relaxed) && after < INSTANT_WHERE_HEADLESS
    }

    /// Records that a dialog has refused without asking a person.
    pub(crate) fn refused_by_itself(&self) {
        self.is_headless.store(true, Ordering::Relaxed);
    }

    /// Records an answer that the client may not have waited for.
    pub(crate) fn perhaps_missed(&self, series: String, id: &QuestionId) {
        let mut answers = self.perhaps_missed.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|_, (_, left)| left.elapsed() <= ASKS_AGAIN);
        answers.insert(series, (id.clone(), Instant::now()));
    }

    /// Returns the question whose answer a client may have missed, if the client repeats the question soon enough.
    pub(crate) fn missed(&self, series: &str) -> Option<QuestionId> {
        let missed = self.perhaps_missed.lock().unwrap_or_else(PoisonError::into_inner).remove(series)?;
        (missed.1.elapsed() <= ASKS_AGAIN).then_some(missed.0)
    }
}

/// The name of the client that only checks whether a question reaches the store. Its questions end immediately.
pub const PROBE_CLIENT: &str = "askuser doctor";

impl Server {
    /// Creates a server that asks through this inbox.
    pub fn new(inbox: Arc<dyn Inbox>, options: Options) -> Server {
        let codec = options.state_key.clone().and_then(|key| RequestStateCodec::try_new(key).ok()).map(Arc::new);
        let shown = Arc::default();
        let conversation = Conversation::new();
        let closed = CancellationToken::new();
        Server { inbox, options: Arc::new(options), codec, shown, conversation, is_started_by_client: true, closed }
    }

    /// Returns the same server for another client.
    pub(crate) fn in_new_conversation(self) -> Server {
        Server { conversation: Conversation::new(), ..self }
    }

    /// Returns the same server for clients that other programs have started, in unknown folders.
    pub(crate) fn over_http(self, closed: CancellationToken) -> Server {
        Server { is_started_by_client: false, ..self.of_connection(closed) }
    }

    pub(crate) fn of_connection(self, closed: CancellationToken) -> Server {
        Server { closed, ..self.in_new_conversation() }
    }

    /// Returns the asker of a request.
    fn origin(&self, context: &RequestContext<RoleServer>) -> Origin {
        let mut origin = self.options.origin.clone().with_agent(client_name(context));
        if !self.is_started_by_client {
            origin.folder = self.conversation.folder.get().cloned().flatten().or_else(|| project(context));
        }
        origin
    }

    /// Asks a client once for its folder, if the folder is unknown and the client can name it.
    async fn learn_folder(&self, context: &RequestContext<RoleServer>) {
        let has_roots = context.client_capabilities().is_some_and(|client| client.roots.is_some());
        if !self.is_started_by_client && has_roots && !is_stateless(context) {
            self.conversation.folder.get_or_init(|| roots(&context.peer)).await;
        }
    }
}

/// Returns the folders that a client names, on one line; `None` if it names none in time.
#[expect(deprecated, reason = "nothing else says in which project a client works")]
async fn roots(client: &Peer<RoleServer>) -> Option<String> {
    let listed = tokio::time::timeout(ROOTS, client.list_roots()).await.ok()?.ok()?;
    let paths = listed.roots.iter().map(|root| root.uri.strip_prefix("file://").unwrap_or(&root.uri));
    let mut folders: Vec<_> = paths.map(|path| percent_decode_str(path).decode_utf8_lossy()).collect();
    folders.sort();
    folder(&folders.join(", "))
}

/// Returns the project that a client's address names, as in `/mcp?project=shop`; `None` if it names none.
fn project(context: &RequestContext<RoleServer>) -> Option<String> {
    let query = context.extensions.get::<Parts>()?.uri.query()?;
    let name = query.split('&').find_map(|field| field.strip_prefix("project="))?;
    folder(&percent_decode_str(&name.replace('+', " ")).decode_utf8_lossy())
}

fn folder(named: &str) -> Option<String> {
    let folder: String = sanitize::line(named).chars().take(MOST_FOLDER_CHARS).collect();
    (!sanitize::is_blank(&folder)).then_some(folder)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("askuser", env!("CARGO_PKG_VERSION")).with_title("askuser"))
    }

    /// Refuses clients with forms, because protocol 2026-07-28 cannot close a form when the person has answered
    /// elsewhere. Such a client gets the error of an unknown method, and falls back to a protocol that can.
    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        if context.client_capabilities().is_some_and(|client| has_forms(&client)) {
            return Err(ErrorData::method_not_found::<DiscoverRequestMethod>());
        }
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::definitions(&self.options)))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.learn_folder(&context).await;
        let arguments = call.arguments.map(Into::into).unwrap_or_default();
        let client = context.client_info();
        tracing::info!(
            request = %context.id,
            tool = %call.name,
            client = client.as_ref().map(|client| client.name.as_str()),
            version = client.as_ref().map(|client| client.version.as_str()),
            "called"
        );
        let made = Call { server: self, context: &context, origin: self.origin(&context) };
        let result = match &*call.name {
            tools::ASK => made.ask(arguments, call.input_responses, call.request_state).await,
            tools::RESULT => made.redeem(&arguments).await,
            tools::APPROVE if self.options.approve => made.approve(&arguments).await,
            name => return Err(ErrorData::invalid_params(format!("there is no tool {name}"), None)),
        };
        let mut response = result.or_else(|unanswered| match unanswered {
            Unanswered::Refused(result) => Ok((*result).into()),
            Unanswered::NotYet(id) => Ok(results::not_yet(&id).into()),
            Unanswered::Failed(AskError::Withdrawn) => Ok(results::withdrawn().into()),
            Unanswered::Failed(error) => Ok(results::not_asked(&error.chain()).into()),
            Unanswered::Left => Err(ErrorData::internal_error("stopped waiting; the question stays open", None)),
        })?;
        if let CallToolResponse::Complete(result) = &mut response
            && call.name != tools::APPROVE
        {
            made.add_arrived(result).await;
        }
        Ok(response)
    }
}

/// Returns 128 random bits in hexadecimal.
pub(crate) fn random_id() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser_inbox::{InboxAsker, Location};

    #[test]
    fn every_client_of_one_server_has_a_conversation_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let store = Location::File(folder.path().join("inbox.sqlite")).open().unwrap();
        let server = Server::new(Arc::new(InboxAsker::new(store, "ada")), Options::default());
        let of_connection = |server: Server| server.of_connection(CancellationToken::new());
        let servers = [
            server.clone(),
            server.clone().in_new_conversation(),
            of_connection(server.clone()),
            of_connection(server),
        ];
        let conversations: std::collections::HashSet<&str> =
            servers.iter().map(|server| server.conversation.id.as_str()).collect();
        assert_eq!(conversations.len(), servers.len());
    }
}
