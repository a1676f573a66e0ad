//! The server: accepts connections, lets requests in or not, and hands them to their routes.

mod credentials;
mod cut;
mod envelope;
mod events;
mod leases;
mod local_mcp;
mod questions;
mod reply;
mod unverified;
mod written;

use self::events::Hub;
use self::leases::Leases;
pub use self::local_mcp::serve_mcp;
use self::reply::Problem;
use self::unverified::{Permit, Unverified};
pub use self::written::Written;
use self::written::{Held, Telling};
use crate::gate::{Area, Gate, Headers, Refusal, Said};
use crate::{page, token, wire};
use askuser::store::{Credential, CredentialScope, Credentials, Principal, Store, StoreError, StoredQuestion};
use askuser::{Origin, Via};
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The body of a reply.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;
/// A reply.
pub type Reply = Response<Body>;

/// The largest body that is read: a draft of four full questions, escaped.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// The limit for a client without a verified credential: enough for a code, a secret and a name.
const MOST_BYTES_UNVERIFIED: usize = 1024;
/// How long a request may take to arrive, and a handshake.
const ARRIVING: Duration = Duration::from_secs(30);
/// How long what is under way may take once the server ends.
const ENDING: Duration = Duration::from_millis(100);

/// Speaks the Model Context Protocol for the holder of a credential.
pub trait Mcp: Send + Sync {
    /// Handles one request that the gate let in. Its credential asks. An error says why that cannot be done now.
    fn handle(
        &self,
        caller: &Caller,
        request: Request<Incoming>,
        written: Written,
    ) -> Pin<Box<dyn Future<Output = Result<Reply, String>> + Send>>;
}

/// Told of a question that is kept.
type Notifier = dyn Fn(&StoredQuestion) + Send + Sync;

/// How a server serves.
#[non_exhaustive]
pub struct Options {
    /// Whose server it is: a person, whose devices come in by its link.
    pub person: String,
    /// The address that a proxy in front of it has.
    pub public_url: Option<String>,
    /// Certificate and key.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// What `/mcp` does.
    pub mcp: Option<Arc<dyn Mcp>>,
    /// Calls the person to a question that is new. Must not wait.
    pub on_new: Option<Arc<Notifier>>,
    /// How long an asker counts as waiting after it was heard of.
    pub lease: Duration,
    /// How often a stream says that it is there.
    pub heartbeat: Duration,
    /// How long a stream lasts.
    pub stream: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            person: "somebody".into(),
            public_url: None,
            tls: None,
            mcp: None,
            on_new: None,
            lease: Duration::from_secs(30),
            heartbeat: Duration::from_secs(15),
            stream: Duration::from_secs(15 * 60),
        }
    }
}

/// Serves until `end` is cancelled. Requests under way get a moment more.
///
/// # Errors
/// Where it cannot be told where it listens.
pub async fn serve(
    store: Arc<dyn Store>,
    credentials: Arc<dyn Credentials>,
    listener: TcpListener,
    options: Options,
    end: CancellationToken,
) -> io::Result<()> {
    // Where it cannot be written, devices are told so when they come in.
    let _ = credentials.add_person(&options.person).await;
    let server = Arc::new(Server {
        hub: Hub::new(store.clone(), credentials.clone(), &options, end.clone()),
        leases: Leases::new(options.lease),
        // Behind a proxy all clients have its address.
        unverified: Unverified::new(options.public_url.is_none()),
        store,
        credentials,
        options,
        end: end.clone(),
    });
    let (alive, mut gone) = mpsc::channel::<()>(1);
    accept(&listener, &end, |stream, peer| {
        let (server, alive) = (server.clone(), alive.clone());
        async move {
            server.accept(stream, peer).await;
            drop(alive);
        }
    })
    .await;
    drop((listener, alive));
    let _ = tokio::time::timeout(ENDING, gone.recv()).await;
    server.leases.give_back();
    let _ = server.store.flush().await;
    Ok(())
}

/// Accepts connections until the end, and does this with each, beside the others.
async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: &TcpListener,
    end: &CancellationToken,
    serve: impl Fn(TcpStream, SocketAddr) -> F,
) {
    loop {
        let accepted = tokio::select! {
            () = end.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => drop(tokio::spawn(serve(stream, peer))),
            // Too many open files, or a client that is gone already: the next one may fare better.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Answers the requests of one connection, each of which has its [`Written`] and its [`Permit`] with it.
async fn converse<F: Future<Output = Reply>>(
    stream: impl AsyncRead + AsyncWrite + Held + Unpin + Send + 'static,
    permit: Permit,
    end: &CancellationToken,
    answer: impl Fn(Request<Incoming>) -> F,
) {
    let written = Written::default();
    let stream = Telling::new(stream, written.clone());
    let answer = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(written.clone());
        request.extensions_mut().insert(permit.clone());
        // Given back once there is a reply: the connection keeps the room for this future, however long the body lasts.
        let answered = Box::pin(answer(request));
        async move { Ok::<Reply, Infallible>(answered.await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(ARRIVING).max_buf_size(64 * 1024);
    let mut conversation = std::pin::pin!(http.serve_connection(TokioIo::new(stream), answer));
    // A connection that breaks is the client's affair.
    tokio::select! {
        _ = conversation.as_mut() => {}
        () = end.cancelled() => {
            conversation.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(ENDING, conversation).await;
        }
    }
}

struct Server {
    store: Arc<dyn Store>,
    credentials: Arc<dyn Credentials>,
    options: Options,
    hub: Arc<Hub>,
    leases: Arc<Leases>,
    unverified: Arc<Unverified>,
    end: CancellationToken,
}

/// Who sends a request: the holder of a credential.
#[derive(Clone, Debug)]
pub struct Caller {
    credential: Credential,
    via: Via,
}

impl Caller {
    /// The name of the credential.
    pub fn name(&self) -> &str {
        &self.credential.made.name
    }

    /// Whose questions it asks, wherever they come from: never what a request says of itself.
    pub fn origin(&self, said: Origin) -> Origin {
        said.with_credential(self.name())
    }

    fn scope(&self) -> CredentialScope {
        self.credential.made.scope
    }

    fn id(&self) -> &str {
        &self.credential.made.id
    }

    /// Who acts on the store. The scope decides, and the request says at most that no person does.
    fn principal(&self) -> Principal {
        let principal = match self.scope() {
            CredentialScope::Answer => {
                Principal::person(self.credential.made.acts_as(), self.via).on_device(self.name())
            }
            _ => Principal::agent(&self.origin(Origin::default())),
        };
        principal.with_credential_id(self.id())
    }

    /// Refuses a credential with another scope.
    fn needs(&self, scopes: &[CredentialScope]) -> Result<(), Problem> {
        match scopes.contains(&self.scope()) {
            true => Ok(()),
            false => Err(Problem::forbidden(format!("a token with the scope {} cannot do this", self.scope().name()))),
        }
    }
}

/// A request that was let in: what its route reads of it.
struct Call {
    method: Method,
    path: Vec<String>,
    query: HashMap<String, String>,
    headers: hyper::HeaderMap,
    body: Value,
    address: String,
}

impl Call {
    fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// A number of the query; one that is none is an error, not a default.
    fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let number = |text: &str| text.parse().map_err(|_| Problem::bad(format!("{name}: {text:?} is no number")));
        self.query(name).map(number).transpose()
    }

    fn is_whole(&self) -> bool {
        self.query("whole") == Some("1")
    }
}

impl Server {
    async fn accept(self: Arc<Server>, stream: TcpStream, peer: SocketAddr) {
        let Some(permit) = self.unverified.admit(peer.ip()).await else { return };
        let _ = stream.set_nodelay(true);
        // A phone that lost its network acknowledges nothing, and a stalled reader takes nothing: both are gone after a while.
        #[cfg(target_os = "linux")]
        {
            let patience = u32::try_from(2 * self.options.heartbeat.as_millis()).unwrap_or(u32::MAX);
            let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, patience);
        }
        let Ok(local) = stream.local_addr() else { return };
        let gate = Gate::of_socket(local, self.options.tls.is_some());
        let gate = match &self.options.public_url {
            Some(url) => gate.or_public_url(url),
            None => gate,
        };
        match self.options.tls.clone() {
            None => self.converse(stream, gate, peer, permit).await,
            Some(tls) => {
                // Larger by far: connections without TLS need not have room for it.
                let accepting = Box::pin(tokio_rustls::TlsAcceptor::from(tls).accept(stream));
                if let Ok(Ok(stream)) = tokio::time::timeout(ARRIVING, accepting).await {
                    Box::pin(self.converse(stream, gate, peer, permit)).await;
                }
            }
        }
    }

    async fn converse(
        self: Arc<Server>,
        stream: impl AsyncRead + AsyncWrite + Held + Unpin + Send + 'static,
        gate: Gate,
        peer: SocketAddr,
        permit: Permit,
    ) {
        let (server, gate) = (self.clone(), Arc::new(gate));
        let answer = move |request| {
            let (server, gate) = (server.clone(), gate.clone());
            async move { server.answer(request, &gate, peer).await }
        };
        converse(stream, permit, &self.end, answer).await;
    }

    async fn answer(&self, request: Request<Incoming>, gate: &Gate, peer: SocketAddr) -> Reply {
        let path = request.uri().path();
        let rest = path.strip_prefix(wire::API).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let has_body = !matches!(*request.method(), Method::GET | Method::HEAD | Method::DELETE);
        let area = match rest {
            Some("/pair" | "/pair/person" | "/pair/code" | "/pair/claim") => Area::Pairing,
            Some(_) => Area::Api { has_body },
            None if path == "/mcp" => Area::Mcp,
            None => Area::Page,
        };
        let answered = match gate.admit(&headers(&request), area) {
            Err(refusal) => Err(self.refused(refusal, peer)),
            Ok(_) if area == Area::Page => Ok(page::answer(request.method(), path)),
            Ok(token) => {
                let token = token.map(str::to_owned);
                self.let_in(area, token.as_deref(), request, peer).await
            }
        };
        reply::with_headers(answered.unwrap_or_else(Problem::reply), area)
    }

    async fn let_in(
        &self,
        area: Area,
        token: Option<&str>,
        mut request: Request<Incoming>,
        peer: SocketAddr,
    ) -> Result<Reply, Problem> {
        // Nothing behind the gate needs it.
        request.headers_mut().remove(header::AUTHORIZATION);
        let address = peer.ip().to_canonical().to_string();
        let caller = match token {
            None => None,
            Some(token) => {
                let via = request.headers().get(wire::VIA).and_then(|via| via.to_str().ok());
                let via = via.map_or(Ok(Via::Web), |name| {
                    let known = Via::ALL.into_iter().find(|via| via.name() == name);
                    known.ok_or_else(|| Problem::bad(format!("X-Askuser-Via: {name:?} is unknown")))
                })?;
                let Some(credential) = token::credential(&*self.credentials, token).await? else {
                    return Err(self.refused(Refusal::NoToken, peer));
                };
                Permit::give_back(&request);
                self.note_seen(&credential, &address);
                Some(Caller { credential, via })
            }
        };
        if let (Area::Mcp, Some(caller)) = (area, &caller) {
            caller.needs(&[CredentialScope::Ask])?;
            let mcp = self.options.mcp.as_ref().ok_or_else(|| Problem::not_found("there is no /mcp here"))?;
            let written = request.extensions_mut().remove::<Written>().unwrap_or_default();
            let mut revoked = Box::pin(self.hub.clone().revoked(caller.clone()));
            let reply = tokio::select! {
                biased;
                () = &mut revoked => return Err(Problem::refused(Refusal::NoToken)),
                reply = mcp.handle(caller, request, written) => reply,
            };
            let reply = reply.map_err(|why| StoreError::unavailable("cannot speak with the client", why))?;
            return Ok(reply.map(|body| cut::Cut::new(body, revoked).boxed_unsync()));
        }
        let most_bytes = if caller.is_some() { MOST_BYTES } else { MOST_BYTES_UNVERIFIED };
        let call = read(request, address, most_bytes).await?;
        let Some(caller) = caller else { return self.pair(&call).await };
        // The store checks the credentials of persons and agents. An administrator is no principal.
        if caller.scope() == CredentialScope::Admin && self.credentials.credential(caller.id()).await?.is_none() {
            return Err(Problem::refused(Refusal::NoToken));
        }
        self.route(&caller, &call).await
    }

    /// Every route there is. What is none of them is 404, and JSON.
    async fn route(&self, caller: &Caller, call: &Call) -> Result<Reply, Problem> {
        use CredentialScope::{Admin, Answer, Ask};
        let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
        let (get, post, put) = (call.method == Method::GET, call.method == Method::POST, call.method == Method::PUT);
        let delete = call.method == Method::DELETE;
        let needs = |scopes: &[CredentialScope]| caller.needs(scopes);
        match path[..] {
            ["openapi.json"] if get => Ok(reply::text(StatusCode::OK, "application/json", wire::OPENAPI)),
            ["me"] if get => Ok(credentials::me(caller)),
            ["questions"] if post => needs(&[Ask]).map(|()| self.put(caller, call))?.await,
            ["questions"] if get => needs(&[Ask, Answer]).map(|()| self.list(caller, call, false))?.await,
            ["log"] if get => needs(&[Answer]).map(|()| self.list(caller, call, true))?.await,
            ["log"] if delete => needs(&[Admin]).map(|()| self.purge(call))?.await,
            ["count"] if get => needs(&[Ask, Answer]).map(|()| self.count(caller, call))?.await,
            ["ids"] if get => needs(&[Ask, Answer]).map(|()| self.ids(caller, call))?.await,
            ["events"] if get => needs(&[Ask, Answer]).map(|()| self.events(caller, call))?.await,
            ["lists"] if post => needs(&[Answer]).map(|()| self.show_list(caller))?.await,
            ["lists"] if get => needs(&[Ask, Answer]).map(|()| self.is_list_shown(caller))?.await,
            ["leases"] if post => needs(&[Ask, Answer]).map(|()| self.renew(caller, call))?,
            ["leases", lease] if delete => needs(&[Ask, Answer]).map(|()| self.end_lease(caller, lease))?.await,
            ["notifier"] if get => needs(&[Ask, Answer]).map(|()| self.last_failure(caller))?.await,
            ["notifier"] if put => needs(&[Ask, Answer]).map(|()| self.note_failure(caller, call))?.await,
            ["questions", id] if get => needs(&[Ask, Answer]).map(|()| self.get(caller, call, id))?.await,
            ["questions", id, "draft"] if get => needs(&[Answer]).map(|()| self.draft(caller, call, id))?.await,
            ["questions", id, "draft"] if put => needs(&[Answer]).map(|()| self.save_draft(caller, call, id))?.await,
            ["questions", id, how @ ("answer" | "decline" | "discuss" | "withdraw")] if post => {
                needs(&[Ask, Answer]).map(|()| self.end(caller, call, id, how))?.await
            }
            ["questions", id, "hold"] if post => needs(&[Answer]).map(|()| self.hold(caller, call, id))?.await,
            ["questions", id, "claim"] if post => needs(&[Ask]).map(|()| self.claim(caller, call, id))?.await,
            ["questions", id, "delivered"] if post => needs(&[Ask]).map(|()| self.delivered(caller, call, id))?.await,
            ["questions", id, "attach"] if post => needs(&[Ask]).map(|()| self.attach(caller, call, id))?.await,
            ["tokens"] if get => needs(&[Admin]).map(|()| self.tokens())?.await,
            ["tokens"] if post => needs(&[Admin]).map(|()| self.new_token(call))?.await,
            ["tokens", id] if delete => needs(&[Admin]).map(|()| self.revoke(id))?.await,
            ["pairings", code] if get => needs(&[Admin]).map(|()| self.pairing(code))?.await,
            ["pairings", code, "approve"] if post => needs(&[Admin]).map(|()| self.approve(call, code))?.await,
            ["people"] if get => needs(&[Admin]).map(|()| self.people())?.await,
            ["people"] if post => needs(&[Admin]).map(|()| self.add_person(call))?.await,
            ["people", name] if delete => needs(&[Admin]).map(|()| self.remove_person(name))?.await,
            [
                "openapi.json" | "me" | "questions" | "log" | "count" | "ids" | "events" | "lists" | "leases"
                | "notifier" | "tokens" | "people",
            ]
            | ["leases" | "questions" | "tokens" | "pairings" | "people", _]
            | [
                "questions",
                _,
                "draft" | "answer" | "decline" | "discuss" | "withdraw" | "hold" | "claim" | "delivered" | "attach",
            ]
            | ["pairings", _, "approve"] => Err(Problem::method()),
            _ => Err(Problem::not_found(format!("there is no route /{}", path.join("/")))),
        }
    }

    /// Says why a request was not let in. Credentials that do not count are counted.
    fn refused(&self, refusal: Refusal, peer: SocketAddr) -> Problem {
        if refusal == Refusal::NoToken {
            drop(self.credentials.credential_failed(&peer.ip().to_canonical().to_string()));
        }
        Problem::refused(refusal)
    }

    /// Notes that a credential was used, not more often than that is of interest.
    fn note_seen(&self, credential: &Credential, address: &str) {
        let is_recent = credential.seen_ms.is_some_and(|seen| now().as_millis() < u128::from(seen) + 60_000);
        if !is_recent || credential.made.address.as_deref() != Some(address) {
            drop(self.credentials.credential_seen(&credential.made.id, address));
        }
    }
}

/// Since 1970.
fn now() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

/// The headers that the gate reads.
fn headers<T>(request: &Request<T>) -> Headers<'_> {
    let said = |name: HeaderName| Said::of(request.headers().get_all(name).iter().map(|value| value.as_bytes()));
    let named = |name: &'static str| said(HeaderName::from_static(name));
    Headers {
        host: said(header::HOST),
        origin: said(header::ORIGIN),
        sec_fetch_site: named("sec-fetch-site"),
        sec_fetch_mode: named("sec-fetch-mode"),
        authorization: said(header::AUTHORIZATION),
        content_type: said(header::CONTENT_TYPE),
        x_askuser: named("x-askuser"),
    }
}

/// Reads a request as a whole.
async fn read(request: Request<Incoming>, address: String, most_bytes: usize) -> Result<Call, Problem> {
    let (parts, body) = request.into_parts();
    let rest = parts.uri.path().strip_prefix(wire::API).unwrap_or_default();
    let decoded = |text: &str| {
        // As in a query, but that a plus is a plus.
        let text = text.replace('+', "%2B");
        form_urlencoded::parse(text.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
    };
    let path = rest.split('/').skip(1).map(decoded).collect();
    let query = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
    let query = query.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    let arriving = Limited::new(body, most_bytes).collect();
    let body = match tokio::time::timeout(ARRIVING, arriving).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => return Err(Problem::too_large(most_bytes)),
        Ok(Err(_)) | Err(_) => return Err(Problem::bad("the body did not arrive")),
    };
    let body = match body.is_empty() {
        true => Value::Null,
        false => {
            serde_json::from_slice(&body).map_err(|error| Problem::bad(format!("the body is no JSON: {error}")))?
        }
    };
    Ok(Call { method: parts.method, path, query, headers: parts.headers, body, address })
}
