//! A store at an address. Every call is a request to a server, which determines the principal by the token.
//!
//! One thread runs the calls one after the other, in the order in which they were made. Every request can be repeated:
//! the same key names the same question, and the same attempt gets the same ending. A call waits for a server that is
//! away until the limit or the stop of [`Patience`]. This wait is reported to the caller once.

mod connection;
mod leases;
mod stream;

pub use connection::Patience;

use crate::api::{
    About, AddPerson, After, Approve, Before, Begin, Code, Count, Delivered, Done, Drafts, Empty,
    Events as EventsReply, Form, GivenFailure, Ids, LastFailure, Lease, List, MakeToken, Me, NoteFailure, One, People,
    PersonAdded, Problem, Put as PutReply, PutQuestion, Question, Questions, Resolve, Sent, Shown, ShownPairing,
    TokenDigest, TokenMade, Tokens,
};
use askuser::Request;
use askuser::store::{
    Attachment, Attempt, Call, Claim, Credential, CredentialScope, Credentials, DraftSave, End, Ending, Events, Filter,
    NewCredential, NotifierFailure, Operation, Page, Principal, Purged, Put, QuestionId, QuestionRef, RegisterCommand,
    RegisterReply, SavedDraft, Series, Store, StoreError, StoredQuestion, Watch, Watched,
};
use connection::{ApiRequest, Connection};
use futures_channel::oneshot;
use hyper::Method;
use leases::Leased;
use reqwest::Url;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The page size for questions and events.
const STRETCH: u32 = 500;

/// The reason why an address cannot be opened as a store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The scheme of the address is unknown.
    #[error("{address}: the scheme {scheme} is not known, must be https, or http on this machine")]
    Scheme {
        /// The address as it was given.
        address: String,
        /// The scheme before `://`.
        scheme: String,
    },
    /// A token must not be sent to the address.
    #[error("{0}: must be https://…, or http://127.0.0.1:… on this machine: a token goes there")]
    Address(String),
    /// The HTTP client cannot be created.
    #[error("cannot connect: {0}")]
    Client(String),
}

/// A store that is behind an HTTP server.
#[derive(Clone)]
pub struct HttpStore {
    jobs: mpsc::UnboundedSender<Job>,
    connection: Arc<Connection>,
}

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

impl HttpStore {
    /// Opens the store behind the server at this address with this token. Opening sends no request.
    ///
    /// # Errors
    /// If the token must not be sent to the address, or if the client cannot be created.
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

    /// Sets the token of a person's device. The person's actions at a terminal of this process then count as theirs,
    /// and not as the asker's reports.
    #[must_use]
    pub fn with_device(self, token: &str) -> HttpStore {
        self.connection.set_device(token);
        self
    }

    /// Checks that a token may be sent to the address.
    ///
    /// # Errors
    /// If the token must not be sent to the address.
    pub fn check(address: &str) -> Result<(), OpenError> {
        match address.split_once("://") {
            Some((scheme, _)) if !["http", "https"].contains(&scheme) => {
                Err(OpenError::Scheme { address: address.to_owned(), scheme: scheme.to_owned() })
            }
            _ if is_safe(address) => Ok(()),
            _ => Err(OpenError::Address(address.to_owned())),
        }
    }

    /// Opens the same store with another token. The calls of both stores keep their order.
    ///
    /// # Errors
    /// If the HTTP client cannot be created.
    pub fn with_token(&self, token: &str) -> Result<HttpStore, OpenError> {
        let connection = self.connection.with_token(token).map_err(|error| OpenError::Client(error.to_string()))?;
        Ok(HttpStore { jobs: self.jobs.clone(), connection: Arc::new(connection) })
    }

    /// Runs a call on the sending thread. The call is under way when this returns.
    fn call<T: Send + 'static, F>(&self, work: impl FnOnce(Arc<Connection>) -> F) -> Call<T>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let (reply, replied) = oneshot::channel();
        let work = work(self.connection.clone());
        let connection = self.connection.clone();
        let sending = connection.clone();
        let _ = self.jobs.send(Box::pin(async move {
            let done = sending.patience.stop.run_until_cancelled(work).await;
            let _ = reply.send(done.unwrap_or_else(|| Err(sending.stopped())));
        }));
        Box::pin(async move { replied.await.unwrap_or_else(|_| Err(connection.lost())) })
    }

    /// Sends a request and reads its reply.
    fn ask<T: DeserializeOwned, R: Send + 'static>(
        &self,
        sent: ApiRequest,
        read: impl FnOnce(T) -> R + Send + 'static,
    ) -> Call<R> {
        self.call(move |connection| async move { connection.send(&sent).await.map(read) })
    }

    /// Sends a request about the register. `read` gets `None` if the object of the request does not exist.
    fn find<T: DeserializeOwned + Send + 'static>(
        &self,
        sent: ApiRequest,
        read: impl FnOnce(Option<T>) -> Option<RegisterReply> + Send + 'static,
    ) -> Call<RegisterReply> {
        self.call(move |connection| async move {
            let missing = || connection.unreadable("there is no such route");
            match connection.try_send(&sent).await? {
                Ok(found) => read(Some(found)).ok_or_else(missing),
                Err(Problem { code: Code::NotFound, .. }) => read(None).ok_or_else(missing),
                Err(problem) => Err(connection.error(problem)),
            }
        })
    }

    /// Returns the person in whose name this token answers; `None` if the token does not answer.
    pub fn person(&self) -> Call<Option<String>> {
        let sent = ApiRequest::new(Method::GET, "/me");
        self.ask(sent, |Me { scope, person, .. }| (scope == CredentialScope::Answer).then_some(person))
    }

    /// Requests a lease.
    fn lease(&self, by: &Principal, leased: Leased) -> Call<Attachment> {
        let store = self.clone();
        let sent = leased.request().by(by);
        self.call(move |connection| async move {
            let lease = connection.send(&sent).await?;
            Ok(store.attachment(&connection, leased, lease))
        })
    }

    /// Returns an attachment that ends its lease when dropped.
    fn attachment(&self, connection: &Arc<Connection>, leased: Leased, lease: Lease) -> Attachment {
        let number = connection.leases.add(connection, leased, lease);
        let store = self.clone();
        Attachment::new(move |_| {
            store.call(move |connection| async move {
                match connection.leases.remove(number) {
                    Some(sent) => connection.send::<Done>(&sent).await.map(drop),
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

/// Whether a token may be sent to the address, because the connection is encrypted or stays on this machine.
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

/// Returns a request about one question.
fn about(by: &Principal, method: Method, which: &QuestionRef, route: &str) -> ApiRequest {
    about_form(by, method, which, route, false)
}

/// Returns a request about one question that asks for the whole record.
fn about_whole(by: &Principal, method: Method, which: &QuestionRef, route: &str) -> ApiRequest {
    about_form(by, method, which, route, true)
}

fn about_form(by: &Principal, method: Method, which: &QuestionRef, route: &str, is_whole: bool) -> ApiRequest {
    let (id, about) = About::new(which, is_whole);
    ApiRequest::new(method, format!("/questions/{id}{route}")).by(by).with(&about)
}

fn stored(connection: &Connection, question: Question) -> Result<StoredQuestion, StoreError> {
    question.stored().map_err(|error| connection.unreadable(error))
}

impl Store for HttpStore {
    fn put(&self, by: &Principal, request: &Request, series: Option<&Series>) -> Call<Put> {
        if let Err(error) = by.check(Operation::Ask(request)) {
            return failed(error);
        }
        let body = PutQuestion { request: Some(request.clone()), series: series.cloned(), ..PutQuestion::default() };
        let sent = ApiRequest::new(Method::POST, "/questions").by(by).with(&Form { whole: Some(One::One) }).body(&body);
        let store = self.clone();
        self.call(move |connection| async move {
            let put: PutReply = match connection.send(&sent).await {
                // The server rejects the question itself. The violations are not about an answer.
                Err(StoreError::Misfit(violations)) => {
                    let what = format!("{} does not take the question", connection.address());
                    return Err(StoreError::damaged(what, violations));
                }
                put => put?,
            };
            let question = stored(&connection, put.question)?;
            let attachment = store.attachment(&connection, Leased::Question(question.id.clone()), put.lease);
            Ok(Put { is_new: put.is_new, question, attachment })
        })
    }

    fn get(&self, by: &Principal, which: &QuestionRef) -> Call<StoredQuestion> {
        let sent = about_whole(by, Method::GET, which, "");
        self.call(move |connection| async move { stored(&connection, connection.send(&sent).await?) })
    }

    fn resolve(&self, by: &Principal, abbreviation: &str) -> Call<Vec<QuestionId>> {
        let begin = Begin { begin: abbreviation.to_owned() };
        let sent = ApiRequest::new(Method::GET, "/ids").by(by).with(&begin);
        self.ask(sent, |Ids { ids }| ids)
    }

    fn end(&self, by: &Principal, which: &QuestionRef, end: &End, attempt: &Attempt) -> Call<Ending> {
        let is_word_of_an_agent = by.via().is_none() && matches!(end, End::Resolve { .. });
        if is_word_of_an_agent && by.settles_as().is_none() {
            return refused("an agent cannot answer");
        }
        let sent = match end {
            // The key of the question belongs to the asker's token.
            End::Withdraw => about_whole(by, Method::POST, which, "/withdraw").body(&Empty {}).by_asker(),
            End::Resolve { outcome, reported } => {
                about_whole(by, Method::POST, which, "/answer").body(&Resolve { outcome, reported })
            }
        };
        let sent = sent.attempt(attempt);
        self.call(move |connection| async move {
            let no_ending = || connection.unreadable("it has not ended");
            match connection.try_send(&sent).await? {
                Ok(question) => stored(&connection, question)?.ending.ok_or_else(no_ending),
                // The problem contains the earlier ending.
                Err(mut problem) => match problem.more.question.take() {
                    Some(question) => {
                        let ending = stored(&connection, question)?.ending.ok_or_else(no_ending)?;
                        Err(StoreError::ended(ending))
                    }
                    None => Err(connection.error(problem)),
                },
            }
        })
    }

    fn claim(&self, by: &Principal, id: &QuestionId, attempt: &Attempt) -> Call<Claim> {
        let sent = about(by, Method::POST, &id.into(), "/claim").attempt(attempt).body(&Empty {});
        let id = id.clone();
        self.call(move |connection| async move {
            let claim = connection.send(&sent).await?;
            if claim == Claim::Won {
                connection.leases.forget(&id);
            }
            Ok(claim)
        })
    }

    fn attach(&self, by: &Principal, id: &QuestionId) -> Call<Attachment> {
        self.lease(by, Leased::Question(id.clone()))
    }

    fn sent(&self, by: &Principal, id: &QuestionId) -> Call<Option<u64>> {
        let sent = about(by, Method::POST, &id.into(), "/sent").body(&Empty {});
        self.ask(sent, |Sent { earlier_ms }| earlier_ms)
    }

    fn delivered(&self, by: &Principal, id: &QuestionId) -> Call<()> {
        let sent = about(by, Method::POST, &id.into(), "/delivered").body(&Empty {});
        let id = id.clone();
        self.call(move |connection| async move {
            if connection.send::<Delivered>(&sent).await?.delivered {
                connection.leases.forget(&id);
            }
            Ok(())
        })
    }

    fn hold(&self, by: &Principal, which: &QuestionRef) -> Call<()> {
        self.ask(about(by, Method::POST, which, "/hold").body(&Empty {}), |Done {}| ())
    }

    fn save_draft(&self, by: &Principal, which: &QuestionRef, save: &DraftSave) -> Call<Vec<SavedDraft>> {
        self.ask(about(by, Method::PUT, which, "/draft").body(save), |Drafts { drafts }| drafts)
    }

    fn drafts(&self, by: &Principal, which: &QuestionRef) -> Call<Vec<SavedDraft>> {
        self.ask(about(by, Method::GET, which, "/draft"), |Drafts { drafts }| drafts)
    }

    fn list(&self, by: &Principal, filter: &Filter) -> Call<Page> {
        let by = by.clone();
        let mut filter = filter.clone();
        self.call(move |connection| async move {
            let mut page = Page::default();
            let mut left = filter.limit.unwrap_or(u32::MAX);
            loop {
                filter.limit = Some(left.min(STRETCH));
                let list = ApiRequest::new(Method::GET, "/questions").by(&by).with(&List::from(&filter));
                let Questions { questions, unreadable, next } = connection.send(&list).await?;
                left -= u32::try_from(questions.len()).unwrap_or(left).min(left);
                for question in questions {
                    page.questions.push(stored(&connection, question)?);
                }
                page.unreadable.extend(unreadable);
                page.next = next;
                if page.next.is_none() || left == 0 {
                    return Ok(page);
                }
                filter.after = page.next;
            }
        })
    }

    fn count(&self, by: &Principal, filter: &Filter) -> Call<u64> {
        let count = ApiRequest::new(Method::GET, "/count").by(by).with(&List::from(filter));
        self.ask(count, |Count { count }| count)
    }

    fn events(&self, by: &Principal, after: u64, limit: u32) -> Call<Events> {
        if let Err(error) = by.check(Operation::Follow) {
            return failed(error);
        }
        let by = by.clone();
        self.call(move |connection| async move {
            let mut all = Events::default();
            let mut after = after;
            let mut is_first = true;
            loop {
                let left = limit - u32::try_from(all.events.len()).unwrap_or(limit).min(limit);
                let stretch = After { after: Some(after), limit: Some(left.min(STRETCH)) };
                let list = ApiRequest::new(Method::GET, "/events").by(&by).with(&stretch);
                let EventsReply { events, gap, next, last } = connection.send(&list).await?;
                if gap && !is_first {
                    // The next call returns the events after the gap.
                    return Ok(all);
                }
                all.events.extend(events);
                all.last = last;
                if std::mem::take(&mut is_first) {
                    all.gap = gap;
                }
                if next == after || all.events.len() >= limit as usize {
                    return Ok(all);
                }
                after = next;
            }
        })
    }

    fn watch(&self, by: &Principal, what: &Watched) -> Call<Watch> {
        let by = by.clone();
        let what = what.clone();
        if let (Watched::All, Err(error)) = (&what, by.check(Operation::Follow)) {
            return failed(error);
        }
        self.call(move |connection| async move {
            if let Watched::Question(id) = &what {
                connection.send::<IgnoredAny>(&about(&by, Method::GET, &id.into(), "")).await?;
            }
            stream::watch(&connection, &what).await
        })
    }

    fn show_list(&self, by: &Principal) -> Call<Attachment> {
        if let Err(error) = by.check(Operation::Follow) {
            return failed(error);
        }
        self.lease(by, Leased::List)
    }

    fn is_list_shown(&self, by: &Principal) -> Call<bool> {
        let sent = ApiRequest::new(Method::GET, "/lists").by(by);
        self.ask(sent, |Shown { shown }| shown)
    }

    fn note_failure(&self, by: &Principal, failure: Option<&NotifierFailure>) -> Call<()> {
        let failure = failure.map(|failure| GivenFailure { what: failure.what.clone(), why: failure.why.clone() });
        self.ask(ApiRequest::new(Method::PUT, "/notifier").by(by).body(&NoteFailure { failure }), |Done {}| ())
    }

    fn last_failure(&self, by: &Principal) -> Call<Option<NotifierFailure>> {
        let sent = ApiRequest::new(Method::GET, "/notifier").by(by);
        self.ask(sent, |LastFailure { failure }| failure)
    }

    fn purge(&self, by: &Principal, before_ms: u64) -> Call<Purged> {
        if let Err(error) = by.check(Operation::Purge) {
            return failed(error);
        }
        self.ask(ApiRequest::new(Method::DELETE, "/log").by(by).with(&Before { before: before_ms }), |purged| purged)
    }

    fn flush(&self) -> Call<()> {
        self.call(|_| async { Ok(()) })
    }
}

/// The calls of an administrator. Only the server itself makes the other calls.
impl Credentials for HttpStore {
    fn admit(&self, command: RegisterCommand) -> Call<RegisterReply> {
        use RegisterCommand as Command;
        use RegisterReply as Reply;
        let get = |path: String| ApiRequest::new(Method::GET, path);
        let delete = |path: String| ApiRequest::new(Method::DELETE, path);
        let post = |path: String| ApiRequest::new(Method::POST, path);
        match command {
            Command::AddPerson { name } => {
                let sent = post("/people".into()).body(&AddPerson { name });
                self.find(sent, |added: Option<PersonAdded>| added.map(|added| Reply::Flag(added.is_new)))
            }
            Command::People => {
                self.find(get("/people".into()), |people: Option<People>| people.map(|all| Reply::People(all.people)))
            }
            Command::RemovePerson { name } => {
                let name: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
                let sent = delete(format!("/people/{}", name.replace('+', "%20")));
                self.find(sent, |removed| Some(Reply::Removed(removed)))
            }
            Command::AddCredential { new } => {
                let NewCredential { id, name, scope, person, digest: sha256, .. } = new;
                let digest = Some(TokenDigest { id, sha256 });
                let sent = post("/tokens".into()).body(&MakeToken { name, scope, person, digest });
                let added = |made: TokenMade| Reply::Added(made.known.into(), made.replaced);
                self.find(sent, move |made| made.map(added))
            }
            Command::Credentials => {
                let read = |all: Tokens| Reply::Credentials(all.tokens.into_iter().map(Credential::from).collect());
                self.find(get("/tokens".into()), move |tokens| tokens.map(read))
            }
            Command::Revoke { id } => {
                self.find(delete(format!("/tokens/{id}")), |done: Option<Done>| Some(Reply::Flag(done.is_some())))
            }
            Command::Pairing { id } => {
                let sent = get(format!("/pairings/{id}"));
                self.find(sent, |shown: Option<ShownPairing>| {
                    Some(Reply::Pairing(shown.map(|shown| shown.pairing(id))))
                })
            }
            Command::Approve { id, person } => {
                let sent = post(format!("/pairings/{id}/approve")).body(&Approve { person: Some(person) });
                self.find(sent, |done: Option<Done>| Some(Reply::Flag(done.is_some())))
            }
            _ => refused("only the server itself does this"),
        }
    }

    fn watch_revocations(&self) -> Call<Watch> {
        refused("only the server itself does this")
    }
}

fn refused<T: Send + 'static>(why: &str) -> Call<T> {
    failed(StoreError::Forbidden(why.to_owned()))
}

fn failed<T: Send + 'static>(error: StoreError) -> Call<T> {
    Box::pin(std::future::ready(Err(error)))
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
