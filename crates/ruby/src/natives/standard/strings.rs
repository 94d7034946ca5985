//! Strings as Unicode text where mruby knows ASCII only: letter case, validity, blank ends.

use tsumugi_mruby::{Result, Scope, Value};

use crate::limits::STRING_BYTES_MAX;
use crate::natives::arguments::{text, too_long, wrong_type};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("string_ascii?", |_, scope, call| {
        ask(scope, call.argument(0), <[u8]>::is_ascii)
    })?;
    natives.plain("string_valid?", |_, scope, call| {
        ask(scope, call.argument(0), |bytes| {
            std::str::from_utf8(bytes).is_ok()
        })
    })?;
    natives.plain("string_upcase", |_, scope, call| {
        let text = text(scope, call.argument(0), "the text")?;
        scope.string(text.to_uppercase())
    })?;
    natives.plain("string_downcase", |_, scope, call| {
        let text = text(scope, call.argument(0), "the text")?;
        scope.string(text.to_lowercase())
    })?;
    natives.plain("string_swapcase", |_, scope, call| {
        let text = text(scope, call.argument(0), "the text")?;
        scope.string(swap_case(&text))
    })?;
    natives.plain("string_lstrip", |_, scope, call| {
        cut(scope, call.argument(0), from_text)
    })?;
    natives.plain("string_rstrip", |_, scope, call| {
        cut(scope, call.argument(0), to_text)
    })?;
    natives.plain("string_strip", |_, scope, call| {
        cut(scope, call.argument(0), |bytes| to_text(from_text(bytes)))
    })?;
    natives.plain("string_scrub", |_, scope, call| {
        let given = call.argument(0);
        let with = text(scope, call.argument(1), "the replacement")?;
        let scrubbed = scope.with_bytes(given, |bytes| {
            let mut out = String::with_capacity(bytes.len());
            for chunk in bytes.utf8_chunks() {
                out.push_str(chunk.valid());
                if !chunk.invalid().is_empty() {
                    out.push_str(&with);
                }
                if out.len() > STRING_BYTES_MAX {
                    return None;
                }
            }
            Some(out)
        });
        match scrubbed {
            Some(Some(scrubbed)) => scope.string(scrubbed),
            Some(None) => Err(too_long(scope)),
            None => Err(wrong_type(scope, given, "the text", "a String")),
        }
    })
}

/// Every letter in the other case.
fn swap_case(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.to_uppercase().eq([letter]) {
            out.extend(letter.to_lowercase());
        } else {
            out.extend(letter.to_uppercase());
        }
    }
    out
}

/// What CRuby takes for blank at the ends of a text.
fn blank(byte: u8) -> bool {
    matches!(byte, b'\0' | b'\t'..=b'\r' | b' ')
}

/// Without what is blank before it.
fn from_text(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|byte| !blank(*byte));
    bytes
        .get(start.unwrap_or(bytes.len())..)
        .unwrap_or_default()
}

/// Without what is blank behind it.
fn to_text(bytes: &[u8]) -> &[u8] {
    let last = bytes.iter().rposition(|byte| !blank(*byte));
    last.map_or_else(Default::default, |last| &bytes[..=last])
}

/// A new String of a part of one.
fn cut<'s>(
    scope: &'s Scope<'s>,
    value: Value<'s>,
    part: impl FnOnce(&[u8]) -> &[u8],
) -> Result<'s, Value<'s>> {
    match scope.with_bytes(value, |bytes| part(bytes).to_vec()) {
        Some(part) => scope.string(part),
        None => Err(wrong_type(scope, value, "the text", "a String")),
    }
}

fn ask<'s>(
    scope: &'s Scope<'s>,
    value: Value<'s>,
    question: impl FnOnce(&[u8]) -> bool,
) -> Result<'s, Value<'s>> {
    scope
        .with_bytes(value, question)
        .map(Value::boolean)
        .ok_or_else(|| wrong_type(scope, value, "the text", "a String"))
}
