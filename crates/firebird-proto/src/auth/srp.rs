//! SRP as Firebird speaks it: SRP-6a in a group of 1,024 bits, with a proof of its own making. Sends nothing.
//! A number is hashed without its leading zeros, everywhere, the hash of the user's name included; one that is padded fails one login
//! in 256. Rule: exponents that come from the password or the secret are used in constant time.

use bytes::Buf;
use crypto_bigint::modular::{ConstMontyForm, ConstMontyParams as _};
use crypto_bigint::{EncodedUint, U256, U512, U1024, const_monty_params};
use ring::digest;

use super::Plugin;
use crate::error::{Error, Result, Violation};

const_monty_params!(
    Group,
    U1024,
    "E67D2E994B2F900C3F41F08F5BB2627ED0D49EE1FE767A52EFCD565CD6E768812C3E1E9CE8F0A8BEA6CB13CD29DDEBF7A96D4A93B55D488DF099A15C89DCB0640738EB2CBDD9A8F7BAB561AB1B0DC1C6CDABF303264A08D1BCA932D1F1EE428B619D970F342ABA9A65793B8B2F041AE5364350C16F735F56ECBCA87BD57B29E7",
    "The prime that all servers use."
);

type Residue = ConstMontyForm<Group, { U1024::LIMBS }>;

const GENERATOR: U1024 = U1024::from_u8(2);

/// Bytes of the server's salt, in hexadecimal, at most.
const SALT_BYTES_MAX: usize = 64;

/// What one login keeps secret.
#[derive(Clone)]
pub struct Srp {
    secret: U256,
    public: U1024,
}

/// What proves the password, and what it gave us to encrypt with.
#[derive(Clone, PartialEq, Eq)]
pub struct Proof {
    /// To be sent, in hexadecimal.
    pub text: String,
    /// The secret that both sides share.
    pub key: [u8; 20],
}

impl Srp {
    /// Begins with 256 random bits, which are used for one login only.
    pub fn new(secret: [u8; 32]) -> Srp {
        let secret = U256::from_be_slice(&secret);
        let public = Residue::new(&GENERATOR).pow(&secret).retrieve();
        Srp { secret, public }
    }

    /// The public half, to be sent in hexadecimal.
    pub fn public_text(&self) -> String {
        hexadecimal(shortened(self.public.to_be_bytes().as_ref()))
    }

    /// Answers what the server sent about this user: the salt and the public half of its key, each with its length before it.
    /// `user` is a [`login_name`](super::login_name).
    ///
    /// # Errors
    /// [`Error::Protocol`] when the server's data is not what SRP needs, or is made to defeat it.
    pub fn prove(
        &self,
        plugin: Plugin,
        user: &str,
        password: &str,
        server: &[u8],
    ) -> Result<Proof> {
        let (salt, theirs) = challenge(server)?;
        let (ours, their_bytes) = (self.public.to_be_bytes(), theirs.to_be_bytes());
        let (ours, their_bytes) = (shortened(ours.as_ref()), shortened(their_bytes.as_ref()));

        let scramble = number(&sha1(&[ours, their_bytes]));
        let private = number(&sha1(&[
            salt,
            &sha1(&[user.as_bytes(), b":", password.as_bytes()]),
        ]));
        let verifier = Residue::new(&GENERATOR).pow(&private);
        let prime = prime();
        let generator = GENERATOR.to_be_bytes();
        let multiplier = sha1(&[prime.as_ref(), generator.as_ref()]);
        let multiplier = Residue::new(&wide(&multiplier));
        let base = Residue::new(&theirs) - multiplier * verifier;
        let exponent = exponent(&self.secret, &scramble, &private);
        let shared = base.pow(&exponent).retrieve().to_be_bytes();
        let key = sha1(&[shortened(shared.as_ref())]);

        let group = Residue::new(&wide(&sha1(&[prime.as_ref()])))
            .pow(&number(&sha1(&[&[2]])))
            .retrieve()
            .to_be_bytes();
        let user = sha1(&[user.as_bytes()]);
        let parts = [
            shortened(group.as_ref()),
            shortened(&user),
            salt,
            ours,
            their_bytes,
            &key,
        ];
        let text = match plugin {
            Plugin::Srp256 => hexadecimal(digested(&digest::SHA256, &parts).as_ref()),
            Plugin::Srp | Plugin::Legacy => hexadecimal(&sha1(&parts)),
        };
        Ok(Proof { text, key })
    }
}

fn prime() -> EncodedUint<{ U1024::LIMBS }> {
    Group::PARAMS.modulus().get().to_be_bytes()
}

/// The secret and the product of the two others: below 2^321.
fn exponent(secret: &U256, scramble: &U256, private: &U256) -> U512 {
    let product: U512 = scramble.concatenating_mul(private);
    product.wrapping_add(&secret.resize())
}

/// The server's salt and its public half, which must not be 0 or 1 in the group: the shared secret would be no secret.
fn challenge(server: &[u8]) -> Result<(&[u8], U1024)> {
    let mut rest = server;
    let salt = part(&mut rest).ok_or(Violation::Truncated("server's salt"))?;
    let text = part(&mut rest).ok_or(Violation::Truncated("server's key"))?;
    if salt.len() > SALT_BYTES_MAX {
        return Err(Violation::length("server's salt", salt.len()).into());
    }
    let mut bytes = [0; 128];
    // The server leaves leading zeros out, and so half a byte may be missing.
    let digits = text.iter().rev();
    if text.len() > 2 * bytes.len() {
        return Err(Violation::length("server's key", text.len()).into());
    }
    for (at, digit) in digits.enumerate() {
        let value = char::from(*digit)
            .to_digit(16)
            .ok_or(Violation::value("digit of the server's key", *digit))?;
        let shifted = u8::try_from(value << (4 * (at % 2))).unwrap_or_default();
        if let Some(byte) = bytes.iter_mut().rev().nth(at / 2) {
            *byte |= shifted;
        }
    }
    let theirs = U1024::from_be_slice(&bytes);
    if Residue::new(&theirs).retrieve() < GENERATOR {
        return Err(Error::Protocol(Violation::value("server's key", 0)));
    }
    Ok((salt, theirs))
}

/// Bytes with their length before them, the low byte first.
fn part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = rest.try_get_u16_le().ok()?;
    let (taken, after) = rest.split_at_checked(usize::from(length))?;
    *rest = after;
    Some(taken)
}

fn digested(algorithm: &'static digest::Algorithm, parts: &[&[u8]]) -> digest::Digest {
    let mut context = digest::Context::new(algorithm);
    for part in parts {
        context.update(part);
    }
    context.finish()
}

fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let digest = digested(&digest::SHA1_FOR_LEGACY_USE_ONLY, parts);
    digest.as_ref().try_into().unwrap_or_default()
}

/// Without leading zeros.
fn shortened(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(zeros..).unwrap_or_default()
}

fn number(digest: &[u8; 20]) -> U256 {
    let mut bytes = [0; 32];
    for (to, from) in bytes.iter_mut().rev().zip(digest.iter().rev()) {
        *to = *from;
    }
    U256::from_be_slice(&bytes)
}

fn wide(digest: &[u8; 20]) -> U1024 {
    number(digest).resize()
}

/// As the numbers that they are: without leading zeros.
fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let text: String = digits
        .skip_while(|digit| *digit == 0)
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect();
    text.to_ascii_uppercase()
}
