//! Base64, percent coding, HTML escaping. Decoders take what clients send: total, and never longer than their input.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose};
use tsumugi_http::percent::{Plus, decode_leniently};
use tsumugi_mruby::{Kind, Result, Scope, Value};

use crate::limits::STRING_BYTES_MAX;
use crate::natives::arguments::{too_long, wrong_type};
use crate::natives::definitions::Natives;

/// Padding may be left out: what `urlsafe_decode64` takes.
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// `decode64` takes what it can: trailing bits and missing padding are no errors.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// Bytes that are looked at together for what needs escaping.
const ESCAPED_BLOCK_BYTES: usize = 32;
/// Bytes of a line of `encode64`, before encoding.
const LINE_BYTES: usize = 45;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    base64(natives)?;
    natives.plain("percent_encode", |_, scope, call| {
        let spaces = call.argument(1).truthy();
        let given = call.argument(0);
        check_length(scope, given, 3, |byte| {
            if is_plain(byte, spaces) || (byte == b' ' && spaces) {
                1
            } else {
                3
            }
        })?;
        with(scope, given, |bytes| percent_encode(bytes, spaces))
    })?;
    natives.plain("percent_decode", |_, scope, call| {
        let plus = match call.argument(1).truthy() {
            true => Plus::Space,
            false => Plus::Plus,
        };
        with(scope, call.argument(0), |bytes| {
            decode_leniently(bytes, plus)
        })
    })?;
    natives.plain("html_escape", |_, scope, call| {
        escape(scope, call.argument(0))
    })?;
    natives.plain("html_unescape", |_, scope, call| {
        with(scope, call.argument(0), |bytes| {
            html_unescape(&String::from_utf8_lossy(bytes)).into_bytes()
        })
    })
}

/// The text of a value with entities for what HTML would take for markup.
pub(super) fn escape<'s>(scope: &'s Scope<'s>, given: Value<'s>) -> Result<'s, Value<'s>> {
    let text = match given.kind() {
        Kind::String => given,
        _ => scope.call(given, "to_s", &[])?,
    };
    // Most texts need no escaping: they are handed back as they are.
    let plain = scope.with_bytes(text, |bytes| !needs_escaping(bytes));
    if plain == Some(true) {
        return Ok(text);
    }
    check_length(scope, text, 6, |byte| entity(byte).map_or(1, <[u8]>::len))?;
    with(scope, text, html_escape)
}

/// Refuses what would be too long for a String, before it is made: a byte becomes `longest` at most.
fn check_length<'s>(
    scope: &'s Scope<'s>,
    text: Value<'s>,
    longest: usize,
    length: impl Fn(u8) -> usize,
) -> Result<'s, ()> {
    let long = scope.with_bytes(text, |bytes| {
        bytes.len() > STRING_BYTES_MAX / longest
            && bytes.iter().map(|byte| length(*byte)).sum::<usize>() > STRING_BYTES_MAX
    });
    match long {
        Some(true) => Err(too_long(scope)),
        _ => Ok(()),
    }
}

fn with<'s>(
    scope: &'s Scope<'s>,
    value: Value<'s>,
    change: impl FnOnce(&[u8]) -> Vec<u8>,
) -> Result<'s, Value<'s>> {
    match scope.with_bytes(value, change) {
        Some(changed) => scope.string(changed),
        None => Err(wrong_type(scope, value, "the text", "a String")),
    }
}

fn base64<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("base64_encode", |_, scope, call| {
        let lines = call.argument(1).truthy();
        with(scope, call.argument(0), |bytes| {
            if !lines {
                return general_purpose::STANDARD.encode(bytes).into_bytes();
            }
            let mut out = Vec::new();
            for line in bytes.chunks(LINE_BYTES) {
                out.extend_from_slice(general_purpose::STANDARD.encode(line).as_bytes());
                out.push(b'\n');
            }
            out
        })
    })?;
    natives.plain("base64_decode", |_, scope, call| {
        let kind = scope.text(call.argument(1)).unwrap_or_default();
        let decoded = scope.with_bytes(call.argument(0), |bytes| match kind.as_str() {
            "strict" => general_purpose::STANDARD.decode(bytes).ok(),
            "urlsafe" => URL_SAFE.decode(bytes).ok(),
            _ => Some(lenient(bytes)),
        });
        match decoded {
            Some(Some(decoded)) => scope.string(decoded),
            Some(None) => Err(scope.error("ArgumentError", "invalid base64")),
            None => Err(wrong_type(scope, call.argument(0), "the text", "a String")),
        }
    })
}

/// Skips what is no digit, ends at the padding, as `unpack("m")` does.
fn lenient(bytes: &[u8]) -> Vec<u8> {
    let digits = bytes.iter().copied().take_while(|byte| *byte != b'=');
    let mut digits: Vec<u8> = digits
        .filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
        .collect();
    if digits.len() % 4 == 1 {
        digits.pop();
    }
    LENIENT.decode(digits).unwrap_or_default()
}

/// Stays as it is, in a form or in a part of a URI.
fn is_plain(byte: u8, in_form: bool) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'_')
        || byte == if in_form { b'*' } else { b'~' }
}

fn percent_encode(bytes: &[u8], spaces_as_plus: bool) -> Vec<u8> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Vec::with_capacity(bytes.len() + 16);
    for byte in bytes {
        match byte {
            byte if is_plain(*byte, spaces_as_plus) => out.push(*byte),
            b' ' if spaces_as_plus => out.push(b'+'),
            _ => {
                let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
                out.extend([b'%', HEX[high], HEX[low]]);
            }
        }
    }
    out
}

fn entity(byte: u8) -> Option<&'static [u8]> {
    Some(match byte {
        b'&' => b"&amp;",
        b'<' => b"&lt;",
        b'>' => b"&gt;",
        b'"' => b"&quot;",
        b'\'' => b"&#39;",
        _ => return None,
    })
}

/// Appends a text with entities for what HTML would take for markup.
pub(super) fn escape_into(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut plain = 0;
    let mut at = 0;
    while at < bytes.len() {
        // Most texts need no escaping: they are looked at by blocks, without a branch for each byte.
        let block = &bytes[at..bytes.len().min(at + ESCAPED_BLOCK_BYTES)];
        if needs_escaping(block) {
            for (i, byte) in block.iter().enumerate() {
                if let Some(entity) = entity(*byte) {
                    out.extend_from_slice(&bytes[plain..at + i]);
                    out.extend_from_slice(entity);
                    plain = at + i + 1;
                }
            }
        }
        at += block.len();
    }
    out.extend_from_slice(&bytes[plain..]);
}

fn needs_escaping(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |found, byte| {
        found | matches!(byte, b'&' | b'<' | b'>' | b'"' | b'\'')
    })
}

/// A text with entities for what HTML would take for markup.
fn html_escape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 8 + 8);
    escape_into(&mut out, bytes);
    out
}

/// The five named entities of XML and numeric ones; anything else stays.
fn html_unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let end = from.bytes().take(12).position(|byte| byte == b';');
        let char = end.and_then(|end| unescape(from.get(1..end)?));
        match (char, end) {
            (Some(char), Some(end)) => {
                out.push(char);
                rest = from.get(end + 1..).unwrap_or_default();
            }
            _ => {
                out.push('&');
                rest = from.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

fn unescape(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_wherever_it_stands() {
        for before in 0..2 * ESCAPED_BLOCK_BYTES {
            let plain = "x".repeat(before);
            let found = html_escape(format!("{plain}<'{plain}&\"").as_bytes());
            let expected = format!("{plain}&lt;&#39;{plain}&amp;&quot;");
            assert_eq!(String::from_utf8_lossy(&found), expected);
        }
    }

    #[test]
    fn malformed_entity_is_kept_as_text() {
        for text in ["&", "&;", "&#;", "&#xd800;", "&nope;", "& lt;", "&ltあ"] {
            assert_eq!(html_unescape(text), text);
        }
        assert_eq!(html_unescape("&lt;&#39;&#x3042;&amp;amp;"), "<'あ&amp;");
    }
}
