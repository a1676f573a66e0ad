//! Tokens and devices, in a store that keeps them.

use crate::Place;
use crate::support::wait;
use askuser::store::{Change, CredentialScope, Credentials, NewCredential, Pairing, PairingKind, StoreError};
use std::sync::Arc;

/// A [`Place`] whose store keeps credentials.
pub trait CredentialsPlace: Place {
    /// The credentials as one more process opens them.
    fn credentials(&self) -> Arc<dyn Credentials>;
}

const NOW: u64 = 1_000_000;

fn begin(place: &dyn CredentialsPlace) -> Arc<dyn Credentials> {
    place.set_time(NOW);
    place.credentials()
}

fn new(id: &str, name: &str, scope: CredentialScope) -> NewCredential {
    let (person, address) = ("ada".into(), None);
    NewCredential { id: id.into(), name: name.into(), scope, is_device: false, person, digest: [7; 32], address }
}

/// A live credential is found by its id; whoever lets it in hears of its end.
pub fn a_credential_is_kept_until_it_is_revoked_and_every_process_hears_of_that(place: &dyn CredentialsPlace) {
    let (serve, shell) = (begin(place), place.credentials());
    let made = wait(shell.add_credential(&new("a1", "ci", CredentialScope::Ask))).expect("the store");
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
    wait(store.add_credential(&new("a1", "ci", CredentialScope::Ask))).expect("the store");
    wait(store.add_credential(&new("a2", "ci", CredentialScope::Ask))).expect("the store");
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
        };
        wait(store.offer_pairing(&pairing)).expect("the store")
    };
    let redeem = |id: &str, token: &str| {
        wait(store.redeem_pairing(id, &new(token, "phone", CredentialScope::Answer))).expect("the store").is_some()
    };
    let link = offer("link", PairingKind::Link);
    assert_eq!(wait(store.pairing("link")).expect("the store"), Some(link));
    assert!(redeem("link", "t1") && !redeem("link", "t2"), "once");
    offer("ABCDEFGH", PairingKind::Code);
    assert!(!redeem("ABCDEFGH", "t3"), "nobody has let it in");
    assert!(
        wait(store.approve_pairing("ABCDEFGH")).expect("the store")
            && !wait(store.approve_pairing("other")).expect("the store")
    );
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
    offer("still", PairingKind::Link);
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
