//! The routes of questions.

use super::leases::Leases;
use super::reply::{self, Problem};
use super::{Call, Caller, Reply, Server};
use crate::{page, token, wire};
use askuser::store::{
    Attachment, Attempt, Claim, CredentialScope, Cursor, Draft, End, Filter, NotifierFailure, StoreError,
    StoredQuestion, Which,
};
use askuser::{Context, Origin, QuestionSet, Request, RequestKey, Rules, reply as replies};
use hyper::StatusCode;
use hyper::header::{ETAG, HeaderValue, IF_NONE_MATCH};
use serde_json::{Value, json};
use sha2::Digest as _;
use std::time::Duration;

/// How many questions a list has, unless it says so, and at most.
const PAGE: u64 = 100;
const LONGEST_PAGE: u64 = 500;
/// How long a request waits for an end at most.
const LONGEST_WAIT: u64 = 60;

impl Server {
    pub(super) async fn put(&self, caller: &Caller, call: &Call) -> Result<Reply, Problem> {
        let request = request(caller, call)?;
        let series = wire::series(&call.body["series"]);
        let put = self.store.put(&caller.principal(), &request, series.as_ref()).await?;
        if let (true, Some(on_new)) = (put.is_new, &self.options.on_new) {
            on_new(&put.question);
        }
        let mut body = wire::question(&put.question, call.is_whole());
        body["is_new"] = put.is_new.into();
        self.lease(caller, put.attachment, &mut body)?;
        Ok(reply::json(if put.is_new { StatusCode::CREATED } else { StatusCode::OK }, &body))
    }

    pub(super) async fn list(&self, caller: &Caller, call: &Call, is_log: bool) -> Result<Reply, Problem> {
        let page = self.store.list(&caller.principal(), &filter(call, is_log)?).await?;
        let mut questions: Vec<Value> = page.questions.iter().map(|question| shown(call, question)).collect();
        // When it was read is not what it says.
        let read_ms: Vec<Value> = questions.iter_mut().map(|question| question["read_ms"].take()).collect();
        let digest = sha2::Sha256::digest(json!([questions, page.next]).to_string());
        let etag = format!("\"{}\"", digest[..12].iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        let is_known = call.header(IF_NONE_MATCH) == Some(&etag);
        let mut reply = match is_known {
            true => reply::text(StatusCode::NOT_MODIFIED, "application/json", ""),
            false => {
                for (question, read_ms) in questions.iter_mut().zip(read_ms) {
                    question["read_ms"] = read_ms;
                }
                let mut body = json!({ "questions": questions });
                if let Some(next) = page.next {
                    body["next"] = json!(next);
                }
                reply::ok(&body)
            }
        };
        if let Ok(etag) = HeaderValue::from_str(&etag) {
            reply.headers_mut().insert(ETAG, etag);
        }
        Ok(reply)
    }

    pub(super) async fn count(&self, caller: &Caller, call: &Call) -> Result<Reply, Problem> {
        let count = self.store.count(&caller.principal(), &filter(call, false)?).await?;
        Ok(reply::ok(&json!({ "count": count })))
    }

    pub(super) async fn ids(&self, caller: &Caller, call: &Call) -> Result<Reply, Problem> {
        let begin = call.query("begin").unwrap_or_default();
        let ids = self.store.resolve(&caller.principal(), begin).await?;
        Ok(reply::ok(&json!({ "ids": ids })))
    }

    /// A question, or how it ended where that happens soon.
    pub(super) async fn get(&self, caller: &Caller, call: &Call, id: &str) -> Result<Reply, Problem> {
        let which = which(call, id)?;
        let wait = Duration::from_secs(call.number("wait")?.unwrap_or_default().min(LONGEST_WAIT));
        let mut question = self.store.get(&caller.principal(), &which).await?;
        if !wait.is_zero() && question.ending.is_none() {
            self.keep_polled(caller, &question, wait).await?;
            tokio::select! {
                ended = self.ended(caller, &question) => ended?,
                () = tokio::time::sleep(wait) => {}
                () = self.end.cancelled() => {}
            }
            // It may have been revoked meanwhile.
            if self.credentials.credential(caller.id()).await?.is_none() {
                return Err(Problem::refused(askuser::gate::Refusal::NoToken));
            }
            question = self.store.get(&caller.principal(), &which).await?;
        }
        Ok(reply::ok(&shown(call, &question)))
    }

    async fn ended(&self, caller: &Caller, question: &StoredQuestion) -> Result<(), StoreError> {
        let handle = askuser::store::Handle::new(self.store.clone(), caller.principal());
        handle.wait(&question.id).await.map(drop)
    }

    /// An asker that polls waits, also between two requests.
    async fn keep_polled(&self, caller: &Caller, question: &StoredQuestion, wait: Duration) -> Result<(), Problem> {
        if caller.scope() != CredentialScope::Ask {
            return Ok(());
        }
        let name = Leases::name_of_poll(caller.id(), &question.id);
        if !self.leases.renew(&name, caller.id(), wait) {
            let attachment = self.store.attach(&caller.principal(), &question.id).await?;
            self.leases.grant(name.clone(), caller.id(), attachment);
            self.leases.renew(&name, caller.id(), wait);
        }
        Ok(())
    }

    pub(super) async fn end(&self, caller: &Caller, call: &Call, id: &str, how: &str) -> Result<Reply, Problem> {
        let (which, attempt) = (which(call, id)?, attempt(call)?);
        let end = match how {
            "withdraw" => End::Withdraw,
            how => {
                let question = self.store.get(&caller.principal(), &which).await?;
                resolve(&question, how, &call.body)?
            }
        };
        match self.store.end(&caller.principal(), &which, &end, &attempt).await {
            Ok(_) => {
                let question = self.store.get(&caller.principal(), &which).await?;
                Ok(reply::ok(&wire::question(&question, call.is_whole())))
            }
            Err(StoreError::Ended(_)) => {
                let question = self.store.get(&caller.principal(), &which).await?;
                Err(Problem::ended(&question, call.is_whole()))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn draft(&self, caller: &Caller, call: &Call, id: &str) -> Result<Reply, Problem> {
        let draft = self.store.draft(&caller.principal(), &which(call, id)?).await?;
        let mut body = json!({"answers": draft.answers});
        for (name, text) in [("discuss", draft.discuss), ("decline", draft.decline)] {
            if let Some(text) = text {
                body[name] = text.into();
            }
        }
        Ok(reply::ok(&body))
    }

    pub(super) async fn save_draft(&self, caller: &Caller, call: &Call, id: &str) -> Result<Reply, Problem> {
        let draft: Draft = serde_json::from_value(call.body.clone())
            .map_err(|error| Problem::violation("draft", error.to_string(), "must be {\"answers\": […]}"))?;
        self.store.save_draft(&caller.principal(), &which(call, id)?, &draft).await?;
        Ok(reply::ok(&json!({})))
    }

    pub(super) async fn hold(&self, caller: &Caller, call: &Call, id: &str) -> Result<Reply, Problem> {
        self.store.hold(&caller.principal(), &which(call, id)?).await?;
        Ok(reply::ok(&json!({})))
    }

    pub(super) async fn claim(&self, caller: &Caller, call: &Call, id: &str) -> Result<Reply, Problem> {
        let question = self.store.get(&caller.principal(), &which(call, id)?).await?;
        let claim = self.store.claim(&caller.principal(), &question.id, &attempt(call)?).await?;
        Ok(reply::ok(&match claim {
            Claim::Won => json!({"claim": "won"}),
            Claim::Used(at_ms) => json!({"claim": "used", "at_ms": at_ms}),
            Claim::Lapsed => json!({"claim": "lapsed"}),
        }))
    }

    pub(super) async fn delivered(&self, caller: &Caller, call: &Call, id: &str) -> Result<Reply, Problem> {
        let question = self.store.get(&caller.principal(), &which(call, id)?).await?;
        self.store.delivered(&caller.principal(), &question.id).await?;
        // What has not ended cannot be delivered.
        Ok(reply::ok(&json!({"delivered": question.ending.is_some()})))
    }

    pub(super) async fn attach(&self, caller: &Caller, call: &Call, id: &str) -> Result<Reply, Problem> {
        let question = self.store.get(&caller.principal(), &which(call, id)?).await?;
        let attachment = self.store.attach(&caller.principal(), &question.id).await?;
        let mut body = json!({});
        self.lease(caller, attachment, &mut body)?;
        Ok(reply::ok(&body))
    }

    pub(super) async fn show_list(&self, caller: &Caller) -> Result<Reply, Problem> {
        let attachment = self.store.show_list(&caller.principal()).await?;
        let mut body = json!({});
        self.lease(caller, attachment, &mut body)?;
        Ok(reply::ok(&body))
    }

    pub(super) async fn is_list_shown(&self, caller: &Caller) -> Result<Reply, Problem> {
        let shown = self.store.is_list_shown(&caller.principal()).await?;
        Ok(reply::ok(&json!({ "shown": shown })))
    }

    /// Keeps an attachment for as long as its holder is heard of, and says how to be.
    fn lease(&self, caller: &Caller, attachment: Attachment, body: &mut Value) -> Result<(), Problem> {
        let name = token::random::<16>().map_err(|error| StoreError::unavailable("cannot name a lease", error))?;
        self.leases.grant(name.clone(), caller.id(), attachment);
        body["lease"] = name.into();
        body["lasts_ms"] = self.leases.lasts_ms().into();
        Ok(())
    }

    pub(super) fn renew(&self, caller: &Caller, call: &Call) -> Result<Reply, Problem> {
        let Some(names) = call.body["renew"].as_array() else {
            return Err(Problem::violation("renew", "not an array", "must be an array of leases"));
        };
        let is_gone =
            |name: &&Value| !name.as_str().is_some_and(|name| self.leases.renew(name, caller.id(), Duration::ZERO));
        let gone: Vec<&Value> = names.iter().filter(is_gone).collect();
        Ok(reply::ok(&json!({ "gone": gone })))
    }

    pub(super) async fn end_lease(&self, caller: &Caller, name: &str) -> Result<Reply, Problem> {
        if let Some(attachment) = self.leases.take(name, caller.id()) {
            attachment.detach().await?;
        }
        Ok(reply::ok(&json!({})))
    }

    pub(super) async fn last_failure(&self, caller: &Caller) -> Result<Reply, Problem> {
        let failure = self.store.last_failure(&caller.principal()).await?;
        let failure = failure.map(|failure| json!({"at_ms": failure.at_ms, "what": failure.what, "why": failure.why}));
        Ok(reply::ok(&json!({ "failure": failure })))
    }

    pub(super) async fn note_failure(&self, caller: &Caller, call: &Call) -> Result<Reply, Problem> {
        let failure = &call.body["failure"];
        let text = |name: &str| failure[name].as_str().unwrap_or_default().to_owned();
        let failure = (!failure.is_null()).then(|| NotifierFailure { at_ms: 0, what: text("what"), why: text("why") });
        self.store.note_failure(&caller.principal(), failure.as_ref()).await?;
        Ok(reply::ok(&json!({})))
    }
}

/// Which question a route is about.
/// A question as the caller wants it: `?whole=1` for our own store, `?view=page` for the page.
fn shown(call: &Call, question: &StoredQuestion) -> Value {
    let mut object = wire::question(question, call.is_whole());
    if call.query("view") == Some("page") {
        object["page"] = page::model(question);
    }
    object
}

fn which(call: &Call, id: &str) -> Result<Which, Problem> {
    wire::which(id, call.query("key")).ok_or_else(|| StoreError::NotFound(id.to_owned()).into())
}

/// The attempt that a request is; without a name it is one of its own.
fn attempt(call: &Call) -> Result<Attempt, Problem> {
    idempotency_key(call).map(Attempt::new)
}

fn idempotency_key(call: &Call) -> Result<String, Problem> {
    match call.headers.get(wire::IDEMPOTENCY_KEY).map(|value| std::str::from_utf8(value.as_bytes())) {
        Some(Ok(key)) if !key.is_empty() && key.len() <= 256 => Ok(key.to_owned()),
        Some(_) => Err(Problem::bad("Idempotency-Key: must be 1 to 256 bytes of text")),
        None => Ok(token::random::<16>().map_err(|error| StoreError::unavailable("cannot name an attempt", error))?),
    }
}

/// What is asked: an input, or a whole request of our own store. Who asks is the credential, whatever it says.
fn request(caller: &Caller, call: &Call) -> Result<Request, Problem> {
    let body = &call.body;
    if !body["request"].is_null() {
        let request: Request = serde_json::from_value(body["request"].clone())
            .map_err(|error| Problem::violation("request", error.to_string(), "must be a request"))?;
        let origin = caller.origin(request.origin().clone());
        return Ok(request.with_origin(origin));
    }
    if body["input"].is_null() {
        return Err(Problem::violation("input", "missing", "must be an AskUserQuestion input"));
    }
    let set = QuestionSet::parse(body["input"].clone(), &Rules::strict()).map_err(Problem::invalid)?;
    let context: Option<Context> = serde_json::from_value(body["context"].clone())
        .map_err(|error| Problem::violation("context", error.to_string(), "must be {\"kind\", \"text\"}"))?;
    let names: Option<Vec<String>> = serde_json::from_value(body["for"].clone())
        .map_err(|error| Problem::violation("for", error.to_string(), "must be an array of names"))?;
    let deadline = match &body["deadline"] {
        Value::Null => None,
        value => match value.as_f64().filter(|seconds| *seconds > 0.0).map(Duration::try_from_secs_f64) {
            Some(Ok(deadline)) => Some(deadline),
            _ => return Err(Problem::violation("deadline", value.to_string(), "must be a number of seconds above 0")),
        },
    };
    let request = Request::new(RequestKey::new("api", idempotency_key(call)?), set)
        .with_origin(caller.origin(Origin::default().with_agent(caller.name()).with_host(call.address.clone())))
        .with_context(context)
        .with_addressees(names.unwrap_or_default())
        .with_deadline(deadline);
    Ok(request)
}

/// How a person, or an asker for itself, wants to end a question.
fn resolve(question: &StoredQuestion, how: &str, body: &Value) -> Result<End, Problem> {
    let mut body = if body.is_null() { json!({}) } else { body.clone() };
    let status = match how {
        "decline" => Some("declined"),
        "discuss" => Some("discuss"),
        _ => None,
    };
    if let (Some(status), Value::Object(body)) = (status, &mut body) {
        body.insert("status".into(), status.into());
    }
    let outcome = replies::outcome(question.request.set(), &body).map_err(Problem::invalid)?;
    let mut self_reported = replies::self_reported(&body);
    if let Value::Object(said) = &body["claim"] {
        self_reported = said.clone();
    }
    Ok(End::Resolve { outcome, self_reported })
}

fn filter(call: &Call, is_log: bool) -> Result<Filter, Problem> {
    let pending = match call.query("state").unwrap_or(if is_log { "all" } else { "pending" }) {
        "pending" => Some(true),
        "ended" => Some(false),
        "all" => None,
        other => return Err(Problem::bad(format!("state: {other:?}, must be pending, ended or all"))),
    };
    let latest_first = match call.query("order") {
        None => is_log,
        Some("latest") => true,
        Some("earliest") => false,
        Some(other) => return Err(Problem::bad(format!("order: {other:?}, must be latest or earliest"))),
    };
    let limit = call.number("limit")?.unwrap_or(PAGE).min(LONGEST_PAGE);
    Ok(Filter {
        pending,
        latest_first,
        since_ms: call.number("since")?,
        from: call.query("from").map(str::to_owned),
        containing: call.query("q").map(str::to_owned),
        after: call.number("cursor")?.map(Cursor),
        limit: u32::try_from(limit).ok(),
    })
}
