//! One request over HTTP: sends it, and gives back a stream of events or says why there is none.
//!
//! It follows no redirect, since that could carry the key to another host. There is no limit to how long an answer may
//! take, only to how long nothing may come.

use super::complaint::{Addressee, Complaint};
use super::retry_after;
use crate::model::{ModelError, ModelErrorKind};
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Response, Url, redirect};
use serde_json::Value;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// As much of an error's body as is read.
const LONGEST_ERROR: usize = 64 * 1024;

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
    pub(super) async fn post(&self, body: &Value) -> Result<Response, ModelError> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        let response = request.send().await.map_err(|error| self.unreachable(error))?;
        let status = response.status();
        if status.is_success() {
            return self.expect_stream(response).await;
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

    /// Some servers answer that all is well and then say that it is not.
    async fn expect_stream(&self, response: Response) -> Result<Response, ModelError> {
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_lowercase();
        if content_type != "text/html" && content_type != "application/json" {
            return Ok(response);
        }
        let body = read_some(response).await;
        if let Some(complaint) = serde_json::from_slice(&body).ok().and_then(|body| Complaint::in_json(&body)) {
            return Err(self.addressee.failure(&complaint));
        }
        let host = &self.addressee.host;
        Err(self.addressee.misunderstood(format_args!(
            "{host} sent {content_type} instead of a stream of events; is the base URL right?"
        )))
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
        let why = self.addressee.quote(&reason(error));
        ModelError::new(ModelErrorKind::Network, format!("cannot reach {provider} at {host}: {why}"))
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
