//! Rules for tokens and devices in a store that manages them.

use crate::Place;
use crate::support::{TestEnv, request, wait};
use askuser::store::{
    Call, Change, CredentialScope, Credentials, FailedCredentials, NewCredential, Pairing, PairingKind, Principal,
    Removed, StoreError,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A [`Place`] whose store manages credentials.
pub trait CredentialsPlace: Place {
    /// Opens the store of credentials as another process.
    fn credentials(&self) -> Arc<dyn Credentials>;
}

/// Adds a new credential to the store. Returns the principal with that credential.
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

/// Revokes the credential of this principal.
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
    let person = Some("ada".into());
    let address = None;
    NewCredential { id: id.into(), name: name.into(), scope, is_device: false, person, digest: [7; 32], address }
}

/// A valid credential is found by its id. Every process learns of its revocation.
pub fn a_credential_is_kept_until_it_is_revoked_and_every_process_hears_of_that(place: &dyn CredentialsPlace) {
    let serve = begin(place);
    let shell = place.credentials();
    let (made, _) = done(shell.add_credential(&new("a1", "ci", CredentialScope::Ask)));
    let other = wait(serve.add_credential(&new("a3", "ci", CredentialScope::Answer)));
    assert!(matches!(other, Err(StoreError::Forbidden(_))), "who asks cannot answer: {other:?}");
    assert_eq!(done(serve.credential("a1")), Some(made));
    assert_eq!(done(serve.credential("a2")), None);
    done(serve.credential_failed("10.0.0.7"));
    done(serve.credential_failed("10.0.0.8"));
    let failed = FailedCredentials { count: 2, last_ms: NOW, address: "10.0.0.8".into() };
    assert_eq!(done(shell.failed_credentials()), Some(failed), "what was refused is counted");
    let mut watch = done(serve.watch_revocations());
    done(serve.credential_seen("a1", "10.0.0.7"));
    let seen = done(shell.credentials());
    assert_eq!((seen[0].seen_ms, seen[0].made.address.as_deref()), (Some(1_000_000), Some("10.0.0.7")));
    assert!(done(shell.revoke_credential("a1")) && !done(shell.revoke_credential("a1")));
    assert!(matches!(wait(watch.next()), Change::Lagged), "another process is told");
    assert_eq!(done(serve.credential("a1")), None);
    assert!(done(shell.credentials()).is_empty());
}

/// A pairing is redeemed once, within its lifetime. A code must be approved before.
pub fn a_pairing_is_redeemed_once_in_time_and_a_code_only_after_somebody_let_it_in(place: &dyn CredentialsPlace) {
    let store = begin(place);
    let offer = |id: &str, kind| done(store.offer_pairing(&pairing(id, kind)));
    let redeem = |id: &str, token: &str| {
        let phone = NewCredential { is_device: true, ..new(token, "phone", CredentialScope::Answer) };
        done(store.redeem_pairing(id, &phone)).is_some()
    };
    let link = offer("link", PairingKind::Link);
    assert_eq!(done(store.pairing("link")), Some(link));
    assert!(redeem("link", "t1") && !redeem("link", "t2"), "once");
    offer("ABCDEFGH", PairingKind::Code);
    assert!(!redeem("ABCDEFGH", "t3"), "it is not approved");
    assert!(done(store.approve_pairing("ABCDEFGH", "ada")) && !done(store.approve_pairing("other", "ada")));
    assert_eq!(done(store.pairing("ABCDEFGH")).and_then(|pairing| pairing.person).as_deref(), Some("ada"));
    assert!(redeem("ABCDEFGH", "t3"));
    offer("tried", PairingKind::Link);
    for _ in 0..Pairing::MOST_TRIES {
        assert!(done(store.pairing("tried")).is_some());
        done(store.pairing_failed("tried"));
    }
    assert!(!redeem("tried", "t4"), "tried too often");
    offer("late", PairingKind::Link);
    place.set_time(NOW + Pairing::LASTS_MS);
    assert!(!redeem("late", "t5"), "it is over");
    assert_eq!(live(&*store), ["t1", "t3"]);
    let offered = (0..=Pairing::MOST_CODES).filter(|i| {
        let code = pairing(&format!("CODE{i}"), PairingKind::Code);
        wait(store.offer_pairing(&code)).is_ok()
    });
    assert_eq!(offered.count() as u64, Pairing::MOST_CODES, "anybody can ask for a code");
}

fn pairing(id: &str, kind: PairingKind) -> Pairing {
    Pairing {
        id: id.into(),
        kind,
        digest: [1; 32],
        address: Some("10.0.0.7".into()),
        browser: Some("Firefox".into()),
        expires_ms: 0,
        tries: 0,
        is_approved: false,
        person: None,
    }
}

fn live(store: &dyn Credentials) -> Vec<String> {
    done(store.credentials()).into_iter().map(|known| known.made.id).collect()
}

/// Concurrent calls that make tokens of one name leave one token. Each call returns the number of tokens that it
/// replaced.
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

/// A removed person can answer no question. The person's credentials are revoked, and their unfinished pairings are
/// refused.
pub fn a_person_who_is_removed_takes_all_that_is_theirs_along(place: &dyn CredentialsPlace) {
    let store = begin(place);
    let serve = place.credentials();
    let process = TestEnv::new(place).open();
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
    done(store.offer_pairing(&pairing("CODE", PairingKind::Code)));
    assert!(done(store.approve_pairing("CODE", "ada")));
    let mut watch = done(serve.watch_revocations());
    assert_eq!(done(store.remove_person("ada")), Some(Removed { revoked: 2, waiting: 1 }));
    assert!(matches!(wait(watch.next()), Change::Lagged), "every process hears of it");
    assert_eq!(live(&*serve), ["b1"]);
    assert_eq!(done(store.redeem_pairing("CODE", &of("a3", "ada"))), None, "it is no code any more");
    assert!(wait(store.add_credential(&of("a4", "ada"))).is_err(), "there is no such person");
    assert!(done(store.add_person("ada")));
    assert_eq!(live(&*serve), ["b1"], "what was revoked stays so");
    assert_eq!(process.get(&hers).request.audience(), ["ada"], "it is for nobody else because she has gone");
}
