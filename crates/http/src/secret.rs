//! Signatures of what clients keep for us: HMAC-SHA256 under keys made from `TSUMUGI_SECRET`. Signs, does not encrypt.
//! A signature covers the version, the kind of value, its name, its expiry and its bytes, so none can stand for another.

use std::fmt;
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::limits::{SECRET_BYTES_MIN, SECRETS_MAX};

/// The variable of the environment.
const VARIABLE: &str = "TSUMUGI_SECRET";

/// Begins every signed value; another layout gets another one.
const VERSION: &str = "v1";

/// The text of `TSUMUGI_SECRET`: one secret or several with commas between them. The first signs, all verify.
#[derive(Clone)]
pub struct Secret(Arc<str>);

/// Why there is nothing to sign with. Nothing but another value of the variable helps.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// There is none.
    #[error(
        "{VARIABLE} is not set, and sessions and signed cookies need it: set it to the output of `openssl rand -hex 32` \
         (with --dev one is made up)"
    )]
    Missing,
    /// One of them could be guessed.
    #[error(
        "{VARIABLE} has a secret of {bytes} bytes (a comma ends a secret) and needs {SECRET_BYTES_MIN}: make one with \
         `openssl rand -hex 32`"
    )]
    Short {
        /// How many bytes the secret has.
        bytes: usize,
    },
    /// More of them than it is worth to try.
    #[error(
        "{VARIABLE} has {count} secrets; more than {SECRETS_MAX} make every request slow: remove the oldest"
    )]
    Many {
        /// How many.
        count: usize,
    },
    /// There is no randomness here.
    #[error("the system gives no random bytes")]
    Random,
}

/// The secret that was made up for this process.
static MADE: OnceLock<Secret> = OnceLock::new();

impl Secret {
    /// A secret from somewhere else than the environment.
    pub fn new(text: &str) -> Secret {
        Secret(Arc::from(text))
    }

    /// That of the environment, if it has one.
    pub fn from_environment() -> Option<Secret> {
        let text = std::env::var(VARIABLE).ok()?;
        (!text.trim().is_empty()).then(|| Secret::new(&text))
    }

    /// The same for all workers until the process ends.
    pub fn of_this_process() -> Result<Secret, SecretError> {
        let random = Secret::new(&URL_SAFE_NO_PAD.encode(random::<SECRET_BYTES_MIN>()?));
        Ok(MADE.get_or_init(|| random).clone())
    }

    /// Whether something is signed in this process with a secret that was made up.
    pub fn is_made_up() -> bool {
        MADE.get().is_some()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Random bytes of the system, which cannot be guessed.
pub fn random<const N: usize>() -> Result<[u8; N], SecretError> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| SecretError::Random)?;
    Ok(bytes)
}

/// What a signed value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The content of a session.
    Session,
    /// A cookie of the application.
    Cookie,
    /// What a client's reads of databases have to have seen.
    Recency,
}

impl Purpose {
    fn label(self) -> &'static str {
        match self {
            Purpose::Session => "session",
            Purpose::Cookie => "cookie",
            Purpose::Recency => "recency",
        }
    }
}

/// Signs and verifies.
pub struct Signer {
    /// Never empty.
    keys: Vec<hmac::Key>,
}

impl Signer {
    /// With the keys that are made of a secret.
    pub fn new(secret: &Secret) -> Result<Signer, SecretError> {
        let parts = secret.0.split(',').map(str::trim);
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        if let Some(short) = parts.iter().find(|part| part.len() < SECRET_BYTES_MIN) {
            return Err(SecretError::Short { bytes: short.len() });
        }
        match parts.len() {
            0 => Err(SecretError::Missing),
            count if count > SECRETS_MAX => Err(SecretError::Many { count }),
            _ => Ok(Signer {
                keys: parts.into_iter().map(key).collect(),
            }),
        }
    }

    /// `value` in a form that goes into a cookie. `expires` is in seconds since 1970; 0 is never.
    pub fn sign(&self, purpose: Purpose, name: &str, value: &[u8], expires: u64) -> String {
        let mut signed = format!("{VERSION}.{expires}.{}", URL_SAFE_NO_PAD.encode(value));
        let Some(key) = self.keys.first() else {
            unreachable!("a signer has a key");
        };
        let tag = hmac::sign(key, message(purpose, name, &signed).as_bytes());
        signed.push('.');
        URL_SAFE_NO_PAD.encode_string(tag.as_ref(), &mut signed);
        signed
    }

    /// The value that was signed; `None` when it was not by us, not for this, or has expired.
    pub fn open(&self, purpose: Purpose, name: &str, text: &str, now: u64) -> Option<Vec<u8>> {
        let (signed, tag) = text.rsplit_once('.')?;
        let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
        let message = message(purpose, name, signed);
        // `verify` takes the same time wherever the tags differ.
        self.keys
            .iter()
            .find(|key| hmac::verify(key, message.as_bytes(), &tag).is_ok())?;
        let mut parts = signed.split('.');
        let (version, expires, value) = (parts.next()?, parts.next()?, parts.next()?);
        let expires: u64 = expires.parse().ok()?;
        if version != VERSION || parts.next().is_some() || (expires != 0 && expires <= now) {
            return None;
        }
        URL_SAFE_NO_PAD.decode(value).ok()
    }
}

/// The secret itself signs nothing, so that other uses can derive keys of their own from it.
fn key(secret: &str) -> hmac::Key {
    let root = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let derived = hmac::sign(&root, b"tsumugi signed values 1");
    hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref())
}

/// A name of a cookie has no NUL, so the parts cannot be taken for one another.
fn message(purpose: Purpose, name: &str, signed: &str) -> String {
    format!("{}\0{name}\0{signed}", purpose.label())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "an old secret of thirty-two bytes or more";
    const NEW: &str = "a new secret of thirty-two bytes or more!";

    fn signer(text: &str) -> Signer {
        Signer::new(&Secret::new(text)).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn signed_value_is_opened_until_it_expires() {
        let signer = signer(NEW);
        let signed = signer.sign(Purpose::Cookie, "a", b"value", 100);
        let open = |now| signer.open(Purpose::Cookie, "a", &signed, now);
        assert_eq!(open(99).as_deref(), Some(&b"value"[..]));
        assert_eq!(open(100), None);
        let always = signer.sign(Purpose::Cookie, "a", b"", 0);
        assert_eq!(
            signer.open(Purpose::Cookie, "a", &always, u64::MAX),
            Some(Vec::new())
        );
    }

    #[test]
    fn signed_value_is_refused_for_another_purpose_name_or_secret() {
        let signer = signer(NEW);
        let signed = signer.sign(Purpose::Cookie, "a", b"value", 0);
        assert_eq!(signer.open(Purpose::Session, "a", &signed, 1), None);
        assert_eq!(signer.open(Purpose::Cookie, "b", &signed, 1), None);
        assert_eq!(
            self::signer(OLD).open(Purpose::Cookie, "a", &signed, 1),
            None
        );
    }

    #[test]
    fn signed_value_with_any_byte_changed_is_refused() {
        let signer = signer(NEW);
        let signed = signer.sign(Purpose::Session, "a", b"{\"id\":1}", 1_000);
        for i in 0..signed.len() {
            let mut bytes = signed.clone().into_bytes();
            bytes[i] = if bytes[i] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert_eq!(
                signer.open(Purpose::Session, "a", &changed, 1),
                None,
                "{changed}"
            );
        }
        for text in ["", ".", "v1.0.x", "v1.0..", "....", "v1.0.eA.é"] {
            assert_eq!(signer.open(Purpose::Session, "a", text, 1), None, "{text}");
        }
    }

    #[test]
    fn the_first_secret_signs_and_all_verify() {
        let (old, both) = (signer(OLD), signer(&format!("{NEW}, {OLD}")));
        let signed = old.sign(Purpose::Session, "a", b"x", 0);
        assert!(both.open(Purpose::Session, "a", &signed, 1).is_some());
        let signed = both.sign(Purpose::Session, "a", b"x", 0);
        assert!(
            signer(NEW)
                .open(Purpose::Session, "a", &signed, 1)
                .is_some()
        );
        assert!(old.open(Purpose::Session, "a", &signed, 1).is_none());
    }

    #[test]
    fn a_short_secret_is_refused_with_what_makes_a_long_one() {
        for text in [
            "short",
            &format!("{NEW},short"),
            &"x".repeat(SECRET_BYTES_MIN - 1),
        ] {
            let error = Signer::new(&Secret::new(text)).err().unwrap().to_string();
            assert!(error.contains("openssl rand -hex 32"), "{error}");
        }
        assert!(Signer::new(&Secret::new(&"x".repeat(SECRET_BYTES_MIN))).is_ok());
        let many = [NEW; SECRETS_MAX + 1].join(",");
        assert!(matches!(
            Signer::new(&Secret::new(&many)),
            Err(SecretError::Many { .. })
        ));
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert!(!format!("{:?}", Secret::new(NEW)).contains("new"));
    }
}
