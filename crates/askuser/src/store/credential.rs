//! Who may use a store through a server: tokens and paired devices, each with exactly one scope.
//!
//! A store keeps digests, never secrets, and compares nothing: a server finds a credential by the part of a token that is its
//! id, and compares digests itself.

use super::{Call, Watch};
use serde::{Deserialize, Serialize};

/// A SHA-256 of a secret.
pub type Digest = [u8; 32];

/// What a credential is for. There is none that asks and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialScope {
    /// Put questions; see, wait for, use and withdraw its own.
    Ask,
    /// See what waits and what was answered; answer, keep drafts.
    Answer,
    /// List, make and revoke credentials; let devices in.
    Admin,
}

named!(CredentialScope { Ask = "ask", Answer = "answer", Admin = "admin" });

/// A credential to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCredential {
    /// The part of the token that names it; random.
    pub id: String,
    /// What people call it. Questions belong to the name, so that a renewed token still has those of the old one.
    pub name: String,
    /// What it is for.
    pub scope: CredentialScope,
    /// Whether it came by pairing.
    pub is_device: bool,
    /// Whose answers it gives; without one it acts under its own name. A device has one.
    pub person: Option<String>,
    /// Of the token's secret part.
    pub digest: Digest,
    /// Where it was paired from.
    pub address: Option<String>,
}

impl NewCredential {
    /// Who acts with it.
    pub fn acts_as(&self) -> &str {
        self.person.as_deref().unwrap_or(&self.name)
    }
}

/// Somebody whom questions can be for, on any of their devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Names them.
    pub name: String,
    /// When they were added, in milliseconds since 1970.
    pub added_ms: u64,
}

/// What removing a person has left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    /// How many of their tokens and devices were revoked.
    pub revoked: u64,
    /// How many questions wait for them and for nobody else: only their askers can end these.
    pub waiting: u64,
}

/// A credential as it is kept. Times are the store's, in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// What it was made with; the address is the last that used it.
    pub made: NewCredential,
    /// When it was made.
    pub made_ms: u64,
    /// When it was used last; noted once a minute at most.
    pub seen_ms: Option<u64>,
}

/// How a device comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairingKind {
    /// By a link that the person opened: who has it may come in.
    Link,
    /// By a code that the device shows: somebody at a terminal has to let it in.
    Code,
}

/// A device that is about to come in, once, before the time is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// Names it; for a [`PairingKind::Code`] the code itself, without its dash.
    pub id: String,
    /// Link or code.
    pub kind: PairingKind,
    /// Of what the device shows to come in.
    pub digest: Digest,
    /// From where, as far as a server knows.
    pub address: Option<String>,
    /// What the device says it is.
    pub browser: Option<String>,
    /// When it is over, in milliseconds since 1970.
    pub expires_ms: u64,
    /// How often it was tried with a wrong secret.
    pub tries: u32,
    /// Whether somebody at a terminal has let it in.
    pub is_approved: bool,
    /// Whose device it becomes, once that is known.
    pub person: Option<String>,
}

impl Pairing {
    /// The lifetime of a code, in milliseconds.
    pub const LASTS_MS: u64 = 5 * 60 * 1000;
    /// The most attempts with a wrong secret.
    pub const MOST_TRIES: u32 = 5;
    /// The most codes in use for one address. Limited because a code needs no credential.
    pub const MOST_CODES: u64 = 20;
    /// The most codes in use for all addresses together, unknown ones included.
    pub const MOST_CODES_IN_ALL: u64 = 256;
}

/// Credentials that no server accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCredentials {
    /// How many.
    pub count: u64,
    /// When the last one came, in milliseconds since 1970.
    pub last_ms: u64,
    /// From where.
    pub address: String,
}

/// A store that keeps credentials. Each call is on its way when the method returns, as with [`Store`](super::Store).
pub trait Credentials: Send + Sync {
    /// Adds a person, synced; whether they were not there. [`Forbidden`](super::StoreError::Forbidden) where a live credential acts under this name:
    /// its answers would be taken for theirs. So would those of a person whose name looks like it.
    fn add_person(&self, name: &str) -> Call<bool>;

    /// Everybody, by their names.
    fn people(&self) -> Call<Vec<Person>>;

    /// Removes a person and revokes what is theirs, in one transaction, synced; `None` where there is no such person. Devices that are
    /// about to come in as theirs do not. Questions stay for whom they are.
    fn remove_person(&self, name: &str) -> Call<Option<Removed>>;

    /// Keeps one, synced, and in the same transaction revokes the other tokens of its name; how many there were. Devices replace
    /// nothing. [`Forbidden`](super::StoreError::Forbidden) if one would act as another with it: questions belong to names.
    fn add_credential(&self, new: &NewCredential) -> Call<(Credential, u64)>;

    /// The live one with this id.
    fn credential(&self, id: &str) -> Call<Option<Credential>>;

    /// All that live, the earliest first.
    fn credentials(&self) -> Call<Vec<Credential>>;

    /// Notes that one was used, from there.
    fn credential_seen(&self, id: &str, address: &str) -> Call<()>;

    /// Revokes one, synced; whether there was one.
    fn revoke_credential(&self, id: &str) -> Call<bool>;

    /// Says `Lagged` whenever credentials may have been revoked, in this process or in another.
    fn watch_revocations(&self) -> Call<Watch>;

    /// Keeps a pairing until it is over; those that are over are forgotten. Its `expires_ms` is set by the store.
    /// [`Forbidden`](super::StoreError::Forbidden) if too many codes are in use.
    fn offer_pairing(&self, pairing: &Pairing) -> Call<Pairing>;

    /// The pairing of this id, unless it is over.
    fn pairing(&self, id: &str) -> Call<Option<Pairing>>;

    /// Counts a try with a wrong secret; after [`Pairing::MOST_TRIES`] it is over.
    fn pairing_failed(&self, id: &str) -> Call<()>;

    /// Lets a device with a code in, as this person's; whether there was one, and nobody had let it in as another's.
    fn approve_pairing(&self, id: &str, person: &str) -> Call<bool>;

    /// Makes a credential of a pairing, once; `None` where that is over, or not approved. One transaction, synced.
    fn redeem_pairing(&self, id: &str, new: &NewCredential) -> Call<Option<Credential>>;

    /// Counts a credential that was not accepted.
    fn credential_failed(&self, address: &str) -> Call<()>;

    /// Credentials that were not accepted.
    fn failed_credentials(&self) -> Call<Option<FailedCredentials>>;
}
