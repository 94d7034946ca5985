//! Who the server is: nobody in particular, somebody a root signed for, or this very host. Not what is shown to it.
//! Rule: whatever is left unchecked, the handshake's own signature never is: it ties the connection to the certificate that
//! channel binding names.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// How much of the certificate to check; with the roots.
pub enum Check {
    Nothing,
    Signer(Vec<CertificateDer<'static>>),
    SignerAndName(Vec<CertificateDer<'static>>),
}

#[derive(Debug)]
pub struct Verifier {
    /// As they are in the file, and as a store to build chains to.
    roots: Option<(Vec<CertificateDer<'static>>, Arc<RootCertStore>)>,
    name: Name,
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Debug, PartialEq, Eq)]
enum Name {
    Any,
    MustMatch,
}

impl Verifier {
    pub fn new(check: Check, provider: &CryptoProvider) -> Verifier {
        let (roots, name) = match check {
            Check::Nothing => (None, Name::Any),
            Check::Signer(roots) => (Some(roots), Name::Any),
            Check::SignerAndName(roots) => (Some(roots), Name::MustMatch),
        };
        Verifier {
            roots: roots.map(|roots| {
                let mut store = RootCertStore::empty();
                store.add_parsable_certificates(roots.iter().cloned());
                (roots, Arc::new(store))
            }),
            name,
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some((roots, store)) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            // A server's own self-signed certificate, given as the root, is trusted as it is; chains cannot be built to it.
            if !roots.contains(end_entity) {
                verify_server_cert_signed_by_trust_anchor(
                    &certificate,
                    store,
                    intermediates,
                    now,
                    self.algorithms.all,
                )?;
            }
            if self.name == Name::MustMatch {
                verify_server_name(&certificate, server_name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
