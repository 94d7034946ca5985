//! The stream ciphers of the wire: RC4 and two kinds of ChaCha20. Negotiates nothing.
//! Rule: bytes are changed where they lie; how they were divided makes no difference.

use chacha20::cipher::{KeyInit as _, KeyIvInit as _, StreamCipher as _, StreamCipherSeek as _};
use chacha20::{ChaCha20, ChaCha20Legacy};
use rc4::Rc4;
use ring::digest;

use crate::error::{Result, Violation};

/// Bytes that one counter of ChaCha20 stands for.
const BLOCK_BYTES: u64 = 64;

/// A cipher, by the name that both sides call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// ChaCha20 with a nonce of 64 bits. Firebird 4.0.1 and later.
    ChaCha64,
    /// ChaCha20 with a nonce of 96 bits. Firebird 4.0 and later.
    ChaCha,
    /// RC4: all that Firebird 3.0 has. It is broken: it hides little from a long observation of the traffic.
    Arc4,
}

impl Cipher {
    /// The best first.
    pub const ALL: [Cipher; 3] = [Cipher::ChaCha64, Cipher::ChaCha, Cipher::Arc4];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Cipher::ChaCha64 => "ChaCha64",
            Cipher::ChaCha => "ChaCha",
            Cipher::Arc4 => "Arc4",
        }
    }

    /// The cipher for one direction. `key` is the login's, `start` what the server said about this cipher, if anything.
    ///
    /// # Errors
    /// [`Violation::Length`] when the server's part has another length than this cipher needs.
    pub fn keystream(self, key: &[u8; 20], start: &[u8]) -> Result<Keystream> {
        let wrong = Violation::length("start of a cipher", start.len());
        let hashed = digest::digest(&digest::SHA256, key);
        let state = match self {
            Cipher::Arc4 => Rc4::new_from_slice(key).ok().map(State::Arc4),
            Cipher::ChaCha64 => ChaCha20Legacy::new_from_slices(hashed.as_ref(), start)
                .ok()
                .map(State::ChaCha64),
            Cipher::ChaCha => start.split_last_chunk().and_then(|(nonce, counter)| {
                let mut cipher = ChaCha20::new_from_slices(hashed.as_ref(), nonce).ok()?;
                let counter = u64::from(u32::from_be_bytes(*counter));
                cipher.try_seek(counter * BLOCK_BYTES).ok()?;
                Some(State::ChaCha(cipher))
            }),
        };
        Ok(Keystream(Box::new(state.ok_or(wrong)?)))
    }
}

/// Both directions of an encrypted connection.
pub struct Encryption {
    /// For what we send.
    pub outgoing: Keystream,
    /// For what the server sends.
    pub incoming: Keystream,
}

impl Encryption {
    /// Begins both with the same key.
    ///
    /// # Errors
    /// As [`Cipher::keystream`].
    pub fn new(cipher: Cipher, key: &[u8; 20], start: &[u8]) -> Result<Encryption> {
        Ok(Encryption {
            outgoing: cipher.keystream(key, start)?,
            incoming: cipher.keystream(key, start)?,
        })
    }
}

/// One direction.
pub struct Keystream(Box<State>);

enum State {
    Arc4(Rc4),
    ChaCha(ChaCha20),
    ChaCha64(ChaCha20Legacy),
}

impl Keystream {
    /// Encrypts, or decrypts, the next bytes of the stream.
    ///
    /// # Errors
    /// [`Violation::TooMany`] when the cipher's counter would begin anew: 256 GiB with [`Cipher::ChaCha`].
    pub fn apply(&mut self, bytes: &mut [u8]) -> Result<()> {
        let applied = match &mut *self.0 {
            State::Arc4(cipher) => cipher.try_apply_keystream(bytes),
            State::ChaCha(cipher) => cipher.try_apply_keystream(bytes),
            State::ChaCha64(cipher) => cipher.try_apply_keystream(bytes),
        };
        let exhausted = Violation::too_many("bytes with one key", 1 << 38);
        applied.map_err(|_| exhausted.into())
    }
}
