//! Rules for revocations: every transaction checks the credential that it uses.

use crate::Place;
use crate::support::{AGENT, TestEnv, agent, attempt, choice, permission, person, request, wait};
use askuser::store::{DraftSave, End, Filter, Store, StoreError};

fn is_refused<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    // A store behind a server gets this error from the server.
    let refused = matches!(result, Err(StoreError::Unauthorized(_)));
    assert!(refused, "its credential was revoked: {result:?}");
}

/// After its credential was revoked, a principal reads no data and changes no state, even if it was authenticated
/// before.
pub fn a_revoked_credential_does_nothing_any_more(place: &dyn Place) {
    TestEnv::new(place);
    let store = place.open();
    let asker = place.with_credential(&agent(AGENT));
    let ada = place.with_credential(&person("ada"));
    let put = |call: &str| wait(store.put(&asker, &permission(call), None)).expect("it counts");
    let open = put("1");
    let open = &open.question.id;
    let answered = put("2");
    let answered = &answered.question.id;
    wait(store.end(&ada, &answered.into(), &choice(0).into(), &attempt("a"))).expect("it counts");
    place.revoke(&ada);
    place.revoke(&asker);
    let all = Filter::default();
    is_refused(wait(store.end(&ada, &open.into(), &choice(0).into(), &attempt("b"))));
    is_refused(wait(store.end(&ada, &answered.into(), &choice(0).into(), &attempt("a"))));
    is_refused(wait(store.hold(&ada, &open.into())));
    is_refused(wait(store.save_draft(&ada, &open.into(), &DraftSave::default())));
    is_refused(wait(store.drafts(&ada, &open.into())));
    is_refused(wait(store.show_list(&ada)));
    is_refused(wait(store.put(&asker, &request("3"), None)));
    is_refused(wait(store.end(&asker, &open.into(), &End::Withdraw, &attempt("c"))));
    is_refused(wait(store.claim(&asker, answered, &attempt("d"))));
    is_refused(wait(store.delivered(&asker, answered)));
    is_refused(wait(store.attach(&asker, open)));
    for by in [&ada, &asker] {
        is_refused(wait(store.get(by, &open.into())));
        is_refused(wait(store.list(by, &all)));
        is_refused(wait(store.count(by, &all)));
        is_refused(wait(store.resolve(by, &open.as_str()[..4])));
        is_refused(wait(store.note_failure(by, None)));
        is_refused(wait(store.last_failure(by)));
        is_refused(wait(store.is_list_shown(by)));
    }
    let bob = place.with_credential(&person("bob"));
    assert_eq!(wait(store.count(&bob, &Filter::pending())).expect("it counts"), 1, "nothing has changed");
}

/// A call that runs concurrently with a revocation completes before it or is refused.
pub fn nothing_is_put_after_its_credential_was_revoked(place: &dyn Place) {
    TestEnv::new(place);
    let asker = place.with_credential(&agent(AGENT));
    let reader = place.with_credential(&person("bob"));
    let count = |store: &dyn Store| wait(store.count(&reader, &Filter::default())).expect("it counts");
    let refused = std::thread::scope(|scope| {
        let puts = (0..4).map(|thread| {
            let store = place.open();
            let asker = &asker;
            scope.spawn(move || {
                let put = |i: i32| wait(store.put(asker, &request(&format!("{thread} {i}")), None));
                (0..10_000).find_map(|i| put(i).err())
            })
        });
        let puts: Vec<_> = puts.collect();
        let store = place.open();
        crate::until("something was put", || count(&*store) > 20);
        place.revoke(&asker);
        let then = count(&*store);
        let refused: Vec<_> = puts.into_iter().map(|put| put.join().expect("a thread")).collect();
        assert_eq!(count(&*store), then, "nothing was put after it");
        refused
    });
    refused.into_iter().for_each(|error| is_refused(error.map_or(Ok(()), Err)));
}
