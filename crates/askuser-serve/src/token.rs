//! Tokens. A token consists of the id of a credential and a secret, of which the store keeps the digest.

use crate::request_guard::is_same;
use askuser::store::{Credential, CredentialScope, Credentials, Digest, NewCredential, StoreError};
use askuser_sys::random;
use sha2::Digest as _;
use std::io;

/// The prefix of every token, so that scanners for leaked secrets recognise it.
const PREFIX: &str = "au_";

/// Creates a token, and the credential for the store. Without a person, the token acts under its own name.
///
/// # Errors
/// If the system provides no random numbers.
pub fn make(name: &str, scope: CredentialScope, person: Option<&str>) -> io::Result<(String, NewCredential)> {
    let (id, secret) = (random::<6>()?, random::<32>()?);
    let token = format!("{PREFIX}{id}_{secret}");
    let name = name.to_owned();
    let person = person.map(str::to_owned);
    let digest = digest(&secret);
    Ok((token, NewCredential { id, name, scope, is_device: false, person, digest, address: None }))
}

/// A token that was just created.
pub struct NewToken {
    /// The token itself, which cannot be read again.
    pub token: String,
    /// The number of tokens of the same name that the new one replaced.
    pub replaced: u64,
}

/// Creates a token and stores its credential, which replaces the tokens of the same name. Questions belong to the name,
/// so the new token keeps them.
///
/// # Errors
/// If the credential cannot be stored, or if a credential of this name has another scope.
pub async fn renew(
    store: &dyn Credentials,
    name: &str,
    scope: CredentialScope,
    person: Option<&str>,
) -> Result<NewToken, StoreError> {
    let (token, new) =
        make(name, scope, person).map_err(|error| StoreError::unavailable("cannot make a token", error))?;
    let (_, replaced) = store.add_credential(&new).await?;
    Ok(NewToken { token, replaced })
}

/// Whether this text can be the id in a token.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the credential of a token; `None` if the token is invalid.
///
/// # Errors
/// If the store cannot be read.
pub async fn credential(store: &dyn Credentials, token: &str) -> Result<Option<Credential>, StoreError> {
    let Some((id, secret)) = token.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')) else { return Ok(None) };
    let known = store.credential(id).await?;
    Ok(known.filter(|known| is_same(&known.made.digest, &digest(secret))))
}

pub(crate) fn digest(secret: &str) -> Digest {
    sha2::Sha256::digest(secret).into()
}

/// Returns random bytes in hexadecimal digits.
pub(crate) fn random<const BYTES: usize>() -> io::Result<String> {
    random::bytes::<BYTES>().map(|bytes| random::hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_256_random_bits_of_which_only_the_digest_is_kept() {
        let (token, kept) = make("ci", CredentialScope::Ask, None).unwrap();
        let (other, _) = make("ci", CredentialScope::Ask, None).unwrap();
        assert_ne!(token, other);
        let secret = token.strip_prefix("au_").and_then(|rest| rest.split_once('_')).unwrap().1;
        assert_eq!((secret.len(), kept.digest), (64, digest(secret)));
        assert!(!format!("{kept:?}").contains(secret));
    }
}
