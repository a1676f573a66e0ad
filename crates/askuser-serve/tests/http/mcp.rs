//! The guard before `/mcp`.

use crate::support::Site;
use askuser::store::Credentials;
use askuser_conformance::{until, wait};
use askuser_serve::{Body, Caller, Mcp, Response, WriteReceipts};
use hyper::{Method, Request};
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Says whether a request has shown a token. A `GET` gets no reply.
#[derive(Default)]
struct Silent {
    is_asked: AtomicBool,
    /// The result of the check for the client when the reply was flushed.
    was_held: Mutex<Option<bool>>,
}

struct Handler(Arc<Silent>);

impl Mcp for Handler {
    fn handle(
        &self,
        _: &Caller,
        request: Request<Body>,
        written: WriteReceipts,
    ) -> Pin<Box<dyn Future<Output = Result<Response, String>> + Send>> {
        let is_silent = *request.method() == Method::GET;
        let has_token = request.headers().contains_key("authorization");
        self.0.is_asked.store(true, Ordering::Relaxed);
        let silent = self.0.clone();
        written.then(move |was_held| *silent.was_held.lock().unwrap() = Some(was_held));
        Box::pin(async move {
            if is_silent {
                std::future::pending::<()>().await;
            }
            Ok(Response::new(Body::from(has_token.to_string())))
        })
    }
}

#[test]
fn a_token_stops_at_the_guard_and_a_flushed_reply_is_noted() {
    let silent = Arc::new(Silent::default());
    let site = Site::with(|options| options.mcp = Some(Arc::new(Handler(silent.clone()))));
    let reply = site.client().token(&site.ask).raw("POST", "/mcp", json!({}));
    assert_eq!((reply.status, &*reply.text), (200, "false"));
    until("the reply is acknowledged", || *silent.was_held.lock().unwrap() == Some(true));
}

#[test]
fn revoking_ends_a_request_that_no_store_wakes() {
    let silent = Arc::new(Silent::default());
    let site = Site::with(|options| options.mcp = Some(Arc::new(Handler(silent.clone()))));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| site.client().token(&site.ask).raw("GET", "/mcp", Value::Null));
        until("it waits", || silent.is_asked.load(Ordering::Relaxed));
        assert!(wait(site.store.revoke_credential(site.ask.split('_').nth(1).unwrap())).unwrap());
        assert_eq!(waiting.join().unwrap().status, 401);
    });
}
