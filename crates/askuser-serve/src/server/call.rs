//! Extractors of the caller of a route, of its parameters and of its body.

use super::{Caller, Server};
use crate::api::{Code, Empty, Problem};
use crate::request_guard::Refusal;
use askuser::store::CredentialScope;
use axum::body::HttpBody;
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::HeaderMap;
use hyper::header::AsHeaderName;
use hyper::http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use std::net::SocketAddr;
use std::sync::Arc;

/// The maximum size of a body in bytes: a draft of four full questions, escaped.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The maximum size of a body without a verified credential, in bytes: a code, a secret and a name.
const MAX_BYTES_UNVERIFIED: usize = 1024;

/// The callers that a route admits.
pub(super) trait Scoped: FromRequestParts<Arc<Server>, Rejection = Problem> + Send {
    /// The scopes of the callers' credentials.
    const SCOPES: &[CredentialScope];
}

/// Declares extractors of callers that have credentials of these scopes.
macro_rules! scoped {
    ($($(#[$doc:meta])* $name:ident = [$($scope:ident),*];)*) => {$(
        $(#[$doc])*
        pub(super) struct $name(pub(super) Arc<Caller>);

        impl Scoped for $name {
            const SCOPES: &[CredentialScope] = &[$(CredentialScope::$scope),*];
        }

        impl FromRequestParts<Arc<Server>> for $name {
            type Rejection = Problem;

            async fn from_request_parts(parts: &mut Parts, _: &Arc<Server>) -> Result<$name, Problem> {
                caller(parts, $name::SCOPES).map($name)
            }
        }

        impl std::ops::Deref for $name {
            type Target = Caller;

            fn deref(&self) -> &Caller {
                &self.0
            }
        }
    )*};
}

scoped! {
    /// A caller that asks.
    Asker = [Ask];
    /// A caller that answers.
    Answerer = [Answer];
    /// A caller that manages credentials.
    Admin = [Admin];
    /// A caller that asks or answers.
    Participant = [Ask, Answer];
    /// Any caller with a credential.
    Anyone = [Ask, Answer, Admin];
}

fn caller(parts: &Parts, scopes: &[CredentialScope]) -> Result<Arc<Caller>, Problem> {
    let caller = parts.extensions.get::<Arc<Caller>>().ok_or(Refusal::NoToken)?;
    let scope = caller.scope();
    if scopes.contains(&scope) {
        Ok(caller.clone())
    } else {
        let why = format!("a token with the scope {} cannot do this", scope.name());
        Err(Problem::new(Code::Forbidden, why))
    }
}

/// A caller without a credential.
pub(super) struct Unverified;

impl Scoped for Unverified {
    const SCOPES: &[CredentialScope] = &[];
}

impl FromRequestParts<Arc<Server>> for Unverified {
    type Rejection = Problem;

    async fn from_request_parts(_: &mut Parts, _: &Arc<Server>) -> Result<Unverified, Problem> {
        Ok(Unverified)
    }
}

/// A request to a route: its parameters and its body.
pub(super) struct Call<Q = Empty, B = Empty> {
    /// The decoded parameter in the path. Empty for a route without one.
    pub(super) segment: String,
    pub(super) query: Q,
    pub(super) body: B,
    headers: HeaderMap,
    /// The address of the client.
    pub(super) address: String,
}

impl<Q, B> Call<Q, B> {
    pub(super) fn header(&self, name: impl AsHeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the value of a header that has one text value; `None` without the header. Fails if the value is no text.
    pub(super) fn text_header(&self, name: impl AsHeaderName) -> Result<Option<&str>, ()> {
        self.headers.get(name).map(|value| std::str::from_utf8(value.as_bytes()).map_err(drop)).transpose()
    }
}

impl<Q: DeserializeOwned + Send, B: DeserializeOwned> FromRequest<Arc<Server>> for Call<Q, B> {
    type Rejection = Problem;

    async fn from_request(request: Request, server: &Arc<Server>) -> Result<Call<Q, B>, Problem> {
        let (mut parts, body) = request.into_parts();
        let parameters = RawPathParams::from_request_parts(&mut parts, server).await;
        let parameters = parameters.map_err(|error| Problem::new(Code::BadRequest, error.body_text()))?;
        let segment = parameters.iter().map(|(_, value)| value.to_owned()).next().unwrap_or_default();
        let query = read_query(parts.uri.query().unwrap_or_default())?;
        let caller = parts.extensions.get::<Arc<Caller>>();
        let body = read_whole(body, if caller.is_some() { MAX_BYTES } else { MAX_BYTES_UNVERIFIED }).await?;
        // The store checks the credentials of people and agents. An administrator is no principal of the store.
        if let Some(caller) = caller.filter(|caller| caller.scope() == CredentialScope::Admin)
            && server.credentials.credential(caller.id()).await?.is_none()
        {
            return Err(Refusal::NoToken.into());
        }
        let address = parts.extensions.get::<SocketAddr>().map(|peer| peer.ip().to_canonical().to_string());
        let body = read_body(&body)?;
        let address = address.unwrap_or_default();
        Ok(Call { segment, query, body, headers: parts.headers, address })
    }
}

fn read_query<Q: DeserializeOwned>(query: &str) -> Result<Q, Problem> {
    let query = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
    serde_path_to_error::deserialize(query).map_err(|error| Problem::new(Code::BadRequest, error.to_string()))
}

async fn read_whole<B>(body: B, limit: usize) -> Result<Bytes, Problem>
where
    B: HttpBody<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    match tokio::time::timeout(super::ARRIVING, Limited::new(body, limit).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(Problem::new(Code::TooLarge, format!("the body has more than {limit} bytes")))
        }
        Ok(Err(_)) | Err(_) => Err(Problem::new(Code::BadRequest, "the body did not arrive")),
    }
}

/// Parses a body. An empty body counts as an object without fields.
fn read_body<B: DeserializeOwned>(body: &[u8]) -> Result<B, Problem> {
    let body = if body.is_empty() { b"{}" } else { body };
    let mut json = serde_json::Deserializer::from_slice(body);
    let is_object = body.trim_ascii_start().first() == Some(&b'{');
    let read = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        if error.classify() != Category::Data {
            return Problem::new(Code::BadRequest, format!("the body is no JSON: {error}"));
        }
        // The message of serde is, for example, "invalid type: string, expected u64 at line 1 column 5".
        let words = error.to_string();
        let words = words.split_once(" at line ").map_or(&*words, |(words, _)| words);
        let (fact, limit) = match words.split_once(", expected ") {
            Some((fact, limit)) => (fact, format!("must be {limit}")),
            None => (words, "see the OpenAPI document".to_owned()),
        };
        Problem::violation(if path == "." { "body" } else { &path }, fact, limit)
    });
    match read {
        _ if !is_object && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() => {
            Err(Problem::violation("body", "not an object", "must be an object"))
        }
        Ok(read) => json
            .end()
            .map(|()| read)
            .map_err(|error| Problem::new(Code::BadRequest, format!("the body is no JSON: {error}"))),
        Err(problem) => Err(problem),
    }
}
