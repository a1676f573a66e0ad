//! Credentials of a store behind a server: tokens and paired devices, each with exactly one scope.
//!
//! A store keeps the digests of secrets and does not compare them. A server looks up a credential by the id in a token,
//! and compares the digests itself.

use super::{Call, RegisterCommand, RegisterReply as Reply, Watch, replied};
use serde::{Deserialize, Serialize};

/// The SHA-256 digest of a secret.
pub type Digest = [u8; 32];

/// The scope of a credential. No scope both asks and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CredentialScope {
    /// The right to put questions, and to see, wait for, use and withdraw the credential's own.
    Ask,
    /// The right to see pending and answered questions, to answer them, and to save drafts.
    Answer,
    /// The right to list, create and revoke credentials, and to approve devices.
    Admin,
}

named!(CredentialScope { Ask = "ask", Answer = "answer", Admin = "admin" });

/// The data of a new credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewCredential {
    /// The id of the credential, a random part of its token.
    pub id: String,
    /// The display name. Questions belong to the name, so they stay with a renewed token.
    pub name: String,
    /// The scope of the credential.
    pub scope: CredentialScope,
    /// Whether the credential belongs to a paired device.
    pub is_device: bool,
    /// The person in whose name the credential answers. A device always has a person. A token without a person acts
    /// under its own name.
    pub person: Option<String>,
    /// The digest of the token's secret part.
    pub digest: Digest,
    /// The address from which the credential was paired, if known.
    pub address: Option<String>,
}

impl NewCredential {
    /// The name under which the credential acts.
    pub fn acts_as(&self) -> &str {
        self.person.as_deref().unwrap_or(&self.name)
    }
}

/// A person to whom questions may be addressed, on any of their devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Person {
    /// The name of the person.
    pub name: String,
    /// The time when the person was added, in milliseconds since 1970.
    pub added_ms: u64,
}

/// The effects of removing a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Removed {
    /// The number of the person's revoked tokens and devices.
    pub revoked: u64,
    /// The number of pending questions addressed to the person alone. Only their askers can end these questions.
    pub waiting: u64,
}

/// A stored credential. Times are the store's, in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// The data with which the credential was created. The address is the last one that used it.
    pub made: NewCredential,
    /// The time when the credential was created.
    pub made_ms: u64,
    /// The time of the last use, to the minute; `None` before the first use.
    pub seen_ms: Option<u64>,
}

/// The way in which a device pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PairingKind {
    /// A link that the person opens. The holder of the link may pair.
    Link,
    /// A code on the device, which a person at a terminal must approve.
    Code,
}

/// A pairing in progress. It works once, before it expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    /// The id. For a [`PairingKind::Code`] it is the code without its dash.
    pub id: String,
    /// The way in which the device pairs.
    pub kind: PairingKind,
    /// The digest of the secret that the device shows.
    pub digest: Digest,
    /// The address of the device, if known.
    pub address: Option<String>,
    /// The device's own description of its browser, if given.
    pub browser: Option<String>,
    /// The time when the pairing expires, in milliseconds since 1970.
    pub expires_ms: u64,
    /// The number of attempts with a wrong secret.
    pub tries: u32,
    /// Whether a person at a terminal has approved the pairing.
    pub is_approved: bool,
    /// The owner of the device; `None` while unknown.
    pub person: Option<String>,
}

impl Pairing {
    /// The lifetime of a code, in milliseconds.
    pub const LASTS_MS: u64 = 5 * 60 * 1000;
    /// The maximum number of attempts with a wrong secret.
    pub const MOST_TRIES: u32 = 5;
    /// The maximum number of codes in use for one address. It exists because a code needs no credential.
    pub const MOST_CODES: u64 = 20;
    /// The maximum number of codes in use for all addresses together, including unknown addresses.
    pub const MOST_CODES_IN_ALL: u64 = 256;
}

/// The rejected credentials of a store: their number and the last one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCredentials {
    /// The number of rejected credentials.
    pub count: u64,
    /// The time of the last rejection, in milliseconds since 1970.
    pub last_ms: u64,
    /// The address that sent the last rejected credential.
    pub address: String,
}

/// Defines the methods that are one call of the register each.
macro_rules! register_calls {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) -> $output:ty, $command:ident, $reply:pat => $value:expr;)*) => {$(
        $(#[$doc])*
        fn $name(&self, $($argument: $kind),*) -> Call<$output> {
            let call = self.admit(RegisterCommand::$command { $($argument: $argument.to_owned()),* });
            replied(call, |reply| if let $reply = reply { Some($value) } else { None })
        }
    )*};
}

/// A store that keeps credentials. A call is under way when its method returns, as with [`Store`](super::Store).
pub trait Credentials: Send + Sync {
    /// Runs a command in one transaction, as [`admit`](super::admit) decides.
    fn admit(&self, command: RegisterCommand) -> Call<Reply>;

    /// Returns a watch that sends `Lagged` whenever credentials may have been revoked, in any process.
    fn watch_revocations(&self) -> Call<Watch>;

    register_calls! {
        /// Adds a person, synced to disk. Returns whether the person is new. Fails with
        /// [`Forbidden`](super::StoreError::Forbidden) if a valid credential acts under this name, or if the name looks
        /// like another person's.
        add_person(name: &str) -> bool, AddPerson, Reply::Flag(is_new) => is_new;

        /// Returns the people, sorted by name.
        people() -> Vec<Person>, People, Reply::People(people) => people;

        /// Removes a person and revokes their credentials, synced to disk. Their pairings are removed, too, but their
        /// questions stay. Returns `None` if the person does not exist.
        remove_person(name: &str) -> Option<Removed>, RemovePerson, Reply::Removed(removed) => removed;

        /// Adds a credential, synced to disk, and revokes the other tokens of its name. A device revokes no token.
        /// Returns the credential and the number of revoked tokens. Fails with
        /// [`Forbidden`](super::StoreError::Forbidden) if the credential would act under another's name.
        add_credential(new: &NewCredential) -> (Credential, u64), AddCredential, Reply::Added(made, replaced) => (made, replaced);

        /// Returns the valid credential with this id; `None` if there is none.
        credential(id: &str) -> Option<Credential>, Credential, Reply::Credential(credential) => credential;

        /// Returns the valid credentials, earliest first.
        credentials() -> Vec<Credential>, Credentials, Reply::Credentials(all) => all;

        /// Records the use of a credential and the address of its user.
        credential_seen(id: &str, address: &str) -> (), Seen, Reply::Done => ();

        /// Revokes a credential, synced to disk. Returns whether it was valid.
        revoke_credential(id: &str) -> bool, Revoke, Reply::Flag(was_valid) => was_valid;

        /// Stores a pairing for its lifetime, which the store sets, and removes expired pairings. Fails with
        /// [`Forbidden`](super::StoreError::Forbidden) if too many codes are in use.
        offer_pairing(pairing: &Pairing) -> Pairing, Offer, Reply::Offered(pairing) => pairing;

        /// Returns the pairing with this id; `None` if it is over.
        pairing(id: &str) -> Option<Pairing>, Pairing, Reply::Pairing(pairing) => pairing;

        /// Counts an attempt with a wrong secret. A pairing is over after [`Pairing::MOST_TRIES`] such attempts.
        pairing_failed(id: &str) -> (), PairingFailed, Reply::Done => ();

        /// Approves the device with this code as this person's device. Returns `false` if the code is unknown, or
        /// approved for another person.
        approve_pairing(id: &str, person: &str) -> bool, Approve, Reply::Flag(is_known) => is_known;

        /// Turns a pairing into a credential, once, synced to disk. Returns `None` if the pairing is over or not
        /// approved.
        redeem_pairing(id: &str, new: &NewCredential) -> Option<Credential>, Redeem, Reply::Credential(made) => made;

        /// Counts a rejected credential.
        credential_failed(address: &str) -> (), Failed, Reply::Done => ();

        /// Returns the rejected credentials; `None` if there are none.
        failed_credentials() -> Option<FailedCredentials>, FailedCredentials, Reply::Failed(failed) => failed;
    }
}
