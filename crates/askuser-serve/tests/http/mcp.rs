//! The guard before `/mcp`.

use crate::support::Site;
use askuser::store::Credentials;
use askuser_conformance::{until, wait};
use askuser_serve::{Body, Caller, Mcp, Response, WriteReceipts};
use hyper::{Method, Request};
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Says whether a request has shown a token. A `GET` gets no reply.
#[derive(Default)]
struct Silent {
    is_asked: AtomicBool,
}

impl Mcp for Silent {
    fn handle(
        &self,
        _: &Caller,
        request: Request<Body>,
        _: WriteReceipts,
    ) -> Pin<Box<dyn Future<Output = Result<Response, String>> + Send>> {
        let is_silent = *request.method() == Method::GET;
        let has_token = request.headers().contains_key("authorization");
        self.is_asked.store(true, Ordering::Relaxed);
        Box::pin(async move {
            if is_silent {
                std::future::pending::<()>().await;
            }
            Ok(Response::new(Body::from(has_token.to_string())))
        })
    }
}

#[test]
fn a_token_goes_no_further_than_the_guard() {
    let site = Site::with(|options| options.mcp = Some(Arc::new(Silent::default())));
    let reply = site.client().token(&site.ask).raw("POST", "/mcp", json!({}));
    assert_eq!((reply.status, &*reply.text), (200, "false"));
}

#[test]
fn revoking_ends_a_request_that_no_store_wakes() {
    let silent = Arc::new(Silent::default());
    let site = Site::with(|options| options.mcp = Some(silent.clone()));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| site.client().token(&site.ask).raw("GET", "/mcp", Value::Null));
        until("it waits", || silent.is_asked.load(Ordering::Relaxed));
        assert!(wait(site.store.revoke_credential(site.ask.split('_').nth(1).unwrap())).unwrap());
        assert_eq!(waiting.join().unwrap().status, 401);
    });
}
