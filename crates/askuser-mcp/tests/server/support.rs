//! A client that speaks the protocol by hand, so that tests see what goes over the wire.

use askuser::store::{Ending, Filter, Recorded, Store, StoreError, StoredQuestion};
use askuser::{Asker, Origin, Request, Resolution, Via, reply};
use askuser_inbox::{InboxAsker, SqliteStore};
use askuser_mcp::{Inbox, Options, Server, serve};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long anything may take that is not waited for on purpose.
const PATIENCE: Duration = Duration::from_secs(30);

/// Not before what was measured of any client.
const VERSION: &str = "99.0";

/// An inbox in a folder of its own.
pub(crate) struct Desk {
    asker: InboxAsker,
    _folder: TempDir,
}

impl Desk {
    pub(crate) fn new() -> Arc<Desk> {
        Desk::since(Duration::ZERO)
    }

    /// One where everything happens so long ago.
    pub(crate) fn since(age: Duration) -> Arc<Desk> {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("inbox.sqlite")).unwrap().without_sync().unwrap();
        let store = store.with_clock(Arc::new(move || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            (now - age).as_millis() as u64
        }));
        let inbox = askuser_inbox::Inbox::new(Arc::new(store));
        Arc::new(Desk { asker: InboxAsker::new(inbox).answered_by("ada"), _folder: folder })
    }

    /// Waits until so many questions are pending.
    pub(crate) async fn pending(&self, count: usize) -> Vec<StoredQuestion> {
        let looking = async {
            loop {
                let found = self.store().list(&Filter::pending()).unwrap();
                if found.len() == count {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.expect("so many questions")
    }

    pub(crate) fn answer(&self, question: &StoredQuestion, reply: &Value) {
        self.answer_through(Via::Inbox, question, reply);
    }

    pub(crate) fn answer_through(&self, via: Via, question: &StoredQuestion, reply: &Value) {
        let outcome = reply::outcome(question.request.set(), reply).unwrap();
        let resolution = Resolution::new(outcome, via).with_by("ada");
        let recorded = self.store().answer(&question.id, &resolution, "an attempt").unwrap();
        assert!(matches!(recorded, Recorded::Won(Ending::Resolved(_))), "{recorded:?}");
    }

    pub(crate) fn choose(&self, question: &StoredQuestion, label: &str) {
        self.answer(question, &json!({"answers": [{"selectedOptions": [label]}]}));
    }

    /// Waits until something that was said is kept for the inbox.
    pub(crate) async fn draft(&self, id: &str) -> Value {
        let looking = async {
            loop {
                if let Some(draft) = self.store().draft(id).unwrap() {
                    return draft;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.expect("a draft")
    }

    /// Waits until the answer has reached whoever asked.
    pub(crate) async fn delivered(&self, id: &str) {
        let looking = async {
            while self.store().get(id).unwrap().delivered_ms.is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.expect("a delivery");
    }
}

/// The inbox as a server gets it.
pub(crate) struct At(Arc<Desk>);

impl Desk {
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.asker.inbox().store().clone()
    }
}

impl Inbox for At {
    fn store(&self) -> Arc<dyn Store> {
        self.0.store()
    }

    fn put(&self, request: &Request) -> Result<StoredQuestion, StoreError> {
        self.0.asker.put(request)
    }

    fn asker(&self, beside: Option<Arc<dyn Asker>>) -> Arc<dyn Asker> {
        match beside {
            Some(surface) => Arc::new(self.0.asker.clone().beside(surface)),
            None => Arc::new(self.0.asker.clone()),
        }
    }
}

pub(crate) fn options() -> Options {
    let mut options = Options::default();
    options.origin = Origin::default().with_folder("/home/ada/shop");
    options.state_key = Some(vec![7; 32]);
    options
}

pub(crate) fn server(desk: &Arc<Desk>, options: Options) -> Server {
    Server::new(Arc::new(At(desk.clone())), options)
}

/// A server and its end of the streams.
pub(crate) fn start(desk: &Arc<Desk>, options: Options) -> (DuplexStream, CancellationToken, JoinHandle<()>) {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (read, write) = split(theirs);
    let end = CancellationToken::new();
    let server = server(desk, options);
    let stop = end.clone();
    let served = tokio::spawn(async move { serve(server, read, write, stop).await.unwrap() });
    (ours, end, served)
}

/// A client.
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

    /// A client of this name after its handshake.
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

    /// A client of protocol 2026-07-28, which says who it is with every request.
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

    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await.expect("a message in time");
        serde_json::from_str(&line.unwrap().expect("an open stream")).expect("JSON and nothing else")
    }

    /// The result of this request, which is the next message.
    pub(crate) async fn result(&mut self, id: u64) -> Value {
        let reply = self.next().await;
        assert_eq!(reply["id"], id, "{reply}");
        reply["result"].clone()
    }

    /// Sends nothing more, and still reads.
    pub(crate) async fn hang_up(&mut self) {
        self.write.take().expect("an open stream").shutdown().await.unwrap();
    }

    /// Closes the stream, and waits until the server has ended.
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
