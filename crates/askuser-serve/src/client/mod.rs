//! A store at an address: every call is a request to a server, which decides by the token who acts.
//!
//! One thread sends what callers hand to it, one request after the other, so that calls take effect in the order in which they were
//! made. Every request can be repeated: with the same key it is the same question, with the same attempt the same
//! ending. A call waits for a server that is away until the limit or the stop of [`Patience`]. It reports this to the caller once.

mod connection;
mod leases;
mod stream;

pub use connection::Patience;

use crate::wire;
use askuser::Request;
use askuser::store::{
    Attachment, Attempt, Call, Claim, DraftSave, End, Ending, Events, Filter, NotifierFailure, Operation, Page,
    Principal, Purged, Put, QuestionId, QuestionRef, SavedDraft, Series, Store, StoreError, StoreEvent, StoredQuestion,
    Watch, Watched,
};
use connection::{Connection, Sent};
use futures_channel::oneshot;
use hyper::Method;
use leases::Leased;
use reqwest::Url;
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;

/// How many questions, or events, are asked for at once.
const STRETCH: u32 = 500;

/// Why there is no store at an address.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Not the address of a server.
    #[error("{address}: the scheme {scheme} is not known, must be https, or http on this machine")]
    Scheme {
        /// As it was given.
        address: String,
        /// What stands before `://`.
        scheme: String,
    },
    /// Not an address that a token may be sent to.
    #[error("{0}: must be https://…, or http://127.0.0.1:… on this machine: a token goes there")]
    Address(String),
    /// The HTTP client cannot be made.
    #[error("cannot connect: {0}")]
    Client(String),
}

/// The store behind a server.
#[derive(Clone)]
pub struct HttpStore {
    jobs: mpsc::UnboundedSender<Job>,
    connection: Arc<Connection>,
}

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

impl HttpStore {
    /// The store behind the server at this address, used with this token. Nothing is sent yet.
    ///
    /// # Errors
    /// Where a token must not be sent there.
    pub fn open(address: &str, token: &str, patience: Patience) -> Result<HttpStore, OpenError> {
        let address = address.trim_end_matches('/');
        HttpStore::check(address)?;
        let failed = |error: &dyn std::fmt::Display| OpenError::Client(error.to_string());
        let connection = Connection::new(address, token, patience).map_err(|error| failed(&error))?;
        let (jobs, mut handed) = mpsc::unbounded_channel::<Job>();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(&error))?;
        let work = move || {
            runtime.block_on(async {
                while let Some(job) = handed.recv().await {
                    job.await;
                }
            });
        };
        std::thread::Builder::new().name("askuser-http".into()).spawn(work).map_err(|error| failed(&error))?;
        Ok(HttpStore { jobs, connection: Arc::new(connection) })
    }

    /// The same; what a person does at a terminal of this process is done with the token of their device, so that it is theirs and
    /// not the asker's word.
    #[must_use]
    pub fn with_device(self, token: &str) -> HttpStore {
        self.connection.set_device(token);
        self
    }

    /// Whether a token may be sent there.
    ///
    /// # Errors
    /// Where it may not.
    pub fn check(address: &str) -> Result<(), OpenError> {
        match address.split_once("://") {
            Some((scheme, _)) if !["http", "https"].contains(&scheme) => {
                Err(OpenError::Scheme { address: address.to_owned(), scheme: scheme.to_owned() })
            }
            _ if is_safe(address) => Ok(()),
            _ => Err(OpenError::Address(address.to_owned())),
        }
    }

    /// The same store used with another token, whose calls and those of this one keep their order.
    ///
    /// # Errors
    /// Where the HTTP client cannot be made.
    pub fn with_token(&self, token: &str) -> Result<HttpStore, OpenError> {
        let connection = self.connection.with_token(token).map_err(|error| OpenError::Client(error.to_string()))?;
        Ok(HttpStore { jobs: self.jobs.clone(), connection: Arc::new(connection) })
    }

    /// Has something done: it is on its way when this returns.
    fn call<T: Send + 'static, F>(&self, work: impl FnOnce(Arc<Connection>) -> F) -> Call<T>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let (reply, replied) = oneshot::channel();
        let (work, connection) = (work(self.connection.clone()), self.connection.clone());
        let sending = connection.clone();
        let _ = self.jobs.send(Box::pin(async move {
            let done = sending.patience.stop.run_until_cancelled(work).await;
            let _ = reply.send(done.unwrap_or_else(|| Err(sending.stopped())));
        }));
        Box::pin(async move { replied.await.unwrap_or_else(|_| Err(connection.lost())) })
    }

    /// A request whose reply is of interest only where it fails.
    fn order(&self, sent: Sent) -> Call<()> {
        self.call(move |connection| async move { connection.send(&sent).await.map(drop) })
    }

    fn drafts_in(&self, sent: Sent) -> Call<Vec<SavedDraft>> {
        self.call(move |connection| async move {
            let drafts = wire::read_drafts(connection.send(&sent).await?);
            drafts.map_err(|error| connection.unreadable(error.to_string()))
        })
    }

    /// What an administrator reads there.
    pub(crate) fn get_json(&self, path: &str) -> Call<Value> {
        let sent = Sent::new(Method::GET, path);
        self.call(move |connection| async move { connection.send(&sent).await })
    }

    /// The same; `None` where it is not there.
    pub(crate) fn find_json(&self, path: &str) -> Call<Option<Value>> {
        self.unless_missing(Sent::new(Method::GET, path))
    }

    pub(crate) fn post_json(&self, path: &str, body: Value) -> Call<Value> {
        let sent = Sent::new(Method::POST, path).body(body);
        self.call(move |connection| async move { connection.send(&sent).await })
    }

    /// Whether that was there.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<bool, StoreError> {
        Ok(self.unless_missing(Sent::new(Method::POST, path).body(body)).await?.is_some())
    }

    /// What is said of what is gone; `None` where it was not there.
    pub(crate) fn delete_json(&self, path: &str) -> Call<Option<Value>> {
        self.unless_missing(Sent::new(Method::DELETE, path))
    }

    /// Whose answers are given with this token; `None` where it is for something else.
    pub fn person(&self) -> Call<Option<String>> {
        let sent = Sent::new(Method::GET, "/me");
        self.call(move |connection| async move {
            let me = connection.send(&sent).await?;
            Ok(me["person"].as_str().filter(|_| me["scope"] == "answer").map(str::to_owned))
        })
    }

    fn unless_missing(&self, sent: Sent) -> Call<Option<Value>> {
        self.call(move |connection| async move {
            match connection.send_raw(&sent).await? {
                Ok(body) => Ok(Some(body)),
                Err((404, _)) => Ok(None),
                Err((status, body)) => Err(connection.error(status, &body)),
            }
        })
    }

    /// Says that a process is there until it is dropped.
    fn attachment(&self, connection: &Arc<Connection>, leased: Leased, lease: &Value) -> Attachment {
        let number = connection.leases.add(connection, leased, lease);
        let store = self.clone();
        Attachment::new(move |_| {
            store.call(move |connection| async move {
                match connection.leases.remove(number) {
                    Some(sent) => connection.send(&sent).await.map(drop),
                    None => Ok(()),
                }
            })
        })
    }
}

/// Whether two addresses have the same origin: scheme, host and port.
pub fn is_same_server(one: &str, other: &str) -> bool {
    let origin = |address: &str| Url::parse(address).map(|url| url.origin());
    matches!((origin(one), origin(other)), (Ok(one), Ok(other)) if one == other)
}

/// A token goes there: encrypted, or not off this machine.
fn is_safe(address: &str) -> bool {
    match address.split_once("://") {
        Some(("https", rest)) => !rest.is_empty(),
        Some(("http", rest)) => {
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let ip = authority.parse::<std::net::SocketAddr>().map(|address| address.ip());
            let ip = ip.or_else(|_| authority.parse::<std::net::IpAddr>());
            ip.is_ok_and(|ip| ip.is_loopback())
        }
        _ => false,
    }
}

/// A request about one question.
fn about(by: &Principal, method: Method, which: &QuestionRef, route: &str) -> Sent {
    let (id, key) = wire::path(which);
    let sent = Sent::new(method, format!("/questions/{id}{route}")).by(by).with("whole", "1");
    match key {
        Some((name, key)) => sent.with(name, key),
        None => sent,
    }
}

fn read<T: serde::de::DeserializeOwned>(connection: &Connection, value: Value) -> Result<T, StoreError> {
    serde_json::from_value(value).map_err(|error| connection.unreadable(error.to_string()))
}

fn read_question(connection: &Connection, value: &Value) -> Result<StoredQuestion, StoreError> {
    wire::read_question(value).map_err(|error| connection.unreadable(error))
}

impl Store for HttpStore {
    fn put(&self, by: &Principal, request: &Request, series: Option<&Series>) -> Call<Put> {
        if let Err(error) = by.check(Operation::Ask(request)) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let series = series.map(|series| json!({"name": series.name, "conversation": series.conversation}));
        let body = json!({"request": request, "series": series});
        let sent = Sent::new(Method::POST, "/questions").by(by).with("whole", "1").body(body);
        let store = self.clone();
        self.call(move |connection| async move {
            let body = match connection.send(&sent).await {
                // It is a question that does not fit here, and no answer.
                Err(StoreError::Misfit(violations)) => {
                    let what = format!("{} does not take the question", connection.address());
                    return Err(StoreError::damaged(what, violations));
                }
                sent => sent?,
            };
            let question = read_question(&connection, &body)?;
            let attachment = store.attachment(&connection, Leased::Question(question.id.clone()), &body);
            Ok(Put { is_new: body["is_new"] == json!(true), question, attachment })
        })
    }

    fn get(&self, by: &Principal, which: &QuestionRef) -> Call<StoredQuestion> {
        let sent = about(by, Method::GET, which, "");
        self.call(move |connection| async move { read_question(&connection, &connection.send(&sent).await?) })
    }

    fn resolve(&self, by: &Principal, abbreviation: &str) -> Call<Vec<QuestionId>> {
        let sent = Sent::new(Method::GET, "/ids").by(by).with("begin", abbreviation);
        self.call(move |connection| async move { read(&connection, connection.send(&sent).await?["ids"].take()) })
    }

    fn end(&self, by: &Principal, which: &QuestionRef, end: &End, attempt: &Attempt) -> Call<Ending> {
        let is_word_of_an_agent = by.via().is_none() && matches!(end, End::Resolve { .. });
        if is_word_of_an_agent && by.settles_as().is_none() {
            return refused("an agent cannot answer");
        }
        let (route, body) = match end {
            End::Withdraw => ("/withdraw", json!({})),
            End::Resolve { outcome, reported } => {
                let mut body = json!(outcome);
                body["reported"] = json!(reported);
                ("/answer", body)
            }
        };
        let sent = about(by, Method::POST, which, route).attempt(attempt).body(body);
        // Its key is one of the asker's token.
        let sent = if matches!(end, End::Withdraw) { sent.by_asker() } else { sent };
        self.call(move |connection| async move {
            let question = match connection.send_raw(&sent).await? {
                Ok(question) => question,
                // How it ended before.
                Err((409 | 410, mut body)) if body["error"]["question"].is_object() => {
                    let question = read_question(&connection, &body["error"]["question"].take())?;
                    let ending = question.ending.ok_or_else(|| connection.unreadable("it has not ended"))?;
                    return Err(StoreError::ended(ending));
                }
                Err((status, body)) => return Err(connection.error(status, &body)),
            };
            let ending = read_question(&connection, &question)?.ending;
            ending.ok_or_else(|| connection.unreadable("it has not ended"))
        })
    }

    fn claim(&self, by: &Principal, id: &QuestionId, attempt: &Attempt) -> Call<Claim> {
        let sent = about(by, Method::POST, &id.into(), "/claim").attempt(attempt).body(json!({}));
        let id = id.clone();
        self.call(move |connection| async move {
            let body = connection.send(&sent).await?;
            match (body["claim"].as_str(), body["at_ms"].as_u64()) {
                (Some("won"), _) => {
                    connection.leases.forget(&id);
                    Ok(Claim::Won)
                }
                (Some("used"), Some(at)) => Ok(Claim::Used(at)),
                (Some("lapsed"), _) => Ok(Claim::Lapsed),
                _ => Err(connection.unreadable("no claim")),
            }
        })
    }

    fn attach(&self, by: &Principal, id: &QuestionId) -> Call<Attachment> {
        let sent = about(by, Method::POST, &id.into(), "/attach").body(json!({}));
        let (store, leased) = (self.clone(), Leased::Question(id.clone()));
        self.call(move |connection| async move {
            let lease = connection.send(&sent).await?;
            Ok(store.attachment(&connection, leased, &lease))
        })
    }

    fn delivered(&self, by: &Principal, id: &QuestionId) -> Call<()> {
        let sent = about(by, Method::POST, &id.into(), "/delivered").body(json!({}));
        let id = id.clone();
        self.call(move |connection| async move {
            if connection.send(&sent).await?["delivered"] == json!(true) {
                connection.leases.forget(&id);
            }
            Ok(())
        })
    }

    fn hold(&self, by: &Principal, which: &QuestionRef) -> Call<()> {
        self.order(about(by, Method::POST, which, "/hold").body(json!({})))
    }

    fn save_draft(&self, by: &Principal, which: &QuestionRef, save: &DraftSave) -> Call<Vec<SavedDraft>> {
        self.drafts_in(about(by, Method::PUT, which, "/draft").body(json!(save)))
    }

    fn drafts(&self, by: &Principal, which: &QuestionRef) -> Call<Vec<SavedDraft>> {
        self.drafts_in(about(by, Method::GET, which, "/draft"))
    }

    fn list(&self, by: &Principal, filter: &Filter) -> Call<Page> {
        let (by, mut filter) = (by.clone(), filter.clone());
        self.call(move |connection| async move {
            let (mut page, mut left) = (Page::default(), filter.limit.unwrap_or(u32::MAX));
            loop {
                filter.limit = Some(left.min(STRETCH));
                let list = Sent::new(Method::GET, "/questions").by(&by).with("whole", "1");
                let list =
                    wire::parameters(&filter).into_iter().fold(list, |list, (name, value)| list.with(name, value));
                let mut body = connection.send(&list).await?;
                if !body["unreadable"].is_null() {
                    page.unreadable.extend(read::<Vec<QuestionId>>(&connection, body["unreadable"].take())?);
                }
                let questions = body["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
                left -= u32::try_from(questions.len()).unwrap_or(left).min(left);
                for question in questions {
                    page.questions.push(read_question(&connection, question)?);
                }
                page.next = wire::next_page(&body).map_err(|error| connection.unreadable(error))?;
                if page.next.is_none() || left == 0 {
                    return Ok(page);
                }
                filter.after = page.next;
            }
        })
    }

    fn count(&self, by: &Principal, filter: &Filter) -> Call<u64> {
        let count = Sent::new(Method::GET, "/count").by(by);
        let count = wire::parameters(filter).into_iter().fold(count, |sent, (name, value)| sent.with(name, value));
        self.call(move |connection| async move { read(&connection, connection.send(&count).await?["count"].take()) })
    }

    fn events(&self, by: &Principal, after: u64, limit: u32) -> Call<Events> {
        if let Err(error) = by.check(Operation::Follow) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let by = by.clone();
        self.call(move |connection| async move {
            let (mut all, mut after, mut is_first) = (Events::default(), after, true);
            loop {
                let left = limit - u32::try_from(all.events.len()).unwrap_or(limit).min(limit);
                let asked = left.min(STRETCH);
                let list = Sent::new(Method::GET, "/events").by(&by).with("after", after).with("limit", asked);
                let mut body = connection.send(&list).await?;
                let events: Vec<StoreEvent> = read(&connection, body["events"].take())?;
                let next: u64 = read(&connection, body["next"].take())?;
                if body["gap"] == json!(true) && !is_first {
                    // For another stretch, which begins with it.
                    return Ok(all);
                }
                all.events.extend(events);
                all.last = read(&connection, body["last"].take())?;
                if std::mem::take(&mut is_first) {
                    all.gap = body["gap"] == json!(true);
                }
                if next == after || all.events.len() >= limit as usize {
                    return Ok(all);
                }
                after = next;
            }
        })
    }

    fn watch(&self, by: &Principal, what: &Watched) -> Call<Watch> {
        let (by, what) = (by.clone(), what.clone());
        if let (Watched::All, Err(error)) = (&what, by.check(Operation::Follow)) {
            return Box::pin(std::future::ready(Err(error)));
        }
        self.call(move |connection| async move {
            if let Watched::Question(id) = &what {
                connection.send(&about(&by, Method::GET, &id.into(), "")).await?;
            }
            stream::watch(&connection, &what).await
        })
    }

    fn show_list(&self, by: &Principal) -> Call<Attachment> {
        if let Err(error) = by.check(Operation::Follow) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let sent = Leased::List.request().by(by);
        let store = self.clone();
        self.call(move |connection| async move {
            let lease = connection.send(&sent).await?;
            Ok(store.attachment(&connection, Leased::List, &lease))
        })
    }

    fn is_list_shown(&self, by: &Principal) -> Call<bool> {
        let sent = Sent::new(Method::GET, "/lists").by(by);
        self.call(move |connection| async move { read(&connection, connection.send(&sent).await?["shown"].take()) })
    }

    fn note_failure(&self, by: &Principal, failure: Option<&NotifierFailure>) -> Call<()> {
        let failure = failure.map(|failure| json!({"what": failure.what, "why": failure.why}));
        self.order(Sent::new(Method::PUT, "/notifier").by(by).body(json!({ "failure": failure })))
    }

    fn last_failure(&self, by: &Principal) -> Call<Option<NotifierFailure>> {
        let sent = Sent::new(Method::GET, "/notifier").by(by);
        self.call(move |connection| async move {
            let failure = &connection.send(&sent).await?["failure"];
            let text = |name: &str| failure[name].as_str().unwrap_or_default().to_owned();
            let at_ms = failure["at_ms"].as_u64();
            Ok(at_ms.map(|at_ms| NotifierFailure { at_ms, what: text("what"), why: text("why") }))
        })
    }

    fn purge(&self, by: &Principal, before_ms: u64) -> Call<Purged> {
        if let Err(error) = by.check(Operation::Purge) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let sent = Sent::new(Method::DELETE, "/log").by(by).with("before", before_ms);
        self.call(move |connection| async move {
            let mut body = connection.send(&sent).await?;
            let count = body["purged"].take();
            let remains = body["remains"].take();
            Ok(Purged { count: read(&connection, count)?, remains: read(&connection, remains)? })
        })
    }

    fn flush(&self) -> Call<()> {
        self.call(|_| async { Ok(()) })
    }
}

fn refused<T: Send + 'static>(why: &str) -> Call<T> {
    Box::pin(std::future::ready(Err(StoreError::Forbidden(why.to_owned()))))
}

impl std::fmt::Debug for HttpStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpStore").field("address", &self.connection.address()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_its_scheme_host_and_port() {
        let ours = "https://ask.example.org/inbox";
        for same in ["https://ask.example.org", "https://ASK.example.org:443/", "https://ask.example.org/other"] {
            assert!(is_same_server(ours, same) && is_same_server(same, ours), "{same}");
        }
        for other in [
            "http://ask.example.org",
            "https://ask.example.org:444",
            "https://ask.example.org.evil.example",
            "https://ask.example.org@evil.example",
            "https://example.org",
            "ask.example.org",
            "",
        ] {
            assert!(!is_same_server(ours, other) && !is_same_server(other, ours), "{other}");
        }
        assert!(!is_same_server("auto", "auto") && !is_same_server("data:x", "data:x"), "no servers");
    }

    #[test]
    fn a_token_is_sent_encrypted_or_not_off_this_machine() {
        for address in ["https://ask.example.org", "http://127.0.0.1:7420", "http://[::1]:7420", "http://127.0.0.1"] {
            assert!(is_safe(address), "{address}");
        }
        for address in [
            "http://ask.example.org",
            "http://192.168.1.5:7420",
            "http://localhost:7420",
            "http://127.0.0.1.evil.example",
            "http://127.0.0.1@evil.example",
            "ftp://127.0.0.1",
            "https://",
        ] {
            assert!(!is_safe(address), "{address}");
        }
    }
}
