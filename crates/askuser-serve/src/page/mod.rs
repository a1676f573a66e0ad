//! The page and its assets: in the executable, the same for everybody, and without a secret.

use crate::server::Reply;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};

/// The page itself.
const INDEX: &str =
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>askuser</title>\n<p>askuser serve</p></html>\n";

/// Something that a browser may get.
struct Asset {
    kind: &'static str,
    content: &'static [u8],
    /// Its name has its hash: it never changes.
    is_immutable: bool,
}

fn asset(path: &str) -> Option<Asset> {
    match path {
        "/" => Some(Asset { kind: "text/html; charset=utf-8", content: INDEX.as_bytes(), is_immutable: false }),
        _ => None,
    }
}

/// Answers a request outside the API. The headers that every reply has are added by the server.
pub(crate) fn answer(method: &Method, path: &str) -> Reply {
    let (status, kind, content, is_immutable) = match asset(path) {
        _ if !matches!(*method, Method::GET | Method::HEAD) => {
            (StatusCode::METHOD_NOT_ALLOWED, "text/plain", &b"only GET\n"[..], false)
        }
        Some(asset) => (StatusCode::OK, asset.kind, asset.content, asset.is_immutable),
        None => (StatusCode::NOT_FOUND, "text/plain", &b"not found\n"[..], false),
    };
    let mut reply: Reply = Response::new(Full::new(Bytes::from_static(content)).boxed_unsync());
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if is_immutable {
        let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
        reply.headers_mut().insert(CACHE_CONTROL, forever);
    }
    reply
}
