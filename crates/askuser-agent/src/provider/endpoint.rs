//! One request over HTTP: sends it, and gives back a stream of events, or the whole answer of a server that does not
//! stream, or says why there is neither.
//!
//! It follows no redirect, since that could carry the key to another host. There is no limit to how long an answer may
//! take, only to how long nothing may come.

use super::complaint::{Addressee, Complaint};
use super::retry_after;
use crate::model::{ModelError, ModelErrorKind};
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Response, Url, redirect};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// As much of an error's body as is read.
const LONGEST_ERROR: usize = 64 * 1024;

/// As much of an answer that comes at once as is read: no event of a stream may be longer either.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;

/// How a provider answers.
pub(super) enum Reply {
    /// As it is written, in events.
    Events(Response),
    /// At once, in JSON.
    Whole(Whole),
}

/// An answer that came at once.
pub(super) struct Whole {
    pub(super) json: String,
    /// What to say if the JSON turns out to be no answer.
    pub(super) no_answer: ModelError,
}

/// Where requests go.
pub(super) struct Endpoint {
    pub(super) client: Client,
    pub(super) url: Url,
    /// What every request carries: the key, and the version of the protocol.
    pub(super) headers: HeaderMap,
    pub(super) addressee: Arc<Addressee>,
}

/// A client for this address.
pub(super) fn client(url: &Url, connect_timeout: Duration, idle_timeout: Duration) -> Result<Client, reqwest::Error> {
    // The first to come installs it; it does not matter who that is.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("askuser/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .connect_timeout(connect_timeout)
        .read_timeout(idle_timeout);
    if is_this_machine(url) {
        // A proxy would look for the server on its own machine.
        builder = builder.no_proxy();
        if url.scheme() == "http" {
            // No certificate is ever looked at, so a machine without any will do.
            builder = builder.tls_certs_only([]);
        }
    }
    builder.build()
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl Endpoint {
    /// Sends the request.
    pub(super) async fn post(&self, body: &Value) -> Result<Reply, ModelError> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        let response = request.send().await.map_err(|error| self.unreachable(error))?;
        let status = response.status();
        if status.is_success() {
            return self.accept(response).await;
        }
        if status.is_redirection() {
            return Err(self.redirected(&response));
        }
        let retry_after = retry_after::from_headers(response.headers(), SystemTime::now());
        let reason = status.canonical_reason().unwrap_or("no reason given");
        let complaint = Complaint::in_body(status.as_u16(), reason, &read_some(response).await);
        let retry_after = retry_after.or(complaint.retry_after);
        Err(self.addressee.failure(&Complaint { retry_after, ..complaint }))
    }

    /// The server says that all is well; what it sent shows whether a model has answered.
    async fn accept(&self, response: Response) -> Result<Reply, ModelError> {
        let content_type = response.headers().get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let content_type = content_type.unwrap_or_default();
        let content_type = content_type.split(';').next().unwrap_or_default().trim().to_lowercase();
        match Carried::by(&content_type) {
            Carried::Events => Ok(Reply::Events(response)),
            Carried::Json => self.read_whole(response, &content_type).await.map(Reply::Whole),
            Carried::Other => {
                let complaint = read_complaint(response).await;
                Err(complaint.map_or_else(|| self.no_events(&content_type), |found| self.addressee.failure(&found)))
            }
        }
    }

    /// Reads an answer that comes at once.
    async fn read_whole(&self, mut response: Response, content_type: &str) -> Result<Whole, ModelError> {
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(|error| self.addressee.cut_off(&reason(error)))? {
            body.extend_from_slice(&bytes);
            if body.len() > LONGEST_ANSWER {
                let most = LONGEST_ANSWER / (1024 * 1024);
                return Err(self.addressee.misunderstood(format_args!("it is longer than {most} MiB")));
            }
        }
        let no_answer = self.no_events(content_type);
        match (serde_json::from_slice::<IgnoredAny>(&body), String::from_utf8(body)) {
            (Ok(_), Ok(json)) => Ok(Whole { json, no_answer }),
            (Err(error), Ok(json)) if error.is_eof() && !json.trim().is_empty() => {
                Err(self.addressee.cut_off("the connection was closed before the answer was finished"))
            }
            _ => Err(no_answer),
        }
    }

    /// Something has answered, but it does not speak the protocol.
    fn no_events(&self, content_type: &str) -> ModelError {
        let (host, path) = (&self.addressee.host, self.url.path());
        self.addressee.misunderstood(format_args!(
            "{host} sent {content_type} for {path} instead of a stream of events; is the base URL right?"
        ))
    }

    fn redirected(&self, response: &Response) -> ModelError {
        let to = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        let to = to.and_then(|location| self.url.join(location).ok());
        // Nothing but the origin: the rest may hold what should not be told.
        let to = to.map(|url| url.origin().ascii_serialization()).unwrap_or_else(|| "somewhere else".into());
        let Addressee { provider, host, .. } = &*self.addressee;
        let message = format!(
            "{provider} at {host} redirects to {} ({}), which is not followed: set the base URL to where it is",
            self.addressee.quote(&to),
            response.status().as_u16()
        );
        ModelError::new(ModelErrorKind::Rejected, message)
    }

    fn unreachable(&self, error: reqwest::Error) -> ModelError {
        let Addressee { provider, host, .. } = &*self.addressee;
        if let Some(why) = distrust(&error) {
            // It will be no better in a moment, so this is no matter of the network.
            let why = self.addressee.quote(&why.to_string());
            let message = format!("the certificate of {provider} at {host} is not trusted; nothing was sent: {why}");
            return ModelError::new(ModelErrorKind::Rejected, message);
        }
        let why = self.addressee.quote(&reason(error));
        ModelError::new(ModelErrorKind::Network, format!("cannot reach {provider} at {host}: {why}"))
    }
}

/// What a body is made of, as far as its type tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carried {
    Events,
    Json,
    Other,
}

impl Carried {
    fn by(content_type: &str) -> Carried {
        match content_type {
            // Some servers do not say what they send.
            "" | "text/event-stream" => Carried::Events,
            "application/json" | "text/json" => Carried::Json,
            other if other.ends_with("+json") => Carried::Json,
            _ => Carried::Other,
        }
    }
}

/// What is wrong with the other side's certificate, if that is why the connection failed.
fn distrust(error: &reqwest::Error) -> Option<&rustls::Error> {
    std::iter::successors(error.source(), |cause| (*cause).source()).find_map(about_certificate)
}

fn about_certificate<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    use rustls::Error::{InvalidCertRevocationList, InvalidCertificate, NoCertificatesPresented};
    match (error.downcast_ref(), error.downcast_ref::<std::io::Error>()) {
        (Some(tls @ (InvalidCertificate(_) | InvalidCertRevocationList(_) | NoCertificatesPresented)), _) => Some(tls),
        // The source of an IO error is not what it is made of, but the source of that.
        (_, Some(io)) => about_certificate(io.get_ref()?),
        _ => None,
    }
}

/// The beginning of a body. What cannot be read of an error is not missed.
async fn read_some(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes);
        if body.len() >= LONGEST_ERROR {
            body.truncate(LONGEST_ERROR);
            break;
        }
    }
    body
}

/// The complaint that a body of the wrong type may be. It is read only as far as it may still become one: what else there
/// is may take as long as an answer.
async fn read_complaint(mut response: Response) -> Option<Complaint> {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes);
        match serde_json::from_slice(&body) {
            Ok(json) => return Complaint::in_json(&json),
            Err(error) if error.is_eof() && body.len() < LONGEST_ERROR => {}
            Err(_) => return None,
        }
    }
    None
}

/// Why a connection failed.
pub(super) fn reason(error: reqwest::Error) -> String {
    if error.is_timeout() && !error.is_connect() {
        return "nothing came for too long".into();
    }
    chain(&error.without_url())
}

/// An error and what caused it. Only the causes say anything.
pub(super) fn chain(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    let mut words: Vec<String> = Vec::new();
    for cause in causes.map(ToString::to_string) {
        // Many repeat their cause.
        if !words.iter().any(|said| said.contains(&cause)) {
            words.push(cause);
        }
    }
    if words.is_empty() { error.to_string() } else { words.join(": ") }
}
