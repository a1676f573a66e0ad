//! Requests to a server. They are repeated while the server is away.

use super::leases::Leases;
use super::stream::Followed;
use crate::api::{self, ErrorBody, Problem};
use askuser::Via;
use askuser::store::{Attempt, Principal, StoreError};
use askuser_sys::random::jittered;
use bytes::Bytes;
use hyper::Method;
use reqwest::Client;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The first and the longest pause before a request is repeated.
pub(super) const SOON: Duration = Duration::from_millis(50);
pub(super) const LATER: Duration = Duration::from_secs(2);
/// The time limit of a reply.
const REPLY: Duration = Duration::from_secs(30);

/// The limits of calls to a server that is away.
#[derive(Clone, Default)]
pub struct Patience {
    /// The maximum time for one call; `None` for no limit.
    pub limit: Option<Duration>,
    /// The callback that runs once each time the server goes away, if set.
    pub on_away: Option<Arc<Teller>>,
    /// The token that ends every call immediately when it is cancelled.
    pub stop: CancellationToken,
}

/// A callback that gets a message.
type Teller = dyn Fn(&str) + Send + Sync;

/// A request that may be sent several times.
#[derive(Clone)]
pub(super) struct ApiRequest {
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    /// Whether a person makes the request at a terminal, rather than an agent or one of its surfaces.
    is_at_terminal: bool,
}

impl ApiRequest {
    pub(super) fn new(method: Method, path: impl Into<String>) -> ApiRequest {
        let headers = HeaderMap::new();
        ApiRequest { method, path: path.into(), query: String::new(), headers, body: None, is_at_terminal: false }
    }

    /// Names the surface at which this principal acts. The token determines who the principal is.
    pub(super) fn by(mut self, by: &Principal) -> ApiRequest {
        if let Some(via) = by.via() {
            self.headers.insert(HeaderName::from_static(api::VIA), HeaderValue::from_static(via.name()));
            self.is_at_terminal = matches!(via, Via::Terminal | Via::Line | Via::Inbox);
        }
        self
    }

    /// Uses the asker's own token, even for an action at a terminal.
    pub(super) fn by_asker(self) -> ApiRequest {
        ApiRequest { is_at_terminal: false, ..self }
    }

    pub(super) fn with(self, query: &impl Serialize) -> ApiRequest {
        ApiRequest { query: serde_urlencoded::to_string(query).unwrap_or_default(), ..self }
    }

    pub(super) fn attempt(mut self, attempt: &Attempt) -> ApiRequest {
        // A name that no header can hold is replaced by its digest. The same attempt keeps the same name.
        let name = attempt.as_str();
        let is_plain = !name.is_empty() && name.len() <= 128 && name.bytes().all(|byte| (32..127).contains(&byte));
        let name = if is_plain { name.to_owned() } else { format!("{:x?}", crate::token::digest(name)) };
        if let Ok(name) = HeaderValue::from_str(&name) {
            self.headers.insert(HeaderName::from_static(api::IDEMPOTENCY_KEY), name);
        }
        self
    }

    pub(super) fn body(self, body: &impl Serialize) -> ApiRequest {
        ApiRequest { body: serde_json::to_vec(body).ok(), ..self }
    }
}

/// A server, with the leases and watches that this process has there.
pub(super) struct Connection {
    client: Client,
    base: String,
    /// The token for a person's actions at a terminal of this process.
    device: OnceLock<HeaderValue>,
    pub(super) patience: Patience,
    is_away: AtomicBool,
    pub(super) leases: Leases,
    pub(super) followed: Followed,
}

impl Connection {
    pub(super) fn new(address: &str, token: &str, patience: Patience) -> Result<Connection, reqwest::Error> {
        crate::tls::install_provider();
        let mut headers: HeaderMap = bearer(token).map(|token| (AUTHORIZATION, token)).into_iter().collect();
        headers.insert("x-askuser", HeaderValue::from_static("1"));
        let builder = Client::builder()
            .user_agent(concat!("askuser/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .default_headers(headers)
            .connect_timeout(REPLY);
        let builder = if address.starts_with("http://") {
            // The server is on this machine. A proxy would connect to its own machine, and without TLS no certificates
            // are needed.
            builder.no_proxy().tls_certs_only([])
        } else {
            builder
        };
        Ok(Connection {
            client: builder.build()?,
            base: format!("{address}{}", api::ROOT),
            device: OnceLock::new(),
            patience,
            is_away: AtomicBool::new(false),
            leases: Leases::default(),
            followed: Followed::default(),
        })
    }

    /// Creates a connection to the same server with another token.
    pub(super) fn with_token(&self, token: &str) -> Result<Connection, reqwest::Error> {
        Connection::new(self.address(), token, self.patience.clone())
    }

    /// Sets the token of a person's device for their actions at a terminal.
    pub(super) fn set_device(&self, token: &str) {
        if let Some(token) = bearer(token) {
            let _ = self.device.set(token);
        }
    }

    pub(super) fn address(&self) -> &str {
        self.base.strip_suffix(api::ROOT).unwrap_or(&self.base)
    }

    /// Returns the error of a call whose sending thread has failed.
    pub(super) fn lost(&self) -> StoreError {
        StoreError::unknown(format!("cannot use {}", self.address()), "the thread that sends has failed")
    }

    fn request(&self, sent: &ApiRequest) -> reqwest::RequestBuilder {
        let mut url = format!("{}{}", self.base, sent.path);
        if !sent.query.is_empty() {
            url = format!("{url}?{}", sent.query);
        }
        let mut headers = sent.headers.clone();
        headers.extend(self.device.get().filter(|_| sent.is_at_terminal).map(|token| (AUTHORIZATION, token.clone())));
        let request = self.client.request(sent.method.clone(), url).headers(headers);
        match &sent.body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.clone()),
            None => request,
        }
    }

    /// Sends a request once. Returns `None` unless there is a reply of this type.
    pub(super) async fn try_once<T: DeserializeOwned>(&self, sent: &ApiRequest) -> Option<T> {
        let (status, body) = self.try_within(REPLY, sent).await.ok()?;
        (status == 200).then(|| serde_json::from_slice(&body).ok())?
    }

    async fn try_within(&self, limit: Duration, sent: &ApiRequest) -> Result<(u16, Bytes), reqwest::Error> {
        let response = self.request(sent).timeout(limit).send().await?;
        Ok((response.status().as_u16(), response.bytes().await?))
    }

    /// Opens the stream of the events after this number.
    pub(super) async fn stream(&self, after: Option<u64>) -> Result<reqwest::Response, reqwest::Error> {
        let sent = ApiRequest::new(Method::GET, "/events");
        let request = self.request(&sent).header(ACCEPT, "text/event-stream");
        match after {
            Some(after) => request.header("last-event-id", after).send().await,
            None => request.send().await,
        }
    }

    /// Sends a request until there is a reply.
    pub(super) async fn send<T: DeserializeOwned>(&self, sent: &ApiRequest) -> Result<T, StoreError> {
        self.try_send(sent).await?.map_err(|problem| self.error(problem))
    }

    /// Sends a request until there is a reply. A problem that the server reports is returned separately.
    pub(super) async fn try_send<T: DeserializeOwned>(
        &self,
        sent: &ApiRequest,
    ) -> Result<Result<T, Problem>, StoreError> {
        let began = Instant::now();
        let mut pause = SOON;
        loop {
            let left = self.patience.limit.map_or(REPLY, |limit| limit.saturating_sub(began.elapsed()));
            let why = match self.try_within(left.min(REPLY), sent).await {
                Ok((200..300, body)) => {
                    self.is_back();
                    return serde_json::from_slice(&body).map(Ok).map_err(|error| self.unreadable(error.to_string()));
                }
                Ok((status, body)) => match (status, read_problem(&body)) {
                    // A proxy replies for a server that is away.
                    (502..=504, None) => format!("it said {status}"),
                    (status, problem) => {
                        self.is_back();
                        return Ok(Err(problem.unwrap_or_else(|| unknown_problem(status))));
                    }
                },
                Err(error) if is_tls(&error) => return Err(self.unreachable(chain(&error))),
                Err(error) => chain(&error),
            };
            if self.patience.limit.is_some_and(|limit| began.elapsed() + pause > limit) {
                // A failed read changed no state. The effect of any other request is unknown.
                return Err(match sent.method {
                    Method::GET => self.unreachable(why),
                    _ => StoreError::unknown(format!("cannot reach {}", self.address()), why),
                });
            }
            self.tell_away(&why);
            tokio::time::sleep(jittered(pause)).await;
            pause = (pause * 2).min(LATER);
        }
    }

    /// Records that the server has replied.
    pub(super) fn is_back(&self) {
        self.is_away.store(false, Ordering::Relaxed);
    }

    pub(super) fn tell_away(&self, why: &str) {
        let was_away = self.is_away.swap(true, Ordering::Relaxed);
        if let (false, Some(tell)) = (was_away, &self.patience.on_away) {
            tell(&format!("cannot reach {}: {why}; waiting for it", self.address()));
        }
    }

    /// Returns the error of a call that changed no state at the server.
    pub(super) fn unreachable(&self, why: String) -> StoreError {
        StoreError::unavailable(format!("cannot reach {}", self.address()), why)
    }

    /// Returns the error of a call that the caller ended before its reply.
    pub(super) fn stopped(&self) -> StoreError {
        StoreError::unknown(format!("cannot reach {}", self.address()), "no reply before the process ended")
    }

    /// Returns the error for a problem that the server sent.
    pub(super) fn error(&self, problem: Problem) -> StoreError {
        problem.into_store_error(format!("cannot use {}", self.address()))
    }

    /// Returns the error of a reply that cannot be read.
    pub(super) fn unreadable(&self, why: impl Into<String>) -> StoreError {
        StoreError::damaged(format!("cannot read what {} sent", self.address()), why.into())
    }
}

/// Reads the problem in the body of an error. Returns `None` if the body is not the server's.
pub(super) fn read_problem(body: &[u8]) -> Option<Problem> {
    serde_json::from_slice::<ErrorBody>(body).ok().map(|body| body.error)
}

/// Returns the problem for an error of another program.
pub(super) fn unknown_problem(status: u16) -> Problem {
    Problem::new(api::Code::Other, format!("the server said {status}"))
}

fn bearer(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Whether TLS failed. A retry does not help, because the certificate stays untrusted.
pub(super) fn is_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    // An IO error does not list the error that it wraps among its sources.
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<rustls::Error>() || wrapped.is_some_and(|inner| is_tls(inner)) || error.source().is_some_and(is_tls)
}

pub(super) fn chain(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    // The address is left out, because the error names it already.
    causes.last().map_or_else(|| "no reply".to_owned(), ToString::to_string)
}
