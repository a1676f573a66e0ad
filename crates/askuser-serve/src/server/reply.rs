//! Replies, their headers, and what went wrong.

use super::Reply;
use crate::gate::{Area, Refusal};
use crate::wire;
use askuser::Violation;
use askuser::store::{StoreError, StoredQuestion};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

/// What a page of ours may do: nothing that is not ours.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

pub(super) fn text(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(text.into()).boxed_unsync());
    *reply.status_mut() = status;
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

pub(super) fn json(status: StatusCode, value: &Value) -> Reply {
    text(status, "application/json", value.to_string())
}

pub(super) fn ok(value: &Value) -> Reply {
    json(StatusCode::OK, value)
}

/// What every reply says, but those of other people's protocols; a reply that says when it may be cached is not overruled.
pub(super) fn with_headers(mut reply: Reply, area: Area) -> Reply {
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

/// Why a request was not done.
#[derive(Debug)]
pub(super) struct Problem {
    status: u16,
    body: Value,
}

impl Problem {
    fn new(status: u16, code: &str, message: impl Into<String>) -> Problem {
        Problem { status, body: json!({"error": {"code": code, "message": message.into()}}) }
    }

    pub(super) fn refused(refusal: Refusal) -> Problem {
        let code = match refusal {
            Refusal::Host => "host",
            Refusal::CrossSite => "cross_site",
            Refusal::NoToken => "unauthorized",
            Refusal::Unmarked => "unmarked",
            Refusal::NotJson => "not_json",
        };
        Problem::new(refusal.status(), code, refusal.words())
    }

    pub(super) fn bad(message: impl Into<String>) -> Problem {
        Problem::new(400, "bad_request", message)
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Problem {
        Problem::new(403, "forbidden", message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Problem {
        Problem::new(404, "not_found", message)
    }

    pub(super) fn method() -> Problem {
        Problem::new(405, "method_not_allowed", "this route has no such method")
    }

    pub(super) fn gone(message: impl Into<String>) -> Problem {
        Problem::new(410, "gone", message)
    }

    pub(super) fn too_large(most: usize) -> Problem {
        Problem::new(413, "too_large", format!("the body has more than {most} bytes"))
    }

    /// Everything that is wrong with what was sent.
    pub(super) fn invalid(what: &str, violations: &[Violation]) -> Problem {
        let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
        let mut problem = Problem::new(422, "invalid", format!("{what}: {}", lines.join("\n")));
        problem.body["error"]["violations"] = json!(violations);
        problem
    }

    /// The one thing that is wrong with it.
    pub(super) fn violation(path: &str, fact: impl Into<String>, limit: &str) -> Problem {
        let violation = Violation { path: path.to_owned(), fact: fact.into(), limit: limit.to_owned() };
        Problem::invalid("not valid", &[violation])
    }

    /// A question had ended before, and this is how.
    pub(super) fn ended(question: &StoredQuestion, is_whole: bool) -> Problem {
        let (status, code, message) = match question.state() {
            askuser::store::State::Withdrawn => (410, "withdrawn", "the question was withdrawn"),
            _ => (409, "ended", "the question has ended"),
        };
        let mut problem = Problem::new(status, code, message);
        problem.body["error"]["question"] = wire::question(question, is_whole);
        problem
    }

    pub(super) fn reply(self) -> Reply {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut reply = json(status, &self.body);
        if status == StatusCode::UNAUTHORIZED {
            reply.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        reply
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        let (status, body) = wire::error(&error);
        Problem { status, body }
    }
}
