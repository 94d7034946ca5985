//! Room for the values that go into a statement, which are the builder's, and references to values that come out of one.
//! Not a conversion framework: a value keeps the type that the caller or the database gave it.

pub use tsumugi_sql::Value;

use crate::error::{Error, Result};
use crate::limits::BINDS_BYTES_MAX;
use crate::postgres;
use crate::rows::typed::Typed;

/// What the values of one statement or pipeline may still be longer by. Code that copies values takes room for each before it copies it.
#[derive(Clone, Copy, Debug)]
pub struct BindRoom {
    left: usize,
}

impl Default for BindRoom {
    fn default() -> BindRoom {
        BindRoom {
            left: BINDS_BYTES_MAX,
        }
    }
}

impl BindRoom {
    /// Takes room for so many bytes.
    ///
    /// # Errors
    /// [`Error::Usage`], which names the limit, when there is less.
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        let Some(left) = self.left.checked_sub(bytes) else {
            return Err(Error::usage(format!(
                "the values have more than {BINDS_BYTES_MAX} bytes (binds_bytes_max): send them in several statements"
            )));
        };
        self.left = left;
        Ok(())
    }
}

/// The values of a statement, if there is room for them.
pub(crate) fn bounded(values: impl Into<Vec<Value>>) -> Result<Vec<Value>> {
    let values = values.into();
    BindRoom::default().take(values.iter().map(Value::bytes).sum())?;
    Ok(values)
}

/// The statements of a pipeline, if there is room for their values.
pub(crate) fn bounded_together<S>(
    statements: Vec<(S, Vec<Value>)>,
) -> Result<Vec<(S, Vec<Value>)>> {
    let values = statements.iter().flat_map(|(_, values)| values);
    BindRoom::default().take(values.map(Value::bytes).sum())?;
    Ok(statements)
}

/// A value of a type that has no Rust type here. Its bytes are decoded on demand.
#[derive(Clone, Copy, PartialEq)]
pub struct TypedValueRef<'a>(DriverValue<'a>);

/// The driver's field, or SQLite's text with its declared type, by which it is decoded.
#[derive(Clone, Copy, PartialEq)]
enum DriverValue<'a> {
    Postgres(postgres::Field<'a>),
    #[cfg(feature = "firebird")]
    Firebird(crate::firebird::Field<'a>),
    Typed(Typed<'a>),
}

/// Does the same with a value of whichever form.
macro_rules! on_value {
    ($it:expr, $inner:ident => $call:expr) => {
        match $it {
            DriverValue::Postgres($inner) => $call,
            #[cfg(feature = "firebird")]
            DriverValue::Firebird($inner) => $call,
            DriverValue::Typed($inner) => $call,
        }
    };
}

/// What a [`TypedValueRef`] is, as far as a program that shows or computes with it must know.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An exact number; its text is decimal digits, or NaN or an infinity.
    Decimal,
    /// A calendar date, `2024-01-02`.
    Date,
    /// A date and time of day without a zone.
    Timestamp,
    /// A point in time.
    TimestampTz,
    /// Something with an inside: an array, a row, json. Its JSON shows that.
    Structure,
    /// What is best shown as the database prints it.
    Printed,
}

impl<'a> TypedValueRef<'a> {
    pub(crate) fn field(field: postgres::Field<'a>) -> TypedValueRef<'a> {
        TypedValueRef(DriverValue::Postgres(field))
    }

    #[cfg(feature = "firebird")]
    pub(crate) fn firebird(field: crate::firebird::Field<'a>) -> TypedValueRef<'a> {
        TypedValueRef(DriverValue::Firebird(field))
    }

    pub(crate) fn typed(typed: Typed<'a>) -> TypedValueRef<'a> {
        TypedValueRef(DriverValue::Typed(typed))
    }

    /// What it is.
    pub fn kind(&self) -> ValueKind {
        on_value!(self.0, value => value.kind())
    }

    /// Microseconds since 1970 of a finite [`ValueKind::Timestamp`] or [`ValueKind::TimestampTz`].
    pub fn unix_micros(&self) -> Option<i64> {
        on_value!(self.0, value => value.unix_micros())
    }

    /// Appends it as the database prints it; what SQLite has no type for as PostgreSQL would.
    pub fn write_text(&self, out: &mut Vec<u8>) -> crate::Result<()> {
        on_value!(self.0, value => value.write_text(out))
    }

    /// Appends it as JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) -> crate::Result<()> {
        on_value!(self.0, value => value.write_json(out))
    }
}

impl std::fmt::Debug for TypedValueRef<'_> {
    /// The type only.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TypedValueRef").field(&self.kind()).finish()
    }
}

/// A value of a result, borrowed from its rows.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// SQL NULL.
    Null,
    /// A 64-bit signed integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// UTF-8 text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
    /// True or false.
    Boolean(bool),
    /// Anything else: exact numbers, dates, arrays, …
    Typed(TypedValueRef<'a>),
}

impl<'a> ValueRef<'a> {
    /// Whether this is NULL.
    pub fn is_null(self) -> bool {
        self == ValueRef::Null
    }

    /// The integer, if this is one.
    pub fn as_integer(self) -> Option<i64> {
        match self {
            ValueRef::Integer(integer) => Some(integer),
            _ => None,
        }
    }

    /// The text, if this is text.
    pub fn as_text(self) -> Option<&'a str> {
        match self {
            ValueRef::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(integer) => Value::Integer(integer),
            ValueRef::Real(real) => Value::Real(real),
            ValueRef::Text(text) => Value::Text(text.to_owned()),
            ValueRef::Blob(blob) => Value::Blob(blob.to_owned()),
            ValueRef::Boolean(boolean) => Value::Boolean(boolean),
            ValueRef::Typed(typed) => {
                let mut text = Vec::new();
                match typed.write_text(&mut text) {
                    Ok(()) => Value::Text(String::from_utf8_lossy(&text).into_owned()),
                    Err(_) => Value::Null,
                }
            }
        }
    }
}
