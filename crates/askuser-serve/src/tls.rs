//! TLS with the user's own certificate.

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;

/// Installs the provider of cryptography for this process, unless there is one.
pub(crate) fn install_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Loads a certificate and its key.
///
/// # Errors
/// If a file cannot be read, or if the certificate and the key do not match.
pub fn config(certificate: &Path, key: &Path) -> Result<ServerConfig, String> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let certificates = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| failed(certificate, &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(key, &error))?;
    install_provider();
    ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .map_err(|error| failed(certificate, &error))
}
