//! Channel binding data of type tls-server-end-point (RFC 5929, section 4.1): a hash of the server's certificate. Not SCRAM.
//! Rule: the hash is the one of the certificate's own signature, but SHA-256 in place of MD5 and SHA-1; a signature without one
//! hash has no binding.

use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};

use super::der::{OBJECT_IDENTIFIER, SEQUENCE, element};

/// `[0]` of the parameters of RSASSA-PSS: the hash, SHA-1 when it is left out.
const PSS_HASH: u8 = 0xa0;

#[derive(Clone, Copy)]
enum Hash {
    Is(&'static Algorithm),
    InParameters,
}

/// The data for a certificate in DER.
pub fn server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = signature_hash(certificate)?;
    Some(digest(algorithm, certificate).as_ref().to_vec())
}

/// `Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, … }` (RFC 5280, section 4.1).
fn signature_hash(certificate: &[u8]) -> Option<&'static Algorithm> {
    let (fields, _) = element(certificate, SEQUENCE)?;
    let (_, after) = element(fields, SEQUENCE)?;
    let (algorithm, _) = element(after, SEQUENCE)?;
    let (identifier, parameters) = element(algorithm, OBJECT_IDENTIFIER)?;
    match hash(identifier)? {
        Hash::Is(algorithm) => Some(algorithm),
        Hash::InParameters => {
            let (parameters, _) = element(parameters, SEQUENCE)?;
            let Some((tagged, _)) = element(parameters, PSS_HASH) else {
                return Some(&SHA256);
            };
            let (algorithm, _) = element(tagged, SEQUENCE)?;
            match hash(element(algorithm, OBJECT_IDENTIFIER)?.0)? {
                Hash::Is(algorithm) => Some(algorithm),
                Hash::InParameters => None,
            }
        }
    }
}

/// By the contents of an object identifier, of a signature (RFC 3279, 4055, 5758) or a hash (RFC 4055).
fn hash(identifier: &[u8]) -> Option<Hash> {
    Some(Hash::Is(match identifier {
        // 1.2.840.113549.1.1.N: RSA with MD5, SHA-1, SHA-256, SHA-384, SHA-512; and RSASSA-PSS.
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 4 | 5 | 11] => &SHA256,
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 12] => &SHA384,
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 13] => &SHA512,
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 10] => return Some(Hash::InParameters),
        // 1.2.840.10045.4.1 and .3.N: ECDSA with SHA-1, SHA-256, SHA-384, SHA-512.
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 1] => &SHA256,
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 2] => &SHA256,
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 3] => &SHA384,
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 4] => &SHA512,
        // 1.3.14.3.2.26 and 2.16.840.1.101.3.4.2.N: SHA-1, SHA-256, SHA-384, SHA-512 themselves.
        [0x2b, 0x0e, 0x03, 0x02, 0x1a] => &SHA256,
        [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 1] => &SHA256,
        [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 2] => &SHA384,
        [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 3] => &SHA512,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An element of fewer than 128 bytes.
    fn der(tag: u8, contents: &[u8]) -> Vec<u8> {
        let length = u8::try_from(contents.len()).unwrap();
        [&[tag, length][..], contents].concat()
    }

    #[track_caller]
    fn check(algorithm: &[u8], expected: Option<&'static Algorithm>) {
        let fields = [
            der(SEQUENCE, &[2, 1, 1]),
            algorithm.to_vec(),
            der(3, &[0, 1]),
        ]
        .concat();
        let certificate = der(SEQUENCE, &fields);
        assert_eq!(signature_hash(&certificate), expected);
        let data = expected.map(|algorithm| digest(algorithm, &certificate).as_ref().to_vec());
        assert_eq!(server_end_point(&certificate), data);
    }

    #[test]
    fn binding_uses_the_hash_of_the_signature() {
        let rsa = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
        let ecdsa = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
        let sha2 = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];
        for (of, last, hash) in [
            (&rsa[..], 4, &SHA256),
            (&rsa, 5, &SHA256),
            (&rsa, 11, &SHA256),
            (&rsa, 12, &SHA384),
            (&rsa, 13, &SHA512),
            (&ecdsa[..6], 1, &SHA256),
            (&ecdsa, 2, &SHA256),
            (&ecdsa, 3, &SHA384),
            (&ecdsa, 4, &SHA512),
            (&[0x2b, 0x0e, 0x03, 0x02], 0x1a, &SHA256),
            (&sha2, 1, &SHA256),
            (&sha2, 2, &SHA384),
            (&sha2, 3, &SHA512),
        ] {
            let identifier = der(OBJECT_IDENTIFIER, &[of, &[last]].concat());
            let algorithm = der(SEQUENCE, &[identifier, vec![5, 0]].concat());
            check(&algorithm, Some(hash));
        }
        let ed25519 = der(SEQUENCE, &der(OBJECT_IDENTIFIER, &[0x2b, 0x65, 0x70]));
        check(&ed25519, None);
    }

    #[test]
    fn pss_names_its_hash_in_the_parameters() {
        let pss = der(
            OBJECT_IDENTIFIER,
            &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 10],
        );
        let sha384 = der(
            OBJECT_IDENTIFIER,
            &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 2],
        );
        let parameters = der(SEQUENCE, &der(PSS_HASH, &der(SEQUENCE, &sha384)));
        check(
            &der(SEQUENCE, &[pss.clone(), parameters].concat()),
            Some(&SHA384),
        );
        check(
            &der(SEQUENCE, &[pss.clone(), der(SEQUENCE, &[])].concat()),
            Some(&SHA256),
        );
        let within = der(SEQUENCE, &der(PSS_HASH, &der(SEQUENCE, &pss)));
        check(&der(SEQUENCE, &[pss, within].concat()), None);
    }

    #[test]
    fn bytes_that_are_no_certificate_have_no_binding() {
        for bytes in [
            &[][..],
            &[SEQUENCE],
            &[SEQUENCE, 5, 0],
            &[SEQUENCE, 0x80, 0],
            &[SEQUENCE, 0x85, 1, 1, 1, 1, 1],
            &[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff],
            &[2, 1, 1],
        ] {
            assert_eq!(server_end_point(bytes), None);
        }
    }
}
