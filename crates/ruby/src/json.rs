//! Ruby values as JSON text: compact, UTF-8 unescaped, integers exact. Not a parser.
//! Hashes and arrays are walked in Rust; of any other object `to_json` is called, else `to_h`, for what is enumerable `to_a`, else a `to_s` of its own.
//! Rule: nesting is counted as the parser of `tsumugi_http::json` counts it, so that what is written here can be read again.

use tsumugi_mruby::{Kind, Result, Scope, Value, text};

use crate::answer::Failure as _;
use crate::limits::JSON_BYTES_MAX;
use crate::natives::database::packed;

/// Values written, or made, before the next look at the watchdog.
pub(crate) const VALUES_BETWEEN_CHECKS: usize = 1_024;

/// Appends `value` to `out`. Raises for what JSON cannot hold and for nesting beyond `depth_max`.
pub(crate) fn write<'s>(
    scope: &'s Scope<'_>,
    value: Value<'_>,
    depth_max: usize,
    out: &mut Vec<u8>,
) -> Result<'s, ()> {
    let mut writer = Writer {
        out,
        depth_max,
        values: 0,
    };
    scope.nested_try(|scope| writer.write(scope, value, 0))
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    depth_max: usize,
    values: usize,
}

impl Writer<'_> {
    fn write<'s>(
        &mut self,
        scope: &'s Scope<'_>,
        value: Value<'_>,
        depth: usize,
    ) -> Result<'s, ()> {
        self.values += 1;
        if self.values.is_multiple_of(VALUES_BETWEEN_CHECKS) {
            scope.check_interrupt()?;
        }
        if self.out.len() > JSON_BYTES_MAX {
            let message = format!(
                "the JSON exceeds {JSON_BYTES_MAX} bytes (json_bytes_max); `stream` sends what is larger"
            );
            return Err(scope.error("ArgumentError", message));
        }
        match value.kind() {
            Kind::Nil => self.out.extend_from_slice(b"null"),
            Kind::True => self.out.extend_from_slice(b"true"),
            Kind::False => self.out.extend_from_slice(b"false"),
            Kind::Integer => self.integer(value.as_integer().unwrap_or_default()),
            Kind::Float => self.float(value.as_float().unwrap_or_default()),
            Kind::String => {
                scope.with_bytes(value, |bytes| string(bytes, self.out));
            }
            Kind::Symbol => {
                let name = scope.text(value).unwrap_or_default();
                string(name.as_bytes(), self.out);
            }
            Kind::Array => self.array(scope, value, depth)?,
            Kind::Hash => self.hash(scope, value, depth)?,
            _ => self.object(scope, value, depth)?,
        }
        Ok(())
    }

    /// Whether an array or object may begin where `depth` others are open.
    fn begin<'s>(&self, scope: &'s Scope<'_>, depth: usize) -> Result<'s, ()> {
        if depth < self.depth_max {
            return Ok(());
        }
        let message = format!(
            "nesting of JSON exceeds json_depth_max ({}); is it cyclic?",
            self.depth_max
        );
        Err(scope.error("ArgumentError", message))
    }

    fn integer(&mut self, integer: i64) {
        let mut digits = itoa::Buffer::new();
        self.out
            .extend_from_slice(digits.format(integer).as_bytes());
    }

    fn float(&mut self, float: f64) {
        use std::io::Write as _;
        if !float.is_finite() {
            self.out.extend_from_slice(b"null");
        } else if float == float.trunc() && float.abs() < 1e16 {
            let _ = write!(self.out, "{float:.1}"); // a Vec takes every write
        } else if (1e-5..1e16).contains(&float.abs()) {
            let _ = write!(self.out, "{float}");
        } else {
            let _ = write!(self.out, "{float:e}");
        }
    }

    fn array<'s>(
        &mut self,
        scope: &'s Scope<'_>,
        array: Value<'_>,
        depth: usize,
    ) -> Result<'s, ()> {
        self.begin(scope, depth)?;
        self.out.push(b'[');
        let mut i = 0;
        // The length is read anew: an element's to_json may change the array.
        while i < scope.array_len(array) {
            if i > 0 {
                self.out.push(b',');
            }
            // One element, in a scope of its own: an array may have millions.
            scope.nested_try(|scope| self.write(scope, scope.array_at(array, i), depth + 1))?;
            i += 1;
        }
        self.out.push(b']');
        Ok(())
    }

    fn hash<'s>(&mut self, scope: &'s Scope<'_>, hash: Value<'_>, depth: usize) -> Result<'s, ()> {
        self.begin(scope, depth)?;
        self.out.push(b'{');
        for (i, (key, value)) in scope.entries(hash)?.into_iter().enumerate() {
            if i > 0 {
                self.out.push(b',');
            }
            match key.as_symbol() {
                Some(symbol) => scope.with_symbol_name(symbol, |name| string(name, self.out)),
                None => {
                    let name = match scope.text(key) {
                        Some(name) => name,
                        None => scope.text_by(key, "to_s")?,
                    };
                    string(name.as_bytes(), self.out);
                }
            }
            self.out.push(b':');
            self.write(scope, value, depth + 1)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn object<'s>(
        &mut self,
        scope: &'s Scope<'_>,
        value: Value<'_>,
        depth: usize,
    ) -> Result<'s, ()> {
        if let Some(rows) = packed::packed(scope, value) {
            // An array of objects.
            self.begin(scope, depth + 1)?;
            return rows
                .write_json(self.out)
                .map_err(|error| error.raise(scope));
        }
        if value.kind() == Kind::BigInteger {
            let text = scope.call(value, "to_s", &[])?;
            scope.with_bytes(text, |bytes| self.out.extend_from_slice(bytes));
            return Ok(());
        }
        if scope.responds_to(value, "to_json") {
            let text = scope.call(value, "to_json", &[])?;
            scope.with_bytes(text, |bytes| self.out.extend_from_slice(bytes));
            return Ok(());
        }
        // What is enumerable has a `to_h` that is for pairs alone. A Struct has pairs; a Range is what CRuby writes, its text.
        let is_list = scope.responds_to(value, "to_a") && !scope.responds_to(value, "each_pair");
        if is_list && value.kind() != Kind::Range {
            let list = scope.call(value, "to_a", &[])?;
            if list.kind() == Kind::Array {
                return self.array(scope, list, depth);
            }
        }
        if !is_list && scope.responds_to(value, "to_h") {
            let hash = scope.call(value, "to_h", &[])?;
            if hash.kind() == Kind::Hash {
                return self.hash(scope, hash, depth);
            }
        }
        let text = scope.call(value, "to_s", &[])?;
        // What every object has says its address, which no client can use.
        if scope.with_bytes(text, |bytes| bytes.starts_with(b"#<")) == Some(true) {
            let message = format!(
                "a {} cannot be written as JSON: give it to_h or to_json",
                scope.class_name(value)
            );
            return Err(scope.error("TypeError", message));
        }
        scope.with_bytes(text, |bytes| string(bytes, self.out));
        Ok(())
    }
}

/// A JSON string. Bytes that are no UTF-8 become U+FFFD.
pub(crate) fn string(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    if is_plain_text(bytes) {
        out.extend_from_slice(bytes);
    } else {
        escaped(bytes, out);
    }
    out.push(b'"');
}

/// Bytes all of which are plain, looked at eight at a time.
fn is_plain_text(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut words = words.iter().map(|word| u64::from_ne_bytes(*word));
    words.all(is_plain_word) && rest.iter().all(|&byte| is_plain(byte))
}

/// The same for eight. A byte that is not plain sets its highest bit; it may set that of others as well.
fn is_plain_word(word: u64) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let is_zero = |word: u64| word.wrapping_sub(EACH) & !word;
    let below_space = word.wrapping_sub(EACH * 0x20);
    let quote = is_zero(word ^ (EACH * u64::from(b'"')));
    let backslash = is_zero(word ^ (EACH * u64::from(b'\\')));
    (word | below_space | quote | backslash) & (EACH * 0x80) == 0
}

/// ASCII that stands for itself.
fn is_plain(byte: u8) -> bool {
    matches!(byte, 0x20..0x80) && byte != b'"' && byte != b'\\'
}

fn escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let text = text::lossy(bytes);
    let mut plain = 0;
    for (i, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text.as_bytes()[plain..i]);
        plain = i + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&text.as_bytes()[plain..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_plain_by_itself_and_among_seven_others() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                for filler in [b' ', b'a', b'~', 0x7f] {
                    let mut text = [filler; 8];
                    text[place] = byte;
                    assert_eq!(is_plain_text(&text), is_plain(byte), "{byte:#x} at {place}");
                }
            }
        }
    }
}
