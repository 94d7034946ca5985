//! What proves to an authority that this server has a name: files with tokens for HTTP-01, certificates for TLS-ALPN-01. Asks no authority.
//! Rule: the tokens are files of the cache, so that each process that shares it answers, whichever of them has ordered.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use crate::error::Error;
use crate::limits::TOKEN_BYTES_MAX;

/// Where HTTP-01 is asked (RFC 8555, 8.3).
const PREFIX: &str = "/.well-known/acme-challenge/";

/// The answers of HTTP-01 that an authority may ask for now. Cheap to clone; usable from any thread.
#[derive(Clone, Debug)]
pub struct ChallengeFolder(Arc<Path>);

impl ChallengeFolder {
    pub(crate) fn new(path: PathBuf) -> ChallengeFolder {
        ChallengeFolder(path.into())
    }

    /// The token that a request for this path asks for, if it may be one of a challenge.
    pub fn token(path: &str) -> Option<&str> {
        path.strip_prefix(PREFIX).filter(|token| is_token(token))
    }

    /// The answer to a token; none when there is no such challenge. Blocks on a disk.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn answer(&self, token: &str) -> io::Result<Option<String>> {
        if !is_token(token) {
            return Ok(None);
        }
        match std::fs::read_to_string(self.0.join(token)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if is_no_file(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

/// Whether there is no such file; some file systems have shorter names than a token may have.
fn is_no_file(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::InvalidFilename
    )
}

/// Whether a text is a token, base64 for URLs, and so the name of a file that leads nowhere else.
pub(crate) fn is_token(text: &str) -> bool {
    let is_character = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=TOKEN_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_character)
}

/// The certificate that answers TLS-ALPN-01 for a name: it has signed itself, and holds the digest of what the key of the account says.
pub(crate) fn alpn_certificate(name: &str, digest: &[u8]) -> Result<CertifiedKey, Error> {
    let failed = |error: rcgen::Error| Error::Key(error.to_string());
    if digest.len() != 32 {
        return Err(Error::Key("the digest is none of SHA-256".to_owned()));
    }
    let mut params = CertificateParams::new(vec![name.to_owned()]).map_err(failed)?;
    params.distinguished_name = DistinguishedName::new();
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.self_signed(&key).map_err(failed)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let key = any_supported_type(&key).map_err(|error| Error::Key(error.to_string()))?;
    // Not by what compares the two: it refuses the extension, which only authorities know.
    Ok(CertifiedKey::new(vec![certificate.into()], key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_a_file_of_the_folder_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let challenges = ChallengeFolder::new(folder.path().join("challenges"));
        assert_eq!(challenges.answer("abc").unwrap(), None);
        std::fs::create_dir(challenges.path()).unwrap();
        std::fs::write(challenges.path().join("abc"), "abc.def").unwrap();
        std::fs::write(folder.path().join("key"), "secret").unwrap();
        assert_eq!(
            challenges.answer("abc").unwrap().as_deref(),
            Some("abc.def")
        );
        assert_eq!(challenges.answer("../key").unwrap(), None);
        let token = ChallengeFolder::token;
        assert_eq!(token("/.well-known/acme-challenge/abc"), Some("abc"));
        for path in [
            "/.well-known/acme-challenge/",
            "/.well-known/acme-challenge/../key",
            "/.well-known/acme-challenge/%2e%2e",
            "/.well-known/acme-challenge/a/b",
            "/abc",
        ] {
            assert_eq!(token(path), None, "{path}");
        }
        let long = format!("{PREFIX}{}", "a".repeat(TOKEN_BYTES_MAX));
        // A client may ask for any token, which is no error of this server.
        let longest = token(&long).unwrap();
        assert_eq!(challenges.answer(longest).unwrap(), None);
        assert_eq!(token(&format!("{long}a")), None);
    }

    #[test]
    fn certificate_of_a_challenge_needs_a_digest() {
        assert!(alpn_certificate("a.example", &[7; 32]).is_ok());
        assert!(alpn_certificate("a.example", &[7; 31]).is_err());
    }
}
