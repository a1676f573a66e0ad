//! The message of a server at its start: its address, a link for a browser, and a warning if encryption is missing.

use crate::pairing::{self, PairingError};
use crate::server::Options;
use askuser::store::Credentials;
use std::io;
use std::net::{SocketAddr, UdpSocket};

/// An invitation of one browser to a server.
pub struct Invitation {
    /// The link that the browser opens.
    pub link: String,
    /// The link as a QR code for a camera; `None` if other machines cannot reach the address.
    pub picture: Option<String>,
    /// The warning to the person, if the connection is not encrypted.
    pub warning: Option<&'static str>,
}

/// Invites a browser to the server at this address.
///
/// # Errors
/// If the store cannot be written.
pub async fn invite(
    store: &dyn Credentials,
    address: SocketAddr,
    options: &Options,
) -> Result<Invitation, PairingError> {
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let base = match &options.public_url {
        Some(url) => url.clone(),
        None => format!("{scheme}://{}", reachable(address)),
    };
    let link = format!("{base}/#pair={}", pairing::link_code(store, &options.person).await?);
    let is_elsewhere = !address.ip().is_loopback() || options.public_url.is_some();
    let warning = "not encrypted: everyone on the way can read questions, answers and tokens; give --tls CERT KEY, or listen on \
                   127.0.0.1 behind a proxy that encrypts (--public-url)";
    Ok(Invitation {
        picture: pairing::qr(&link).filter(|_| is_elsewhere),
        warning: (!address.ip().is_loopback() && options.tls.is_none()).then_some(warning),
        link,
    })
}

/// Normalises the address of a proxy in front of a server.
///
/// # Errors
/// If the address is invalid.
pub fn public_url(text: &str) -> Result<String, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let authority = rest.trim_end_matches('/');
    let is_plain = !authority.is_empty() && !authority.contains(['/', '?', '#', '@', ' ']);
    let is_url = matches!(scheme, "http" | "https") && is_plain;
    if is_url {
        Ok(format!("{scheme}://{authority}"))
    } else {
        Err(format!("{text:?}, must be https://HOST, without a path"))
    }
}

/// Returns the address for other machines. For a wildcard address this is the address of the default route. No packet
/// is sent to find it.
fn reachable(address: SocketAddr) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    let outward = || -> io::Result<SocketAddr> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    };
    match outward() {
        Ok(local) => SocketAddr::new(local.ip(), address.port()),
        Err(_) => SocketAddr::new([127, 0, 0, 1].into(), address.port()),
    }
}
