//! How records lie in the one ordered keyspace of the engine on disk: tags, the epoch, the index of expiry, the meta record.
//! Knows no engine. Rule: what cannot be read back is an error that says what it is.
//!
//! | key | value |
//! | --- | --- |
//! | `k`, epoch, key | a stored record |
//! | `m` | the meta record |
//! | `x`, epoch, milliseconds, key | nothing |
//!
//! Clearing a database begins the next epoch; what is left of those before is removed bit by bit.
//!
//! The meta record ends with the seal of the database, which tells its commits from values that imitate some. Databases that were made
//! before there were seals get theirs when they are opened to be written.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};
use smallvec::SmallVec;

const RECORD: u8 = b'k';
const META: u8 = b'm';
const EXPIRY: u8 = b'x';

/// The key of the meta record.
pub(super) const META_KEY: [u8; 1] = [META];
/// Bytes before a record's own key.
const RECORD_PREFIX_BYTES: usize = 5;
/// Bytes before the key in the index of expiry.
const EXPIRY_PREFIX_BYTES: usize = 13;
/// The first byte of the meta record, to be changed with the layout: without a seal, and with one.
const LAYOUT: u8 = 1;
const LAYOUT_SEALED: u8 = 2;
const META_BYTES: usize = 21;
/// Bytes of a seal.
pub(super) const SEAL_BYTES: usize = 16;
pub(super) const META_SEALED_BYTES: usize = META_BYTES + SEAL_BYTES;

/// A key to look something up by; most need no allocation.
pub(super) type Lookup = SmallVec<[u8; 64]>;

/// Bytes that were chosen at random for one database, and that no client is ever shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Seal(pub(super) [u8; SEAL_BYTES]);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

/// What every commit writes along with its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    /// Of the records that count.
    pub(super) epoch: u32,
    /// How many there are, expired ones that were not swept yet among them.
    pub(super) count: u64,
    /// Of the commit, one more each time: a gap means that something is lost.
    pub(super) commit: u64,
    /// Of the database; none in one that is of an earlier version and only read.
    pub(super) seal: Option<Seal>,
}

impl Meta {
    pub(super) fn encode(self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(META_SEALED_BYTES);
        bytes.put_u8(match self.seal {
            None => LAYOUT,
            Some(_) => LAYOUT_SEALED,
        });
        bytes.put_u32(self.epoch);
        bytes.put_u64(self.count);
        bytes.put_u64(self.commit);
        if let Some(Seal(seal)) = self.seal {
            bytes.put_slice(&seal);
        }
        bytes.freeze()
    }

    pub(super) fn decode(stored: &[u8]) -> Result<Self, &'static str> {
        let Some((bytes, seal)) = stored.split_first_chunk::<META_BYTES>() else {
            return Err("the meta record has another length");
        };
        let [layout, a, b, c, d, rest @ ..] = *bytes;
        let seal = match (layout, seal) {
            (LAYOUT, []) => None,
            (LAYOUT_SEALED, seal) => {
                let seal = <[u8; SEAL_BYTES]>::try_from(seal);
                Some(Seal(
                    seal.map_err(|_| "the meta record has another length")?,
                ))
            }
            (LAYOUT, _) => return Err("the meta record has another length"),
            _ => return Err("the meta record is of another version"),
        };
        let [e, f, g, h, i, j, k, l, commit @ ..] = rest;
        Ok(Self {
            epoch: u32::from_be_bytes([a, b, c, d]),
            count: u64::from_be_bytes([e, f, g, h, i, j, k, l]),
            commit: u64::from_be_bytes(commit),
            seal,
        })
    }
}

fn put_record_key(bytes: &mut Lookup, epoch: u32, key: &[u8]) {
    bytes.push(RECORD);
    bytes.extend_from_slice(&epoch.to_be_bytes());
    bytes.extend_from_slice(key);
}

/// Where a record is.
pub(super) fn record_key(epoch: u32, key: &[u8]) -> Lookup {
    let mut bytes = Lookup::new();
    put_record_key(&mut bytes, epoch, key);
    bytes
}

/// Where a record is in the index of expiry.
pub(super) fn expiry_key(epoch: u32, expires_ms: u64, key: &[u8]) -> Lookup {
    let mut bytes = Lookup::new();
    bytes.push(EXPIRY);
    bytes.extend_from_slice(&epoch.to_be_bytes());
    bytes.extend_from_slice(&expires_ms.to_be_bytes());
    bytes.extend_from_slice(key);
    bytes
}

/// Where the records of an epoch end.
pub(super) fn records_end(epoch: u32) -> Lookup {
    match epoch.checked_add(1) {
        Some(next) => record_key(next, b""),
        None => Lookup::from_slice(&[RECORD + 1]),
    }
}

/// All that is left of the epochs before one: two ranges.
pub(super) fn garbage(epoch: u32) -> [(Lookup, Lookup); 2] {
    [
        (record_key(0, b""), record_key(epoch, b"")),
        (expiry_key(0, 0, b""), expiry_key(epoch, 0, b"")),
    ]
}

/// The record's own key.
pub(super) fn own_key(stored: &Bytes) -> Result<Bytes, &'static str> {
    if stored.len() < RECORD_PREFIX_BYTES || stored.first() != Some(&RECORD) {
        return Err("a key is not one of a record");
    }
    Ok(stored.slice(RECORD_PREFIX_BYTES..))
}

/// When the record of an entry of the index expires, and its own key.
pub(super) fn expiry(stored: &Bytes) -> Result<(u64, Bytes), &'static str> {
    match *stored.as_ref() {
        [EXPIRY, _, _, _, _, a, b, c, d, e, f, g, h, ..] => Ok((
            u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            stored.slice(EXPIRY_PREFIX_BYTES..),
        )),
        _ => Err("a key is not one of the index of expiry"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meta_record_is_read_back() {
        for (seal, length) in [(None, META_BYTES), (Some(Seal([7; 16])), META_SEALED_BYTES)] {
            let meta = Meta {
                epoch: 7,
                count: u64::MAX,
                commit: 1 << 40,
                seal,
            };
            let stored = meta.encode();
            assert_eq!((Meta::decode(&stored), stored.len()), (Ok(meta), length));
            assert!(Meta::decode(&stored[..length - 1]).is_err());
            assert!(Meta::decode(&[&stored[..], &[0]].concat()).is_err());
        }
        assert!(Meta::decode(&[0; META_BYTES]).is_err());
        assert!(Meta::decode(b"").is_err());
    }

    #[test]
    fn keys_keep_their_order_and_are_read_back() {
        let keys: [&[u8]; 4] = [b"", b"\0", b"a", b"\xff"];
        let stored = keys.map(|key| Bytes::copy_from_slice(&record_key(3, key)));
        assert!(stored.is_sorted());
        assert!(records_end(3)[..] > stored[3][..] && records_end(2)[..] <= stored[0][..]);
        assert!(records_end(u32::MAX)[..] > record_key(u32::MAX, b"\xff")[..]);
        let own = stored.each_ref().map(|stored| own_key(stored).unwrap());
        assert_eq!(own, keys);
        let entry = Bytes::copy_from_slice(&expiry_key(3, 99, b"key"));
        assert_eq!(expiry(&entry), Ok((99, Bytes::from("key"))));
        assert!(own_key(&entry).is_err() && expiry(&stored[0]).is_err());
    }

    #[test]
    fn garbage_is_what_is_before_the_epoch() {
        let [(from, to), (index_from, index_to)] = garbage(2);
        let inside = record_key(1, b"\xff");
        assert!(from[..] <= inside[..] && inside[..] < to[..]);
        assert!(record_key(2, b"")[..] >= to[..] && META_KEY[..] > to[..]);
        let inside = expiry_key(1, u64::MAX, b"");
        assert!(index_from[..] <= inside[..] && inside[..] < index_to[..]);
    }
}
