//! Which version of X.509 a certificate has: the library for TLS takes version 3 alone, and its error says little. Checks no signature.

use rustls::pki_types::CertificateDer;

/// What to do about a certificate of version 1.
pub(crate) const VERSION_1: &str = "the certificate is of X.509 version 1, which TLS does not take here: issue one of version 3, as by `openssl x509 -req -extfile FILE` where FILE holds `subjectAltName = DNS:localhost`";

/// Whether a chain begins with a certificate that will not be taken.
#[must_use]
pub(crate) fn begins_with_version_1(chain: &[CertificateDer<'_>]) -> bool {
    chain.first().is_some_and(|leaf| is_version_1(leaf))
}

/// What to do about a certificate of version 1, when that is why a handshake failed.
#[must_use]
pub fn version_hint(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .any(|cause| cause.to_string().contains("UnsupportedCertVersion"))
        .then_some(VERSION_1)
}

/// Version 1 has no field for the version, with which the inner part of other certificates begins (RFC 5280, 4.1).
fn is_version_1(der: &[u8]) -> bool {
    const SEQUENCE: u8 = 0x30;
    const VERSION: u8 = 0xa0;
    let inner = within(der, SEQUENCE).and_then(|outer| within(outer, SEQUENCE));
    inner
        .and_then(<[u8]>::first)
        .is_some_and(|first| *first != VERSION)
}

/// What is in an element with this tag.
fn within(der: &[u8], tag: u8) -> Option<&[u8]> {
    let (first, rest) = der.split_first()?;
    let (length, rest) = rest.split_first()?;
    let more = match length {
        0x80.. => usize::from(length & 0x7f),
        _ => 0,
    };
    (*first == tag).then(|| rest.get(more..)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificate_without_a_version_field_is_of_version_1() {
        let with = |inner: &[u8]| {
            let long = [&[0x30, 0x82, 1, 0, 0x30, 0x81, 200][..], inner].concat();
            let short = [&[0x30, 20, 0x30, 18][..], inner].concat();
            [long, short].map(|der| is_version_1(&der))
        };
        assert_eq!(with(&[0xa0, 3, 2, 1, 2]), [false; 2]);
        assert_eq!(with(&[2, 1, 7]), [true; 2]);
        for broken in [
            &b""[..],
            &[0x30],
            &[0x30, 0x82],
            &[0x31, 2, 0x30, 0],
            &[0x30, 2, 0x30, 0],
        ] {
            assert!(!is_version_1(broken), "{broken:?}");
        }
    }
}
