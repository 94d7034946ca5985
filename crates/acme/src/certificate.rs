//! A certificate with its key as the cache keeps it: one PEM file, the key first, then the chain. Reads no file.
//! Rule: what does not go together (key, chain, names) is no certificate; no text of an error quotes the file.

use std::sync::Arc;

use rustls::client::verify_server_name;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use tsumugi_http::CertificateDates;

use crate::settings::DomainName;

/// A certificate that can be shown.
#[derive(Clone, Debug)]
pub(crate) struct AcmeCertificate {
    /// What TLS shows and signs with.
    pub key: Arc<CertifiedKey>,
    /// From when until when it is valid.
    pub dates: CertificateDates,
}

impl AcmeCertificate {
    /// Reads one for these names. The error says what is wrong with it.
    pub fn from_pem(pem: &[u8], names: &[DomainName]) -> Result<AcmeCertificate, String> {
        // What the parser says may quote the file, so it stays unsaid.
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(|_| "it holds no private key")?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let chain = chain.map_err(|_| "its certificates cannot be read")?;
        let leaf = chain.first().ok_or("it holds no certificate")?;
        let dates = CertificateDates::of(leaf).ok_or("its certificate has no dates")?;
        let parsed = ParsedCertificate::try_from(leaf).map_err(|error| error.to_string())?;
        for name in names {
            let wanted = ServerName::try_from(name.as_str()).map_err(|error| error.to_string())?;
            verify_server_name(&parsed, &wanted)
                .map_err(|_| format!("its certificate is not for {name}"))?;
        }
        let key = CertifiedKey::from_der(chain, key, &ring::default_provider())
            .map_err(|error| error.to_string())?;
        Ok(AcmeCertificate {
            key: Arc::new(key),
            dates,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(names: &[&str]) -> (String, String) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        (made.signing_key.serialize_pem(), made.cert.pem())
    }

    #[test]
    fn certificate_needs_its_key_and_all_of_its_names() {
        let names: Vec<DomainName> = ["a.example", "b.example"]
            .map(|name| name.parse().unwrap())
            .into();
        let (key, chain) = pem(&["a.example", "b.example"]);
        let read = |parts: &[&str]| {
            let read = AcmeCertificate::from_pem(parts.concat().as_bytes(), &names);
            read.map(|certificate| certificate.dates.lifetime() > 0)
        };
        assert_eq!(read(&[&key, &chain]), Ok(true));
        let (other_key, other_chain) = pem(&["a.example"]);
        assert_eq!(
            read(&[&other_key, &other_chain]),
            Err("its certificate is not for b.example".to_owned())
        );
        assert!(read(&[&other_key, &chain]).unwrap_err().contains("key"));
        assert_eq!(read(&[&chain]), Err("it holds no private key".to_owned()));
        assert_eq!(read(&[&key]), Err("it holds no certificate".to_owned()));
        let cut = &key[..key.len() / 2];
        let error = read(&[cut]).unwrap_err();
        assert!(!error.contains(&key[40..60]), "{error}");
    }
}
