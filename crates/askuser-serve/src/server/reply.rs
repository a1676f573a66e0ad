//! Replies and their headers.

use super::Response;
use crate::api::{Code, ErrorBody, Problem};
use crate::request_guard::{Area, Refusal};
use axum::response::IntoResponse;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{self, HeaderName, HeaderValue};
use serde::Serialize;
use std::marker::PhantomData;

/// The content security policy of askuser's own page. The page may load its own files and call its own server.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The reply of a route, with the type that the OpenAPI document names.
pub(super) struct Typed<T>(pub(super) Response, PhantomData<fn() -> T>);

/// The result of a route.
pub(super) type Reply<T> = Result<Typed<T>, Problem>;

/// Returns a reply with status 200.
pub(super) fn ok<T: Serialize>(reply: T) -> Reply<T> {
    raw(json(StatusCode::OK, &reply))
}

/// Returns a reply with status 201 for a new object, and 200 for an existing one.
pub(super) fn created<T: Serialize>(is_new: bool, reply: T) -> Reply<T> {
    raw(json(if is_new { StatusCode::CREATED } else { StatusCode::OK }, &reply))
}

/// Returns a reply with any status and headers.
pub(super) fn raw<T>(reply: Response) -> Reply<T> {
    Ok(Typed(reply, PhantomData))
}

impl<T> IntoResponse for Typed<T> {
    fn into_response(self) -> Response {
        self.0
    }
}

pub(super) fn text(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Response {
    (status, [(header::CONTENT_TYPE, kind)], text.into()).into_response()
}

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => text(status, "application/json", body),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", error.to_string()),
    }
}

/// Adds the headers of every reply. A header that the reply already has is kept.
pub(super) fn with_headers(mut reply: Response, area: Area) -> Response {
    let headers = reply.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::CACHE_CONTROL, "no-store");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    if area == Area::Page {
        set(header::CONTENT_SECURITY_POLICY, CSP);
        set(header::X_FRAME_OPTIONS, "DENY");
        set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    }
    reply
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let code = match refusal {
            Refusal::Host => Code::Host,
            Refusal::CrossSite => Code::CrossSite,
            Refusal::NoToken => Code::Unauthorized,
            Refusal::Unmarked => Code::Unmarked,
            Refusal::NotJson => Code::NotJson,
        };
        Problem::new(code, refusal.words())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.code.status();
        let mut reply = json(status, &ErrorBody { error: self });
        if status == StatusCode::UNAUTHORIZED {
            reply.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        reply
    }
}
