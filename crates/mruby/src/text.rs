//! Bytes of Ruby's as text.

use std::borrow::Cow;

/// As text; what is no UTF-8 is replaced. What is valid, nearly all, is looked through faster than `from_utf8_lossy` does it.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::from)
}
