//! Makes one HTTP request. The result is an event stream, the JSON of a server that does not stream, or an error.
//!
//! Redirects are not followed, because they could send the API key to another host. Only the time without data is
//! limited, not the time of a whole response.

use super::api_error::ApiError;
use super::catalog::{self, Hosting, ModelProvider};
use super::retry_after;
use super::target::Target;
use crate::event::FailureKind;
use crate::model::ModelError;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Response, Url, redirect};
use serde_json::Value;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The maximum number of bytes to read from an error response.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The maximum size of a response without streaming. A single event of a stream has the same limit.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

pub(super) enum ResponseBody {
    /// A stream of server-sent events.
    Stream(Response),
    /// A JSON document, with the error to report if the document is not a model's response.
    Json(Value, ModelError),
}

/// The error of a request that got no usable response.
pub(super) struct FailedRequest {
    pub(super) error: ModelError,
    /// The error that the API sent; `None` if it sent none.
    pub(super) api_error: Option<ApiError>,
}

impl From<ModelError> for FailedRequest {
    fn from(error: ModelError) -> FailedRequest {
        FailedRequest { error, api_error: None }
    }
}

#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) client: Client,
    pub(super) url: Url,
    /// The headers of every request: the API key and the protocol version.
    pub(super) headers: HeaderMap,
    pub(super) target: Arc<Target>,
}

pub(super) fn build_client(
    url: &Url,
    connect_timeout: Duration,
    idle_timeout: Duration,
) -> Result<Client, reqwest::Error> {
    // The call fails if a crypto provider is already installed. That provider serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("askuser/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .connect_timeout(connect_timeout)
        .read_timeout(idle_timeout);
    if is_loopback(url) {
        // A proxy would connect to the loopback address of its own machine.
        builder = builder.no_proxy();
        if url.scheme() == "http" {
            // Plain HTTP needs no certificates, so the system need not have any.
            builder = builder.tls_certs_only([]);
        }
    }
    builder.build()
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl Endpoint {
    /// Returns the same endpoint with another URL of the server.
    pub(super) fn at(&self, url: Url) -> Endpoint {
        Endpoint { url, ..self.clone() }
    }

    pub(super) async fn post(&self, body: &Value) -> Result<ResponseBody, FailedRequest> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        let response = request.send().await.map_err(|error| self.connection_error(error))?;
        let response = self.check_status(response).await?;
        Ok(self.read_success(response).await?)
    }

    pub(super) async fn get_json(&self) -> Result<Value, FailedRequest> {
        let request = self.client.get(self.url.clone()).headers(self.headers.clone());
        let response = request.send().await.map_err(|error| self.connection_error(error))?;
        let response = self.check_status(response).await?;
        let host = &self.target.host;
        let path = self.url.path();
        let not_json = || self.target.protocol_error(format_args!("{host} sent no JSON for {path}"));
        Ok(self.read_json(response).await?.ok_or_else(not_json)?)
    }

    /// Returns the response if its status is 2xx.
    async fn check_status(&self, response: Response) -> Result<Response, FailedRequest> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            return Err(self.redirect_error(&response).into());
        }
        let retry_after = retry_after::from_headers(response.headers(), SystemTime::now());
        let reason = status.canonical_reason().unwrap_or("no reason given");
        let api_error = ApiError::from_response(status.as_u16(), reason, &read_error_body(response).await);
        let retry_after = retry_after.or(api_error.retry_after);
        let api_error = ApiError { retry_after, ..api_error };
        Err(FailedRequest { error: self.target.model_error(&api_error), api_error: Some(api_error) })
    }

    /// Reads a response with status 2xx. The body may still be an error, or belong to another kind of server.
    async fn read_success(&self, response: Response) -> Result<ResponseBody, ModelError> {
        let content_type = response.headers().get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let content_type = content_type.unwrap_or_default();
        let content_type = content_type.split(';').next().unwrap_or_default().trim().to_lowercase();
        let host = &self.target.host;
        let path = self.url.path();
        let not_a_stream = self.target.protocol_error(format_args!(
            "{host} sent {content_type} for {path} instead of an event stream; is the base URL right?"
        ));
        match content_type.rsplit(['/', '+']).next() {
            // Some servers send a stream without a content type.
            Some("" | "event-stream") => Ok(ResponseBody::Stream(response)),
            Some("json") => match self.read_json(response).await? {
                Some(json) => Ok(ResponseBody::Json(json, not_a_stream)),
                None => Err(not_a_stream),
            },
            _ => Err(read_api_error(response).await.map_or(not_a_stream, |error| self.target.model_error(&error))),
        }
    }

    /// Parses a body as JSON; `None` if the body is not JSON.
    async fn read_json(&self, mut response: Response) -> Result<Option<Value>, ModelError> {
        let mut body = Vec::new();
        while let Some(bytes) =
            response.chunk().await.map_err(|error| self.target.interrupted(&transport_error(error)))?
        {
            body.extend_from_slice(&bytes);
            if body.len() > MAX_RESPONSE_BYTES {
                let max = MAX_RESPONSE_BYTES / (1024 * 1024);
                return Err(self.target.protocol_error(format_args!("it is longer than {max} MiB")));
            }
        }
        match serde_json::from_slice(&body) {
            Err(error) if error.is_eof() && !body.trim_ascii().is_empty() => {
                Err(self.target.interrupted("the connection was closed before the response was complete"))
            }
            json => Ok(json.ok()),
        }
    }

    fn redirect_error(&self, response: &Response) -> ModelError {
        let to = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        let to = to.and_then(|location| self.url.join(location).ok());
        // Only the origin is shown, because the path and the query may contain secrets.
        let to = to.map(|url| url.origin().ascii_serialization()).unwrap_or_else(|| "an unknown address".into());
        let Target { provider, host, .. } = &*self.target;
        let message = format!(
            "{provider} at {host} redirects to {} ({}), which is not followed: set the base URL to the final address",
            self.target.redact(&to),
            response.status().as_u16()
        );
        ModelError::new(FailureKind::Rejected, message)
    }

    fn connection_error(&self, error: reqwest::Error) -> ModelError {
        let Target { provider, host, .. } = &*self.target;
        if let Some(why) = certificate_error(&error) {
            // The kind is not a network failure, because a retry cannot help.
            let why = self.target.redact(&why.to_string());
            let message = format!("the certificate of {provider} at {host} is not trusted; nothing was sent: {why}");
            return ModelError::new(FailureKind::Rejected, message);
        }
        let causes = || std::iter::successors(error.source(), |cause| (*cause).source());
        // Only the text of the error identifies a DNS failure.
        let is_unknown = causes().any(|cause| cause.to_string() == "dns error");
        let is_refused = !is_unknown
            && causes()
                .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
                .any(|io| io.kind() == std::io::ErrorKind::ConnectionRefused);
        let why = match (is_refused, is_unknown) {
            (true, _) => "the connection was refused".into(),
            (_, true) => "the host name is not known".into(),
            _ => self.target.redact(&transport_error(error)),
        };
        let advice = match catalog::provider(self.target.provider) {
            Some(ModelProvider { name, base_url_variable, hosting: Hosting::Local { .. }, .. }) if is_refused => {
                format!("; is {name} running there? {base_url_variable} says where")
            }
            Some(ModelProvider { base_url_variable, hosting: Hosting::Local { .. }, .. }) if is_unknown => {
                format!("; is {base_url_variable} right?")
            }
            Some(ModelProvider { base_url_variable, hosting: Hosting::Hosted, .. }) if is_refused || is_unknown => {
                format!("; check the network, the proxy, and {base_url_variable} if it is set")
            }
            _ => String::new(),
        };
        let error = ModelError::new(FailureKind::Network, format!("cannot reach {provider} at {host}: {why}{advice}"));
        // A refused connection rarely becomes possible by waiting, so it is retried at most once. An unknown name is
        // retried as usual, because a missing network makes names unknown, too.
        if is_refused { error.with_max_retries(u32::from(!is_loopback(&self.url))) } else { error }
    }
}

/// Returns the certificate error that caused a failed connection; `None` for other causes.
fn certificate_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    std::iter::successors(error.source(), |cause| (*cause).source()).find_map(as_certificate_error)
}

fn as_certificate_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    use rustls::Error::{InvalidCertRevocationList, InvalidCertificate, NoCertificatesPresented};
    match (error.downcast_ref(), error.downcast_ref::<std::io::Error>()) {
        (Some(tls @ (InvalidCertificate(_) | InvalidCertRevocationList(_) | NoCertificatesPresented)), _) => Some(tls),
        // `source` of an IO error skips the wrapped error.
        (_, Some(io)) => as_certificate_error(io.get_ref()?),
        _ => None,
    }
}

/// Reads the beginning of the body of an error response, as far as possible.
async fn read_error_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes);
        if body.len() >= MAX_ERROR_BYTES {
            body.truncate(MAX_ERROR_BYTES);
            break;
        }
    }
    body
}

/// Reads the API error in a body of an unexpected content type. Stops reading once the body cannot be an error, because
/// a stream may take minutes.
async fn read_api_error(mut response: Response) -> Option<ApiError> {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes);
        match serde_json::from_slice(&body) {
            Ok(json) => return ApiError::from_json(&json),
            Err(error) if error.is_eof() && body.len() < MAX_ERROR_BYTES => {}
            Err(_) => return None,
        }
    }
    None
}

pub(super) fn transport_error(error: reqwest::Error) -> String {
    if error.is_timeout() && !error.is_connect() {
        return "no data within the idle timeout".into();
    }
    error_chain(&error.without_url())
}

/// Joins the causes of an error. The text of reqwest's own error adds no information.
pub(super) fn error_chain(error: &reqwest::Error) -> String {
    askuser::error_chain(error.source().unwrap_or(error))
}
