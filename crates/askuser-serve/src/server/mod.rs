//! The server: accepts connections and hands requests to the router.

mod call;
mod credentials;
#[cfg(test)]
#[path = "document_tests.rs"]
mod document;
mod events;
mod guard;
mod leases;
mod questions;
mod reply;
mod revocable_body;
mod routes;
mod unverified;
mod write_receipts;

use self::events::Channels;
use self::leases::Leases;
use self::unverified::{Permit, Unverified};
pub use self::write_receipts::WriteReceipts;
use self::write_receipts::{FlushObserver, PeerCheck};
use crate::request_guard::Gate;
use askuser::store::{Credential, CredentialScope, Credentials, Principal, Store, StoredQuestion};
use askuser::{Origin, Via};
use axum::Router;
pub use axum::body::Body;
use axum::extract::Request;
pub use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

/// The time limit for the arrival of a request, and for a handshake.
const ARRIVING: Duration = Duration::from_secs(30);
/// The time that running requests get when the server ends.
const ENDING: Duration = Duration::from_millis(100);

/// A handler of the Model Context Protocol for the holder of a credential.
pub trait Mcp: Send + Sync {
    /// Handles an authenticated request. Its questions belong to the caller's credential. Returns the reason if the
    /// request cannot be handled now.
    fn handle(
        &self,
        caller: &Caller,
        request: Request,
        written: WriteReceipts,
    ) -> Pin<Box<dyn Future<Output = Result<Response, String>> + Send>>;
}

/// A callback that runs after a question is stored. It must not block.
type Notifier = dyn Fn(&StoredQuestion) + Send + Sync;

/// The settings of a server.
#[non_exhaustive]
pub struct Options {
    /// The name of the owner, whose devices pair by the server's link.
    pub person: String,
    /// The address of a proxy in front of the server, if there is one.
    pub public_url: Option<String>,
    /// The certificate and its key; `None` for a server without encryption.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// The handler of `/mcp`; `None` for a server without MCP.
    pub mcp: Option<Arc<dyn Mcp>>,
    /// The callback that notifies the person of a new question, if set. It must not block.
    pub on_new: Option<Arc<Notifier>>,
    /// The lifetime of an asker's lease.
    pub lease: Duration,
    /// The heartbeat interval of a stream.
    pub heartbeat: Duration,
    /// The maximum lifetime of a stream.
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

/// Serves until `end` is cancelled. Running requests get a moment to finish.
///
/// # Errors
/// Returns no error at present.
pub async fn serve(
    store: Arc<dyn Store>,
    credentials: Arc<dyn Credentials>,
    listener: TcpListener,
    options: Options,
    end: CancellationToken,
) -> io::Result<()> {
    // If the person cannot be stored, pairing devices get the error.
    let _ = credentials.add_person(&options.person).await;
    let server = Arc::new(Server {
        channels: Mutex::default(),
        leases: Leases::new(options.lease),
        // Behind a proxy, all clients have the proxy's address.
        unverified: Unverified::new(options.public_url.is_none()),
        store,
        credentials,
        options,
        end: end.clone(),
    });
    let router = routes::router(&server);
    let (alive, mut gone) = mpsc::channel::<()>(1);
    loop {
        let accepted = tokio::select! {
            () = end.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let server = server.clone();
                let router = router.clone();
                let alive = alive.clone();
                tokio::spawn(async move {
                    server.accept(router, stream, peer).await;
                    drop(alive);
                });
            }
            // There are too many open files, or the client has left already. The next client may succeed.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    drop((listener, alive));
    let _ = tokio::time::timeout(ENDING, gone.recv()).await;
    server.leases.give_back();
    let _ = server.store.flush().await;
    Ok(())
}

struct Server {
    store: Arc<dyn Store>,
    credentials: Arc<dyn Credentials>,
    options: Options,
    /// The channels of the event streams.
    channels: Mutex<Channels>,
    leases: Arc<Leases>,
    unverified: Arc<Unverified>,
    end: CancellationToken,
}

/// The holder of the credential in a request.
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

    /// Returns the origin of the caller's questions. Its credential is the caller's, regardless of the request.
    pub fn origin(&self, said: Origin) -> Origin {
        said.with_credential(self.name())
    }

    fn scope(&self) -> CredentialScope {
        self.credential.made.scope
    }

    fn id(&self) -> &str {
        &self.credential.made.id
    }

    /// Returns the principal for the store, which the scope determines. The request may only state that no person acts.
    fn principal(&self) -> Principal {
        let principal = match self.scope() {
            CredentialScope::Answer => {
                Principal::person(self.credential.made.acts_as(), self.via).on_device(self.name())
            }
            _ => Principal::agent(&self.origin(Origin::default())),
        };
        principal.with_credential_id(self.id())
    }
}

impl Server {
    async fn accept(&self, router: Router, stream: TcpStream, peer: SocketAddr) {
        let Some(permit) = self.unverified.admit(peer.ip()).await else { return };
        let _ = stream.set_nodelay(true);
        // A phone without a network acknowledges no bytes, and a stalled reader takes none. Both are disconnected after
        // a time limit.
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
            None => self.converse(router, stream, (gate, peer, permit)).await,
            Some(tls) => {
                // The future of a TLS connection is large, so connections without TLS should not reserve room for it.
                let accepting = Box::pin(tokio_rustls::TlsAcceptor::from(tls).accept(stream));
                if let Ok(Ok(stream)) = tokio::time::timeout(ARRIVING, accepting).await {
                    Box::pin(self.converse(router, stream, (gate, peer, permit))).await;
                }
            }
        }
    }

    /// Answers the requests of one connection. Each request gets the connection's guard, peer, permit and
    /// [`WriteReceipts`].
    async fn converse(
        &self,
        router: Router,
        stream: impl AsyncRead + AsyncWrite + PeerCheck + Unpin + Send + 'static,
        (gate, peer, permit): (Gate, SocketAddr, Permit),
    ) {
        let gate = Arc::new(gate);
        let written = WriteReceipts::default();
        let stream = FlushObserver::new(stream, written.clone());
        let answer = service_fn(move |mut request: hyper::Request<Incoming>| {
            let extensions = request.extensions_mut();
            extensions.insert(gate.clone());
            extensions.insert(peer);
            extensions.insert(permit.clone());
            extensions.insert(written.clone());
            // The box is freed once there is a reply. Otherwise the connection would keep room for this future as long
            // as the body lasts.
            Box::pin(router.clone().call(request))
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(ARRIVING).max_buf_size(64 * 1024);
        let mut conversation = std::pin::pin!(http.serve_connection(TokioIo::new(stream), answer));
        // The error of a broken connection concerns only its client.
        tokio::select! {
            _ = conversation.as_mut() => {}
            () = self.end.cancelled() => {
                conversation.as_mut().graceful_shutdown();
                let _ = tokio::time::timeout(ENDING, conversation).await;
            }
        }
    }
}

/// Returns the time since 1970.
fn now() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}
