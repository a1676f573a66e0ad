//! Tokens and devices, in a store that keeps them.

use crate::Place;
use crate::support::{Stage, request, wait};
use askuser::store::{
    Call, Change, CredentialScope, Credentials, NewCredential, Pairing, PairingKind, Principal, Removed, StoreError,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A [`Place`] whose store keeps credentials.
pub trait CredentialsPlace: Place {
    /// The credentials as one more process opens them.
    fn credentials(&self) -> Arc<dyn Credentials>;
}

/// The same principal with a new credential of this store.
pub fn with_credential(store: &dyn Credentials, by: &Principal) -> Principal {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let id = format!("c{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let person = by.name().filter(|_| by.is_a_person()).map(str::to_owned);
    if let Some(name) = &person {
        done(store.add_person(name));
    }
    let scope = if person.is_some() { CredentialScope::Answer } else { CredentialScope::Ask };
    let name = id.clone();
    let is_device = person.is_some();
    done(store.add_credential(&NewCredential { name, is_device, person, ..new(&id, "", scope) }));
    by.clone().with_credential_id(id)
}

/// Revokes the credential of such a principal.
pub fn revoke(store: &dyn Credentials, by: &Principal) {
    assert!(done(store.revoke_credential(by.credential_id().expect("a credential"))));
}

const NOW: u64 = 1_000_000;

fn begin(place: &dyn CredentialsPlace) -> Arc<dyn Credentials> {
    place.set_time(NOW);
    let store = place.credentials();
    assert!(done(store.add_person("ada")));
    store
}

fn done<T>(call: Call<T>) -> T {
    wait(call).expect("the store")
}

fn new(id: &str, name: &str, scope: CredentialScope) -> NewCredential {
    let (person, address) = (Some("ada".into()), None);
    NewCredential { id: id.into(), name: name.into(), scope, is_device: false, person, digest: [7; 32], address }
}

/// A live credential is found by its id; whoever lets it in hears of its end.
pub fn a_credential_is_kept_until_it_is_revoked_and_every_process_hears_of_that(place: &dyn CredentialsPlace) {
    let (serve, shell) = (begin(place), place.credentials());
    let (made, _) = done(shell.add_credential(&new("a1", "ci", CredentialScope::Ask)));
    assert_eq!(wait(serve.credential("a1")).expect("the store"), Some(made));
    assert_eq!(wait(serve.credential("a2")).expect("the store"), None);
    let mut watch = wait(serve.watch_revocations()).expect("the store");
    wait(serve.credential_seen("a1", "10.0.0.7")).expect("the store");
    let seen = wait(shell.credentials()).expect("the store");
    assert_eq!((seen[0].seen_ms, seen[0].made.address.as_deref()), (Some(1_000_000), Some("10.0.0.7")));
    assert!(
        wait(shell.revoke_credential("a1")).expect("the store")
            && !wait(shell.revoke_credential("a1")).expect("the store")
    );
    assert!(matches!(wait(watch.next()), Change::Lagged), "another process is told");
    assert_eq!(wait(serve.credential("a1")).expect("the store"), None);
    assert!(wait(shell.credentials()).expect("the store").is_empty());
}

/// Questions belong to names: a name does not ask and answer.
pub fn a_name_has_one_scope_and_a_renewed_token_keeps_it(place: &dyn CredentialsPlace) {
    let store = begin(place);
    assert_eq!(done(store.add_credential(&new("a1", "ci", CredentialScope::Ask))).1, 0);
    let device = NewCredential { is_device: true, ..new("d1", "ci", CredentialScope::Ask) };
    assert_eq!(done(store.add_credential(&device)).1, 0, "a device replaces nothing");
    assert_eq!(done(store.add_credential(&new("a2", "ci", CredentialScope::Ask))).1, 1, "the token before");
    assert_eq!(live(&*store), ["d1", "a2"]);
    let other = wait(store.add_credential(&new("a3", "ci", CredentialScope::Answer)));
    assert!(matches!(other, Err(StoreError::Forbidden(_))), "who asks cannot answer: {other:?}");
}

/// A device comes in once, in time, and with a code only after somebody at a terminal has said so.
pub fn a_pairing_is_redeemed_once_in_time_and_a_code_only_after_somebody_let_it_in(place: &dyn CredentialsPlace) {
    let store = begin(place);
    let offer = |id: &str, kind| {
        let pairing = Pairing {
            id: id.into(),
            kind,
            digest: [1; 32],
            address: Some("10.0.0.7".into()),
            browser: Some("Firefox".into()),
            expires_ms: 0,
            tries: 0,
            is_approved: false,
            person: None,
        };
        wait(store.offer_pairing(&pairing)).expect("the store")
    };
    let redeem = |id: &str, token: &str| {
        let phone = NewCredential { is_device: true, ..new(token, "phone", CredentialScope::Answer) };
        done(store.redeem_pairing(id, &phone)).is_some()
    };
    let link = offer("link", PairingKind::Link);
    assert_eq!(wait(store.pairing("link")).expect("the store"), Some(link));
    assert!(redeem("link", "t1") && !redeem("link", "t2"), "once");
    offer("ABCDEFGH", PairingKind::Code);
    assert!(!redeem("ABCDEFGH", "t3"), "nobody has let it in");
    assert!(done(store.approve_pairing("ABCDEFGH", "ada")) && !done(store.approve_pairing("other", "ada")));
    done(store.add_person("bob"));
    assert!(!done(store.approve_pairing("ABCDEFGH", "bob")), "it is let in as ada's already");
    assert_eq!(done(store.pairing("ABCDEFGH")).and_then(|pairing| pairing.person).as_deref(), Some("ada"));
    assert!(wait(store.approve_pairing("ABCDEFGH", "nobody")).is_err_and(|why| why.chain().contains("nobody")));
    assert!(redeem("ABCDEFGH", "t3"));
    offer("tried", PairingKind::Link);
    for _ in 0..Pairing::MOST_TRIES {
        assert!(wait(store.pairing("tried")).expect("the store").is_some());
        wait(store.pairing_failed("tried")).expect("the store");
    }
    assert!(!redeem("tried", "t4"), "tried too often");
    offer("late", PairingKind::Link);
    place.set_time(NOW + Pairing::LASTS_MS);
    assert!(!redeem("late", "t5"), "it is over");
    assert_eq!(wait(store.credentials()).expect("the store").len(), 2);
    for i in 0..Pairing::MOST_CODES {
        offer(&format!("CODE{i}"), PairingKind::Code);
    }
    let one_more = Pairing { id: "MORE".into(), ..wait(store.pairing("CODE0")).expect("the store").expect("one") };
    assert!(
        matches!(wait(store.offer_pairing(&one_more)), Err(StoreError::Forbidden(_))),
        "anybody can ask for a code"
    );
    let elsewhere = |i: u64| Pairing { id: format!("ELSE{i}"), address: None, ..one_more.clone() };
    for i in Pairing::MOST_CODES..Pairing::MOST_CODES_IN_ALL {
        wait(store.offer_pairing(&elsewhere(i))).expect("at another address");
    }
    let last = wait(store.offer_pairing(&elsewhere(0)));
    assert!(matches!(last, Err(StoreError::Forbidden(_))), "so many in all");
    offer("still", PairingKind::Link);
}

fn live(store: &dyn Credentials) -> Vec<String> {
    done(store.credentials()).into_iter().map(|known| known.made.id).collect()
}

/// However many make a token of one name at once, one of them is left, and it is one that was told that it counts.
pub fn of_tokens_of_one_name_that_are_made_at_once_the_last_is_left(place: &dyn CredentialsPlace) {
    let store = begin(place);
    let replaced: u64 = std::thread::scope(|scope| {
        let make = |i: u32| {
            let store = place.credentials();
            scope.spawn(move || done(store.add_credential(&new(&format!("a{i}"), "ci", CredentialScope::Ask))).1)
        };
        let all: Vec<_> = (0..8).map(make).collect();
        all.into_iter().map(|one| one.join().expect("a token")).sum()
    });
    assert_eq!((live(&*store).len(), replaced), (1, 7), "each replaced the one before it");
}

/// Nobody acts under a name that is another's: neither a token beside a person, nor a person beside a token.
pub fn a_name_is_a_persons_or_a_tokens_and_never_both(place: &dyn CredentialsPlace) {
    let store = begin(place);
    assert!(!done(store.add_person("ada")), "she is there already");
    for alike in ["Ada", "\u{430}da", "\u{ff41}da"] {
        let refused = wait(store.add_person(alike));
        assert!(matches!(&refused, Err(StoreError::Forbidden(why)) if why.contains("looks like ada")), "{refused:?}");
    }
    let own = |id: &str, name: &str| NewCredential { person: None, ..new(id, name, CredentialScope::Answer) };
    let is_refused = |result: Result<(), StoreError>, name: &str| {
        assert!(matches!(&result, Err(StoreError::Forbidden(why)) if why.contains(name)), "{name}: {result:?}");
    };
    is_refused(wait(store.add_credential(&own("a1", "ada"))).map(drop), "ada");
    let theirs = NewCredential { person: Some("ada".into()), ..own("a2", "ada") };
    assert_eq!(done(store.add_credential(&theirs)).0.made.acts_as(), "ada", "hers may have her name");
    let nobodys = NewCredential { person: Some("bob".into()), ..own("b1", "phone") };
    is_refused(wait(store.add_credential(&nobodys)).map(drop), "bob");
    assert_eq!(done(store.add_credential(&own("o1", "ops"))).0.made.acts_as(), "ops");
    assert_eq!(done(store.credential("o1")).expect("it is kept").made.person, None);
    is_refused(wait(store.add_person("ops")).map(drop), "ops");
    assert!(done(store.revoke_credential("o1")) && done(store.add_person("ops")), "the name is free again");
    let people: Vec<(String, u64)> =
        done(place.credentials().people()).into_iter().map(|person| (person.name, person.added_ms)).collect();
    assert_eq!(people, [("ada".to_owned(), NOW), ("ops".to_owned(), NOW)]);
}

/// Whoever is removed answers nothing any more: what was theirs is revoked with them, and what would have become theirs does
/// not come in.
pub fn a_person_who_is_removed_takes_all_that_is_theirs_along(place: &dyn CredentialsPlace) {
    let (store, serve) = (begin(place), place.credentials());
    let process = Stage::new(place).open();
    process.ask(&request("1").with_audience(["ada", "bob"]));
    let hers = process.ask(&request("2").with_audience(["ada"]));
    done(store.add_person("bob"));
    let of = |id: &str, person: &str| NewCredential {
        person: Some(person.into()),
        is_device: true,
        ..new(id, id, CredentialScope::Answer)
    };
    for (id, person) in [("a1", "ada"), ("a2", "ada"), ("b1", "bob")] {
        done(store.add_credential(&of(id, person)));
    }
    let pairing = Pairing {
        id: "CODE".into(),
        kind: PairingKind::Code,
        digest: [1; 32],
        address: None,
        browser: None,
        expires_ms: 0,
        tries: 0,
        is_approved: false,
        person: None,
    };
    done(store.offer_pairing(&pairing));
    assert!(done(store.approve_pairing("CODE", "ada")));
    let mut watch = done(serve.watch_revocations());
    assert_eq!(done(store.remove_person("ada")), Some(Removed { revoked: 2, waiting: 1 }));
    assert!(matches!(wait(watch.next()), Change::Lagged), "every process hears of it");
    assert_eq!(live(&*serve), ["b1"]);
    assert_eq!(done(store.redeem_pairing("CODE", &of("a3", "ada"))), None, "it is no code any more");
    assert!(wait(store.add_credential(&of("a4", "ada"))).is_err(), "there is no such person");
    assert_eq!(done(store.remove_person("ada")), None);
    assert!(done(store.add_person("ada")));
    assert_eq!(live(&*serve), ["b1"], "what was revoked stays so");
    assert_eq!(process.get(&hers).request.audience(), ["ada"], "it is for nobody else because she has gone");
}

/// What was refused is counted.
pub fn failed_credentials_are_counted(place: &dyn CredentialsPlace) {
    let store = begin(place);
    assert_eq!(wait(store.failed_credentials()).expect("the store"), None);
    for address in ["10.0.0.7", "10.0.0.8"] {
        wait(store.credential_failed(address)).expect("the store");
    }
    let failed = wait(store.failed_credentials()).expect("the store").expect("one");
    assert_eq!((failed.count, failed.last_ms, &*failed.address), (2, 1_000_000, "10.0.0.8"));
}
