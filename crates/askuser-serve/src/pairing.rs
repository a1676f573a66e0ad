//! Pairing of a device. The person opens a link, or approves a code at a terminal that the device shows.

use crate::api::CodeToShow;
use crate::request_guard::is_same;
use crate::token::{self, digest, random};
use askuser::Violation;
use askuser::store::{CredentialScope, Credentials, Pairing, PairingKind, StoreError};
use qrcodegen::{QrCode, QrCodeEcc};
use std::io;

/// The letters and digits that are easy to tell apart.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// The reason why a device was refused.
#[derive(Debug, thiserror::Error)]
pub enum PairingError {
    /// The code was used, has expired, was tried too often, or never existed.
    #[error("this code was used already, or its time is over")]
    Gone,
    /// No person has approved the code yet.
    #[error("nobody has let this device in yet")]
    NotYet,
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system provides no random numbers.
    #[error("cannot get random numbers: {0}")]
    Random(#[from] io::Error),
    /// The device's own name is invalid.
    #[error("{0}")]
    Name(Violation),
}

/// Creates a code of 128 random bits that lets one device of a person in, for five minutes. In a link, the code follows
/// `#pair=`.
///
/// # Errors
/// If the store cannot be written.
pub async fn link_code(store: &dyn Credentials, person: &str) -> Result<String, PairingError> {
    let (id, secret) = (random::<6>()?, random::<16>()?);
    let offered = offered(id.clone(), PairingKind::Link, &secret, None, None);
    store.offer_pairing(&Pairing { person: Some(person.to_owned()), ..offered }).await?;
    Ok(format!("{id}.{secret}"))
}

/// Creates a code for a device to show, such as `ABCD-EFGH`, and the secret that the device keeps.
pub(crate) async fn shown_code(
    store: &dyn Credentials,
    address: Option<String>,
    browser: Option<String>,
) -> Result<CodeToShow, PairingError> {
    let bytes = askuser_sys::random::bytes::<8>()?;
    let id: String = bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect();
    let secret = random::<32>()?;
    let pairing = offered(id.clone(), PairingKind::Code, &secret, address, browser);
    let expires_ms = store.offer_pairing(&pairing).await?.expires_ms;
    Ok(CodeToShow { code: format!("{}-{}", &id[..4], &id[4..]), secret, expires_ms })
}

/// Returns the id of a code as a person types it.
pub fn code_id(code: &str) -> String {
    code.chars().filter(|letter| !matches!(letter, '-' | ' ')).map(|letter| letter.to_ascii_uppercase()).collect()
}

/// Returns the pairing of the browser that shows this code; `None` if there is none.
///
/// # Errors
/// If the store cannot be read.
pub async fn of_code(store: &dyn Credentials, code: &str) -> Result<Option<Pairing>, StoreError> {
    Ok(store.pairing(&code_id(code)).await?.filter(|pairing| pairing.kind == PairingKind::Code))
}

fn offered(id: String, kind: PairingKind, secret: &str, address: Option<String>, browser: Option<String>) -> Pairing {
    let digest = digest(secret);
    Pairing { id, kind, digest, address, browser, expires_ms: 0, tries: 0, is_approved: false, person: None }
}

/// Returns the pairing of a device that knows its secret. A wrong secret counts as a failed attempt.
pub(crate) async fn known(
    store: &dyn Credentials,
    (id, secret): (&str, &str),
    kind: PairingKind,
) -> Result<Pairing, PairingError> {
    let pairing = store.pairing(id).await?.filter(|pairing| pairing.kind == kind).ok_or(PairingError::Gone)?;
    if !is_same(&pairing.digest, &digest(secret)) {
        store.pairing_failed(id).await?;
        return Err(PairingError::Gone);
    }
    Ok(pairing)
}

/// Returns the token of a device that knows the secret of a pairing, once. If the pairing names no person, the device
/// belongs to the owner.
pub(crate) async fn redeem(
    store: &dyn Credentials,
    (id, secret): (&str, &str),
    kind: PairingKind,
    (name, owner, address): (&str, &str, String),
) -> Result<String, PairingError> {
    let pairing = known(store, (id, secret), kind).await?;
    if kind == PairingKind::Code && !pairing.is_approved {
        return Err(PairingError::NotYet);
    }
    let name = free_name(store, name).await?;
    let person = pairing.person.as_deref().unwrap_or(owner);
    let (token, mut new) = token::make(&name, CredentialScope::Answer, Some(person))?;
    new.is_device = true;
    new.address = Some(address);
    store.redeem_pairing(id, &new).await?.map(|_| token).ok_or(PairingError::Gone)
}

/// Returns a name that no other credential has, because two phones of the same make are two devices.
async fn free_name(store: &dyn Credentials, name: &str) -> Result<String, StoreError> {
    let taken: Vec<String> = store.credentials().await?.into_iter().map(|known| known.made.name).collect();
    let numbered = (2..).map(|number| format!("{name} {number}"));
    let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken.contains(name));
    Ok(free.unwrap_or_else(|| name.to_owned()))
}

/// Returns a link as a QR code, with two rows per line of text; `None` if the link is too long. The code is dark on
/// light in any terminal colours.
pub fn qr(link: &str) -> Option<String> {
    const MARGIN: i32 = 2;
    let code = QrCode::encode_text(link, QrCodeEcc::Low).ok()?;
    let sides = -MARGIN..code.size() + MARGIN;
    let row = |y: i32| {
        let cell = |x: i32| match (code.get_module(x, y), code.get_module(x, y + 1)) {
            (true, true) => ' ',
            (true, false) => '▄',
            (false, true) => '▀',
            (false, false) => '█',
        };
        sides.clone().map(cell).collect::<String>()
    };
    let rows: Vec<String> = sides.clone().step_by(2).map(row).collect();
    Some(rows.join("\n"))
}
