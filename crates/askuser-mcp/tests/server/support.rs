//! A client that writes the protocol by hand, so that tests see every message.

use askuser::store::{
    AskerPresence, CredentialScope, Credentials, Draft, Ending, Filter, Handle, NewCredential, Principal, QuestionId,
    StoreError, StoredQuestion,
};
use askuser::{Inbox, Origin, Via, reply};
use askuser_inbox::{InboxAsker, SqliteStore, new_attempt};
use askuser_mcp::{HttpService, Options, Server, serve};
use askuser_serve::{Body, Caller, Response, WriteReceipts};
use hyper::Request;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The time limit for any step that is not slow on purpose.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A version that is not older than any measured client.
const VERSION: &str = "99.0";

/// An inbox with its own folder.
pub(crate) struct Desk {
    asker: InboxAsker,
    store: Arc<SqliteStore>,
    _folder: TempDir,
}

impl Desk {
    pub(crate) fn new() -> Arc<Desk> {
        Desk::at(Arc::new(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64))
    }

    /// Creates a desk with its own clock.
    pub(crate) fn at(clock: askuser_inbox::Clock) -> Arc<Desk> {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_for_test(&folder.path().join("inbox.sqlite"), clock, false).unwrap();
        let store = Arc::new(store);
        Arc::new(Desk { asker: InboxAsker::new(store.clone(), "ada"), store, _folder: folder })
    }

    /// Returns the store as the person who answers uses it.
    pub(crate) fn person(&self) -> Handle {
        self.asker.handle(Principal::person("ada", Via::Inbox))
    }

    /// Waits until this number of questions is pending.
    pub(crate) async fn pending(&self, count: usize) -> Vec<StoredQuestion> {
        let looking = async {
            loop {
                let found = self.person().list(&Filter::pending()).await.unwrap().questions;
                if found.len() == count {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.expect("so many questions")
    }

    pub(crate) async fn answer(&self, question: &StoredQuestion, reply: &Value) {
        self.answer_through(Via::Inbox, question, reply).await.unwrap();
    }

    pub(crate) async fn answer_through(
        &self,
        via: Via,
        question: &StoredQuestion,
        reply: &Value,
    ) -> Result<Ending, StoreError> {
        let outcome = reply::outcome(question.request.set(), reply).unwrap();
        let answerer = self.asker.handle(Principal::person("ada", via));
        answerer.answer(&question.id, outcome, &new_attempt().unwrap()).await
    }

    pub(crate) async fn choose(&self, question: &StoredQuestion, label: &str) {
        self.answer(question, &json!({"answers": [{"selectedOptions": [label]}]})).await;
    }

    /// Waits until a draft of the question is stored, and returns the draft.
    pub(crate) async fn draft(&self, id: &QuestionId) -> Value {
        self.draft_that(id, |draft| !draft.is_empty()).await
    }

    /// Waits until no draft of the question is stored.
    pub(crate) async fn no_draft(&self, id: &QuestionId) {
        self.draft_that(id, Draft::is_empty).await;
    }

    async fn draft_that(&self, id: &QuestionId, is_it: impl Fn(&Draft) -> bool) -> Value {
        let looking = async {
            loop {
                let draft = self.person().draft(id).await.unwrap();
                if is_it(&draft) {
                    return json!(draft.answers);
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.expect("such a draft")
    }

    /// Waits until the answer has reached the asker.
    pub(crate) async fn delivered(&self, id: &QuestionId) {
        self.question_that(id, |question| question.delivered_ms.is_some()).await;
    }

    /// Waits until no process waits for the question.
    pub(crate) async fn unattended(&self, id: &QuestionId) {
        self.question_that(id, |question| question.asker != AskerPresence::Waits).await;
    }

    async fn question_that(&self, id: &QuestionId, is_it: impl Fn(&StoredQuestion) -> bool) {
        let looking = async {
            while !is_it(&self.person().get(id).await.unwrap()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.expect("such a question");
    }
}

pub(crate) fn options() -> Options {
    let mut options = Options::default();
    options.origin = Origin::default().with_folder("/home/ada/shop");
    options.state_key = Some(vec![7; 32]);
    options
}

pub(crate) fn server(desk: &Arc<Desk>, options: Options) -> Server {
    Server::new(Arc::new(desk.asker.clone()), options)
}

/// The token of clients over HTTP.
pub(crate) const TOKEN: &str = "au_0123456789ab_secret";

/// The handler for the MCP clients of one server.
struct McpClients(HttpService);

impl askuser_serve::Mcp for McpClients {
    fn handle(
        &self,
        _: &Caller,
        request: Request<Body>,
        written: WriteReceipts,
    ) -> Pin<Box<dyn Future<Output = Result<Response, String>> + Send>> {
        let service = self.0.clone();
        Box::pin(async move {
            let reply = service.handle(request, Arc::new(move |tell| written.then(tell))).await;
            Ok(reply.map(Body::new))
        })
    }
}

/// Serves clients over HTTP that send [`TOKEN`].
pub(crate) async fn serve_http(desk: &Desk, server: Server, listener: TcpListener, end: CancellationToken) {
    let id = "0123456789ab".to_owned();
    let name = "client".to_owned();
    let scope = CredentialScope::Ask;
    let digest = Sha256::digest("secret").into();
    let new = NewCredential { id, name, scope, is_device: false, person: None, digest, address: None };
    desk.store.add_credential(&new).await.unwrap();
    let mut options = askuser_serve::Options::default();
    options.mcp = Some(Arc::new(McpClients(HttpService::new(server, end.clone()))));
    askuser_serve::serve(desk.store.clone(), desk.store.clone(), listener, options, end).await.unwrap();
}

/// Starts a server. Returns the client's end of the streams, the token that stops the server, and the server's task.
pub(crate) fn start(desk: &Arc<Desk>, options: Options) -> (DuplexStream, CancellationToken, JoinHandle<()>) {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (read, write) = split(theirs);
    let end = CancellationToken::new();
    let server = server(desk, options);
    let stop = end.clone();
    let served = tokio::spawn(async move { serve(server, read, write, stop).await.unwrap() });
    (ours, end, served)
}

/// A client of a started server.
pub(crate) struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: Option<WriteHalf<DuplexStream>>,
    pub(crate) end: CancellationToken,
    pub(crate) served: JoinHandle<()>,
    meta: Option<Value>,
}

impl Client {
    pub(crate) fn raw(desk: &Arc<Desk>, options: Options) -> Client {
        let (streams, end, served) = start(desk, options);
        let (read, write) = split(streams);
        Client { lines: BufReader::new(read).lines(), write: Some(write), end, served, meta: None }
    }

    /// Creates a client of this name and does its handshake.
    pub(crate) async fn named(desk: &Arc<Desk>, name: &str, options: Options) -> Client {
        Client::with(desk, name, "2025-11-25", json!({}), options).await
    }

    pub(crate) async fn with(
        desk: &Arc<Desk>,
        name: &str,
        version: &str,
        capabilities: Value,
        options: Options,
    ) -> Client {
        let mut client = Client::raw(desk, options);
        let info = json!({"name": name, "version": VERSION});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
        client.request(0, "initialize", params).await;
        let reply = client.next().await;
        assert_eq!(reply["result"]["protocolVersion"], version, "{reply}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    /// Creates a client of protocol 2026-07-28, which names itself in every request.
    pub(crate) fn stateless(desk: &Arc<Desk>, name: &str, capabilities: Value, options: Options) -> Client {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": name, "version": VERSION},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        Client { meta: Some(meta), ..Client::raw(desk, options) }
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, line: &str) {
        let write = self.write.as_mut().expect("an open stream");
        write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn request(&mut self, id: u64, method: &str, mut params: Value) {
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    pub(crate) async fn call(&mut self, id: u64, tool: &str, arguments: Value) {
        self.request(id, "tools/call", json!({"name": tool, "arguments": arguments})).await;
    }

    /// Returns the next message. Replies to a ping, as clients do.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            let message = self.next_of_all().await;
            if message["method"] != "ping" {
                return message;
            }
            self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {}})).await;
        }
    }

    pub(crate) async fn next_of_all(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await.expect("a message in time");
        serde_json::from_str(&line.unwrap().expect("an open stream")).expect("JSON and nothing else")
    }

    /// Returns the result of this request, which must be the next message.
    pub(crate) async fn result(&mut self, id: u64) -> Value {
        let reply = self.next().await;
        assert_eq!(reply["id"], id, "{reply}");
        reply["result"].clone()
    }

    /// Closes the writing side of the client, which still reads.
    pub(crate) async fn hang_up(&mut self) {
        self.write.take().expect("an open stream").shutdown().await.unwrap();
    }

    /// Closes the streams and waits until the server has ended.
    pub(crate) async fn close(mut self) {
        self.write = None;
        drop(self.lines);
        self.served.await.unwrap();
    }
}

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

pub(crate) fn database() -> Value {
    json!({"questions": [{
        "question": "Which database?",
        "header": "Database",
        "multiSelect": false,
        "options": [
            {"label": "PostgreSQL (Recommended)", "description": "A server"},
            {"label": "SQLite", "description": "A file"},
        ],
    }]})
}

pub(crate) fn features() -> Value {
    json!({"questions": [{
        "question": "Which features?",
        "header": "Features",
        "multiSelect": true,
        "options": [{"label": "Search", "description": "Find"}, {"label": "Export", "description": "Save"}],
    }]})
}
