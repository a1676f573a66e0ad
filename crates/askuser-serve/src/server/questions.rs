//! The routes of questions.

use super::envelope::{Envelope, kind};
use super::leases::Leases;
use super::reply::{self, Problem};
use super::{Call, Caller, Reply, Server};
use crate::{page, people, token, wire};
use askuser::store::{
    Attachment, Attempt, Claim, CredentialScope, Cursor, Draft, DraftSave, DraftVersion, End, Filter, NotifierFailure,
    Principal, QuestionRef, StoreError, StoredQuestion, Unsent,
};
use askuser::{Context, Origin, QuestionSet, Request, RequestKey, Rules, Via, Violation, reply as replies};
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
/// The longest name of the writer of a draft, in characters.
const MAX_WRITER: usize = 64;

impl Server {
    pub(super) async fn put(&self, caller: &Caller, call: &Call) -> Result<Reply, Problem> {
        let request = request(caller, call)?;
        let path = if call.body["request"].is_null() { "for" } else { "request.audience" };
        let unknown = people::unknown(&*self.credentials, &self.options.person, path, request.audience()).await?;
        if !unknown.is_empty() {
            return Err(Problem::invalid("the question is not valid", &unknown));
        }
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
        let mut questions: Vec<Value> =
            page.questions.into_iter().map(|question| self.shown(caller, call, question)).collect();
        // When it was read is not what it says.
        let read_ms: Vec<Value> = questions.iter_mut().map(|question| question["read_ms"].take()).collect();
        let digest = sha2::Sha256::digest(json!([questions, page.unreadable, page.next]).to_string());
        let etag = format!("\"{}\"", digest[..12].iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        let is_known = call.header(IF_NONE_MATCH) == Some(&etag);
        let mut reply = match is_known {
            true => reply::text(StatusCode::NOT_MODIFIED, "application/json", ""),
            false => {
                for (question, read_ms) in questions.iter_mut().zip(read_ms) {
                    question["read_ms"] = read_ms;
                }
                let mut body = json!({ "questions": questions });
                if !page.unreadable.is_empty() {
                    body["unreadable"] = json!(page.unreadable);
                }
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

    /// What ended long ago goes, whoever it was for: an administrator decides, for the person whose server it is.
    pub(super) async fn purge(&self, call: &Call) -> Result<Reply, Problem> {
        let before = call.number("before")?;
        let before =
            before.ok_or_else(|| Problem::violation("before", "missing", "must be milliseconds since 1970"))?;
        if u128::from(before) > super::now().as_millis() {
            return Err(Problem::violation("before", "in the future", "must be past"));
        }
        let person = Principal::person(self.options.person.clone(), Via::Web);
        let purged = self.store.purge(&person, before).await?;
        Ok(reply::ok(&json!({"purged": purged.count, "remains": purged.remains})))
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
                () = self.hub.clone().revoked(caller.clone()) => {}
            }
            question = self.store.get(&caller.principal(), &which).await?;
        }
        Ok(reply::ok(&self.shown(caller, call, question)))
    }

    /// A question as the caller wants it: `?whole=1` for our own store, `?view=page` for the page.
    fn shown(&self, caller: &Caller, call: &Call, question: StoredQuestion) -> Value {
        let question = self.leases.seen(question);
        let mut object = wire::question(&question, call.is_whole());
        if caller.scope() == CredentialScope::Answer {
            object["mine"] = caller.principal().is_asked(&question.request).into();
        }
        if call.query("view") == Some("page") {
            object["page"] = page::model(&question);
        }
        object
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
        let drafts = self.store.drafts(&caller.principal(), &which(call, id)?).await?;
        let mut body = drafts.first().map_or_else(|| json!({"answers": []}), |newest| json!(newest));
        body["others"] = json!(drafts.get(1..).unwrap_or_default());
        Ok(reply::ok(&body))
    }

    pub(super) async fn save_draft(&self, caller: &Caller, call: &Call, id: &str) -> Result<Reply, Problem> {
        let save = draft_save(caller, &call.body)?;
        let beside = self.store.save_draft(&caller.principal(), &which(call, id)?, &save).await?;
        Ok(reply::ok(&json!({ "others": beside })))
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
fn which(call: &Call, id: &str) -> Result<QuestionRef, Problem> {
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
    let mut envelope = Envelope::new(body, &["input", "context", "why", "for", "deadline", "request", "series"]);
    let what = "the question is not valid";
    if !body["request"].is_null() {
        for other in ["input", "context", "why", "for", "deadline"].into_iter().filter(|key| !body[*key].is_null()) {
            envelope.add(other, "beside a request", "must be left out: the request says it");
        }
        let request: Option<Request> = envelope.read("request", "must be a request");
        let request = envelope.finish(what, request)?;
        let origin = caller.origin(request.origin().clone());
        return Ok(request.with_origin(origin));
    }
    if body["input"].is_null() {
        envelope.add("input", "missing", "must be an AskUserQuestion input");
    }
    let set = QuestionSet::parse(body["input"].clone(), &Rules::strict());
    if let (Err(violations), false) = (&set, body["input"].is_null()) {
        envelope.extend(
            violations.iter().cloned().map(|wrong| Violation { path: format!("input.{}", wrong.path), ..wrong }),
        );
    }
    envelope.refuse_others("context", &body["context"], &["kind", "text"]);
    let context: Option<Context> = envelope.read("context", "must be {\"kind\", \"text\"}");
    let why: Option<String> = envelope.read("why", "must be a string");
    let names: Option<Vec<String>> = envelope.read("for", "must be an array of names");
    let deadline = body["deadline"].as_f64().filter(|seconds| *seconds > 0.0).map(Duration::try_from_secs_f64);
    let deadline = deadline.and_then(Result::ok);
    if deadline.is_none() && !body["deadline"].is_null() {
        envelope.add("deadline", body["deadline"].to_string(), "must be a number of seconds above 0");
    }
    let set = envelope.finish(what, set.ok())?;
    let request = Request::new(RequestKey::new("api", idempotency_key(call)?), set)
        .with_origin(caller.origin(Origin::default().with_agent(caller.name()).with_host(call.address.clone())))
        .with_context(context)
        .with_why(why)
        .with_audience(names.unwrap_or_default())
        .with_deadline(deadline);
    Ok(request)
}

/// Reads a draft to save. Without a version it is the draft of this credential.
fn draft_save(caller: &Caller, body: &Value) -> Result<DraftSave, Problem> {
    let mut envelope = Envelope::new(body, &["answers", "discuss", "decline", "version", "replaces"]);
    let (discuss, decline) =
        (envelope.read("discuss", "must be a string"), envelope.read("decline", "must be a string"));
    let version: Option<DraftVersion> = envelope.read("version", "must be {\"writer\", \"edit\"}");
    let version = version.unwrap_or_else(|| DraftVersion { writer: caller.name().to_owned(), edit: 0 });
    let length = version.writer.chars().count();
    if length > MAX_WRITER {
        envelope.add("version.writer", format!("{length} characters"), format!("at most {MAX_WRITER}"));
    }
    let replaces: Option<Vec<DraftVersion>> = envelope.read("replaces", "must be an array of versions");
    let mut answers = Vec::new();
    match &body["answers"] {
        Value::Array(given) => {
            for (i, answer) in given.iter().enumerate() {
                match serde_json::from_value::<Unsent>(answer.clone()) {
                    Ok(answer) => answers.push(answer),
                    Err(error) => envelope.add(format!("answers[{i}]"), error.to_string(), "must be what was typed"),
                }
            }
        }
        other => envelope.add("answers", kind(other), "must be an array; an empty one forgets the draft"),
    }
    let draft = Draft { answers, discuss, decline };
    envelope
        .finish("the draft is not valid", Some(DraftSave { draft, version, replaces: replaces.unwrap_or_default() }))
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
    let outcome = replies::outcome(question.request.set(), &body).map_err(StoreError::Misfit)?;
    let stated = if body["reported"].is_null() { &body } else { &body["reported"] };
    let reported = replies::reported(stated).map_err(StoreError::Misfit)?;
    Ok(End::Resolve { outcome, reported })
}

fn cursor(text: &str) -> Result<Cursor, Problem> {
    Cursor::parse(text)
        .ok_or_else(|| Problem::bad(format!("cursor: {text:?}, must be the cursor of a question or a list")))
}

fn filter(call: &Call, is_log: bool) -> Result<Filter, Problem> {
    let pending = match call.query("state").unwrap_or(if is_log { "all" } else { "pending" }) {
        "pending" => Some(true),
        "ended" => Some(false),
        "all" => None,
        other => return Err(Problem::bad(format!("state: {other:?}, must be pending, ended or all"))),
    };
    let latest_first = match call.query("order") {
        None => is_log || pending == Some(false),
        Some("latest") => true,
        Some("earliest") => false,
        Some(other) => return Err(Problem::bad(format!("order: {other:?}, must be latest or earliest"))),
    };
    let limit = call.number("limit")?.unwrap_or(PAGE).min(LONGEST_PAGE);
    Ok(Filter {
        pending,
        latest_first,
        mine: call.query("mine") == Some("1"),
        since_ms: call.number("since")?,
        from: call.query("from").map(str::to_owned),
        containing: call.query("q").map(str::to_owned),
        after: call.query("cursor").map(cursor).transpose()?,
        limit: u32::try_from(limit).ok(),
    })
}
