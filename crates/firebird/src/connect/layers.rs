//! What bytes pass between packets and the socket on one connection: compression, then encryption. Reads and writes no socket.
//! Rule: every byte passes once, in the order of the stream.

use bytes::BytesMut;
use tsumugi_firebird_proto::Result;
use tsumugi_firebird_proto::crypt::{Deflate, Encryption, Inflate};

use crate::limits;

/// The state of both directions. At first bytes pass as they are.
#[derive(Default)]
pub(crate) struct Layers {
    encryption: Option<Encryption>,
    zlib: Option<Zlib>,
}

#[derive(Default)]
struct Zlib {
    deflate: Deflate,
    inflate: Inflate,
    /// Decrypted and not inflated yet.
    waiting: BytesMut,
    /// The last call stopped at its limit.
    full: bool,
}

impl Layers {
    /// From now on everything is encrypted.
    pub(crate) fn encrypt(&mut self, encryption: Encryption) {
        self.encryption = Some(encryption);
    }

    /// From now on everything is compressed.
    pub(crate) fn compress(&mut self) {
        self.zlib = Some(Zlib::default());
    }

    /// Makes what lies in `out` from `from` on ready for the socket.
    pub(crate) fn seal(&mut self, out: &mut BytesMut, from: usize) -> Result<()> {
        if let Some(zlib) = &mut self.zlib
            && out.len() > from
        {
            let plain = out.split_off(from);
            zlib.deflate.compress(&plain, out)?;
        }
        match &mut self.encryption {
            Some(encryption) => encryption
                .outgoing
                .apply(out.get_mut(from..).unwrap_or_default()),
            None => Ok(()),
        }
    }

    /// Makes packets of what lies in `input` from `from` on, where the socket put it.
    pub(crate) fn open(&mut self, input: &mut BytesMut, from: usize) -> Result<()> {
        if let Some(encryption) = &mut self.encryption {
            encryption
                .incoming
                .apply(input.get_mut(from..).unwrap_or_default())?;
        }
        if let Some(zlib) = &mut self.zlib {
            let came = input.split_off(from);
            zlib.waiting.extend_from_slice(&came);
            self.inflate(input)?;
        }
        Ok(())
    }

    /// Whether more packets can be made of what has come already.
    pub(crate) fn holds_back(&self) -> bool {
        self.zlib
            .as_ref()
            .is_some_and(|zlib| zlib.full || !zlib.waiting.is_empty())
    }

    /// Makes some more of what has come already.
    pub(crate) fn inflate(&mut self, input: &mut BytesMut) -> Result<()> {
        let Some(zlib) = &mut self.zlib else {
            return Ok(());
        };
        let (before, max) = (input.len(), limits::READ_BYTES_MAX);
        let used = zlib.inflate.decompress(&zlib.waiting, max, input)?;
        zlib.waiting = zlib.waiting.split_off(used);
        zlib.full = input.len() - before == max;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsumugi_firebird_proto::crypt::Cipher;

    fn layers() -> Layers {
        let mut layers = Layers::default();
        layers.compress();
        layers.encrypt(Encryption::new(Cipher::Arc4, &[7; 20], &[]).unwrap());
        layers
    }

    #[test]
    fn encrypted_bytes_are_decrypted_up_to_the_limit_at_once() {
        let (mut here, mut there) = (layers(), layers());
        let whole = vec![b'x'; 3 * limits::READ_BYTES_MAX];
        let mut wire = BytesMut::new();
        for part in whole.chunks(1_000_000) {
            let from = wire.len();
            wire.extend_from_slice(part);
            here.seal(&mut wire, from).unwrap();
        }
        let mut came = BytesMut::new();
        let mut total = 0;
        for part in wire.chunks(999) {
            let from = came.len();
            came.extend_from_slice(part);
            there.open(&mut came, from).unwrap();
            loop {
                assert!(came.len() <= limits::READ_BYTES_MAX);
                assert!(came.iter().all(|byte| *byte == b'x'));
                total += came.split().len();
                if !there.holds_back() {
                    break;
                }
                there.inflate(&mut came).unwrap();
                if came.is_empty() {
                    break;
                }
            }
        }
        assert_eq!(total, whole.len());
    }
}
