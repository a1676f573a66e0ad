//! A token: the id of a credential, and a secret of which the store keeps the digest.

use crate::request_guard::is_same;
use askuser::store::{Credential, CredentialScope, Credentials, Digest, NewCredential, StoreError};
use askuser_sys::random;
use sha2::Digest as _;
use std::io;

/// The prefix of every token, so that scanners for leaked secrets recognise it.
const PREFIX: &str = "au_";

/// Makes a token: what it is, and the credential that the store keeps of it. Without a person it acts under its own name.
///
/// # Errors
/// Where the system gives no random numbers.
pub fn make(name: &str, scope: CredentialScope, person: Option<&str>) -> io::Result<(String, NewCredential)> {
    let (id, secret) = (random::<6>()?, random::<32>()?);
    let token = format!("{PREFIX}{id}_{secret}");
    let (name, person, digest) = (name.to_owned(), person.map(str::to_owned), digest(&secret));
    Ok((token, NewCredential { id, name, scope, is_device: false, person, digest, address: None }))
}

/// A token that was just made.
pub struct NewToken {
    /// The token itself. No one can read it again.
    pub token: String,
    /// The number of tokens of the same name that it replaces.
    pub replaced: u64,
}

/// Makes a token and stores its credential, which replaces the tokens of the same name. Questions belong to the name.
///
/// # Errors
/// If it cannot be stored, or a credential of that name has another scope.
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

/// Returns whether this text can be the id in a token.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The credential of a token; `None` for a token that does not count.
///
/// # Errors
/// Where the store cannot be read.
pub async fn credential(store: &dyn Credentials, token: &str) -> Result<Option<Credential>, StoreError> {
    let Some((id, secret)) = token.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_')) else { return Ok(None) };
    let known = store.credential(id).await?;
    Ok(known.filter(|known| is_same(&known.made.digest, &digest(secret))))
}

pub(crate) fn digest(secret: &str) -> Digest {
    sha2::Sha256::digest(secret).into()
}

/// Random bytes in hexadecimal digits.
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
