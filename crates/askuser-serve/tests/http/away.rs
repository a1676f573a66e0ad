//! Tests of a server that is away.

use crate::support::{Server, token_for};
use askuser::input::QuestionInput;
use askuser::store::{AskerPresence, Attempt, CredentialScope, Handle, Principal, State, Store, StoreError};
use askuser::{Origin, Outcome, QuestionSet, Request, RequestKey, Rules, Via};
use askuser_conformance::{until, wait};
use askuser_inbox::SqliteStore;
use askuser_serve::{HttpStore, Patience};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn request() -> Request {
    let question = QuestionInput::new("Which one?", "Pick").option("A", "The first").option("B", "The second");
    let set = QuestionSet::new([question], &Rules::strict()).unwrap();
    Request::new(RequestKey::new("session", "1"), set).with_origin(Origin::default().with_agent("tester"))
}

fn choice(request: &Request) -> Outcome {
    let answer = request.set().questions()[0].answer(&[0], None, None).unwrap();
    Outcome::answered(request.set(), vec![answer]).unwrap()
}

/// Tests that a waiting client finds the next server, reports once that it waits, and counts as waiting there.
#[test]
fn a_server_that_goes_and_comes_back_loses_no_waiter_and_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("inbox.sqlite")).unwrap();
    let token = token_for(&store, "ci", CredentialScope::Ask, "ada");
    let mut server = Server::start(&store, |options| options.lease = Duration::from_millis(300));
    let said = Arc::new(Mutex::new(Vec::<String>::new()));
    let on_away = {
        let said = said.clone();
        Arc::new(move |words: &str| said.lock().unwrap().push(words.to_owned()))
    };
    let patience = Patience { on_away: Some(on_away), ..Patience::default() };
    let http = Arc::new(HttpStore::open(&server.url(), &token, patience).unwrap());
    let agent = Handle::new(http, Principal::agent(request().origin()));
    let request = request();
    let put = wait(agent.put(&request, None)).unwrap();
    let id = put.question.id.clone();
    let ada = Handle::new(Arc::new(store.clone()), Principal::person("ada", Via::Inbox));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| wait(agent.wait(&id)).unwrap());
        server.stop();
        until("it has left with the server", || wait(ada.get(&id)).unwrap().asker != AskerPresence::Waits);
        let asked = scope.spawn(|| wait(agent.get(&id)).unwrap());
        until("that is said", || !said.lock().unwrap().is_empty());
        server.start_again(&store, |options| options.lease = Duration::from_millis(300));
        assert_eq!(asked.join().unwrap().state(), State::Pending, "a call is made when the server is back");
        until("it waits at the next server", || wait(ada.get(&id)).unwrap().asker == AskerPresence::Waits);
        wait(ada.answer(&id, choice(&request), &Attempt::new("a"))).unwrap();
        assert_eq!(waiting.join().unwrap().by(), Some("ada"));
    });
    let said = said.lock().unwrap();
    assert!(said.len() == 1 && said[0].contains("waiting for it"), "{said:?}");
}

#[test]
fn who_does_not_wait_for_a_server_is_told_whether_it_may_have_been_done() {
    let patience = Patience { limit: Some(Duration::from_millis(200)), ..Patience::default() };
    // The test has closed this port, so no program listens on it.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let store = HttpStore::open(&format!("http://{address}"), "au_x_y", patience).unwrap();
    let agent = Principal::agent(request().origin());
    let put = wait(store.put(&agent, &request(), None));
    assert!(matches!(put, Err(StoreError::Unknown { .. })), "{put:?}");
    let read = wait(store.get(&agent, &request().key().into()));
    assert!(matches!(read, Err(StoreError::Unavailable { .. })), "{read:?}");
}

#[test]
fn a_token_that_does_not_count_is_an_error_and_not_waited_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("inbox.sqlite")).unwrap();
    let server = Server::start(&store, |_| {});
    let http = HttpStore::open(&server.url(), "au_none", Patience::default()).unwrap();
    let put = wait(http.put(&Principal::agent(request().origin()), &request(), None));
    assert!(matches!(&put, Err(StoreError::Unauthorized(why)) if why.contains("token")), "{put:?}");
}
