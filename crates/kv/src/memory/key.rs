//! A key as the engine in memory keeps it: short ones in place, long ones shared. Not a public type.
//! Rule: it orders, compares and hashes as its bytes do, so that a lookup needs no `Key`.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::sync::Arc;

/// Longest key that needs no allocation; with it a `Key` is as large as a `Vec`.
const SHORT_BYTES_MAX: usize = 22;

#[derive(Clone, Debug)]
pub(super) enum Key {
    Short {
        length: u8,
        bytes: [u8; SHORT_BYTES_MAX],
    },
    Long(Arc<[u8]>),
}

impl Key {
    pub(super) fn new(key: &[u8]) -> Self {
        let mut bytes = [0; SHORT_BYTES_MAX];
        match (bytes.get_mut(..key.len()), u8::try_from(key.len())) {
            (Some(start), Ok(length)) => {
                start.copy_from_slice(key);
                Self::Short { length, bytes }
            }
            _ => Self::Long(Arc::from(key)),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Short { length, bytes } => &bytes[..usize::from(*length)],
            Self::Long(bytes) => bytes,
        }
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        self.bytes()
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Key {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_its_bytes_at_every_length() {
        assert_eq!(size_of::<Key>(), size_of::<Vec<u8>>());
        for length in 0..=SHORT_BYTES_MAX + 2 {
            let bytes: Vec<u8> = (0..length).map(|n| n as u8).collect();
            let key = Key::new(&bytes);
            assert_eq!(key.bytes(), bytes);
            assert!(Key::new(&[0xff]) > key);
            assert_eq!(matches!(key, Key::Long(_)), length > SHORT_BYTES_MAX);
        }
    }
}
