//! Named queues: where the records of each lie among the keys of a database. Reads and writes nothing.
//! Rule: no key of a queue begins with what the keys of another one begin with, whatever the names are.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{BufMut as _, Bytes, BytesMut};

use crate::limits::QUEUE_NAME_BYTES_MAX;
use crate::notify::QUEUE_KEY;

/// What the keys of all queues begin with. The length of the name follows, so that a name may hold any bytes.
const QUEUES: &[u8] = b"queue:";
/// Ends the length, and the name.
const END: u8 = b':';
/// Places are as many hexadecimal digits, so that keys are text where names are.
const PLACE_DIGITS: usize = 16;
/// Most digits of a name's length.
const LENGTH_DIGITS_MAX: usize = 4;

/// Tkrzw's keys count 10 ns since 1970, and so do places.
const PLACE_NS: u128 = 10;

/// What the keys of the records of a queue begin with, and nothing else: `queue:4:mail:` for `mail`.
#[must_use]
pub fn queue_prefix(name: &[u8]) -> Bytes {
    let length = name.len().to_string();
    let bytes = QUEUES.len() + length.len() + name.len() + 2;
    let mut prefix = BytesMut::with_capacity(bytes);
    prefix.put_slice(QUEUES);
    prefix.put_slice(length.as_bytes());
    prefix.put_u8(END);
    prefix.put_slice(name);
    prefix.put_u8(END);
    prefix.freeze()
}

/// What those wait for, as [`KvDatabase::wait_for`](crate::KvDatabase::wait_for) takes it, who wait for the record that was pushed with this key.
#[must_use]
pub fn pushed_subject(key: &Bytes) -> Bytes {
    match prefix_of(key) {
        Some(prefix) => key.slice_ref(prefix),
        None => Bytes::from_static(QUEUE_KEY),
    }
}

/// The part of a key that says which queue its record is in; `None` of a record that is in none.
pub(crate) fn prefix_of(key: &[u8]) -> Option<&[u8]> {
    let rest = key.strip_prefix(QUEUES)?;
    let mut digits = rest.iter().take(LENGTH_DIGITS_MAX + 1);
    let digits = digits.position(|byte| *byte == END)?;
    let (length, rest) = rest.split_at_checked(digits)?;
    let length: usize = std::str::from_utf8(length).ok()?.parse().ok()?;
    let is_named = length <= QUEUE_NAME_BYTES_MAX && rest.get(1 + length) == Some(&END);
    let before = QUEUES.len() + digits;
    is_named.then(|| key.get(..before + length + 2)).flatten()
}

/// The key that no key of the queue reaches, and every key of a later queue does.
#[cfg(any(test, feature = "disk"))]
pub(crate) fn prefix_end(prefix: &[u8]) -> Bytes {
    let mut end = BytesMut::from(prefix);
    if let Some(last) = end.last_mut() {
        // The one that follows the end of a name.
        *last = END + 1;
    }
    end.freeze()
}

/// The key of a record at this place of a queue.
#[must_use]
pub fn place_key(prefix: &[u8], place: u64) -> Bytes {
    let mut key = BytesMut::with_capacity(prefix.len() + PLACE_DIGITS);
    key.put_slice(prefix);
    key.put_slice(format!("{place:0PLACE_DIGITS$x}").as_bytes());
    key.freeze()
}

/// The place that a key of a queue names; `None` of one that no push has made.
#[must_use]
pub fn place_of(prefix: &[u8], key: &[u8]) -> Option<u64> {
    let digits = key.strip_prefix(prefix)?;
    let is_place = digits.len() == PLACE_DIGITS && digits.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(digits).ok().filter(|_| is_place)?;
    u64::from_str_radix(digits, 16).ok()
}

/// The place of what is pushed at this time, if it is behind all others.
#[must_use]
pub fn place_at(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos() / PLACE_NS).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_of_a_queue_begins_with_its_prefix_and_no_other() {
        let names: [&[u8]; 9] = [
            b"",
            b":",
            b"a",
            b"a:",
            b"a:b",
            b"1:a",
            b"mail",
            b"\xff\x00",
            &[b'x'; QUEUE_NAME_BYTES_MAX],
        ];
        for name in names {
            let prefix = queue_prefix(name);
            for key in [place_key(&prefix, 0), place_key(&prefix, u64::MAX)] {
                assert_eq!(prefix_of(&key), Some(&prefix[..]), "{name:?}");
                assert_eq!(pushed_subject(&key), prefix);
                assert!(prefix < key && key < prefix_end(&prefix));
                for other in names.iter().filter(|other| **other != name) {
                    let other = queue_prefix(other);
                    assert!(!key.starts_with(&other), "{name:?}");
                    assert!(key < other || key >= prefix_end(&other), "{name:?}");
                }
            }
        }
        assert_eq!(queue_prefix(b"mail"), "queue:4:mail:");
    }

    #[test]
    fn other_keys_are_in_no_queue() {
        for key in [
            "",
            "queue:",
            "queue:mail",
            "queue:4:mail",
            "queue:4:mails:",
            "queue::",
            "queue:-1:",
            "queue:1025:",
            "queue:99999999999999999999:a:",
            "queues:4:mail:",
        ] {
            assert_eq!(prefix_of(key.as_bytes()), None, "{key}");
            let key = Bytes::from(key);
            assert_eq!(pushed_subject(&key), QUEUE_KEY);
        }
    }

    #[test]
    fn places_are_ordered_as_their_keys_are() {
        let prefix = queue_prefix(b"q");
        let places = [0, 1, 15, 16, 0xffff, 1 << 60, u64::MAX];
        let keys = places.map(|place| place_key(&prefix, place));
        assert!(keys.is_sorted());
        for (place, key) in places.iter().zip(&keys) {
            assert_eq!(place_of(&prefix, key), Some(*place));
        }
        for key in ["queue:1:q:", "queue:1:q:x", "queue:1:q:000000000000000g"] {
            assert_eq!(place_of(&prefix, key.as_bytes()), None, "{key}");
        }
    }
}
