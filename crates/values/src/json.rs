//! JSON text of single values, byte to byte: strings, numbers, bytes, JSON that is there already. Not a JSON library: it reads nothing.
//! Rule: a number reads back as the same number, and of a string only what JSON requires is escaped.
//!
//! | value | JSON |
//! | --- | --- |
//! | integer | number, exact |
//! | float | the shortest number that reads back the same; NaN and infinities are null |
//! | text | string |
//! | bytes | base64 string with padding |

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Appends `null`.
pub fn write_null(out: &mut Vec<u8>) {
    out.extend_from_slice(b"null");
}

/// `true`.
pub const TRUE: &[u8] = b"true";
/// `false`.
pub const FALSE: &[u8] = b"false";

/// Appends an integer.
pub fn write_integer(integer: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
}

/// Appends a double, null if it is not finite.
pub fn write_f64(number: f64, out: &mut Vec<u8>) {
    if number.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
    } else {
        write_null(out);
    }
}

/// Appends a float of single precision with as many digits as tell it from others, null if it is not finite.
pub fn write_f32(number: f32, out: &mut Vec<u8>) {
    if number.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
    } else {
        write_null(out);
    }
}

/// Appends a string.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    write_utf8(text.as_bytes(), out);
}

/// Appends a string of bytes that are known to be UTF-8.
pub fn write_utf8(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text;
    while let Some((plain, byte, after)) = next_escape(rest) {
        out.extend_from_slice(plain);
        write_escape(byte, out);
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends bytes as a base64 string.
pub fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    write_base64(bytes, out);
    out.push(b'"');
}

/// Appends bytes in base64 with padding, without quotes.
pub fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    // Three bytes are four characters. A vector has fewer bytes than would overflow here.
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let place = out.get_mut(start..).unwrap_or_default();
    let written = STANDARD.encode_slice(bytes, place);
    debug_assert!(written.is_ok(), "the space was just made");
}

/// Appends JSON that has been checked. Line breaks stand between its tokens only; as spaces they keep a line of NDJSON one line.
pub fn write_checked(json: &str, out: &mut Vec<u8>) {
    out.reserve(json.len());
    let mut rest = json.as_bytes();
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        out.extend_from_slice(before);
        out.push(b' ');
        rest = after.get(1..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

/// Whether a string cannot hold this byte as it is.
pub const fn must_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// What stands before the first byte that a string cannot hold as it is, that byte, and what follows it.
fn next_escape(bytes: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let (plain, rest) = bytes.split_at_checked(position_to_escape(bytes)?)?;
    let (byte, after) = rest.split_first()?;
    Some((plain, *byte, after))
}

const CHUNK_BYTES: usize = 16;
const WORD_BYTES: usize = 8;

fn position_to_escape(bytes: &[u8]) -> Option<usize> {
    // Whole chunks are looked at without branches, which the compiler turns into vector instructions.
    let is_clean = |chunk: &[u8; CHUNK_BYTES]| {
        !chunk
            .iter()
            .fold(false, |any, byte| any | must_escape(*byte))
    };
    let (chunks, _) = bytes.as_chunks::<CHUNK_BYTES>();
    let mut clean = chunks.iter().take_while(|chunk| is_clean(chunk)).count() * CHUNK_BYTES;
    let word = bytes.get(clean..)?.first_chunk::<WORD_BYTES>();
    if word.is_some_and(|word| !holds_byte_to_escape(u64::from_le_bytes(*word))) {
        clean += WORD_BYTES;
    }
    let rest = bytes.get(clean..)?;
    let within = rest.iter().position(|byte| must_escape(*byte))?;
    Some(clean + within)
}

/// Tests eight bytes at once. A byte below a bound borrows from its top bit when the bound is subtracted, and a byte
/// equal to another is zero after an exclusive or. The borrow of one byte can only spoil bytes above it, so the
/// answer for the whole word is exact.
fn holds_byte_to_escape(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const TOPS: u64 = ONES << 7;
    let zero_in = |word: u64| word.wrapping_sub(ONES) & !word & TOPS;
    let control = word.wrapping_sub(ONES * 0x20) & !word & TOPS;
    let quote = zero_in(word ^ (ONES * u64::from(b'"')));
    let backslash = zero_in(word ^ (ONES * u64::from(b'\\')));
    control | quote | backslash != 0
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[digit(byte >> 4), digit(byte & 0x0f)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(write: impl FnOnce(&mut Vec<u8>), expected: &str) {
        let mut out = Vec::new();
        write(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn every_value_has_its_form() {
        check(write_null, "null");
        check(|out| write_integer(i64::MIN, out), "-9223372036854775808");
        check(|out| write_f64(1.0, out), "1.0");
        check(|out| write_f64(-0.0, out), "-0.0");
        check(|out| write_f64(f64::NAN, out), "null");
        check(|out| write_f32(0.1, out), "0.1");
        check(|out| write_f32(f32::INFINITY, out), "null");
        check(|out| write_bytes(b"\xde\xad\xbe\xef", out), "\"3q2+7w==\"");
        check(|out| write_bytes(b"", out), "\"\"");
        check(|out| write_bytes(b"abc", out), "\"YWJj\"");
        check(
            |out| write_checked("{\n\"a\": 1\r\n}", out),
            "{ \"a\": 1  }",
        );
        check(
            |out| write_string("a\"b\\c\nd\re\tf\x08\x0c\x00\x1f\x7f", out),
            "\"a\\\"b\\\\c\\nd\\re\\tf\\b\\f\\u0000\\u001f\x7f\"",
        );
        check(
            |out| write_string("紡ぎ/\u{2028}</script>é", out),
            "\"紡ぎ/\u{2028}</script>é\"",
        );
    }

    #[test]
    fn floats_read_back_the_same() {
        for real in [
            f64::MIN,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            0.1,
            1e16,
            123_456_789.123_456_78,
            1.0 / 3.0,
        ] {
            let mut out = Vec::new();
            write_f64(real, &mut out);
            let read: f64 = serde_json::from_slice(&out).unwrap();
            assert_eq!(read.to_bits(), real.to_bits());
        }
    }

    #[test]
    fn strings_of_every_byte_at_every_place_match_another_writer() {
        for code in 0..=0x17f_u32 {
            let Some(odd) = char::from_u32(code) else {
                continue;
            };
            for length in 0..28 {
                for place in 0..=length {
                    let mut text: String = "x".repeat(place);
                    text.push(odd);
                    text.push_str(&"~".repeat(length - place));
                    check(
                        |out| write_string(&text, out),
                        &serde_json::to_string(&text).unwrap(),
                    );
                }
            }
        }
    }
}
