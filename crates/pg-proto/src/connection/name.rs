//! Names of prepared statements: `s1`, `s2`, … Not the cache of them. Rule: making one takes no allocation.

use std::fmt;
use std::ops::Deref;

/// Digits of the biggest number, and the letter before them.
const NAME_BYTES_MAX: usize = 21;

/// A statement's name; it derefs to `str`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StatementName {
    /// Right-aligned.
    bytes: [u8; NAME_BYTES_MAX],
    start: u8,
}

impl StatementName {
    pub(super) fn new(mut number: u64) -> Self {
        let mut bytes = [b's'; NAME_BYTES_MAX];
        let mut start = NAME_BYTES_MAX;
        for place in bytes.iter_mut().rev() {
            start -= 1;
            if number == 0 {
                break;
            }
            *place = b'0' + u8::try_from(number % 10).unwrap_or_default();
            number /= 10;
        }
        Self {
            bytes,
            start: u8::try_from(start).unwrap_or_default(),
        }
    }
}

impl Deref for StatementName {
    type Target = str;

    fn deref(&self) -> &str {
        let bytes = self
            .bytes
            .get(usize::from(self.start)..)
            .unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl fmt::Debug for StatementName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(number: u64, expected: &str) {
        assert_eq!(&*StatementName::new(number), expected);
    }

    #[test]
    fn name_is_a_letter_and_a_number() {
        check(1, "s1");
        check(10, "s10");
        check(98_765, "s98765");
        check(u64::MAX, "s18446744073709551615");
    }
}
