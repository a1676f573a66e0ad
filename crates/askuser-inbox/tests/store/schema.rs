//! A file of another version is refused and stays unchanged.

use crate::support::{Place, ask, attempt, choice, get, person, request};
use askuser::Outcome;
use askuser::store::{Filter, State, StoreError};
use askuser_conformance::{until, wait};
use askuser_inbox::SqliteStore;

/// The version of the tables that this program uses.
const VERSION: i32 = 8;

#[test]
fn a_file_of_an_earlier_version_is_refused_and_left_as_it_is() {
    let place = Place::new();
    let path = place.path();
    let id = ask(&place.store(), &request("1")).unwrap();
    for version in 1..VERSION {
        place.connection().pragma_update(None, "user_version", version).unwrap();
        let error = SqliteStore::open(&path).unwrap_err().chain();
        let shown = path.display();
        let expected = format!(
            "cannot use {shown}: it has version {version}, this program knows 8: move it aside with `mv {shown} \
             {shown}.old`, and a new one is made"
        );
        assert_eq!(error, expected);
        let kept: i32 = place.connection().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(kept, version, "nothing is written");
    }
    place.connection().pragma_update(None, "user_version", VERSION).unwrap();
    assert_eq!(get(&place.store(), &id).state(), State::Pending);
}

#[test]
fn a_waiter_is_told_that_a_newer_program_has_changed_the_file() {
    let place = Place::new();
    let store = place.store();
    let newer = place.connection();
    let says_so = |error: &StoreError| {
        assert!(matches!(error, StoreError::Damaged { .. }), "to try again is of no use: {error:?}");
        let words = error.chain();
        let why = "a newer askuser has changed it meanwhile; start again. What waits in it can still be answered";
        assert!(words.ends_with(why), "{words}");
    };
    let pending = ask(&store, &request("1")).unwrap();
    let waiting = ask(&store, &request("2")).unwrap();
    let one = person(&store, "ada");
    let other = person(&store, "bob");
    std::thread::scope(|scope| {
        let waits = [scope.spawn(|| wait(one.wait(&pending))), scope.spawn(|| wait(other.wait(&waiting)))];
        newer.execute_batch("ALTER TABLE question ADD COLUMN future TEXT; PRAGMA user_version = 9").unwrap();
        for waiting in waits {
            says_so(&waiting.join().unwrap().unwrap_err());
        }
    });
    says_so(&wait(person(&store, "ada").list(&Filter::default())).unwrap_err());
    says_so(&wait(person(&store, "ada").answer(&pending, Outcome::cancelled(), &attempt("k"))).unwrap_err());
    let error = SqliteStore::open(&place.path()).unwrap_err().chain();
    assert!(error.ends_with("it has version 9, this program knows 8: use a newer askuser"), "{error}");
    // The test plays the newer program and restores the version.
    newer.pragma_update(None, "user_version", VERSION).unwrap();
    let store = place.store();
    let listed = || wait(person(&store, "ada").list(&Filter::pending())).unwrap().questions.len();
    until("the questions are there", || listed() == 2);
    assert!(wait(person(&store, "ada").answer(&pending, choice(0), &attempt("k"))).is_ok());
}

#[test]
fn an_answer_that_waits_while_a_newer_program_changes_the_file_is_refused() {
    let place = Place::new();
    let store = place.store();
    let newer = place.connection();
    let id = ask(&store, &request("1")).unwrap();
    newer.execute_batch("BEGIN IMMEDIATE; PRAGMA user_version = 9").unwrap();
    let answer = person(&store, "ada").answer(&id, Outcome::cancelled(), &attempt("k"));
    // The pause is usually long enough for the answer to wait for the lock. An answer that comes later is refused, too.
    std::thread::sleep(std::time::Duration::from_millis(100));
    newer.execute_batch("COMMIT").unwrap();
    let error = wait(answer).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    let state: String = newer.query_row("SELECT state FROM question", [], |row| row.get(0)).unwrap();
    assert_eq!(state, "pending");
}
