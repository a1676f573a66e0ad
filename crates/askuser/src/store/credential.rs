//! Credentials of a store behind a server: tokens and paired devices, each with exactly one scope.
//!
//! A store keeps digests instead of secrets and compares none. A server looks a credential up by the id in a token, and
//! compares digests itself.

use super::{Call, RegisterCommand, RegisterReply as Reply, Watch, replied};
use serde::{Deserialize, Serialize};

/// A SHA-256 of a secret.
pub type Digest = [u8; 32];

/// The scope of a credential. No scope both asks and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// A new credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewCredential {
    /// The random part of the token that identifies it.
    pub id: String,
    /// The display name. Questions belong to the name, so a renewed token keeps them.
    pub name: String,
    /// The scope.
    pub scope: CredentialScope,
    /// Whether it came by pairing.
    pub is_device: bool,
    /// The person whose answers it gives. Without one it acts under its own name. A device has one.
    pub person: Option<String>,
    /// The digest of the token's secret part.
    pub digest: Digest,
    /// The address from which it was paired.
    pub address: Option<String>,
}

impl NewCredential {
    /// The name under which it acts.
    pub fn acts_as(&self) -> &str {
        self.person.as_deref().unwrap_or(&self.name)
    }
}

/// A person to whom questions may be addressed, on any of their devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Person {
    /// The name.
    pub name: String,
    /// The time of adding, in milliseconds since 1970.
    pub added_ms: u64,
}

/// The effects of removing a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Removed {
    /// The number of their revoked tokens and devices.
    pub revoked: u64,
    /// The number of pending questions addressed to them alone. Only their askers can end these.
    pub waiting: u64,
}

/// A stored credential. Times are the store's, in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// The data it was made with; the address is the last one that used it.
    pub made: NewCredential,
    /// The time of creation.
    pub made_ms: u64,
    /// The time of the last use, with a resolution of a minute.
    pub seen_ms: Option<u64>,
}

/// The way in which a device pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PairingKind {
    /// By a link that the person opened. Its holder may pair.
    Link,
    /// By a code on the device, which a person at a terminal must approve.
    Code,
}

/// A pairing in progress. It works once, before its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    /// The id; for a [`PairingKind::Code`] the code itself, without its dash.
    pub id: String,
    /// The kind.
    pub kind: PairingKind,
    /// The digest of the secret that the device shows.
    pub digest: Digest,
    /// The address of the device, if known.
    pub address: Option<String>,
    /// The device's own description.
    pub browser: Option<String>,
    /// The end of its lifetime, in milliseconds since 1970.
    pub expires_ms: u64,
    /// The number of attempts with a wrong secret.
    pub tries: u32,
    /// Whether a person at a terminal has approved it.
    pub is_approved: bool,
    /// The owner of the device, once known.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCredentials {
    /// The number of these credentials.
    pub count: u64,
    /// The time of the last one, in milliseconds since 1970.
    pub last_ms: u64,
    /// The address of the last one.
    pub address: String,
}

/// Methods that are one call of the register each.
macro_rules! register_calls {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) -> $output:ty, $command:ident, $reply:pat => $value:expr;)*) => {$(
        $(#[$doc])*
        fn $name(&self, $($argument: $kind),*) -> Call<$output> {
            let call = self.admit(RegisterCommand::$command { $($argument: $argument.to_owned()),* });
            replied(call, |reply| if let $reply = reply { Some($value) } else { None })
        }
    )*};
}

/// A store that keeps credentials. Each call is on its way when the method returns, as with [`Store`](super::Store).
pub trait Credentials: Send + Sync {
    /// Carries out a call in one transaction, as [`admit`](super::admit) decides.
    fn admit(&self, command: RegisterCommand) -> Call<Reply>;

    /// Says `Lagged` whenever credentials may have been revoked, in this process or in another.
    fn watch_revocations(&self) -> Call<Watch>;

    register_calls! {
        /// Adds a person, synced. Returns whether the person is new. Returns [`Forbidden`](super::StoreError::Forbidden) if a
        /// valid credential acts under this name, or if the name looks like another person's.
        add_person(name: &str) -> bool, AddPerson, Reply::Flag(is_new) => is_new;

        /// The people, by their names.
        people() -> Vec<Person>, People, Reply::People(people) => people;

        /// Removes a person and revokes their credentials, synced. Their pairings are removed too, and their questions stay.
        /// Returns `None` if there is no such person.
        remove_person(name: &str) -> Option<Removed>, RemovePerson, Reply::Removed(removed) => removed;

        /// Adds a credential, synced, and revokes the other tokens of its name. Returns their number. A device replaces none.
        /// Returns [`Forbidden`](super::StoreError::Forbidden) if it would act under the name of another.
        add_credential(new: &NewCredential) -> (Credential, u64), AddCredential, Reply::Added(made, replaced) => (made, replaced);

        /// The valid credential of this id.
        credential(id: &str) -> Option<Credential>, Credential, Reply::Credential(credential) => credential;

        /// The valid credentials, the earliest first.
        credentials() -> Vec<Credential>, Credentials, Reply::Credentials(all) => all;

        /// Notes that a credential was used, and from where.
        credential_seen(id: &str, address: &str) -> (), Seen, Reply::Done => ();

        /// Revokes a credential, synced. Returns whether it was valid.
        revoke_credential(id: &str) -> bool, Revoke, Reply::Flag(was_valid) => was_valid;

        /// Keeps a pairing for its lifetime, which the store sets, and removes those that are over. Returns
        /// [`Forbidden`](super::StoreError::Forbidden) if too many codes are in use.
        offer_pairing(pairing: &Pairing) -> Pairing, Offer, Reply::Offered(pairing) => pairing;

        /// The pairing of this id, unless it is over.
        pairing(id: &str) -> Option<Pairing>, Pairing, Reply::Pairing(pairing) => pairing;

        /// Counts an attempt with a wrong secret. After [`Pairing::MOST_TRIES`] the pairing is over.
        pairing_failed(id: &str) -> (), PairingFailed, Reply::Done => ();

        /// Approves a device with a code, as this person's. Returns whether there was one, and not approved as another's.
        approve_pairing(id: &str, person: &str) -> bool, Approve, Reply::Flag(is_known) => is_known;

        /// Makes a credential of a pairing, once, synced. Returns `None` if the pairing is over or not approved.
        redeem_pairing(id: &str, new: &NewCredential) -> Option<Credential>, Redeem, Reply::Credential(made) => made;

        /// Counts a credential that was not accepted.
        credential_failed(address: &str) -> (), Failed, Reply::Done => ();

        /// The credentials that were not accepted.
        failed_credentials() -> Option<FailedCredentials>, FailedCredentials, Reply::Failed(failed) => failed;
    }
}
