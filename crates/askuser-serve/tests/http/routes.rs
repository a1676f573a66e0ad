//! Tests of every route of the OpenAPI document: its scopes, its fields, and that reading changes no state.

use crate::support::{Response, Site, input};
use askuser::Via;
use askuser::store::{Credentials, Filter, Principal, QuestionId, QuestionRef, Store};
use askuser_conformance::wait;
use serde_json::{Value, json};

struct Route {
    method: String,
    path: String,
    /// The scopes that the route admits: for example `ask, answer`, or `any` or `none`.
    scopes: String,
}

impl Route {
    fn lets_in(&self, scope: &str) -> bool {
        self.scopes == "any" || self.scopes.split(", ").any(|known| known == scope)
    }

    /// Sends a request for the question with this id. The body is sent if the method takes one.
    fn send(&self, site: &Site, token: &str, id: &str, query: &str, body: Value) -> Response {
        let path = self.path.replace("{id}", id).replace(['{', '}'], "");
        let client = if token.is_empty() { site.client() } else { site.client().token(token) };
        let body = if matches!(&*self.method, "POST" | "PUT") { body } else { Value::Null };
        client.send(&self.method, &format!("{path}{query}"), body)
    }
}

impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

fn routes() -> Vec<Route> {
    let document: Value = serde_json::from_str(askuser_serve::OPENAPI).unwrap();
    let paths = document["paths"].as_object().unwrap().iter();
    let routes = paths.flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, operation)| Route {
            method: method.to_uppercase(),
            path: path.clone(),
            scopes: operation["description"].as_str().unwrap().strip_prefix("Scope: ").unwrap().to_owned(),
        })
    });
    routes.collect()
}

/// Returns the tokens of a site by their scope.
fn tokens(site: &Site) -> [(&'static str, &str); 3] {
    [("ask", &site.ask), ("answer", &site.answer), ("admin", &site.admin)]
}

/// Returns a token that a route admits, or an empty text.
fn token_for<'a>(site: &'a Site, route: &Route) -> &'a str {
    let known = tokens(site).into_iter().find(|(scope, _)| route.lets_in(scope));
    known.map_or("", |(_, token)| token)
}

#[test]
fn a_route_lets_in_the_scopes_of_the_table_and_no_other() {
    let site = Site::new();
    let routes = routes();
    assert!(routes.len() > 30, "{}", routes.len());
    for route in routes {
        let status = |token: &str| {
            let reply = route.send(&site, token, "000000000000", "", json!({}));
            (reply.status, reply.code().to_owned())
        };
        if route.scopes == "none" {
            assert_ne!(status("").0, 401, "{route}");
            continue;
        }
        assert_eq!(status(""), (401, "unauthorized".to_owned()), "{route}");
        for (scope, token) in tokens(&site) {
            if route.lets_in(scope) {
                assert!(![401, 403].contains(&status(token).0), "{route} with {scope}: {:?}", status(token));
            } else {
                assert_eq!(status(token), (403, "forbidden".to_owned()), "{route} with {scope}");
            }
        }
    }
}

#[test]
fn every_body_and_query_with_an_unknown_field_is_refused() {
    let site = Site::new();
    let id = site.put("1");
    let unknown = json!({"of_no_version": 1});
    for route in routes() {
        let token = token_for(&site, &route);
        let query = route.send(&site, token, &id, "?of_no_version=1", json!({}));
        let message = query.body["error"]["message"].as_str().unwrap_or_default();
        assert!(query.status == 400 && message.contains("of_no_version"), "{route}: {query:?}");
        if matches!(&*route.method, "POST" | "PUT") {
            let body = route.send(&site, token, &id, "", unknown.clone());
            let path = &body.body["error"]["violations"][0]["path"];
            assert_eq!((body.status, path), (422, &json!("of_no_version")), "{route}: {body:?}");
        }
    }
}

#[test]
fn a_path_that_is_no_route_is_401_without_a_token() {
    let site = Site::new();
    for path in ["/api/v1", "/api/v1/", "/api/v1/none", "/api/v1/questions/x/y/z", "/api/v1/pair/none", "/mcp"] {
        for method in ["GET", "POST", "PATCH"] {
            let reply = site.client().raw(method, path, Value::Null);
            // A body of another type is refused before the token is checked.
            let reply = if reply.status == 415 { site.client().raw(method, path, json!({})) } else { reply };
            assert_eq!((reply.status, reply.code()), (401, "unauthorized"), "{method} {path}");
        }
    }
}

#[test]
fn reading_any_route_changes_nothing() {
    let site = Site::new();
    let body = json!({"input": input("Which database?"), "deadline": 600});
    let id = site.send(&site.ask, "POST", "/questions", body).body["id"].as_str().unwrap().to_owned();
    let draft = json!({"answers": [], "discuss": "later"});
    assert_eq!(site.send(&site.answer, "PUT", &format!("/questions/{id}/draft"), draft).status, 200);
    let question = QuestionRef::Id(QuestionId::parse(&id).unwrap());
    let state = || {
        let ada = Principal::person("ada", Via::Web);
        let listed = wait(site.store.list(&ada, &Filter::default())).unwrap();
        let questions: Vec<_> = listed.questions.into_iter().map(|found| (found.expires_ms, found.ending)).collect();
        let events = wait(site.store.events(&ada, 0, 100)).unwrap().last;
        let drafts = wait(site.store.drafts(&ada, &question)).unwrap();
        let credentials = wait(site.store.credentials()).unwrap().into_iter().map(|known| known.made.id);
        let failure = wait(site.store.last_failure(&ada)).unwrap();
        let people = wait(site.store.people()).unwrap();
        (questions, events, drafts, credentials.collect::<Vec<_>>(), failure, people)
    };
    let before = state();
    for route in routes() {
        let path = format!("/api/v1{}", route.path.replace("{id}", &id));
        for (_, token) in tokens(&site) {
            site.client().token(token).header("Content-Type", "application/json").raw("GET", &path, Value::Null);
        }
    }
    assert_eq!(state(), before);
}
