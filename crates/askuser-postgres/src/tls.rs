//! TLS for the connections, with rustls. The certificate must be valid for the name of the host.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use std::error::Error;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

type Failure = Box<dyn Error + Send + Sync>;

/// A TLS configuration for connections; `None` for connections without encryption.
#[derive(Clone)]
pub(crate) struct Tls(Option<Arc<ClientConfig>>);

impl Tls {
    pub(crate) fn none() -> Tls {
        Tls(None)
    }

    /// Returns a configuration that trusts the system's certificates, or only those in the given file.
    pub(crate) fn verifying(roots: Option<&Path>) -> Result<Tls, Failure> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let config = match roots {
            None => builder.with_platform_verifier()?.with_no_client_auth(),
            Some(file) => {
                let failed = |why: &dyn std::fmt::Display| format!("sslrootcert: {}: {why}", file.display());
                let mut store = RootCertStore::empty();
                for certificate in CertificateDer::pem_file_iter(file).map_err(|error| failed(&error))? {
                    store.add(certificate.map_err(|error| failed(&error))?).map_err(|error| failed(&error))?;
                }
                if store.is_empty() {
                    return Err(failed(&"it has no certificate").into());
                }
                builder.with_root_certificates(store).with_no_client_auth()
            }
        };
        Ok(Tls(Some(Arc::new(config))))
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Encrypted;
    type TlsConnect = Connect;
    type Error = Failure;

    fn make_tls_connect(&mut self, host: &str) -> Result<Connect, Failure> {
        Ok(Connect { config: self.0.clone(), host: host.to_owned() })
    }
}

pub(crate) struct Connect {
    config: Option<Arc<ClientConfig>>,
    host: String,
}

impl TlsConnect<Socket> for Connect {
    type Stream = Encrypted;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Encrypted, Failure>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let config = self.config.ok_or("TLS is off")?;
            let stream = TlsConnector::from(config).connect(ServerName::try_from(self.host)?, socket).await?;
            Ok(Encrypted(stream))
        })
    }
}

/// An encrypted connection. It does not bind the password to the TLS channel, because the certificate was verified.
pub(crate) struct Encrypted(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
