//! Bytes as one line of text, and back: tabs, newlines, backslashes, control characters and what is no UTF-8 get a backslash.
//! Any bytes can be written, and what was written reads as what it was.

/// Appends bytes as text.
pub fn put(bytes: &[u8], text: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\t' => text.extend(b"\\t"),
                '\n' => text.extend(b"\\n"),
                '\r' => text.extend(b"\\r"),
                '\\' => text.extend(b"\\\\"),
                '\0'..='\x1f' | '\x7f' => put_hex(character as u8, text),
                _ => text.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        for byte in chunk.invalid() {
            put_hex(*byte, text);
        }
    }
}

fn put_hex(byte: u8, text: &mut Vec<u8>) {
    text.extend(format!("\\x{byte:02x}").as_bytes());
}

/// Bytes as text, for messages.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    put(bytes, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// What follows a backslash means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a backslash is followed by something else than t, n, r, a, b, f, v, 0, xHH or another backslash; write \\\\ for one"
)]
pub struct EscapeError;

/// The bytes that a text stands for.
pub fn read(text: &[u8]) -> Result<Vec<u8>, EscapeError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let (letter, tail) = rest.split_first().ok_or(EscapeError)?;
        rest = tail;
        bytes.push(match letter {
            b't' => b'\t',
            b'n' => b'\n',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'0' => 0,
            b'\\' => b'\\',
            b'x' => {
                let (digits, tail) = rest.split_at_checked(2).ok_or(EscapeError)?;
                rest = tail;
                hex(digits).ok_or(EscapeError)?
            }
            _ => return Err(EscapeError),
        });
    }
    Ok(bytes)
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    u8::try_from(digit(0)? << 4 | digit(1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(escaped(bytes), expected);
        assert_eq!(read(expected.as_bytes()), Ok(bytes.to_vec()));
    }

    #[test]
    fn any_bytes_are_written_and_read() {
        check(b"plain text", "plain text");
        check("紡ぎ".as_bytes(), "紡ぎ");
        check(b"a\tb\nc\\d\r", "a\\tb\\nc\\\\d\\r");
        check(&[0, 0x7f, 0xff, 0xe3, 0x81], "\\x00\\x7f\\xff\\xe3\\x81");
        check(b"", "");
    }

    #[test]
    fn a_backslash_before_nothing_known_is_refused() {
        for text in ["\\", "a\\q", "\\x", "\\x0", "\\xzz"] {
            assert_eq!(read(text.as_bytes()), Err(EscapeError), "{text}");
        }
        assert_eq!(read(b"\\0\\a\\b\\f\\v"), Ok(vec![0, 7, 8, 12, 11]));
    }
}
