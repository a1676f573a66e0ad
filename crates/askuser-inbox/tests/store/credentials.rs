//! Tokens and devices in a file.

use crate::support::Place;
use askuser::store::{Change, CredentialScope, Credentials, NewCredential, Pairing, PairingKind, StoreError};
use askuser_conformance::wait;
use std::sync::atomic::Ordering;

fn new(id: &str, name: &str, scope: CredentialScope) -> NewCredential {
    let (person, address) = ("ada".into(), None);
    NewCredential { id: id.into(), name: name.into(), scope, is_device: false, person, digest: [7; 32], address }
}

#[test]
fn a_credential_is_kept_until_it_is_revoked_and_every_process_hears_of_that() {
    let place = Place::new();
    let (serve, shell) = (place.sqlite(), place.sqlite());
    let made = wait(shell.add_credential(&new("a1", "ci", CredentialScope::Ask))).unwrap();
    assert_eq!(wait(serve.credential("a1")).unwrap(), Some(made));
    assert_eq!(wait(serve.credential("a2")).unwrap(), None);
    let mut watch = wait(serve.watch_revocations()).unwrap();
    wait(serve.credential_seen("a1", "10.0.0.7")).unwrap();
    let seen = wait(shell.credentials()).unwrap();
    assert_eq!((seen[0].seen_ms, seen[0].made.address.as_deref()), (Some(1_000_000), Some("10.0.0.7")));
    assert!(wait(shell.revoke_credential("a1")).unwrap() && !wait(shell.revoke_credential("a1")).unwrap());
    assert!(matches!(wait(watch.next()), Change::Lagged), "another process is told");
    assert_eq!(wait(serve.credential("a1")).unwrap(), None);
    assert!(wait(shell.credentials()).unwrap().is_empty());
}

#[test]
fn a_name_has_one_scope_and_a_renewed_token_keeps_it() {
    let store = Place::new();
    let store = store.sqlite();
    wait(store.add_credential(&new("a1", "ci", CredentialScope::Ask))).unwrap();
    wait(store.add_credential(&new("a2", "ci", CredentialScope::Ask))).unwrap();
    let other = wait(store.add_credential(&new("a3", "ci", CredentialScope::Answer)));
    assert!(matches!(other, Err(StoreError::Forbidden(_))), "who asks cannot answer: {other:?}");
}

#[test]
fn a_pairing_is_redeemed_once_in_time_and_a_code_only_after_somebody_let_it_in() {
    let place = Place::new();
    let store = place.sqlite();
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
        };
        wait(store.offer_pairing(&pairing)).unwrap()
    };
    let redeem = |id: &str, token: &str| {
        wait(store.redeem_pairing(id, &new(token, "phone", CredentialScope::Answer))).unwrap().is_some()
    };
    let link = offer("link", PairingKind::Link);
    assert_eq!(wait(store.pairing("link")).unwrap(), Some(link));
    assert!(redeem("link", "t1") && !redeem("link", "t2"), "once");
    offer("ABCDEFGH", PairingKind::Code);
    assert!(!redeem("ABCDEFGH", "t3"), "nobody has let it in");
    assert!(wait(store.approve_pairing("ABCDEFGH")).unwrap() && !wait(store.approve_pairing("other")).unwrap());
    assert!(redeem("ABCDEFGH", "t3"));
    offer("tried", PairingKind::Link);
    for _ in 0..Pairing::MOST_TRIES {
        assert!(wait(store.pairing("tried")).unwrap().is_some());
        wait(store.pairing_failed("tried")).unwrap();
    }
    assert!(!redeem("tried", "t4"), "tried too often");
    offer("late", PairingKind::Link);
    place.now.fetch_add(Pairing::LASTS_MS, Ordering::Relaxed);
    assert!(!redeem("late", "t5"), "it is over");
    assert_eq!(wait(store.credentials()).unwrap().len(), 2);
    for i in 0..Pairing::MOST_CODES {
        offer(&format!("CODE{i}"), PairingKind::Code);
    }
    let one_more = Pairing { id: "MORE".into(), ..wait(store.pairing("CODE0")).unwrap().unwrap() };
    assert!(
        matches!(wait(store.offer_pairing(&one_more)), Err(StoreError::Forbidden(_))),
        "anybody can ask for a code"
    );
    offer("still", PairingKind::Link);
}

#[test]
fn failed_credentials_are_counted() {
    let store = Place::new();
    let store = store.sqlite();
    assert_eq!(wait(store.failed_credentials()).unwrap(), None);
    for address in ["10.0.0.7", "10.0.0.8"] {
        wait(store.credential_failed(address)).unwrap();
    }
    let failed = wait(store.failed_credentials()).unwrap().unwrap();
    assert_eq!((failed.count, failed.last_ms, &*failed.address), (2, 1_000_000, "10.0.0.8"));
}
