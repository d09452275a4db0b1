//! TLS by rustls: PEM certificates, mutual TLS, the name check that can be turned off.

use std::io;
use std::sync::Arc;

use tokio_rustls::rustls;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use super::config::{Pem, TlsConfig};
use super::error::ClientError;

/// The largest PEM file that is read, in bytes.
const MAX_PEM: u64 = 16 << 20;

/// Returns rustls' configuration of `config`.
///
/// # Errors
///
/// A file or a text that holds no certificate or key that can be used.
pub(super) fn rustls_config(config: &TlsConfig) -> Result<Arc<rustls::ClientConfig>, ClientError> {
    let provider = Arc::new(default_provider());
    let roots = Arc::new(trusted(config.trust.as_ref())?);
    let wrong = |key: &str, cause: &dyn std::fmt::Display| ClientError::Config {
        key: key.to_owned(),
        cause: cause.to_string(),
    };
    let inner = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
        .build()
        .map_err(|error| wrong("ssl.truststore", &error))?;
    let verifier = Arc::new(Verifier {
        inner,
        check_name: config.check_name,
    });
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong("ssl.enabled.protocols", &error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let built = match &config.identity {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder
            .with_client_auth_cert(certificates("ssl.keystore", chain)?, private_key(key)?)
            .map_err(|error| wrong("ssl.keystore", &error))?,
    };
    Ok(Arc::new(built))
}

fn trusted(trust: Option<&Pem>) -> Result<RootCertStore, ClientError> {
    let mut roots = RootCertStore::empty();
    match trust {
        Some(pem) => {
            for certificate in certificates("ssl.truststore", pem)? {
                roots
                    .add(certificate)
                    .map_err(|error| ClientError::Config {
                        key: "ssl.truststore".to_owned(),
                        cause: error.to_string(),
                    })?;
            }
        }
        None => {
            // Some of a system's certificates may be unreadable; the others count.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

fn text(key: &str, pem: &Pem) -> Result<Vec<u8>, ClientError> {
    let path = match pem {
        Pem::Text(text) => return Ok(text.expose().as_bytes().to_vec()),
        Pem::File(path) => path,
    };
    let read = || -> io::Result<Vec<u8>> {
        use io::Read as _;
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        file.take(MAX_PEM).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error| ClientError::Config {
        key: format!("{key}.location"),
        cause: format!("cannot read {}: {error}", path.display()),
    })
}

fn certificates(key: &str, pem: &Pem) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let bytes = text(key, pem)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(list) if !list.is_empty() => Ok(list),
        _ => Err(ClientError::Config {
            key: key.to_owned(),
            cause: "no PEM certificate (-----BEGIN CERTIFICATE-----) in it".to_owned(),
        }),
    }
}

fn private_key(pem: &Pem) -> Result<PrivateKeyDer<'static>, ClientError> {
    let bytes = text("ssl.keystore", pem)?;
    let encrypted = String::from_utf8_lossy(&bytes).contains("BEGIN ENCRYPTED PRIVATE KEY");
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| ClientError::Config {
        key: "ssl.keystore".to_owned(),
        cause: if encrypted {
            "its private key is encrypted, which krescue does not read; openssl pkcs8 -in FILE -out KEY.pem takes the password away"
        } else {
            "no PEM private key (-----BEGIN PRIVATE KEY-----) in it"
        }
        .to_owned(),
    })
}

/// rustls' own check of a certificate; on request without the name.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    check_name: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        // The name is the last thing that is checked.
        match verified {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.check_name => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
