//! A purge removes all text of a question from the store's files.

use crate::support::{Place, attempt, choice, request};
use askuser::store::{Draft, End, Principal, Purged, Store};
use askuser::{Context, Via};
use askuser_conformance::wait;
use askuser_inbox::SqliteStore;

const SECRET: &str = "the launch code is 0000";

/// Returns the files of the store that still contain the secret.
fn found_in(place: &Place) -> Vec<String> {
    let files = std::fs::read_dir(place.path().parent().unwrap()).unwrap().map(|file| file.unwrap().path());
    let has_it = |path: &std::path::PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(SECRET.len()).any(|bytes| bytes == SECRET.as_bytes())
    };
    files.filter(has_it).map(|path| path.display().to_string()).collect()
}

/// Fills a store with questions that have the secret in contexts, drafts and answers. Each draft is changed several
/// times.
fn filled(place: &Place, store: &SqliteStore) -> Principal {
    let ada = Principal::person("ada", Via::Inbox);
    let long = SECRET.repeat(500);
    for i in 0..20 {
        let request = request(&i.to_string()).with_context(Context::Prose(long.clone()));
        let put = wait(store.put(&Principal::agent(request.origin()), &request, None)).unwrap();
        let id = &put.question.id;
        for times in 1..10 {
            let draft = Draft { discuss: Some(SECRET.repeat(10 * times)), ..Draft::default() };
            wait(store.save_draft(&ada, &id.into(), &draft.into())).unwrap();
        }
        if i % 2 == 0 {
            wait(store.end(&ada, &id.into(), &choice(0).into(), &attempt("a"))).unwrap();
        } else {
            wait(store.end(&ada, &id.into(), &End::Withdraw, &attempt("w"))).unwrap();
        }
    }
    wait(store.flush()).unwrap();
    assert!(!found_in(place).is_empty(), "it is there before");
    ada
}

#[test]
fn a_purge_leaves_no_text_in_the_file_or_its_log() {
    let place = Place::new();
    let store = place.sqlite();
    let ada = filled(&place, &store);
    // Another process has the file open without reading.
    let other = place.sqlite();
    assert_eq!(wait(store.purge(&ada, u64::MAX)).unwrap(), Purged { count: 20, remains: None });
    assert_eq!(found_in(&place), [""; 0]);
    assert_eq!(wait(other.integrity()).unwrap(), [""; 0]);
}

#[test]
fn a_reader_that_keeps_purged_text_is_reported() {
    let place = Place::new();
    let store = place.sqlite();
    let ada = filled(&place, &store);
    let reader = place.connection();
    reader.execute_batch("BEGIN; SELECT count(*) FROM question").unwrap();
    let purged = wait(store.purge(&ada, u64::MAX)).unwrap();
    let remains = purged.remains.unwrap();
    assert!(purged.count == 20 && remains.contains("-wal: another process"), "{remains}");
    assert!(!found_in(&place).is_empty(), "it is true");
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(wait(store.purge(&ada, u64::MAX)).unwrap(), Purged { count: 0, remains: None }, "the next one ends it");
    assert_eq!(found_in(&place), [""; 0]);
}
