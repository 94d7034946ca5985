//! The ciphers that the server offers after the login. Chooses nothing but the first that fits.
//! Rule: what is not understood is skipped; a later server may say more.

use super::cipher::Cipher;

/// The kind of key that the following names are about.
const TAG_TYPE: u8 = 0;
/// Names of ciphers.
const TAG_PLUGINS: u8 = 1;
/// The name of a cipher, a zero, and what that cipher begins with.
const TAG_SPECIFIC: u8 = 3;

/// The server's part of the agreement on a cipher: `<tag, length, bytes>` again and again.
#[derive(Debug, Clone, Copy)]
pub struct ServerKeys<'a>(&'a [u8]);

impl<'a> ServerKeys<'a> {
    /// As the server sent them.
    pub fn new(bytes: &'a [u8]) -> Self {
        ServerKeys(bytes)
    }

    /// The best cipher that both sides have, with what the server says about it. None when there is none.
    pub fn choose(self) -> Option<(Cipher, &'a [u8])> {
        let cipher = Cipher::ALL.into_iter().find(|cipher| self.has(*cipher))?;
        Some((cipher, self.specific(cipher).unwrap_or_default()))
    }

    /// Whether the server has this cipher and says enough about it.
    fn has(self, cipher: Cipher) -> bool {
        let mut symmetric = false;
        let named = self.items().any(|(tag, bytes)| {
            if tag == TAG_TYPE {
                symmetric = bytes.eq_ignore_ascii_case(b"Symmetric");
            }
            let mut names = bytes.split(|byte| b" ,;\t".contains(byte));
            tag == TAG_PLUGINS
                && symmetric
                && names.any(|name| name.eq_ignore_ascii_case(cipher.name().as_bytes()))
        });
        named && (cipher == Cipher::Arc4 || self.specific(cipher).is_some())
    }

    fn specific(self, cipher: Cipher) -> Option<&'a [u8]> {
        self.items().find_map(|(tag, bytes)| {
            let rest = bytes.strip_prefix(cipher.name().as_bytes())?;
            rest.strip_prefix(&[0]).filter(|_| tag == TAG_SPECIFIC)
        })
    }

    fn items(self) -> impl Iterator<Item = (u8, &'a [u8])> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let ([tag, length], after) = rest.split_first_chunk()?;
            let (bytes, after) = after.split_at_checked(usize::from(*length))?;
            rest = after;
            Some((*tag, bytes))
        })
    }
}
