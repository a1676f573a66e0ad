//! The schema is created once. A schema of another version stays unchanged.

use crate::support::{agent, ask, attempt, choice, options, or_skip, person, request};
use askuser::store::{Filter, Store, StoreError};
use askuser_conformance::{until, wait};
use askuser_postgres::PostgresStore;
use std::sync::Arc;

#[test]
fn processes_that_open_an_empty_database_at_once_make_one_schema() {
    let place = or_skip!();
    place.run("DROP SCHEMA askuser CASCADE");
    let address = place.address();
    std::thread::scope(|scope| {
        let opened: Vec<_> =
            (0..6).map(|_| scope.spawn(|| PostgresStore::open(address, options()).map(drop))).collect();
        for one in opened {
            one.join().unwrap().unwrap_or_else(|error| panic!("{}", error.chain()));
        }
    });
    assert_eq!(place.number("SELECT count(*) FROM askuser.numbering"), 1);
}

#[test]
fn a_newer_schema_is_refused_also_when_it_becomes_so_meanwhile() {
    let place = or_skip!();
    let store: Arc<dyn Store> = Arc::new(place.store());
    let answered = ask(&store, "0");
    let id = ask(&store, "1");
    wait(person(&store, "ada").answer(&answered, choice(0), &attempt("k"))).unwrap();
    place.run("UPDATE askuser.schema_version SET version = version + 1");
    let refused = [
        wait(person(&store, "ada").list(&Filter::default())).map(drop),
        wait(agent(&store).put(&request("2"), None)).map(drop),
        wait(person(&store, "ada").answer(&id, choice(0), &attempt("l"))).map(drop),
        wait(agent(&store).delivered(&answered)),
        PostgresStore::open(place.address(), options()).map(drop),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert!(
            matches!(error, StoreError::Damaged { .. }) && error.chain().contains("newer askuser"),
            "{}",
            error.chain()
        );
    }
    assert_eq!(place.number("SELECT count(*) FROM askuser.question"), 2);
    assert_eq!(
        place.number("SELECT count(*) FROM askuser.question WHERE state = 'pending' OR delivered_ms IS NOT NULL"),
        1
    );
}

#[test]
fn a_schema_of_an_earlier_version_is_refused_and_left_as_it_is() {
    let place = or_skip!();
    place.run("UPDATE askuser.schema_version SET version = 4; DROP TABLE askuser.register");
    let error = PostgresStore::open(place.address(), options()).unwrap_err().chain();
    let why = "it has version 4, this program knows 6: move it aside with `ALTER SCHEMA askuser RENAME TO askuser_old`, \
               and a new one is made";
    assert!(error.ends_with(why), "{error}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'askuser' AND tablename = 'register'";
    assert_eq!((place.number("SELECT version::bigint FROM askuser.schema_version"), place.number(tables)), (4, 0));
}

#[test]
fn a_user_that_may_change_no_tables_uses_a_schema_that_is_there() {
    let place = or_skip!();
    place.run(
        "CREATE ROLE plain LOGIN; GRANT USAGE ON SCHEMA askuser TO plain; GRANT SELECT ON test_clock TO plain;
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA askuser TO plain",
    );
    let address = place.address().replace("postgres@", "plain@");
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(&address, options()).unwrap());
    let id = ask(&store, "1");
    assert_eq!(wait(agent(&store).get(&id)).unwrap().id, id);
}

#[test]
fn a_database_that_cannot_be_reached_or_is_of_another_encoding_is_refused_in_words() {
    let place = or_skip!();
    place.run("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    let error = PostgresStore::open(&place.address().replace("/postgres?", "/latin?"), options()).unwrap_err();
    assert!(error.chain().contains("LATIN1") && error.chain().contains("UTF8"), "{}", error.chain());
    let error = PostgresStore::open(&place.address().replace("/postgres?", "/nowhere?"), options()).unwrap_err();
    assert!(error.chain().contains("\"nowhere\" does not exist"), "{}", error.chain());
    let mut hasty = options();
    hasty.patience = std::time::Duration::from_millis(100);
    let error = PostgresStore::open("postgres://ada:secret@/db?host=/nowhere/at/all", hasty).unwrap_err();
    assert!(error.chain().contains("/nowhere/at/all") && !error.chain().contains("secret"), "{}", error.chain());
}

#[test]
fn a_page_reads_who_waits_for_its_questions_and_not_every_waiter_there_is() {
    let place = or_skip!();
    let store: Arc<dyn Store> = Arc::new(place.store());
    ask(&store, "1");
    place.run(
        "INSERT INTO askuser.question (id, key, bare_key, request, words, state, asked_ms, revision)
         SELECT lpad(to_hex(i), 12, '0'), sha256(i::text::bytea), sha256(i::text::bytea), request, words, state, asked_ms, 7
         FROM askuser.question, generate_series(1, 20000) i;
         INSERT INTO askuser.waiter SELECT n, 'w', 'gone' FROM askuser.question WHERE revision = 7;
         ANALYZE askuser.question, askuser.waiter",
    );
    let mut filter = Filter::default();
    (filter.pending, filter.limit) = (Some(true), Some(10));
    assert_eq!(wait(person(&store, "ada").list(&filter)).unwrap().questions.len(), 10);
    // PostgreSQL counts the reads of a connection when the connection has ended.
    drop(store);
    let read = |what: &str| place.number(&format!("SELECT {what} FROM pg_stat_user_tables WHERE relname = 'waiter'"));
    until("what was read is told", || read("idx_scan") >= 10);
    assert!(read("seq_tup_read") < 20_000, "all are read for ten");
}
