//! Percent-decoding (RFC 3986 section 2.1) of text that a client sent. Pure: bytes in, text out.
//! An escape that is no escape and bytes that are not UTF-8 are errors, never guesses, unless the caller is lenient. The result is never longer
//! than the input.

use std::borrow::Cow;

use crate::error::{Error, Result};

/// What `+` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plus {
    /// Itself, as in a path.
    Plus,
    /// A space, as in a query string or a form.
    Space,
}

/// `text` with its escapes decoded; borrowed when there is nothing to decode.
pub fn decode(text: &str, plus: Plus) -> Result<Cow<'_, str>> {
    let special = |byte: &u8| *byte == b'%' || (*byte == b'+' && plus == Plus::Space);
    if !text.as_bytes().iter().any(special) {
        return Ok(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                escaped(bytes.next(), bytes.next()).ok_or(Error::Malformed("percent escape"))?
            }
            b'+' if plus == Plus::Space => b' ',
            other => other,
        });
    }
    let decoded =
        String::from_utf8(decoded).map_err(|_| Error::Malformed("percent escape: not UTF-8"))?;
    Ok(Cow::Owned(decoded))
}

/// Bytes with their escapes decoded; what is no escape stays as it is. Where a text is shown or Ruby decides what becomes of it.
pub fn decode_leniently(bytes: &[u8], plus: Plus) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut bytes = bytes.iter().copied();
    while let Some(byte) = bytes.next() {
        let mut after = bytes.clone();
        decoded.push(match byte {
            b'%' => escaped(after.next(), after.next()).map_or(byte, |escaped| {
                bytes = after;
                escaped
            }),
            b'+' if plus == Plus::Space => b' ',
            other => other,
        });
    }
    decoded
}

fn escaped(high: Option<u8>, low: Option<u8>) -> Option<u8> {
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` is `None` when the text is malformed.
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(
            decode(text, Plus::Plus).ok().as_deref(),
            expected,
            "{text:?}"
        );
    }

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(
            decode("caf\u{e9}+x", Plus::Plus),
            Ok(Cow::Borrowed("caf\u{e9}+x"))
        ));
    }

    #[test]
    fn escapes_of_both_cases_decode() {
        check("caf%C3%A9", Some("caf\u{e9}"));
        check("a%2Fb%2fc", Some("a/b/c"));
        check("%00", Some("\0"));
        check("%25%32%35", Some("%25"));
    }

    #[test]
    fn broken_escapes_are_malformed() {
        for text in [
            "%", "a%", "%4", "%zz", "%4g", "%+1", "% 1", "%%41", "%\u{e9}",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn broken_escapes_stay_where_the_caller_is_lenient() {
        for text in ["%", "%4", "%zz", "a%2", "%%41+", "%\u{e9}"] {
            for (plus, space) in [(Plus::Plus, "+"), (Plus::Space, " ")] {
                let decoded = decode_leniently(text.as_bytes(), plus);
                let expected = text.replace("%41", "A").replace('+', space);
                assert_eq!(decoded, expected.as_bytes());
            }
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_malformed() {
        for text in ["%FF", "%C3", "%C0%AF", "%ED%A0%80"] {
            check(text, None);
        }
    }

    #[test]
    fn plus_is_a_space_only_in_forms() {
        check("a+b", Some("a+b"));
        assert_eq!(decode("a+b%2B", Plus::Space).unwrap(), "a b+");
    }
}
