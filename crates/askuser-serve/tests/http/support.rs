use crate::worker;
use askuser::Request;
use askuser::store::{
    Attachment, Attempt, Call, Claim, CredentialScope, Credentials, DraftSave, End, Ending, Events, Filter,
    NotifierFailure, Page, Principal, Purged, Put, QuestionId, QuestionRef, SavedDraft, Series, Store, StoredQuestion,
    Watch, Watched,
};
use askuser_conformance::{kills, wait};
use askuser_inbox::{Clock, SqliteStore};
use askuser_serve::{HttpStore, Options, Patience, serve, token};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A server in a separate thread, which ends when the value is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) end: CancellationToken,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(store: &SqliteStore, change: impl FnOnce(&mut Options)) -> Server {
        Server::at("127.0.0.1:0".parse().unwrap(), store, change)
    }

    pub(crate) fn stop(&mut self) {
        self.end.cancel();
        self.thread.take().map(std::thread::JoinHandle::join);
    }

    /// Starts another server at the same address.
    pub(crate) fn start_again(&mut self, store: &SqliteStore, change: impl FnOnce(&mut Options)) {
        *self = Server::at(self.address, store, change);
    }

    fn at(address: SocketAddr, store: &SqliteStore, change: impl FnOnce(&mut Options)) -> Server {
        let mut options = Options::default();
        options.person = "ada".into();
        options.lease = Duration::from_secs(5);
        change(&mut options);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind(address)).unwrap();
        let address = listener.local_addr().unwrap();
        let end = CancellationToken::new();
        let store = Arc::new(store.clone());
        let told = end.clone();
        let thread = std::thread::spawn(move || {
            runtime.block_on(serve(store.clone(), store, listener, options, told)).unwrap();
        });
        Server { address, end, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Creates a token.
pub(crate) fn token_for(store: &SqliteStore, name: &str, scope: CredentialScope, person: &str) -> String {
    made(store, name, scope, person, false)
}

fn made(store: &SqliteStore, name: &str, scope: CredentialScope, person: &str, is_device: bool) -> String {
    let person = Some(person).filter(|person| !person.is_empty() && scope == CredentialScope::Answer);
    if let Some(person) = person {
        wait(store.add_person(person)).unwrap();
    }
    let (token, mut new) = token::make(name, scope, person).unwrap();
    new.is_device = is_device && person.is_some();
    wait(store.add_credential(&new)).unwrap();
    token
}

/// A store in a folder, with a server and a clock that stands still unless moved.
pub(crate) struct Place {
    server: Server,
    pub(crate) store: SqliteStore,
    now: Arc<AtomicU64>,
    tokens: Tokens,
    _folder: TempDir,
}

/// The tokens of the principals.
type Tokens = Arc<Mutex<HashMap<(CredentialScope, String, String), String>>>;

impl Place {
    pub(crate) fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicU64::new(1_000_000));
        let clock: Clock = {
            let now = now.clone();
            Arc::new(move || now.load(Ordering::Relaxed))
        };
        let store = SqliteStore::open_for_test(&folder.path().join("inbox.sqlite"), clock, false).unwrap();
        for name in ["bob", "o'neil"] {
            wait(store.add_person(name)).unwrap();
        }
        let server = Server::start(&store, |_| {});
        Place { server, store, now, tokens: Tokens::default(), _folder: folder }
    }

    /// Discards the tokens of this name, so that the next call creates a new one.
    pub(crate) fn renew(&self, name: &str) {
        self.tokens.lock().unwrap().retain(|(_, credential, _), _| credential != name);
    }

    /// Revokes the credential of this name. Returns whether it existed.
    pub(crate) fn revoke(&self, name: &str) -> bool {
        let credential = wait(self.store.credentials()).unwrap().into_iter().find(|one| one.made.name == name);
        credential.is_some_and(|credential| wait(self.store.revoke_credential(&credential.made.id)).unwrap())
    }

    fn principals(&self) -> Principals {
        let patience = Patience { limit: Some(Duration::from_secs(10)), ..Patience::default() };
        let first = HttpStore::open(&self.server.url(), "none", patience).unwrap();
        Principals { first, store: self.store.clone(), tokens: self.tokens.clone(), opened: Mutex::default() }
    }
}

impl askuser_conformance::Place for Place {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.principals())
    }

    fn set_time(&self, ms: u64) {
        self.now.store(ms, Ordering::Relaxed);
    }

    /// Creates the token of the principal, which is its credential.
    fn with_credential(&self, by: &Principal) -> Principal {
        self.principals().token(by);
        by.clone()
    }

    fn revoke(&self, by: &Principal) {
        let token = self.principals().token(by);
        let id = token.split('_').nth(1).unwrap();
        assert!(wait(self.store.revoke_credential(id)).unwrap());
    }

    fn die_waiting(&self, request: &Request, series: Option<&Series>) -> QuestionId {
        let token = self.principals().token(&Principal::agent(request.origin()));
        kills::die_waiting(|job| worker::command(job, &self.server.url(), &token), request, series)
    }

    /// Returns the number of random steps, of which each takes at least one request.
    fn steps(&self) -> usize {
        10_000
    }

    fn damage(&self) -> Vec<String> {
        wait(self.store.integrity()).unwrap()
    }
}

/// The store at an address as a process with several principals uses it. Each principal has its own token.
struct Principals {
    first: HttpStore,
    store: SqliteStore,
    tokens: Tokens,
    opened: Mutex<HashMap<String, HttpStore>>,
}

impl Principals {
    fn token(&self, by: &Principal) -> String {
        let name = by.name().unwrap_or_default().to_owned();
        let (scope, name, person) = match (by.via(), by.device()) {
            (None, _) => (CredentialScope::Ask, Some(name).filter(|name| !name.is_empty()), String::new()),
            (_, Some(device)) => (CredentialScope::Answer, Some(device.to_owned()), name),
            (_, None) => (CredentialScope::Answer, Some(format!("a device of {name}")), name),
        };
        let name = name.unwrap_or_else(|| "nameless".into());
        let mut tokens = self.tokens.lock().unwrap();
        let key = (scope, name.clone(), person.clone());
        tokens.entry(key).or_insert_with(|| made(&self.store, &name, scope, &person, true)).clone()
    }

    fn of(&self, by: &Principal) -> HttpStore {
        let token = self.token(by);
        let mut opened = self.opened.lock().unwrap();
        opened.entry(token.clone()).or_insert_with(|| self.first.with_token(&token).unwrap()).clone()
    }
}

macro_rules! forward {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $output:ty;)*) => {$(
        fn $name(&self, by: &Principal, $($argument: $kind),*) -> Call<$output> {
            self.of(by).$name(by, $($argument),*)
        }
    )*};
}

impl Store for Principals {
    forward! {
        put(request: &Request, series: Option<&Series>) -> Put;
        get(which: &QuestionRef) -> StoredQuestion;
        resolve(abbreviation: &str) -> Vec<QuestionId>;
        end(which: &QuestionRef, end: &End, attempt: &Attempt) -> Ending;
        claim(id: &QuestionId, attempt: &Attempt) -> Claim;
        attach(id: &QuestionId) -> Attachment;
        sent(id: &QuestionId) -> Option<u64>;
        delivered(id: &QuestionId) -> ();
        hold(which: &QuestionRef) -> ();
        save_draft(which: &QuestionRef, save: &DraftSave) -> Vec<SavedDraft>;
        drafts(which: &QuestionRef) -> Vec<SavedDraft>;
        list(filter: &Filter) -> Page;
        count(filter: &Filter) -> u64;
        events(after: u64, limit: u32) -> Events;
        watch(what: &Watched) -> Watch;
        show_list() -> Attachment;
        is_list_shown() -> bool;
        note_failure(failure: Option<&NotifierFailure>) -> ();
        last_failure() -> Option<NotifierFailure>;
    }

    /// Purges as the administrator, because behind a server a person's right to purge is the administrator's.
    fn purge(&self, by: &Principal, before_ms: u64) -> Call<Purged> {
        let root = token_for(&self.store, "root", CredentialScope::Admin, "");
        self.first.with_token(&root).unwrap().purge(by, before_ms)
    }

    fn flush(&self) -> Call<()> {
        self.first.flush()
    }
}

/// A server with a token for each scope. It has its own store and the real clock.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) store: SqliteStore,
    pub(crate) ask: String,
    pub(crate) answer: String,
    pub(crate) admin: String,
    _folder: TempDir,
}

impl Site {
    pub(crate) fn new() -> Site {
        Site::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Options)) -> Site {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("inbox.sqlite")).unwrap();
        let [ask, answer, admin] =
            [("ci", CredentialScope::Ask), ("phone", CredentialScope::Answer), ("root", CredentialScope::Admin)]
                .map(|(name, scope)| token_for(&store, name, scope, "ada"));
        Site { server: Server::start(&store, change), store, ask, answer, admin, _folder: folder }
    }

    /// Sends a request with this token.
    pub(crate) fn send(&self, token: &str, method: &str, path: &str, body: Value) -> Response {
        self.client().token(token).send(method, path, body)
    }

    pub(crate) fn client(&self) -> Client {
        Client::to(self.server.address)
    }

    /// Puts a question and returns its id.
    pub(crate) fn put(&self, key: &str) -> String {
        let put = self.client().token(&self.ask).header("Idempotency-Key", key);
        let put = put.send("POST", "/questions", json!({"input": input("Which database?")}));
        assert!(matches!(put.status, 200 | 201), "{put:?}");
        put.body["id"].as_str().unwrap().to_owned()
    }
}

pub(crate) fn input(text: &str) -> Value {
    json!({"questions": [{"question": text, "header": "Database", "multiSelect": false, "options": [
        {"label": "SQLite", "description": "One file"}, {"label": "PostgreSQL", "description": "A server"}]}]})
}

/// Returns a request as an `HttpStore` sends it.
#[cfg(target_os = "linux")]
pub(crate) fn request(call: &str) -> Request {
    let set = askuser::QuestionSet::parse(input("Which database?"), &askuser::Rules::strict()).unwrap();
    Request::new(askuser::RequestKey::new("session", call), set)
}

pub(crate) fn sqlite() -> Value {
    json!({"status": "answered", "answers": [{"selectedOptions": ["SQLite"]}]})
}

/// A client that writes HTTP byte by byte, so that it can send any header.
pub(crate) struct Client {
    address: SocketAddr,
    headers: Vec<(String, String)>,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl Client {
    pub(crate) fn to(address: SocketAddr) -> Client {
        let headers = [("Host", address.to_string()), ("X-Askuser", "1".into())];
        Client { address, headers: headers.map(|(name, value)| (name.to_owned(), value)).into() }
    }

    pub(crate) fn token(self, token: &str) -> Client {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// Sets a header. An earlier header of the same name is replaced.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Client {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Client {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Sends a request to the API, and checks the reply against the OpenAPI document.
    pub(crate) fn send(self, method: &str, path: &str, body: Value) -> Response {
        let response = self.raw(method, &format!("/api/v1{path}"), body);
        document::check(method, path, &response);
        response
    }

    pub(crate) fn raw(self, method: &str, path: &str, body: Value) -> Response {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let typed = body.is_empty() || self.headers.iter().any(|(name, _)| name == "Content-Type");
        let client = if typed { self } else { self.header("Content-Type", "application/json") };
        let mut stream = client.open(method, path, &body);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Response::read(&bytes)
    }

    /// Sends a request and leaves the reply to be read.
    pub(crate) fn open(self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let headers: String = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        let head =
            format!("{method} {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
        stream.write_all((head + body).as_bytes()).unwrap();
        stream
    }
}

impl Response {
    fn read(bytes: &[u8]) -> Response {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no reply: {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap();
        let pair = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        let headers = lines.filter_map(pair).collect();
        let value = serde_json::from_str(body).unwrap_or(Value::Null);
        Response { status, headers, body: value, text: body.to_owned() }
    }

    pub(crate) fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }
}

/// The checks of real replies against the OpenAPI document.
mod document {
    use super::Response;
    use askuser_serve::OPENAPI;
    use serde_json::{Value, json};
    use std::sync::OnceLock;

    fn document() -> &'static Value {
        static DOCUMENT: OnceLock<Value> = OnceLock::new();
        DOCUMENT.get_or_init(|| serde_json::from_str(OPENAPI).unwrap())
    }

    /// Returns the route of a path, such as `/questions/{id}/answer`; `None` if no route matches.
    fn route(path: &str) -> Option<&'static Value> {
        let path = path.split('?').next().unwrap_or_default();
        let routes = document()["paths"].as_object().unwrap();
        let matches = |route: &str| {
            let parts = route.split('/').count();
            let given = path.split('/').count();
            let mut pairs = route.split('/').zip(path.split('/'));
            parts == given && pairs.all(|(part, given)| part == given || part.starts_with('{'))
        };
        routes.get(path).or_else(|| routes.iter().find(|(route, _)| matches(route)).map(|(_, value)| value))
    }

    pub(super) fn check(method: &str, path: &str, response: &Response) {
        let status = response.status.to_string();
        let Some(operation) = route(path).map(|route| &route[method.to_lowercase()]).filter(|it| it.is_object()) else {
            assert!(matches!(response.status, 404 | 405), "{method} {path} is not in the document: {response:?}");
            return assert_matches(&json!({"$ref": "#/components/schemas/ErrorBody"}), response);
        };
        if response.status == 304 {
            return assert!(response.text.is_empty(), "{method} {path}: {response:?}");
        }
        let mut expected = &operation["responses"][if response.status < 300 { "2XX" } else { "default" }];
        if let Some(name) = expected["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
            expected = &document()["components"]["responses"][name];
        }
        assert!(expected.is_object(), "{method} {path}: {status} is not in the document: {response:?}");
        match &expected["content"]["application/json"]["schema"] {
            Value::Null => assert!(response.text.is_empty(), "{method} {path}: {response:?}"),
            schema => assert_matches(schema, response),
        }
    }

    fn assert_matches(schema: &Value, response: &Response) {
        let mut schema = schema.clone();
        schema["components"] = document()["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let wrong: Vec<String> = validator.iter_errors(&response.body).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{response:#?}");
    }
}
