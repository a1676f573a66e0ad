//! The table of routes. The OpenAPI document is generated from the table.

use super::call::{Anyone, Asker, Call, Scoped};
use super::reply::{Reply, raw, text};
use super::{Caller, Response, Server, WriteReceipts, guard};
use crate::api::{Code, Documented, OPENAPI, Problem, ROOT};
use crate::page;
use askuser::store::StoreError;
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{MethodFilter, any, on};
use hyper::{Method, StatusCode, Uri};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Returns the routes of the API.
pub(super) fn api() -> Routes {
    Routes::default()
        .add("POST /questions", "Put a question", Server::put)
        .add("GET /questions", "List questions", Server::list)
        .add("GET /questions/{id}", "Return a question; with wait, once it has ended or the time is over", Server::get)
        .add("POST /questions/{id}/answer", "Answer", Server::answer)
        .add("POST /questions/{id}/decline", "Decline", Server::decline)
        .add("POST /questions/{id}/discuss", "Discuss it first", Server::discuss)
        .add("POST /questions/{id}/withdraw", "Withdraw", Server::withdraw)
        .add("GET /questions/{id}/draft", "Return your unsent text", Server::drafts)
        .add("PUT /questions/{id}/draft", "Save unsent text", Server::save_draft)
        .add("POST /questions/{id}/hold", "Stop the clock: no deadline any more", Server::hold)
        .add("POST /questions/{id}/claim", "Use a permission", Server::claim)
        .add("POST /questions/{id}/sent", "Note that the asker is told of the answer", Server::sent)
        .add("POST /questions/{id}/delivered", "Acknowledge the answer", Server::delivered)
        .add("POST /questions/{id}/attach", "Wait for the answer: take a lease", Server::attach)
        .add("POST /lists", "Show a list to a person: take a lease", Server::show_list)
        .add("GET /lists", "Return whether a list is shown", Server::is_list_shown)
        .add("POST /leases", "Renew leases", Server::renew)
        .add("DELETE /leases/{lease}", "End a lease", Server::end_lease)
        .add("GET /count", "Count the questions of a list", Server::count)
        .add("GET /ids", "Complete an id", Server::ids)
        .add("GET /log", "List every question, the latest first", Server::log)
        .add("DELETE /log", "Remove what ended before a time, for good", Server::purge)
        .add("GET /events", "Follow events, as a stream or as a list", Server::events)
        .add("GET /notifier", "Return how calling a person failed last", Server::last_failure)
        .add("PUT /notifier", "Note a failure, or forget it", Server::note_failure)
        .add("GET /me", "Return who acts with this token", Server::me)
        .add("GET /openapi.json", "Return this document", Server::openapi)
        .add("GET /tokens", "List tokens and devices", Server::tokens)
        .add("POST /tokens", "Make a token", Server::make_token)
        .add("DELETE /tokens/{id}", "Revoke a token or a device", Server::revoke)
        .add("GET /people", "List people", Server::people)
        .add("POST /people", "Add a person", Server::add_person)
        .add("DELETE /people/{name}", "Remove a person, and revoke what is theirs", Server::remove_person)
        .add("GET /pairings/{code}", "Return the browser that shows a code", Server::pairing)
        .add("POST /pairings/{code}/approve", "Approve the browser that shows a code", Server::approve)
        .add("POST /pair", "Exchange the code of a link for a token", Server::pair_by_link)
        .add("POST /pair/person", "Return whose device a link makes; the link stays unused", Server::person_of_link)
        .add("POST /pair/code", "Make a code to show", Server::code_to_show)
        .add("POST /pair/claim", "Return the token, once the code is approved", Server::claim_code)
}

/// Returns the router for all requests to a server.
pub(super) fn router(server: &Arc<Server>) -> Router {
    api()
        .router
        .route("/mcp", any(mcp))
        .fallback(fallback)
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed, "this route has no such method"))
        .layer(from_fn_with_state(server.clone(), guard::admit))
        .with_state(server.clone())
}

async fn mcp(State(server): State<Arc<Server>>, asker: Asker, mut request: Request) -> Result<Response, Problem> {
    let mcp = server.options.mcp.as_ref().ok_or_else(|| Problem::not_found("there is no /mcp here"))?;
    let written = request.extensions_mut().remove::<WriteReceipts>().unwrap_or_default();
    let caller: &Caller = &asker;
    let reply = mcp.handle(caller, request, written).await;
    reply.map_err(|why| StoreError::unavailable("cannot speak with the client", why).into())
}

async fn fallback(method: Method, uri: Uri) -> Response {
    match uri.path().strip_prefix(ROOT) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            Problem::not_found(format!("there is no route {rest}")).into_response()
        }
        _ => page::answer(&method, uri.path()),
    }
}

impl Server {
    async fn openapi(self: Arc<Server>, _: Anyone, _: Call) -> Reply<Map<String, Value>> {
        raw(text(StatusCode::OK, "application/json", OPENAPI))
    }
}

/// Routes, each with a method, a path and a summary.
#[derive(Default)]
pub(super) struct Routes {
    router: Router<Arc<Server>>,
    #[cfg(test)]
    pub(super) document: super::document::Document,
}

impl Routes {
    fn add<S, Q, B, T, F, R>(self, route: &str, summary: &str, handler: F) -> Routes
    where
        S: Scoped + 'static,
        Q: DeserializeOwned + Documented + Send + 'static,
        B: DeserializeOwned + Documented + Send + 'static,
        T: Documented + 'static,
        F: Fn(Arc<Server>, S, Call<Q, B>) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Reply<T>> + Send + 'static,
    {
        let (method, path) = route.split_once(' ').unwrap_or_default();
        let method_filter = match method {
            "GET" => MethodFilter::GET,
            "POST" => MethodFilter::POST,
            "PUT" => MethodFilter::PUT,
            _ => MethodFilter::DELETE,
        };
        let handle =
            move |State(server): State<Arc<Server>>, caller: S, call: Call<Q, B>| handler(server, caller, call);
        let _ = summary;
        Routes {
            router: self.router.route(&format!("{ROOT}{path}"), on(method_filter, handle)),
            #[cfg(test)]
            document: self.document.with::<S, Q, B, T>(method, path, summary),
        }
    }
}
