//! The Model Context Protocol alone, for clients on this machine that know one token. The port is open to everybody on it, web
//! pages in a browser included: the caller shows the token, and names this very server.

use super::reply::{self, Problem};
use super::{Permit, Reply, Unverified, Written, accept, converse, headers};
use crate::gate::{Area, Gate, Refusal, is_same};
use crate::token::digest;
use askuser::store::Digest;
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use std::io;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Serves clients on this machine that show this token, until `end` is cancelled.
///
/// # Errors
/// Where others than this machine could connect.
pub async fn serve_mcp<F: Future<Output = Reply> + Send + 'static>(
    listener: TcpListener,
    token: &str,
    end: CancellationToken,
    handle: impl Fn(Request<Incoming>, Written) -> F + Clone + Send + Sync + 'static,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        return Err(io::Error::other(format!("{address} is no loopback address, must be one: 127.0.0.1 or [::1]")));
    }
    let (gate, secret) = (Arc::new(Gate::of_socket(address, false).or_localhost(address.port())), digest(token));
    let unverified = Unverified::new(true);
    accept(&listener, &end, |stream, peer| {
        let gate = gate.clone();
        let handle = handle.clone();
        let end = end.clone();
        let unverified = unverified.clone();
        async move {
            let Some(permit) = unverified.admit(peer.ip()).await else { return };
            let answer = |mut request: Request<Incoming>| {
                let (refused, handle) = (refuses(&gate, &secret, &request), handle.clone());
                async move {
                    if let Some(problem) = refused {
                        let reply = problem.reply();
                        tracing::warn!(status = reply.status().as_u16(), "refused");
                        return reply::with_headers(reply, Area::Mcp);
                    }
                    Permit::give_back(&request);
                    // Nothing behind the gate needs it, not even a log.
                    request.headers_mut().remove(AUTHORIZATION);
                    let written = request.extensions().get::<Written>().cloned().unwrap_or_default();
                    handle(request, written).await
                }
            };
            converse(stream, permit, &end, answer).await;
        }
    })
    .await;
    Ok(())
}

/// Why a request is not let in, if it is not.
fn refuses<T>(gate: &Gate, secret: &Digest, request: &Request<T>) -> Option<Problem> {
    match gate.admit(&headers(request), Area::Mcp) {
        Err(refusal) => Some(Problem::refused(refusal)),
        Ok(token) if !token.is_some_and(|token| is_same(&digest(token), secret)) => {
            Some(Problem::refused(Refusal::NoToken))
        }
        Ok(_) => (request.uri().path() != "/mcp").then(|| Problem::not_found("MCP is spoken at /mcp")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HOST, HeaderName, ORIGIN};

    #[track_caller]
    fn check(headers: &[(HeaderName, &str)], path: &str, status: Option<u16>) {
        let gate = Gate::of_socket(([127, 0, 0, 1], 8787).into(), false).or_localhost(8787);
        let request = headers.iter().fold(Request::get(path), |request, (name, value)| request.header(name, *value));
        let refused = refuses(&gate, &digest("secret"), &request.body(()).unwrap());
        assert_eq!(refused.map(|problem| problem.reply().status().as_u16()), status, "{headers:?}");
    }

    #[test]
    fn only_the_token_the_name_and_the_origin_of_this_very_server_are_let_in() {
        let (host, auth) = ((HOST, "127.0.0.1:8787"), (AUTHORIZATION, "Bearer secret"));
        check(&[host.clone(), auth.clone()], "/mcp", None);
        check(&[(HOST, "localhost:8787"), auth.clone()], "/mcp", None);
        check(&[host.clone(), auth.clone(), (ORIGIN, "http://localhost:8787")], "/mcp", None);
        check(&[host.clone(), auth.clone()], "/", Some(404));
        for wrong in ["Bearer Secret", "Bearer secret ", "Bearer ", "secret", "Basic secret"] {
            check(&[host.clone(), (AUTHORIZATION, wrong)], "/mcp", Some(401));
        }
        check(std::slice::from_ref(&host), "/mcp", Some(401));
        for foreign in ["evil.example:8787", "127.0.0.1", "127.0.0.1:8788", "localhost", "127.0.0.1:8787.evil.example"]
        {
            check(&[(HOST, foreign), auth.clone()], "/mcp", Some(403));
        }
        check(std::slice::from_ref(&auth), "/mcp", Some(403));
        for foreign in ["http://evil.example", "null", "https://127.0.0.1:8787", "http://127.0.0.1", ""] {
            check(&[host.clone(), auth.clone(), (ORIGIN, foreign)], "/mcp", Some(403));
        }
    }
}
