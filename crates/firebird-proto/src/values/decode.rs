//! Fields as values. Trusts `row` for the length of each, and shows bytes where that is all that can be said.
//! Rule: a CHAR has as many characters as its column, whether the server sent those or filled it up to as many bytes as the longest could take.

use std::borrow::Cow;

use crate::describe::{Column, Kind};
use crate::row::{Field, Row};

use super::{
    CharacterSet, Date, DecFloat, Decimal, Padding, TextRules, Time, TimeTz, Timestamp,
    TimestampTz, Value, Zone,
};

impl<'a> Row<'a> {
    /// Its values, in the order of the columns.
    pub fn values(&self, rules: TextRules) -> impl Iterator<Item = Value<'a>> + use<'a> {
        self.fields().map(move |field| field.value(rules))
    }
}

impl<'a> Field<'a> {
    /// What it means.
    pub fn value(&self, rules: TextRules) -> Value<'a> {
        let Some(bytes) = self.bytes else {
            return Value::Null;
        };
        match self.column.kind {
            Kind::Text | Kind::Varying => text(self.column, bytes, rules),
            // A row holds exactly as many bytes as its kind has; others could not be distinguished from bytes.
            _ => number(self.column, bytes).unwrap_or(Value::Bytes(bytes)),
        }
    }
}

fn number<'a>(column: &Column, bytes: &[u8]) -> Option<Value<'a>> {
    let exact = |number: i64| match column.scale {
        0 => Value::Integer(number),
        scale => Value::Decimal(Decimal {
            unscaled: number.into(),
            scale,
        }),
    };
    Some(match column.kind {
        Kind::Short | Kind::Long => exact(i32::from_be_bytes(array(bytes)?).into()),
        Kind::Int64 => exact(i64::from_be_bytes(array(bytes)?)),
        Kind::Int128 => Value::Decimal(Decimal {
            unscaled: i128::from_be_bytes(array(bytes)?),
            scale: column.scale,
        }),
        Kind::Float => Value::Float(f32::from_be_bytes(array(bytes)?)),
        Kind::Double => Value::Double(f64::from_be_bytes(array(bytes)?)),
        Kind::Dec16 => Value::DecFloat(DecFloat::from_decimal64(array(bytes)?)),
        Kind::Dec34 => Value::DecFloat(DecFloat::from_decimal128(array(bytes)?)),
        Kind::Date => Value::Date(date(bytes)?.0),
        Kind::Time => Value::Time(time(bytes)?.0),
        Kind::Timestamp => Value::Timestamp(timestamp(bytes)?.0),
        Kind::TimeTz => {
            let (utc, rest) = time(bytes)?;
            let zone = zone(rest)?;
            Value::TimeTz(TimeTz { utc, zone })
        }
        Kind::TimestampTz => {
            let (utc, rest) = timestamp(bytes)?;
            let zone = zone(rest)?;
            Value::TimestampTz(TimestampTz { utc, zone })
        }
        Kind::Boolean => Value::Boolean(bytes.first()? != &0),
        Kind::Blob => Value::Blob(u64::from_be_bytes(array(bytes)?)),
        Kind::Array => Value::Array(u64::from_be_bytes(array(bytes)?)),
        Kind::Text | Kind::Varying | Kind::Null => return None,
    })
}

fn array<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

fn date(bytes: &[u8]) -> Option<(Date, &[u8])> {
    let (days, rest) = bytes.split_first_chunk()?;
    Some((Date(i32::from_be_bytes(*days)), rest))
}

fn time(bytes: &[u8]) -> Option<(Time, &[u8])> {
    let (fractions, rest) = bytes.split_first_chunk()?;
    Some((Time(u32::from_be_bytes(*fractions)), rest))
}

fn timestamp(bytes: &[u8]) -> Option<(Timestamp, &[u8])> {
    let (date, rest) = date(bytes)?;
    let (time, rest) = time(rest)?;
    Some((Timestamp { date, time }, rest))
}

/// 16 bits in the place of 32, with or without its sign extended.
fn zone(bytes: &[u8]) -> Option<Zone> {
    let [_, _, high, low] = array(bytes)?;
    Some(Zone(u16::from_be_bytes([high, low])))
}

fn text<'a>(column: &Column, bytes: &'a [u8], rules: TextRules) -> Value<'a> {
    let id = column.character_set().unwrap_or(0);
    let described = CharacterSet::by_id(id).unwrap_or(CharacterSet::NONE);
    if !described.has_text() {
        return Value::Bytes(bytes);
    }
    let actual = match rules.none {
        Some(set) if described == CharacterSet::NONE => set,
        _ => described,
    };
    let Some(text) = actual.decode(bytes) else {
        return Value::Bytes(bytes);
    };
    if column.kind == Kind::Varying {
        return Value::Text(text);
    }
    let characters = usize::from(column.length) / usize::from(described.bytes_per_character());
    // A text of NONE is as long as its bytes, whatever they are.
    let text = match described {
        CharacterSet::NONE => text,
        _ => cut(text, characters),
    };
    Value::Text(match rules.padding {
        Padding::Keep => text,
        Padding::Trim => shorten(text, |text| text.trim_end_matches(' ').len()),
    })
}

/// The first `characters` characters.
fn cut(text: Cow<'_, str>, characters: usize) -> Cow<'_, str> {
    shorten(text, |text| {
        let head = text.as_bytes().get(..characters);
        match head {
            None => text.len(),
            Some(head) if head.is_ascii() => characters,
            Some(_) => text
                .char_indices()
                .nth(characters)
                .map_or(text.len(), |(at, _)| at),
        }
    })
}

fn shorten(text: Cow<'_, str>, to: impl FnOnce(&str) -> usize) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(..to(text)).unwrap_or(text)),
        Cow::Owned(mut text) => {
            let length = to(&text);
            text.truncate(length);
            Cow::Owned(text)
        }
    }
}
