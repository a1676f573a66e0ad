//! The layer around all routes: the request guard, the credential, and its revocation.

use super::reply::with_headers;
use super::revocable_body::revocable;
use super::{Caller, Permit, Response, Server, events, now};
use crate::api::{Code, Problem, ROOT, VIA};
use crate::request_guard::{Area, Gate, HeaderValue, HeaderValues, Refusal};
use crate::token;
use askuser::Via;
use askuser::store::Credential;
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::IntoResponse;
use bytes::Bytes;
use hyper::Method;
use hyper::header::{self, HeaderName};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The duration of a short request. A longer request ends as soon as its credential is revoked.
const SHORT: Duration = Duration::from_millis(100);

pub(super) async fn admit(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let area = area(&request);
    let reply = server.let_in(area, request, next).await.unwrap_or_else(|problem| {
        tracing::warn!(status = problem.code.status().as_u16(), "refused");
        problem.into_response()
    });
    with_headers(reply, area)
}

/// Returns the area of a request by its path.
fn area<T>(request: &hyper::Request<T>) -> Area {
    let path = request.uri().path();
    match path.strip_prefix(ROOT).filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        Some("/pair" | "/pair/person" | "/pair/code" | "/pair/claim") => Area::Pairing,
        Some(_) => Area::Api { has_body: !matches!(*request.method(), Method::GET | Method::HEAD | Method::DELETE) },
        None if path == "/mcp" => Area::Mcp,
        None => Area::Page,
    }
}

impl Server {
    async fn let_in(self: Arc<Server>, area: Area, mut request: Request, next: Next) -> Result<Response, Problem> {
        let extensions = request.extensions();
        let peer = extensions.get::<SocketAddr>().copied().ok_or(Refusal::Host)?;
        let gate = extensions.get::<Arc<Gate>>().cloned().ok_or(Refusal::Host)?;
        let token = gate.admit(&headers(&request), area).map_err(|refusal| self.refused(refusal, peer))?;
        let token = token.map(str::to_owned);
        // No route needs the token, and no log may show it.
        request.headers_mut().remove(header::AUTHORIZATION);
        let Some(token) = token else { return Ok(next.run(request).await) };
        let via = request.headers().get(VIA).map(|via| via.to_str().unwrap_or_default());
        let via = via.map_or(Ok(Via::Web), |name| {
            let unknown = || Problem::new(Code::BadRequest, format!("X-Askuser-Via: {name:?} is unknown"));
            Via::named(name).ok_or_else(unknown)
        })?;
        let known = token::credential(&*self.credentials, &token).await?;
        let credential = known.ok_or_else(|| self.refused(Refusal::NoToken, peer))?;
        Permit::give_back(&request);
        self.note_seen(&credential, &peer.ip().to_canonical().to_string());
        let caller = Arc::new(Caller { credential, via });
        request.extensions_mut().insert(caller.clone());
        // The store checks the credential of a request that changes state.
        let may_wait = area == Area::Mcp || *request.method() == Method::GET;
        let revoked = async {
            tokio::time::sleep(SHORT).await;
            self.until_revoked(caller.id()).await;
        };
        let reply = tokio::select! {
            biased;
            reply = next.run(request) => reply,
            () = revoked, if may_wait => return Err(Refusal::NoToken.into()),
        };
        if reply.body().size_hint().exact().is_some() {
            return Ok(reply);
        }
        let revoked = self.revocation(caller.id()).await?.ok_or(Refusal::NoToken)?;
        let last_words = if area == Area::Mcp { Bytes::new() } else { events::bye("revoked") };
        Ok(reply.map(|body| revocable(body, revoked, last_words)))
    }

    /// Returns the problem of a refused request, and counts an invalid credential.
    fn refused(&self, refusal: Refusal, peer: SocketAddr) -> Problem {
        if refusal == Refusal::NoToken {
            drop(self.credentials.credential_failed(&peer.ip().to_canonical().to_string()));
        }
        refusal.into()
    }

    /// Records that a credential was used: once a minute, and for each new address.
    fn note_seen(&self, credential: &Credential, address: &str) {
        let is_recent = credential.seen_ms.is_some_and(|seen| now().as_millis() < u128::from(seen) + 60_000);
        if !is_recent || credential.made.address.as_deref() != Some(address) {
            drop(self.credentials.credential_seen(&credential.made.id, address));
        }
    }
}

/// Returns the headers that the guard reads.
fn headers<T>(request: &hyper::Request<T>) -> HeaderValues<'_> {
    let value =
        |name: HeaderName| HeaderValue::of(request.headers().get_all(name).iter().map(|value| value.as_bytes()));
    let named = |name: &'static str| value(HeaderName::from_static(name));
    HeaderValues {
        host: value(header::HOST),
        origin: value(header::ORIGIN),
        sec_fetch_site: named("sec-fetch-site"),
        sec_fetch_mode: named("sec-fetch-mode"),
        authorization: value(header::AUTHORIZATION),
        content_type: value(header::CONTENT_TYPE),
        x_askuser: named("x-askuser"),
    }
}
