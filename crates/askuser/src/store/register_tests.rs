use super::*;

const NOW: u64 = 1_000_000;

fn new(id: &str, name: &str, scope: CredentialScope, person: Option<&str>) -> NewCredential {
    NewCredential {
        id: id.into(),
        name: name.into(),
        scope,
        is_device: false,
        person: person.map(str::to_owned),
        digest: [7; 32],
        address: None,
    }
}

fn credential(made: NewCredential) -> Credential {
    Credential { made, made_ms: NOW, seen_ms: None }
}

/// Returns a register with three tokens: ada's, the asking token `ci`, and the token `ops` that answers under its own
/// name.
fn register() -> Register {
    Register {
        people: vec![Person { name: "ada".into(), added_ms: 1 }],
        credentials: vec![
            credential(new("a1", "phone", CredentialScope::Answer, Some("ada"))),
            credential(new("c1", "ci", CredentialScope::Ask, None)),
            credential(new("o1", "ops", CredentialScope::Answer, None)),
        ],
        ..Register::default()
    }
}

fn pairing(id: &str, kind: PairingKind, address: Option<&str>) -> Pairing {
    Pairing {
        id: id.into(),
        kind,
        digest: [1; 32],
        address: address.map(str::to_owned),
        browser: None,
        expires_ms: NOW + 1,
        tries: 0,
        is_approved: false,
        person: None,
    }
}

fn decide(register: &Register, command: RegisterCommand) -> Admitted {
    admit(register, NOW, &command).unwrap()
}

/// Returns the reason why a command is refused.
fn refused(register: &Register, command: RegisterCommand) -> String {
    match admit(register, NOW, &command) {
        Err(StoreError::Forbidden(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_person_is_added_once_and_under_no_name_that_is_taken() {
    let add = |name: &str| RegisterCommand::AddPerson { name: name.into() };
    let bob = Person { name: "bob".into(), added_ms: NOW };
    assert_eq!(
        decide(&register(), add("bob")),
        (vec![RegisterWrite::Set(Entry::Person(bob))], RegisterReply::Flag(true))
    );
    assert_eq!(decide(&register(), add("ada")), (vec![], RegisterReply::Flag(false)));
    assert!(refused(&register(), add("Ada")).contains("looks like ada"));
    assert!(refused(&register(), add("Ops")).contains("looks like ops"));
    assert!(refused(&register(), add("ops")).contains("the name of a token"));
    assert!(refused(&register(), add("ci")).contains("the name of a token"));
    assert_eq!(decide(&register(), add("CI")).1, RegisterReply::Flag(true), "who asks is no person");
}

#[test]
fn a_removed_person_takes_credentials_and_pairings_along() {
    let mut register = Register { waiting: 3, ..register() };
    register.pairings = vec![
        Pairing { person: Some("ada".into()), ..pairing("P", PairingKind::Code, None) },
        pairing("Q", PairingKind::Code, None),
    ];
    let remove = |name: &str| RegisterCommand::RemovePerson { name: name.into() };
    let (writes, reply) = decide(&register, remove("ada"));
    let expected = [
        RegisterWrite::Revoke("a1".into()),
        RegisterWrite::Delete(Entry::Pairing(register.pairings[0].clone())),
        RegisterWrite::Delete(Entry::Person(register.people[0].clone())),
    ];
    assert_eq!((&writes[..], reply), (&expected[..], RegisterReply::Removed(Some(Removed { revoked: 1, waiting: 3 }))));
    assert_eq!(decide(&register, remove("bob")), (vec![], RegisterReply::Removed(None)));
    assert_eq!((remove("bob").removed(), RegisterCommand::People.removed()), (Some("bob"), None));
    let repeated = Register { revoked_before: 2, ..Register::default() };
    let removed = Removed { revoked: 2, waiting: 0 };
    assert_eq!(decide(&repeated, remove("ada")).1, RegisterReply::Removed(Some(removed)));
}

#[test]
fn a_token_replaces_those_of_its_name_and_a_device_none() {
    let add = |new: NewCredential| RegisterCommand::AddCredential { new };
    let ci = new("c2", "ci", CredentialScope::Ask, None);
    let made = credential(ci.clone());
    let expected = vec![RegisterWrite::Revoke("c1".into()), RegisterWrite::Set(Entry::Credential(made.clone()))];
    assert_eq!(decide(&register(), add(ci.clone())), (expected, RegisterReply::Added(made, 1)));
    let device = NewCredential { is_device: true, ..ci };
    assert_eq!(decide(&register(), add(device)).0.len(), 1);
    let known = register().credentials.remove(1);
    let repeated = Register { revoked_before: 1, ..register() };
    assert_eq!(decide(&repeated, add(known.made.clone())), (vec![], RegisterReply::Added(known, 1)));
}

#[test]
fn a_credential_acts_under_no_name_of_another() {
    let add = |name: &str, scope, person| {
        refused(&register(), RegisterCommand::AddCredential { new: new("n1", name, scope, person) })
    };
    assert!(add("ci", CredentialScope::Answer, None).contains("the scope ask"));
    assert!(add("ada", CredentialScope::Answer, None).contains("is a person"));
    assert!(add("tablet", CredentialScope::Answer, Some("bob")).contains("no person bob"));
}

#[test]
fn the_use_of_a_credential_is_noted_once_a_minute_or_from_elsewhere() {
    let mut register = register();
    let seen = |register: &Register, address: &str| {
        decide(register, RegisterCommand::Seen { id: "c1".into(), address: address.into() }).0.len()
    };
    let (writes, _) = decide(&register, RegisterCommand::Seen { id: "c1".into(), address: "here".into() });
    let mut used = register.credentials[1].clone();
    (used.seen_ms, used.made.address) = (Some(NOW), Some("here".into()));
    assert_eq!(writes, [RegisterWrite::Set(Entry::Credential(used))]);
    register.credentials[1].seen_ms = Some(NOW - SEEN_MS + 1);
    register.credentials[1].made.address = Some("here".into());
    assert_eq!((seen(&register, "here"), seen(&register, "there")), (0, 1));
    register.credentials[1].seen_ms = Some(NOW - SEEN_MS);
    assert_eq!(seen(&register, "here"), 1);
}

#[test]
fn a_credential_is_revoked_once() {
    let revoke = |id: &str| RegisterCommand::Revoke { id: id.into() };
    let writes = vec![RegisterWrite::Revoke("c1".into())];
    assert_eq!(decide(&register(), revoke("c1")), (writes, RegisterReply::Flag(true)));
    assert_eq!(decide(&register(), revoke("c9")), (vec![], RegisterReply::Flag(false)));
    let repeated = Register { revoked_before: 1, ..register() };
    assert_eq!(decide(&repeated, revoke("c9")), (vec![], RegisterReply::Flag(true)));
}

#[test]
fn codes_are_bounded_by_their_address_and_in_all() {
    let offer = |id: &str, address| RegisterCommand::Offer { pairing: pairing(id, PairingKind::Code, address) };
    let mut register = Register::default();
    let codes = |count: u64, address| (0..count).map(move |i| pairing(&format!("{i}"), PairingKind::Code, address));
    register.pairings = codes(Pairing::MOST_CODES - 1, Some("here")).collect();
    assert!(admit(&register, NOW, &offer("X", Some("here"))).is_ok());
    register.pairings = codes(Pairing::MOST_CODES, Some("here")).collect();
    assert!(refused(&register, offer("X", Some("here"))).contains("20 devices"));
    assert!(admit(&register, NOW, &offer("X", Some("there"))).is_ok());
    assert!(admit(&register, NOW, &offer("0", Some("here"))).is_ok(), "the same offer again");
    let link = RegisterCommand::Offer { pairing: pairing("L", PairingKind::Link, Some("here")) };
    assert!(admit(&register, NOW, &link).is_ok(), "a link needs a credential");
    register.pairings = codes(Pairing::MOST_CODES_IN_ALL - 1, None).collect();
    assert!(admit(&register, NOW, &offer("X", None)).is_ok());
    register.pairings = codes(Pairing::MOST_CODES_IN_ALL, None).collect();
    assert!(refused(&register, offer("X", None)).contains("256 in all"));
    let Ok((writes, RegisterReply::Offered(offered))) = admit(&register, NOW + 1, &offer("X", None)) else {
        panic!("they are over")
    };
    assert_eq!(
        (writes.len() as u64, offered.expires_ms),
        (Pairing::MOST_CODES_IN_ALL + 1, NOW + 1 + Pairing::LASTS_MS)
    );
}

#[test]
fn a_code_of_another_device_is_not_overwritten() {
    let register = Register { pairings: vec![pairing("X", PairingKind::Link, None)], ..Register::default() };
    let other = Pairing { digest: [2; 32], ..pairing("X", PairingKind::Code, None) };
    assert!(refused(&register, RegisterCommand::Offer { pairing: other }).contains("another device"));
}

#[test]
fn a_code_is_approved_for_one_person_in_time() {
    let approve = |id: &str, person: &str| RegisterCommand::Approve { id: id.into(), person: person.into() };
    let mut register = register();
    register.people.push(Person { name: "bob".into(), added_ms: 1 });
    register.pairings = vec![pairing("C", PairingKind::Code, None), pairing("L", PairingKind::Link, None)];
    let (writes, reply) = decide(&register, approve("C", "ada"));
    let [RegisterWrite::Set(Entry::Pairing(approved))] = &writes[..] else { panic!("{writes:?}") };
    assert_eq!(
        (approved.is_approved, approved.person.as_deref(), reply),
        (true, Some("ada"), RegisterReply::Flag(true))
    );
    register.pairings[0] = approved.clone();
    assert_eq!(decide(&register, approve("C", "ada")).1, RegisterReply::Flag(true), "repeated");
    assert_eq!(decide(&register, approve("C", "bob")), (vec![], RegisterReply::Flag(false)));
    assert_eq!(decide(&register, approve("L", "ada")).1, RegisterReply::Flag(false), "a link needs none");
    assert!(refused(&register, approve("C", "eve")).contains("no person eve"));
    let late = admit(&register, NOW + 1, &approve("C", "ada")).unwrap();
    assert_eq!(late.1, RegisterReply::Flag(false));
}

#[test]
fn a_pairing_is_redeemed_once_approved_or_by_link_and_not_tried_too_often() {
    let mut register = register();
    let phone = new("p1", "tablet", CredentialScope::Answer, Some("ada"));
    let redeem = |id: &str| RegisterCommand::Redeem { id: id.into(), new: phone.clone() };
    register.pairings = vec![pairing("C", PairingKind::Code, None), pairing("L", PairingKind::Link, None)];
    assert_eq!(decide(&register, redeem("C")), (vec![], RegisterReply::Credential(None)));
    let made = credential(phone.clone());
    let writes = vec![
        RegisterWrite::Delete(Entry::Pairing(register.pairings[1].clone())),
        RegisterWrite::Set(Entry::Credential(made.clone())),
    ];
    assert_eq!(decide(&register, redeem("L")), (writes, RegisterReply::Credential(Some(made.clone()))));
    register.pairings[0].is_approved = true;
    assert_eq!(decide(&register, redeem("C")).0.len(), 2);
    register.pairings[1].tries = Pairing::MOST_TRIES - 1;
    let tried = decide(&register, RegisterCommand::PairingFailed { id: "L".into() }).0;
    let [RegisterWrite::Set(Entry::Pairing(tried))] = &tried[..] else { panic!("{tried:?}") };
    register.pairings[1] = tried.clone();
    assert_eq!(decide(&register, redeem("L")).1, RegisterReply::Credential(None));
    register.credentials.push(made.clone());
    assert_eq!(decide(&register, redeem("L")), (vec![], RegisterReply::Credential(Some(made))), "repeated");
}

#[test]
fn what_was_not_accepted_is_counted() {
    let failed = |count| FailedCredentials { count, last_ms: NOW, address: "there".into() };
    let fail = || RegisterCommand::Failed { address: "there".into() };
    assert_eq!(decide(&Register::default(), fail()).0, [RegisterWrite::Set(Entry::Failed(failed(1)))]);
    let register = Register { failed: Some(failed(4)), ..Register::default() };
    assert_eq!(decide(&register, fail()).0, [RegisterWrite::Set(Entry::Failed(failed(5)))]);
    assert_eq!(decide(&register, RegisterCommand::FailedCredentials).1, RegisterReply::Failed(Some(failed(4))));
}

#[test]
fn what_lets_somebody_in_or_out_is_synced() {
    let synced = [
        RegisterCommand::Revoke { id: String::new() },
        RegisterCommand::AddPerson { name: String::new() },
        RegisterCommand::Approve { id: String::new(), person: String::new() },
    ];
    assert!(synced.iter().all(|command| command.must_be_synced() && !command.is_reading()));
    let unsynced = [
        RegisterCommand::Failed { address: String::new() },
        RegisterCommand::Seen { id: String::new(), address: String::new() },
    ];
    assert!(unsynced.iter().all(|command| !command.must_be_synced() && !command.is_reading()));
    assert!(RegisterCommand::Credentials.is_reading() && RegisterCommand::People.is_reading());
}

#[test]
fn a_register_is_read_as_its_entries_were_written() {
    let failed = FailedCredentials { count: 2, last_ms: NOW, address: "there\0".into() };
    let pairing = pairing("P", PairingKind::Link, Some("here"));
    let known = register();
    let mut entries: Vec<_> = known.credentials.iter().cloned().map(Entry::Credential).collect();
    entries.extend(["zoe", "ada"].map(|name| Entry::Person(Person { name: name.into(), added_ms: 1 })));
    entries.extend([Entry::Pairing(pairing.clone()), Entry::Failed(failed.clone())]);
    let mut texts: Vec<_> = entries.iter().map(|entry| entry.to_json().unwrap()).collect();
    let read = Register::read(&texts).unwrap();
    assert_eq!((&read.credentials, read.pairings, read.failed), (&known.credentials, vec![pairing], Some(failed)));
    assert_eq!(read.people.iter().map(|person| &*person.name).collect::<Vec<_>>(), ["ada", "zoe"]);
    let keys: std::collections::BTreeSet<_> = entries.iter().map(Entry::key).collect();
    assert_eq!(keys.len(), entries.len(), "each has a key of its own");
    assert_eq!(RegisterCommand::Credential { id: "c1".into() }.entry(), Some(entries[1].key()));
    assert_eq!(RegisterCommand::FailedCredentials.entry(), entries.last().map(Entry::key));
    texts.push("{}".into());
    assert!(matches!(Register::read(&texts), Err(StoreError::Damaged { .. })));
}
