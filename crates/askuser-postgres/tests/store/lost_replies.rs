//! A reply that is lost after the commit. The store repeats the call with the same key and gets the same result.

use crate::support::{agent, attempt, choice, options, or_skip, person, request};
use askuser::store::{Claim, CredentialScope, Credentials, NewCredential, Store};
use askuser::{Purpose, Request, RequestKey};
use askuser_conformance::wait;
use askuser_postgres::PostgresStore;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A proxy between a store and its database. After the next statement that contains `words`, it drops the reply and
/// closes the connection.
struct Proxy {
    folder: TempDir,
    words: Arc<Mutex<Option<&'static str>>>,
    lost: Arc<AtomicUsize>,
}

impl Proxy {
    fn before(socket: PathBuf) -> Proxy {
        let proxy = Proxy { folder: tempfile::tempdir().unwrap(), words: Arc::default(), lost: Arc::default() };
        let listener = UnixListener::bind(proxy.folder.path().join(".s.PGSQL.5432")).unwrap();
        let words = proxy.words.clone();
        let lost = proxy.lost.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                carry(client.unwrap(), &socket, &words, &lost);
            }
        });
        proxy
    }

    fn lose(&self, words: &'static str) {
        *self.words.lock().unwrap() = Some(words);
    }

    /// Asserts that the proxy has lost one reply since the previous call.
    #[track_caller]
    fn has_lost_one(&self) {
        assert_eq!(self.lost.swap(0, Ordering::Relaxed), 1, "a reply was lost");
    }
}

fn carry(client: UnixStream, socket: &Path, words: &Arc<Mutex<Option<&'static str>>>, lost: &Arc<AtomicUsize>) {
    let server = UnixStream::connect(socket).unwrap();
    let is_losing = Arc::new(AtomicBool::new(false));
    let mut from = client.try_clone().unwrap();
    let mut to = server.try_clone().unwrap();
    let words = words.clone();
    let flag = is_losing.clone();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 20];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let text = &buffer[..length];
            let mut words = words.lock().unwrap();
            if words.is_some_and(|words| text.windows(words.len()).any(|part| part == words.as_bytes())) {
                *words = None;
                flag.store(true, Ordering::Relaxed);
            }
            drop(words);
            if to.write_all(text).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
    let mut from = server;
    let mut to = client;
    let lost = lost.clone();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 20];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            // The server replies only after it has committed.
            if is_losing.load(Ordering::Relaxed) {
                lost.fetch_add(1, Ordering::Relaxed);
                break;
            }
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}

#[test]
fn a_call_whose_reply_was_lost_after_the_commit_gets_the_result_it_had() {
    let place = or_skip!();
    let proxy = Proxy::before(place.folder().join(".s.PGSQL.5432"));
    let address = format!("postgres://postgres@/postgres?host={}", proxy.folder.path().display());
    let postgres = PostgresStore::open(&address, options()).unwrap();
    let store: Arc<dyn Store> = Arc::new(postgres.clone());

    proxy.lose("INSERT INTO askuser.question");
    let put = wait(agent(&store).put(&request("1"), None)).unwrap();
    proxy.has_lost_one();
    assert!(put.is_new, "it is the very question that this call has asked");
    assert_eq!(place.number("SELECT count(*) FROM askuser.question"), 1);
    assert_eq!(place.number("SELECT count(*) FROM askuser.waiter"), 1);

    proxy.lose("UPDATE askuser.question SET state");
    let ending = wait(person(&store, "ada").answer(&put.question.id, choice(1), &attempt("k"))).unwrap();
    proxy.has_lost_one();
    assert_eq!(ending.by(), Some("ada"), "this attempt has won");
    assert!(wait(person(&store, "bob").answer(&put.question.id, choice(0), &attempt("l"))).is_err());

    proxy.lose("UPDATE askuser.question SET state");
    wait(agent(&store).delivered(&put.question.id)).unwrap();
    proxy.has_lost_one();
    assert_eq!(place.number("SELECT count(*) FROM askuser.waiter"), 0);

    let key = RequestKey::new("session", "permission").for_purpose(Purpose::Permission);
    let permission = Request::new(key, request("").set().clone()).with_origin(request("").origin().clone());
    let permission = wait(agent(&store).put(&permission, None)).unwrap().question.id;
    wait(person(&store, "ada").answer(&permission, choice(0), &attempt("m"))).unwrap();
    proxy.lose("UPDATE askuser.question SET state");
    assert_eq!(wait(agent(&store).claim(&permission, &attempt("n"))).unwrap(), Claim::Won);
    proxy.has_lost_one();
    assert!(matches!(wait(agent(&store).claim(&permission, &attempt("o"))).unwrap(), Claim::Used { .. }));

    let token = |id: &str| NewCredential {
        id: id.into(),
        name: "ci".into(),
        scope: CredentialScope::Ask,
        is_device: false,
        person: None,
        digest: [7; 32],
        address: None,
    };
    // The message is a `COMMIT` alone. The statements that number events contain their `COMMIT` at the end.
    proxy.lose("\u{b}COMMIT\0");
    assert_eq!(wait(postgres.add_credential(&token("t1"))).unwrap().1, 0);
    proxy.has_lost_one();
    proxy.lose("\u{b}COMMIT\0");
    assert!(wait(postgres.revoke_credential("t1")).unwrap(), "it was this call that revoked it");
    proxy.has_lost_one();
    assert!(!wait(postgres.revoke_credential("t1")).unwrap());

    wait(store.flush()).unwrap();
    assert_eq!(place.number("SELECT count(*) FROM askuser.event"), 4, "one for each change");
    assert_eq!(place.holes(), 0);
}
