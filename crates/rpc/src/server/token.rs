//! Tokens that clients show: read from a file, compared in constant time. Knows no connection.
//! A token is never shown, neither in an error nor in Debug.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use subtle::ConstantTimeEq as _;
use tonic::Status;

use crate::error::{Error, Result};
use crate::limits::{TOKEN_BYTES_MIN, TOKEN_FILE_BYTES_MAX, TOKENS_MAX};

/// The tokens that clients may show: any one of them will do, so that one can be replaced while the old one is still in use.
pub(crate) struct Tokens(Vec<Box<[u8]>>);

impl Tokens {
    /// Reads a file with a token on each line; empty lines and those that begin with `#` are skipped. Blocks.
    pub(crate) fn read(path: &Path) -> Result<Tokens> {
        let refused = |reason: String| Error::TokenFile {
            path: path.to_owned(),
            reason,
        };
        let mut text = String::new();
        std::fs::File::open(path)
            .and_then(|file| {
                file.take(TOKEN_FILE_BYTES_MAX + 1)
                    .read_to_string(&mut text)
            })
            .map_err(|error| refused(error.to_string()))?;
        if text.len() as u64 > TOKEN_FILE_BYTES_MAX {
            return Err(refused(format!(
                "it has more than {TOKEN_FILE_BYTES_MAX} bytes (TOKEN_FILE_BYTES_MAX)"
            )));
        }
        let lines = text.lines().map(str::trim);
        let tokens: Vec<&str> = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect();
        if tokens.is_empty() {
            return Err(refused("it holds no token".to_owned()));
        }
        if tokens.len() > TOKENS_MAX {
            return Err(refused(format!(
                "it holds more than {TOKENS_MAX} tokens (TOKENS_MAX)"
            )));
        }
        if tokens.iter().any(|token| token.len() < TOKEN_BYTES_MIN) {
            return Err(refused(format!(
                "a token has fewer than {TOKEN_BYTES_MIN} bytes (TOKEN_BYTES_MIN)"
            )));
        }
        let mut bytes = tokens.iter().flat_map(|token| token.bytes());
        if !bytes.all(|byte| byte.is_ascii_graphic()) {
            return Err(refused(
                "a token holds a byte that metadata cannot carry".to_owned(),
            ));
        }
        let tokens = tokens.into_iter().map(|token| token.as_bytes().into());
        Ok(Tokens(tokens.collect()))
    }

    /// Whether the metadata of a call shows one of the tokens.
    pub(crate) fn admit(&self, metadata: &HeaderMap) -> Result<(), Status> {
        let Some(value) = metadata.get(AUTHORIZATION) else {
            return Err(Status::unauthenticated(
                "this server wants a token: send the metadata `authorization: Bearer TOKEN`",
            ));
        };
        let shown = match value.as_bytes().split_at_checked(SCHEME.len()) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case(SCHEME) => token,
            _ => {
                return Err(Status::unauthenticated(
                    "the metadata `authorization` must be `Bearer TOKEN`",
                ));
            }
        };
        // All are compared, so that the time tells nothing about which one was close.
        let known = self.0.iter().fold(subtle::Choice::from(0), |known, token| {
            known | token.as_ref().ct_eq(shown)
        });
        match bool::from(known) {
            true => Ok(()),
            false => Err(Status::unauthenticated(
                "the token is not one of this server's",
            )),
        }
    }
}

const SCHEME: &[u8] = b"Bearer ";

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tokens({})", self.0.len())
    }
}

/// The source of tokens, and the calls that need one.
#[derive(Clone, Debug)]
pub struct TokenFile {
    /// The file; read again at each reload.
    pub path: PathBuf,
    /// Whether clients on a UNIX socket, which the system's permissions guard already, have to show one, too.
    pub unix: UnixClients,
}

/// Whether clients on UNIX sockets show a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnixClients {
    /// The permissions of the socket are enough.
    #[default]
    Trusted,
    /// They show one like all others.
    Asked,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Tokens> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Tokens::read(file.path())
    }

    fn check(authorization: Option<&str>, expected: &str) {
        let tokens = tokens("# old and new\n0123456789abcdef\n\n fedcba9876543210 \n").unwrap();
        let mut metadata = HeaderMap::new();
        if let Some(value) = authorization {
            metadata.insert(AUTHORIZATION, value.parse().unwrap());
        }
        let outcome = match tokens.admit(&metadata) {
            Ok(()) => "admitted".to_owned(),
            Err(status) => status.message().to_owned(),
        };
        assert!(outcome.contains(expected), "{authorization:?}: {outcome}");
    }

    #[test]
    fn request_with_any_listed_token_is_admitted() {
        check(Some("Bearer 0123456789abcdef"), "admitted");
        check(Some("bearer fedcba9876543210"), "admitted");
    }

    #[test]
    fn other_metadata_gets_a_hint_what_to_send() {
        check(None, "wants a token");
        check(Some("Bearer 0123456789abcdeX"), "not one of");
        check(Some("Bearer 0123456789abcdef0"), "not one of");
        check(Some("Bearer "), "not one of");
        check(Some("Basic 0123456789abcdef"), "must be `Bearer TOKEN`");
        check(Some("B"), "must be `Bearer TOKEN`");
    }

    #[test]
    fn a_file_without_usable_tokens_is_refused() {
        for (text, expected) in [
            ("# nothing\n", "no token"),
            ("short\n", "TOKEN_BYTES_MIN"),
            ("0123456789abcde\u{e9}\n", "cannot carry"),
            ("0123456789abcdef x\n", "cannot carry"),
        ] {
            let error = tokens(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn tokens_are_not_shown() {
        let tokens = tokens("0123456789abcdef").unwrap();
        assert_eq!(format!("{tokens:?}"), "Tokens(1)");
    }
}
