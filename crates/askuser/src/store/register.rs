//! The rules of people, tokens and devices, as one pure function.
//!
//! A backend stores each [`Entry`] as JSON. In one transaction it loads a [`Register`], calls [`admit`], and writes the
//! [`RegisterWrite`]s.

use super::{
    Credential, CredentialScope, FailedCredentials, NewCredential, Pairing, PairingKind, Person, Removed, StoreError,
};
use serde::{Deserialize, Serialize};

/// An entry of the register: a person, a credential, a pairing, or the rejected credentials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "they are named as what they hold")]
pub enum Entry {
    Person(Person),
    Credential(Credential),
    Pairing(Pairing),
    Failed(FailedCredentials),
}

impl Entry {
    /// The kind and the id of the entry. No other entry has the same two.
    pub fn key(&self) -> (&'static str, &str) {
        match self {
            Entry::Person(person) => ("person", &person.name),
            Entry::Credential(credential) => (Entry::CREDENTIAL, &credential.made.id),
            Entry::Pairing(pairing) => ("pairing", &pairing.id),
            Entry::Failed(_) => (Entry::FAILED, ""),
        }
    }

    /// The kind of the entry of a credential.
    pub const CREDENTIAL: &str = "credential";
    const FAILED: &str = "failed";

    /// Returns the entry as JSON.
    ///
    /// # Errors
    /// Returns [`StoreError::Unavailable`] if the entry cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, StoreError> {
        serde_json::to_string(self).map_err(|error| StoreError::unavailable("cannot write a person or a device", error))
    }
}

/// The people, credentials and pairings of a store. Revoked credentials are left out.
#[derive(Clone, Debug, Default)]
pub struct Register {
    /// The people, sorted by name.
    pub people: Vec<Person>,
    /// The credentials, earliest first.
    pub credentials: Vec<Credential>,
    /// The pairings, some of which may be over.
    pub pairings: Vec<Pairing>,
    /// The rejected credentials, if any.
    pub failed: Option<FailedCredentials>,
    /// The number of credentials that an earlier try of the same command has revoked.
    pub revoked_before: u64,
    /// The number of pending questions addressed to the removed person alone.
    pub waiting: u64,
}

/// A command about people, tokens and devices.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "they are the methods of `Credentials`")]
pub enum RegisterCommand {
    AddPerson { name: String },
    People,
    RemovePerson { name: String },
    AddCredential { new: NewCredential },
    Credential { id: String },
    Credentials,
    Seen { id: String, address: String },
    Revoke { id: String },
    Offer { pairing: Pairing },
    Pairing { id: String },
    PairingFailed { id: String },
    Approve { id: String, person: String },
    Redeem { id: String, new: NewCredential },
    Failed { address: String },
    FailedCredentials,
}

impl Register {
    /// Reads the entries of a store, which come earliest first.
    ///
    /// # Errors
    /// Returns [`StoreError::Damaged`] if an entry is not readable.
    pub fn read(entries: &[String]) -> Result<Register, StoreError> {
        let mut register = Register::default();
        for entry in entries {
            match serde_json::from_str(entry).map_err(|error| StoreError::damaged("cannot read the devices", error))? {
                Entry::Person(person) => register.people.push(person),
                Entry::Credential(credential) => register.credentials.push(credential),
                Entry::Pairing(pairing) => register.pairings.push(pairing),
                Entry::Failed(failed) => register.failed = Some(failed),
            }
        }
        register.people.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(register)
    }
}

impl RegisterCommand {
    /// Whether the command only reads.
    pub fn is_reading(&self) -> bool {
        use RegisterCommand::{Credential, Credentials, FailedCredentials, Pairing, People};
        matches!(self, People | Credential { .. } | Credentials | Pairing { .. } | FailedCredentials)
    }

    /// Whether the change must survive a crash of the machine.
    pub fn must_be_synced(&self) -> bool {
        use RegisterCommand::{Failed, Offer, PairingFailed, Seen};
        !matches!(self, Seen { .. } | Offer { .. } | PairingFailed { .. } | Failed { .. })
    }

    /// The key of the only entry that the command needs; `None` if the command needs more.
    pub fn entry(&self) -> Option<(&'static str, &str)> {
        match self {
            RegisterCommand::Credential { id } | RegisterCommand::Seen { id, .. } => Some((Entry::CREDENTIAL, id)),
            RegisterCommand::Failed { .. } | RegisterCommand::FailedCredentials => Some((Entry::FAILED, "")),
            _ => None,
        }
    }

    /// The person to be removed, whose pending questions are counted; `None` for other commands.
    pub fn removed(&self) -> Option<&str> {
        if let RegisterCommand::RemovePerson { name } = self { Some(name) } else { None }
    }
}

/// A change of the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterWrite {
    /// Insert an entry, or overwrite the entry with its key.
    Set(Entry),
    /// Delete the entry with the key of this one.
    Delete(Entry),
    /// Revoke the credential with this id.
    Revoke(String),
}

/// The reply to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the results of `Credentials`")]
pub enum RegisterReply {
    Done,
    Flag(bool),
    People(Vec<Person>),
    Removed(Option<Removed>),
    Added(Credential, u64),
    Credential(Option<Credential>),
    Credentials(Vec<Credential>),
    Offered(Pairing),
    Pairing(Option<Pairing>),
    Failed(Option<FailedCredentials>),
}

/// The minimum time between two records of the use of a credential, in milliseconds.
const SEEN_MS: u64 = 60_000;

type Admitted = (Vec<RegisterWrite>, RegisterReply);

/// Decides a command. Returns its changes and its reply.
///
/// # Errors
/// Returns the reason why the command changes no state.
pub fn admit(register: &Register, now_ms: u64, command: &RegisterCommand) -> Result<Admitted, StoreError> {
    use RegisterCommand as Command;
    use RegisterReply as Reply;
    use RegisterWrite as Write;
    let set_credential = |credential| Write::Set(Entry::Credential(credential));
    let set_pairing = |pairing| Write::Set(Entry::Pairing(pairing));
    let pairing = |id: &str| register.pairing(id, now_ms);
    Ok(match command {
        Command::AddPerson { name } => register.add_person(name, now_ms)?,
        Command::People => (vec![], Reply::People(register.people.clone())),
        Command::RemovePerson { name } => register.remove_person(name),
        Command::AddCredential { new } => register.add_credential(new, now_ms)?,
        Command::Credential { id } => (vec![], Reply::Credential(register.credential(id).cloned())),
        Command::Credentials => (vec![], Reply::Credentials(register.credentials.clone())),
        Command::Seen { id, address } => {
            let is_noted = |known: &&Credential| {
                let is_recent = known.seen_ms.is_some_and(|seen| seen.saturating_add(SEEN_MS) > now_ms);
                !is_recent || known.made.address.as_ref() != Some(address)
            };
            let seen = |known: &Credential| Credential {
                made: NewCredential { address: Some(address.clone()), ..known.made.clone() },
                seen_ms: Some(now_ms),
                ..known.clone()
            };
            (register.credential(id).filter(is_noted).map(seen).map(set_credential).into_iter().collect(), Reply::Done)
        }
        Command::Revoke { id } => {
            let is_live = register.credential(id).is_some();
            let writes = if is_live { vec![Write::Revoke(id.clone())] } else { vec![] };
            (writes, Reply::Flag(is_live || register.revoked_before > 0))
        }
        Command::Offer { pairing } => register.offer(pairing, now_ms)?,
        Command::Pairing { id } => (vec![], Reply::Pairing(pairing(id).cloned())),
        Command::PairingFailed { id } => {
            let tried = |pairing: &Pairing| Pairing { tries: pairing.tries + 1, ..pairing.clone() };
            (pairing(id).map(tried).map(set_pairing).into_iter().collect(), Reply::Done)
        }
        Command::Approve { id, person } => {
            register.check_person(person)?;
            let is_free = |pairing: &&Pairing| {
                pairing.kind == PairingKind::Code && (!pairing.is_approved || pairing.person.as_ref() == Some(person))
            };
            let approved =
                |pairing: &Pairing| Pairing { is_approved: true, person: Some(person.clone()), ..pairing.clone() };
            let writes: Vec<_> = pairing(id).filter(is_free).map(approved).map(set_pairing).into_iter().collect();
            let is_known = !writes.is_empty();
            (writes, Reply::Flag(is_known))
        }
        Command::Redeem { id, new } => {
            let is_ready = |pairing: &&Pairing| pairing.kind == PairingKind::Link || pairing.is_approved;
            match (register.same(new), pairing(id).filter(is_ready)) {
                (Some(known), _) => (vec![], Reply::Credential(Some(known.clone()))),
                (None, None) => (vec![], Reply::Credential(None)),
                (None, Some(pairing)) => {
                    let made = register.made(new, now_ms)?;
                    let writes = vec![Write::Delete(Entry::Pairing(pairing.clone())), set_credential(made.clone())];
                    (writes, Reply::Credential(Some(made)))
                }
            }
        }
        Command::Failed { address } => {
            let count = register.failed.as_ref().map_or(0, |failed| failed.count) + 1;
            let failed = FailedCredentials { count, last_ms: now_ms, address: address.clone() };
            (vec![Write::Set(Entry::Failed(failed))], Reply::Done)
        }
        Command::FailedCredentials => (vec![], Reply::Failed(register.failed.clone())),
    })
}

impl Register {
    fn credential(&self, id: &str) -> Option<&Credential> {
        self.credentials.iter().find(|known| known.made.id == id)
    }

    fn pairing(&self, id: &str, now_ms: u64) -> Option<&Pairing> {
        let lasts = |pairing: &&Pairing| pairing.expires_ms > now_ms && pairing.tries < Pairing::MOST_TRIES;
        self.pairings.iter().filter(lasts).find(|pairing| pairing.id == id)
    }

    fn is_person(&self, name: &str) -> bool {
        self.people.iter().any(|person| person.name == name)
    }

    fn check_person(&self, name: &str) -> Result<(), StoreError> {
        let unknown = || StoreError::Forbidden(format!("there is no person {name}: add them first"));
        if self.is_person(name) { Ok(()) } else { Err(unknown()) }
    }

    /// Returns the credential that an earlier try of the same command created, if any.
    fn same(&self, new: &NewCredential) -> Option<&Credential> {
        self.credential(&new.id).filter(|known| known.made.digest == new.digest)
    }

    /// Adds a person, unless a valid token acts under this name or the name looks like another one.
    fn add_person(&self, name: &str, now_ms: u64) -> Result<Admitted, StoreError> {
        let own = self.credentials.iter().map(|known| &known.made).filter(|made| made.person.is_none());
        if own.clone().any(|made| made.name == name) {
            return Err(StoreError::Forbidden(format!("{name} is the name of a token: revoke it first")));
        }
        let answering = own.filter(|made| made.scope == CredentialScope::Answer).map(|made| &made.name);
        let mut others = self.people.iter().map(|person| &person.name).chain(answering);
        if let Some(other) = others.find(|other| *other != name && crate::lookalikes::alike(name, other)) {
            return Err(StoreError::Forbidden(format!("{name} looks like {other}: take a name that differs more")));
        }
        let is_new = !self.is_person(name);
        let person = Person { name: name.to_owned(), added_ms: now_ms };
        let writes = if is_new { vec![RegisterWrite::Set(Entry::Person(person))] } else { vec![] };
        Ok((writes, RegisterReply::Flag(is_new)))
    }

    /// Removes a person with their credentials, and with the pairings that would become theirs.
    fn remove_person(&self, name: &str) -> Admitted {
        let is_theirs = |person: &Option<String>| person.as_deref() == Some(name);
        let theirs = self.credentials.iter().filter(|known| is_theirs(&known.made.person));
        let mut writes: Vec<_> = theirs.map(|known| RegisterWrite::Revoke(known.made.id.clone())).collect();
        let revoked = writes.len() as u64 + self.revoked_before;
        let pairings = self.pairings.iter().filter(|pairing| is_theirs(&pairing.person));
        writes.extend(pairings.map(|pairing| RegisterWrite::Delete(Entry::Pairing(pairing.clone()))));
        let known = self.people.iter().find(|person| person.name == name);
        writes.extend(known.map(|person| RegisterWrite::Delete(Entry::Person(person.clone()))));
        let removed = Removed { revoked, waiting: self.waiting };
        // The reply to an earlier try may have been lost.
        (writes, RegisterReply::Removed((known.is_some() || revoked > 0).then_some(removed)))
    }

    /// Adds a credential. A token replaces the other tokens of its name.
    fn add_credential(&self, new: &NewCredential, now_ms: u64) -> Result<Admitted, StoreError> {
        if let Some(known) = self.same(new) {
            return Ok((vec![], RegisterReply::Added(known.clone(), self.revoked_before)));
        }
        let made = self.made(new, now_ms)?;
        let is_replaced = |known: &&Credential| known.made.name == new.name && !known.made.is_device && !new.is_device;
        let replaced = self.credentials.iter().filter(is_replaced);
        let mut writes: Vec<_> = replaced.map(|known| RegisterWrite::Revoke(known.made.id.clone())).collect();
        let count = writes.len() as u64;
        writes.push(RegisterWrite::Set(Entry::Credential(made.clone())));
        Ok((writes, RegisterReply::Added(made, count)))
    }

    /// Creates a credential, unless it would act under another's name.
    fn made(&self, new: &NewCredential, now_ms: u64) -> Result<Credential, StoreError> {
        let is_other = |known: &&Credential| known.made.name == new.name && known.made.scope != new.scope;
        if let Some(other) = self.credentials.iter().find(is_other) {
            let name = &new.name;
            let scope = other.made.scope.name();
            let why = format!("{name} is the name of a credential with the scope {scope}: revoke it first");
            return Err(StoreError::Forbidden(why));
        }
        match &new.person {
            Some(person) => self.check_person(person)?,
            None if self.is_person(&new.name) => {
                let why = format!("{} is a person: say that it is theirs, or take another name", new.name);
                return Err(StoreError::Forbidden(why));
            }
            None => {}
        }
        Ok(Credential { made: new.clone(), made_ms: now_ms, seen_ms: None })
    }

    /// Offers a pairing, unless too many codes are in use. Expired pairings are removed.
    fn offer(&self, pairing: &Pairing, now_ms: u64) -> Result<Admitted, StoreError> {
        let (over, lasting): (Vec<_>, Vec<_>) = self.pairings.iter().partition(|other| other.expires_ms <= now_ms);
        let others = lasting.into_iter().filter(|other| other.id != pairing.id);
        let codes: Vec<_> = others.filter(|other| other.kind == PairingKind::Code).collect();
        let is_near = |other: &&&Pairing| other.address.is_some() && other.address == pairing.address;
        let of_address = codes.iter().filter(is_near).count();
        let is_full = of_address as u64 >= Pairing::MOST_CODES || codes.len() as u64 >= Pairing::MOST_CODES_IN_ALL;
        if pairing.kind == PairingKind::Code && is_full {
            let all = codes.len();
            let why = format!("{of_address} devices at this address, {all} in all, show a code: wait five minutes");
            return Err(StoreError::Forbidden(why));
        }
        let is_taken = |other: &Pairing| other.id == pairing.id && other.digest != pairing.digest;
        if self.pairings.iter().any(is_taken) {
            return Err(StoreError::Forbidden("another device shows this code: try again".into()));
        }
        let offered = Pairing { expires_ms: now_ms.saturating_add(Pairing::LASTS_MS), ..pairing.clone() };
        let delete = |over: &Pairing| RegisterWrite::Delete(Entry::Pairing(over.clone()));
        let mut writes: Vec<_> = over.into_iter().map(delete).collect();
        writes.push(RegisterWrite::Set(Entry::Pairing(offered.clone())));
        Ok((writes, RegisterReply::Offered(offered)))
    }
}

#[cfg(test)]
#[path = "register_tests.rs"]
mod tests;
