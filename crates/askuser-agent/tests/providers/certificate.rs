//! A server with a certificate that is not trusted.

use crate::conversation::{ask, model_at};
use askuser_agent::{FailureKind, ModelError};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::net::TcpListener;
use std::sync::Arc;

/// A self-signed certificate that only this test uses.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----
MIIBnTCCAUSgAwIBAgIUZTt4HVTYIG52AWzuvkrPMz+9oBEwCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMbm9ib2R5IGtub3duMCAXDTI2MTExNTA4MjYxMloYDzIxMjYx
MDIyMDgyNjEyWjAXMRUwEwYDVQQDDAxub2JvZHkga25vd24wWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAATz7zGePFqAoiM3Y5KJD4PzIaJ2eDUIbrvlDQLwOJUmxT0R
F++oYZnkX7itFMa4geE8dVUv4lJXVoVM1uzYVyj9o2wwajAdBgNVHQ4EFgQUopJV
wZiLbDDV2grA2WavWBToS+4wHwYDVR0jBBgwFoAUopJVwZiLbDDV2grA2WavWBTo
S+4wDAYDVR0TAQH/BAIwADAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYI
KoZIzj0EAwIDRwAwRAIgdNhDZbADIjT/7oNQqk5BQYLxle7Q//sIzh1+6m09tSEC
IHao9OmPbC/CHRTwycrf9GvPxG7LdlIZQPcmrEXXi5NJ
-----END CERTIFICATE-----";

/// The private key of [`CERTIFICATE`].
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgM5L4g3NjZXGf5DJs
0a7YACiW37LtF8WR7/7pNVpLRDGhRANCAATz7zGePFqAoiM3Y5KJD4PzIaJ2eDUI
brvlDQLwOJUmxT0RF++oYZnkX7itFMa4geE8dVUv4lJXVoVM1uzYVyj9
-----END PRIVATE KEY-----";

fn config() -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap())
}

#[tokio::test]
async fn an_untrusted_certificate_is_not_a_network_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        ServerConnection::new(config()).unwrap().complete_io(&mut stream).map(|_| ())
    });
    let ModelError { kind, message, .. } =
        ask(&*model_at("openai/m", &format!("https://{address}"))).await.1.expect("an error");
    let begin =
        format!("the certificate of openai at {address} is not trusted; nothing was sent: invalid peer certificate");
    assert_eq!((kind, message.starts_with(&begin)), (FailureKind::Rejected, true), "{message}");
    server.join().unwrap().expect_err("the client hangs up");
}
