//! SCRAM-SHA-256 and SCRAM-SHA-256-PLUS, the client's side (RFC 5802, RFC 7677), as PostgreSQL uses them.
//! The user name is left empty: the server takes the one of the start-up message. Passwords go through SASLprep (RFC 4013),
//! and those it refuses are used as they are, like the server does.
//! Rule: the server proves that it knows the password, or the exchange fails.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::{digest, hmac, pbkdf2};

use crate::error::Refusal;
use crate::limits::{SCRAM_NONCE_BYTES_MAX, SCRAM_SALT_BYTES_MAX};

/// Random bytes a nonce is made of.
pub const NONCE_BYTES: usize = 18;

const KEY_BYTES: usize = digest::SHA256_OUTPUT_LEN;

/// Whether the exchange is tied to the TLS session it runs in.
#[derive(Clone, PartialEq, Eq)]
pub enum Binding {
    /// There is no TLS, or the caller does not want it. The server may offer what it likes.
    Unsupported,
    /// We could, but the server did not offer it. If it did, somebody between changed the offer, and the server notices.
    NotOffered,
    /// Tied to the hash of the server's certificate, `tls-server-end-point` of RFC 5929.
    EndPoint(Vec<u8>),
}

impl Binding {
    /// The beginning of the exchange, which both sides sign (`gs2-header`).
    fn header(&self) -> &'static str {
        match self {
            Self::Unsupported => "n,,",
            Self::NotOffered => "y,,",
            Self::EndPoint(_) => "p=tls-server-end-point,,",
        }
    }

    fn data(&self) -> &[u8] {
        match self {
            Self::EndPoint(data) => data,
            Self::Unsupported | Self::NotOffered => &[],
        }
    }
}

/// One exchange.
pub struct Scram {
    password: String,
    binding: Binding,
    nonce: String,
    /// The first message without the header of [`Binding`].
    bare: String,
    state: State,
}

enum State {
    Begun,
    /// What the server has to sign, and the key it has to sign it with.
    Answered {
        key: hmac::Key,
        signed: String,
    },
    Proven,
}

impl fmt::Debug for Scram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scram")
            .field("mechanism", &self.mechanism())
            .field("proven", &self.proven())
            .finish_non_exhaustive()
    }
}

impl Scram {
    /// Begins an exchange. `nonce` is random and never used twice.
    pub fn new(password: &str, nonce: &[u8; NONCE_BYTES], binding: Binding) -> Self {
        Self::with(password, "", STANDARD.encode(nonce), binding)
    }

    pub(super) fn with(password: &str, user: &str, nonce: String, binding: Binding) -> Self {
        Self {
            password: password.to_owned(),
            binding,
            bare: format!("n={user},r={nonce}"),
            nonce,
            state: State::Begun,
        }
    }

    /// The name of the mechanism.
    pub fn mechanism(&self) -> &'static str {
        match self.binding {
            Binding::EndPoint(_) => "SCRAM-SHA-256-PLUS",
            Binding::Unsupported | Binding::NotOffered => "SCRAM-SHA-256",
        }
    }

    /// Our first message.
    pub fn first(&self) -> String {
        format!("{}{}", self.binding.header(), self.bare)
    }

    /// Whether the server has proven that it knows the password.
    pub fn proven(&self) -> bool {
        matches!(self.state, State::Proven)
    }

    /// Whether the exchange is tied to the TLS session.
    pub fn is_bound(&self) -> bool {
        matches!(self.binding, Binding::EndPoint(_))
    }

    /// Our second message, the proof, in answer to the server's first. It derives the key in up to `iterations_max`
    /// rounds, about half a microsecond each.
    ///
    /// # Errors
    /// [`Refusal::Scram`] and [`Refusal::ScramIterations`].
    pub fn answer(&mut self, server: &[u8], iterations_max: u32) -> Result<String, Refusal> {
        if !matches!(self.state, State::Begun) {
            return Err(Refusal::Scram("order"));
        }
        let text = std::str::from_utf8(server).map_err(|_| Refusal::Scram("first message"))?;
        let first = ServerFirst::read(text, &self.nonce)?;
        let iterations = NonZeroU32::new(first.iterations)
            .filter(|asked| asked.get() <= iterations_max)
            .ok_or(Refusal::ScramIterations {
                asked: first.iterations,
                max: iterations_max,
            })?;
        let password =
            stringprep::saslprep(&self.password).unwrap_or(Cow::Borrowed(self.password.as_str()));
        let mut salted = [0; KEY_BYTES];
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            iterations,
            &first.salt,
            password.as_bytes(),
            &mut salted,
        );
        let salted = hmac::Key::new(hmac::HMAC_SHA256, &salted);
        let client_key = hmac::sign(&salted, b"Client Key");
        let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());

        let bound = [self.binding.header().as_bytes(), self.binding.data()].concat();
        let without_proof = format!("c={},r={}", STANDARD.encode(bound), first.nonce);
        let signed = format!("{},{text},{without_proof}", self.bare);
        let stored_key = hmac::Key::new(hmac::HMAC_SHA256, stored_key.as_ref());
        let signature = hmac::sign(&stored_key, signed.as_bytes());
        let bytes = client_key.as_ref().iter().zip(signature.as_ref());
        let proof: Vec<u8> = bytes.map(|(key, signature)| key ^ signature).collect();

        let server_key = hmac::sign(&salted, b"Server Key");
        self.state = State::Answered {
            key: hmac::Key::new(hmac::HMAC_SHA256, server_key.as_ref()),
            signed,
        };
        Ok(format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    /// Checks the server's last message.
    ///
    /// # Errors
    /// [`Refusal::ServerUnproven`] for a wrong signature, [`Refusal::ScramRefused`] if the server refuses ours,
    /// [`Refusal::Scram`].
    pub fn finish(&mut self, server: &[u8]) -> Result<(), Refusal> {
        let State::Answered { key, signed } = &self.state else {
            return Err(Refusal::Scram("order"));
        };
        let text = std::str::from_utf8(server).map_err(|_| Refusal::Scram("last message"))?;
        let first = text.split(',').next().unwrap_or_default();
        if first.starts_with("e=") {
            return Err(Refusal::ScramRefused);
        }
        let signature = first
            .strip_prefix("v=")
            .and_then(|encoded| STANDARD.decode(encoded).ok())
            .ok_or(Refusal::Scram("last message"))?;
        hmac::verify(key, signed.as_bytes(), &signature).map_err(|_| Refusal::ServerUnproven)?;
        self.state = State::Proven;
        Ok(())
    }
}

/// The server's first message: `r=` its nonce, `s=` a salt, `i=` a number of rounds, and extensions nobody has to know.
struct ServerFirst<'a> {
    nonce: &'a str,
    salt: Vec<u8>,
    iterations: u32,
}

impl<'a> ServerFirst<'a> {
    fn read(text: &'a str, ours: &str) -> Result<Self, Refusal> {
        let mut attributes = text.split(',');
        let mut next = |name: &str, what| {
            let attribute = attributes.next().and_then(|text| text.strip_prefix(name));
            attribute.ok_or(Refusal::Scram(what))
        };
        let nonce = next("r=", "nonce")?;
        let printable = |byte: u8| byte.is_ascii_graphic();
        if nonce.len() > SCRAM_NONCE_BYTES_MAX
            || nonce.len() <= ours.len()
            || !nonce.starts_with(ours)
            || !nonce.bytes().all(printable)
        {
            return Err(Refusal::Scram("nonce"));
        }
        let salt = next("s=", "salt")?;
        let salt = Some(salt)
            .filter(|encoded| encoded.len() <= SCRAM_SALT_BYTES_MAX)
            .and_then(|encoded| STANDARD.decode(encoded).ok())
            .filter(|salt| !salt.is_empty())
            .ok_or(Refusal::Scram("salt"))?;
        let iterations = next("i=", "number of rounds")?;
        let sound = iterations.bytes().all(|byte| byte.is_ascii_digit());
        let iterations = iterations
            .parse()
            .ok()
            .filter(|_| sound)
            .ok_or(Refusal::Scram("number of rounds"))?;
        Ok(Self {
            nonce,
            salt,
            iterations,
        })
    }
}
