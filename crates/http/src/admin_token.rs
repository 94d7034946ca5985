//! The token that the dashboard asks for, and the cookie of a browser that has shown it. Knows no request.
//! Rule: a token is compared in constant time and is in no cookie, no log and no `Debug`.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::limits::{ADMIN_TOKEN_BYTES_MAX, ADMIN_TOKEN_BYTES_MIN};

/// What an operator shows to the dashboard.
#[derive(Clone)]
pub struct AdminToken {
    /// Made of the token. Another process with the same token accepts the same cookies.
    key: hmac::Key,
    /// The token under its own key: what a candidate is compared with.
    tag: hmac::Tag,
}

/// Why a text is no token.
#[non_exhaustive]
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AdminTokenError {
    /// It could be guessed, or nobody could send it.
    #[error(
        "the token has {bytes} bytes and needs {ADMIN_TOKEN_BYTES_MIN} to {ADMIN_TOKEN_BYTES_MAX}: make one with `openssl rand -hex 32`"
    )]
    Length {
        /// How many it has.
        bytes: usize,
    },
    /// It has a character that no header could carry.
    #[error(
        "the token has spaces or characters that are not printable ASCII: make one with `openssl rand -hex 32`"
    )]
    Characters,
}

impl AdminToken {
    /// A token as it stands in its file; space around it does not count.
    ///
    /// # Errors
    /// When it is too short or too long, or no header could carry it.
    pub fn new(text: &str) -> Result<AdminToken, AdminTokenError> {
        let text = text.trim();
        if !(ADMIN_TOKEN_BYTES_MIN..=ADMIN_TOKEN_BYTES_MAX).contains(&text.len()) {
            return Err(AdminTokenError::Length { bytes: text.len() });
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(AdminTokenError::Characters);
        }
        let root = hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes());
        let derived = hmac::sign(&root, b"tsumugi admin token 1");
        let key = hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref());
        let tag = hmac::sign(&key, &message("token", text));
        Ok(AdminToken { key, tag })
    }

    /// Whether this is the token. Takes the same time wherever they differ.
    pub fn matches(&self, candidate: &str) -> bool {
        hmac::verify(&self.key, &message("token", candidate), self.tag.as_ref()).is_ok()
    }

    /// The value of a cookie that stands for the token until `expires`, in seconds since 1970.
    pub fn session(&self, expires: u64) -> String {
        let expires = expires.to_string();
        let tag = hmac::sign(&self.key, &message("session", &expires));
        format!("{expires}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()))
    }

    /// Whether a cookie was made by [`session`](Self::session) of this token and has not expired.
    pub fn accepts(&self, session: &str, now: u64) -> bool {
        let Some((expires, tag)) = session.split_once('.') else {
            return false;
        };
        let Ok(tag) = URL_SAFE_NO_PAD.decode(tag) else {
            return false;
        };
        let is_ours = hmac::verify(&self.key, &message("session", expires), &tag).is_ok();
        is_ours && expires.parse().is_ok_and(|expires: u64| now < expires)
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminToken(…)")
    }
}

/// A token and the expiry of a cookie cannot be taken for one another.
fn message(kind: &str, text: &str) -> Vec<u8> {
    format!("{kind}\0{text}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> AdminToken {
        AdminToken::new(text).unwrap()
    }

    #[test]
    fn token_matches_itself_alone() {
        let token = token("0123456789abcdef0123456789abcdef\n");
        assert!(token.matches("0123456789abcdef0123456789abcdef"));
        for other in ["", "0123456789abcdef", "0123456789abcdef0123456789abcdeF"] {
            assert!(!token.matches(other), "{other}");
        }
        assert_eq!(format!("{token:?}"), "AdminToken(…)");
    }

    #[test]
    fn session_is_accepted_until_it_expires_and_by_its_token_alone() {
        let own = token(&"a".repeat(ADMIN_TOKEN_BYTES_MIN));
        let session = own.session(100);
        assert!(own.accepts(&session, 99));
        assert!(!own.accepts(&session, 100));
        assert!(!token(&"b".repeat(ADMIN_TOKEN_BYTES_MIN)).accepts(&session, 99));
        let (_, tag) = session.split_once('.').unwrap();
        for forged in [
            format!("200.{tag}"),
            "100.".to_owned(),
            tag.to_owned(),
            String::new(),
        ] {
            assert!(!own.accepts(&forged, 99), "{forged}");
        }
    }

    #[test]
    fn text_that_is_no_token_is_refused() {
        let refused = |text: &str| AdminToken::new(text).unwrap_err();
        let bytes = ADMIN_TOKEN_BYTES_MIN - 1;
        assert_eq!(
            refused(&"a".repeat(bytes)),
            AdminTokenError::Length { bytes }
        );
        let bytes = ADMIN_TOKEN_BYTES_MAX + 1;
        assert_eq!(
            refused(&"a".repeat(bytes)),
            AdminTokenError::Length { bytes }
        );
        assert_eq!(
            refused("two words of a token here"),
            AdminTokenError::Characters
        );
        assert!(AdminToken::new(&"a".repeat(ADMIN_TOKEN_BYTES_MAX)).is_ok());
    }
}
