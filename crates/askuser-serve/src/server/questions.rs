//! The routes of questions.

use super::call::{Admin, Answerer, Asker, Call, Participant};
use super::leases::Leases;
use super::reply::{Reply, created, json, ok, raw};
use super::{Caller, Server};
use crate::api::{
    About, Before, Begin, Code, Count, Decline, Delivered, Discuss, Done, Drafts, Empty, End as EndBody, Form,
    GivenAnswer, Gone, IDEMPOTENCY_KEY, Ids, LastFailure, Lease, List, NoteFailure, Problem, Put, PutQuestion,
    Question, Questions, Renew, SaveDraft, Sent, Shown,
};
use crate::{page, people};
use askuser::store::{
    Attachment, Attempt, Claim, CredentialScope, Draft, DraftSave, DraftVersion, End, Handle, NotifierFailure,
    Principal, Purged, QuestionRef, StoreError, StoredQuestion, Unsent,
};
use askuser::{Context, Origin, QuestionSet, Request, RequestKey, Rules, Via, Violation, Violations, reply as replies};
use askuser_sys::random;
use axum::response::IntoResponse;
use hyper::StatusCode;
use hyper::header::{ETAG, IF_NONE_MATCH};
use serde_json::json;
use sha2::Digest as _;
use std::sync::Arc;
use std::time::Duration;

/// The maximum time that a request waits for an end, in seconds.
const MAX_WAIT: u64 = 60;
/// The maximum length of the id of a draft's writer, in characters.
const MAX_WRITER: usize = 64;

impl Server {
    pub(super) async fn put(self: Arc<Server>, asker: Asker, mut call: Call<Form, PutQuestion>) -> Reply<Put> {
        let series = call.body.series.take();
        let path = if call.body.request.is_some() { "request.audience" } else { "for" };
        let request = request(&asker, &mut call)?;
        let unknown = people::unknown(&*self.credentials, &self.options.person, path, request.audience()).await?;
        if let Some(unknown) = Violations::of(unknown) {
            return Err(Problem::invalid("the question is not valid", unknown));
        }
        let put = self.store.put(&asker.principal(), &request, series.as_ref()).await?;
        if let (true, Some(on_new)) = (put.is_new, &self.options.on_new) {
            on_new(&put.question);
        }
        let question = Question::new(&put.question, call.query.whole.is_some());
        let lease = self.lease(&asker, put.attachment)?;
        created(put.is_new, Put { question, is_new: put.is_new, lease })
    }

    pub(super) async fn list(self: Arc<Server>, caller: Participant, call: Call<List>) -> Reply<Questions> {
        self.page(&caller, &call, false).await
    }

    pub(super) async fn log(self: Arc<Server>, caller: Answerer, call: Call<List>) -> Reply<Questions> {
        self.page(&caller, &call, true).await
    }

    async fn page(&self, caller: &Caller, call: &Call<List>, is_log: bool) -> Reply<Questions> {
        let List { whole, view, .. } = call.query;
        let page = self.store.list(&caller.principal(), &call.query.filter(is_log)).await?;
        let shown = |question| self.shown(caller, question, whole.is_some(), view.is_some());
        let questions = page.questions.into_iter().map(shown).collect();
        let mut page = Questions { questions, unreadable: page.unreadable, next: page.next };
        // The time of reading must not change the digest.
        let read_ms: Vec<u64> =
            page.questions.iter_mut().map(|question| std::mem::take(&mut question.read_ms)).collect();
        let digest = sha2::Sha256::digest(json!(page).to_string());
        let etag = format!("\"{}\"", random::hex(&digest[..12]));
        if call.header(IF_NONE_MATCH) == Some(&etag) {
            return raw((StatusCode::NOT_MODIFIED, [(ETAG, etag)]).into_response());
        }
        for (question, read_ms) in page.questions.iter_mut().zip(read_ms) {
            question.read_ms = read_ms;
        }
        raw(([(ETAG, etag)], json(StatusCode::OK, &page)).into_response())
    }

    /// Removes the questions of all people that ended before a time. The administrator decides this for the owner of
    /// the server.
    pub(super) async fn purge(self: Arc<Server>, _: Admin, call: Call<Before>) -> Reply<Purged> {
        let before = call.query.before;
        if u128::from(before) > super::now().as_millis() {
            return Err(Problem::violation("before", "in the future", "must be past"));
        }
        let person = Principal::person(self.options.person.clone(), Via::Web);
        ok(self.store.purge(&person, before).await?)
    }

    pub(super) async fn count(self: Arc<Server>, caller: Participant, call: Call<List>) -> Reply<Count> {
        let filter = call.query.filter(false);
        ok(Count { count: self.store.count(&caller.principal(), &filter).await? })
    }

    pub(super) async fn ids(self: Arc<Server>, caller: Participant, call: Call<Begin>) -> Reply<Ids> {
        ok(Ids { ids: self.store.resolve(&caller.principal(), &call.query.begin).await? })
    }

    /// Returns a question. If the caller waits, returns it when it has ended or the time is over.
    pub(super) async fn get(self: Arc<Server>, caller: Participant, call: Call<About>) -> Reply<Question> {
        let which = which(&call)?;
        let wait = Duration::from_secs(call.query.wait.unwrap_or_default().min(MAX_WAIT));
        let mut question = self.store.get(&caller.principal(), &which).await?;
        if !wait.is_zero() && question.ending.is_none() {
            self.keep_polled(&caller, &question, wait).await?;
            let handle = Handle::new(self.store.clone(), caller.principal());
            tokio::select! {
                ended = handle.wait(&question.id) => drop(ended?),
                () = tokio::time::sleep(wait) => {}
                () = self.end.cancelled() => {}
            }
            question = self.store.get(&caller.principal(), &which).await?;
        }
        ok(self.shown(&caller, question, call.query.whole.is_some(), call.query.view.is_some()))
    }

    /// Returns a question in the form for its reader.
    fn shown(&self, caller: &Caller, question: StoredQuestion, is_whole: bool, for_page: bool) -> Question {
        let question = self.leases.seen(question);
        let is_mine = || caller.principal().is_asked(&question.request);
        Question {
            mine: (caller.scope() == CredentialScope::Answer).then(is_mine),
            page: for_page.then(|| page::model(&question)),
            ..Question::new(&question, is_whole)
        }
    }

    /// Counts a polling asker as waiting, even between two requests.
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

    pub(super) async fn answer(self: Arc<Server>, caller: Participant, call: Call<About, EndBody>) -> Reply<Question> {
        self.resolve(&caller, &call, &call.body).await
    }

    pub(super) async fn decline(self: Arc<Server>, caller: Participant, call: Call<About, Decline>) -> Reply<Question> {
        let reason = call.body.reason.clone();
        let body = EndBody { status: Some("declined".into()), reason, ..EndBody::default() };
        self.resolve(&caller, &call, &body).await
    }

    pub(super) async fn discuss(self: Arc<Server>, caller: Participant, call: Call<About, Discuss>) -> Reply<Question> {
        let message = call.body.message.clone();
        let body = EndBody { status: Some("discuss".into()), message, ..EndBody::default() };
        self.resolve(&caller, &call, &body).await
    }

    pub(super) async fn withdraw(self: Arc<Server>, caller: Participant, call: Call<About>) -> Reply<Question> {
        self.end(&caller, &call, &which(&call)?, &End::Withdraw).await
    }

    async fn resolve<B>(&self, caller: &Caller, call: &Call<About, B>, end: &EndBody) -> Reply<Question> {
        let which = which(call)?;
        let typed = end.answers.iter().flatten().position(|answer| answer.typed.is_some());
        if let Some(at) = typed {
            let path = format!("answers[{at}].typed");
            return Err(Problem::violation(
                &path,
                "text that is not chosen",
                "must be left out, or be the customInput",
            ));
        }
        let question = self.store.get(&caller.principal(), &which).await?;
        let outcome = replies::outcome(question.request.set(), &json!(end)).map_err(StoreError::Misfit)?;
        self.end(caller, call, &which, &End::Resolve { outcome, reported: end.reported.clone() }).await
    }

    async fn end<B>(&self, caller: &Caller, call: &Call<About, B>, which: &QuestionRef, end: &End) -> Reply<Question> {
        let principal = caller.principal();
        let attempt = attempt(call)?;
        let is_late = match self.store.end(&principal, which, end, &attempt).await {
            Ok(_) => false,
            Err(StoreError::Ended(_)) => true,
            Err(error) => return Err(error.into()),
        };
        let question = self.store.get(&principal, which).await?;
        let is_whole = call.query.whole.is_some();
        if is_late { Err(Problem::ended(&question, is_whole)) } else { ok(Question::new(&question, is_whole)) }
    }

    pub(super) async fn drafts(self: Arc<Server>, caller: Answerer, call: Call<About>) -> Reply<Drafts> {
        ok(Drafts { drafts: self.store.drafts(&caller.principal(), &which(&call)?).await? })
    }

    pub(super) async fn save_draft(self: Arc<Server>, caller: Answerer, call: Call<About, SaveDraft>) -> Reply<Drafts> {
        let which = which(&call)?;
        let save = draft_save(&caller, call.body)?;
        ok(Drafts { drafts: self.store.save_draft(&caller.principal(), &which, &save).await? })
    }

    pub(super) async fn hold(self: Arc<Server>, caller: Answerer, call: Call<About>) -> Reply<Done> {
        self.store.hold(&caller.principal(), &which(&call)?).await?;
        ok(Done {})
    }

    pub(super) async fn claim(self: Arc<Server>, caller: Asker, call: Call<About>) -> Reply<Claim> {
        let question = self.store.get(&caller.principal(), &which(&call)?).await?;
        ok(self.store.claim(&caller.principal(), &question.id, &attempt(&call)?).await?)
    }

    pub(super) async fn sent(self: Arc<Server>, caller: Asker, call: Call<About>) -> Reply<Sent> {
        let question = self.store.get(&caller.principal(), &which(&call)?).await?;
        ok(Sent { earlier_ms: self.store.sent(&caller.principal(), &question.id).await? })
    }

    pub(super) async fn delivered(self: Arc<Server>, caller: Asker, call: Call<About>) -> Reply<Delivered> {
        let question = self.store.get(&caller.principal(), &which(&call)?).await?;
        self.store.delivered(&caller.principal(), &question.id).await?;
        ok(Delivered { delivered: question.ending.is_some() })
    }

    pub(super) async fn attach(self: Arc<Server>, caller: Asker, call: Call<About>) -> Reply<Lease> {
        let question = self.store.get(&caller.principal(), &which(&call)?).await?;
        let attachment = self.store.attach(&caller.principal(), &question.id).await?;
        ok(self.lease(&caller, attachment)?)
    }

    pub(super) async fn show_list(self: Arc<Server>, caller: Answerer, _: Call) -> Reply<Lease> {
        let attachment = self.store.show_list(&caller.principal()).await?;
        ok(self.lease(&caller, attachment)?)
    }

    pub(super) async fn is_list_shown(self: Arc<Server>, caller: Participant, _: Call) -> Reply<Shown> {
        ok(Shown { shown: self.store.is_list_shown(&caller.principal()).await? })
    }

    /// Grants a lease that holds an attachment.
    fn lease(&self, caller: &Caller, attachment: Attachment) -> Result<Lease, Problem> {
        let lease = random::id().map_err(|error| StoreError::unavailable("cannot name a lease", error))?;
        self.leases.grant(lease.clone(), caller.id(), attachment);
        Ok(Lease { lease, lasts_ms: self.leases.lasts_ms() })
    }

    pub(super) async fn renew(self: Arc<Server>, caller: Participant, call: Call<Empty, Renew>) -> Reply<Gone> {
        let is_gone = |name: &String| !self.leases.renew(name, caller.id(), Duration::ZERO);
        ok(Gone { gone: call.body.renew.into_iter().filter(is_gone).collect() })
    }

    pub(super) async fn end_lease(self: Arc<Server>, caller: Participant, call: Call) -> Reply<Done> {
        if let Some(attachment) = self.leases.take(&call.segment, caller.id()) {
            attachment.detach().await?;
        }
        ok(Done {})
    }

    pub(super) async fn last_failure(self: Arc<Server>, caller: Participant, _: Call) -> Reply<LastFailure> {
        ok(LastFailure { failure: self.store.last_failure(&caller.principal()).await? })
    }

    pub(super) async fn note_failure(
        self: Arc<Server>,
        caller: Participant,
        call: Call<Empty, NoteFailure>,
    ) -> Reply<Done> {
        let failure = call.body.failure.map(|given| NotifierFailure { at_ms: 0, what: given.what, why: given.why });
        self.store.note_failure(&caller.principal(), failure.as_ref()).await?;
        ok(Done {})
    }
}

/// Returns the question that a request names.
fn which<B>(call: &Call<About, B>) -> Result<QuestionRef, Problem> {
    let which = call.query.which(&call.segment);
    which.ok_or_else(|| StoreError::NotFound(call.segment.clone()).into())
}

/// Returns the attempt that the header of a request names, or else a new attempt.
fn attempt<Q, B>(call: &Call<Q, B>) -> Result<Attempt, Problem> {
    idempotency_key(call).map(Attempt::new)
}

fn idempotency_key<Q, B>(call: &Call<Q, B>) -> Result<String, Problem> {
    match call.text_header(IDEMPOTENCY_KEY) {
        Ok(Some(key)) if !key.is_empty() && key.len() <= 256 => Ok(key.to_owned()),
        Ok(None) => Ok(random::id().map_err(|error| StoreError::unavailable("cannot name an attempt", error))?),
        _ => Err(Problem::new(Code::BadRequest, "Idempotency-Key: must be 1 to 256 bytes of text")),
    }
}

/// Returns the draft to save. Without a version, the draft belongs to the credential.
fn draft_save(caller: &Caller, body: SaveDraft) -> Result<DraftSave, Problem> {
    let missing = || Problem::violation("answers", "missing", "must be an array; an empty one forgets the draft");
    let unsent = |(i, given): (usize, GivenAnswer)| {
        let wrong = |error: serde_json::Error| {
            Problem::violation(&format!("answers[{i}]"), error.to_string(), "must name its question and header")
        };
        serde_json::from_value::<Unsent>(json!(given)).map_err(wrong)
    };
    let answers = body.answers.ok_or_else(missing)?.into_iter().enumerate().map(unsent).collect::<Result<_, _>>()?;
    let own = || DraftVersion { writer: caller.name().to_owned(), edit: 0 };
    let version = body.version.map_or_else(own, DraftVersion::from);
    let length = version.writer.chars().count();
    if length > MAX_WRITER {
        let limit = format!("at most {MAX_WRITER}");
        return Err(Problem::violation("version.writer", format!("{length} characters"), limit));
    }
    let draft = Draft { answers, discuss: body.discuss, decline: body.decline };
    Ok(DraftSave { draft, version, replaces: body.replaces.into_iter().map(DraftVersion::from).collect() })
}

/// Returns the request to store, built from an input or sent whole by an `HttpStore`. Its origin is the credential.
fn request(caller: &Caller, call: &mut Call<Form, PutQuestion>) -> Result<Request, Problem> {
    let body = std::mem::take(&mut call.body);
    if let Some(request) = body.request {
        let others = [
            ("input", body.input.is_some()),
            ("context", body.context.is_some()),
            ("why", body.why.is_some()),
            ("for", body.audience.is_some()),
            ("deadline", body.deadline.is_some()),
        ];
        if let Some((other, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
            return Err(Problem::violation(other, "beside a request", "must be left out: the request says it"));
        }
        let origin = caller.origin(request.origin().clone());
        return Ok(request.with_origin(origin));
    }
    let input = body.input.ok_or_else(|| Problem::violation("input", "missing", "must be an AskUserQuestion input"))?;
    let set = QuestionSet::parse(input, &Rules::strict()).map_err(|violations| {
        let within = |wrong: Violation| Violation { path: format!("input.{}", wrong.path), ..wrong };
        Problem::invalid("the question is not valid", violations.map(within))
    })?;
    let origin = Origin::default().with_agent(caller.name()).with_host(call.address.clone());
    Ok(Request::new(RequestKey::new("api", idempotency_key(call)?), set)
        .with_origin(caller.origin(origin))
        .with_context(body.context.map(Context::from))
        .with_why(body.why)
        .with_audience(body.audience.unwrap_or_default())
        .with_deadline(body.deadline.map(|seconds| seconds.0)))
}
