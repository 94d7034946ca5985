//! Whether the server's certificate is accepted: any, one that a root signed, or one for this very host. Not what is shown to it.
//! Dates count for every certificate, the roots too, as they do for libpq.
//! Rule: whatever is left unchecked, the handshake's own signature never is: it ties the connection to the certificate that
//! channel binding names.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::der::Validity;

/// How much of the certificate to check; with the roots.
pub enum Check {
    Nothing,
    Signer(Vec<CertificateDer<'static>>),
    SignerAndName(Vec<CertificateDer<'static>>),
}

#[derive(Debug)]
pub struct Verifier {
    roots: Option<Roots>,
    name: Name,
    algorithms: WebPkiSupportedAlgorithms,
}

/// The roots that are trusted.
#[derive(Debug)]
struct Roots {
    /// As they are in the file, with their dates where these can be read.
    certificates: Vec<(CertificateDer<'static>, Option<Validity>)>,
    /// All of them, to build chains to.
    store: Arc<RootCertStore>,
}

impl Roots {
    fn new(certificates: Vec<CertificateDer<'static>>) -> Roots {
        let store = Arc::new(store(certificates.iter()));
        let with_dates = |certificate: CertificateDer<'static>| {
            let validity = Validity::of(&certificate);
            (certificate, validity)
        };
        Roots {
            certificates: certificates.into_iter().map(with_dates).collect(),
            store,
        }
    }

    /// The certificate itself, if it is one of them.
    fn find(&self, certificate: &CertificateDer<'_>) -> Option<Option<Validity>> {
        let mut all = self.certificates.iter();
        all.find(|(root, _)| root == certificate)
            .map(|(_, validity)| *validity)
    }

    /// The reason why one of them does not count now, as where its dates cannot be read; none if all do.
    fn outdated(&self, now: UnixTime) -> Option<CertificateError> {
        let mut all = self.certificates.iter();
        all.find_map(|(_, validity)| match validity {
            Some(validity) => dated(*validity, now).err(),
            None => Some(CertificateError::BadEncoding),
        })
    }

    /// Those that count now.
    fn store_at(&self, now: UnixTime) -> RootCertStore {
        let all = self.certificates.iter();
        let valid = all
            .filter(|(_, validity)| validity.is_some_and(|validity| dated(validity, now).is_ok()));
        store(valid.map(|(certificate, _)| certificate))
    }
}

fn store<'c>(certificates: impl Iterator<Item = &'c CertificateDer<'static>>) -> RootCertStore {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(certificates.cloned());
    store
}

/// Whether it is the time of a certificate.
fn dated(validity: Validity, now: UnixTime) -> Result<(), CertificateError> {
    if now < validity.from {
        return Err(CertificateError::NotValidYetContext {
            time: now,
            not_before: validity.from,
        });
    }
    if now > validity.to {
        return Err(CertificateError::ExpiredContext {
            time: now,
            not_after: validity.to,
        });
    }
    Ok(())
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
            roots: roots.map(Roots::new),
            name,
            algorithms: provider.signature_verification_algorithms,
        }
    }

    /// Whether a chain leads to a root that counts now. A root's own dates are not looked at where chains are built.
    fn verify_chain(
        &self,
        roots: &Roots,
        certificate: &ParsedCertificate<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let all = self.algorithms.all;
        let verify = |store: &RootCertStore| {
            verify_server_cert_signed_by_trust_anchor(certificate, store, intermediates, now, all)
        };
        verify(&roots.store)?;
        match roots.outdated(now) {
            None => Ok(()),
            Some(outdated) => verify(&roots.store_at(now)).map_err(|_| outdated.into()),
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
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            match roots.find(end_entity) {
                // A server's own self-signed certificate, given as the root, is trusted while it is valid; chains cannot be built to it.
                Some(validity) => {
                    let validity = validity.ok_or(CertificateError::BadEncoding)?;
                    dated(validity, now)?;
                }
                None => self.verify_chain(roots, &certificate, intermediates, now)?,
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
